"""The report's document of one host, from the results of all analyses."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.compiles.debug_log import blocks_of_early_executions, causes_by_program
from tb_xla_insights.analysis.compiles.table import compiles_report
from tb_xla_insights.analysis.device.collectives import collectives_report
from tb_xla_insights.analysis.diagnostics import diagnose
from tb_xla_insights.analysis.environment import environment
from tb_xla_insights.analysis.findings import Findings, explained_findings
from tb_xla_insights.analysis.host.input_pipeline import input_pipeline_report
from tb_xla_insights.analysis.host.transfers import transfers_report
from tb_xla_insights.analysis.idle.busy import device_summaries
from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.idle.outside_span import outside_span_report
from tb_xla_insights.analysis.launches.early_executions import early_executions_report
from tb_xla_insights.analysis.launches.executions import executions_report, launching_report, programs_report
from tb_xla_insights.analysis.propagation import propagation_diagnostics, propagation_report, session_ops
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.programs import programs_have_scopes
from tb_xla_insights.analysis.steps.idle import step_idle_report
from tb_xla_insights.analysis.steps.partial_steps import partial_diagnostics
from tb_xla_insights.analysis.steps.table import steps_report
from tb_xla_insights.columns.merge import merged, merged_row
from tb_xla_insights.device_work import host_work
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.parallel import run_parallel
from tb_xla_insights.report.metrics import metrics_document, sidecar_diagnostics
from tb_xla_insights.report.sidecars import read_sidecars
from tb_xla_insights.report.throughput import throughput
from tb_xla_insights.schema.launches import Execution, Launching, Program
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.launches import EarlyExecution
    from tb_xla_insights.schema.parts import PropagationKeys, SummaryKeys
    from tb_xla_insights.schema.report import HostReport
    from tb_xla_insights.schema.session import SessionHead

SCHEMA_VERSION = 1
"""Increases if a key changes its meaning or is removed; additional keys do not change it."""


def session_head(session: SessionTrace) -> SessionHead:
    """The report's `session`: times in ps, the epoch time as a decimal string because a double cannot hold it;
    `description` is the text of the description file beside the capture, None without one."""
    return {
        "name": session.name,
        "path": session.path,
        "description": read_sidecars(session).description,
        "start_unix_ns": str(session.start_unix_ns),
        "duration_ps": session.duration_ps,
        "hosts": [
            {"name": trace.host, "file": trace.path, "bytes": trace.file_bytes, "events": len(trace)}
            for trace in session.traces
        ],
    }


def session_summary(session: SessionTrace) -> SummaryKeys:
    """The keys that need no analysis of causes: `session`, `environment`, `diagnostics`, `devices`."""
    summary = _summary_without_programs(session)
    # On a CPU scopes are in the programs.
    summary["environment"]["hlo_scopes"] |= any(programs_have_scopes(trace) for trace in session.traces)
    return summary


def _summary_without_programs(session: SessionTrace) -> SummaryKeys:
    """The summary without information from compiled programs."""
    return {
        "session": session_head(session),
        "environment": environment(session),
        "diagnostics": [diagnostic.as_json() for diagnostic in _diagnostics(session)],
        "devices": device_summaries(session),
    }


def _diagnostics(session: SessionTrace) -> list[Diagnostic]:
    """The diagnostics of the readers, of the capture's contents, and of the files beside it."""
    diagnostics = [*session.all_diagnostics, *diagnose(session), *partial_diagnostics(session)]
    return [*diagnostics, *sidecar_diagnostics(session)]


