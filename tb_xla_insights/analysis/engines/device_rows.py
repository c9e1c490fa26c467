"""The report's `devices`: busy and idle time of each core, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.engines.op_texts import ENGINES
from tb_xla_insights.analysis.engines.sparse_cores import busy_on_sparse_cores
from tb_xla_insights.analysis.engines.windows import find_async_ops, waits_by_engine
from tb_xla_insights.analysis.idle.barriers import find_barriers
from tb_xla_insights.analysis.idle.busy import (
    Definition,
    busy,
    device_index,
    idle,
    on_duty,
    stalls,
    waiting_ops,
)
from tb_xla_insights.analysis.opcodes import instruction_name
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import own_time_intervals, union, union_all
from tb_xla_insights.columns.merge import MergedTable
from tb_xla_insights.schema.session import Stall
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.trace.device import Device
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.engines import WaitsByEngine
    from tb_xla_insights.schema.session import Busy, Duty
    from tb_xla_insights.schema.session import Device as DeviceRow


def device_summaries(trace: Trace) -> list[DeviceRow]:
    """The report's `devices`, a row per core; `compute_ps + stall_ps + idle_ps = span_ps` exactly, and `waits_ps` adds
    up to `stall_ps`. `duty` has span, busy and stall time for each definition, `stalls` the ops that wait
    (`stall_ops`)."""
    return run_parallel([partial(_summary, trace, device) for device in trace.devices])


def _summary(trace: Trace, device: Device) -> DeviceRow:
    duty: Duty = {
        "ops": _duty(trace, device, "ops"),
        "modules": _duty(trace, device, "modules"),
        "capture": _duty(trace, device, "capture"),
    }
    span_ps, busy_ps, stall_ps = (duty["ops"][key] for key in ("span_ps", "busy_ps", "stall_ps"))
    waits = waits_by_engine(trace, device_index(trace, device))
    waits_ps: WaitsByEngine = {engine: times.total_ps for engine, times in waits.items()}
    return {
        "id": device.id,
        "name": device.name,
        "kind": device.kind,
        "host": device.host,
        "span_ps": span_ps,
        "busy_ps": busy_ps,
        "idle_ps": span_ps - busy_ps,
        "barrier_ps": _barrier_ps(trace, device),
        "compute_ps": busy_ps - stall_ps,
        "stall_ps": stall_ps,
        "waits_ps": waits_ps,
        "stalls": stall_ops(trace, device),
        "duty_cycle": busy_ps / span_ps if span_ps else 0.0,
        "duty_cycle_xprof": _duty_cycle_in_xprof(trace, device),
        "duty": duty,
        "modules": len(device.runs),
        "ops": len(device.ops),
    }


def _duty_cycle_in_xprof(trace: Trace, device: Device) -> float | None:
    """xprof's duty cycle: the share of the span in which the core is on duty or one of its SparseCores works; None
    without ops."""
    start, end = device.span_ps
    if not len(device.ops) or start == end:
        return None
    sparse_cores = busy_on_sparse_cores(trace, device_index(trace, device))
    busy_ps = union_all([on_duty(trace, device), sparse_cores]).clipped(start, end).total_ps
    return busy_ps / (end - start)


def _barrier_ps(trace: Trace, device: Device) -> int:
    """The device's idle time in barriers."""
    barriers = find_barriers(trace)
    rows = barriers.of_device(device_index(trace, device))
    waits = union(barriers.start_ps[rows], barriers.end_ps[rows])
    return waits.within(idle(trace, device)).total_ps if len(waits) else 0


def _duty(trace: Trace, device: Device, definition: Definition) -> Busy:
    start, end = (0, trace.span_ps[1]) if definition == "capture" else device.span_ps
    return {
        "span_ps": max(0, end - start),
        "busy_ps": busy(trace, device, definition).clipped(start, end).total_ps,
        "stall_ps": stalls(trace, device, definition).clipped(start, end).total_ps,
    }


def stall_ops(trace: Trace, device: Device) -> list[Stall]:
    """The ops that the device waits in: per name the count and the time, the longest first. Ops that wait side by side
    each count with their full time."""
    stalled = stalls(trace, device)
    if not len(stalled):
        return []
    op, start, end = own_time_intervals(device.ops.start_ps, device.ops.end_ps, device.ops.parent)
    time = covered_times(stalled.start_ps, stalled.end_ps, start, end)
    is_stalled = waiting_ops(trace, device_index(trace, device))[op] & (time > 0)
    op, time = op[is_stalled], time[is_stalled]
    found = find_async_ops(trace, device_index(trace, device))
    names, first, name_of_part = np.unique(device.ops.name[op], return_index=True, return_inverse=True)
    engine = found.engine[np.searchsorted(found.op, op[first])]
    durations = np.zeros(len(names), np.int64)
    np.add.at(durations, name_of_part, time)
    first_parts = np.unique(op, return_index=True)[1]
    counts = np.bincount(name_of_part[first_parts], minlength=len(names))
    columns = zip(names.tolist(), engine.tolist(), counts.tolist(), durations.tolist(), strict=True)
    rows: list[Stall] = [
        {
            "op": instruction_name(trace.strings[name]),
            "engine": ENGINES[number],
            "count": count,
            "duration_ps": duration,
        }
        for name, number, count, duration in columns
    ]
    return sorted(rows, key=lambda row: (-row["duration_ps"], row["op"]))


def merge_stalls(devices: Sequence[Mapping[str, Any]]) -> list[Stall]:
    """The `stalls` of several devices of a report in one list, summed per op and engine, the longest first."""
    table = MergedTable(Stall)
    for number, device in enumerate(devices):
        table.add(number, device["stalls"])
    return table.rows(order_by="duration_ps")
