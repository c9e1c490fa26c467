"""What a host recorded in a range of time, apart from its trace: any window within that range can be told from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.host.classes import host_class_segments, rows_overlapping, thread_segments
from tb_xla_insights.analysis.idle.busy import busy, stalls
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.analysis.time.segments import Segments
from tb_xla_insights.analysis.window.op_times import DistinctOps, OpsOfDevice, distinct_ops, ops_of_device
from tb_xla_insights.trace.model import Int16, Int32, Int64, Role, Spans, Trace
from tb_xla_insights.trace.threads import thread_labels


@dataclass(frozen=True)
class ThreadExcerpt:
    """A thread's events in the range, from row `first` of the trace on: `name` (index into the trace's strings),
    `is_op`, whether a device did it, and how they nest. `segments` is its timeline (see `classes.thread_segments`)."""

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
    """A device in the range; `span_ps` are the ends of its whole span, `modules` start and end of each."""

    id: str
    name: str
    host: str
    span_ps: tuple[int, int]
    busy: Intervals
    stalls: Intervals
    modules: tuple[Int64, Int64]
    ops: OpsOfDevice


@dataclass(frozen=True)
class Excerpt:
    """One host in the range. Times are those of its trace; `classes` is its partition, `driven` says whether a thread
    drives its devices. `ops` is None where no device is asked for."""

    host: str
    strings: list[str]
    driven: bool
    classes: Segments
    threads: list[ThreadExcerpt]
    devices: list[DeviceExcerpt]
    ops: DistinctOps | None

    def alone(self) -> Excerpt:
        """The same without the texts that it does not need."""
        used = np.zeros(len(self.strings), np.bool_)
        for names in (*(it.name for it in self.threads), *(it.ops.name for it in self.devices)):
            used[names] = True
        return replace(
            self, strings=[text if its else "" for text, its in zip(self.strings, used.tolist(), strict=True)]
        )


def excerpt(trace: Trace, start_ps: int, end_ps: int, device: str | None = None) -> Excerpt:
    """What a host recorded in [start_ps, end_ps), of one device (by id) or of all."""
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
                trace.metadata.name[trace.meta[rows]],
                trace.start_ps[rows],
                trace.duration_ps[rows],
                trace.depth[rows],
                _is_op(trace, rows),
                thread_segments(trace, thread.line, start_ps, end_ps),
            )
        )
    devices = [
        DeviceExcerpt(
            it.id,
            it.name,
            it.host,
            it.span_ps,
            busy(trace, it).clipped(start_ps, end_ps),
            stalls(trace, it).clipped(start_ps, end_ps),
            _touching(it.modules, start_ps, end_ps),
            ops_of_device(trace, number, start_ps, end_ps),
        )
        for number, it in enumerate(trace.devices)
        if device in (None, it.id)
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
    """Which of a run of events a device did."""
    found = np.zeros(rows.stop - rows.start, np.bool_)
    if "hlo_op" in trace.stats:
        ops = trace.stats["hlo_op"].rows
        found[ops[slice(*np.searchsorted(ops, (rows.start, rows.stop)))] - rows.start] = True
    return found


def _touching(spans: Spans, start_ps: int, end_ps: int) -> tuple[Int64, Int64]:
    touches = (spans.start_ps < end_ps) & (spans.end_ps > start_ps)
    return spans.start_ps[touches], spans.end_ps[touches]