def host_report(
    session: SessionTrace, all_gaps: bool = False, samples_per_step: float | None = None
) -> tuple[HostReport, Findings]:
    """The report of one host alone, and its findings."""
    sidecars = read_sidecars(session)
    tasks: dict[str, Callable[[], Any]] = {
        # The tasks that take longest come first.
        "propagation": partial(_propagation, session),
        "gaps": partial(gaps_report, session, all_gaps),
        "steps": partial(steps_report, session),
        "step_idle": partial(step_idle_report, session),
        "findings": partial(explained_findings, session, sidecars),
        "executions": partial(execution_rows, session),
        "programs": partial(program_rows, session),
        "launching": partial(launching, session),
        "early_executions": partial(_early_executions, session),
        "compiles": partial(compiles_report, session, sidecars.causes),
        "transfers": partial(transfers_report, session),
        "input_pipeline": partial(input_pipeline_report, session),
        "collectives": partial(collectives_report, session),
        "outside_span": partial(outside_span_report, session),
        "summary": partial(_summary_without_programs, session),
    }
    results = dict(zip(tasks, run_parallel([*tasks.values()]), strict=True))
    propagation: PropagationKeys
    propagation, has_scopes = results["propagation"]
    summary: SummaryKeys = results["summary"]
    findings: Findings
    findings, explained = results["findings"]
    for item in results["gaps"]["items"]:
        item["by_finding_ps"] = explained.get((item["device"], item["start_ps"]), {})
    summary["environment"]["hlo_scopes"] |= has_scopes
    summary["diagnostics"] += [diagnostic.as_json() for diagnostic in propagation_diagnostics(session)]
    document: HostReport = {
        "schema": SCHEMA_VERSION,
        **summary,
        "steps": results["steps"],
        "gaps": results["gaps"],
        "step_idle": results["step_idle"],
        "executions": results["executions"],
        "programs": results["programs"],
        "launching": results["launching"],
        "early_executions": results["early_executions"],
        "compiles": results["compiles"],
        "transfers": results["transfers"],
        "input_pipeline": results["input_pipeline"],
        "collectives": results["collectives"],
        "outside_span": results["outside_span"],
        **propagation,
        "metrics": metrics_document(session),
        "recorded": sidecars.recorded,
        "throughput": throughput(results["steps"], sidecars.recorded, samples_per_step),
    }
    return document, findings


def _propagation(session: SessionTrace) -> tuple[PropagationKeys, bool]:
    """The report's keys about propagation and ops; and whether the capture has scopes: in the names of ops, in the
    instructions that ops call, or, if all devices are derived from host events, in the programs that ran."""
    document = propagation_report(session)
    has_scopes = any(document["propagation"][name] for name in ("direct_ps", "recovered_ps"))
    has_scopes |= any(
        find_ops(trace).working_scopes
        for trace in session.traces
        if all(device.from_host_events for device in trace.devices)
    )
    annotations = document["annotations"]
    return {
        "annotations": annotations,
        "propagation": {**document["propagation"], **session_ops(session)},
        **host_work(session, annotations),
    }, has_scopes


def execution_rows(session: SessionTrace) -> list[Execution]:
    """The report's `executions`, with `causes` from a debug log."""
    causes = causes_by_program(session, read_sidecars(session).executions)

    def of_host(trace: Trace) -> list[Execution]:
        return [{**row, "causes": causes.get(row["program"], [])} for row in executions_report(trace)]

    return merged(Execution, map(of_host, session.traces), "device_ps")


def program_rows(session: SessionTrace, devices: Collection[str] | None = None) -> list[Program]:
    """The report's `programs`, with `causes` from a debug log; `devices` (ids) restricts them to the runs on these."""
    causes = causes_by_program(session, read_sidecars(session).executions)

    def of_host(trace: Trace) -> list[Program]:
        return [{**row, "causes": causes.get(row["program"], [])} for row in programs_report(trace, devices)]

    return merged(Program, map(of_host, session.traces), "device_ps")


def launching(session: SessionTrace, devices: Collection[str] | None = None) -> Launching:
    """The report's `launching`; `devices` (ids) restricts it to the runs on these."""
    return merged_row(Launching, (launching_report(trace, devices) for trace in session.traces))


def _early_executions(session: SessionTrace) -> list[EarlyExecution]:
    """The report's `early_executions`, with `cause` and `frame` from a debug log."""
    blocks = blocks_of_early_executions(session, read_sidecars(session).executions)
    return [
        {**row, "cause": block.cause if block else None, "frame": block.frame if block else None}
        for row, block in zip(early_executions_report(session), blocks, strict=True)
    ]
