"""The report's `steps` as columns. With many hosts they make up most of the document, and as dicts would take six times
the memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import CLASSES

if TYPE_CHECKING:
    from tb_xla_insights.schema.steps import Step

_CHUNK_ROWS = 512
"""The number of rows built at a time during iteration."""


@dataclass(frozen=True)
class _HostSteps:
    """The steps of one host: `columns` by the key of a row, integers as arrays. `host_ps` is a separate array of times
    by step and class (of `classes`). `index_offset` and `shift_ps` are added to each row's `index` and `start_ps`."""

    count: int
    columns: dict[str, Int64 | list[Any]]
    classes: list[str]
    host_ps: Int64
    index_offset: int = 0
    shift_ps: int = 0

    def rows(self, start: int, end: int) -> list[Step]:
        values = [_values(column[start:end]) for column in self.columns.values()]
        rows: list[Any] = [dict(zip(self.columns, row, strict=True)) for row in zip(*values, strict=True)]
        for row, times in zip(rows, self.host_ps[start:end].tolist(), strict=True):
            row["index"] += self.index_offset
            row["start_ps"] += self.shift_ps
            row["host_ps"] = {name: time for name, time in zip(self.classes, times, strict=True) if time}
        return rows


class StepRows(Sequence["Step"]):
    """Rows of the report's `steps`, host by host; each access builds the row."""

    def __init__(self, hosts: Sequence[_HostSteps]) -> None:
        self._hosts = [host for host in hosts if host.count]
        self._ends = [*accumulate(host.count for host in self._hosts)]

    @classmethod
    def from_rows(cls, rows: Sequence[Any]) -> StepRows:
        """Converts rows to columns. The keys are those of the first row."""
        if isinstance(rows, StepRows):
            return rows
        if not rows:
            return cls([])
        # The column `host_ps` only keeps the key's position in a row; its values are in the array by class.
        columns = {
            key: [None] * len(rows) if key == "host_ps" else _column([row[key] for row in rows])
            for key in rows[0]
        }
        classes: list[str] = [name for name in CLASSES if any(name in row["host_ps"] for row in rows)]
        host_ps = np.array([[row["host_ps"].get(name, 0) for name in classes] for row in rows], np.int64)
        return cls([_HostSteps(len(rows), columns, classes, host_ps)])

    @classmethod
    def concatenated(cls, tables: Sequence[StepRows]) -> StepRows:
        """Concatenates tables without copying their columns."""
        return cls([host for table in tables for host in table._hosts])

    def shifted(self, steps: int = 0, by_ps: int = 0) -> StepRows:
        """The same rows with `steps` added to their indices and `by_ps` to their starts."""
        return StepRows(
            [
                replace(host, index_offset=host.index_offset + steps, shift_ps=host.shift_ps + by_ps)
                for host in self._hosts
            ]
        )

    def durations_ps(self) -> Int64:
        """The durations of all steps, in their order."""
        durations = [np.array(host.columns["duration_ps"], np.int64) for host in self._hosts]
        return np.concatenate(durations) if durations else np.zeros(0, np.int64)

    def chunks(self) -> Iterator[list[Step]]:
        """Iterates over all rows, a chunk at a time."""
        for host in self._hosts:
            for start in range(0, host.count, _CHUNK_ROWS):
                yield host.rows(start, min(start + _CHUNK_ROWS, host.count))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Step]:
        return chain.from_iterable(self.chunks())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        number = bisect_right(self._ends, position)
        host = self._hosts[number]
        row = position - (self._ends[number] - host.count)
        return host.rows(row, row + 1)[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(left == right for left, right in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # not hashable, like a list


def _column(values: list[Any]) -> Int64 | list[Any]:
    fits_int64 = all(type(value) is int and -(1 << 63) <= value < 1 << 63 for value in values)
    return np.array(values, np.int64) if fits_int64 else values


def _values(column: Int64 | list[Any]) -> list[Any]:
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column
    return values
