"""What to change, with the evidence, the cost and the places: the report's findings, one file per family."""

from __future__ import annotations

from typing import Any

from tb_xla_insights.analysis.beside import NOTHING, Beside
from tb_xla_insights.analysis.findings.base import Facts, Finding, Window, mean_step_without
from tb_xla_insights.analysis.findings.data import input_bound, transfer_bound
from tb_xla_insights.analysis.findings.device import device_bound, device_stalls, exposed_collectives
from tb_xla_insights.analysis.findings.dynamo import graph_breaks
from tb_xla_insights.analysis.findings.fallback import cpu_fallback
from tb_xla_insights.analysis.findings.graphs import (
    early_sync,
    recompilation,
    sync_every_step,
)
from tb_xla_insights.analysis.findings.host import (
    dispatch_overhead,
    many_small_executions,
    tracing_bound,
)
from tb_xla_insights.analysis.propagation.report import annotations_not_propagated
from tb_xla_insights.analysis.thresholds import SEVERITIES
from tb_xla_insights.analysis.what_if import Fix
from tb_xla_insights.trace.model import SessionTrace

__all__ = ["Finding", "Window", "find_findings", "findings_report"]

_FINDERS = (
    recompilation, early_sync, cpu_fallback, input_bound, sync_every_step, transfer_bound, graph_breaks,
    many_small_executions, dispatch_overhead, tracing_bound, device_stalls, exposed_collectives,
)  # fmt: skip
"""The order in which idle time is given out: what happened at a known place first, what is left of a class
last."""


def find_findings(session: SessionTrace, beside: Beside = NOTHING) -> list[Finding]:
    """The findings of a session, those that cost most first.

    Idle time that one host finding takes is no other one's (`cpu_fallback`, whose cost is part of
    `early_sync`'s, apart), so their costs never add up to more than the starved gaps. `device_bound` is there
    only where nothing is worth a warning.
    """
    facts = Facts(session, beside)
    found = [finding for finder in _FINDERS if (finding := finder(facts)) is not None]
    if not any(finding.severity != "info" for finding in found):
        bound = device_bound(facts)
        found += [bound] if bound else []
    return sorted(found, key=lambda it: (-it.cost_ps, -SEVERITIES.index(it.severity), it.id))


def findings_report(session: SessionTrace, beside: Beside = NOTHING) -> list[dict[str, Any]]:
    """The report's `findings`, with annotations that do not reach the device, which cost no time, at the end.

    `step_ps` is the mean of the report's steps, which `step_if_fixed_ps` is to be compared with: None where nothing can
    be replayed.
    """
    lost = annotations_not_propagated(session)
    found = [finding.as_json() for finding in find_findings(session, beside)] + ([lost] if lost else [])
    step_ps = mean_step_without(session, [Fix() for _ in session.traces])
    return [finding | {"step_ps": step_ps} for finding in found]
