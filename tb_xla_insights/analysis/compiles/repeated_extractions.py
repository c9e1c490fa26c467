"""Graphs that torch.compile extracts again after warm-up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.host.extractions import find_extractions
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, Launches, find_launches
from tb_xla_insights.analysis.launches.step_sources import recorded_times
from tb_xla_insights.analysis.launches.step_times import find_steps, steps_at
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.thresholds import FIRST_WARM_STEP
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.arrays import Int32
from tb_xla_insights.trace.model import Trace


@dataclass(frozen=True)
class RepeatedExtractions:
    """`step`: the step of each extraction after warm-up, -1: outside of steps. `times`: when these extractions are.
    `has_caused`: per compilation of `find_compilations`, whether such an extraction led to it."""

    step: Int32
    times: Intervals
    has_caused: NDArray[np.bool_]


@memoised
def find_repeated_extractions(trace: Trace, gave_up: bool = False) -> RepeatedExtractions:
    """Finds the extractions of one host after warm-up: those in steps with numbers from FIRST_WARM_STEP on; without
    numbers, those whose graph has run in the capture before.

    The compilations during them belong to them. If torch.compile is known to have given up a function (`gave_up`), so
    do the compilations after the last extraction, up to the end of the step after it: from then on, the function's
    graphs are built lazily and are new.
    """
    extractions, launches, steps = find_extractions(trace), find_launches(trace), find_steps(trace)
    step = steps_at(trace, trace.start_ps[extractions.first])
    numbers = [steps[index].number if index >= 0 else None for index in step.tolist()]
    is_repeated = np.array(
        [
            _has_run(trace, launches, int(last)) if number is None else number >= FIRST_WARM_STEP
            for last, number in zip(extractions.last, numbers, strict=True)
        ],
        np.bool_,
    )
    times = union(extractions.start_ps, extractions.end_ps, is_repeated)
    compilations = find_compilations(trace)
    start = compilations.start_ps
    index = np.searchsorted(times.start_ps, start, "right") - 1
    has_caused = (index >= 0) & (start < np.append(times.end_ps, 0)[index])
    if gave_up and len(times) and steps:
        step_starts, step_ends = recorded_times(trace)
        next_step = np.searchsorted(
            step_starts, trace.start_ps[extractions.first[is_repeated]].max(), "right"
        )
        end = np.append(step_ends, np.iinfo(np.int64).max)[next_step]
        has_caused |= (start >= times.end_ps[-1]) & (start < end)
    return RepeatedExtractions(step[is_repeated], times, has_caused)


def _has_run(trace: Trace, launches: Launches, last: int) -> bool:
    """Whether the graph that runs next on an extraction's thread has run before the extraction. `last`: the
    extraction's last event."""
    syncs = launches.sync[launches.kind == DYNAMO_KIND]
    line = trace.line_of(last)
    after = syncs[(syncs > last) & (syncs < line.rows.stop)]
    if not after.size:
        return False
    program = launches.program[launches.sync == after.min()][0]
    earlier = (launches.program == program) & (trace.start_ps[launches.row] < trace.start_ps[last])
    return bool(program >= 0 and earlier.any())
