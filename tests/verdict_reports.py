"""Reports reduced to what the verdict reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_xla_insights.report.verdict import verdict

MS = 10**9
PLAIN = str.maketrans("\u202f", " ")


def sentences(report: Mapping[str, Any], short_wait: str = "") -> tuple[str, str]:
    """The headline and the details, with plain spaces. `short_wait`: of the first finding."""
    result = verdict(report, {row["id"]: short_wait for row in report["findings"][:1]})
    return result["headline"].translate(PLAIN), result["details"].translate(PLAIN)


def finding(id_: str, brief: str, gain: float | None, **fields: Any) -> dict[str, Any]:
    """A mistake, or with `kind="limit"` a limit, for which the devices of `report_with` wait for 30 of 100 ps. By
    default without a replay; with `before_ms`, its fix shortens a step by `gain`, which is certain."""
    row: dict[str, Any] = {
        "id": id_,
        "kind": "mistake",
        "recurs": "every_step",
        "brief": brief,
        "waits_for": f"x of {id_}",
    }
    row |= {"best_if": "", "gain": gain, "gain_at_worst": gain, "cost_ps": 30, "severity": "warning"}
    return row | {"evidence": {}, "step_ps": 20 * MS, "step_if_fixed_ps": None} | fields


def replayed(id_: str, brief: str, gain: float, **fields: Any) -> dict[str, Any]:
    """The same with a replay."""
    return finding(id_, brief, gain, step_if_fixed_ps=20 * MS, **fields)


def device(**fields: Any) -> dict[str, Any]:
    """A device that is half busy."""
    return {
        "kind": "tpu", "span_ps": 200, "busy_ps": 100, "idle_ps": 100, "stall_ps": 0, "modules": 9, "ops": 99,
    } | fields  # fmt: skip


def outside_span(
    share: float, before: dict[str, Any], after: dict[str, Any], **fields: Any
) -> dict[str, Any]:
    """Time outside the devices' span, `before` and `after` it; without long events and profiler."""
    edges = {"before": {"longest": None} | before, "after": {"longest": None} | after}
    return (
        edges
        | {"share": share, "profiler_start_ps": 0, "profiler_stop_ps": 0, "capture_ps": 200 * MS}
        | fields
    )


def report_with(*findings: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The report of a device that is half busy, in which the host waits in the idle time; its two steps last 20 ms, 17
    ms without all mistakes, and 8 ms without the largest limit as well."""
    return {
        "devices": [device()],
        "diagnostics": [],
        "executions": [{"join": "exact"}],
        "steps": [{"host": "a", "duration_ps": 20 * MS}] * 2,
        "gaps": {
            "by_class_ps": {"wait": 90}, "by_kind_ps": {"starved": 90, "queued": 0, "unknown": 0}, "patterns": [],
        },
        "findings": [*findings],
        "mistakes": {
            "step_ps": 20 * MS, "usual_step_ps": 20 * MS, "step_if_fixed_ps": 17 * MS, "step_without_limit_ps": 8 * MS,
        },
        "environment": {"framework": "torch_xla"},
        "outside_span": None,
        "iterations": None,
        "step_idle": {"work_ps": None, "step_ps": None, "idle_ps": None, "by_class_ps": None},
        "compiles": [],
        "session": {"hosts": [{"name": "a"}]},
    } | fields  # fmt: skip
