"""Finds the first interval that may overlap a window, without scanning all intervals before it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tb_xla_insights.arrays import Int64

_BLOCK_SIZE = 1024


def block_ends(end_ps: Int64) -> Int64:
    """Returns, per block of `_BLOCK_SIZE` intervals, the latest end among the intervals up to the end of that block.
    Intervals are sorted by start."""
    blocks = np.arange(0, len(end_ps), _BLOCK_SIZE)
    return np.maximum.accumulate(np.maximum.reduceat(end_ps, blocks)) if len(end_ps) else end_ps


def first_ending_after(ends_of_blocks: Int64, ends: Callable[[slice], Int64], instant_ps: int) -> int:
    """Returns the index of the first interval that ends after an instant, or the number of intervals if none does.

    `ends_of_blocks` is the result of `block_ends`; `ends` returns the ends of a slice of the intervals.
    """
    if not len(ends_of_blocks):
        return 0
    block = min(int(np.searchsorted(ends_of_blocks, instant_ps, "right")), len(ends_of_blocks) - 1)
    first = block * _BLOCK_SIZE
    latest_ends = np.maximum.accumulate(ends(slice(first, first + _BLOCK_SIZE)))
    return first + int(np.searchsorted(latest_ends, instant_ps, "right"))
