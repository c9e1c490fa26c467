"""Reports reduced to what the verdict reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_xla_insights.report.verdict import verdict

MS = 10**9
NO_REPLAY = dict.fromkeys(("step_ps", "step_if_fixed_ps", "step_without_limit_ps"))


def severity_and_text(report: Mapping[str, Any]) -> tuple[str, str]:
    """The severity and the text of the report's verdict, with plain spaces."""
    result = verdict(report)
    return result["severity"], result["text"].replace("\u202f", " ")


def finding(kind: str, brief: str, gain: float | None, cost: int = 30) -> dict[str, Any]:
    """A warning without the step times of a replay; `cost` in ps."""
    row = {"id": "x", "kind": kind, "brief": brief, "gain": gain, "cost_ps": cost, "severity": "warning"}
    return row | {"step_ps": None, "step_if_fixed_ps": None}


def report_with(*findings: dict[str, Any], **mistakes: int) -> dict[str, Any]:
    """The report of a device that is half busy, in which the host waits in the idle time. `mistakes`: values of the
    report's `mistakes`, in ps."""
    return {
        "devices": [{"span_ps": 200, "busy_ps": 100, "modules": 9, "ops": 99}],
        "diagnostics": [],
        "executions": [{"join": "exact"}],
        "steps": [],
        "gaps": {"by_class_ps": {"wait": 90}, "by_kind_ps": {"starved": 90, "queued": 0, "unknown": 0}},
        "findings": [*findings],
        "mistakes": NO_REPLAY | mistakes,
        "environment": {"framework": "torch_xla"},
        "outside_span": None,
        "step_idle": {"work_ps": None, "step_ps": None},
    }
