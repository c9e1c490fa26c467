"""The segments of each gap by their source: the driving thread, a thread that carried the launch, a wait, or the
run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.idle.idle_time import QUEUED, find_gaps
from tb_xla_insights.analysis.launches.causality import CausalPaths, causal_paths
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.trace.model import Int32, Int64, Trace

HOST, RUN, ENQUEUED, _HANDED_OVER = -1, -2, -3, -4
"""Sources of segments other than a thread's timeline: the host's class segments, the run that has begun, a launch that
waits for its run, and one that waits for a thread (`-4 - line`)."""


@dataclass(frozen=True)
class GapSegments:
    """Segments that make up each gap, in order: `gap` (index into the requested gaps), start and end, and `source`: the
    index of a line, HOST, RUN, ENQUEUED, or a code for `waiting_line`."""

    gap: Int32
    start_ps: Int64
    end_ps: Int64
    source: Int32


def waiting_line(source: int) -> int:
    """The line whose thread has not yet taken up the work handed over to it; -1 for other sources."""
    return max(_HANDED_OVER - source, -1)


def find_gap_segments(trace: Trace, gap_indices: NDArray[np.int64]) -> GapSegments:
    """The segments of some gaps (`gap_indices` into `find_gaps`). (docs/definitions.md, "Why a gap ended")

    In order:
    - The driving thread, until it hands the work over: until the end of the event from which the flow starts, at most
      until the next thread takes up the work. A driving thread that launches itself hands over when its call returns.
    - For each thread that carries the launch: a wait for that thread until it takes up the work, then the thread itself
      until it hands over in turn, or until the end of its outermost event.
    - The launch enqueued, until the run begins.
    - The run, if its first op began later than the run.
    In a queued gap, or one that no known run ended, the whole gap is one segment of the driving thread.
    """
    gaps, launches = find_gaps(trace), find_launches(trace)
    start, end, run = gaps.start_ps[gap_indices], gaps.end_ps[gap_indices], gaps.run[gap_indices]
    enqueue = gaps.enqueue_row[gap_indices]
    has_launch = (run >= 0) & (enqueue >= 0) & (gaps.kind[gap_indices] != QUEUED)
    paths = causal_paths(trace, np.where(has_launch, enqueue, -1).astype(np.int32))
    handed_ps, taken_ps, lines = _hand_overs(trace, paths, enqueue, has_launch, end)
    by_driver = has_launch & (paths.hops < 0).all(axis=1)
    returned = np.where(by_driver & (paths.launch >= 0), trace.end_ps[paths.launch], trace.end_ps[enqueue])
    launched = np.where(by_driver, returned, _outermost_end_ps(trace, enqueue))
    launched = np.where(has_launch, np.minimum(np.maximum(launched, start), end), end)
    begun = np.where(gaps.inside[gap_indices], end, np.append(launches.runs.start_ps, 0)[run])
    begun = np.where(has_launch, begun, end)
    count, hops = taken_ps.shape
    bounds = np.empty((count, 2 * hops + 4), np.int64)
    bounds[:, 0], bounds[:, -1] = start, end
    bounds[:, 1:-3:2], bounds[:, 2:-3:2] = handed_ps, taken_ps
    bounds[:, -3], bounds[:, -2] = np.minimum(launched, begun), begun
    bounds = np.minimum(np.maximum(np.maximum.accumulate(bounds, axis=1), start[:, None]), end[:, None])
    source = np.empty((count, 2 * hops + 3), np.int32)
    source[:, 0], source[:, -2], source[:, -1] = HOST, ENQUEUED, RUN
    source[:, 1:-2:2], source[:, 2:-2:2] = _HANDED_OVER - lines, lines
    gap = np.repeat(np.arange(count, dtype=np.int32), source.shape[1])
    nonempty = (bounds[:, 1:] > bounds[:, :-1]).ravel()
    return GapSegments(
        gap[nonempty],
        bounds[:, :-1].ravel()[nonempty],
        bounds[:, 1:].ravel()[nonempty],
        source.ravel()[nonempty],
    )


def _hand_overs(
    trace: Trace, paths: CausalPaths, enqueue: Int32, has_launch: NDArray[np.bool_], end: Int64
) -> tuple[Int64, Int64, Int32]:
    """Per gap and hop of the causal path, from the first thread on: when the work was handed over to the thread, when
    the thread took it up, and the thread's line. Unused hops come first and have the first hand-over's time."""
    hops = paths.hops[:, ::-1]
    lines = trace.lines_of(hops)
    never = np.iinfo(np.int64).max
    taken_ps = np.where(hops >= 0, trace.start_ps[hops], never)
    producer = trace.flows.producers(hops.ravel()).reshape(hops.shape)
    handed_ps = np.where(producer >= 0, np.minimum(trace.end_ps[producer], taken_ps), taken_ps)
    # Without a thread that took over, the driving thread launched the work itself.
    by_driver = has_launch & (hops < 0).all(axis=1)
    lines[by_driver, -1] = trace.lines_of(enqueue[by_driver])
    handed_ps[by_driver, -1] = taken_ps[by_driver, -1] = trace.start_ps[enqueue[by_driver]]
    first = handed_ps.min(axis=1, keepdims=True)
    handed_ps, taken_ps = (np.where(times == never, first, times) for times in (handed_ps, taken_ps))
    return (
        np.where(has_launch[:, None], handed_ps, end[:, None]),
        np.where(has_launch[:, None], taken_ps, end[:, None]),
        lines,
    )


def _outermost_end_ps(trace: Trace, rows: Int32) -> Int64:
    """The end of the outermost event around each of some events."""
    while (inside := (rows >= 0) & (trace.parent[rows] >= 0)).any():
        rows = np.where(inside, trace.parent[rows], rows)
    return trace.end_ps[rows]
