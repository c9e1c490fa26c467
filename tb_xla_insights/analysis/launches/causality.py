"""Causal paths: from an event back to the execute call that it belongs to, and to what requested that call.

The cause of an event is, in this order: the producer of the flow that ends at the event; the event that encloses it on
its thread; for an outermost event in a task of a thread pool, the `ThreadpoolListener::StartRegion` that begins the
task, at which a flow ends. On the driving thread, the thread of its backward pass and devices, the path follows only
the nesting of events.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import (
    COMPILE,
    COMPILE_PART,
    DISPATCH_END,
    DYNAMO,
    DYNAMO_PART,
    ENQUEUE,
    LAUNCH,
    MARKER,
    MAX_HOPS,
    READ,
    REGION_BEGINS,
    REGION_ENDS,
    RUN_START,
    SCHEDULE,
    SYNC,
)
from tb_xla_insights.analysis.launches import kernels
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag, metadata_tags
from tb_xla_insights.arrays import Int16, Int32, Int64
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing
from tb_xla_insights.trace.threads import host_planes

_TAGS = {
    LAUNCH: "launch",
    RUN_START: "run_start",
    SYNC: "sync",
    MARKER: "step_marker",
    DYNAMO: "dynamo",
    DYNAMO_PART: "dynamo_part",
    ENQUEUE: "enqueue",
    READ: "read",
    COMPILE: "compile_call",
    COMPILE_PART: "compile_part",
    DISPATCH_END: "ends_dispatch",
    SCHEDULE: "schedule",
}
"""By flag, the tag of the catalogue that the names with this flag have."""

_NAMES = {
    "ThreadpoolListener::StartRegion": REGION_BEGINS,
    "ThreadpoolListener::StopRegion": REGION_ENDS,
    "SyncLiveTensorsGraph": MARKER,  # the work of a step marker, and the only record of one with another name
}
"""Flags of names that have no such tag."""


@dataclass(frozen=True)
class CausalPaths:
    """The events on the causal path of each of some events, as rows of the trace; -1: none.

    `launch`: the outermost execute call. `run_start`: the first `ExecuteHelper`, which starts a run. `origin`: the
    first event on the driving thread or on the thread of its backward pass. `sync`: the innermost synchronisation or
    dynamo call there. `marker`: the outermost step marker there. `has_dynamo`: whether the path contains a dynamo
    execution. `hops`: MAX_HOPS columns, the events with which the path's threads took the work over, the last thread
    first.
    """

    launch: Int32
    run_start: Int32
    origin: Int32
    sync: Int32
    marker: Int32
    has_dynamo: NDArray[np.bool_]
    hops: Int32


@memoised
def metadata_flags(trace: Trace) -> Int16:
    """Returns the flags (see `codes`) of each event metadata entry's name."""
    flags = np.array([_flags_of_tags(tags) for tags in metadata_tags(trace)], np.int16)
    for metadata_index, text_index in enumerate(trace.metadata.name):
        flags[metadata_index] |= _NAMES.get(trace.strings[text_index], 0)
    return flags


@cache
def _flags_of_tags(tags: frozenset[str]) -> int:
    return sum(flag for flag, tag in _TAGS.items() if tag in tags)


@memoised
def _flagged(trace: Trace) -> tuple[Int32, Int16]:
    """Returns the events whose metadata has flags, in row order, and these flags."""
    flags = metadata_flags(trace)
    if not flags.any():
        return np.zeros(0, np.int32), np.zeros(0, np.int16)
    rows = trace.rows_with_metadata(flags != 0)
    return rows, flags[trace.metadata_index[rows]]


def rows_flagged(trace: Trace, mask: int) -> Int32:
    """Returns the events that have at least one flag of the mask, in row order."""
    rows, flags = _flagged(trace)
    is_flagged: NDArray[np.bool_] = flags & mask != 0
    return rows[is_flagged]


@memoised
def _task_boundaries(trace: Trace) -> tuple[Int64, Int32]:
    """Returns the events that begin or end a thread pool's task and, for each of them, the event that began the task
    that is open after it (-1: none), all as rows of the trace."""
    rows, flags = _flagged(trace)
    is_boundary = flags & (REGION_BEGINS | REGION_ENDS) != 0
    boundaries = rows[is_boundary].astype(np.int64)
    stack, open_after = np.empty(len(boundaries) + 1, np.int32), np.full(len(boundaries), -1, np.int32)
    kernels.open_tasks(
        boundaries,
        flags[is_boundary] & REGION_BEGINS != 0,
        trace.lines_of(rows[is_boundary]),
        stack,
        open_after,
    )
    return boundaries, open_after


@memoised
def _line_masks(trace: Trace) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Returns, per line, whether it is the driving thread or a thread of its backward passes, and whether it is a
    thread at all."""
    is_driving = np.zeros(len(trace.lines), np.bool_)
    is_driving[trace.driving_lines] = True
    hosts = host_planes(trace)
    return is_driving, np.array([line.plane in hosts for line in trace.lines], np.bool_)


@memoised
def _cpu_runs(trace: Trace) -> Int32:
    """Returns the events of the runs of devices that are threads of the host, in row order."""
    runs = [device.runs.row for device in trace.devices if device.from_host_events]
    return np.sort(np.concatenate(runs)) if runs else np.zeros(0, np.int32)


def causal_paths(trace: Trace, rows: Int32) -> CausalPaths:
    """Finds the causal paths of the events `rows`. A path ends before it reaches another run: the end of an earlier
    run releases a queued one, but does not launch it."""
    is_driving, is_host = _line_masks(trace)
    boundaries, open_after = _task_boundaries(trace)
    count = len(rows)
    path = np.full((5, count), -1, np.int32)  # launch, run_start, origin, sync, marker
    has_dynamo = np.zeros(count, np.bool_)
    hops = np.full((count, MAX_HOPS), -1, np.int32)
    kernels.fill_causal_paths(
        rows.astype(np.int32), metadata_flags(trace), trace.metadata_index, trace.parent, trace.flows.consumer,
        trace.flows.producer, boundaries, open_after, trace.line_first, is_driving, is_host,
        _cpu_runs(trace), path, has_dynamo, hops,
    )  # fmt: skip
    return CausalPaths(path[0], path[1], path[2], path[3], path[4], has_dynamo, hops)


def execute_calls(trace: Trace, rows: Int32) -> Int32:
    """Returns the execute call of each event that starts a run: the outermost one on its causal path; -1: none.

    Some captures have no execute calls, such as those of JAX 0.6 on a CPU. Then the first of the events in one jitted
    call stands for all of them: the jitted call executes once, for all cores.
    """
    paths = causal_paths(trace, rows)
    if not len(rows) or rows_flagged(trace, LAUNCH).size:
        return paths.launch
    jitted = nearest_enclosing(
        trace.parent, paths.origin, trace.rows_with_metadata(has_tag(trace, "jitted_call"))
    )
    order = np.argsort(trace.start_ps[rows], kind="stable")
    _, first, group = np.unique(jitted[order], return_index=True, return_inverse=True)
    call = np.empty(len(rows), np.int32)
    call[order] = rows[order[first[group]]]
    return np.where(jitted >= 0, call, np.int32(-1))
