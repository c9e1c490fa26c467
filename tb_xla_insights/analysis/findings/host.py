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
from tb_xla_insights.analysis.intervals import union
from tb_xla_insights.analysis.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.runs import NONE
from tb_xla_insights.analysis.shares import class_shares, covered
from tb_xla_insights.analysis.step_table import steps_report
from tb_xla_insights.analysis.steps import annotated_steps
from tb_xla_insights.analysis.thresholds import severity_of
from tb_xla_insights.analysis.what_if import Fix
from tb_xla_insights.catalog.classes import CLASS_INDEX, HOST_DOES, WAIT
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.units import time_text

_ONE_LAUNCH = 1.5
"""Launches a step below which most steps have one."""


_LOADS_ONCE = (
    "Programs are loaded before they run for the first time: there is nothing to change in the steps. Capture later to "
    "leave it out."
)

_LAUNCHES = {
    "sync_prepare": (
        "prepares graphs",
        "Make the graph smaller (layers repeated in a scan), and sync once a step.",
    ),
    "program_load": (
        "loads programs",
        "Keep programs loaded: fewer graphs that take turns, so that none is loaded again.",
    ),
}
"""By class: what the host does most, and what to change. About `dispatch` the trace at hand tells (`_launch_less`)."""


def dispatch_overhead(facts: Facts) -> Finding | None:
    """Idle time in which the host prepares, loads and launches what it has built."""
    by_class = {name: [ledger.take((name,)) for ledger in facts.ledgers] for name in LAUNCHING}
    taken = [np.sum(its, axis=0) for its in zip(*by_class.values(), strict=True)]
    cost = total_ps(taken)
    if not cost:
        return None
    steps = facts.steps_taken(taken)
    most = max(by_class, key=lambda name: total_ps(by_class[name]))
    runs, median = _usual_overhead(facts.traces)
    usual = f" The usual execution has {time_text(median)} of overhead." if median is not None else ""
    waited, where = _waiting(facts)
    if severity_of(facts.share(waited)) is None:
        waited, where = 0, None
    if waited:
        place = f", most of it in {where}" if where else ""
        usual += f" For another {facts.of_span(waited)}, nothing is queued while the host waits{place}."
    doing, advice = _LAUNCHES.get(most) or ("launches", _launch_less(facts, where))
    title, fixes = f"The device waits while the host {doing}", facts.without(steps, *LAUNCHING)
    if waited > cost:
        title = "Nothing is queued while the host waits between launches"
        # The host launches ahead: it waits for no run, and launching takes none of its time.
        fixes = [Fix((*LAUNCHING, "wait"), waits=True) for _ in facts.traces]
    if most == "program_load" and facts.recurs(facts.steps_taken(by_class[most])) in ("once", None):
        advice = _LOADS_ONCE
    cores = max(1, len(facts.session.devices))
    times = [(total_ps(its) // cores, HOST_DOES[name]) for name, its in by_class.items()]
    parts = ", ".join(f"{does} ({time_text(time)})" for time, does in sorted(times, reverse=True) if time)
    return Finding(
        "dispatch_overhead",
        title,
        title[0].lower() + title[1:],
        f"Devices idle for {facts.of_span(cost)}, while the host {parts}{facts.shared(cost, *LAUNCHING)}.{usual}",
        advice,
        cost,
        {f"{name}_ps": total_ps(its) for name, its in by_class.items()}
        | {"runs": runs, "median_overhead_ps": median, "idle_ps": cost, "wait_ps": waited},
        facts.gap_windows(taken),
        facts.recurs(steps),
        fixes,
    )


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


def _waiting(facts: Facts) -> tuple[int, str | None]:
    """Idle time that no finding takes in which the host waits though nothing is queued, and the event in which it waits
    longest."""
    total, names = 0, Counter[str]()
    for trace, ledger in zip(facts.traces, facts.ledgers, strict=True):
        total += int(ledger.left[:, WAIT].sum())
        segments, idle = partition(trace), union(ledger.start_ps, ledger.end_ps)
        its = np.flatnonzero((segments.kind == WAIT) & (segments.row >= 0))
        time = covered(idle.start_ps, idle.end_ps, segments.start_ps[its], segments.end_ps[its])
        metas, place = np.unique(trace.meta[segments.row[its]], return_inverse=True)
        for meta, of_meta in zip(metas.tolist(), np.bincount(place, time, len(metas)).tolist(), strict=True):
            names[trace.strings[trace.metadata.name[meta]]] += int(of_meta)
    most = names.most_common(1)
    return total, most[0][0] if most and most[0][1] else None


def _launch_less(facts: Facts, waits_in: str | None) -> str:
    """What makes launching cost less, by what the capture has: launches a step, reads, and waiting between them."""
    launches = sum(int((find_launches(trace).step >= 0).sum()) for trace in facts.traces)
    each = launches / facts.steps if facts.steps else 0.0
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
    elif waits_in:
        advice += (
            f". Do not wait for results between launches ({waits_in}): that keeps the host from running ahead"
        )
    return f"{advice}."


_DOING = {
    "tracing": ("builds the next graph", "builds the graph"),
    "python": ("runs Python", "runs Python code"),
    "unrecorded": ("records nothing: code outside of all annotations, as a rule", "records nothing"),
}
"""What the host does, by class: in the detail, and in title and verdict."""


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
    most = max(costs, key=lambda name: costs[name])
    places = _longest_phases(facts, most)
    name = places[0][0] if places else None
    listed = ", ".join(f"{place} {time_text(time)}" for place, time in places[:3])
    cores = " and core" if len(facts.session.devices) > len(facts.traces) else ""
    each = f", {time_text(cost // facts.core_steps)} a step{cores}" if facts.core_steps else ""
    one = len(facts.session.devices) == 1
    doing, does = _DOING[most]
    title = f"The device waits while the host {does}"
    brief = f"{'the device waits' if one else 'the cores wait'} while the host {does}"
    if most == "tracing" and _builds_slower(facts):
        brief = f"the host {does} slower than it runs"
    return Finding(
        "tracing_bound",
        title,
        brief,
        f"Devices idle for {facts.of_span(cost)}{each}, while the host {doing}{facts.shared(cost, *by_class)}."
        + (f" Most of that host time{facts.of_hosts} is in {listed}." if listed else ""),
        _record_more(facts) if most == "unrecorded" else _build_less(facts, name, most == "tracing"),
        cost,
        {
            "tracing_ps": costs["tracing"],
            "python_ps": costs["python"],
            "unrecorded_ps": costs.get("unrecorded", 0),
            "per_step_ps": cost // facts.core_steps if facts.core_steps else None,
            "phases": [{"name": place, "host_ps": time} for place, time in places],
        },
        facts.gap_windows(taken),
        facts.recurs(steps),
        facts.without(steps, *by_class),
    )


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
    steps = steps_report(facts.session)
    built = sum(int(step["host_ps"].get("tracing", 0)) for step in steps)
    return built > sum(int(step["device_busy_ps"]) for step in steps)


def _longest_phases(facts: Facts, class_: str) -> list[tuple[str, int]]:
    """Annotations right below the steps with the time of a class in them, the longest first; those without any, and
    those that load data, left out."""
    totals: dict[str, int] = {}
    for trace in facts.traces:
        rows = _phases(trace)
        times = class_shares(partition(trace), trace.start_ps[rows], trace.end_ps[rows])[
            :, CLASS_INDEX[class_]
        ]
        for row, time in zip(rows.tolist(), times.tolist(), strict=True):
            name = trace.name(row)
            if time and not trace.catalog.loads(name):
                totals[name] = totals.get(name, 0) + time
    return sorted(totals.items(), key=lambda it: (-it[1], it[0]))


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
