"""Findings about the host: it launches and builds graphs while nothing is queued for the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.classes import partition
from tb_xla_insights.analysis.early import reads_report
from tb_xla_insights.analysis.executions import find_costs
from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    rounded,
    total_ps,
)
from tb_xla_insights.analysis.findings.small import LAUNCHING
from tb_xla_insights.analysis.findings.waiting import Waiting, idle_inside_runs, take_waiting
from tb_xla_insights.analysis.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.names import loading
from tb_xla_insights.analysis.runs import NONE
from tb_xla_insights.analysis.shares import class_shares
from tb_xla_insights.analysis.step_idle import step_idle_report
from tb_xla_insights.analysis.step_table import device_busy_ps, host_times
from tb_xla_insights.analysis.steps import annotated_steps
from tb_xla_insights.analysis.what_if import Fix
from tb_xla_insights.catalog.classes import CLASS_INDEX, TRACING
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.units import time_text

_ONE_LAUNCH = 1.5
"""Launches a step below which most steps have one."""


_LOADS_ONCE = (
    "Programs are loaded before they run for the first time: there is nothing to change in the steps. Capture later to "
    "leave it out."
)

_DOES = {"sync_prepare": "prepares graphs", "program_load": "loads programs", "dispatch": "launches"}
"""What the host does most, by class."""

_NO_OP = "a launched program is in flight, but no op of it runs"


def dispatch_overhead(facts: Facts) -> Finding | None:
    """Idle time in which the host prepares, loads and launches what it has built, or waits between launches."""
    by_class = {name: [ledger.take((name,)) for ledger in facts.ledgers] for name in LAUNCHING}
    launching = [np.sum(its, axis=0) for its in zip(*by_class.values(), strict=True)]
    resting, flying = take_waiting(facts)
    launching_ps, resting_ps, flying_ps = map(total_ps, (launching, resting.taken, flying.taken))
    cost = launching_ps + resting_ps + flying_ps
    if not cost:
        return None
    taken = [np.sum(its, axis=0) for its in zip(launching, resting.taken, flying.taken, strict=True)]
    most = max(by_class, key=lambda name: total_ps(by_class[name]))
    title, advice = f"The device waits while the host {_DOES[most]}", _launch_less(facts, most)
    fixes = facts.without(facts.steps_taken(launching), *LAUNCHING)
    if most == "program_load" and facts.recurs(facts.steps_taken(by_class[most])) in ("once", None):
        advice = _LOADS_ONCE
    if flying_ps > max(launching_ps, resting_ps):
        title, advice = _NO_OP[0].upper() + _NO_OP[1:], _let_run(facts)
        both = zip(facts.traces, facts.ledgers, strict=True)
        fixes = [Fix(LAUNCHING, device_ps=idle_inside_runs(trace, ledger)) for trace, ledger in both]
    elif resting_ps > launching_ps:
        title, advice = "Nothing is queued while the host waits between launches", ""
        # The host launches ahead: it waits for no run, and launching takes none of its time.
        fixes = [Fix((*LAUNCHING, "wait"), waits=True) for _ in facts.traces]
    if resting_ps:
        place = f" ({resting.place})" if resting.place else ""
        advice += f" Do not wait for results between launches{place}: that keeps the host from running ahead."
    cores = max(1, len(facts.session.devices))
    times = [(total_ps(its) // cores, facts.host_does[name]) for name, its in by_class.items()]
    parts = ", ".join(f"{does} ({time_text(time)})" for time, does in sorted(times, reverse=True) if time)
    told = [
        (launching_ps, f"the host {parts}{facts.shared(launching_ps, *LAUNCHING)}"),
        (resting_ps, f"nothing is queued and the host waits{_mostly_in(resting)}"),
        (flying_ps, f"{_NO_OP}, and the host waits{_mostly_in(flying)}"),
    ]
    told = sorted((it for it in told if it[0]), key=lambda it: -it[0])
    (first_ps, first), *others = told
    detail = f"Devices idle for {facts.of_span(first_ps)}, while {first}."
    detail += "".join(f" For another {facts.of_span(time)}, {does}." for time, does in others)
    runs, median = _usual_overhead(facts.traces)
    usual = f" The usual execution has {time_text(median)} of overhead." if median is not None else ""
    return Finding(
        "dispatch_overhead",
        title,
        title[0].lower() + title[1:],
        detail + usual,
        advice.lstrip(),
        cost,
        {f"{name}_ps": total_ps(its) for name, its in by_class.items()}
        | {
            "runs": runs,
            "median_overhead_ps": median,
            "idle_ps": cost,
            "wait_ps": resting_ps,
            "in_flight_ps": flying_ps,
        },
        facts.gap_windows(taken),
        facts.recurs(facts.steps_taken(taken)),
        fixes,
    )


def _mostly_in(waiting: Waiting) -> str:
    return f", mostly in {waiting.place}" if waiting.place else ""


def _let_run(facts: Facts) -> str:
    """What lets ops run that have been launched."""
    if any(device.made for trace in facts.traces for device in trace.devices):
        return (
            "Leave processors free for the threads that run ops: this device is the host's own processors, which they "
            "share with all other threads and processes."
        )
    return "Find out what launched programs wait for before their ops run: arguments that arrive late, or memory."


def _usual_overhead(traces: Sequence[Trace]) -> tuple[int, int | None]:
    """The median overhead in ps of the executions with known calls, but for the first of each program on each core,
    where some ran more than once: what loads a program and allocates its memory is no cost of launching. How many
    executions that are; None without any."""
    first, again = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for trace in traces:
        runs = find_launches(trace).runs
        shown = np.flatnonzero(runs.join != NONE)
        shown = shown[np.argsort(runs.start_ps[shown], kind="stable")]
        key = runs.program[shown].astype(np.int64) * (len(trace.devices) + 1) + runs.device[shown]
        of_program = np.unique(key, return_index=True)[1]
        overhead = find_costs(trace).overhead_ps[shown]
        first.append(overhead[of_program])
        again.append(np.delete(overhead, of_program))
    some = np.sort(np.concatenate(again if any(map(len, again)) else first))
    return len(some), int(some[(len(some) - 1) // 2]) if len(some) else None


def _launch_less(facts: Facts, most: str) -> str:
    """What makes launching cost less, by the class that takes most of it, launches a step, and reads."""
    if most == "program_load":
        return "Keep programs loaded: fewer graphs that take turns, so that none is loaded again."
    launches = [find_launches(trace) for trace in facts.traces]
    each = sum(int((its.step >= 0).sum()) for its in launches) / facts.steps if facts.steps else 0.0
    if most == "sync_prepare":
        if any(((its.step >= 0) & (its.kind == DYNAMO_KIND)).any() for its in launches):
            return (
                "Leave nothing lazy between the graphs of torch.compile: each step prepares what is left there as "
                "graphs of its own, while a graph of torch.compile is prepared once."
            )
        smaller = "Make the graph smaller (layers repeated in a scan)"
        return f"{smaller}, and sync once a step." if each >= _ONE_LAUNCH else f"{smaller}."
    if not each:
        advice = "Launch less often, with more work in each execution"
    elif each < _ONE_LAUNCH:
        executions = "execution" if rounded(each) == "1" else "executions"
        advice = (
            f"With {rounded(each)} {executions} a step, give each more to do: a larger batch, several steps "
        )
        advice += f"in one graph{facts.words.steps_at_once}"
    else:
        advice = f"Launch less often than {rounded(each)} times a step: one graph a step"
    if reads_report(facts.session)["every_step"]:
        advice += ", and no reads in between that keep the host from running ahead"
    return f"{advice}."


_DOING = {
    "python": ("runs Python", "runs Python code", "Python is"),
    "unrecorded": (
        "records nothing: code outside of all annotations, as a rule",
        "records nothing",
        "what is not recorded is",
    ),
}
"""What the host does, by class: alone in the detail; in title, verdict and lists; and as a subject. Each framework has
words for `tracing`."""


def _doing(facts: Facts, name: str) -> tuple[str, str, str]:
    words = facts.words
    return _DOING.get(name) or (words.builds, words.builds, f"{words.building} is")


def tracing_bound(facts: Facts) -> Finding | None:
    """Idle time in which the host builds graphs or runs other Python code; where it records nothing for longer than
    that, as between annotations without the Python tracer, that too."""
    by_class = {name: [ledger.take((name,)) for ledger in facts.ledgers] for name in ("tracing", "python")}
    unrecorded = CLASS_INDEX["unrecorded"]
    hidden = sum(int(ledger.left[:, unrecorded].sum()) for ledger in facts.ledgers)
    if hidden > sum(map(total_ps, by_class.values())):
        by_class["unrecorded"] = [ledger.take(("unrecorded",)) for ledger in facts.ledgers]
    costs = {name: total_ps(its) for name, its in by_class.items()}
    cost = sum(costs.values())
    if not cost:
        return None
    taken = [sum(its) for its in zip(*by_class.values(), strict=True)]
    steps = facts.steps_taken(taken)
    most = _largest(facts, costs)
    places = {name: _longest_phases(facts, name) for name, time in costs.items() if time}
    name = places[most][0][0] if places.get(most) else None
    cores = " and core" if len(facts.session.devices) > len(facts.traces) else ""
    each = f", {time_text(cost // facts.core_steps)} a step{cores}" if facts.core_steps else ""
    one = len(facts.session.devices) == 1
    does = _doing(facts, most)[1]
    title = f"The device waits while the host {does}"
    brief = f"{'the device waits' if one else 'the cores wait'} while the host {does}"
    if most == "tracing" and _builds_slower(facts):
        brief = f"the host {facts.words.builds_slower}"
    return Finding(
        "tracing_bound",
        title,
        brief,
        f"Devices idle for {facts.of_span(cost)}{each}, while the host {_parts(facts, costs, most)}"
        f"{facts.shared(cost, *by_class)}.{_most_of_it(facts, places, most)}",
        _record_more(facts) if most == "unrecorded" else _build_less(facts, name, most == "tracing"),
        cost,
        {
            "tracing_ps": costs["tracing"],
            "python_ps": costs["python"],
            "unrecorded_ps": costs.get("unrecorded", 0),
            "per_step_ps": cost // facts.core_steps if facts.core_steps else None,
            "phases": [{"name": place, "host_ps": time} for place, time in places.get(most, [])],
        },
        facts.gap_windows(taken),
        facts.recurs(steps),
        facts.without(steps, *by_class),
    )


def _largest(facts: Facts, costs: dict[str, int]) -> str:
    """The class with most idle time in the steps, as the table of idle time tells it, but none of which other findings
    have most: of those with at least half of the largest cost."""
    idle_ps = step_idle_report(facts.session)["by_class_ps"] or {}
    left = [name for name, time in costs.items() if 2 * time >= max(costs.values())]
    return max(left, key=lambda name: (idle_ps.get(name, 0), costs[name]))


def _parts(facts: Facts, costs: dict[str, int], most: str) -> str:
    """What the host does, that with most idle time first; with each one's part where there are several."""
    names = sorted((name for name in costs if costs[name]), key=lambda name: (name != most, -costs[name]))
    if len(names) == 1:
        return _doing(facts, most)[0]
    parts = [f"{_doing(facts, name)[1]} ({facts.per_core(costs[name])})" for name in names]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _most_of_it(facts: Facts, places: dict[str, list[tuple[str, int]]], most: str) -> str:
    """The phases in which the host spends most of that time, by class where there are several."""
    names = sorted((name for name in places if places[name]), key=lambda name: name != most)
    listed = {
        name: ", ".join(f"{place} {time_text(time)}" for place, time in places[name][:3]) for name in names
    }
    if len(places) == 1:
        return "".join(f" Most of that host time{facts.of_hosts} is in {text}." for text in listed.values())
    told = "; ".join(f"{_doing(facts, name)[2]} mostly in {text}" for name, text in listed.items())
    return f" Of the host's time{facts.of_hosts}, {told}." if told else ""


