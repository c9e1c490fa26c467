"""The report's document of one host, from the results of all analyses."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tb_xla_insights.analysis.compiles.compile_table import compiles_report
from tb_xla_insights.analysis.compiles.debug_log import blocks_of_early_executions, causes_by_program
from tb_xla_insights.analysis.compiles.torch_trace import causes_of
from tb_xla_insights.analysis.completeness.diagnostics import diagnose
from tb_xla_insights.analysis.delays.collectives import collectives_report
from tb_xla_insights.analysis.delays.early_executions import early_executions_report
from tb_xla_insights.analysis.delays.input_pipeline import input_pipeline_report
from tb_xla_insights.analysis.delays.transfers import transfers_report
from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.analysis.engines.report import async_ops_report, engines_report
from tb_xla_insights.analysis.engines.slice_rows import slice_transfers_report
from tb_xla_insights.analysis.environment import environment
from tb_xla_insights.analysis.findings import Findings, explained_findings
from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.idle.in_steps import step_idle_report
from tb_xla_insights.analysis.idle.outside_span import outside_span_report
from tb_xla_insights.analysis.iterations.report import iterations_report
from tb_xla_insights.analysis.launches.executions import executions_report, launching_report, programs_report
from tb_xla_insights.analysis.propagation import propagation_diagnostics, propagation_report, scoped_ops
from tb_xla_insights.analysis.propagation.memory import memory_report
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.programs import programs_have_scopes
from tb_xla_insights.analysis.steps.partial_steps import partial_diagnostics
from tb_xla_insights.analysis.steps.step_table import steps_report
from tb_xla_insights.device_work import host_work
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.report.metrics import metrics_document, sidecar_diagnostics
from tb_xla_insights.report.sidecar_files import read_sidecars
from tb_xla_insights.report.throughput import throughput
from tb_xla_insights.schema.launches import Execution, Program
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.trace.clock import session_start
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.launches import EarlyExecution
    from tb_xla_insights.schema.parts import PropagationKeys, SummaryKeys
    from tb_xla_insights.schema.report import HostReport
    from tb_xla_insights.schema.session import SessionHead

SCHEMA_VERSION = 1
"""Increases if a key changes its meaning or is removed; additional keys do not change it."""


def session_summary(trace: Trace, name: str, path: str) -> tuple[SummaryKeys, list[Diagnostic]]:
    """The keys that need no analysis of causes: `session`, `environment`, `diagnostics`, `devices`; and the
    diagnostics."""
    summary, diagnostics = _summary_without_programs(trace, name, path)
    # On a CPU scopes are in the programs.
    summary["environment"]["hlo_scopes"] |= programs_have_scopes(trace)
    return summary, diagnostics


def _summary_without_programs(trace: Trace, name: str, path: str) -> tuple[SummaryKeys, list[Diagnostic]]:
    """The summary without information from compiled programs, and its diagnostics."""
    diagnostics = _diagnostics(trace)
    return {
        "session": _session_head(trace, name, path),
        "environment": environment(trace),
        "diagnostics": [diagnostic.as_json() for diagnostic in diagnostics],
        "devices": device_summaries(trace),
    }, diagnostics


def _session_head(trace: Trace, name: str, path: str) -> SessionHead:
    """The report's `session`: times in ps, the epoch time as a decimal string because a double cannot hold it;
    `description` is the text of the description file beside the capture, None without one."""
    return {
        "name": name,
        "path": path,
        "description": read_sidecars(trace).description,
        "start_unix_ns": str(session_start([trace.base_unix_ns])),
        "duration_ps": trace.span_ps[1],
        "hosts": [{"name": trace.host, "file": trace.path, "bytes": trace.file_bytes, "events": len(trace)}],
    }


def _diagnostics(trace: Trace) -> list[Diagnostic]:
    """The diagnostics of the readers, of the capture's contents, and of the files beside it."""
    return [*trace.diagnostics, *diagnose(trace), *partial_diagnostics(trace), *sidecar_diagnostics(trace)]


class HostResults(NamedTuple):
    """The report of one host alone: its document, the findings that are not in it, and the diagnostics that are."""

    document: HostReport
    findings: Findings
    diagnostics: list[Diagnostic]


