"""Parser of the output of `torch._dynamo.explain(f)(…)`, in the wordings of PyTorch 2.0 and of 2.1 and later."""

from __future__ import annotations

import re

from tb_xla_insights.analysis.graph_break import GraphBreak
from tb_xla_insights.analysis.sidecar_contents import GraphBreaks, UnparsedLine
from tb_xla_insights.catalog.frames import Frame
from tb_xla_insights.report.metrics_text import parse_count
from tb_xla_insights.text.english import plural

_COUNT = re.compile(r"^(Graph Count|Graph Break Count|Op Count): (\S+)\s*$")
_OLD_COUNT = re.compile(
    r"^Dynamo produced (\d{1,18}) graphs? with (\d{1,18}) graph breaks? and (\d{1,18}) ops"
)
_REASON = re.compile(r"^\s*Break Reason \d+:\s*$")
_OLD_REASON = re.compile(r"^\s*\d+\. (\S.*)$")
_PART = re.compile(r"^\s*(Reason|Explanation|Hint): (.*\S)")
_FRAME = re.compile(r"\s*<FrameSummary file (.+), line (\d{1,9}) in (.+)")
_OLD_FRAME = re.compile(r'^\s*File "(.+)", line (\d{1,9}), in (\S+)')
_END = re.compile(r"^\s*(Ops per Graph|Out Guards|Compile Times):")
_LIBRARY = re.compile(r"/(site|dist)-packages/(torch|torch_xla)/")


def parse_explain(text: str, file: str = "") -> GraphBreaks | None:
    """Parses the numbers of graphs and breaks, and each break's reason and frame; None if the text is no explanation.

    Several explanations in one file are added up. A break's frame is the innermost one outside of torch. A text that
    was cut, and so has fewer reasons than breaks, is reported in `unread`.
    """
    totals = {"Graph Count": 0, "Graph Break Count": 0, "Op Count": 0}
    has_breaks = inside_reason = old_wording = False
    explained: list[GraphBreak] = []
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
            explained.append(GraphBreak())
        elif old_wording and inside_reason and (old_reason := _OLD_REASON.match(line)):
            explained.append(GraphBreak(old_reason[1]))
        elif _END.match(line):
            inside_reason = False
        elif inside_reason and explained:
            _add_line(explained[-1], line)
    if not has_breaks:
        return None
    breaks = totals["Graph Break Count"]
    reasons = sum(graph_break.reason is not None for graph_break in explained)
    if reasons < breaks:
        message = f"{plural(breaks, 'break')}, but only {plural(reasons, 'reason')}"
        unread.append(UnparsedLine(file, len(text.splitlines()), message))
    return GraphBreaks(file, totals["Graph Count"], breaks, explained, totals["Op Count"], unread)


def _add_line(graph_break: GraphBreak, line: str) -> None:
    if part := _PART.match(line):
        name = part[1].lower()
        setattr(graph_break, name, getattr(graph_break, name) or part[2])
        return
    frame = _FRAME.match(line.rpartition(">")[0]) or _OLD_FRAME.match(line)
    # The innermost frame is the last; a frame of torch itself counts only without any other.
    if frame and (graph_break.frame is None or not _LIBRARY.search(frame[1])):
        graph_break.frame = Frame(frame[3], frame[1], int(frame[2]))
