"""The finding about launching graphs while nothing is queued for the device."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tb_xla_insights.analysis.delays.blocking_waits import blocking_waits_report, find_blocking_waits
from tb_xla_insights.analysis.delays.early_executions import reads_report
from tb_xla_insights.analysis.findings.activities import activities_text
from tb_xla_insights.analysis.findings.facts import Facts, Mean
from tb_xla_insights.analysis.findings.finding import Finding
from tb_xla_insights.analysis.findings.small import LAUNCHING_CLASSES
from tb_xla_insights.analysis.findings.waiting import Waiting, idle_inside_runs, take_waiting
from tb_xla_insights.analysis.launches.enqueues import NONE
from tb_xla_insights.analysis.launches.executions import find_run_times
from tb_xla_insights.analysis.launches.launches import (
    DYNAMO_KIND,
    find_launches,
    launches_single_operations,
)
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.thresholds import MAX_GAIN_SPREAD
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.arrays import Int64
from tb_xla_insights.text.english import Phrase, Sentence, sentences, upper_first
from tb_xla_insights.text.units import brief_time, brief_times
from tb_xla_insights.trace.model import Trace

_LOADED_ONCE_ADVICE = (
    "capture later to leave the loading out: programs are loaded before their first run, so no step needs a "
    "change"
)

_LAUNCHING_VERBS = {
    "sync_prepare": "prepares graphs",
    "program_load": "loads programs",
    "dispatch": "launches",
}
"""Verb phrases for the title, by class."""

_WAITING_FOR_OPS = "a launched program is in flight, but none of its ops runs"


def dispatch_overhead(facts: Facts) -> Finding | None:
    """Idle time in which the host prepares, loads and launches graphs, or waits: between launches, or while a launched
    program runs no op."""
    by_class = {name: facts.ledger.take((name,)) for name in LAUNCHING_CLASSES}
    costs = {name: int(class_taken_ps.sum()) for name, class_taken_ps in by_class.items()}
    launching_taken_ps: Int64 = np.sum([*by_class.values()], axis=0)
    unqueued, in_flight = take_waiting(facts)
    launching_ps, unqueued_ps, in_flight_ps = sum(costs.values()), unqueued.total_ps, in_flight.total_ps
    waiting_ps = unqueued_ps + in_flight_ps
    cost = launching_ps + waiting_ps
    if not cost:
        return None
    taken_ps = launching_taken_ps + unqueued.taken_ps + in_flight.taken_ps
    dominant_class = max(costs, key=lambda name: costs[name])
    title = f"The device waits while the host {_LAUNCHING_VERBS[dominant_class]}"
    one_by_one = dominant_class == "dispatch" and launches_single_operations(facts.trace)
    operations = " operations one by one" if one_by_one else ""
    waits_for = Phrase("the host", f", which {_LAUNCHING_VERBS[dominant_class]}{operations}")
    brief = str(waits_for)
    advice = _advise_launching_less(facts, dominant_class)
    fix = facts.fix_removing(facts.affected_steps(launching_taken_ps), *LAUNCHING_CLASSES)
    load_frequency = facts.frequency_of(facts.affected_steps(by_class["program_load"]))
    if dominant_class == "program_load" and load_frequency in ("once", None):
        advice = _LOADED_ONCE_ADVICE
    if in_flight_ps > max(launching_ps, unqueued_ps):
        title, advice = upper_first(_WAITING_FOR_OPS), _advise_ops_to_run(facts)
        brief = "what launched programs wait for before their first op"
        waits_for = Phrase("a launched program to run its first op")
        fix = Fix(LAUNCHING_CLASSES, device_ps=idle_inside_runs(facts.ledger))
    elif unqueued_ps > launching_ps:
        title, advice = "Nothing is queued while the host waits between launches", ""
        waits_for = Phrase("the host", ", which waits between launches")
        brief = str(waits_for)
        # With the fix, the host launches ahead: it does not wait for runs, and launching costs no device time.
        fix = Fix((*LAUNCHING_CLASSES, "wait"), all_waits=True)
    if unqueued_ps and not _is_requested(facts.trace, unqueued.longest_wait):
        advice = advice or (
            "give each execution more to do, so that launching takes less of a step: the runtime itself waits in "
            f"{unqueued.longest_wait} until it has carried out the launch before"
        )
    elif unqueued_ps:
        location = f" ({unqueued.longest_wait})" if unqueued.longest_wait else ""
        running_ahead = f"do not wait for results between launches{location}, so that the host runs ahead"
        advice = f"{advice}; {running_ahead}" if advice else running_ahead
    frequency = facts.frequency_of(facts.affected_steps(taken_ps))
    activities = activities_text(
        {
            facts.host_activities[name]: facts.mean_per_core(class_taken_ps, frequency).ps
            for name, class_taken_ps in by_class.items()
        }
    )
    clauses = [
        (launching_taken_ps, f"while the host {activities}"),
        (unqueued.taken_ps, f"while nothing is queued and the host waits{_mostly_in(unqueued)}"),
        (in_flight.taken_ps, f"while {_WAITING_FOR_OPS} and the host waits{_mostly_in(in_flight)}"),
    ]
    idle = _idle_text(
        (facts.mean_per_core(clause_taken_ps, frequency), condition) for clause_taken_ps, condition in clauses
    )
    runs, median = _usual_overhead(facts.trace)
    defragmenting_ps = _defragmenting_ps(facts, taken_ps)
    moving = facts.mean_per_core(defragmenting_ps, frequency)
    meanwhile = (
        f"; meanwhile, the runtime defragments device memory for {brief_time(moving.ps)}{moving.unit}"
        if moving.ps
        else ""
    )
    return Finding(
        "dispatch_overhead",
        title,
        brief,
        sentences(
            f"{facts.core_subject} idles {idle}{meanwhile}",
            "" if median is None else f"the usual execution has {brief_time(median)} of overhead",
        ),
        str(Sentence(advice)),
        cost,
        {f"{name}_ps": time for name, time in costs.items()}
        | {
            "runs": runs,
            "median_overhead_ps": median,
            "idle_ps": cost,
            "wait_ps": unqueued_ps,
            "in_flight_ps": in_flight_ps,
        }
        | ({"defragmenting_ps": int(defragmenting_ps.sum())} if moving.ps else {}),
        facts.gap_windows(taken_ps),
        frequency,
        fix,
        idle_ps=None if waiting_ps else facts.idle_in_steps_ps(frequency, *LAUNCHING_CLASSES),
        waits_for=waits_for,
    )


def _idle_text(clauses: Iterable[tuple[Mean, str]]) -> str:
    """`3.21 ms a step while the host launches, and 0.561 ms a step while …`, the longest time first. Conditions without
    time are left out, such as that of idle time outside of whole steps."""
    ordered = sorted((clause for clause in clauses if clause[0].ps), key=lambda clause: -clause[0].ps)
    times = brief_times(*(mean.ps for mean, _ in ordered))
    return ", and ".join(
        f"{time}{mean.unit} {condition}" for time, (mean, condition) in zip(times, ordered, strict=True)
    )


def _defragmenting_ps(facts: Facts, taken_ps: Int64) -> Int64:
    """How long the runtime makes room in the memory of devices, per gap of which the finding takes time; all 0 if that
    is a small part."""
    rows = facts.trace.rows_with_metadata(has_tag(facts.trace, "defragment"))
    moving = union(facts.trace.start_ps[rows], facts.trace.end_ps[rows])
    gaps = facts.ledger
    moving_ps = covered_times(moving.start_ps, moving.end_ps, gaps.start_ps, gaps.end_ps) * (taken_ps > 0)
    is_small = moving_ps.sum() < MAX_GAIN_SPREAD * taken_ps.sum()
    return np.zeros_like(moving_ps) if is_small else moving_ps


def _is_requested(trace: Trace, wait: str | None) -> bool:
    """Whether the program asks for waits of this name; also if the name is not known."""
    return wait is None or wait in {trace.name(row) for row in find_blocking_waits(trace).tolist()}


def _mostly_in(waiting: Waiting) -> str:
    return f" (mostly in {waiting.longest_wait})" if waiting.longest_wait else ""


def _advise_ops_to_run(facts: Facts) -> str:
    """Advice for launched programs whose ops do not run, as a clause."""
    if any(device.from_host_events for device in facts.trace.devices):
        return (
            "leave processors free for the threads that run ops: this device is the host's own processors, which all "
            "threads share"
        )
    return (
        "find out what launched programs wait for before their ops run: arguments that arrive late, or memory"
    )


def _usual_overhead(trace: Trace) -> tuple[int, int | None]:
    """The number of runs with known calls, and their median overhead in ps (None without any). If some programs ran
    more than once, the first run of each program on each core is left out: it includes loading the program and
    allocating its memory, which are no cost of launching."""
    runs = find_launches(trace).runs
    joined = np.flatnonzero(runs.join != NONE)
    joined = joined[np.argsort(runs.start_ps[joined], kind="stable")]
    key = runs.program[joined].astype(np.int64) * (len(trace.devices) + 1) + runs.device[joined]
    first = np.unique(key, return_index=True)[1]
    overhead = find_run_times(trace).overhead_ps[joined]
    repeated = np.delete(overhead, first)
    usual = np.sort(repeated if len(repeated) else overhead)
    return len(usual), int(usual[(len(usual) - 1) // 2]) if len(usual) else None


def _advise_launching_less(facts: Facts, dominant_class: str) -> str:
    """Advice to make launching cheaper, as a clause, from its most expensive class, the launches per step, and the
    reads."""
    if dominant_class == "program_load":
        return "keep programs loaded: fewer graphs that take turns, so that none is loaded again"
    if launches_single_operations(facts.trace):
        return facts.words.one_graph
    launches = find_launches(facts.trace)
    per_step = facts.usual_count(launches.step)
    if dominant_class == "sync_prepare":
        if ((launches.step >= 0) & (launches.kind == DYNAMO_KIND)).any():
            return (
                "leave no lazy operations between the graphs of torch.compile: each step prepares them again"
            )
        smaller = "make the graph smaller: fewer and larger ops, or torch.compile, which prepares it once"
        return f"{smaller}; and sync once a step" if per_step > 1 else smaller
    keeps_host_from_running_ahead = any(
        report(facts.trace)["most_steps"] for report in (reads_report, blocking_waits_report)
    )
    if not (launches.step >= 0).any():
        return "launch less often, with more work in each execution"
    if per_step <= 1:
        if keeps_host_from_running_ahead:
            return (
                "launch the next step before waiting for this one or reading its result, so that the device works "
                f"while the host launches; or give each execution more to do: {facts.words.larger_step}"
            )
        return f"give each execution more to do: {facts.words.larger_step}"
    if facts.words.is_server:
        return facts.words.one_graph
    advice = f"launch one graph a step in place of {per_step}"
    if keeps_host_from_running_ahead:
        advice += ", and avoid reads and waits in between, which keep the host from running ahead"
    return advice
