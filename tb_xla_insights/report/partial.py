"""The report of a session while some of its hosts are still being read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.report.subject import subject_of
from tb_xla_insights.report.verdict import verdict_of
from tb_xla_insights.report.verdict_findings import NamedFindings, device_time
from tb_xla_insights.text.english import plural
from tb_xla_insights.text.units import rounded_share

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Finding
    from tb_xla_insights.schema.report import Report

_FINDINGS_OF_ALL_HOSTS = ("device_waits", "device_bound", "below_roofline")
"""Findings that need all hosts: apparent work may be waiting for a host that has not been read yet."""
_MAX_NAMED_MISTAKES = 2


def partial_report(report: Report) -> Report:
    """The report of the hosts read so far, without findings that need all hosts, and with a verdict without a gain."""
    findings = [finding for finding in report["findings"] if finding["id"] not in _FINDINGS_OF_ALL_HOSTS]
    verdict = verdict_of(_headline(report), _details(findings), "info", NamedFindings(None, None, (), ()))
    return {**report, "findings": findings, "verdict": verdict}


def _headline(report: Report) -> str:
    """`So far the 128 TPU cores of 32 hosts work 97 % of the time.`"""
    devices, hosts = report["devices"], plural(len(report["session"]["hosts"]), "host")
    time = device_time(report)
    if not time.span_ps:
        return f"So far no device work of {hosts} is known."
    subject = subject_of(devices)
    works = f"{subject.verb('work')} {rounded_share(time.share)} of the time"
    return f"So far {subject.name} of {hosts} {works}."


def _details(findings: list[Finding]) -> str:
    """`Found: an early sync, a recompilation and 2 more.`"""
    names = [finding["brief"] for finding in findings if finding["kind"] == "mistake"]
    more = len(names) - _MAX_NAMED_MISTAKES
    text = ", ".join(names[:_MAX_NAMED_MISTAKES]) + (f" and {more} more" if more > 0 else "")
    return f"Found: {text}." if names else ""
