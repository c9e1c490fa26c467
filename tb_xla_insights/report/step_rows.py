"""The report's `steps` in columns: of many hosts they are most of the document, and rows of dicts take six times the
memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Int64

if TYPE_CHECKING:
    from tb_xla_insights.schema.steps import Step

_AT_ONCE = 512
"""Rows that are made at a time while somebody goes through all."""


@dataclass(frozen=True)
class _Host:
    """The steps of one host: `columns` by the key of a row, whole numbers as arrays; instead of `host_ps` its times per
    step and class (of `classes`). `first` and `shift_ps` are added to each row's `index` and `start_ps`."""

    count: int
    columns: dict[str, Int64 | list[Any]]
    classes: list[str]
    host_ps: Int64
    first: int = 0
    shift_ps: int = 0

    def rows(self, start: int, end: int) -> list[Step]:
        values = [_values(column[start:end]) for column in self.columns.values()]
        made: list[Any] = [dict(zip(self.columns, row, strict=True)) for row in zip(*values, strict=True)]
        for row, times in zip(made, self.host_ps[start:end].tolist(), strict=True):
            row["index"] += self.first
            row["start_ps"] += self.shift_ps
            row["host_ps"] = {name: time for name, time in zip(self.classes, times, strict=True) if time}
        return made


class StepRows(Sequence["Step"]):
    """Rows of the report's `steps`, of hosts one after the other; a row is made when it is asked for."""

    def __init__(self, hosts: Sequence[_Host]) -> None:
        self._hosts = [host for host in hosts if host.count]
        self._ends = [*accumulate(host.count for host in self._hosts)]

    @classmethod
    def from_rows(cls, rows: Sequence[Any]) -> StepRows:
        """The same rows in columns. Their keys are those of the first one."""
        if isinstance(rows, StepRows):
            return rows
        if not rows:
            return cls([])
        columns = {key: _column([row[key] for row in rows]) for key in rows[0] if key != "host_ps"}
        # The key keeps its place; what is under it is told by class.
        columns = {key: columns.get(key, [None] * len(rows)) for key in rows[0]}
        classes: list[str] = [name for name in CLASSES if any(name in row["host_ps"] for row in rows)]
        host_ps = np.array([[row["host_ps"].get(name, 0) for name in classes] for row in rows], np.int64)
        return cls([_Host(len(rows), columns, classes, host_ps)])

    @classmethod
    def joined(cls, parts: Sequence[StepRows]) -> StepRows:
        """All of these, without copies of their columns."""
        return cls([host for part in parts for host in part._hosts])

    def shifted(self, steps: int = 0, by_ps: int = 0) -> StepRows:
        """The same rows, counted from so many steps on, and later by so much."""
        return StepRows(
            [replace(host, first=host.first + steps, shift_ps=host.shift_ps + by_ps) for host in self._hosts]
        )

    def durations_ps(self) -> Int64:
        """Of all steps, in their order."""
        found = [np.array(host.columns["duration_ps"], np.int64) for host in self._hosts]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def chunks(self) -> Iterator[list[Step]]:
        """All rows, some at a time."""
        for host in self._hosts:
            for start in range(0, host.count, _AT_ONCE):
                yield host.rows(start, min(start + _AT_ONCE, host.count))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Step]:
        return chain.from_iterable(self.chunks())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[it] for it in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        which = bisect_right(self._ends, place)
        place -= self._ends[which] - self._hosts[which].count
        return self._hosts[which].rows(place, place + 1)[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == its for one, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as a list's


def _column(values: list[Any]) -> Int64 | list[Any]:
    whole = all(type(value) is int and -(1 << 63) <= value < 1 << 63 for value in values)
    return np.array(values, np.int64) if whole else values


def _values(column: Int64 | list[Any]) -> list[Any]:
    found: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column
    return found
