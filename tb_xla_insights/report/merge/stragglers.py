"""What only all hosts together tell: the report's `hosts`, the finding about who holds up the others, and what exposed
collectives are without waiting for them. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.findings.base import Finding, Window
from tb_xla_insights.analysis.findings.worth import (
    NO_FAULT,
    finding_kind,
    has_nothing_to_fix,
    severity_of_finding,
    sort_findings,
)
from tb_xla_insights.analysis.host.input_pipeline import input_verdict
from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_rows import host_rows
from tb_xla_insights.pod.straggler import exposed_without_waiting, straggler_finding
from tb_xla_insights.pod.verdict import verdict_text
from tb_xla_insights.report.straggler_text import is_straggler_cause
from tb_xla_insights.units import share

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import InputPipeline
    from tb_xla_insights.schema.findings import Finding as FindingRow
    from tb_xla_insights.schema.findings import Mistakes
    from tb_xla_insights.schema.report import HostReport, HostsReport
    from tb_xla_insights.schema.session import Diagnostic

_EXPOSED = "exposed_collectives"

_EXACT = ("recompilation", "dynamo_recompilation")
_SAID_BY = {
    "input": ("input_bound",),
    "python": ("tracing_bound",),
    "compile": _EXACT,
    "dynamo": _EXACT,
    "tracing": ("tracing_bound",),
    "sync_prepare": ("dispatch_overhead",),
    "dispatch": ("dispatch_overhead",),
    "to_device": ("transfer_bound",),
}
"""Findings of one host that say what makes it late, by the cause."""


def with_host_comparison(document: HostReport, compared: HostComparison | None) -> HostsReport:
    """A report with its `hosts`, and `findings` and `mistakes` that know of late hosts (of one host: late cores);
    `compared` is None without any host."""
    if compared is None:
        return {**document, "hosts": []}
    found = [finding_from_row(row) for row in document["findings"]]
    mistakes, late = document["mistakes"], straggler_finding(compared)
    rows = exposed_without_waiting(compared)
    exposed, left = (sum(row[name] for row in rows) for name in ("exposed_ps", "left_ps"))
    if exposed and left < exposed:
        found, mistakes = _without_waiting(document, found, mistakes, left, exposed)
    diagnostics, pipeline = document["diagnostics"], document["input_pipeline"]
    if compared.state == "clocks_apart":
        found = [replace(it, detail=_unknown(it.detail)) if it.id == _EXPOSED else it for it in found]
    if late:
        found, late, mistakes = _without_its_cause(found, late, mistakes)
        late, mistakes = _with_late(mistakes, late, compared.table.mean_step_ps)
        found = [*found, late]
        pipeline = _input(pipeline, late, compared)
    if compared.state == "compared":
        found = [it for it in found if _counts(document, it)]
    if apart := _not_compared(compared):
        diagnostics = [*diagnostics, apart]
    told = sort_findings([finding for finding in found if finding.id not in NO_FAULT])
    told += [finding for finding in found if finding.id in NO_FAULT and has_nothing_to_fix(told)]
    findings = [it.as_json(finding_kind(it), mistakes["step_ps"]) for it in told]
    return {
        **document,
        "diagnostics": diagnostics,
        "input_pipeline": pipeline,
        "findings": findings,
        "mistakes": mistakes,
        "hosts": host_rows(compared),
    }


def _without_its_cause(
    found: Sequence[Finding], late: Finding, mistakes: Mistakes
) -> tuple[list[Finding], Finding, Mistakes]:
    """The findings without those that only say again why hosts are late, as these hosts alone have them; the finding
    about late hosts, with what the others know better: what is compiled there, and why."""
    ids = {id_ for cause in late.evidence["causes"] for id_ in _SAID_BY.get(cause, ())}
    same = [
        it for it in found if is_straggler_cause(it.evidence, late.evidence) and (it.id in ids or _idles(it))
    ]
    exact = next((it for it in same if it.id in _EXACT), None)
    if exact and late.evidence["cause"] == late.evidence["causes"][0]:
        own = exact.detail.split(": ", 1)[-1].split(". ", 1)[0].removesuffix(".")
        late = replace(late, detail=f"{late.detail.removesuffix('.')}: {own}.", advice=exact.advice)
    telling = sum(finding_kind(it) == "mistake" and (it.gain or 0.0) >= INFO_SHARE for it in same)
    late = replace(late, evidence=late.evidence | {"said_by": [it.id for it in same]})
    return [it for it in found if it not in same], late, {**mistakes, "count": mistakes["count"] - telling}


def _idles(finding: Finding) -> bool:
    """Whether it says no more than that devices are idle, as those of a late host are."""
    return finding_kind(finding) == "limit" and (finding.gain or 0.0) < INFO_SHARE


def _counts(document: HostReport, finding: Finding) -> bool:
    """Whether a limit is one of all hosts, where these go at one pace."""
    span = sum(device["span_ps"] for device in document["devices"])
    worth = max(finding.gain or 0.0, finding.cost_ps / span if span else 0.0)
    return finding_kind(finding) != "limit" or worth >= INFO_SHARE


def _not_compared(compared: HostComparison) -> Diagnostic | None:
    """The diagnostic about hosts of which nobody knows when they came to what all did together."""
    text = verdict_text(compared) if compared.state == "clocks_apart" else compared.note
    return {"id": "hosts_not_compared", "severity": "info", "message": text} if text else None


def _unknown(detail: str) -> str:
    return f"{detail.removesuffix('.')}; how much of that is waiting for others is not known."


def _input(its: InputPipeline, late: Finding, compared: HostComparison) -> InputPipeline:
    """The report's `input_pipeline` where loading makes hosts late: the others' devices look busy while they wait."""
    causes = late.evidence["causes"]
    if "input" not in causes:
        return its
    hosts = [host for host, cause in zip(late.evidence["hosts"], causes, strict=False) if cause == "input"]
    if compared.late_hosts.kind == "changing":
        waits = compared.arrivals.others_wait_ps
        hosts = [compared.hosts[it].name for it in np.flatnonzero(waits > waits.mean() / 2).tolist()]
    verdict = input_verdict(max(its["share"], late.gain or 0.0), True)
    return {**its, "verdict": verdict, "late_hosts": hosts}


def finding_from_row(row: FindingRow) -> Finding:
    """A finding from its row in a report."""
    known = {field.name for field in fields(Finding)}
    windows = [Window(**window) for window in row["windows"]]
    its: dict[str, Any] = {name: it for name, it in row.items() if name in known}
    return Finding(**its | {"windows": windows})


def _without_waiting(
    document: HostReport, found: Sequence[Finding], mistakes: Mistakes, left_ps: int, exposed_ps: int
) -> tuple[list[Finding], Mistakes]:
    """The findings and mistakes where of what is exposed only a part is the collectives' own: the rest goes with late
    hosts, and is theirs. What the fix buys shrinks by as much as its cost."""
    own = next((finding for finding in found if finding.id == _EXPOSED), None)
    if own is None:
        return [*found], mistakes

    def part(whole: int) -> int:
        return round(whole * left_ps / exposed_ps)

    step = mistakes["step_ps"]
    fixed, most = (
        None if its is None or step is None else step - part(step - its)
        for its in (own.step_if_fixed_ps, own.step_if_fixed_most_ps)
    )
    gain, worst = (
        None if its is None else its * left_ps / exposed_ps for its in (own.gain, own.gain_at_worst)
    )
    waits = share(1 - left_ps / exposed_ps)
    detail = f"{own.detail.removesuffix('.')}; {waits} of that is waiting for others."
    less = replace(
        own, cost_ps=part(own.cost_ps), gain=gain, gain_at_worst=worst, step_if_fixed_ps=fixed,
        step_if_fixed_most_ps=most, detail=detail,
    )  # fmt: skip
    less = replace(less, severity=severity_of_finding(less, gain or 0.0))
    span = sum(device["span_ps"] for device in document["devices"])
    worth_telling = max(gain or 0.0, less.cost_ps / span if span else 0.0) >= INFO_SHARE
    without, rest = mistakes["step_without_limit_ps"], mistakes["step_if_fixed_ps"]
    if (
        own is next((it for it in found if finding_kind(it) == "limit"), None)
        and without is not None
        and rest is not None
    ):
        mistakes = {**mistakes, "step_without_limit_ps": rest - part(rest - without)}
    others = [finding for finding in found if finding is not own]
    return [*others, *([less] if worth_telling else [])], mistakes


def _with_late(mistakes: Mistakes, late: Finding, mean_step_ps: int | None) -> tuple[Finding, Mistakes]:
    """The finding about late hosts as a part of the mean step that all findings are told against (which is no shorter
    than what devices work in it), and the mistakes with it among them. No replay has hosts that come earlier, and what
    makes one late may be another mistake: together they gain what the larger of both does."""
    step = mistakes["step_ps"] or mean_step_ps
    if step is None or late.step_if_fixed_ps is None:
        return late, mistakes
    alone = round(step * (1 - (late.gain or 0.0)))
    late = replace(late, step_if_fixed_ps=alone, step_if_fixed_most_ps=alone)
    fixed = min(mistakes["step_if_fixed_ps"] or step, alone)
    without = mistakes["step_without_limit_ps"]
    return late, {
        **mistakes,
        "count": mistakes["count"] + ((late.gain or 0.0) >= INFO_SHARE),
        "step_ps": step,
        "usual_step_ps": mistakes["usual_step_ps"] or step,
        "step_if_fixed_ps": fixed,
        "step_without_limit_ps": fixed if without is None else min(without, fixed),
        "gain": (step - fixed) / step,
    }
