"""Rows of name scopes that files of 2020 store with a device: which scopes were open at each op."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.propagation.scopes import fits, fitting
from tb_xla_insights.trace.model import Device, Int32, Trace

ROWS = ("TensorFlow Name Scope", "Framework Name Scope")


def stored_scopes(trace: Trace, device: Device) -> Int32 | None:
    """Per op, its scope path (index into the trace's strings), from the innermost stored scope that encloses it; -1
    where there is none. None without such rows. Events of the row nest; each is named like one segment."""
    line = next((device.lines[name] for name in ROWS if name in device.lines), None)
    if line is None or not trace.lines[line].count or not len(device.ops):
        return None
    rows = trace.lines[line].rows
    start, end = trace.start_ps[rows], trace.end_ps[rows]
    parent = np.where(trace.parent[rows] >= 0, trace.parent[rows] - rows.start, -1)
    at = np.searchsorted(start, device.ops.start_ps, "right") - 1
    while True:
        outside = (at >= 0) & (end[at] < device.ops.end_ps)
        if not outside.any():
            break
        at[outside] = parent[at[outside]]
    path: dict[int, str] = {-1: ""}
    for event in range(rows.stop - rows.start):  # enclosing events come first
        around, name = path[int(parent[event])], trace.name(rows.start + event)
        inside = f"{around}/{name}".lstrip("/")
        path[event] = inside if fits(inside) else around or fitting(inside)
    known, which = np.unique(at, return_inverse=True)
    texts = [trace.intern(path[event]) if event >= 0 else -1 for event in known.tolist()]
    return np.array(texts, np.int32)[which]
