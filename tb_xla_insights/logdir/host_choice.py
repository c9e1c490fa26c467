"""Which hosts of a session are looked at: words and numbers, as links keep them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.report.host_ranks import rank_hosts

WORDS = ("slowest", "median")
"""What is looked at where nobody chose and there are many hosts; kept as words, as another session has its own."""

_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def chosen(items: Sequence[str], report: Mapping[str, Any]) -> list[int]:
    """The hosts, by their places in the report's `session.hosts`, ascending. `items`: `slowest`, `median`, `all`, a
    place (`31`) or a range (`0-15`). Raises InputError for others."""
    count = len(report["session"]["hosts"])
    found: set[int] = set()
    for item in items:
        match = _RANGE.fullmatch(item)
        if item == "all":
            found |= set(range(count))
        elif item in WORDS:
            found.add(rank_hosts(report)[item])
        elif match and int(match[1]) <= (last := int(match[2] or match[1])) < count:
            found |= set(range(int(match[1]), last + 1))
        else:
            raise InputError(
                f"hosts: {item[:40]} is none of the {count} hosts; give places from 0, ranges, all, slowest or median"
            )
    return sorted(found)
