"""The document of the view on executions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.launches.enqueues import JOINS
from tb_xla_insights.analysis.launches.executions import find_run_times, launching_report, runs_on
from tb_xla_insights.analysis.launches.launches import KINDS, find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps, traces_with_step_offsets
from tb_xla_insights.analysis.memo import RecentResults, memoised_on
from tb_xla_insights.columns.merge import merged, merged_row
from tb_xla_insights.errors import InputError
from tb_xla_insights.report.default_step import default_step
from tb_xla_insights.report.execution_costs import execution_sums, reading_text, savings
from tb_xla_insights.report.figures import joins_text
from tb_xla_insights.report.gap_text import is_queued
from tb_xla_insights.report.host_document import program_rows
from tb_xla_insights.report.host_tables import (
    IdleBetween,
    ProgramInSteps,
    RunCounts,
    idle_between_programs,
    programs_in_steps,
    run_counts,
)
from tb_xla_insights.report.launch_text import lead_text
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.schema.launches import Launching, Program
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.executions_route import ExecutionRow, Executions, ExecutionTables, RunColumns
    from tb_xla_insights.schema.speedups import IdleBetweenPrograms

_MAX_RUNS = 2000
_MAX_PROGRAM_PAIRS = 50
_MAX_DEVICE_CHOICES = 16
"""The most choices of devices whose sums are cached with a session. Without a limit, n devices would have 2^n choices;
the sums of the demo session with eight devices take 13 kB, and 50 ms to compute."""

_DeviceIds = frozenset[str] | None
"""The ids of chosen devices; None for all."""


def executions(
    session: SessionView, step: int | None = None, devices: Collection[str] | None = None
) -> Executions:
    """The document of `data/executions`: the report's `programs` (as `executions`, with `join` as a text) with their
    costs, their sums by kind, what these say, the idle time between programs, how far the host runs ahead, and the
    first _MAX_RUNS runs of one step with their number.

    `step` is an index into the report's `steps` (None: the one of `default_step`, of the hosts of `devices`). `devices`
    (ids; `HOST/*` are all devices of a host) restricts everything to the runs on these devices. Means per step and core
    are the mean run of each program, times its runs that a whole step launches on a core (`per_step`): runs outside of
    whole steps change the mean run of their program only. `core_steps`: whole steps times cores; None if no whole step
    launched a run.

    Raises InputError for a step that does not exist."""
    report = session.report
    steps = report["steps"]
    if step is not None and not 0 <= step < len(steps):
        raise InputError(f"data/executions: no step {step}; the session has {len(steps)}, counted from 0")
    chosen = (
        None
        if devices is None
        else [
            device
            for device in session.hosts.devices
            if device.id in devices or f"{device.host}/*" in devices
        ]
    )
    device_ids = None if chosen is None else frozenset(device.id for device in chosen)
    tables = _cached_executions(session, device_ids)
    hosts = None if chosen is None else {device.host for device in chosen}
    step_index = default_step(report, hosts) if step is None else step
    runs, run_count = (None, 0) if step_index is None else _runs_of_step(session, step_index, device_ids)
    return {
        "executions": tables["executions"],
        "kinds": tables["kinds"],
        "all": tables["all"],
        "core_steps": tables["core_steps"],
        "reading": tables["reading"],
        "savings": tables["savings"],
        "between": tables["between"],
        "between_count": tables["between_count"],
        "lead": tables["lead"],
        "steps": step_numbers(steps),
        "step": step_index,
        "runs": runs,
        "run_count": run_count,
    }


def _cached_executions(session: SessionView, device_ids: _DeviceIds) -> ExecutionTables:
    if device_ids is None:
        return memoised_on(session, "executions", lambda: _executions(session, None))
    choices = memoised_on(session, "executions of devices", lambda: RecentResults(_MAX_DEVICE_CHOICES))
    return choices.get(device_ids, lambda: _executions(session, device_ids))


def step_numbers(steps: Sequence[Mapping[str, Any]]) -> list[int]:
    """The steps' numbers; of a step without one its index."""
    return [step["number"] if step["number"] is not None else step["index"] for step in steps]


def _executions(session: SessionView, device_ids: _DeviceIds) -> ExecutionTables:
    programs, launching = _programs_and_launching(session, device_ids)
    core_steps, runs_in_steps = _runs_in_steps(session, device_ids)
    per_step = {
        row["program"]: runs_in_steps[row["program"]] / core_steps if core_steps else 0 for row in programs
    }
    rows = [_execution_row(row, per_step[row["program"]], core_steps) for row in programs]
    fixed, lead = launching["fixed"], launching["lead"]
    between = _idle_between(session, device_ids)
    return {
        "executions": rows,
        "kinds": {
            kind: execution_sums([row for row in rows if row["kind"] == kind], core_steps)
            for kind in dict.fromkeys(row["kind"] for row in rows)
        },
        "all": execution_sums(rows, core_steps),
        "core_steps": core_steps,
        "reading": reading_text(rows, fixed, core_steps),
        "savings": savings(rows, fixed, core_steps),
        "between": between[:_MAX_PROGRAM_PAIRS],
        "between_count": len(between),
        "lead": lead_text(lead) if lead else None,
    }


