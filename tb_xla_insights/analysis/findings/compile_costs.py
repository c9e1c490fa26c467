"""The costs of a compilation besides its own time: host work in the call that compiles, and a slow first run."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.findings.compile_places import compiling_call
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import number_distinct
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

BUILDING_CLASSES = ("compile", "tracing", "python")
"""The classes of host work that a call does only if it compiles. A call that finds its program in the cache launches
it at once."""


LATER_RUNS = ", and later runs may be shorter"
"""Follows the idle time if `slow_first_runs` does not know how long later runs take: then a fix gains more."""


def calls_that_compile(trace: Trace, rows: Int32) -> Intervals:
    """The calls of some compilations (rows; see `compiling_call`). Such a call includes more than the compilation: JAX
    traces and lowers the function in it."""
    calls = np.array([compiling_call(trace, row) for row in rows.tolist()], np.int32)
    return union(trace.start_ps[calls], trace.end_ps[calls])


@memoised
def warm_up_calls(trace: Trace) -> Intervals:
    """The calls that compile in the warm-up (see `calls_that_compile`)."""
    compiles = find_compilations(trace)
    return calls_that_compile(trace, compiles.row[compiles.warm_up])


def slow_first_runs(trace: Trace, compile_end_ps: Int64) -> tuple[Int64, bool]:
    """Per run of Launches.runs, how much longer the first run after a compilation takes than the median of the other
    runs of programs with the same name, in ps (0 for all other runs); and whether names of first runs have no other
    runs, so that it is unknown how long a later run takes. `compile_end_ps`: when compilations ended."""
    launches = find_launches(trace)
    runs, excess = launches.runs, np.zeros(len(launches.runs), np.int64)
    next_launch = np.searchsorted(trace.start_ps[launches.row], compile_end_ps)
    first = np.isin(runs.launch, next_launch) & (runs.program >= 0)
    names = number_distinct(name for name, _ in launches.programs)
    name = np.append(names, -1)[runs.program]
    is_any_unknown = False
    for index in np.unique(name[first]).tolist():
        is_first = first & (name == index)
        later_ps = runs.duration_ps[(name == index) & ~first]
        if later_ps.size:
            excess[is_first] = np.maximum(runs.duration_ps[is_first] - round(float(np.median(later_ps))), 0)
        else:
            is_any_unknown = True
    return excess, is_any_unknown
