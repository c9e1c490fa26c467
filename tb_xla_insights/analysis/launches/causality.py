"""Back through the flow: from an event to the execute call it belongs to, and to what asked for that.

An event is caused by the producer of the flow that leads to it; else by what encloses it on its thread; at the top of
a thread pool's task by the task, which begins with a `ThreadpoolListener::StartRegion`, the consumer of a flow of its
own. The way ends on the thread that drives (its backward pass included): what lies above there is read from nesting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis import kernels
from tb_xla_insights.analysis.codes import (
    COMPILE,
    COMPILE_PART,
    DISPATCH_END,
    DYNAMO,
    DYNAMO_PART,
    ENQUEUE,
    HELPER,
    LAUNCH,
    MARKER,
    MAX_HOPS,
    READ,
    REGION_BEGINS,
    REGION_ENDS,
    SCHEDULE,
    SYNC,
)
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.trace.model import Int16, Int32, Int64, Trace
from tb_xla_insights.trace.nesting import climb
from tb_xla_insights.trace.threads import host_planes

_TAGS = {
    LAUNCH: "launch",
    HELPER: "run_start",
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
_NAMES = {
    "ThreadpoolListener::StartRegion": REGION_BEGINS,
    "ThreadpoolListener::StopRegion": REGION_ENDS,
    "SyncLiveTensorsGraph": MARKER,  # what a step marker does, and what is left of it where it has another name
}


@dataclass(frozen=True)
class CausalPaths:
    """What lies on the causal path of each of some events, as rows of the trace; -1: none.

    `launch`: the outermost execute call. `helper`: the first preparation of a run. `origin`: the first event on the
    driving thread or on the thread of its backward pass. `sync`: the innermost synchronisation or dynamo call there.
    `marker`: the step marker around `sync`. `dynamo`: whether the path contains a dynamo execution. `hops`: MAX_HOPS
    columns, the events with which the path's threads took the work over, the last thread first.
    """

    launch: Int32
    helper: Int32
    origin: Int32
    sync: Int32
    marker: Int32
    dynamo: NDArray[np.bool_]
    hops: Int32


@memoised
def event_flags(trace: Trace) -> Int16:
    """Per metadata entry, what its name is to a launch."""
    flags = np.zeros(len(trace.metadata.name), np.int16)
    for flag, tag in _TAGS.items():
        flags |= (flag * has_tag(trace, tag)).astype(np.int16)
    for entry, text in enumerate(trace.metadata.name):
        flags[entry] |= _NAMES.get(trace.strings[text], 0)
    return flags


@memoised
def _flagged(trace: Trace) -> tuple[Int32, Int16]:
    """Events whose names are something to a launch, and what."""
    flags = event_flags(trace)
    if not flags.any():
        return np.zeros(0, np.int32), np.zeros(0, np.int16)
    rows = trace.rows_of(flags != 0)
    return rows, flags[trace.meta[rows]]


def rows_flagged(trace: Trace, flag: int) -> Int32:
    """The events that have one of the flags, in row order."""
    rows, flags = _flagged(trace)
    has: NDArray[np.bool_] = flags & flag != 0
    return rows[has]


@memoised
def _regions(trace: Trace) -> tuple[Int64, Int32]:
    """Events that begin or end a thread pool's task, and the task that is open after each (-1: none)."""
    rows, flags = _flagged(trace)
    chosen = flags & (REGION_BEGINS | REGION_ENDS) != 0
    marks = rows[chosen].astype(np.int64)
    stack, open_after = np.empty(len(marks) + 1, np.int32), np.full(len(marks), -1, np.int32)
    kernels.open_tasks(
        marks, flags[chosen] & REGION_BEGINS != 0, trace.lines_of(rows[chosen]), stack, open_after
    )
    return marks, open_after


def causal_paths(trace: Trace, begin: Int32) -> CausalPaths:
    """The ways back from the given events. A way ends at the run of another program: a run that had to queue was let go
    by the one before it, which is not what launched it."""
    drives = np.isin(np.arange(len(trace.lines)), trace.driving_lines)
    hosts = host_planes(trace)
    on_host = np.array([line.plane in hosts for line in trace.lines], np.bool_)
    marks, open_after = _regions(trace)
    runs = [device.modules.row for device in trace.devices if device.made]
    run_rows = np.sort(np.concatenate(runs)) if runs else np.zeros(0, np.int32)
    count = len(begin)
    found = np.full((5, count), -1, np.int32)  # launch, helper, origin, sync, marker
    dynamo = np.zeros(count, np.bool_)
    hops = np.full((count, MAX_HOPS), -1, np.int32)
    kernels.walk(
        begin.astype(np.int32), event_flags(trace), trace.meta, trace.parent, trace.flows.consumer,
        trace.flows.producer, marks, open_after, trace.line_first, drives, on_host, run_rows, found, dynamo, hops,
    )  # fmt: skip
    return CausalPaths(found[0], found[1], found[2], found[3], found[4], dynamo, hops)


def execute_calls(trace: Trace, rows: Int32) -> Int32:
    """The execute call of each event that starts a run, the outermost one on its way back; -1: none. Where the capture
    has no execute calls, as those of JAX 0.6 on a CPU, the first of the events in one jitted call stands for them all:
    it executes once, for all cores."""
    ways = causal_paths(trace, rows)
    if not len(rows) or rows_flagged(trace, LAUNCH).size:
        return ways.launch
    jitted = climb(trace.parent, ways.origin, trace.rows_of(has_tag(trace, "jitted_call")))
    order = np.argsort(trace.start_ps[rows], kind="stable")
    _, first, number = np.unique(jitted[order], return_index=True, return_inverse=True)
    call = np.empty(len(rows), np.int32)
    call[order] = rows[order[first[number]]]
    return np.where(jitted >= 0, call, np.int32(-1))
