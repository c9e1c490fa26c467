"""Which of very many intervals may touch a window: found without looking at all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tb_xla_insights.trace.model import Int64

_BLOCK = 1024


def block_ends(end_ps: Int64) -> Int64:
    """The latest end so far, at the last interval of each block; intervals are sorted by start."""
    blocks = np.arange(0, len(end_ps), _BLOCK)
    return np.maximum.accumulate(np.maximum.reduceat(end_ps, blocks)) if len(end_ps) else end_ps


def first_ending_after(blocks: Int64, ends: Callable[[slice], Int64], at_ps: int) -> int:
    """The first interval that ends after an instant, the number of intervals where none does. `blocks` is the result
    of `block_ends`, `ends` returns the ends of a slice of the intervals."""
    if not len(blocks):
        return 0
    first = min(int(np.searchsorted(blocks, at_ps, "right")), len(blocks) - 1) * _BLOCK
    some = np.maximum.accumulate(ends(slice(first, first + _BLOCK)))
    return first + int(np.searchsorted(some, at_ps, "right"))
