"""An excerpt of a host's trace: what the answers about windows within a range of time need, without the trace
itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.host.classes import host_class_segments, rows_overlapping, thread_segments
from tb_xla_insights.analysis.idle.busy import busy, stalls
from tb_xla_insights.analysis.time.intervals import Intervals, touches_window
from tb_xla_insights.analysis.time.segments import Segments
from tb_xla_insights.analysis.window.op_times import DistinctOps, OpsOfDevice, distinct_ops, ops_of_device
from tb_xla_insights.arrays import Int16, Int32, Int64
from tb_xla_insights.trace.device import NestedIntervals
from tb_xla_insights.trace.model import Role, Trace
from tb_xla_insights.trace.threads import thread_labels


@dataclass(frozen=True)
class ThreadExcerpt:
    """A thread's events in the range, from row `first` of the trace on: `name` (index into the trace's strings),
    `is_op` (whether the event is a device op), and `depth` of nesting. `segments`: its timeline (see
    `classes.thread_segments`)."""

    line: int
    label: str
    role: Role
    first: int
    name: Int32
    start_ps: Int64
    duration_ps: Int64
    depth: Int16
    is_op: NDArray[np.bool_]
    segments: Segments


@dataclass(frozen=True)
class DeviceExcerpt:
    """A device in the range. `span_ps`: start and end of its whole span; `runs`: the starts and ends of its runs."""

    id: str
    name: str
    host: str
    span_ps: tuple[int, int]
    busy: Intervals
    stalls: Intervals
    runs: tuple[Int64, Int64]
    ops: OpsOfDevice


@dataclass(frozen=True)
class Excerpt:
    """One host in the range; times count as in its trace. `classes`: its class segments; `has_driving_thread`: whether
    a thread drives its devices. `ops` is None if no device is included."""

    host: str
    strings: list[str]
    has_driving_thread: bool
    classes: Segments
    threads: list[ThreadExcerpt]
    devices: list[DeviceExcerpt]
    ops: DistinctOps | None

    def without_unused_strings(self) -> Excerpt:
        """The excerpt with all unused strings replaced by empty ones, to save memory."""
        used = np.zeros(len(self.strings), np.bool_)
        for names in (
            *(thread.name for thread in self.threads),
            *(device.ops.name for device in self.devices),
        ):
            used[names] = True
        strings = [text if is_used else "" for text, is_used in zip(self.strings, used.tolist(), strict=True)]
        return replace(self, strings=strings)


def excerpt(trace: Trace, start_ps: int, end_ps: int, device_id: str | None = None) -> Excerpt:
    """The excerpt of a host in [start_ps, end_ps), with one device (by id) or all."""
    labels = thread_labels(trace)
    threads = []
    for thread in trace.threads:
        rows = rows_overlapping(trace, thread.line, start_ps, end_ps)
        threads.append(
            ThreadExcerpt(
                thread.line,
                labels[thread.line],
                thread.role,
                rows.start,
                trace.metadata.name[trace.metadata_index[rows]],
                trace.start_ps[rows],
                trace.duration_ps[rows],
                trace.depth[rows],
                _is_op(trace, rows),
                thread_segments(trace, thread.line, start_ps, end_ps),
            )
        )
    devices = [
        DeviceExcerpt(
            device.id,
            device.name,
            device.host,
            device.span_ps,
            busy(trace, device).clipped(start_ps, end_ps),
            stalls(trace, device).clipped(start_ps, end_ps),
            _touching(device.runs, start_ps, end_ps),
            ops_of_device(trace, index, start_ps, end_ps),
        )
        for index, device in enumerate(trace.devices)
        if device_id in (None, device.id)
    ]
    return Excerpt(
        trace.host,
        trace.strings,
        bool(trace.lines_with("driving")),
        host_class_segments(trace).clipped(start_ps, end_ps),
        threads,
        devices,
        distinct_ops(trace) if devices else None,
    )


def _is_op(trace: Trace, rows: slice) -> NDArray[np.bool_]:
    """Whether each event of a range of rows is a device op."""
    is_op = np.zeros(rows.stop - rows.start, np.bool_)
    if "hlo_op" in trace.stats:
        ops = trace.stats["hlo_op"].rows
        is_op[ops[slice(*np.searchsorted(ops, (rows.start, rows.stop)))] - rows.start] = True
    return is_op


def _touching(intervals: NestedIntervals, start_ps: int, end_ps: int) -> tuple[Int64, Int64]:
    touches = touches_window(intervals.start_ps, intervals.end_ps, start_ps, end_ps)
    return intervals.start_ps[touches], intervals.end_ps[touches]
