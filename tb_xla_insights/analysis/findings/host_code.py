"""The finding about the script's own code while nothing is queued for the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.findings.activities import activities_text
from tb_xla_insights.analysis.findings.compile_costs import warm_up_calls
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Finding, Frequency, first_fitting_title
from tb_xla_insights.analysis.findings.host_phases import compiled_phases
from tb_xla_insights.analysis.frameworks import UNSHOWN_HOST, unshown_clause
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.host.script_frames import ScriptCode, code_within
from tb_xla_insights.analysis.host.servers import engine_line
from tb_xla_insights.analysis.host.templates import spoken_name
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.thresholds import MAX_GAIN_SPREAD
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.arrays import Int64
from tb_xla_insights.text.english import Phrase, Sentence, sentences
from tb_xla_insights.text.units import brief_times
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing

_CLAUSES = {
    "python": "the host runs Python code",
    "wait": "the host waits in Python",
    "unrecorded": unshown_clause("the host"),
}
"""What the host does, by class."""

_MAX_PLACES = 2
"""The maximum number of functions, or annotations, in the text."""


def host_code(facts: Facts) -> Finding | None:
    """Idle time in which the host runs the script's Python, waits in a blocking call of it, or records nothing. Without
    the calls that compile in the warm-up."""
    trace, ledger, first_calls = facts.trace, facts.ledger, warm_up_calls(facts.trace)
    ledger.discard_within(("python",), first_calls)
    taken_before = [*ledger.taken_times]
    blocking_calls = _blocking_calls(trace)
    by_class = {name: ledger.take((name,)) for name in ("python", "unrecorded")}
    if engine_line(trace) is not None:  # the thread that launches waits for one that the capture shows
        by_class["unrecorded"][:] = 0
    by_class["wait"] = ledger.take_within(("wait",), blocking_calls)
    costs = {name: int(class_taken_ps.sum()) for name, class_taken_ps in by_class.items()}
    if not (cost := sum(costs.values())):
        return None
    times = ledger.host_times_since(taken_before).without(first_calls)
    taken_ps: Int64 = np.sum([*by_class.values()], axis=0)
    steps = facts.affected_steps(taken_ps)
    frequency = facts.frequency_of(steps)
    dominant_class = max(costs, key=lambda name: costs[name])
    is_recorded = dominant_class != "unrecorded"
    code = code_within(trace, times) if is_recorded else []
    places = _annotations_within(trace, times) if is_recorded else []
    activities = {
        _CLAUSES[name]: facts.mean_per_core(class_taken_ps, frequency).ps
        for name, class_taken_ps in by_class.items()
    }
    classes = [name for name in ("python", "unrecorded") if costs[name]]
    brief, waits_for = _phrases(dominant_class, code, places)
    return Finding(
        "host_code",
        _title(dominant_class, code, places),
        brief,
        sentences(
            f"{facts.idle_text(taken_ps, frequency)} while {activities_text(activities, 'or')}",
            *_places_sentence(facts, code, places, frequency),
        ),
        _advice(facts, dominant_class, code, places),
        cost,
        {f"{name}_ps": class_cost for name, class_cost in costs.items()}
        | {
            "per_step_ps": cost // facts.core_steps if facts.core_steps else None,
            "annotations": [{"name": str(place), "host_ps": place.own_ps} for place in places],
        },
        facts.gap_windows(taken_ps),
        frequency,
        Fix(("wait",), windows=blocking_calls)
        if dominant_class == "wait"
        else facts.fix_removing(steps, *classes, outside=first_calls),
        idle_ps=None if costs["wait"] else facts.idle_in_steps_ps(frequency, "python", "unrecorded"),
        waits_for=waits_for,
    )


def _blocking_calls(trace: Trace) -> Intervals:
    """When the driving thread waits in a blocking call of the script."""
    rows = trace.rows_with_metadata(has_tag(trace, "blocking_call"))
    rows = rows[trace.is_on_lines(rows, trace.lines_with("driving"))]
    return union(trace.start_ps[rows], trace.end_ps[rows])


@dataclass(frozen=True)
class _Place:
    """An annotation in which the script runs: its own time. `has_phases`: whether other annotations divide it."""

    name: str
    own_ps: int
    has_phases: bool

    def __str__(self) -> str:
        return f"{self.name} outside its phases" if self.has_phases else self.name


def _annotations_within(trace: Trace, times: Intervals) -> list[_Place]:
    """The annotations whose own time is in some times, the longest first."""
    segments = host_class_segments(trace)
    own_ps = covered_times(times.start_ps, times.end_ps, segments.start_ps, segments.end_ps)
    inside = np.flatnonzero(own_ps)
    annotation = nearest_enclosing(trace.parent, segments.row[inside], trace.annotations)
    with_phases = set(trace.parent[trace.annotations].tolist())
    times_ps: Counter[tuple[str, bool]] = Counter()
    for row, ps in zip(annotation.tolist(), own_ps[inside].tolist(), strict=True):
        if row >= 0:
            times_ps[spoken_name(trace, row), row in with_phases] += ps
    places = [_Place(name, ps, has_phases) for (name, has_phases), ps in times_ps.items()]
    return sorted(places, key=lambda place: (-place.own_ps, place.name))


def _title(dominant_class: str, code: Sequence[ScriptCode], places: Sequence[_Place]) -> str:
    """Names the function, else the annotation, with most of the time."""
    if dominant_class == "unrecorded":
        return f"The device waits while {unshown_clause('the host')}"
    verb = "waits in" if dominant_class == "wait" else "runs"
    general = f"The device waits while the script {verb} Python"
    if code:
        names = (code[0].place, code[0].name)
        return first_fitting_title(
            *(f"The device waits while the script {verb} {name}" for name in names), general
        )
    if not places:
        return general
    if places[0].has_phases:
        return first_fitting_title(
            f"The device waits for code in {places[0]}", "The device waits for code outside the step's phases"
        )
    return first_fitting_title(f"The device waits while the script runs {places[0].name}", general)


def _phrases(dominant_class: str, code: Sequence[ScriptCode], places: Sequence[_Place]) -> tuple[str, Phrase]:
    """The finding's `brief` and `waits_for`."""
    if dominant_class == "unrecorded" or not (code or places):
        return "what the host does where the capture shows nothing of it", Phrase(UNSHOWN_HOST)
    name, place = (code[0].name, code[0].place) if code else (str(places[0]), str(places[0]))
    if dominant_class == "wait":
        return f"the wait in {place}", Phrase("the script", f", which waits in {name}")
    details = f", which runs {name}" if code else f", in {name}"
    return f"the Python in {place}", Phrase("the script", details)


