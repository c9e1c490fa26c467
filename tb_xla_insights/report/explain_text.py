"""Parser of the output of `torch._dynamo.explain(f)(…)`, in the wordings of PyTorch 2.0 and of 2.1 and later."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from tb_xla_insights.analysis.sidecar_contents import GraphBreaks, UnparsedLine
from tb_xla_insights.report.metrics_text import parse_count
from tb_xla_insights.text.english import plural

if TYPE_CHECKING:
    from tb_xla_insights.schema.texts import GraphBreak

_COUNT = re.compile(r"^(Graph Count|Graph Break Count|Op Count): (\S+)\s*$")
_OLD_COUNT = re.compile(
    r"^Dynamo produced (\d{1,18}) graphs? with (\d{1,18}) graph breaks? and (\d{1,18}) ops"
)
_REASON = re.compile(r"^\s*Break Reason \d+:\s*$")
_OLD_REASON = re.compile(r"^\s*\d+\. (\S.*)$")
_PART = re.compile(r"^\s*(Reason|Explanation|Hint): (.*\S)")
_FRAME = re.compile(r"\s*<FrameSummary file (.+), line (\d+) in (.+)")
_OLD_FRAME = re.compile(r'^\s*File "(.+)", line (\d+), in (\S+)')
_END = re.compile(r"^\s*(Ops per Graph|Out Guards|Compile Times):")
_LIBRARY = re.compile(r"/(site|dist)-packages/(torch|torch_xla)/")
_KEYS = {"Reason": "reason", "Explanation": "explanation", "Hint": "hint"}


def parse_explain(text: str, file: str = "") -> GraphBreaks | None:
    """Parses the numbers of graphs and breaks, and each break's reason and place; None if the text is no explanation.

    Several explanations in one file are added up. A place is the innermost frame outside of torch, as
    `file:line in function`. A text that was cut, and so has fewer reasons than breaks, is reported in `unread`.
    """
    totals = {"Graph Count": 0, "Graph Break Count": 0, "Op Count": 0}
    has_breaks = inside_reason = old_wording = False
    reasons: list[dict[str, str | None]] = []
    unread: list[UnparsedLine] = []
    for number, line in enumerate(text.splitlines(), 1):
        if count := _COUNT.match(line):
            inside_reason = False
            if (value := parse_count(count[2])) is not None:
                totals[count[1]] += value
                has_breaks |= count[1] == "Graph Break Count"
            else:
                unread.append(UnparsedLine(file, number, line.strip()))
        elif counts := _OLD_COUNT.match(line):
            has_breaks, old_wording, inside_reason = True, True, True
            for name, digits in zip(totals, counts.groups(), strict=True):
                totals[name] += int(digits)
        elif _REASON.match(line):
            inside_reason, old_wording = True, False
            reasons.append({"reason": None, "place": None})
        elif old_wording and inside_reason and (old_reason := _OLD_REASON.match(line)):
            reasons.append({"reason": old_reason[1], "place": None})
        elif _END.match(line):
            inside_reason = False
        elif inside_reason and reasons:
            _add_line(reasons[-1], line)
    if not has_breaks:
        return None
    breaks = totals["Graph Break Count"]
    explained = sum(reason["reason"] is not None for reason in reasons)
    if explained < breaks:
        message = f"{plural(breaks, 'break')}, but only {plural(explained, 'reason')}"
        unread.append(UnparsedLine(file, len(text.splitlines()), message))
    return GraphBreaks(
        file, totals["Graph Count"], breaks, cast("list[GraphBreak]", reasons), totals["Op Count"], unread
    )


def _add_line(reason: dict[str, str | None], line: str) -> None:
    if part := _PART.match(line):
        key = _KEYS[part[1]]
        reason[key] = reason.get(key) or part[2]
        return
    frame = _FRAME.match(line.rpartition(">")[0]) or _OLD_FRAME.match(line)
    # The innermost frame is the last; a frame of torch itself counts only without any other.
    if frame and (reason["place"] is None or not _LIBRARY.search(frame[1])):
        reason["place"] = f"{frame[1]}:{frame[2]} in {frame[3]}"
