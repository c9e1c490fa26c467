"""What to change, with the evidence, the cost and the places: the report's findings, one file per family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.analysis.findings.base import Facts, Finding, Window
from tb_xla_insights.analysis.findings.callback import host_callback
from tb_xla_insights.analysis.findings.compiles import recompilation
from tb_xla_insights.analysis.findings.data import input_bound, transfer_bound
from tb_xla_insights.analysis.findings.device import device_bound, device_stalls, exposed_collectives
from tb_xla_insights.analysis.findings.dynamo import dynamo_recompilation, graph_breaks
from tb_xla_insights.analysis.findings.fallback import cpu_fallback
from tb_xla_insights.analysis.findings.graphs import early_sync
from tb_xla_insights.analysis.findings.host import (
    dispatch_overhead,
    tracing_bound,
)
from tb_xla_insights.analysis.findings.lost import annotations_not_propagated
from tb_xla_insights.analysis.findings.reads import sync_every_step
from tb_xla_insights.analysis.findings.small import many_small_executions
from tb_xla_insights.analysis.findings.worth import (
    NO_MISTAKES,
    finding_kind,
    has_nothing_to_fix,
    mistakes_report,
    rank_findings,
)
from tb_xla_insights.analysis.sidecars import NO_SIDECARS, Sidecars
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.parts import FoundKeys

__all__ = ["Finding", "Window", "find_findings", "findings_report"]

_FINDERS = (
    dynamo_recompilation, recompilation, cpu_fallback, early_sync, input_bound, sync_every_step, transfer_bound,
    graph_breaks, many_small_executions, dispatch_overhead, tracing_bound, host_callback, device_stalls,
    exposed_collectives, annotations_not_propagated,
)  # fmt: skip
"""The order in which idle time is given out: what happened at a known place first, what is left of a class
last."""


def find_findings(session: SessionTrace, beside: Sidecars = NO_SIDECARS) -> list[Finding]:
    """The findings of a session of one host: mistakes, then limits; in each what recurs first, then by what a fix buys
    (`worth`).

    Idle time that one host finding takes is no other one's, so their costs never add up to more than the starved gaps.
    `device_bound` is there only where no mistake is worth a change and no limit a warning.
    """
    return _found(Facts(session, beside))


def _found(facts: Facts) -> list[Finding]:
    drafts = []
    for finder in _FINDERS:
        left = facts.ledger.left.sum(axis=1)
        if (finding := finder(facts)) is not None:
            drafts.append(finding)
            facts.ledger.explained[finding.id] = left - facts.ledger.left.sum(axis=1)
    found = rank_findings(facts, drafts)
    told = {finding.id for finding in found}
    facts.ledger.explained = {id_: its for id_, its in facts.ledger.explained.items() if id_ in told}
    if has_nothing_to_fix(found) and (bound := device_bound(facts)):
        found.append(bound)
    return found


def findings_report(session: SessionTrace, beside: Sidecars = NO_SIDECARS) -> FoundKeys:
    """The report's `findings` and `mistakes`, of a session of one host or none, and what of each gap they explain
    (`explained_by`, see `Ledger.explained_by`).

    `step_ps` of a finding is the mean of the report's steps, to be compared with `step_if_fixed_ps`; None where nothing
    can be replayed. `kind` is `mistake` or `limit`, None for what is no fault (`device_bound`).
    """
    if not session.traces:
        return {"findings": [], "mistakes": NO_MISTAKES, "explained_by": {}}
    facts = Facts(session, beside)
    found = _found(facts)
    together = mistakes_report(session.traces[0], found)
    rows = [finding.as_json(finding_kind(finding), together["step_ps"]) for finding in found]
    return {"findings": rows, "mistakes": together, "explained_by": facts.ledger.explained_by()}
