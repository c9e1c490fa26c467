"""How long a device's ops took in a window, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_xla_insights.analysis.intervals import own_time
from tb_xla_insights.analysis.opcodes import instruction
from tb_xla_insights.analysis.propagation.kernels import own_times
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.trace.model import Int32, Int64, Trace


def ops_by_name(trace: Trace, number: int, start_ps: int, end_ps: int) -> list[dict[str, Any]]:
    """The ops of one device (an index into the trace's devices) that touch the window: `op`, `count`, and `self_ps`,
    the time of their own in the window, by name; those with most time first. Windows side by side add up to the window
    that they make. (docs/definitions.md, "Time of an op")"""
    ops = trace.devices[number].ops
    first, last = _touching(ops.start_ps, ops.end_ps, start_ps, end_ps)
    own = _own_ps(trace, number, first, last, start_ps, end_ps)
    touches = ops.end_ps[first:last] > start_ps
    names = ops.name[first:last][touches]
    order, place = np.unique(names, return_inverse=True)
    count, time = np.bincount(place), np.zeros(len(order), np.int64)
    np.add.at(time, place, own[touches])
    found: dict[str, list[int]] = {}
    for name, some, ps in zip(order.tolist(), count.tolist(), time.tolist(), strict=True):
        sums = found.setdefault(instruction(trace.strings[name]), [0, 0])
        sums[0] += some
        sums[1] += ps
    rows = [{"op": op, "count": some, "self_ps": ps} for op, (some, ps) in found.items()]
    return sorted(rows, key=lambda row: (-row["self_ps"], row["op"]))


def _touching(start: Int64, end: Int64, start_ps: int, end_ps: int) -> tuple[int, int]:
    """The shortest run of ops, sorted by start, that holds all that have time in the window."""
    first = int(np.searchsorted(np.maximum.accumulate(end), start_ps, "right"))
    return first, max(first, int(np.searchsorted(start, end_ps, "left")))


def _own_ps(trace: Trace, number: int, first: int, last: int, start_ps: int, end_ps: int) -> Int64:
    """The own time of each of these ops within the window."""
    device = trace.devices[number]
    ops = device.ops
    end = np.clip(ops.end_ps[first:last], start_ps, end_ps)
    start = np.minimum(np.clip(ops.start_ps[first:last], start_ps, end_ps), end)
    parent: Int32 = np.maximum(ops.parent[first:last] - np.int32(first), np.int32(-1))
    op, own_start, own_end = own_time(start, end, parent)
    own = np.zeros(last - first, np.int64)
    np.add.at(own, op, own_end - own_start)
    if not device.made:
        return own
    # Ops of a CPU run side by side: what lies within another's time is its part only where the program says so.
    found = find_ops(trace)
    key = np.ascontiguousarray(found.devices[number].key[first:last])
    return own_times(start, end, own, key, found.caller, found.known)
