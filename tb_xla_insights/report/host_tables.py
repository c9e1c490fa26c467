"""Tables of each host that views and comparisons need besides the report, small enough to outlive the host's trace.
They merge by the rules of their columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from typing_extensions import TypedDict

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.compile_table import graph_names
from tb_xla_insights.analysis.idle.idle_time import QUEUED, find_gaps
from tb_xla_insights.analysis.launches.executions import runs_on, times_of_executions
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.steps.partial_steps import count_partial_steps
from tb_xla_insights.analysis.time.class_times import times_by_class
from tb_xla_insights.arrays import Float64, Int64
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.columns.merge import merged
from tb_xla_insights.columns.rules import counts, key, total
from tb_xla_insights.device_work.step_op_times import OpTimes, op_times
from tb_xla_insights.report.compile_text import UNKNOWN_GRAPH
from tb_xla_insights.schema.common import ByClass
from tb_xla_insights.schema.compiles_route import GraphRow
from tb_xla_insights.trace.model import Trace


class RunCounts(TypedDict):
    """Numbers of device runs."""

    count: Annotated[int, total]
    """Runs."""
    in_steps: Annotated[int, total]
    """Those that whole steps launched."""
    core_steps: Annotated[int, total]
    """Whole steps times cores."""


class ProgramInSteps(TypedDict):
    """What whole steps launched of a program."""

    program: Annotated[str, key]
    """Name of the program."""
    launches: Annotated[int, total]
    """Launches."""
    runs: Annotated[int, total]
    """Runs."""


class IdleBetween(TypedDict):
    """Idle time between the runs of two programs that follow each other on a core."""

    before: Annotated[str, key]
    """Name of the program before."""
    after: Annotated[str, key]
    """Name of the program after."""
    count: Annotated[int, total]
    """How many times they do, idle or not."""
    total_ps: Annotated[int, total]
    """The idle times."""
    by_cause_ps: Annotated[ByClass, counts(CLASSES)]
    """The time of the gaps there, by cause."""
    queued_ps: Annotated[int, total]
    """That of queued gaps, whose cause is `wait`."""


class DrivingThreadRuns(TypedDict):
    """Device runs on the driving thread, where only a CPU runs programs."""

    on_thread: Annotated[int, total]
    """Runs on it."""
    count: Annotated[int, total]
    """All runs."""


@dataclass(frozen=True)
class AnnotationTimes:
    """The time and the number of the annotations of a path in whole steps (in the capture if the host has no steps),
    and the time in each step."""

    host_ps: int
    count: int
    by_step_ps: Int64


@dataclass(frozen=True)
class HostTables:
    """The tables of one host."""

    steps: int
    partial_steps: int
    runs: RunCounts
    programs: list[ProgramInSteps]
    idle_between: list[IdleBetween]
    graphs: list[GraphRow]
    annotations: dict[str, AnnotationTimes]
    driving_thread: DrivingThreadRuns
    ops: OpTimes
    executions: dict[str, Float64]


def host_tables(trace: Trace) -> HostTables:
    """Computes the tables of one host."""
    return HostTables(
        steps=len(find_steps(trace)),
        partial_steps=count_partial_steps(trace),
        runs=run_counts(trace),
        programs=programs_in_steps(trace),
        idle_between=idle_between_programs(trace),
        graphs=graph_rows(trace),
        annotations=annotation_times(trace),
        driving_thread=driving_thread_runs(trace),
        ops=op_times(trace),
        executions=times_of_executions(trace),
    )


def run_counts(trace: Trace, device_ids: frozenset[str] | None = None) -> RunCounts:
    """Counts the runs on all cores, or on the devices `device_ids`."""
    is_chosen = runs_on(trace, device_ids)
    cores = sum(device_ids is None or device.id in device_ids for device in trace.devices)
    in_steps = is_chosen & (find_launches(trace).step_of_run >= 0)
    return {
        "count": int(is_chosen.sum()),
        "in_steps": int(in_steps.sum()),
        "core_steps": len(find_steps(trace)) * cores,
    }


def programs_in_steps(trace: Trace, device_ids: frozenset[str] | None = None) -> list[ProgramInSteps]:
    """What whole steps launched, by program; the runs on all cores, or on the devices `device_ids`. Launches whose
    program is unknown are left out."""
    launches = find_launches(trace)
    is_counted = (launches.step >= 0) & (launches.program >= 0)
    names = [name for name, _ in launches.programs]
    launches_of = Counter(names[program] for program in launches.program[is_counted].tolist())
    is_run_counted = runs_on(trace, device_ids) & (launches.step_of_run >= 0)
    runs_of = Counter(names[program] for program in launches.runs.program[is_run_counted].tolist())
    return [
        {"program": name, "launches": launches_of[name], "runs": runs_of[name]}
        for name in dict.fromkeys(names)
    ]


def idle_between_programs(trace: Trace, device_ids: frozenset[str] | None = None) -> list[IdleBetween]:
    """Idle time by the names of the program before and the program after it; most time first."""
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
    pair = runs.program[after - 1].astype(np.int64) * len(names) + runs.program[after]
    order = np.argsort(pair, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(pair[order])) + 1) if len(order) else []
    rows: list[IdleBetween] = [
        {
            "before": names[runs.program[after[group[0]] - 1]],
            "after": names[runs.program[after[group[0]]]],
            "count": len(group),
            "total_ps": int(pause_ps[group].sum()),
            "by_cause_ps": times_by_class(by_cause_ps[after[group]].sum(axis=0)),
            "queued_ps": int(queued_ps[after[group]].sum()),
        }
        for group in groups
    ]
    return merged(IdleBetween, [rows], "total_ps")  # programs of one name are one


def graph_rows(trace: Trace) -> list[GraphRow]:
    """The graphs of a host. The name of a graph that was compiled in the capture is its hash, else its module; that of
    any other graph is its module, with the program's id if several programs share it. `steps` has indices of the host's
    own steps."""
    rows: dict[str, GraphRow] = {}

    def row_of(name: str, module: str | None) -> GraphRow:
        empty: GraphRow = {
            "graph": name, "module": module, "program_ids": [], "compiles": 0, "cost_ps": 0, "steps": {},
        }  # fmt: skip
        return rows.setdefault(name, empty)

    compiles, launches = find_compilations(trace), find_launches(trace)
    for index in range(len(compiles)):
        row = row_of(compiles.graph(index) or UNKNOWN_GRAPH, compiles.module[index])
        row["compiles"] += 1
        row["cost_ps"] += int(compiles.duration_ps[index])
        if compiles.step[index] >= 0:
            row["steps"][str(compiles.step[index])] = "compiled"
    for program, ((module, id_), name) in enumerate(zip(launches.programs, graph_names(trace), strict=True)):
        row = row_of(name, module)
        if id_ and id_ not in row["program_ids"]:
            row["program_ids"].append(id_)
        steps = launches.step[(launches.program == program) & (launches.step >= 0)]
        for step in np.unique(steps).tolist():
            row["steps"].setdefault(str(step), "run")
    return [*rows.values()]


def annotation_times(trace: Trace) -> dict[str, AnnotationTimes]:
    """The times of annotations by path."""
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
    return {name: AnnotationTimes(*times) for name, *times in rows}


def driving_thread_runs(trace: Trace) -> DrivingThreadRuns:
    """Counts the device runs on the driving thread, and all of them."""
    rows = [device.runs.row for device in trace.devices]
    on_thread = sum(int(trace.is_on_lines(row, trace.driving_lines).sum()) for row in rows)
    return {"on_thread": on_thread, "count": sum(map(len, rows))}
