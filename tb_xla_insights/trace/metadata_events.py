"""Look-ups from event metadata to events. NumPy's indexing would first convert the indices to eight bytes per event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.trace import kernels

if TYPE_CHECKING:
    from tb_xla_insights.arrays import Int8, Int32, Int64


def values_of_events(values: Int8, metadata_index: Int32) -> Int8:
    """The value of each event's metadata: `values[metadata_index]`; index -1 stands for the last value."""
    result = np.empty(len(metadata_index), np.int8)
    kernels.look_up(values, metadata_index, result)
    return result


def texts_of_events(texts: Int32, metadata_index: Int32) -> Int32:
    """The text of each event's metadata: `texts[metadata_index]`."""
    result = np.empty(len(metadata_index), np.int32)
    kernels.look_up_texts(texts, metadata_index, result)
    return result


def rows_with_metadata(is_selected: NDArray[np.bool_], metadata_index: Int32) -> Int32:
    """The events of the selected metadata, in row order: `flatnonzero(is_selected[metadata_index])`."""
    return np.flatnonzero(values_of_events(is_selected.view(np.int8), metadata_index).view(np.bool_)).astype(
        np.int32
    )


def count_by_metadata(metadata_index: Int32, count: int) -> Int64:
    """The number of events of each of `count` metadata; index -1 counts for the last."""
    result = np.zeros(count, np.int64)
    kernels.count_indices(np.ascontiguousarray(metadata_index), result)
    return result
