"""The finding about building graphs and other Python while nothing is queued for the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tb_xla_insights.analysis.findings.activities import activities_text
from tb_xla_insights.analysis.findings.compile_costs import warm_up_calls
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Finding, Frequency
from tb_xla_insights.analysis.findings.locations import phase_rows, rows_beside_steps
from tb_xla_insights.analysis.findings.single_gap import single_gap_ps, single_gap_text
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.names import is_loading_annotation
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.steps.idle import step_idle_report
from tb_xla_insights.analysis.steps.step_times import steps_at
from tb_xla_insights.analysis.time.class_times import class_times_inside
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals, union
from tb_xla_insights.catalog.classes import CLASS_INDEX
from tb_xla_insights.english import join_words
from tb_xla_insights.trace.model import Int64, Trace
from tb_xla_insights.units import brief_times


class _Activity(NamedTuple):
    """The host's activity: the verb phrase that follows `the host`, and the subject of a sentence."""

    verb_phrase: str
    subject: str


_ACTIVITIES = {
    "python": _Activity("runs Python code", "Python"),
    "unrecorded": _Activity("records nothing", "what is not recorded"),
}
"""By class. For `tracing` the words depend on the framework."""


def _activity(facts: Facts, name: str) -> _Activity:
    return _ACTIVITIES.get(name) or _Activity(facts.words.builds, facts.words.building)


def tracing_bound(facts: Facts) -> Finding | None:
    """Idle time in which the host builds graphs or runs other Python code. Includes idle time in which the host records
    nothing, as between annotations without the Python tracer, if that is longer. Excludes the calls that compile in the
    warm-up, in which JAX traces and lowers."""
    first_calls = warm_up_calls(facts.trace)
    warm_up_ps = facts.ledger.take_within(("tracing", "python"), first_calls)
    by_class = {name: facts.ledger.take((name,)) for name in ("tracing", "python")}
    unrecorded_ps = int(facts.ledger.remaining_ps[:, CLASS_INDEX["unrecorded"]].sum())
    if unrecorded_ps > sum(int(class_taken_ps.sum()) for class_taken_ps in by_class.values()):
        by_class["unrecorded"] = facts.ledger.take(("unrecorded",))
    costs = {name: int(class_taken_ps.sum()) for name, class_taken_ps in by_class.items()}
    cost = sum(costs.values())
    if not cost:
        return None
    taken_ps: Int64 = np.sum([*by_class.values()], axis=0)
    steps = facts.affected_steps(taken_ps)
    dominant_class = _dominant_class(facts, costs)
    frequency = facts.frequency_of(steps)
    gaps = union(facts.ledger.start_ps, facts.ledger.end_ps, taken_ps > 0).without(first_calls)
    phases = {
        name: _longest_phases(facts.trace, name, steps if frequency == "once" else None, first_calls, gaps)
        for name, time in costs.items()
        if time
    }
    main_phase = phases[dominant_class][0][0] if phases.get(dominant_class) else None
    elsewhere = facts.idle_elsewhere(taken_ps, frequency, *by_class, warm_up_ps=warm_up_ps)
    title = f"The device waits while the host {_activity(facts, dominant_class).verb_phrase}"
    waits_for = f"the host, which {_activity(facts, dominant_class).verb_phrase}"
    gap_ps = single_gap_ps(facts, taken_ps)
    activities = activities_text(
        {
            _activity(facts, name).verb_phrase: facts.mean_per_core(class_taken_ps, frequency).ps
            for name, class_taken_ps in by_class.items()
        }
    )
    return Finding(
        "tracing_bound",
        title,
        waits_for,
        f"{facts.idle_text(taken_ps, frequency)} while the host {activities}{elsewhere.text}{single_gap_text(gap_ps)}."
        f"{_phases_text(facts, phases, dominant_class, 3 - len(elsewhere.parts), frequency)}",
        _advise_recording_more(facts)
        if dominant_class == "unrecorded"
        else _advise_building_less(facts, main_phase, dominant_class == "tracing"),
        cost,
        {
            "tracing_ps": costs["tracing"],
            "python_ps": costs["python"],
            "unrecorded_ps": costs.get("unrecorded", 0),
            "per_step_ps": cost // facts.core_steps if facts.core_steps else None,
            "phases": [{"name": phase, "host_ps": time} for phase, time in phases.get(dominant_class, [])],
        },
        facts.gap_windows(taken_ps),
        frequency,
        _outside(facts.trace, facts.fix_removing(steps, *by_class), first_calls),
        idle_ps=elsewhere.idle_ps,
        waits_for=waits_for,
    )


