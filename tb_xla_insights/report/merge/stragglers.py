"""The results that need all hosts: the report's `hosts`, the finding about stragglers, and waits for other engines
without the time of waiting for stragglers. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.delays.input_pipeline import input_verdict
from tb_xla_insights.analysis.findings.finding import NO_FAULT, Finding, Findings
from tb_xla_insights.analysis.findings.worth import (
    RECOMPILATIONS,
    has_nothing_to_fix,
    severity_of_finding,
    sort_findings,
)
from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_rows import host_rows
from tb_xla_insights.pod.hosts_verdict import verdict_text
from tb_xla_insights.pod.straggler import exposed_without_waiting, straggler_finding
from tb_xla_insights.text.english import Sentence
from tb_xla_insights.text.units import share

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import InputPipeline
    from tb_xla_insights.schema.findings import Mistakes
    from tb_xla_insights.schema.report import HostReport, HostsReport
    from tb_xla_insights.schema.session import Diagnostic

_WAITS = "device_waits"

_COMPILING = ("compile", "dynamo")
"""The causes of lateness that RECOMPILATIONS describe."""

_FINDINGS_BY_CAUSE = {
    "input": ("input_bound",),
    "python": ("host_code", "host_pause"),
    "compile": RECOMPILATIONS,
    "dynamo": RECOMPILATIONS,
    "tracing": ("tracing_bound",),
    "sync_prepare": ("dispatch_overhead",),
    "dispatch": ("dispatch_overhead",),
    "to_device": ("transfer_bound",),
}
"""Findings of one host that describe why it is late, by the cause of its lateness."""


def with_host_comparison(
    document: HostReport, found: Findings, comparison: HostComparison | None
) -> tuple[HostsReport, Findings]:
    """Adds findings and `hosts` to a report, and accounts for stragglers (of one host: late cores) in its findings and
    mistakes. `comparison` is None without any host. Returns the findings also as objects."""
    if comparison is None:
        return {**document, **found.as_json(), "hosts": []}, found
    findings, mistakes, straggler = [*found.found], found.mistakes, straggler_finding(comparison)
    rows = exposed_without_waiting(comparison)
    exposed, remaining = (sum(row[name] for row in rows) for name in ("exposed_ps", "left_ps"))
    is_waiting_known = remaining < exposed
    if is_waiting_known:
        findings, mistakes = _without_waiting(document, findings, mistakes, remaining, exposed)
    diagnostics, pipeline = document["diagnostics"], document["input_pipeline"]
    if comparison.state == "clocks_apart" or _lacks_hosts(document, comparison):
        subject = (
            "the rest is waiting for hosts that are not compared"
            if is_waiting_known
            else "that is waiting for others"
        )
        findings = [
            _first_continued(finding, f"; how much of {subject} is not known")
            if finding.id == _WAITS and finding.evidence["collectives_ps"]
            else finding
            for finding in findings
        ]
    if straggler:
        findings, straggler, mistakes = _without_straggler_causes(findings, straggler, mistakes)
        before = mistakes
        straggler, mistakes = _add_to_mistakes(mistakes, straggler, comparison.table.mean_step_ps)
        mistakes = _step_without_limit(findings, before, mistakes)
        findings = [*findings, straggler]
        pipeline = _with_late_hosts(pipeline, straggler, comparison)
    if comparison.state == "compared":
        findings = [finding for finding in findings if _is_relevant(document, finding)]
    if diagnostic := _not_compared_diagnostic(comparison):
        diagnostics = [*diagnostics, diagnostic]
    faults = [finding for finding in findings if finding.id not in NO_FAULT]
    ordered = Findings(sort_findings(findings if has_nothing_to_fix(faults) else faults), mistakes)
    return {
        **document,
        "diagnostics": diagnostics,
        "input_pipeline": pipeline,
        **ordered.as_json(),
        "hosts": host_rows(comparison),
    }, ordered


def _without_straggler_causes(
    findings: Sequence[Finding], straggler: Finding, mistakes: Mistakes
) -> tuple[list[Finding], Finding, Mistakes]:
    """Removes the findings that only late hosts have, and that repeat why they are late or report only that their
    devices are idle. A removed finding about recompilations contributes its first sentence (what is compiled) to the
    straggler finding, and its advice if no host is late for another reason."""
    ids = {id_ for cause in straggler.evidence["causes"] for id_ in _FINDINGS_BY_CAUSE.get(cause, ())}
    removed_findings = [
        finding
        for finding in findings
        if _is_straggler_cause(finding.evidence, straggler.evidence)
        and (finding.id in ids or _only_reports_idle_time(finding))
    ]
    recompilation = next((finding for finding in removed_findings if finding.id in RECOMPILATIONS), None)
    if recompilation:
        reason = recompilation.sentences[0].clause
        if all(cause in _COMPILING for cause in straggler.evidence["causes"]):
            straggler = replace(_continued(straggler, f": {reason}"), advice=recompilation.advice)
        else:
            on_host = Sentence(f"on {recompilation.evidence['host']}, {reason}")
            straggler = replace(straggler, sentences=(*straggler.sentences, on_host))
    removed_mistakes = sum(
        finding.kind == "mistake" and (finding.gain or 0.0) >= INFO_SHARE for finding in removed_findings
    )
    evidence = straggler.evidence | {"repeated_findings": [finding.id for finding in removed_findings]}
    remaining_findings = [finding for finding in findings if finding not in removed_findings]
    remaining_mistakes: Mistakes = {**mistakes, "count": mistakes["count"] - removed_mistakes}
    return remaining_findings, replace(straggler, evidence=evidence), remaining_mistakes


def _is_straggler_cause(evidence: Mapping[str, Any], straggler_evidence: Mapping[str, Any]) -> bool:
    """Whether only late hosts have a finding, by its evidence and that of the straggler finding. Such a finding names
    the cause of their lateness, and is no further mistake. False in a session of one host."""
    late_hosts, hosts = straggler_evidence["hosts"], evidence.get("host_names") or ()
    return 0 < len(hosts) <= len(late_hosts) and set(hosts) <= set(late_hosts)


def _only_reports_idle_time(finding: Finding) -> bool:
    """Whether a finding is a limit without a relevant gain: it reports only that the devices of a late host are
    idle."""
    return finding.kind == "limit" and (finding.gain or 0.0) < INFO_SHARE


def _is_relevant(document: HostReport, finding: Finding) -> bool:
    """Whether a limit is relevant to the session as a whole, by its gain or by the time that it explains; always true
    for other findings."""
    return finding.kind != "limit" or _worth(document, finding) >= INFO_SHARE


def _worth(document: HostReport, finding: Finding) -> float:
    """The gain of a finding, or the share of the devices' spans that it explains if that is larger."""
    span = sum(device["span_ps"] for device in document["devices"])
    return max(finding.gain or 0.0, finding.cost_ps / span if span else 0.0)


