"""Findings about host work (launching, building graphs) during which nothing is queued for the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Finding, Frequency
from tb_xla_insights.analysis.findings.single_gap import SINGLE_GAP_BRIEF, single_gap_ps, single_gap_text
from tb_xla_insights.analysis.findings.small import LAUNCHING
from tb_xla_insights.analysis.findings.waiting import Waiting, idle_inside_runs, take_waiting
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.early_executions import reads_report
from tb_xla_insights.analysis.launches.enqueues import NONE
from tb_xla_insights.analysis.launches.executions import find_costs
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.names import is_loading_annotation
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.steps.idle import step_idle_report
from tb_xla_insights.analysis.steps.step_times import annotated_steps, steps_at
from tb_xla_insights.analysis.steps.table import device_busy_ps, host_times
from tb_xla_insights.analysis.time.class_times import class_times
from tb_xla_insights.catalog.classes import CLASS_INDEX, TRACING
from tb_xla_insights.english import join_words, lower_first, mean_text
from tb_xla_insights.trace.model import Int64, Trace
from tb_xla_insights.units import brief_time, brief_times

_MIN_LISTED_SHARE = 0.05
"""Activities with a smaller share of the idle time are not listed."""

_MAX_MEAN_OF_ONE_LAUNCH = 1.5
"""Below this mean number of launches a step, most steps have one launch."""

_LOADS_ONCE = (
    "Capture later to leave it out: programs are loaded before their first run, so no step needs a change."
)

_LAUNCHING_VERBS = {
    "sync_prepare": "prepares graphs",
    "program_load": "loads programs",
    "dispatch": "launches",
}
"""Verb phrases for the title, by class."""

_NO_OP = "a launched program is in flight, but no op of it runs"


def dispatch_overhead(facts: Facts) -> Finding | None:
    """Idle time in which the host prepares, loads and launches graphs, or waits between launches."""
    by_class = {name: facts.ledger.take((name,)) for name in LAUNCHING}
    costs = {name: int(taken_ps.sum()) for name, taken_ps in by_class.items()}
    launching: Int64 = np.sum([*by_class.values()], axis=0)
    unqueued, in_flight = take_waiting(facts)
    launching_ps, unqueued_ps, in_flight_ps = sum(costs.values()), unqueued.total_ps, in_flight.total_ps
    cost = launching_ps + unqueued_ps + in_flight_ps
    if not cost:
        return None
    taken = launching + unqueued.taken + in_flight.taken
    dominant_class = max(costs, key=lambda name: costs[name])
    title = f"The device waits while the host {_LAUNCHING_VERBS[dominant_class]}"
    advice = _advise_launching_less(facts, dominant_class)
    fix = facts.fix_removing(facts.steps_taken(launching), *LAUNCHING)
    load_frequency = facts.frequency_of(facts.steps_taken(by_class["program_load"]))
    if dominant_class == "program_load" and load_frequency in ("once", None):
        advice = _LOADS_ONCE
    if in_flight_ps > max(launching_ps, unqueued_ps):
        title, advice = _NO_OP[0].upper() + _NO_OP[1:], _advise_ops_to_run(facts)
        fix = Fix(LAUNCHING, device_ps=idle_inside_runs(facts.ledger))
    elif unqueued_ps > launching_ps:
        title, advice = "Nothing is queued while the host waits between launches", ""
        # With the fix, the host launches ahead: it does not wait for runs, and launching costs no device time.
        fix = Fix((*LAUNCHING, "wait"), all_waits=True)
    if unqueued_ps:
        place = f" ({unqueued.place})" if unqueued.place else ""
        advice = advice.removesuffix(".") + "; d" if advice else "D"
        advice += f"o not wait for results between launches{place}, so that the host runs ahead."
    frequency = facts.frequency_of(facts.steps_taken(taken))
    elsewhere = facts.idle_elsewhere(launching, frequency, *LAUNCHING)
    parts = _activities_text(
        {
            facts.host_activities[name]: facts.mean_per_core(taken_ps, frequency).ps
            for name, taken_ps in by_class.items()
        }
    )
    clauses = [
        (launching, f"while the host {parts}{elsewhere.text}"),
        (unqueued.taken, f"while nothing is queued and the host waits{_mostly_in(unqueued)}"),
        (in_flight.taken, f"while {_NO_OP} and the host waits{_mostly_in(in_flight)}"),
    ]
    clauses = sorted((clause for clause in clauses if clause[0].any()), key=lambda clause: -clause[0].sum())
    means = [facts.mean_per_core(taken_ps, frequency) for taken_ps, _ in clauses]
    texts = [f"{text}{means[0].unit}" for text in brief_times(*(mean.ps for mean in means))]
    parts = ", and ".join(f"{text} {condition}" for text, (_, condition) in zip(texts, clauses, strict=True))
    gap_ps = single_gap_ps(facts, taken)
    detail = f"{facts.core_subject} idles {parts}{single_gap_text(gap_ps)}"
    runs, median = _usual_overhead(facts.trace)
    usual = f". The usual execution has {brief_time(median)} of overhead." if median is not None else "."
    return Finding(
        "dispatch_overhead",
        title,
        lower_first(title) + SINGLE_GAP_BRIEF * (gap_ps is not None),
        detail + usual,
        advice.lstrip(),
        cost,
        {f"{name}_ps": time for name, time in costs.items()}
        | {
            "runs": runs,
            "median_overhead_ps": median,
            "idle_ps": cost,
            "wait_ps": unqueued_ps,
            "in_flight_ps": in_flight_ps,
        },
        facts.gap_windows(taken),
        frequency,
        fix,
        idle_ps=elsewhere.idle_ps,
    )


def _activities_text(times: Mapping[str, int]) -> str:
    """The host's activities, the longest first; several activities each with their time, in a common unit. Activities
    below _MIN_LISTED_SHARE are left out."""
    total = sum(times.values())
    listed = [
        (activity, time) for activity, time in times.items() if time and time >= _MIN_LISTED_SHARE * total
    ]
    listed.sort(key=lambda activity_time: -activity_time[1])
    if len(listed) == 1:
        return listed[0][0]
    texts = brief_times(*(time for _, time in listed))
    return join_words([f"{activity} ({text})" for (activity, _), text in zip(listed, texts, strict=True)])


def _mostly_in(waiting: Waiting) -> str:
    return f" (mostly in {waiting.place})" if waiting.place else ""


def _advise_ops_to_run(facts: Facts) -> str:
    """Advice for launched programs whose ops do not run."""
    if any(device.from_host_events for device in facts.trace.devices):
        return (
            "Leave processors free for the threads that run ops: this device is the host's own processors, which all "
            "threads share."
        )
    return "Find out what launched programs wait for before their ops run: arguments that arrive late, or memory."


def _usual_overhead(trace: Trace) -> tuple[int, int | None]:
    """The number of executions with known calls, and their median overhead in ps (None without any). If some programs
    ran more than once, the first execution of each program on each core is left out: it includes loading the program
    and allocating its memory, which are no cost of launching."""
    runs = find_launches(trace).runs
    shown = np.flatnonzero(runs.join != NONE)
    shown = shown[np.argsort(runs.start_ps[shown], kind="stable")]
    key = runs.program[shown].astype(np.int64) * (len(trace.devices) + 1) + runs.device[shown]
    first = np.unique(key, return_index=True)[1]
    overhead = find_costs(trace).overhead_ps[shown]
    repeated = np.delete(overhead, first)
    usual = np.sort(repeated if len(repeated) else overhead)
    return len(usual), int(usual[(len(usual) - 1) // 2]) if len(usual) else None


def _advise_launching_less(facts: Facts, dominant_class: str) -> str:
    """Advice to make launching cheaper, from its most expensive class, the launches per step, and the reads."""
    if dominant_class == "program_load":
        return "Keep programs loaded: fewer graphs that take turns, so that none is loaded again."
    launches = find_launches(facts.trace)
    per_step = int((launches.step >= 0).sum()) / facts.steps if facts.steps else 0.0
    if dominant_class == "sync_prepare":
        if ((launches.step >= 0) & (launches.kind == DYNAMO_KIND)).any():
            return (
                "Leave no lazy operations between the graphs of torch.compile: each step prepares them again."
            )
        smaller = "Make the graph smaller (layers repeated in a scan)"
        return f"{smaller}, and sync once a step." if per_step >= _MAX_MEAN_OF_ONE_LAUNCH else f"{smaller}."
    if not per_step:
        advice = "Launch less often, with more work in each execution"
    elif per_step < _MAX_MEAN_OF_ONE_LAUNCH:
        advice = "Give each execution more to do: a larger batch, several steps in one graph"
        advice += facts.words.steps_at_once
    else:
        advice = f"Launch one graph a step in place of {mean_text(per_step)}"
    if reads_report(facts.trace)["every_step"]:
        advice += ", and no reads in between that keep the host from running ahead"
    return f"{advice}."


_ACTIVITIES = {
    "python": ("runs Python code", "Python"),
    "unrecorded": ("records nothing", "what is not recorded"),
}
"""By class, the verb phrase that follows `the host`, and the activity as a subject. For `tracing` the words depend on
the framework."""


def _activity(facts: Facts, name: str) -> tuple[str, str]:
    return _ACTIVITIES.get(name) or (facts.words.builds, facts.words.building)


def tracing_bound(facts: Facts) -> Finding | None:
    """Idle time in which the host builds graphs or runs other Python code. Includes idle time in which the host records
    nothing, as between annotations without the Python tracer, if that is longer."""
    by_class = {name: facts.ledger.take((name,)) for name in ("tracing", "python")}
    unrecorded_ps = int(facts.ledger.left[:, CLASS_INDEX["unrecorded"]].sum())
    if unrecorded_ps > sum(int(taken_ps.sum()) for taken_ps in by_class.values()):
        by_class["unrecorded"] = facts.ledger.take(("unrecorded",))
    costs = {name: int(taken_ps.sum()) for name, taken_ps in by_class.items()}
    cost = sum(costs.values())
    if not cost:
        return None
    taken: Int64 = np.sum([*by_class.values()], axis=0)
    steps = facts.steps_taken(taken)
    dominant_class = _dominant_class(facts, costs)
    frequency = facts.frequency_of(steps)
    phases = {
        name: _longest_phases(facts.trace, name, steps if frequency == "once" else None)
        for name, time in costs.items()
        if time
    }
    name = phases[dominant_class][0][0] if phases.get(dominant_class) else None
    elsewhere = facts.idle_elsewhere(taken, frequency, *by_class)
    title = f"The device waits while the host {_activity(facts, dominant_class)[0]}"
    gap_ps = single_gap_ps(facts, taken)
    brief = lower_first(title) + SINGLE_GAP_BRIEF * (gap_ps is not None)
    parts = _activities_text(
        {
            _activity(facts, name)[0]: facts.mean_per_core(taken_ps, frequency).ps
            for name, taken_ps in by_class.items()
        }
    )
    if dominant_class == "tracing" and _builds_slower(facts.trace):
        brief = f"the host {facts.words.builds_slower}"
    return Finding(
        "tracing_bound",
        title,
        brief,
        f"{facts.idle_text(taken, frequency)} while the host {parts}{elsewhere.text}{single_gap_text(gap_ps)}."
        f"{_phases_text(facts, phases, dominant_class, 3 - len(elsewhere.parts), frequency)}",
        _advise_recording_more(facts)
        if dominant_class == "unrecorded"
        else _advise_building_less(facts, name, dominant_class == "tracing"),
        cost,
        {
            "tracing_ps": costs["tracing"],
            "python_ps": costs["python"],
            "unrecorded_ps": costs.get("unrecorded", 0),
            "per_step_ps": cost // facts.core_steps if facts.core_steps else None,
            "phases": [{"name": place, "host_ps": time} for place, time in phases.get(dominant_class, [])],
        },
        facts.gap_windows(taken),
        frequency,
        facts.fix_removing(steps, *by_class),
        idle_ps=elsewhere.idle_ps,
    )


def _dominant_class(facts: Facts, costs: dict[str, int]) -> str:
    """The class with most idle time per step in the report's `step_idle`, among the classes with at least half of the
    largest cost: other findings explain most of the others' idle time."""
    idle_ps: Mapping[Any, int] = step_idle_report(facts.session)["by_class_ps"] or {}
    candidates = [name for name, time in costs.items() if 2 * time >= max(costs.values())]
    return max(candidates, key=lambda name: (idle_ps.get(name, 0), costs[name]))


