"""What of a report may be said while hosts of the session are still to come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.units import count, share

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Finding, Verdict
    from tb_xla_insights.schema.report import Report

_OF_ALL = ("exposed_collectives", "device_bound", "below_roofline")
"""Findings that only all hosts can tell: what looks like work may be waiting for one that is still to come."""
_MOST_NAMED = 2


def partial_report(report: Report) -> Report:
    """The report of the hosts read so far, without such findings, and with a verdict that tells nothing to gain."""
    findings = [it for it in report["findings"] if it["id"] not in _OF_ALL]
    verdict: Verdict = {"text": _text(report, findings), "severity": "info"}
    return {**report, "findings": findings, "verdict": verdict}


def _text(report: Report, findings: list[Finding]) -> str:
    """`So far the 128 devices of 32 hosts are 97.4 % busy; seen: an early sync and 2 more.`"""
    devices, hosts = report["devices"], len(report["session"]["hosts"])
    span = sum(device["span_ps"] for device in devices)
    busy = sum(device["busy_ps"] for device in devices)
    of = "1 host" if hosts == 1 else f"{count(hosts)} hosts"
    whose = (
        "the device of 1 host is" if len(devices) == 1 else f"the {count(len(devices))} devices of {of} are"
    )
    head = f"So far {whose} {share(busy / span)} busy" if span else f"So far no device work is known, of {of}"
    mistakes = [it["brief"] for it in findings if it["kind"] == "mistake"]
    more = len(mistakes) - _MOST_NAMED
    seen = ", ".join(mistakes[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{head}; seen: {seen}." if seen else f"{head}."
