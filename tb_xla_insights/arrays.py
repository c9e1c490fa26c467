"""Columns: their types, allocation, trimming and order checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Int8 = NDArray[np.int8]
Int16 = NDArray[np.int16]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


def empty_columns(length: int, *types: Any) -> tuple[NDArray[Any], ...]:
    """Allocates one uninitialised column of `length` entries per type."""
    return tuple(np.empty(length, dtype) for dtype in types)


def trim_columns(length: int, *columns: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Shortens columns in place to `length` entries, which frees the rest of their memory without a copy. The columns
    must own their memory, and views of them become invalid."""
    for column in columns:
        column.resize(length, refcheck=False)
    return columns


def is_sorted(column: NDArray[Any]) -> bool:
    """Whether no entry is less than the one before."""
    return bool(np.all(column[1:] >= column[:-1]))
