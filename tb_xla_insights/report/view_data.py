"""Data of each host that views and comparisons need besides the report. It is small enough to outlive the host's
trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.table import graph_names
from tb_xla_insights.analysis.idle.idle_time import QUEUED, find_gaps
from tb_xla_insights.analysis.launches.executions import runs_on, times_of_executions
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.steps.partial_steps import count_partial_steps
from tb_xla_insights.analysis.steps.step_times import find_steps
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.device_work.step_op_times import op_times
from tb_xla_insights.report.compile_text import UNKNOWN_GRAPH
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace

ViewDataName = Literal[
    "partial_steps",
    "steps",
    "runs",
    "launches_in_steps",
    "runs_in_steps",
    "idle_between",
    "graphs",
    "annotation_times",
    "driving_thread_runs",
    "op_times",
    "execution_times",
]
ViewData = dict[ViewDataName, Any]
"""The data of one host: the results of the functions in _FUNCTIONS, by name."""


class Runs(NamedTuple):
    """Device runs of one host: their number, the number of those that whole steps launched, and whole steps times
    cores."""

    total: int
    in_steps: int
    core_steps: int


class IdleBetween(NamedTuple):
    """Idle time between the runs of two programs that follow each other on a core: how many times they do (idle or
    not), the sum of the idle times, the time of gaps there by cause, and that of queued gaps, whose cause is
    `wait`."""

    occurrences: int
    total_ps: int
    by_cause_ps: Int64
    queued_ps: int


def count_runs(trace: Trace, device_ids: frozenset[str] | None = None) -> Runs:
    """Counts the runs on all cores, or on the devices `device_ids`."""
    is_chosen = runs_on(trace, device_ids)
    cores = sum(device_ids is None or device.id in device_ids for device in trace.devices)
    in_steps = is_chosen & (find_launches(trace).step_of_run >= 0)
    return Runs(int(is_chosen.sum()), int(in_steps.sum()), len(find_steps(trace)) * cores)


def sum_of_runs(counts: Iterable[Runs]) -> Runs:
    """The sums of several hosts."""
    return Runs(*map(sum, zip(Runs(0, 0, 0), *counts, strict=True)))


def count_launches_in_steps(trace: Trace) -> Counter[str]:
    """The number of launches in whole steps by program, without those whose program is unknown."""
    launches = find_launches(trace)
    is_counted = (launches.step >= 0) & (launches.program >= 0)
    return Counter(launches.programs[program].name for program in launches.program[is_counted].tolist())


def count_runs_in_steps(trace: Trace, device_ids: frozenset[str] | None = None) -> Counter[str]:
    """The number of runs, on all cores or on the devices `device_ids`, that whole steps launched, by program."""
    launches = find_launches(trace)
    programs = launches.runs.program[runs_on(trace, device_ids) & (launches.step_of_run >= 0)]
    return Counter(launches.programs[program].name for program in programs.tolist())


def idle_between_programs(
    trace: Trace, device_ids: frozenset[str] | None = None
) -> dict[tuple[str, str], IdleBetween]:
    """Idle time by the names of the program before and the program after it."""
    result: dict[tuple[str, str], IdleBetween] = {}
    launches, gaps = find_launches(trace), find_gaps(trace)
    runs, names = launches.runs, [name for name, _ in launches.programs]
    same_device = runs.device[1:] == runs.device[:-1]
    after = np.flatnonzero(same_device & runs_on(trace, device_ids)[1:]) + 1  # runs that follow another one
    # If runs overlap, the one before may end before an earlier one.
    pause_ps = np.maximum(0, runs.start_ps[after] - runs.free_ps[after])
    # Gaps between two runs, by the run after them; a gap inside a run is between none.
    is_between = (gaps.run >= 0) & ~gaps.inside
    by_cause_ps = np.zeros((len(runs), len(CLASSES)), np.int64)
    np.add.at(by_cause_ps, (gaps.run[is_between], gaps.cause[is_between]), gaps.duration_ps[is_between])
    queued_ps = np.zeros(len(runs), np.int64)
    is_queued = is_between & (gaps.kind == QUEUED)
    np.add.at(queued_ps, gaps.run[is_queued], gaps.duration_ps[is_queued])
    key = runs.program[after - 1].astype(np.int64) * len(names) + runs.program[after]
    order = np.argsort(key, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else []:
        pair = int(key[group[0]])
        programs = names[pair // len(names)], names[pair % len(names)]
        idle = IdleBetween(
            len(group),
            int(pause_ps[group].sum()),
            by_cause_ps[after[group]].sum(axis=0),
            int(queued_ps[after[group]].sum()),
        )
        result[programs] = sum_of_idle(result.get(programs), idle)
    return result


def sum_of_idle(first: IdleBetween | None, second: IdleBetween) -> IdleBetween:
    """The sum of both; `first` is None if there is none yet."""
    if first is None:
        return second
    return IdleBetween(
        first.occurrences + second.occurrences,
        first.total_ps + second.total_ps,
        first.by_cause_ps + second.by_cause_ps,
        first.queued_ps + second.queued_ps,
    )


def graph_rows(trace: Trace) -> dict[str, dict[str, Any]]:
    """Graphs by name. The name of a graph that was compiled in the capture is its hash, else its module; that of any
    other graph is its module, with the program's id if several programs share it. `steps` maps indices of the host's
    own steps to `compiled` or `run`."""
    rows: dict[str, dict[str, Any]] = {}
    compiles, launches = find_compilations(trace), find_launches(trace)
    for index in range(len(compiles)):
        name = compiles.graph(index) or UNKNOWN_GRAPH
        row = rows.setdefault(name, empty_graph_row(name, compiles.module[index]))
        row["compiles"] += 1
        row["cost_ps"] += int(compiles.duration_ps[index])
        if compiles.step[index] >= 0:
            row["steps"][int(compiles.step[index])] = "compiled"
    for program, ((module, id_), name) in enumerate(zip(launches.programs, graph_names(trace), strict=True)):
        row = rows.setdefault(name, empty_graph_row(name, module))
        if id_ and id_ not in row["program_ids"]:
            row["program_ids"].append(id_)
        steps = launches.step[(launches.program == program) & (launches.step >= 0)]
        for step in np.unique(steps).tolist():
            row["steps"].setdefault(step, "run")
    return rows


def empty_graph_row(name: str, module: str | None) -> dict[str, Any]:
    """The row of a graph before any compilation or run is added."""
    return {"graph": name, "module": module, "program_ids": [], "compiles": 0, "cost_ps": 0, "steps": {}}


def annotation_times(trace: Trace) -> dict[str, tuple[int, int, Int64]]:
    """Time and number of events by path of annotations, in whole steps (in the capture if the host has no steps), and
    the time in each step."""
    annotations, steps = host_annotations(trace), len(find_steps(trace))
    times, counts = annotations.times(trace, in_steps=steps > 0)
    by_step = np.zeros((len(annotations.path_texts), steps), np.int64)
    in_step = annotations.step >= 0
    np.add.at(
        by_step,
        (annotations.path[in_step], annotations.step[in_step]),
        trace.duration_ps[annotations.row[in_step]],
    )
    rows = zip(annotations.path_texts, times.tolist(), counts.tolist(), by_step, strict=True)
    return {name: (ps, count, per_step) for name, ps, count, per_step in rows}


def count_driving_thread_runs(trace: Trace) -> tuple[int, int]:
    """The number of device runs on the driving thread, where only a CPU runs programs, and of all device runs."""
    rows = [device.runs.row for device in trace.devices]
    on_driving_thread = sum(int(trace.is_on_lines(row, trace.driving_lines).sum()) for row in rows)
    return on_driving_thread, sum(map(len, rows))


_FUNCTIONS: dict[ViewDataName, Callable[[Trace], Any]] = {
    "partial_steps": count_partial_steps,
    "steps": lambda trace: len(find_steps(trace)),
    "runs": count_runs,
    "launches_in_steps": count_launches_in_steps,
    "runs_in_steps": count_runs_in_steps,
    "idle_between": idle_between_programs,
    "graphs": graph_rows,
    "annotation_times": annotation_times,
    "driving_thread_runs": count_driving_thread_runs,
    "op_times": op_times,
    "execution_times": times_of_executions,
}


def view_data(trace: Trace) -> ViewData:
    """Computes all data of one host."""
    return {name: function(trace) for name, function in _FUNCTIONS.items()}


def cache_view_data(session: SessionTrace, data_of_hosts: list[ViewData]) -> None:
    """Caches the data of all hosts, in their order, with a session, so that its views need no host in memory."""
    vars(session)["_view_data"] = data_of_hosts


def view_data_of_hosts(session: SessionTrace, name: ViewDataName) -> list[Any]:
    """The data named `name` of each host, in their order; computed for the hosts in memory unless cached."""
    cached: list[ViewData] | None = vars(session).get("_view_data")
    if cached is not None:
        return [data[name] for data in cached]
    return [_FUNCTIONS[name](trace) for trace in session.traces]
