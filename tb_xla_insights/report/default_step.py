"""The step that views show by default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_xla_insights.report.host_ranks import rank_hosts


def default_step(report: Mapping[str, Any]) -> int | None:
    """The step that views show by default, as an index into the report's `steps`: the step of median length, or the
    shorter one of two in the middle. In a session of several hosts it is a step of the median host (`rank_hosts`). None
    without steps."""
    durations = [(step["duration_ps"], index, step["host"]) for index, step in enumerate(report["steps"])]
    if len(report["hosts"]) > 1:
        median = report["hosts"][rank_hosts(report)["median"]]["name"]
        durations = [step for step in durations if step[2] == median] or durations
    durations.sort()
    return durations[(len(durations) - 1) // 2][1] if durations else None
