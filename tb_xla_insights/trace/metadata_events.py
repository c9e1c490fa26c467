"""From metadata entries to events: NumPy would first make an index of eight bytes for each event of the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.trace import kernels

if TYPE_CHECKING:
    from tb_xla_insights.trace.model import Int8, Int32, Int64


def values_of_events(told: Int8, meta: Int32) -> Int8:
    """What is told of each event's entry: `told[meta]`. -1 stands for the last."""
    found = np.empty(len(meta), np.int8)
    kernels.look_up(told, meta, found)
    return found


def texts_of_events(texts: Int32, meta: Int32) -> Int32:
    """The text of each event's entry: `texts[meta]`."""
    found = np.empty(len(meta), np.int32)
    kernels.look_up_texts(texts, meta, found)
    return found


def rows_with_metadata(entries: NDArray[np.bool_], meta: Int32) -> Int32:
    """The events of some entries, in row order: `flatnonzero(entries[meta])`."""
    return np.flatnonzero(values_of_events(entries.view(np.int8), meta).view(np.bool_)).astype(np.int32)


def count_by_metadata(meta: Int32, count: int) -> Int64:
    """How many events are of each of so many entries; one of entry -1 is of the last."""
    found = np.zeros(count, np.int64)
    kernels.count_entries(np.ascontiguousarray(meta), found)
    return found
