"""From metadata entries to events: NumPy would first make an index of eight bytes for each event of the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.trace import kernels

if TYPE_CHECKING:
    from tb_xla_insights.trace.model import Int8, Int32


def told_by_entry(told: Int8, meta: Int32) -> Int8:
    """What is told of each event's entry: `told[meta]`. -1 stands for the last."""
    found = np.empty(len(meta), np.int8)
    kernels.look_up(told, meta, found)
    return found


def texts_by_entry(texts: Int32, meta: Int32) -> Int32:
    """The text of each event's entry: `texts[meta]`."""
    found = np.empty(len(meta), np.int32)
    kernels.look_up_texts(texts, meta, found)
    return found


def count_of_entries(entries: NDArray[np.bool_], meta: Int32) -> int:
    """How many events are of some entries."""
    return int(kernels.count_entries(entries, meta)) if entries.any() else 0


def rows_of_entries(entries: NDArray[np.bool_], meta: Int32) -> Int32:
    """The events of some entries, in row order: `flatnonzero(entries[meta])`."""
    found = np.empty(count_of_entries(entries, meta), np.int32)
    if found.size:
        kernels.list_entries(entries, meta, found)
    return found


def entries_present(meta: Int32, count: int) -> NDArray[np.bool_]:
    """Which of so many entries some event is of; one of entry -1 is of the last."""
    found = np.zeros(count, np.bool_)
    kernels.mark_entries(np.ascontiguousarray(meta), found)
    return found
