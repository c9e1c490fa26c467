"""The document of a session. What is not analysed yet is left out of it, never filled in."""

from __future__ import annotations

from typing import Any

from tb_xla_insights.analysis.busy import device_summaries
from tb_xla_insights.analysis.environment import environment
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


def session_report(session: SessionTrace) -> dict[str, Any]:
    """The whole document: `schema`, `session`, `environment`, `diagnostics`, `devices`."""
    return {
        "schema": SCHEMA,
        "session": session_head(session),
        "environment": environment(session),
        "diagnostics": [diagnostic.as_json() for diagnostic in session.all_diagnostics],
        "devices": device_summaries(session),
    }
