"""The hosts of a session to look at first: the one that holds up the others, and one to compare it with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import HostRanks

_MAX_LATE_HOSTS = 8


def rank_hosts(report: Mapping[str, Any]) -> HostRanks:
    """Indices into the report's `session.hosts` of the hosts to look at first.

    - `slowest`: the host that others wait for longest; of equal waits, or if they wait for none, that with the longest
      median step, the first if several are equal.
    - `median`: the median host of the finding on stragglers, else the one whose median step is the median of the hosts
      with steps.
    - `late`: the hosts that others wait for, at most _MAX_LATE_HOSTS: the longest wait first, of equal waits the
      longest median step.
    """
    rows = report["hosts"]
    waits = [row["others_wait_ps"] or 0 for row in rows]
    slowest = max(range(len(rows)), key=lambda index: (waits[index], _step_ps(rows[index])))
    order = sorted(range(len(rows)), key=lambda index: -_step_ps(rows[index]))
    with_steps = [index for index in order if rows[index]["step_ps"] is not None] or order
    names = [row["name"] for row in rows]
    median_names = (
        finding["evidence"]["median_host"] for finding in report["findings"] if finding["id"] == "straggler"
    )
    median = next(
        (names.index(name) for name in median_names if name in names), with_steps[len(with_steps) // 2]
    )
    waited_for = sorted((index for index in order if waits[index]), key=lambda index: -waits[index])
    return {"slowest": slowest, "median": median, "late": waited_for[:_MAX_LATE_HOSTS]}


def _step_ps(row: Mapping[str, Any]) -> int:
    """The median step of a host; -1 for one without steps, which comes after all others."""
    return -1 if row["step_ps"] is None else int(row["step_ps"])