def _not_compared_diagnostic(comparison: HostComparison) -> Diagnostic | None:
    """The diagnostic about hosts whose arrivals at shared collectives are unknown."""
    text = verdict_text(comparison) if comparison.state == "clocks_apart" else comparison.note
    return {"id": "hosts_not_compared", "severity": "info", "message": text} if text else None


def _lacks_hosts(document: HostReport, comparison: HostComparison) -> bool:
    """Whether hosts of the session are not compared with the others: the comparison cannot show waiting for them."""
    are_missing = any(row["id"] in ("skipped_host", "missing_host") for row in document["diagnostics"])
    compared_with_others = comparison.state == "compared" and not comparison.arrivals.clocks.is_known.all()
    return are_missing or compared_with_others


def _continued(finding: Finding, text: str) -> Finding:
    """The finding with some text before the full stop of its last sentence."""
    *others, last = finding.sentences
    return replace(finding, sentences=(*others, last.continued(text)))


def _first_continued(finding: Finding, text: str) -> Finding:
    """The finding with some text before the full stop of its first sentence."""
    first, *others = finding.sentences
    return replace(finding, sentences=(first.continued(text), *others))


def _with_late_hosts(
    pipeline: InputPipeline, straggler: Finding, comparison: HostComparison
) -> InputPipeline:
    """The report's `input_pipeline`, with the hosts that loading makes late: the other hosts' devices appear busy while
    they wait. Unchanged if loading makes no host late."""
    causes = straggler.evidence["causes"]
    if "input" not in causes:
        return pipeline
    late_hosts = zip(straggler.evidence["hosts"], causes, strict=False)
    hosts = [host for host, cause in late_hosts if cause == "input"]
    if comparison.late_hosts.kind == "changing":
        waits = comparison.arrivals.others_wait_ps
        indices = np.flatnonzero(waits > waits.mean() / 2).tolist()
        hosts = [comparison.hosts[index].name for index in indices]
    verdict = input_verdict(max(pipeline["share"], straggler.gain or 0.0), True)
    return {**pipeline, "verdict": verdict, "late_hosts": hosts}


