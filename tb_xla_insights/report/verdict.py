"""The verdict: a headline for somebody who is no profiler expert, and details. (docs/definitions.md, "Verdict")"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.thresholds import SEVERITIES
from tb_xla_insights.report.headline import headline
from tb_xla_insights.report.verdict_details import details
from tb_xla_insights.report.verdict_findings import NamedFindings, device_time, name_findings

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Verdict, VerdictSeverity


def verdict(report: Mapping[str, Any], short_waits: Mapping[str, str]) -> Verdict:
    """The report's `verdict`, from the fields of its findings in their order. `short_waits`: their `waits_for` without
    details, by id."""
    named = name_findings(report, short_waits)
    head = headline(report, named)
    return verdict_of(head, details(report, named, head), _severity(report, named), named)


def verdict_of(headline: str, details: str, severity: VerdictSeverity, named: NamedFindings) -> Verdict:
    ids = {
        role: finding["id"] if finding else None
        for role, finding in (("cause", named.cause), ("fix", named.fix), ("then", named.then))
    }
    return {
        "text": f"{headline} {details}".rstrip(),
        "headline": headline,
        "details": details,
        "severity": severity,
        "cause": ids["cause"],
        "fix": ids["fix"],
        "then": ids["then"],
    }


def _severity(report: Mapping[str, Any], named: NamedFindings) -> VerdictSeverity:
    """That of the worst finding in the sentences; without one, `good` if the devices are the bottleneck, `warning` if
    they wait for something unknown."""
    if severities := [finding["severity"] for finding in named.with_gain]:
        return max(severities, key=SEVERITIES.index)
    if named.is_device_bound:
        return "good"
    return "info" if device_time(report).is_mostly_work else "warning"
