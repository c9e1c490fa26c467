"""The report of a session while some of its hosts are still being read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.units import count, share

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Finding, Verdict
    from tb_xla_insights.schema.report import Report

_FINDINGS_OF_ALL_HOSTS = ("exposed_collectives", "device_bound", "below_roofline")
"""Findings that need all hosts: apparent work may be waiting for a host that has not been read yet."""
_MAX_NAMED_MISTAKES = 2


def partial_report(report: Report) -> Report:
    """The report of the hosts read so far, without findings that need all hosts, and with a verdict without a gain."""
    findings = [finding for finding in report["findings"] if finding["id"] not in _FINDINGS_OF_ALL_HOSTS]
    verdict: Verdict = {"text": _verdict_text(report, findings), "severity": "info"}
    return {**report, "findings": findings, "verdict": verdict}


def _verdict_text(report: Report, findings: list[Finding]) -> str:
    """`So far the 128 devices of 32 hosts are 97.4 % busy; found: an early sync, a recompilation and 2 more.`"""
    devices, hosts = report["devices"], len(report["session"]["hosts"])
    span = sum(device["span_ps"] for device in devices)
    busy = sum(device["busy_ps"] for device in devices)
    hosts_text = "1 host" if hosts == 1 else f"{count(hosts)} hosts"
    if not span:
        head = f"So far no device work of {hosts_text} is known"
    elif len(devices) == 1:
        head = f"So far the device of 1 host is {share(busy / span)} busy"
    else:
        head = f"So far the {count(len(devices))} devices of {hosts_text} are {share(busy / span)} busy"
    mistakes = [finding["brief"] for finding in findings if finding["kind"] == "mistake"]
    more = len(mistakes) - _MAX_NAMED_MISTAKES
    names = ", ".join(mistakes[:_MAX_NAMED_MISTAKES]) + (f" and {more} more" if more > 0 else "")
    return f"{head}; found: {names}." if names else f"{head}."
