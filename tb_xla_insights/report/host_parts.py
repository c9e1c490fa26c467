"""What views and comparisons need of every host beside the report: small, so that it outlasts the host's trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.table import graph_names
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.analysis.launches.executions import runs_on
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.steps.partial_steps import partial_steps
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.device_work.step_op_times import op_times
from tb_xla_insights.report.compile_text import UNKNOWN_GRAPH
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace

MAX_STEPS_OF_GRAPH = 500
"""Steps in which a graph is said to have run."""

HostParts = dict[str, Any]


class Runs(NamedTuple):
    """Device runs of one host: how many, how many of them steps launched, and whole steps times cores."""

    number: int
    of_steps: int
    step_cores: int


class IdleBetween(NamedTuple):
    """Idle time between two programs that follow each other on a core: how often, the sum, and gaps by cause."""

    number: int
    total_ps: int
    by_cause_ps: Int64


def count_runs(trace: Trace, on: frozenset[str] | None = None) -> Runs:
    """Of all cores, or of the devices `on`."""
    chosen = runs_on(trace, on)
    cores = sum(on is None or device.id in on for device in trace.devices)
    of_steps = chosen & (find_launches(trace).step_of_run >= 0)
    return Runs(int(chosen.sum()), int(of_steps.sum()), len(steps_of(trace)) * cores)


def idle_between_programs(
    trace: Trace, on: frozenset[str] | None = None
) -> dict[tuple[str, str], IdleBetween]:
    """By the names of the program before and the program after."""
    found: dict[tuple[str, str], IdleBetween] = {}
    launches, gaps = find_launches(trace), find_gaps(trace)
    runs, names = launches.runs, [name for name, _ in launches.programs]
    after = np.flatnonzero((runs.device[1:] == runs.device[:-1]) & runs_on(trace, on)[1:]) + 1
    pause = np.maximum(0, runs.start_ps[after] - runs.end_ps[after - 1])
    # Gaps between two runs, by the run that ends them; a gap inside of a run is between none.
    between = (gaps.run >= 0) & ~gaps.inside
    causes = np.zeros((len(runs), len(CLASSES)), np.int64)
    np.add.at(causes, (gaps.run[between], gaps.cause[between]), gaps.duration_ps[between])
    key = runs.program[after - 1].astype(np.int64) * len(names) + runs.program[after]
    order = np.argsort(key, kind="stable")
    for its in np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else []:
        pair = int(key[its[0]])
        ends = names[pair // len(names)], names[pair % len(names)]
        here = IdleBetween(len(its), int(pause[its].sum()), causes[after[its]].sum(axis=0))
        found[ends] = sum_of_idle(found.get(ends), here)
    return found


def sum_of_idle(one: IdleBetween | None, other: IdleBetween) -> IdleBetween:
    if one is None:
        return other
    by_cause = one.by_cause_ps + other.by_cause_ps
    return IdleBetween(one.number + other.number, one.total_ps + other.total_ps, by_cause)


def graph_rows(trace: Trace) -> dict[str, dict[str, Any]]:
    """Graphs by name: those compiled, by their hash; those that only ran, by module and program id. `steps` are the
    host's own, by index: `compiled` or `run`."""
    graphs: dict[str, dict[str, Any]] = {}
    found, launches = find_compilations(trace), find_launches(trace)
    for it in range(len(found)):
        name = found.graph(it) or UNKNOWN_GRAPH
        entry = graphs.setdefault(name, empty_graph_row(name, found.module[it]))
        entry["compiles"] += 1
        entry["cost_ps"] += int(found.duration_ps[it])
        if found.step[it] >= 0:
            entry["steps"][int(found.step[it])] = "compiled"
    for program, ((module, id_), name) in enumerate(zip(launches.programs, graph_names(trace), strict=True)):
        entry = graphs.setdefault(name, empty_graph_row(name, module))
        if id_ and id_ not in entry["program_ids"]:
            entry["program_ids"].append(id_)
        mine = launches.step[(launches.program == program) & (launches.step >= 0)]
        for step in np.unique(mine)[:MAX_STEPS_OF_GRAPH].tolist():
            entry["steps"].setdefault(step, "run")
    return graphs


def empty_graph_row(name: str, module: str | None) -> dict[str, Any]:
    """A graph that nothing is known of yet."""
    return {"graph": name, "module": module, "program_ids": [], "compiles": 0, "cost_ps": 0, "steps": {}}


def annotation_times(trace: Trace) -> dict[str, tuple[int, int, Int64]]:
    """Per path of annotations: time and number in whole steps (in the capture where the host has none), and the time in
    each step."""
    host, steps = host_annotations(trace), len(steps_of(trace))
    times, counts = host.times(trace, in_steps=steps > 0)
    of_step = np.zeros((len(host.names), steps), np.int64)
    inside = host.step >= 0
    np.add.at(of_step, (host.path[inside], host.step[inside]), trace.duration_ps[host.row[inside]])
    rows = zip(host.names, times.tolist(), counts.tolist(), of_step, strict=True)
    return {name: (ps, count, per_step) for name, ps, count, per_step in rows}


def count_driving_thread_runs(trace: Trace) -> tuple[int, int]:
    """Device runs on the thread that drives, as a CPU has them, and all."""
    rows = [device.modules.row for device in trace.devices]
    own = sum(int(np.isin(trace.lines_of(row), trace.driving_lines).sum()) for row in rows)
    return own, sum(map(len, rows))


_MAKERS: dict[str, Callable[[Trace], Any]] = {
    "partial_steps": partial_steps,
    "steps": lambda trace: len(steps_of(trace)),
    "runs": count_runs,
    "between": idle_between_programs,
    "graphs": graph_rows,
    "annotated": annotation_times,
    "driven": count_driving_thread_runs,
    "op_times": op_times,
}


def host_parts(trace: Trace) -> HostParts:
    """Everything of one host, by name."""
    return {name: make(trace) for name, make in _MAKERS.items()}


def cache_parts(session: SessionTrace, parts: list[HostParts]) -> None:
    """Has the session answer from what all its hosts said before, whichever are in memory."""
    vars(session)["_parts"] = parts


def parts_of_hosts(session: SessionTrace, name: str) -> list[Any]:
    """One part of every host, in their order."""
    kept: list[HostParts] | None = vars(session).get("_parts")
    if kept is not None:
        return [parts[name] for parts in kept]
    return [_MAKERS[name](trace) for trace in session.traces]
