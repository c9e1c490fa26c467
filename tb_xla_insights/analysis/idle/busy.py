"""When each device is busy, idle, or stalled (busy but only waiting)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from tb_xla_insights.analysis.idle.barriers import find_barriers
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import instruction_name, is_wait, opcode
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import (
    Intervals,
    own_time_intervals,
    span_intervals,
    union,
    union_all,
)
from tb_xla_insights.arrays import Int8
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.trace.device import Device
from tb_xla_insights.trace.metadata_events import values_of_events
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.session import Busy, Duty, Stall
    from tb_xla_insights.schema.session import Device as DeviceRow

Definition = Literal["ops", "modules", "capture"]
"""The definitions of the duty cycle: ops over the device's span; program runs over the device's span; ops over the
whole capture."""

DEFINITIONS: tuple[Definition, ...] = get_args(Definition)

_EXCLUDED_CATEGORIES = frozenset(
    ("infeed", "outfeed", "host send", "host recv", "host receive", "megacore fusion")
)
"""Categories of ops in which the core does nothing itself. Ops that wait for an asynchronous one (`async-done`,
`host recv-done`) are busy and stalled, whatever they wait for; xprof excludes some of these too."""

_EXCLUDED_FLAG, _WAIT_FLAG = 1, 2
"""Bits of `_op_flags`."""


def busy(trace: Trace, device: Device, definition: Definition = "ops") -> Intervals:
    """When the device is busy: the union of its top-level ops without those in which it does nothing itself. With the
    definition `modules`, or without ops, the union of its modules; with that definition but without modules, the union
    of all its ops. (docs/definitions.md, "Busy, span, duty cycle")"""
    return _busy(trace, _index(trace, device), definition == "modules")


def idle(trace: Trace, device: Device, min_ps: int = 1) -> Intervals:
    """When the device is idle within its span: its gaps of at least `min_ps`."""
    return busy(trace, device).gaps(*device.span_ps, min_ps)


def idle_ps(trace: Trace, device: Device) -> int:
    """The device's idle time within its span, including the shortest gaps."""
    start, end = device.span_ps
    return end - start - busy(trace, device).clipped(start, end).total_ps


@memoised
def busy_on_any_device(trace: Trace) -> Intervals:
    """When at least one device of the host is busy."""
    intervals = [busy(trace, device) for device in trace.devices]
    return intervals[0] if len(intervals) == 1 else union_all(intervals)


def stalls(trace: Trace, device: Device, definition: Definition = "ops") -> Intervals:
    """The part of busy time in which every innermost op waits for an asynchronous one (`copy-done`, …)."""
    waiting = _waiting(trace, _index(trace, device))
    if not len(waiting):
        return waiting
    # A waiting op, or one around it, may be excluded from busy time.
    return waiting.without(busy(trace, device, definition).gaps(*device.span_ps))


def stall_ops(trace: Trace, device: Device) -> list[Stall]:
    """The ops that the device waits in: per name the count and the time, the longest first. Ops that wait side by side
    each count with their full time."""
    stalled = stalls(trace, device)
    if not len(stalled):
        return []
    op, start, end = own_time_intervals(device.ops.start_ps, device.ops.end_ps, device.ops.parent)
    time = covered_times(stalled.start_ps, stalled.end_ps, start, end)
    is_stalled = (_op_flags(trace, _index(trace, device))[op] & _WAIT_FLAG > 0) & (time > 0)
    op, time = op[is_stalled], time[is_stalled]
    names, name_of_part = np.unique(device.ops.name[op], return_inverse=True)
    durations = np.zeros(len(names), np.int64)
    np.add.at(durations, name_of_part, time)
    first_parts = np.unique(op, return_index=True)[1]
    counts = np.bincount(name_of_part[first_parts], minlength=len(names))
    columns = zip(names.tolist(), counts.tolist(), durations.tolist(), strict=True)
    rows: list[Stall] = [
        {"op": instruction_name(trace.strings[name]), "count": count, "duration_ps": duration}
        for name, count, duration in columns
    ]
    return sorted(rows, key=lambda row: (-row["duration_ps"], row["op"]))


def merge_stalls(devices: Sequence[Mapping[str, Any]]) -> list[Stall]:
    """The `stalls` of several devices of a report in one list, summed per op, the longest first."""
    sums: dict[str, list[int]] = {}
    for row in (row for device in devices for row in device["stalls"]):
        total = sums.setdefault(row["op"], [0, 0])
        total[0] += row["count"]
        total[1] += row["duration_ps"]
    rows: list[Stall] = [
        {"op": op, "count": count, "duration_ps": time} for op, (count, time) in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row["duration_ps"], row["op"]))