def _dominant_class(facts: Facts, costs: dict[str, int]) -> str:
    """The class with most idle time per step in the report's `step_idle`, among the classes with at least half of the
    largest cost. The idle time of the others is mostly explained by other findings."""
    idle_ps: Mapping[Any, int] = step_idle_report(facts.session)["by_class_ps"] or {}
    candidates = [name for name, time in costs.items() if 2 * time >= max(costs.values())]
    return max(candidates, key=lambda name: (idle_ps.get(name, 0), costs[name]))


def _phases_text(
    facts: Facts,
    by_class: dict[str, list[tuple[str, int]]],
    dominant_class: str,
    max_phases: int,
    frequency: Frequency | None,
) -> str:
    """` Building takes 4.12 ms a step in forward and 3.17 ms in backward.`: the `max_phases` phases in which the host
    spends most time of a class, or one fewer per class if there are several classes; without `a step` if it does
    not recur in steps."""
    divisor, unit = (1, "") if frequency in ("once", None) else (facts.step_count, " a step")
    names = sorted((name for name in by_class if by_class[name]), key=lambda name: name != dominant_class)
    rows = [
        (name, phase, time)
        for name in names
        for phase, time in by_class[name][: max(0, max_phases if len(names) == 1 else max_phases - 1)]
    ]
    texts = brief_times(*(time // divisor for *_, time in rows))
    phrases: dict[str, list[str]] = {}
    for (name, phase, _), text in zip(rows, texts, strict=True):
        phrases.setdefault(name, []).append(f"{text}{'' if phrases.get(name) else unit} in {phase}")
    text = "; ".join(
        f"{_activity(facts, name).subject} takes {join_words(parts)}" for name, parts in phrases.items()
    )
    return f" {text[0].upper()}{text[1:]}." if text else ""


def _advise_recording_more(facts: Facts) -> str:
    """How to make the capture record what the host does."""
    tool = f" (with {facts.words.annotation})" if facts.words.annotation else ""
    return f"Find out what the host does there: annotate the code around the steps{tool}, or record Python calls too."


def _advise_building_less(facts: Facts, phase: str | None, builds_graphs: bool) -> str:
    """Advice to reduce host work per step. `phase`: the annotation with most of this work, None if unknown;
    `builds_graphs`: whether the work is building graphs."""
    if not phase:
        return f"Give a step more work, or compile more of it at once{facts.words.steps_at_once}."
    if phase in _compiled_phases(facts.trace):
        change = f"Run less Python around the graphs of torch.compile in {phase} (guards, arguments)"
    elif builds_graphs:
        change = f"Build less in {phase} ({facts.words.compiles}fewer and larger ops)"
    else:
        change = f"Run less Python in {phase}"
    return (
        f"{change}, or give a step more work (a larger batch, several steps in one "
        f"graph{facts.words.steps_at_once})."
    )


def _outside(trace: Trace, fix: Fix, excluded: Intervals) -> Fix:
    """The fix without what it removes in some intervals."""
    if not len(excluded):
        return fix
    windows = fix.windows or span_intervals(*trace.span_ps)
    return replace(fix, windows=windows.without(excluded))


def _longest_phases(
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


def _compiled_phases(trace: Trace) -> set[str]:
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
