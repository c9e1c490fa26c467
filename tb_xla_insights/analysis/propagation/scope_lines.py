"""Lines of name scopes in captures of 2020: the scopes that were open at each op of a device."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.scope_names import fits_limits, truncate_path
from tb_xla_insights.arrays import Int32
from tb_xla_insights.trace.device import Device
from tb_xla_insights.trace.model import Line, Trace

_SCOPE_LINES = ("TensorFlow Name Scope", "Framework Name Scope")


def scope_line(trace: Trace, device: Device) -> Line | None:
    """The device's line of name scopes, of several with events the first of _SCOPE_LINES; None without one."""
    lines = (trace.lines[device.lines[name]] for name in _SCOPE_LINES if name in device.lines)
    return next((line for line in lines if line.count), None)


def stored_scopes(trace: Trace, device: Device) -> Int32 | None:
    """Per op, the path of the innermost stored scope around it (index into the trace's strings), -1 without one. None
    without such a line or without ops. Events of the line nest; each event's name is one segment of a path."""
    line = scope_line(trace, device)
    if line is None or not len(device.ops):
        return None
    rows = line.rows
    start, end = trace.start_ps[rows], trace.end_ps[rows]
    parent = np.where(trace.parent[rows] >= 0, trace.parent[rows] - rows.start, -1)
    scope = np.searchsorted(start, device.ops.start_ps, "right") - 1  # the event that began last
    while (ends_too_early := (scope >= 0) & (end[scope] < device.ops.end_ps)).any():
        scope[ends_too_early] = parent[scope[ends_too_early]]
    path: dict[int, str] = {-1: ""}
    for event in range(rows.stop - rows.start):  # enclosing events come first
        outer, name = path[int(parent[event])], trace.name(rows.start + event)
        full = f"{outer}/{name}".lstrip("/")
        path[event] = full if fits_limits(full) else outer or truncate_path(full)
    events, index = np.unique(scope, return_inverse=True)
    path_indices = [trace.intern(path[event]) if event >= 0 else -1 for event in events.tolist()]
    return np.array(path_indices, np.int32)[index]
