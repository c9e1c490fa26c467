"""Merges the tables of many hosts: rows with equal keys become one, whatever the order in which hosts are added."""

from __future__ import annotations

import heapq
from collections import Counter
from fractions import Fraction
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, cast

from tb_xla_insights.analysis.idle.gaps import MAX_LISTED_GAPS
from tb_xla_insights.catalog.classes import CLASSES, ClassName
from tb_xla_insights.columns.merge import MergedTable
from tb_xla_insights.schema.gaps import GapPattern, GapsByKind

if TYPE_CHECKING:
    from tb_xla_insights.schema import gaps
    from tb_xla_insights.schema.common import ByClass

Row = dict[str, Any]
Rows = list[Row]
HostKey = tuple[Any, ...]
"""The sort key of a host."""


def in_class_order(by_class: Counter[ClassName]) -> ByClass:
    """Times by class in the order of CLASSES, without classes that have no time."""
    return {name: by_class[name] for name in CLASSES if by_class[name]}


class MergedGaps:
    """Merges the report's `gaps`: sums, and the longest gaps of all hosts. Holds no more gaps than the report lists."""

    def __init__(self, all_gaps: bool) -> None:
        self._max_items = None if all_gaps else MAX_LISTED_GAPS
        self._count = self._total_ps = self._listed_ps = 0
        self._by_class: Counter[ClassName] = Counter()
        self._by_kind = MergedTable(GapsByKind)
        self._items: list[tuple[tuple[int, HostKey, int], int, gaps.Gap]] = []
        self._patterns = MergedTable(GapPattern)
        self._in_steps_per_core: Counter[tuple[str | None, str | None, bool]] = Counter()

    def add(self, host: HostKey, number: int, document: gaps.Gaps, cores: int) -> None:
        """Adds the gaps of a host; `number` is the host's number in `items`, `cores` the number of its cores with
        work."""
        self._count += document["count"]
        self._total_ps += document["total_ps"]
        self._listed_ps += document["listed_ps"]
        self._by_class.update(document["by_class_ps"])
        self._by_kind.add(host, [document["by_kind_ps"]])
        items = document["items"]
        if self._max_items is not None and len(self._items) >= self._max_items:
            shortest_ps = -self._items[-1][0][0]  # shorter gaps do not enter the list
            items = [*takewhile(lambda row: row["duration_ps"] >= shortest_ps, items)]
        new = [((-row["duration_ps"], host, index), number, row) for index, row in enumerate(items)]
        self._items = list(islice(heapq.merge(self._items, new), self._max_items))
        self._patterns.add(host, document["patterns"])
        for row in document["patterns"]:
            self._in_steps_per_core[_pattern(row)] += Fraction(row["in_steps_ps"], max(1, cores))  # type: ignore[assignment]

    @property
    def items(self) -> list[tuple[int, gaps.Gap]]:
        """The longest gaps, each with its host's number."""
        return [(number, row) for _, number, row in self._items]

    def document(self, items: list[gaps.Gap], steps: int) -> gaps.Gaps:
        """The report's key. `items` are the gaps as the report lists them, `steps` is the number of steps of hosts
        whose devices recorded work."""
        return {
            "count": self._count,
            "total_ps": self._total_ps,
            "listed_ps": self._listed_ps,
            "by_class_ps": in_class_order(self._by_class),
            "by_kind_ps": cast(GapsByKind, self._by_kind.row()),
            "items": items,
            "patterns": [
                {**row, "per_step_ps": self._in_steps_per_core[_pattern(row)] // steps if steps else None}
                for row in self._patterns.rows(order_by="total_ps")
            ],
        }


def _pattern(row: GapPattern) -> tuple[str | None, str | None, bool]:
    return row["before"], row["after"], row["inside_run"]