def _phases_text(
    facts: Facts,
    by_class: dict[str, list[tuple[str, int]]],
    dominant_class: str,
    phases: int,
    frequency: Frequency | None,
) -> str:
    """` Building takes 4.12 ms a step in forward and 3.17 ms in backward.`: the `phases` phases in which the host
    spends most of that time, or of several classes each one phase less; without `a step` if it happens once."""
    divisor, unit = (1, "") if frequency == "once" else (facts.steps, " a step")
    names = sorted((name for name in by_class if by_class[name]), key=lambda name: name != dominant_class)
    rows = [
        (name, phase, time)
        for name in names
        for phase, time in by_class[name][: phases if len(names) == 1 else max(0, phases - 1)]
    ]
    texts = brief_times(*(time // divisor for *_, time in rows))
    phrases: dict[str, list[str]] = {}
    for (name, phase, _), text in zip(rows, texts, strict=True):
        phrases.setdefault(name, []).append(f"{text}{'' if phrases.get(name) else unit} in {phase}")
    text = "; ".join(
        f"{_activity(facts, name)[1]} takes {join_words(parts)}" for name, parts in phrases.items()
    )
    return f" {text[0].upper()}{text[1:]}." if text else ""


def _advise_recording_more(facts: Facts) -> str:
    """How to make the capture record what the host does."""
    tool = f" (with {facts.words.annotation})" if facts.words.annotation else ""
    return f"Find out what the host does there: annotate the code around the steps{tool}, or record Python calls too."


def _advise_building_less(facts: Facts, name: str | None, builds: bool) -> str:
    """Advice to reduce host work per step. `name`: the annotation with most of it; `builds`: whether it builds
    graphs."""
    if not name:
        return f"Give a step more work, or compile more of it at once{facts.words.steps_at_once}."
    if name in _compiled_phases(facts.trace):
        change = f"Run less Python around the graphs of torch.compile in {name} (guards, arguments)"
    elif builds:
        change = (
            f"Build less in {name} ({facts.words.compiles}fewer and larger ops, a scan over equal layers)"
        )
    else:
        change = f"Run less Python in {name}"
    return (
        f"{change}, or give a step more work (a larger batch, several steps in one "
        f"graph{facts.words.steps_at_once})."
    )


def _builds_slower(trace: Trace) -> bool:
    """Whether building the graphs of the steps takes longer than running them on the busiest core."""
    return bool(host_times(trace)[:, TRACING].sum() > device_busy_ps(trace).sum())


def _longest_phases(trace: Trace, class_: str, steps: Set[int] | None) -> list[tuple[str, int]]:
    """The names of the annotations directly below the steps (all, or those of some indices), with their time of a class
    in ps, the longest first; without those that have none or load data."""
    rows = _phases(trace)
    if steps is not None:
        rows = rows[np.isin(steps_at(trace, trace.start_ps[rows]), [*steps])]
    rows = rows[~is_loading_annotation(trace)[trace.metadata_index[rows]]]
    shares = class_times(host_class_segments(trace), trace.start_ps[rows], trace.end_ps[rows])
    names, name_of_row = np.unique(trace.metadata.name[trace.metadata_index[rows]], return_inverse=True)
    times = np.zeros(len(names), np.int64)
    np.add.at(times, name_of_row, shares[:, CLASS_INDEX[class_]])
    phases = [(trace.strings[name], time) for name, time in zip(names, times.tolist(), strict=True) if time]
    return sorted(phases, key=lambda phase: (-phase[1], phase[0]))


def _phases(trace: Trace) -> NDArray[np.int32]:
    """The rows of the annotations directly below the steps, in order."""
    roots = [step.row for step in annotated_steps(trace)]
    return trace.annotations[np.isin(trace.parent[trace.annotations], roots)]


def _compiled_phases(trace: Trace) -> set[str]:
    """The names of the annotations directly below the steps that contain a dynamo launch in most of their
    occurrences."""
    launches, phases = find_launches(trace), _phases(trace)
    launch_ps = np.sort(trace.start_ps[launches.sync[launches.kind == DYNAMO_KIND]])
    launches_inside = np.searchsorted(launch_ps, trace.end_ps[phases]) > np.searchsorted(
        launch_ps, trace.start_ps[phases]
    )
    counts, launching = (
        Counter(trace.metadata.name[trace.metadata_index[chosen]].tolist())
        for chosen in (phases, phases[launches_inside])
    )
    return {trace.strings[name] for name, number in launching.items() if 2 * number > counts[name]}