def _places_sentence(
    facts: Facts, code: Sequence[ScriptCode], places: Sequence[_Place], frequency: Frequency | None
) -> list[Sentence]:
    """`augment (train.py:12) has 11.2 ms a step of it, mostly in roll; step (train.py:40) 0.11 ms`: functions, else
    annotations, without those that have little of the idle time before; none if all have little."""
    named = [(row.place, row.own_ps) for row in code] or [(str(place), place.own_ps) for place in places]
    min_ps = MAX_GAIN_SPREAD * sum(ps for _, ps in named)
    named = [(name, ps) for name, ps in named[:_MAX_PLACES] if ps >= min_ps]
    if not named:
        return []
    divisor, unit = (1, "") if frequency in ("once", None) else (facts.steps_in_spans, " a step")
    texts = brief_times(*(round(ps / divisor) for _, ps in named))
    callee = code[0].callee if code else None
    mostly = f", mostly in {callee.name}" if callee and callee.name != code[0].name else ""
    parts = [f"{name} {text}" for (name, _), text in zip(named[1:], texts[1:], strict=True)]
    text = "; ".join([f"{named[0][0]} has {texts[0]}{unit} of it{mostly}", *parts])
    return [Sentence(text, begins_with_name=True)]


def _advice(facts: Facts, dominant_class: str, code: Sequence[ScriptCode], places: Sequence[_Place]) -> str:
    if dominant_class == "unrecorded" or not (code or places):
        return f"Find out what the host does there: {facts.recording_advice}."
    if dominant_class == "wait":
        return f"Do not wait in {code[0].place} between launches; let another thread wait."
    if code:
        return f"Make {code[0].place} faster, or run it in another thread or process while the device works."
    place = places[0]
    if place.has_phases:
        return (
            f"Find out what {place.name} does outside its phases (logging, metrics, a garbage collection): "
            f"{facts.recording_advice}; then take it out of the step."
        )
    if place.name in compiled_phases(facts.trace):
        return f"Run less Python around the graphs of torch.compile in {place.name} (guards, arguments)."
    return f"Run less Python in {place.name} (to see what it is, {facts.recording_advice})."
