"""Room for columns whose length is only known when they are filled, and their order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def empty_columns(most: int, *types: Any) -> tuple[NDArray[Any], ...]:
    """A column of each type for `most` entries."""
    return tuple(np.empty(most, it) for it in types)


def trim_columns(made: int, *columns: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Columns of one's own, filled up to `made`, without the rest of their memory, which goes back uncopied."""
    for column in columns:
        column.resize(made, refcheck=False)
    return columns


def is_sorted(column: NDArray[Any]) -> bool:
    """Whether no entry is less than the one before."""
    return bool(np.all(column[1:] >= column[:-1]))
