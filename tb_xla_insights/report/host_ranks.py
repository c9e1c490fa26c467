"""Which hosts of a session to look at first: the one that holds up the others, and one to compare it with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import HostRanks

_MOST_LATE = 8


def rank_hosts(report: Mapping[str, Any]) -> HostRanks:
    """`slowest`: the host that the others wait for longest (where hosts are not compared, that with the longest median
    step); `median`: the median one as the finding on late hosts names it (else the one in the middle by its steps);
    `late`: the hosts that others wait for at all, longest first, 8 at most. All by their places in the report's
    `session.hosts`, of equal ones the first."""
    rows = report["hosts"]
    waits = [row["others_wait_ps"] or 0 for row in rows]
    late = max(range(len(rows)), key=lambda place: (waits[place], _step_ps(rows[place])))
    order = sorted(range(len(rows)), key=lambda place: -_step_ps(rows[place]))
    names = [row["name"] for row in rows]
    told = (it["evidence"]["median_host"] for it in report["findings"] if it["id"] == "straggler")
    median = next((names.index(name) for name in told if name in names), order[len(order) // 2])
    waited_for = sorted((place for place in order if waits[place]), key=lambda place: -waits[place])
    return {"slowest": late, "median": median, "late": waited_for[:_MOST_LATE]}


def _step_ps(row: Mapping[str, Any]) -> int:
    """A host without steps comes after all others."""
    return -1 if row["step_ps"] is None else int(row["step_ps"])