def _without_waiting(
    document: HostReport, findings: Sequence[Finding], mistakes: Mistakes, remaining_ps: int, exposed_ps: int
) -> tuple[list[Finding], Mistakes]:
    """Reduces the finding about waits for other engines by the time in collectives that is waiting for late hosts: cost
    and gains in proportion, also in `mistakes` if this is the largest limit. Removes the finding if the rest is
    irrelevant."""
    waits = next((finding for finding in findings if finding.id == _WAITS), None)
    if waits is None:
        return [*findings], mistakes
    in_collectives = Fraction(waits.evidence["collectives_ps"], waits.evidence["wait_ps"])
    part_left = 1 - in_collectives * Fraction(exposed_ps - remaining_ps, exposed_ps)

    def scale(time_ps: int) -> int:
        return round(time_ps * part_left)

    step = mistakes["step_ps"]
    fixed, fixed_at_worst = (
        None if if_fixed is None or step is None else step - scale(step - if_fixed)
        for if_fixed in (waits.step_if_fixed_ps, waits.step_if_fixed_at_worst_ps)
    )
    gain, gain_at_worst = (
        None if whole_gain is None else whole_gain * float(part_left)
        for whole_gain in (waits.gain, waits.gain_at_worst)
    )
    waiting = share(float(1 - part_left))
    reduced = replace(
        _first_continued(waits, f"; {waiting} of that is waiting for others"),
        cost_ps=scale(waits.cost_ps),
        gain=gain,
        gain_at_worst=gain_at_worst,
        step_if_fixed_ps=fixed,
        step_if_fixed_at_worst_ps=fixed_at_worst,
    )
    reduced = replace(reduced, severity=severity_of_finding(reduced, gain or 0.0))
    without_limit, without_mistakes = mistakes["step_without_limit_ps"], mistakes["step_if_fixed_ps"]
    largest_limit = next((finding for finding in findings if finding.kind == "limit"), None)
    if waits is largest_limit and without_limit is not None and without_mistakes is not None:
        step_without_limit = without_mistakes - scale(without_mistakes - without_limit)
        mistakes = {**mistakes, "step_without_limit_ps": step_without_limit}
    other_findings = [finding for finding in findings if finding is not waits]
    return [*other_findings, *([reduced] if _worth(document, reduced) >= INFO_SHARE else [])], mistakes


def _add_to_mistakes(
    mistakes: Mistakes, straggler: Finding, mean_step_ps: int | None
) -> tuple[Finding, Mistakes]:
    """Adds the straggler finding to the mistakes, and relates it to the mean step of all findings, which is no shorter
    than the devices' work in it. `mean_step_ps`: the mean step to which the finding's times refer.

    The replay of the mistakes does not let hosts arrive earlier, and another mistake may be the cause of lateness: the
    gain of both together is the larger of the two. Hosts that were late once are not late in the usual step, of which
    recurring mistakes then cost the same share as before.
    """
    step = mistakes["step_ps"] or mean_step_ps
    if step is None or not mean_step_ps or straggler.step_if_fixed_ps is None:
        return straggler, mistakes
    without_straggler, on_time_once = (
        round(step * part_ps / mean_step_ps)
        for part_ps in (straggler.step_if_fixed_ps, straggler.evidence["usual_step_ps"])
    )
    straggler = replace(
        straggler,
        step_if_fixed_ps=without_straggler,
        step_if_fixed_at_worst_ps=without_straggler,
        evidence=straggler.evidence | {"usual_step_ps": on_time_once},
    )
    if straggler.recurs == "once":
        on_time_once = without_straggler
    usual, fixed = mistakes["usual_step_ps"] or step, mistakes["step_if_fixed_ps"] or step
    if on_time_once < usual:
        usual, fixed = on_time_once, round(on_time_once * fixed / usual)
    fixed = min(fixed, without_straggler)
    without_limit = mistakes["step_without_limit_ps"]
    return straggler, {
        **mistakes,
        "count": mistakes["count"] + ((straggler.gain or 0.0) >= INFO_SHARE),
        "step_ps": step,
        "usual_step_ps": usual,
        "step_if_fixed_ps": fixed,
        "step_without_limit_ps": fixed if without_limit is None else min(without_limit, fixed),
        "gain": (step - fixed) / step,
    }


def _step_without_limit(findings: Sequence[Finding], before: Mistakes, mistakes: Mistakes) -> Mistakes:
    """The mistakes with the straggler, where the step without the largest limit is that of hosts that are on time, if
    the limit is the waits for other engines, whose waiting for others is left out already. `before`: the mistakes
    without the straggler."""
    limit = next((finding for finding in findings if finding.kind == "limit"), None)
    usual_ps, remaining_ps = before["usual_step_ps"], mistakes["step_if_fixed_ps"]
    if limit is None or limit.id != _WAITS or limit.gain is None or not usual_ps or not remaining_ps:
        return mistakes
    return {**mistakes, "step_without_limit_ps": max(0, remaining_ps - round(limit.gain * usual_ps))}
