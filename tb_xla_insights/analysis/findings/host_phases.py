"""The annotations in which the host spends the time of a class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set

import numpy as np

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Frequency
from tb_xla_insights.analysis.findings.locations import phase_rows, rows_beside_steps
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.launches.step_times import steps_at
from tb_xla_insights.analysis.names import is_loading_annotation
from tb_xla_insights.analysis.time.class_times import class_times_inside
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals
from tb_xla_insights.catalog.classes import CLASS_INDEX
from tb_xla_insights.text.english import join_words
from tb_xla_insights.text.units import brief_times
from tb_xla_insights.trace.model import Trace


def longest_phases(
    trace: Trace, class_: str, steps: Set[int] | None, excluded: Intervals, gaps: Intervals
) -> list[tuple[str, int]]:
    """The names of annotations with their time of a class in ps, the longest first: those directly below the whole
    steps (all, or those of some indices) with their time outside of the `excluded` intervals, and those beside the
    steps with their time in the finding's `gaps`; without those that have none or load data."""
    rows = phase_rows(trace)
    step_of_row = steps_at(trace, trace.start_ps[rows])
    rows = rows[step_of_row >= 0 if steps is None else np.isin(step_of_row, [*steps])]
    everywhere = span_intervals(*trace.span_ps)
    times: Counter[str] = Counter()
    for located_rows, windows in ((rows, everywhere.without(excluded)), (rows_beside_steps(trace), gaps)):
        shares = class_times_inside(
            host_class_segments(trace), windows, trace.start_ps[located_rows], trace.end_ps[located_rows]
        )
        names = trace.metadata.name[trace.metadata_index[located_rows]].tolist()
        loads_data = is_loading_annotation(trace)[trace.metadata_index[located_rows]].tolist()
        for name, time, is_loading in zip(
            names, shares[:, CLASS_INDEX[class_]].tolist(), loads_data, strict=True
        ):
            if time and not is_loading:
                times[trace.strings[name]] += time
    return sorted(times.items(), key=lambda phase: (-phase[1], phase[0]))


def phases_text(
    facts: Facts, subject: str, times: Sequence[tuple[str, int]], frequency: Frequency | None
) -> str:
    """`building takes 4.12 ms a step in forward and 3.17 ms in backward`; without `a step` if it does not recur in
    steps. `subject`: what takes these times."""
    if not times:
        return ""
    divisor, unit = (1, "") if frequency in ("once", None) else (facts.step_count, " a step")
    texts = brief_times(*(time // divisor for _, time in times))
    names = [name for name, _ in times]
    parts = [f"{texts[0]}{unit} in {names[0]}"]
    parts += [f"{text} in {name}" for name, text in zip(names[1:], texts[1:], strict=True)]
    return f"{subject} takes {join_words(parts)}"


def compiled_phases(trace: Trace) -> set[str]:
    """The names of the annotations directly below the steps that contain a dynamo launch in most of their
    occurrences."""
    launches, phases = find_launches(trace), phase_rows(trace)
    launch_ps = np.sort(trace.start_ps[launches.sync[launches.kind == DYNAMO_KIND]])
    launches_inside = np.searchsorted(launch_ps, trace.end_ps[phases]) > np.searchsorted(
        launch_ps, trace.start_ps[phases]
    )
    counts, launching_counts = (
        Counter(trace.metadata.name[trace.metadata_index[rows]].tolist())
        for rows in (phases, phases[launches_inside])
    )
    return {trace.strings[name] for name, count in launching_counts.items() if 2 * count > counts[name]}
