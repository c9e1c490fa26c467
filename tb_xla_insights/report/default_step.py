"""The step that views show by default."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tb_xla_insights.report.host_ranks import rank_hosts


def default_step(report: Mapping[str, Any], hosts: Collection[str] | None = None) -> int | None:
    """The step that views show by default, as an index into the report's `steps`: the step of median length, or the
    shorter one of two in the middle. In a session of several hosts it is a step of the median host (`rank_hosts`); if
    `hosts` (names) lack that host, one of theirs, or of any host if they have no steps. None without steps."""
    steps = list(enumerate(report["steps"]))
    if hosts is not None:
        steps = [(index, step) for index, step in steps if step["host"] in hosts] or steps
    if len(report["hosts"]) > 1:
        host = report["hosts"][rank_hosts(report)["median"]]["name"]
        steps = [(index, step) for index, step in steps if step["host"] == host] or steps
    indices = [index for index, _ in sorted(steps, key=lambda pair: pair[1]["duration_ps"])]
    return indices[(len(indices) - 1) // 2] if indices else None
