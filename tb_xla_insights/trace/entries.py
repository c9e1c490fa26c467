"""From metadata entries to events: NumPy would first make an index of eight bytes for each event of the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.compiled import kernel

if TYPE_CHECKING:
    from tb_xla_insights.trace.model import Int8, Int32


def told_by_entry(told: Int8, meta: Int32) -> Int8:
    """What is told of each event's entry: `told[meta]`. -1 stands for the last."""
    found = np.empty(len(meta), np.int8)
    _look_up(told, meta, found)
    return found


def count_of_entries(entries: NDArray[np.bool_], meta: Int32) -> int:
    """How many events are of some entries."""
    return int(_count(entries, meta))


def rows_of_entries(entries: NDArray[np.bool_], meta: Int32) -> Int32:
    """The events of some entries, in row order: `flatnonzero(entries[meta])`."""
    found = np.empty(count_of_entries(entries, meta), np.int32)
    _list(entries, meta, found)
    return found


def entries_present(meta: Int32, count: int) -> NDArray[np.bool_]:
    """Which of so many entries some event is of; one of entry -1 is of the last."""
    found = np.zeros(count, np.bool_)
    _mark(np.ascontiguousarray(meta), found)
    return found


@kernel("void(int32[::1], boolean[::1])")
def _mark(meta, found):  # type: ignore[no-untyped-def]
    for row in range(len(meta)):
        found[meta[row]] = True


@kernel("void(int8[::1], int32[::1], int8[::1])")
def _look_up(told, meta, found):  # type: ignore[no-untyped-def]
    for row in range(len(meta)):
        found[row] = told[meta[row]]


@kernel("int64(boolean[::1], int32[::1])")
def _count(entries, meta):  # type: ignore[no-untyped-def]
    count = 0
    for row in range(len(meta)):
        count += entries[meta[row]]
    return count


@kernel("void(boolean[::1], int32[::1], int32[::1])")
def _list(entries, meta, found):  # type: ignore[no-untyped-def]
    at = 0
    for row in range(len(meta)):
        if entries[meta[row]]:
            found[at] = row
            at += 1