def _execution_row(program: Program, per_step: float, core_steps: int | None) -> ExecutionRow:
    sums = execution_sums([{**program, "per_step": per_step}], core_steps)
    return {
        **program,
        "join": joins_text(program["joins"]),
        "per_step": per_step,
        "costs": sums["costs"],
        "overhead_share": sums["overhead_share"],
    }


def _programs_and_launching(
    session: SessionView, device_ids: _DeviceIds
) -> tuple[Sequence[Program], Launching]:
    """The report's `programs` and `launching`. Those of chosen devices are merged from their hosts as in the report, so
    that the same devices have the same figures however they are chosen."""
    if device_ids is None:
        report = session.report
        return report["programs"], report["launching"]
    programs = merged(
        Program, (program_rows(trace, device_ids) for trace in session.hosts.traces), "device_ps"
    )
    return programs, merged_row(
        Launching, (launching_report(trace, device_ids) for trace in session.hosts.traces)
    )


def _runs_in_steps(session: SessionView, device_ids: _DeviceIds) -> tuple[int | None, dict[str, int]]:
    """`core_steps` of `executions`, and the number of runs that whole steps launched, by program."""
    if device_ids is None:
        counts = [host.runs for host in session.results.tables]
        programs = [host.programs for host in session.results.tables]
    else:
        counts = [run_counts(trace, device_ids) for trace in session.hosts.traces]
        programs = [programs_in_steps(trace, device_ids) for trace in session.hosts.traces]
    runs = merged_row(RunCounts, counts)
    by_program = {row["program"]: row["runs"] for row in merged(ProgramInSteps, programs, "runs")}
    return runs["core_steps"] if runs["in_steps"] else None, by_program


def _idle_between(session: SessionView, device_ids: _DeviceIds) -> list[IdleBetweenPrograms]:
    """Pairs of programs that follow each other on a core, with the mean time between them and the cause with most time
    in the gaps there; the pair with most time first. `queued`: the cause is `wait`, and queued gaps have most of its
    time."""
    hosts = (
        [host.idle_between for host in session.results.tables]
        if device_ids is None
        else [idle_between_programs(trace, device_ids) for trace in session.hosts.traces]
    )
    rows: list[IdleBetweenPrograms] = []
    for row in merged(IdleBetween, hosts, "total_ps"):
        by_cause_ps = row["by_cause_ps"]
        cause = max(by_cause_ps, key=by_cause_ps.__getitem__, default=None)
        rows.append(
            {
                "before": row["before"],
                "after": row["after"],
                "count": row["count"],
                "total_ps": row["total_ps"],
                "mean_ps": row["total_ps"] // row["count"],
                "cause": cause,
                "queued": is_queued(cause, row),
            }
        )
    return rows


def _runs_of_step(session: SessionView, step: int, device_ids: _DeviceIds) -> tuple[RunColumns | None, int]:
    """The runs of a step and their number; None and 0 if its host is not in memory."""
    for trace, offset in traces_with_step_offsets(session.hosts):
        if 0 <= step - offset < len(find_steps(trace)):
            return _run_columns(trace, step - offset, device_ids)
    return None, 0


def _run_columns(trace: Trace, step: int, device_ids: _DeviceIds) -> tuple[RunColumns, int]:
    """The first _MAX_RUNS runs that one step of a host launched, in order of time, as columns; and their number."""
    launches, times = find_launches(trace), find_run_times(trace)
    runs = launches.runs
    all_rows = np.flatnonzero((launches.step_of_run == step) & runs_on(trace, device_ids))
    rows = all_rows[np.argsort(runs.start_ps[all_rows], kind="stable")][:_MAX_RUNS]
    calls = launches.row[runs.launch[rows]]
    columns: RunColumns = {
        "device": [trace.devices[device].id for device in runs.device[rows].tolist()],
        "start_ps": runs.start_ps[rows].tolist(),
        "duration_ps": (runs.end_ps - runs.start_ps)[rows].tolist(),
        "program": [launches.programs[program].name for program in runs.program[rows].tolist()],
        "kind": [KINDS[kind] for kind in launches.kind[runs.launch[rows]].tolist()],
        "launch_start_ps": trace.start_ps[calls].tolist(),
        "join": [JOINS[join] for join in runs.join[rows].tolist()],
        "host_ps": times.host_ps[rows].tolist(),
        "queue_ps": times.queue_ps[rows].tolist(),
        "overhead_ps": times.overhead_ps[rows].tolist(),
        "lead_ps": times.lead_ps[rows].tolist(),
    }
    return columns, len(all_rows)
