"""Graphs that torch.compile extracted again: not the first time, which every program has to pay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.host.extractions import find_extractions
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, Launches, find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.step_times import steps_at, steps_of
from tb_xla_insights.analysis.thresholds import FIRST_WARM_STEP
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.trace.model import Int32, Trace


@dataclass(frozen=True)
class RepeatedExtractions:
    """`step`: of each extraction after warm-up, -1: outside of steps. `when`: their times. `compiles`: per compilation
    of `find_compilations`, whether it is what they led to."""

    step: Int32
    when: Intervals
    compiles: NDArray[np.bool_]


@memoised
def find_repeated_extractions(trace: Trace, gave_up: bool = False) -> RepeatedExtractions:
    """The extractions of one host other than warm-up: in steps with numbers from FIRST_WARM_STEP on; without numbers,
    those whose graph has run in the capture before.

    Compilations within them belong to them. Where torch.compile is known to have given up a function (`gave_up`), so
    do those after the last extraction, up to the end of the step after it: what ran compiled is built lazily from then
    on, in graphs that are new.
    """
    its, launches, steps = find_extractions(trace), find_launches(trace), steps_of(trace)
    step = steps_at(trace, trace.start_ps[its.first])
    numbers = [steps[at].number if at >= 0 else None for at in step.tolist()]
    again = np.array(
        [
            _has_run(trace, launches, int(last)) if number is None else number >= FIRST_WARM_STEP
            for last, number in zip(its.last, numbers, strict=True)
        ],
        np.bool_,
    )
    when = union(its.start_ps, its.end_ps, again)
    compiles = find_compilations(trace)
    start = compiles.start_ps
    at = np.searchsorted(when.start_ps, start, "right") - 1
    led_to = (at >= 0) & (start < np.append(when.end_ps, 0)[at])
    if gave_up and len(when):
        led_to |= (start >= when.end_ps[-1]) & (compiles.step >= 0) & (compiles.step <= step[again].max() + 1)
    return RepeatedExtractions(step[again], when, led_to)


def _has_run(trace: Trace, launches: Launches, last: int) -> bool:
    """Whether the graph that an extraction's thread runs next has run before it."""
    rows = launches.sync[launches.kind == DYNAMO_KIND]
    line = trace.line_of(last)
    after = rows[(rows > last) & (rows < line.rows.stop)]
    if not after.size:
        return False
    program = launches.program[launches.sync == after.min()][0]
    before = (launches.program == program) & (trace.start_ps[launches.row] < trace.start_ps[last])
    return bool(program >= 0 and before.any())
