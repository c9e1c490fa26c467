"""What steps that sync at many step markers do between them, and what to do about that."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tb_xla_insights.analysis.findings.base import Facts, mean_text
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.steps.step_times import annotated_steps
from tb_xla_insights.trace.model import Trace


def sync_once(facts: Facts, each: float) -> str:
    """What to advise where steps sync at `each` markers in the mean, by what lies between most of them: one annotation,
    several ones (a micro-batch), or none."""
    between = _between(facts.trace)
    most = between.most_common(1)[0][0] if between else ()
    advice = f"Sync once a step, not at {mean_text(each)} StepMarkers: "
    if len(most) == 1:
        return (
            f"{advice}remove the mark_step() or torch_xla.sync() behind each {most[0]}, but for the last one."
        )
    if most:
        return f"{advice}accumulate gradients without mark_step() or torch_xla.sync() in between."
    return f"{advice}remove the mark_step() or torch_xla.sync() in between."


def _between(trace: Trace) -> Counter[tuple[str, ...]]:
    """How many step markers that launch something follow another one of their step, by the paths of the annotations
    right below the step that end between the two."""
    launches = find_launches(trace)
    marked = np.flatnonzero((launches.marker >= 0) & (launches.step >= 0))
    same_step = launches.step[marked[1:]] == launches.step[marked[:-1]]
    since = trace.end_ps[launches.marker[marked[:-1]]][same_step]
    until = trace.start_ps[launches.marker[marked[1:]]][same_step]
    roots = [step.row for step in annotated_steps(trace)]
    rows = trace.annotations[np.isin(trace.parent[trace.annotations], roots)]
    rows = rows[np.argsort(trace.end_ps[rows], kind="stable")]
    bounds = [np.searchsorted(trace.end_ps[rows], edges, "right").tolist() for edges in (since, until)]
    names = [enclosing_path(trace, row) or "" for row in rows.tolist()]
    return Counter(tuple(sorted(set(names[first:last]))) for first, last in zip(*bounds, strict=True))