@memoised
def _busy(trace: Trace, index: int, by_modules: bool) -> Intervals:
    device = trace.devices[index]
    if by_modules or not len(device.ops):
        intervals = device.runs if len(device.runs) else device.ops
        return union(intervals.start_ps, intervals.end_ps)
    is_counted = (device.ops.parent < 0) & (_op_flags(trace, index) & _EXCLUDED_FLAG == 0)
    return union(device.ops.start_ps, device.ops.end_ps, is_counted)


@memoised
def _waiting(trace: Trace, index: int) -> Intervals:
    """When every innermost op waits."""
    ops = trace.devices[index].ops
    only_waits = _op_flags(trace, index) & _WAIT_FLAG > 0
    if not only_waits.any():
        return span_intervals(0, 0)
    op, start, end = own_time_intervals(ops.start_ps, ops.end_ps, ops.parent)
    is_waiting = only_waits[op]
    return union(start, end, is_waiting).without(union(start, end, ~is_waiting))


def device_summaries(trace: Trace) -> list[DeviceRow]:
    """The report's `devices`, a row per core; `busy_ps + idle_ps = span_ps` exactly. `duty` has span, busy and stall
    time for each definition, `stalls` the ops that wait (`stall_ops`)."""
    return run_parallel([partial(_summary, trace, device) for device in trace.devices])


def _summary(trace: Trace, device: Device) -> DeviceRow:
    duty: Duty = {
        "ops": _duty(trace, device, "ops"),
        "modules": _duty(trace, device, "modules"),
        "capture": _duty(trace, device, "capture"),
    }
    span_ps, busy_ps = duty["ops"]["span_ps"], duty["ops"]["busy_ps"]
    return {
        "id": device.id,
        "name": device.name,
        "kind": device.kind,
        "host": device.host,
        "span_ps": span_ps,
        "busy_ps": busy_ps,
        "idle_ps": span_ps - busy_ps,
        "barrier_ps": _barrier_ps(trace, device),
        "stall_ps": duty["ops"]["stall_ps"],
        "stalls": stall_ops(trace, device),
        "duty_cycle": busy_ps / span_ps if span_ps else 0.0,
        "duty": duty,
        "modules": len(device.runs),
        "ops": len(device.ops),
    }


def _barrier_ps(trace: Trace, device: Device) -> int:
    """The device's idle time in barriers."""
    barriers = find_barriers(trace)
    rows = barriers.of_device(_index(trace, device))
    waits = union(barriers.start_ps[rows], barriers.end_ps[rows])
    return waits.within(idle(trace, device)).total_ps if len(waits) else 0


def _duty(trace: Trace, device: Device, definition: Definition) -> Busy:
    start, end = (0, trace.span_ps[1]) if definition == "capture" else device.span_ps
    return {
        "span_ps": max(0, end - start),
        "busy_ps": busy(trace, device, definition).clipped(start, end).total_ps,
        "stall_ps": stalls(trace, device, definition).clipped(start, end).total_ps,
    }


@memoised
def _op_flags(trace: Trace, index: int) -> Int8:
    """Per op of a device, the bits _EXCLUDED_FLAG (from its category, or from its name if it has none) and _WAIT_FLAG
    (from either)."""
    ops, categories = trace.devices[index].ops, trace.metadata.text.get("hlo_category")

    def flags_of_name(name: str) -> int:
        return _EXCLUDED_FLAG * (_normalise(opcode(name)) in _EXCLUDED_CATEGORIES) | _WAIT_FLAG * is_wait(
            name
        )

    def flags_of_category(name: str) -> int:
        normalised = _normalise(name)
        return _EXCLUDED_FLAG * (normalised in _EXCLUDED_CATEGORIES) | _WAIT_FLAG * normalised.endswith(
            " done"
        )

    by_name = trace.map_texts(ops.name, flags_of_name)
    if categories is None or (categories < 0).all():
        return by_name
    category = values_of_events(trace.map_texts(categories, flags_of_category), trace.metadata_index[ops.row])
    return np.where(category >= 0, category | by_name & _WAIT_FLAG, by_name)


def _normalise(text: str) -> str:
    return re.sub(r"[-_ ]+", " ", text.lower())


def _index(trace: Trace, device: Device) -> int:
    return next(index for index, candidate in enumerate(trace.devices) if candidate is device)
