"""The memory that an object takes, with everything that it references."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import numpy as np

_MAX_COUNTED_ENTRIES = 500
"""Containers with more entries are estimated from a sample. The cached results of a trace are fewer, and too different
for that."""
_SAMPLES = 25
_PACKAGE = __name__.partition(".")[0]


def deep_size(root: object) -> int:
    """Estimates the bytes of an object with everything that it references: arrays exactly, long lists by samples.

    Follows containers and this package's own objects, and counts every object once.
    """
    total, visited = 0.0, set[int]()
    pending: list[tuple[Any, float]] = [(root, 1.0)]
    while pending:
        item, weight = pending.pop()
        while isinstance(item, np.ndarray) and isinstance(item.base, np.ndarray):
            item = item.base  # a view keeps its whole base in memory
        if id(item) in visited or isinstance(item, type):
            continue
        visited.add(id(item))
        total += weight * (item.nbytes if isinstance(item, np.ndarray) else sys.getsizeof(item))
        entries = _entries(item)
        if len(entries) > _MAX_COUNTED_ENTRIES:
            weight *= len(entries) / _SAMPLES
            entries = [entries[index * len(entries) // _SAMPLES] for index in range(_SAMPLES)]
        pending += [(entry, weight) for entry in entries if entry is not None]
    return int(total)


def _entries(item: Any) -> list[Any]:
    """The objects that an object references directly; a copy, since other threads may change it meanwhile."""
    if isinstance(item, dict):
        return [entry for pair in list(item.items()) for entry in pair]
    if isinstance(item, list | tuple | set | frozenset | deque):
        return list(item)
    if type(item).__module__.partition(".")[0] != _PACKAGE:
        return []
    slots = [getattr(item, name, None) for name in getattr(type(item), "__slots__", ())]
    return [*slots, vars(item)] if hasattr(item, "__dict__") else slots
