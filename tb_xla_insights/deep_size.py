"""How much memory objects take, with all that stays with them."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

_MANY, _SAMPLES = 100, 25
"""Of more entries than the former as many as the latter stand for all."""
_PACKAGE = __name__.partition(".")[0]


def deep_size(root: object) -> int:
    """About how many bytes an object takes, with all that it leads to: arrays exactly, long lists by samples.

    Followed are containers and this package's own objects. What the same bytes are reached by counts once.
    """
    total, seen = 0.0, set[int]()
    waiting: list[tuple[Any, float]] = [(root, 1.0)]
    while waiting:
        it, times = waiting.pop()
        while isinstance(it, np.ndarray) and isinstance(it.base, np.ndarray):
            it = it.base  # what a view is of stays as a whole
        if id(it) in seen or isinstance(it, type):
            continue
        seen.add(id(it))
        total += times * (it.nbytes if isinstance(it, np.ndarray) else sys.getsizeof(it))
        entries = _entries(it)
        if len(entries) > _MANY:
            times *= len(entries) / _SAMPLES
            entries = [entries[place * len(entries) // _SAMPLES] for place in range(_SAMPLES)]
        waiting += [(entry, times) for entry in entries if entry is not None]
    return int(total)


def _entries(it: Any) -> list[Any]:
    """What an object leads to; a copy, as others may change it meanwhile."""
    if isinstance(it, dict):
        return _flat(list(it.items()))
    if isinstance(it, list | tuple | set | frozenset | deque):
        return list(it)
    own = type(it).__module__.partition(".")[0] == _PACKAGE
    return [vars(it)] if own and hasattr(it, "__dict__") else []


def _flat(pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
    return [one for pair in pairs for one in pair]
