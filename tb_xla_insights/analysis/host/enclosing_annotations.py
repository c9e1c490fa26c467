"""The user's annotations that enclose an event."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.host.templates import annotation_name
from tb_xla_insights.trace.model import Trace


def enclosing_annotation(trace: Trace, row: int) -> int:
    """Returns the innermost annotation around an event, -1: none. For an event of another thread without one, that is
    the annotation open on the driving thread when the event begins. (docs/definitions.md, "Driving thread")"""
    annotation = _innermost_annotation(trace, int(trace.parent[row]))
    lines = trace.driving_lines
    if annotation >= 0 or not lines or trace.line_of(row).index == lines[0]:
        return annotation
    driving_rows, start_ps = trace.lines[lines[0]].rows, trace.start_ps[row]
    last = int(np.searchsorted(trace.start_ps[driving_rows], start_ps, "right")) - 1 + driving_rows.start
    while last >= driving_rows.start and trace.end_ps[last] <= start_ps:
        last = int(trace.parent[last])
    return _innermost_annotation(trace, last) if last >= driving_rows.start else -1


def enclosing_path(trace: Trace, row: int) -> str | None:
    """Returns the path of an event's annotations, its own included, such as `Training_Step/forward/text_encoder`; None
    without any."""
    names: list[str] = []
    while (row := _innermost_annotation(trace, row)) >= 0:
        names.append(annotation_name(trace, row))
        row = int(trace.parent[row])
    return "/".join(reversed(names)) or None


def _innermost_annotation(trace: Trace, row: int) -> int:
    """Returns the event itself if it is an annotation, else the innermost annotation around it on its thread; -1:
    none."""
    is_annotation = trace.annotation_mask
    while row >= 0 and not is_annotation[row]:
        row = int(trace.parent[row])
    return row
