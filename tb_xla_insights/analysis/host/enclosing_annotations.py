"""Which of the user's annotations an event lies in."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.trace.model import Trace


def enclosing_annotation(trace: Trace, row: int) -> int:
    """The innermost annotation around an event; around one of another thread, the one open on the driving thread as it
    begins. -1: none. (docs/definitions.md, "Driving thread")"""
    found = _enclosing(trace, int(trace.parent[row]))
    lines = trace.driving_lines
    if found >= 0 or not lines or trace.line_of(row).index == lines[0]:
        return found
    its, start = trace.lines[lines[0]].rows, trace.start_ps[row]
    last = int(np.searchsorted(trace.start_ps[its], start, "right")) - 1 + its.start
    while last >= its.start and trace.end_ps[last] <= start:
        last = int(trace.parent[last])
    return _enclosing(trace, last) if last >= its.start else -1


def enclosing_path(trace: Trace, row: int) -> str | None:
    """An annotation with those around it, as `Training_Step/forward/text_encoder`; None for no annotation."""
    names: list[str] = []
    while (row := _enclosing(trace, row)) >= 0:
        names.append(trace.name(row))
        row = int(trace.parent[row])
    return "/".join(reversed(names)) or None


def _enclosing(trace: Trace, row: int) -> int:
    while row >= 0:
        at = int(np.searchsorted(trace.annotations, row))
        if at < len(trace.annotations) and trace.annotations[at] == row:
            return row
        row = int(trace.parent[row])
    return -1
