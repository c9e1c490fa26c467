"""The report's findings: what to change and where, with evidence and cost. One module per family of findings."""

from __future__ import annotations

from dataclasses import replace

from tb_xla_insights.analysis.findings.callback import host_callback
from tb_xla_insights.analysis.findings.compiles import recompilation
from tb_xla_insights.analysis.findings.copies import device_copies
from tb_xla_insights.analysis.findings.data import input_bound, transfer_bound
from tb_xla_insights.analysis.findings.device import device_bound
from tb_xla_insights.analysis.findings.device_waits import device_waits
from tb_xla_insights.analysis.findings.dispatch import dispatch_overhead
from tb_xla_insights.analysis.findings.dynamo import dynamo_recompilation, graph_breaks
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.fallback import cpu_fallback
from tb_xla_insights.analysis.findings.finding import Finding, Findings, ShownWindow
from tb_xla_insights.analysis.findings.graphs import early_sync
from tb_xla_insights.analysis.findings.host_code import host_code
from tb_xla_insights.analysis.findings.host_pause import host_pause
from tb_xla_insights.analysis.findings.late_core import late_core
from tb_xla_insights.analysis.findings.lost import annotations_not_propagated
from tb_xla_insights.analysis.findings.occasional_reads import sync_some_steps
from tb_xla_insights.analysis.findings.place import place_of
from tb_xla_insights.analysis.findings.reads import sync_every_step
from tb_xla_insights.analysis.findings.serving import many_sends_one_by_one, prefill_stall, serial_iterations
from tb_xla_insights.analysis.findings.small import many_small_executions
from tb_xla_insights.analysis.findings.tracing import tracing_bound
from tb_xla_insights.analysis.findings.worth import (
    has_nothing_to_fix,
    mistakes_report,
    rank_findings,
    sort_findings,
)
from tb_xla_insights.analysis.host.script_frames import code_within
from tb_xla_insights.analysis.idle.no_requests import no_requests
from tb_xla_insights.analysis.sidecar_contents import NO_SIDECARS, Sidecars
from tb_xla_insights.analysis.time.class_times import times_by_class
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Trace

__all__ = ["Finding", "Findings", "ShownWindow", "explained_findings", "find_findings"]

_FINDERS = (
    late_core, dynamo_recompilation, recompilation, host_pause, cpu_fallback, early_sync, input_bound,
    many_sends_one_by_one, serial_iterations, prefill_stall, sync_every_step, sync_some_steps, transfer_bound,
    graph_breaks, many_small_executions, tracing_bound, host_code, dispatch_overhead, host_callback, device_copies,
    device_waits, annotations_not_propagated,
)  # fmt: skip
"""The order in which findings take idle time: what happened once and those with a known location first, those that take
the rest of a class last."""


_MAX_FUNCTIONS = 3
"""The maximum number of functions in a finding's `code`."""


def find_findings(trace: Trace, sidecars: Sidecars = NO_SIDECARS) -> list[Finding]:
    """The findings of a host in order (see `worth.sort_findings`).

    No idle time counts for two host findings, so that their costs never exceed the starved gaps. `device_bound` is
    included only if no mistake or limit is worth a warning (see `has_nothing_to_fix`).
    """
    return _findings_of(Facts(trace, sidecars))


def _findings_of(facts: Facts) -> list[Finding]:
    drafts = []
    facts.ledger.discard_within(CLASSES, no_requests(facts.trace))
    for finder in _FINDERS:
        remaining_before_ps = facts.ledger.remaining_ps.copy()
        taken_before = [*facts.ledger.taken_times]
        if (finding := finder(facts)) is not None:
            taken_ps = remaining_before_ps - facts.ledger.remaining_ps
            where = place_of(facts.trace, facts.ledger, finding, taken_ps)
            code = code_within(facts.trace, facts.ledger.host_times_since(taken_before))
            evidence = finding.evidence
            if finding.recurs == "once":
                evidence = {**evidence, "idle_by_class_ps": times_by_class(taken_ps.sum(axis=0))}
            drafts.append(replace(finding, where=where, code=code[:_MAX_FUNCTIONS], evidence=evidence))
            facts.ledger.explained[finding.id] = taken_ps.sum(axis=1)
    findings = rank_findings(facts, drafts)
    ids = {finding.id for finding in findings}
    facts.ledger.explained = {id_: ps for id_, ps in facts.ledger.explained.items() if id_ in ids}
    bound = device_bound(facts) if has_nothing_to_fix(findings) else None
    return sort_findings([*findings, bound]) if bound else findings


def explained_findings(
    trace: Trace, sidecars: Sidecars = NO_SIDECARS
) -> tuple[Findings, dict[tuple[str, int], dict[str, int]]]:
    """The findings of a host, without their fixes, and the part of each gap that they explain (see
    `Ledger.explained_by`)."""
    facts = Facts(trace, sidecars)
    found = _findings_of(facts)
    mistakes = mistakes_report(trace, found)
    # Fixes hold times of all runs, and only the replay needs them.
    return Findings([replace(finding, fix=None) for finding in found], mistakes), facts.ledger.explained_by()
