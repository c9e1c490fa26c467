"""What a compilation brings with it: host work in the call that compiles, and a slow first run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.replay.what_if import NO_LAUNCHES, Fix
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.trace.annotations import annotated
from tb_xla_insights.trace.model import Int32, Int64, Trace

BUILDS = ("compile", "tracing", "python")
"""What the host does in a call that compiles because it does: a call that finds its program only launches it."""


def calls_that_compile(trace: Trace, rows: Int32) -> Intervals:
    """The outermost runtime events around some events within the annotations around them. JAX traces a function and
    lowers it in the call that compiles it."""
    frames, annotations = has_tag(trace, "python_tracer"), annotated(trace)
    calls = []
    for row in rows.tolist():
        call = above = row
        while (above := int(trace.parent[above])) >= 0 and not annotations[above]:
            call = call if frames[trace.meta[above]] else above
        calls.append(call)
    found = np.array(calls, np.int32)
    return union(trace.start_ps[found], trace.end_ps[found])


def slow_first_runs(trace: Trace, compiled_ps: Int64) -> tuple[Int64, NDArray[np.intp]]:
    """Per run of Launches.runs, how much longer it takes for being the first one after its program was compiled than
    the median of all other runs of programs of that name; and the launches of first runs of names that have no other
    runs: how long those would take is not known. `compiled_ps`: when compilations ended."""
    launches = find_launches(trace)
    runs, excess = launches.runs, np.zeros(len(launches.runs), np.int64)
    called = np.searchsorted(trace.start_ps[launches.row], compiled_ps)
    first = np.isin(runs.launch, called) & (runs.program >= 0)
    names = np.unique([name for name, _ in launches.programs], return_inverse=True)[1]
    name = np.append(names, -1)[runs.program]
    unknown = np.zeros(len(runs), np.bool_)
    for number in np.unique(name[first]).tolist():
        of_name = first & (name == number)
        others = runs.duration_ps[(name == number) & ~first]
        if others.size:
            excess[of_name] = np.maximum(runs.duration_ps[of_name] - round(float(np.median(others))), 0)
        else:
            unknown |= of_name
    return excess, np.unique(runs.launch[unknown]).astype(np.intp)


def known_elsewhere(fix: Fix) -> Fix:
    """The fix of what happened in one step: the others tell how long a step's work takes."""
    return replace(fix, unknown=NO_LAUNCHES)
