"""When the ops of a CPU start and end, from what host threads record of them.

An op lasts from its event's begin to the `end:` event that its flow leads to. The thread that completes an op goes on
with the program at once and writes `end:` behind that: where a `ThunkExecutor::Execute` stands directly before `end:`,
the op was complete when that began. Of several `end:` in a row that holds for all.
"""

from __future__ import annotations

import numpy as np

from tb_xla_insights.compiled import inlined, kernel
from tb_xla_insights.trace.model import Int8, Int32, Int64, Trace
from tb_xla_insights.trace.regions import EXECUTE, Regions

_EXECUTE, _END = 1, 2


def op_times(trace: Trace, ops: Int32, regions: Regions | None) -> tuple[Int64, Int64, Int32]:
    """When each op (a row) starts and ends, and the run (region) it belongs to, -1: none. It ends when it was complete,
    or with its event where the capture has no `end:`, but no later than its run.
    (docs/definitions.md, "Device")"""
    consumer_of = np.full(len(trace), -1, np.int32)
    consumer_of[trace.flows.producer] = trace.flows.consumer
    if regions:
        known = regions.of_row, regions.run, regions.complete_ps
    else:
        known = np.full(len(trace), -1, np.int32), np.empty(0, np.int32), np.empty(0, np.int64)
    (start, end), run = np.empty((2, len(ops)), np.int64), np.empty(len(ops), np.int32)
    events = trace.start_ps, trace.duration_ps, trace.parent, trace.meta, _marks(trace)
    _time(ops, *events, consumer_of, *known, start, end, run)
    return start, end, run


def _marks(trace: Trace) -> Int8:
    """What each metadata entry is to the ends of ops, by its name."""

    def mark(name: str) -> int:
        return _EXECUTE if name == EXECUTE else _END * name.startswith("end: ")

    return trace.told(trace.metadata.name, mark)


@inlined
def _before(row, parent):  # type: ignore[no-untyped-def]
    """The event before another one on its thread and level, -1: none; of a thread's first event it is one of another
    thread."""
    at = row - 1
    while at >= 0 and parent[at] != parent[row]:
        at = parent[at]
    return at


@inlined
def _repeats(row, until, execute, start, parent, mark, meta):  # type: ignore[no-untyped-def]
    """Whether an `Execute` is another round of a loop: an op that executes a program in its event (which ends at
    `until`), and in that the op with which the `Execute` begins."""
    first = execute + 1
    executes, begins_alike, at = False, first >= len(start) or parent[first] != execute, row + 1
    while at < len(start) and parent[at] >= row and start[at] < until:
        executes |= mark[meta[at]] == _EXECUTE
        begins_alike |= first < len(start) and meta[at] == meta[first]
        at += 1
    return executes and begins_alike


@kernel(
    "void(int32[::1], int64[::1], int64[::1], int32[::1], int32[::1], int8[::1], int32[::1], int32[::1], int32[::1], "
    "int64[::1], int64[::1], int64[::1], int32[::1])"
)
def _time(  # type: ignore[no-untyped-def]
    ops,
    start,
    duration,
    parent,
    meta,
    mark,
    consumer_of,
    of_row,
    run_of,
    run_end,
    op_start,
    op_end,
    op_run,
):
    for i in range(len(ops)):
        row = ops[i]
        region = of_row[row]
        run = run_of[region] if region >= 0 else np.int32(-1)
        ended = consumer_of[row]
        until = start[row] + duration[row]
        if ended >= 0:
            event_end, until = until, start[ended]
            at = ended
            while at >= 0 and mark[meta[at]] == _END and of_row[at] == of_row[ended]:
                at = _before(at, parent)
            if (
                at >= 0
                and mark[meta[at]] == _EXECUTE
                and of_row[at] == of_row[ended]
                and of_row[at] >= 0
                and event_end <= start[at] < until
                and not _repeats(row, event_end, at, start, parent, mark, meta)
            ):
                until = start[at]
        if run >= 0:
            until = min(until, run_end[run])
        op_start[i], op_run[i] = start[row], run
        op_end[i] = max(until, start[row])  # flows of a damaged file may lead back in time
