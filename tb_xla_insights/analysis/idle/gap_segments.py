"""What made each stretch of a gap: the driving thread, a thread that carried the launch, waiting for one, the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.idle.idle_time import QUEUED, find_gaps
from tb_xla_insights.analysis.launches.causality import CausalPaths, causal_paths
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.trace.model import Int32, Int64, Trace

HOST, RUN, ENQUEUED, _HANDED_OVER = -1, -2, -3, -4
"""What a stretch is read from, where that is no thread's own timeline: the class at an instant, the run that has begun,
and a launch that waits for its run, or for a thread (`-4 - line`)."""


@dataclass(frozen=True)
class GapSegments:
    """Stretches that make up each gap, in order: `gap` (index into those asked for), start and end, and `source`, what
    each is read from: the index of a line, HOST, RUN, ENQUEUED, or what `waiting_line` knows."""

    gap: Int32
    start_ps: Int64
    end_ps: Int64
    source: Int32


def waiting_line(source: int) -> int:
    """The line whose thread has yet to take up what was handed over to it; -1 where none has."""
    return max(_HANDED_OVER - source, -1)


def find_gap_segments(trace: Trace, which: NDArray[np.int64]) -> GapSegments:
    """The stretches of some gaps (indices into `find_gaps`). (docs/definitions.md, "Why a gap ended")

    The driving thread's lasts until it has handed the work over: until the event that the flow leads from has ended,
    at most until the thread that it leads to took the work up. From there to the take-over the work waits for that
    thread; then follows what the thread does until it hands the work over in its turn, or until its outermost event
    is over. From there to the run's begin the work is enqueued; at last comes the run itself, if its first op came
    later. A thread that drives and launches itself has handed the work over when its call returns. In a queued gap, or
    one that no known run ended, there is nothing to follow: all of it is the driving thread's.
    """
    gaps, launches = find_gaps(trace), find_launches(trace)
    start, end, run = gaps.start_ps[which], gaps.end_ps[which], gaps.run[which]
    enqueue = gaps.enqueue_row[which]
    followed = (run >= 0) & (enqueue >= 0) & (gaps.kind[which] != QUEUED)
    ways = causal_paths(trace, np.where(followed, enqueue, -1).astype(np.int32))
    given, taken, lines = _hops(trace, ways, enqueue, followed, end)
    own = followed & (ways.hops < 0).all(axis=1)
    returned = np.where(own & (ways.launch >= 0), trace.end_ps[ways.launch], trace.end_ps[enqueue])
    carried = np.where(own, returned, _done(trace, enqueue))
    carried = np.where(followed, np.minimum(np.maximum(carried, start), end), end)
    begun = np.where(gaps.inside[which], end, np.append(launches.runs.start_ps, 0)[run])
    begun = np.where(followed, begun, end)
    count, hops = taken.shape
    bounds = np.empty((count, 2 * hops + 4), np.int64)
    bounds[:, 0], bounds[:, -1] = start, end
    bounds[:, 1:-3:2], bounds[:, 2:-3:2] = given, taken
    bounds[:, -3], bounds[:, -2] = np.minimum(carried, begun), begun
    bounds = np.minimum(np.maximum(np.maximum.accumulate(bounds, axis=1), start[:, None]), end[:, None])
    source = np.empty((count, 2 * hops + 3), np.int32)
    source[:, 0], source[:, -2], source[:, -1] = HOST, ENQUEUED, RUN
    source[:, 1:-2:2], source[:, 2:-2:2] = _HANDED_OVER - lines, lines
    gap = np.repeat(np.arange(count, dtype=np.int32), source.shape[1])
    some = (bounds[:, 1:] > bounds[:, :-1]).ravel()
    return GapSegments(
        gap[some], bounds[:, :-1].ravel()[some], bounds[:, 1:].ravel()[some], source.ravel()[some]
    )


def _hops(
    trace: Trace, ways: CausalPaths, enqueue: Int32, followed: NDArray[np.bool_], end: Int64
) -> tuple[Int64, Int64, Int32]:
    """When the work was handed over to each thread of the way, when that took it up, and its line, the first thread
    first. Places before the first one are as if it took over there and then."""
    hops = ways.hops[:, ::-1]
    lines = trace.lines_of(hops)
    never = np.iinfo(np.int64).max
    taken = np.where(hops >= 0, trace.start_ps[hops], never)
    producer = trace.flows.producers(hops.ravel()).reshape(hops.shape)
    given = np.where(producer >= 0, np.minimum(trace.end_ps[producer], taken), taken)
    # Without a thread that took over, the driving thread launched the work itself.
    own = followed & (hops < 0).all(axis=1)
    lines[own, -1] = trace.lines_of(enqueue[own])
    given[own, -1] = taken[own, -1] = trace.start_ps[enqueue[own]]
    first = given.min(axis=1, keepdims=True)
    given, taken = (np.where(at == never, first, at) for at in (given, taken))
    return (
        np.where(followed[:, None], given, end[:, None]),
        np.where(followed[:, None], taken, end[:, None]),
        lines,
    )


def _done(trace: Trace, rows: Int32) -> Int64:
    """Until when the outermost event around each of some events lasts."""
    while (inside := (rows >= 0) & (trace.parent[rows] >= 0)).any():
        rows = np.where(inside, trace.parent[rows], rows)
    return trace.end_ps[rows]
