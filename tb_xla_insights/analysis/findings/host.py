"""Findings about the host: it launches and builds graphs while nothing is queued for the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    join_words,
    lower_first,
    mean_text,
)
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
from tb_xla_insights.analysis.steps.step_times import annotated_steps
from tb_xla_insights.analysis.steps.table import device_busy_ps, host_times
from tb_xla_insights.analysis.time.class_times import class_times
from tb_xla_insights.catalog.classes import CLASS_INDEX, TRACING
from tb_xla_insights.trace.model import Int64, Trace
from tb_xla_insights.units import brief_time, brief_times

_TOLD = 0.05
"""Of the idle time; what has less of it is not named."""

_ONE_LAUNCH = 1.5
"""Launches a step below which most steps have one."""


_LOADS_ONCE = (
    "Capture later to leave it out: programs are loaded before their first run, no step needs a change."
)

_DOES = {"sync_prepare": "prepares graphs", "program_load": "loads programs", "dispatch": "launches"}
"""What the host does most, by class."""

_NO_OP = "a launched program is in flight, but no op of it runs"


def dispatch_overhead(facts: Facts) -> Finding | None:
    """Idle time in which the host prepares, loads and launches what it has built, or waits between launches."""
    by_class = {name: facts.ledger.take((name,)) for name in LAUNCHING}
    costs = {name: int(its.sum()) for name, its in by_class.items()}
    launching: Int64 = np.sum([*by_class.values()], axis=0)
    resting, flying = take_waiting(facts)
    launching_ps, resting_ps, flying_ps = sum(costs.values()), resting.total_ps, flying.total_ps
    cost = launching_ps + resting_ps + flying_ps
    if not cost:
        return None
    taken = launching + resting.taken + flying.taken
    most = max(costs, key=lambda name: costs[name])
    title, advice = f"The device waits while the host {_DOES[most]}", _launch_less(facts, most)
    fix = facts.without(facts.steps_taken(launching), *LAUNCHING)
    if most == "program_load" and facts.recurs(facts.steps_taken(by_class[most])) in ("once", None):
        advice = _LOADS_ONCE
    if flying_ps > max(launching_ps, resting_ps):
        title, advice = _NO_OP[0].upper() + _NO_OP[1:], _let_run(facts)
        fix = Fix(LAUNCHING, device_ps=idle_inside_runs(facts.ledger))
    elif resting_ps > launching_ps:
        title, advice = "Nothing is queued while the host waits between launches", ""
        # The host launches ahead: it waits for no run, and launching takes none of its time.
        fix = Fix((*LAUNCHING, "wait"), waits=True)
    if resting_ps:
        place = f" ({resting.place})" if resting.place else ""
        advice = advice.removesuffix(".") + "; d" if advice else "D"
        advice += f"o not wait for results between launches{place}, so that the host runs ahead."
    recurs = facts.recurs(facts.steps_taken(taken))
    elsewhere = facts.elsewhere(launching, recurs, *LAUNCHING)
    parts = _parts({facts.host_does[name]: facts.mean(its, recurs).ps for name, its in by_class.items()})
    told = [
        (launching, f"while the host {parts}{elsewhere.text}"),
        (resting.taken, f"while nothing is queued and the host waits{_mostly_in(resting)}"),
        (flying.taken, f"while {_NO_OP} and the host waits{_mostly_in(flying)}"),
    ]
    told = sorted((it for it in told if it[0].any()), key=lambda it: -it[0].sum())
    means = [facts.mean(its, recurs) for its, _ in told]
    texts = [f"{text}{means[0].each}" for text in brief_times(*(mean.ps for mean in means))]
    parts = ", and ".join(f"{text} {when}" for text, (_, when) in zip(texts, told, strict=True))
    detail = f"{facts.core} idles {parts}"
    runs, median = _usual_overhead(facts.trace)
    usual = f". The usual execution has {brief_time(median)} of overhead." if median is not None else "."
    return Finding(
        "dispatch_overhead",
        title,
        title[0].lower() + title[1:],
        detail + usual,
        advice.lstrip(),
        cost,
        {f"{name}_ps": time for name, time in costs.items()}
        | {
            "runs": runs,
            "median_overhead_ps": median,
            "idle_ps": cost,
            "wait_ps": resting_ps,
            "in_flight_ps": flying_ps,
        },
        facts.gap_windows(taken),
        recurs,
        fix,
        idle_ps=elsewhere.idle_ps,
    )


def _parts(times: Mapping[str, int]) -> str:
    """What the host does, the longest first, each with its time in one unit where it is told of several; what takes
    less than 5 % is left out."""
    known = sorted((it for it in times.items() if it[1]), key=lambda it: -it[1])
    known = [it for it in known if it[1] >= _TOLD * sum(times.values())]
    if len(known) == 1:
        return known[0][0]
    texts = brief_times(*(time for _, time in known))
    return join_words([f"{does} ({text})" for (does, _), text in zip(known, texts, strict=True)])


def _mostly_in(waiting: Waiting) -> str:
    return f" (mostly in {waiting.place})" if waiting.place else ""


def _let_run(facts: Facts) -> str:
    """What lets ops run that have been launched."""
    if any(device.made for device in facts.trace.devices):
        return (
            "Leave processors free for the threads that run ops: this device is the host's own processors, which all "
            "threads share."
        )
    return "Find out what launched programs wait for before their ops run: arguments that arrive late, or memory."


def _usual_overhead(trace: Trace) -> tuple[int, int | None]:
    """The median overhead in ps of the executions with known calls, but for the first of each program on each core,
    where some ran more than once: what loads a program and allocates its memory is no cost of launching. How many
    executions that are; None without any."""
    runs = find_launches(trace).runs
    shown = np.flatnonzero(runs.join != NONE)
    shown = shown[np.argsort(runs.start_ps[shown], kind="stable")]
    key = runs.program[shown].astype(np.int64) * (len(trace.devices) + 1) + runs.device[shown]
    first = np.unique(key, return_index=True)[1]
    overhead = find_costs(trace).overhead_ps[shown]
    again = np.delete(overhead, first)
    usual = np.sort(again if len(again) else overhead)
    return len(usual), int(usual[(len(usual) - 1) // 2]) if len(usual) else None


def _launch_less(facts: Facts, most: str) -> str:
    """What makes launching cost less, by the class that takes most of it, launches a step, and reads."""
    if most == "program_load":
        return "Keep programs loaded: fewer graphs that take turns, so that none is loaded again."
    launches = find_launches(facts.trace)
    each = int((launches.step >= 0).sum()) / facts.steps if facts.steps else 0.0
    if most == "sync_prepare":
        if ((launches.step >= 0) & (launches.kind == DYNAMO_KIND)).any():
            return "Leave nothing lazy between the graphs of torch.compile: each step prepares what is left there anew."
        smaller = "Make the graph smaller (layers repeated in a scan)"
        return f"{smaller}, and sync once a step." if each >= _ONE_LAUNCH else f"{smaller}."
    if not each:
        advice = "Launch less often, with more work in each execution"
    elif each < _ONE_LAUNCH:
        advice = "Give each execution more to do: a larger batch, several steps in one graph"
        advice += facts.words.steps_at_once
    else:
        advice = f"Launch one graph a step in place of {mean_text(each)}"
    if reads_report(facts.trace)["every_step"]:
        advice += ", and no reads in between that keep the host from running ahead"
    return f"{advice}."


_DOING = {
    "python": ("runs Python code", "Python"),
    "unrecorded": ("records nothing", "what is not recorded"),
}
"""What the host does, by class, after `the host` and as a subject. Each framework has words for `tracing`."""


def _doing(facts: Facts, name: str) -> tuple[str, str]:
    return _DOING.get(name) or (facts.words.builds, facts.words.building)


def tracing_bound(facts: Facts) -> Finding | None:
    """Idle time in which the host builds graphs or runs other Python code; where it records nothing for longer than
    that, as between annotations without the Python tracer, that too."""
    by_class = {name: facts.ledger.take((name,)) for name in ("tracing", "python")}
    hidden = int(facts.ledger.left[:, CLASS_INDEX["unrecorded"]].sum())
    if hidden > sum(int(its.sum()) for its in by_class.values()):
        by_class["unrecorded"] = facts.ledger.take(("unrecorded",))
    costs = {name: int(its.sum()) for name, its in by_class.items()}
    cost = sum(costs.values())
    if not cost:
        return None
    taken: Int64 = np.sum([*by_class.values()], axis=0)
    steps = facts.steps_taken(taken)
    most = _largest(facts, costs)
    places = {name: _longest_phases(facts.trace, name) for name, time in costs.items() if time}
    name = places[most][0][0] if places.get(most) else None
    recurs = facts.recurs(steps)
    elsewhere = facts.elsewhere(taken, recurs, *by_class)
    title = f"The device waits while the host {_doing(facts, most)[0]}"
    brief = lower_first(title)
    parts = _parts({_doing(facts, name)[0]: facts.mean(its, recurs).ps for name, its in by_class.items()})
    if most == "tracing" and _builds_slower(facts.trace):
        brief = f"the host {facts.words.builds_slower}"
    return Finding(
        "tracing_bound",
        title,
        brief,
        f"{facts.idles(taken, recurs)} while the host {parts}{elsewhere.text}."
        f"{_most_of_it(facts, places, most, 3 - len(elsewhere.parts))}",
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
        recurs,
        facts.without(steps, *by_class),
        idle_ps=elsewhere.idle_ps,
    )


def _largest(facts: Facts, costs: dict[str, int]) -> str:
    """The class with most idle time in the steps, as the table of idle time tells it, but none of which other findings
    have most: of those with at least half of the largest cost."""
    idle_ps: Mapping[Any, int] = step_idle_report(facts.session)["by_class_ps"] or {}
    left = [name for name, time in costs.items() if 2 * time >= max(costs.values())]
    return max(left, key=lambda name: (idle_ps.get(name, 0), costs[name]))


def _most_of_it(facts: Facts, places: dict[str, list[tuple[str, int]]], most: str, phases: int) -> str:
    """` Building takes 4.12 ms a step in forward and 3.17 ms in backward.`: the phases, so many, in which the host
    spends most of that time; by class where there are several, of each one less."""
    names = sorted((name for name in places if places[name]), key=lambda name: name != most)
    its = [
        (name, *it)
        for name in names
        for it in places[name][: phases if len(names) == 1 else max(0, phases - 1)]
    ]
    texts = brief_times(*(time // facts.steps for *_, time in its))
    told: dict[str, list[str]] = {}
    for (name, place, _), text in zip(its, texts, strict=True):
        told.setdefault(name, []).append(f"{text}{'' if told.get(name) else ' a step'} in {place}")
    text = "; ".join(f"{_doing(facts, name)[1]} takes {join_words(where)}" for name, where in told.items())
    return f" {text[0].upper()}{text[1:]}." if text else ""


def _record_more(facts: Facts) -> str:
    """How to learn what the host does where it records nothing."""
    by = f" (with {facts.words.annotation})" if facts.words.annotation else ""
    return f"Find out what the host does there: annotate the code around the steps{by}, or record Python calls too."


def _build_less(facts: Facts, name: str | None, builds: bool) -> str:
    """What makes steps need less of the host, whose longest annotation has this name."""
    if not name:
        return f"Give a step more work, or compile more of it at once{facts.words.steps_at_once}."
    if name in _compiled_phases(facts.trace):
        less = f"Run less Python around the graphs of torch.compile in {name} (guards, arguments)"
    elif builds:
        less = f"Build less in {name} ({facts.words.compiles}fewer and larger ops, a scan over equal layers)"
    else:
        less = f"Run less Python in {name}"
    return f"{less}, or give a step more work (a larger batch, several steps in one graph{facts.words.steps_at_once})."


def _builds_slower(trace: Trace) -> bool:
    """Whether building the graphs of the steps takes longer than running them on the busiest core."""
    return bool(host_times(trace)[:, TRACING].sum() > device_busy_ps(trace).sum())


def _longest_phases(trace: Trace, class_: str) -> list[tuple[str, int]]:
    """Annotations right below the steps with the time of a class in them, the longest first; those without any, and
    those that load data, left out."""
    rows = _phases(trace)
    rows = rows[~is_loading_annotation(trace)[trace.meta[rows]]]
    shares = class_times(host_class_segments(trace), trace.start_ps[rows], trace.end_ps[rows])
    names, of_row = np.unique(trace.metadata.name[trace.meta[rows]], return_inverse=True)
    times = np.zeros(len(names), np.int64)
    np.add.at(times, of_row, shares[:, CLASS_INDEX[class_]])
    told = [(trace.strings[name], time) for name, time in zip(names, times.tolist(), strict=True) if time]
    return sorted(told, key=lambda it: (-it[1], it[0]))


def _phases(trace: Trace) -> NDArray[np.int32]:
    """The annotations right below the steps, in order of their rows."""
    roots = [step.row for step in annotated_steps(trace)]
    return trace.annotations[np.isin(trace.parent[trace.annotations], roots)]


def _compiled_phases(trace: Trace) -> set[str]:
    """Names of the annotations right below the steps in most of which dynamo launches."""
    launches, rows = find_launches(trace), _phases(trace)
    at = np.sort(trace.start_ps[launches.sync[launches.kind == DYNAMO_KIND]])
    some = np.searchsorted(at, trace.end_ps[rows]) > np.searchsorted(at, trace.start_ps[rows])
    all_, with_some = (Counter(trace.metadata.name[trace.meta[its]].tolist()) for its in (rows, rows[some]))
    return {trace.strings[name] for name, number in with_some.items() if 2 * number > all_[name]}
