"""What `torch._dynamo.explain(f)(…)` prints, in the wording of PyTorch 2.1 and later and in that of 2.0."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from tb_xla_insights.analysis.sidecars import GraphBreaks, UnparsedLine
from tb_xla_insights.report.metrics_text import count as whole

if TYPE_CHECKING:
    from tb_xla_insights.schema.texts import GraphBreak

_COUNT = re.compile(r"^(Graph Count|Graph Break Count|Op Count): (\S+)\s*$")
_OLD_COUNT = re.compile(
    r"^Dynamo produced (\d{1,18}) graphs? with (\d{1,18}) graph breaks? and (\d{1,18}) ops"
)
_REASON = re.compile(r"^\s*Break Reason \d+:\s*$")
_OLD_REASON = re.compile(r"^\s*\d+\. (\S.*)$")
_PART = re.compile(r"^\s*(Reason|Explanation|Hint): (.*\S)")
_FRAME = re.compile(r"<FrameSummary file (.+), line (\d+) in (.+)>")
_OLD_FRAME = re.compile(r'^\s*File "(.+)", line (\d+), in (\S+)')
_END = re.compile(r"^\s*(Ops per Graph|Out Guards|Compile Times):")
_LIBRARY = re.compile(r"/(site|dist)-packages/(torch|torch_xla)/")
_KEPT = {"Reason": "reason", "Explanation": "explanation", "Hint": "hint"}


def parse_explain(text: str, file: str = "") -> GraphBreaks | None:
    """Graphs, breaks, and each break's reason and place; None where the text is no explanation.

    Several explanations in one file are added up. A place is the innermost frame outside of torch, as
    `file:line in function`. What the counts promise and the text does not have, because it was cut, is in `unread`.
    """
    totals = {"Graph Count": 0, "Graph Break Count": 0, "Op Count": 0}
    found = inside = old = False
    reasons: list[dict[str, str | None]] = []
    unread: list[UnparsedLine] = []
    for number, line in enumerate(text.splitlines(), 1):
        if count := _COUNT.match(line):
            inside = False
            if (value := whole(count[2])) is not None:
                totals[count[1]] += value
                found |= count[1] == "Graph Break Count"
            else:
                unread.append(UnparsedLine(file, number, line.strip()))
        elif counts := _OLD_COUNT.match(line):
            found, old, inside = True, True, True
            for name, number_of in zip(totals, counts.groups(), strict=True):
                totals[name] += int(number_of)
        elif _REASON.match(line):
            inside, old = True, False
            reasons.append({"reason": None, "place": None})
        elif old and inside and (begun := _OLD_REASON.match(line)):
            reasons.append({"reason": begun[1], "place": None})
        elif _END.match(line):
            inside = False
        elif inside and reasons:
            _add(reasons[-1], line)
    if not found:
        return None
    breaks = totals["Graph Break Count"]
    told = sum(it["reason"] is not None for it in reasons)
    if told < breaks:
        unread.append(UnparsedLine(file, len(text.splitlines()), f"{breaks} breaks, but only {told} reasons"))
    return GraphBreaks(
        file, totals["Graph Count"], breaks, cast("list[GraphBreak]", reasons), totals["Op Count"], unread
    )


def _add(reason: dict[str, str | None], line: str) -> None:
    if part := _PART.match(line):
        reason.setdefault(_KEPT[part[1]], None)
        reason[_KEPT[part[1]]] = reason[_KEPT[part[1]]] or part[2]
        return
    frame = _FRAME.search(line) or _OLD_FRAME.match(line)
    # Frames come with the innermost last; one of torch's own is better than none.
    if frame and (reason["place"] is None or not _LIBRARY.search(frame[1])):
        reason["place"] = f"{frame[1]}:{frame[2]} in {frame[3]}"
