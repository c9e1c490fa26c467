"""When each device is busy, idle, or stalled (busy but only waiting)."""

from __future__ import annotations

import re
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import is_wait, opcode
from tb_xla_insights.analysis.time.intervals import (
    Intervals,
    own_time_intervals,
    span_intervals,
    union,
    union_all,
)
from tb_xla_insights.arrays import Int8
from tb_xla_insights.trace.device import Device
from tb_xla_insights.trace.metadata_events import values_of_events
from tb_xla_insights.trace.model import Trace

Definition = Literal["ops", "modules", "capture"]
"""The definitions of the duty cycle: ops over the device's span; program runs over the device's span; ops over the
whole capture."""

DEFINITIONS: tuple[Definition, ...] = get_args(Definition)

_EXCLUDED_CATEGORIES = frozenset(
    ("infeed", "outfeed", "host send", "host recv", "host receive", "megacore fusion")
)
"""Categories of ops in which the core does nothing itself. Ops that wait for an asynchronous one (`async-done`,
`host recv-done`) are busy and stalled, whatever they wait for; xprof excludes some of these too."""

_OFF_DUTY_CATEGORIES = frozenset(("async done", "host send done", "host recv done", "host receive done"))
"""Categories of further ops that xprof excludes."""

_EXCLUDED_FLAG, _WAIT_FLAG, _OFF_DUTY_FLAG = 1, 2, 4
"""Bits of `_op_flags`."""


def busy(trace: Trace, device: Device, definition: Definition = "ops") -> Intervals:
    """When the device is busy: the union of its top-level ops without those in which it does nothing itself. With the
    definition `modules`, or without ops, the union of its modules; with that definition but without modules, the union
    of all its ops. (docs/definitions.md, "Busy, span, duty cycle")"""
    return _busy(trace, device_index(trace, device), definition == "modules")


def on_duty(trace: Trace, device: Device) -> Intervals:
    """When the device runs outermost ops that xprof counts for its duty cycle: it leaves out those that wait for a
    SparseCore or the host."""
    index = device_index(trace, device)
    flags = _op_flags(trace, index) & (_EXCLUDED_FLAG | _OFF_DUTY_FLAG)
    if not (flags & _OFF_DUTY_FLAG).any():
        return _busy(trace, index, False)
    return union(device.ops.start_ps, device.ops.end_ps, (device.ops.parent < 0) & (flags == 0))


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
    waiting = _waiting(trace, device_index(trace, device))
    if not len(waiting):
        return waiting
    # A waiting op, or one around it, may be excluded from busy time.
    return waiting.without(busy(trace, device, definition).gaps(*device.span_ps))


def waiting_ops(trace: Trace, index: int) -> NDArray[np.bool_]:
    """Whether each op of a device (an index into the trace's devices) only waits for an asynchronous one."""
    return _op_flags(trace, index) & _WAIT_FLAG > 0


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
    only_waits = waiting_ops(trace, index)
    if not only_waits.any():
        return span_intervals(0, 0)
    op, start, end = own_time_intervals(ops.start_ps, ops.end_ps, ops.parent)
    is_waiting = only_waits[op]
    return union(start, end, is_waiting).without(union(start, end, ~is_waiting))


@memoised
def _op_flags(trace: Trace, index: int) -> Int8:
    """Per op of a device, the bits _EXCLUDED_FLAG (from its category, or from its name if it has none), _WAIT_FLAG
    (from either) and _OFF_DUTY_FLAG (from its category)."""
    ops, categories = trace.devices[index].ops, trace.metadata.text.get("hlo_category")

    def flags_of_name(name: str) -> int:
        return _EXCLUDED_FLAG * (_normalise(opcode(name)) in _EXCLUDED_CATEGORIES) | _WAIT_FLAG * is_wait(
            name
        )

    def flags_of_category(name: str) -> int:
        normalised = _normalise(name)
        is_excluded, is_wait = normalised in _EXCLUDED_CATEGORIES, normalised.endswith(" done")
        is_off_duty = normalised in _OFF_DUTY_CATEGORIES
        return _EXCLUDED_FLAG * is_excluded | _WAIT_FLAG * is_wait | _OFF_DUTY_FLAG * is_off_duty

    by_name = trace.map_texts(ops.name, flags_of_name)
    if categories is None or (categories < 0).all():
        return by_name
    category = values_of_events(trace.map_texts(categories, flags_of_category), trace.metadata_index[ops.row])
    return np.where(category >= 0, category | by_name & _WAIT_FLAG, by_name)


def _normalise(text: str) -> str:
    return re.sub(r"[-_ ]+", " ", text.lower())


def device_index(trace: Trace, device: Device) -> int:
    """The index of a device among the trace's devices."""
    return next(index for index, candidate in enumerate(trace.devices) if candidate is device)
