"""Resolves the host choice of a link, words and numbers, to indices of hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.report.host_ranks import rank_hosts

DEFAULT_CHOICE = ("slowest", "median")
"""The choice for sessions of many hosts when the link has none. Words apply to every session, indices do not."""

_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def chosen_hosts(items: Sequence[str], report: Mapping[str, Any]) -> list[int]:
    """The chosen hosts as indices into the report's `session.hosts`, ascending. An item is `slowest`, `median`, `all`,
    an index (`31`) or a range (`0-15`). Raises InputError for other items."""
    count = len(report["session"]["hosts"])
    indices: set[int] = set()
    for item in items:
        match = _RANGE.fullmatch(item)
        if item == "all":
            indices |= set(range(count))
        elif item in DEFAULT_CHOICE:
            ranks: Mapping[str, Any] = rank_hosts(report)
            indices.add(ranks[item])
        elif match and int(match[1]) <= (last := int(match[2] or match[1])) < count:
            indices |= set(range(int(match[1]), last + 1))
        else:
            raise InputError(
                f"hosts: {item[:40]} is none of the {count} hosts; give indices from 0, ranges, all, slowest or median"
            )
    return sorted(indices)