def _record_more(facts: Facts) -> str:
    """How to learn what the host does where it records nothing."""
    by = f" (with {facts.words.annotation})" if facts.words.annotation else ""
    return f"Find out what the host does there: annotate what goes on around the steps{by}, or record Python calls too."


def _build_less(facts: Facts, name: str | None, builds: bool) -> str:
    """What makes steps need less of the host, whose longest annotation has this name."""
    if not name:
        return f"Give a step more work, or compile more of it at once{facts.words.steps_at_once}."
    if name in _compiled_phases(facts):
        less = f"Keep less Python around the graphs of torch.compile in {name} (guards, arguments, what they leave out)"
    elif builds:
        less = f"Build less in {name} ({facts.words.compiles}fewer and larger operations, a scan over equal layers)"
    else:
        less = f"Run less Python in {name}"
    return f"{less}, or give a step more work (a larger batch, several steps in one graph{facts.words.steps_at_once})."


def _builds_slower(facts: Facts) -> bool:
    """Whether building the graphs of the steps takes longer than running them on the busiest core."""
    built = sum(int(host_times(trace)[:, TRACING].sum()) for trace in facts.traces)
    return built > sum(int(device_busy_ps(trace).sum()) for trace in facts.traces)


def _longest_phases(facts: Facts, class_: str) -> list[tuple[str, int]]:
    """Annotations right below the steps with the time of a class in them, the longest first; those without any, and
    those that load data, left out."""
    totals = Counter[str]()
    for trace in facts.traces:
        rows = _phases(trace)
        rows = rows[~loading(trace)[trace.meta[rows]]]
        shares = class_shares(partition(trace), trace.start_ps[rows], trace.end_ps[rows])
        names, of_row = np.unique(trace.metadata.name[trace.meta[rows]], return_inverse=True)
        times = np.zeros(len(names), np.int64)
        np.add.at(times, of_row, shares[:, CLASS_INDEX[class_]])
        totals.update({trace.strings[name]: time for name, time in zip(names, times.tolist(), strict=True)})
    return sorted(((name, time) for name, time in totals.items() if time), key=lambda it: (-it[1], it[0]))


def _phases(trace: Trace) -> NDArray[np.int32]:
    """The annotations right below the steps, in order of their rows."""
    roots = [step.row for step in annotated_steps(trace)]
    return trace.annotations[np.isin(trace.parent[trace.annotations], roots)]


def _compiled_phases(facts: Facts) -> set[str]:
    """Names of the annotations right below the steps in most of which dynamo launches."""
    found: set[str] = set()
    for trace in facts.traces:
        launches, rows = find_launches(trace), _phases(trace)
        at = np.sort(trace.start_ps[launches.sync[launches.kind == DYNAMO_KIND]])
        some = np.searchsorted(at, trace.end_ps[rows]) > np.searchsorted(at, trace.start_ps[rows])
        all_, with_some = (
            Counter(trace.metadata.name[trace.meta[its]].tolist()) for its in (rows, rows[some])
        )
        found |= {trace.strings[name] for name, number in with_some.items() if 2 * number > all_[name]}
    return found
