"""The section of each host in the report of many hosts: the rows of its own report that remain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tb_xla_insights.analysis.findings import Finding, Findings
from tb_xla_insights.columns.shift import shifted
from tb_xla_insights.schema.findings import EvidenceInstants

HOST_KEYS = (
    "session", "environment", "devices", "steps", "step_idle", "early_executions", "compiles",
    "transfers", "input_pipeline", "engines", "async_ops", "iterations", "outside_span", "throughput",
)  # fmt: skip
"""Keys of a host's document whose rows remain rows of that host, or are small."""


@dataclass(frozen=True)
class HostSection:
    """The rows of one host, on the session's time base: the keys HOST_KEYS of its document, and `main_program`, the
    program with most device time (None without programs); and its `findings`. `number` is the host's index in the
    session and identifies it, as several hosts may have the same name."""

    number: int
    host: str
    rows: dict[str, Any]
    findings: Findings

    @property
    def steps(self) -> int:
        return len(self.rows["steps"])

    @cached_property
    def steps_ps(self) -> int:
        return int(self.rows["steps"].durations_ps().sum())

    @property
    def span_ps(self) -> int:
        """The sum of the spans of its devices."""
        return sum(device["span_ps"] for device in self.rows["devices"])


def shifted_finding(finding: Finding, by_ps: int) -> Finding:
    """A finding with `by_ps` added to the instants of its windows and evidence."""
    if not by_ps:
        return finding
    windows = [
        replace(window, start_ps=window.start_ps + by_ps, end_ps=window.end_ps + by_ps)
        for window in finding.windows
    ]
    return replace(finding, windows=windows, evidence=shifted(EvidenceInstants, finding.evidence, by_ps))
