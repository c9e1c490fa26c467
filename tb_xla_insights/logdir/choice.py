"""Which hosts of a session are looked at: words and numbers, as links keep them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tb_xla_insights.errors import InputError

WORDS = ("slowest", "median")
"""What is looked at where nobody chose and there are many hosts; kept as words, as another session has its own."""

_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def chosen(items: Sequence[str], report: dict[str, Any]) -> list[int]:
    """The hosts, by their places in the report's `session.hosts`, ascending. `items`: `slowest`, `median`, `all`, a
    place (`31`) or a range (`0-15`). Raises InputError for others."""
    count = len(report["session"]["hosts"])
    found: set[int] = set()
    for item in items:
        match = _RANGE.fullmatch(item)
        if item == "all":
            found |= set(range(count))
        elif item in WORDS:
            found.add(_by_word(report)[item])
        elif match and int(match[1]) <= (last := int(match[2] or match[1])) < count:
            found |= set(range(int(match[1]), last + 1))
        else:
            raise InputError(
                f"hosts: {item[:40]} is none of the {count} hosts; give places from 0, ranges, all, slowest or median"
            )
    return sorted(found)


def _by_word(report: dict[str, Any]) -> dict[str, int]:
    """The host that the others wait for longest (where hosts are not compared, that with the longest median step), and
    the median one as the finding on late hosts names it (else the one in the middle by its steps); of equal ones the
    first."""
    rows = report["hosts"]
    late = max(
        range(len(rows)), key=lambda place: (rows[place]["others_wait_ps"] or 0, _step_ps(rows[place]))
    )
    order = sorted(range(len(rows)), key=lambda place: -_step_ps(rows[place]))
    names = [row["name"] for row in rows]
    told = (it["evidence"]["median_host"] for it in report["findings"] if it["id"] == "straggler")
    median = next((names.index(name) for name in told if name in names), order[len(order) // 2])
    return {"slowest": late, "median": median}


def _step_ps(row: dict[str, Any]) -> int:
    """A host without steps comes after all others."""
    return -1 if row["step_ps"] is None else int(row["step_ps"])
