"""The segments of each gap by their source: the driving thread, a thread that carried the launch, a wait, or the
run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.idle.idle_time import QUEUED, find_gaps
from tb_xla_insights.analysis.launches.causality import CausalPaths, causal_paths
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

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
      until the next thread takes up the work. If the driving thread makes the launch, it hands over when its call
      returns.
    - For each thread that carries the launch: a wait for that thread until it takes up the work, then the thread itself
      until it hands over in turn, or until the end of its outermost event.
    - The launch enqueued, until the run begins.
    - The run, if its first op began later than the run.
    In a queued gap, or one whose enqueuing is unknown, the whole gap is one segment of the driving thread.
    """
    gaps, launches = find_gaps(trace), find_launches(trace)
    start, end, run = gaps.start_ps[gap_indices], gaps.end_ps[gap_indices], gaps.run[gap_indices]
    enqueue = gaps.enqueue_row[gap_indices]
    has_launch = (enqueue >= 0) & (gaps.kind[gap_indices] != QUEUED)
    paths = causal_paths(trace, np.where(has_launch, enqueue, -1).astype(np.int32))
    hand_over_ps, take_up_ps, lines = _hand_overs(trace, paths, enqueue, has_launch, end)
    by_driving_thread = has_launch & (paths.hops < 0).all(axis=1)
    has_call = by_driving_thread & (paths.launch >= 0)
    call_end_ps = np.where(has_call, trace.end_ps[paths.launch], trace.end_ps[enqueue])
    launch_end_ps = np.where(by_driving_thread, call_end_ps, _outermost_end_ps(trace, enqueue))
    launch_end_ps = np.where(has_launch, np.minimum(np.maximum(launch_end_ps, start), end), end)
    begins_run = has_launch & (run >= 0) & ~gaps.inside[gap_indices]
    run_start_ps = np.where(begins_run, np.append(launches.runs.start_ps, 0)[run], end)
    count, hops = take_up_ps.shape
    bounds = np.empty((count, 2 * hops + 4), np.int64)
    bounds[:, 0], bounds[:, -1] = start, end
    bounds[:, 1:-3:2], bounds[:, 2:-3:2] = hand_over_ps, take_up_ps
    bounds[:, -3], bounds[:, -2] = np.minimum(launch_end_ps, run_start_ps), run_start_ps
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
    take_up_ps = np.where(hops >= 0, trace.start_ps[hops], never)
    producer = trace.flows.producers(hops.ravel()).reshape(hops.shape)
    hand_over_ps = np.where(producer >= 0, np.minimum(trace.end_ps[producer], take_up_ps), take_up_ps)
    # Without a thread that took over, the driving thread launched the work itself.
    by_driving_thread = has_launch & (hops < 0).all(axis=1)
    lines[by_driving_thread, -1] = trace.lines_of(enqueue[by_driving_thread])
    enqueue_start_ps = trace.start_ps[enqueue[by_driving_thread]]
    hand_over_ps[by_driving_thread, -1] = take_up_ps[by_driving_thread, -1] = enqueue_start_ps
    first = hand_over_ps.min(axis=1, keepdims=True)
    hand_over_ps, take_up_ps = (
        np.where(times == never, first, times) for times in (hand_over_ps, take_up_ps)
    )
    return (
        np.where(has_launch[:, None], hand_over_ps, end[:, None]),
        np.where(has_launch[:, None], take_up_ps, end[:, None]),
        lines,
    )


def _outermost_end_ps(trace: Trace, rows: Int32) -> Int64:
    """The end of the outermost event around each of some events."""
    while (inside := (rows >= 0) & (trace.parent[rows] >= 0)).any():
        rows = np.where(inside, trace.parent[rows], rows)
    return trace.end_ps[rows]
