"""Advice for steps that sync at many step markers, from what the steps do between the markers."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.locations import phase_rows
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.trace.model import Trace


def advise_one_sync(facts: Facts, markers_per_step: int) -> str:
    """Advice by what is usually between two markers: one annotation, several (a micro-batch), or none."""
    counts = _annotations_between_markers(facts.trace)
    annotations = counts.most_common(1)[0][0] if counts else ()
    advice = f"Sync once a step, not at {markers_per_step} StepMarkers: "
    if len(annotations) == 1:
        return f"{advice}remove the mark_step() or torch_xla.sync() after each {annotations[0]}, except the last one."
    if annotations:
        return f"{advice}remove the mark_step() or torch_xla.sync() between micro-batches."
    return f"{advice}remove the mark_step() or torch_xla.sync() in between."


def _annotations_between_markers(trace: Trace) -> Counter[tuple[str, ...]]:
    """Counts consecutive pairs of launching step markers in one step, by the paths of the annotations directly below
    the step that end between the two markers."""
    launches = find_launches(trace)
    marker_launches = np.flatnonzero((launches.marker >= 0) & (launches.step >= 0))
    first, second = marker_launches[:-1], marker_launches[1:]
    is_same_step = launches.step[first] == launches.step[second]
    start_ps = trace.end_ps[launches.marker[first]][is_same_step]
    end_ps = trace.start_ps[launches.marker[second]][is_same_step]
    rows = phase_rows(trace)
    rows = rows[np.argsort(trace.end_ps[rows], kind="stable")]
    bounds = [np.searchsorted(trace.end_ps[rows], edges, "right").tolist() for edges in (start_ps, end_ps)]
    names = [enclosing_path(trace, row) or "" for row in rows.tolist()]
    return Counter(tuple(sorted(set(names[low:high]))) for low, high in zip(*bounds, strict=True))
