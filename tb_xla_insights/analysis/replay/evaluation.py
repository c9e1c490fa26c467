"""An evaluation between two steps, which is part of the loop but of no usual step."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import annotated_times
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import span_intervals
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Trace


@memoised
def single_evaluation(trace: Trace) -> Fix | None:
    """What a replay removes to leave out an evaluation: all that the host does and launches between two annotations, if
    it launches something between them and nowhere else between annotations. None without it. An evaluation that recurs
    is part of the usual step."""
    count, launches = len(find_steps(trace)), find_launches(trace)
    starts, ends = (times[:count] for times in annotated_times(trace))
    requested_ps = np.where(launches.origin >= 0, trace.start_ps[launches.origin], -1)
    before = np.searchsorted(starts, requested_ps, "right") - 1
    is_between = (before >= 0) & (before < count - 1) & (requested_ps >= np.append(ends, 0)[before])
    places = np.unique(before[is_between])
    if len(places) != 1:
        return None
    (place,) = places.tolist()
    runs = launches.runs
    is_removed = np.append(is_between, False)[runs.launch]
    return Fix(
        CLASSES,
        windows=span_intervals(int(ends[place]), int(starts[place + 1])),
        device_ps=np.where(is_removed, runs.duration_ps, 0),
    )
