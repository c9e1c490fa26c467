"""The annotations of several hosts as one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tb_xla_insights.columns.merge import MergedTable
from tb_xla_insights.schema.annotations import Annotation

HostKey = tuple[Any, ...]
"""The sort key of a host."""


class MergedAnnotations:
    """Merges the report's `annotations`: each path of any host once, below its parent. Siblings are in the order of the
    first host that has them."""

    def __init__(self) -> None:
        self._table = MergedTable(Annotation)
        self._first_positions: dict[str, tuple[HostKey, int]] = {}

    def add(self, host: HostKey, rows: Sequence[Annotation]) -> None:
        self._table.add(host, rows)
        for index, row in enumerate(rows):
            path, position = row["path"], (host, index)
            self._first_positions[path] = min(self._first_positions.get(path, position), position)

    def rows(self) -> list[Annotation]:
        return sorted(self._table.rows(order_by="device_ps"), key=lambda row: self._sort_key(row["path"]))

    def _sort_key(self, path: str) -> list[tuple[HostKey, int]]:
        """The positions of a path's ancestors, the outermost first, then its own."""
        parts = path.split("/")
        prefixes = ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
        return [self._first_positions[prefix] for prefix in prefixes if prefix in self._first_positions]


def merged_annotations(hosts: Iterable[Sequence[Annotation]]) -> list[Annotation]:
    """The report's `annotations` of several hosts, from those of each, in their order."""
    merged = MergedAnnotations()
    for number, rows in enumerate(hosts):
        merged.add((number,), rows)
    return merged.rows()