def host_report(
    trace: Trace, name: str, path: str, all_gaps: bool = False, samples_per_step: float | None = None
) -> HostResults:
    """The results of one host. `name` and `path` are the session's."""
    sidecars = read_sidecars(trace)
    tasks: dict[str, Callable[[], Any]] = {
        # The tasks that take longest come first.
        "propagation": partial(_propagation, trace),
        "gaps": partial(gaps_report, trace, all_gaps),
        "steps": partial(steps_report, trace),
        "step_idle": partial(step_idle_report, trace),
        "findings": partial(explained_findings, trace, sidecars),
        "executions": partial(execution_rows, trace),
        "programs": partial(program_rows, trace),
        "launching": partial(launching_report, trace),
        "early_executions": partial(_early_executions, trace),
        "compiles": partial(compiles_report, trace, causes_of(trace, sidecars)),
        "transfers": partial(transfers_report, trace),
        "input_pipeline": partial(input_pipeline_report, trace),
        "collectives": partial(collectives_report, trace),
        "engines": partial(engines_report, trace),
        "async_ops": partial(async_ops_report, trace),
        "slice_transfers": partial(slice_transfers_report, trace),
        "iterations": partial(iterations_report, trace),
        "outside_span": partial(outside_span_report, trace),
        "memory": partial(memory_report, trace),
        "summary": partial(_summary_without_programs, trace, name, path),
    }
    results = dict(zip(tasks, run_parallel([*tasks.values()]), strict=True))
    propagation: PropagationKeys
    propagation, has_scopes = results["propagation"]
    summary: SummaryKeys
    diagnostics: list[Diagnostic]
    summary, diagnostics = results["summary"]
    findings: Findings
    findings, explained = results["findings"]
    for item in results["gaps"]["items"]:
        item["by_finding_ps"] = explained.get((item["device"], item["start_ps"]), {})
    summary["environment"]["hlo_scopes"] |= has_scopes
    diagnostics += propagation_diagnostics(trace)
    summary["diagnostics"] = [diagnostic.as_json() for diagnostic in diagnostics]
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
        "engines": results["engines"],
        "async_ops": results["async_ops"],
        "slice_transfers": results["slice_transfers"],
        "iterations": results["iterations"],
        "outside_span": results["outside_span"],
        **propagation,
        "memory": results["memory"],
        "metrics": metrics_document(trace),
        "recorded": sidecars.recorded,
        "throughput": throughput(results["steps"], sidecars.recorded, samples_per_step),
    }
    return HostResults(document, findings, diagnostics)


def _propagation(trace: Trace) -> tuple[PropagationKeys, bool]:
    """The report's keys about propagation and ops; and whether the capture has scopes: in the names of ops, in the
    instructions that ops call, or, if all devices are derived from host events, in the programs that ran."""
    document = propagation_report(trace)
    has_scopes = any(document["propagation"][name] for name in ("direct_ps", "recovered_ps"))
    if all(device.from_host_events for device in trace.devices):
        has_scopes |= bool(find_ops(trace).working_scopes)
    annotations = document["annotations"]
    return {
        "annotations": annotations,
        "propagation": {**document["propagation"], **scoped_ops(trace)},
        **host_work(trace, annotations),
    }, has_scopes


def execution_rows(trace: Trace) -> list[Execution]:
    """The report's `executions`, with `causes` from a debug log."""
    causes = causes_by_program(trace, read_sidecars(trace).executions)
    return [{**row, "causes": causes.get(row["program"], [])} for row in executions_report(trace)]


def program_rows(trace: Trace, devices: Collection[str] | None = None) -> list[Program]:
    """The report's `programs`, with `causes` from a debug log; `devices` (ids) restricts them to the runs on these."""
    causes = causes_by_program(trace, read_sidecars(trace).executions)
    return [{**row, "causes": causes.get(row["program"], [])} for row in programs_report(trace, devices)]


def _early_executions(trace: Trace) -> list[EarlyExecution]:
    """The report's `early_executions`, with `cause` and `frame` from a debug log."""
    blocks = blocks_of_early_executions(trace, read_sidecars(trace).executions)
    return [
        {**row, "cause": block.cause if block else None, "frame": block.frame if block else None}
        for row, block in zip(early_executions_report(trace), blocks, strict=True)
    ]
