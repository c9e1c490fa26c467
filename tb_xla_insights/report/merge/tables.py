"""Merges the tables of many hosts: rows with equal keys become one, whatever the order in which hosts are added."""

from __future__ import annotations

import heapq
from fractions import Fraction
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, cast

from tb_xla_insights.analysis.idle.gaps import MAX_LISTED_GAPS
from tb_xla_insights.columns.merge import MergedTable
from tb_xla_insights.schema.gaps import GapPattern, GapSums

if TYPE_CHECKING:
    from tb_xla_insights.schema import gaps

Row = dict[str, Any]
Rows = list[Row]
HostKey = tuple[Any, ...]
"""The sort key of a host."""


class MergedGaps:
    """Merges the report's `gaps`: sums, and the longest gaps of all hosts. Holds no more gaps than the report lists."""

    def __init__(self, all_gaps: bool) -> None:
        self._max_items = None if all_gaps else MAX_LISTED_GAPS
        self._sums = MergedTable(GapSums)
        self._items: list[tuple[tuple[int, HostKey, int], int, gaps.Gap]] = []
        self._patterns: MergedTable[Any] = MergedTable(GapPattern)

    def add(self, host: HostKey, number: int, document: gaps.Gaps, cores: int) -> None:
        """Adds the gaps of a host; `number` is the host's number in `items`, `cores` the number of its cores with
        work."""
        self._sums.add(host, [document])
        items = document["items"]
        if self._max_items is not None and len(self._items) >= self._max_items:
            shortest_ps = -self._items[-1][0][0]  # shorter gaps do not enter the list
            items = [*takewhile(lambda row: row["duration_ps"] >= shortest_ps, items)]
        new = [((-row["duration_ps"], host, index), number, row) for index, row in enumerate(items)]
        self._items = list(islice(heapq.merge(self._items, new), self._max_items))
        # Times per core add up exactly as fractions; `document` divides them by the steps of all hosts.
        self._patterns.add(
            host,
            [
                {**row, "per_step_ps": Fraction(row["in_steps_ps"], max(1, cores))}
                for row in document["patterns"]
            ],
        )

    @property
    def items(self) -> list[tuple[int, gaps.Gap]]:
        """The longest gaps, each with its host's number."""
        return [(number, row) for _, number, row in self._items]

    def document(self, items: list[gaps.Gap], steps: int) -> gaps.Gaps:
        """The report's key. `items` are the gaps as the report lists them, `steps` is the number of steps of hosts
        whose devices recorded work."""
        return {
            **cast(GapSums, self._sums.row()),
            "items": items,
            "patterns": [
                row | {"per_step_ps": row["per_step_ps"] // steps if steps else None}
                for row in self._patterns.rows(order_by="total_ps")
            ],
        }
