"""The document of a session, from the answers of all analyses."""

from __future__ import annotations

from typing import Any

from tb_xla_insights.analysis.busy import device_summaries
from tb_xla_insights.analysis.collectives import collectives_report
from tb_xla_insights.analysis.compiles import compiles_report
from tb_xla_insights.analysis.diagnostics import diagnose
from tb_xla_insights.analysis.early import early_executions
from tb_xla_insights.analysis.environment import environment
from tb_xla_insights.analysis.executions import executions_report
from tb_xla_insights.analysis.findings import findings_report
from tb_xla_insights.analysis.gaps import gaps_report
from tb_xla_insights.analysis.input_pipeline import input_report
from tb_xla_insights.analysis.partial import partial_diagnostics
from tb_xla_insights.analysis.propagation.report import propagation_diagnostics, propagation_report
from tb_xla_insights.analysis.step_table import steps_report
from tb_xla_insights.analysis.transfers import transfers_report
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.report.beside import beside, metrics_document
from tb_xla_insights.trace.model import SessionTrace

SCHEMA = 1
"""Counts up when a key changes its meaning or goes; more keys do not change it."""


def session_head(session: SessionTrace) -> dict[str, Any]:
    """The `session` part: times in ps, the epoch time as a decimal string because it does not fit a double."""
    return {
        "name": session.name,
        "path": session.path,
        "start_unix_ns": str(session.start_unix_ns),
        "duration_ps": session.duration_ps,
        "hosts": [
            {"name": trace.host, "file": trace.path, "bytes": trace.file_bytes, "events": len(trace)}
            for trace in session.traces
        ],
    }


def session_summary(session: SessionTrace) -> dict[str, Any]:
    """What needs no analysis of causes: `session`, `environment`, `diagnostics`, `devices`."""
    return {
        "session": session_head(session),
        "environment": environment(session),
        "diagnostics": [it.as_json() for it in _diagnostics(session)],
        "devices": device_summaries(session),
    }


def _diagnostics(session: SessionTrace) -> list[Diagnostic]:
    """What the readers met, and what the capture lacks."""
    return [*session.all_diagnostics, *diagnose(session), *partial_diagnostics(session)]


def session_report(session: SessionTrace, all_gaps: bool = False) -> dict[str, Any]:
    """The whole document, as the command line, Python and the page give it; the README tells every key.

    Steps and gaps of all hosts come in one list each; a `step` elsewhere in the document is an index into
    `steps`. Files beside the capture (`report.beside`) are read the first time.
    """
    found, propagation = beside(session), propagation_report(session)
    summary = session_summary(session)
    summary["diagnostics"] += [it.as_json() for it in propagation_diagnostics(session)]
    # On a CPU scopes are in the programs, where only this analysis looks.
    scoped = any(propagation["propagation"][name] for name in ("direct_ps", "recovered_ps"))
    summary["environment"]["hlo_scopes"] |= scoped
    return {
        "schema": SCHEMA,
        **summary,
        "steps": steps_report(session),
        "gaps": gaps_report(session, all_gaps),
        "executions": executions_report(session),
        "early_executions": early_executions(session),
        "compiles": compiles_report(session, found.causes),
        "transfers": transfers_report(session),
        "input_pipeline": input_report(session),
        "collectives": collectives_report(session),
        **propagation,
        "metrics": metrics_document(found),
        "findings": findings_report(session, found),
    }
