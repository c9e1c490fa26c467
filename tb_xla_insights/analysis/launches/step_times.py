"""The training steps of a capture, and the time that each of them takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import Step, recorded_steps, recorded_steps_at
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import SessionTrace, Trace


@memoised
def find_steps(trace: Trace) -> list[Step]:
    """Returns one host's whole steps in order of time, all from one source; empty if the capture has no source.

    A step lasts as long as it is recorded, unless the host only hands its work over: then it lasts from the end of the
    previous step's work to the end of its own. (docs/definitions.md, "Step")
    """
    steps, times = recorded_steps(trace), find_launches(trace).handed_over_times
    if times is None:
        return steps
    return [
        replace(step, start_ps=start, duration_ps=end - start)
        for step, start, end in zip(steps, times[0].tolist(), times[1].tolist(), strict=False)
    ]


def annotated_steps(trace: Trace) -> list[Step]:
    """Returns the steps as recorded (when the host was in them) if they come from annotations, else none."""
    return [step for step in recorded_steps(trace) if step.source == "annotation"]


def rows_of_steps(trace: Trace) -> Int32:
    """The annotations of the steps."""
    return np.array([row for step in annotated_steps(trace) for row in step.rows], np.int32)


@memoised
def step_times(trace: Trace) -> tuple[Int64, Int64]:
    """Returns start and end of the steps."""
    times = [(step.start_ps, step.end_ps) for step in find_steps(trace)]
    start, end = np.array(times, np.int64).reshape(-1, 2).T.copy()
    return start, end


def steps_at(trace: Trace, instants: Int64) -> Int32:
    """Returns the step that the host was in at each of some instants, by the steps' recorded times; -1 outside of
    steps."""
    index = recorded_steps_at(trace, instants)
    return np.where(index < len(find_steps(trace)), index, -1).astype(np.int32)


def median_step(trace: Trace, indices: Int32) -> int | None:
    """Returns the index of the step of median duration (the shorter one of two) among the steps at `indices`, which may
    repeat; negative ones are ignored. None if no step is left."""
    steps = find_steps(trace)
    candidates = np.unique(indices[indices >= 0]).tolist()
    by_duration = sorted(candidates, key=lambda index: (steps[index].duration_ps, index))
    return by_duration[(len(by_duration) - 1) // 2] if by_duration else None


def traces_with_step_offsets(session: SessionTrace) -> Iterator[tuple[Trace, int]]:
    """Yields each host's trace and the index of its first step in the report's `steps`."""
    if session.steps_before:
        yield from zip(session.traces, session.steps_before, strict=True)
        return
    offset = 0
    for trace in session.traces:
        yield trace, offset
        offset += len(find_steps(trace))
