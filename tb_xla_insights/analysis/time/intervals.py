"""Sets of instants, stored as sorted intervals that do not touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.time import kernels
from tb_xla_insights.arrays import Int32, Int64, empty_columns, is_sorted, trim_columns


@dataclass(frozen=True)
class Intervals:
    """Half-open intervals [start_ps, end_ps), ascending, with time between neighbours."""

    start_ps: Int64
    end_ps: Int64

    def __len__(self) -> int:
        return len(self.start_ps)

    @property
    def total_ps(self) -> int:
        """The sum of the intervals' lengths."""
        # No array of lengths is needed; even if both sums overflow, their difference is exact.
        return int((self.end_ps.sum(keepdims=True) - self.start_ps.sum(keepdims=True))[0])

    def clipped(self, start_ps: int, end_ps: int) -> Intervals:
        """Returns the part of the intervals inside the window [start_ps, end_ps)."""
        _, start, end = clip_columns(self.start_ps, self.end_ps, start_ps, end_ps)
        return Intervals(start, end)

    def without(self, excluded: Intervals) -> Intervals:
        """Returns the instants of `self` that are not in `excluded`."""
        start, end = empty_columns(len(self) + len(excluded), np.int64, np.int64)
        count = kernels.difference(self.start_ps, self.end_ps, excluded.start_ps, excluded.end_ps, start, end)
        return Intervals(*trim_columns(count, start, end))

    def within(self, bounds: Intervals) -> Intervals:
        """Returns the instants that are in both `self` and `bounds`."""
        if not len(self):
            return self
        return self.without(bounds.gaps(int(self.start_ps[0]), int(self.end_ps[-1])))

    def gaps(self, start_ps: int, end_ps: int, min_ps: int = 1) -> Intervals:
        """Returns the instants of the window that are not in `self`, as intervals of at least `min_ps`."""
        min_ps = max(1, min_ps)
        clipped = self.clipped(start_ps, end_ps)
        inner = np.flatnonzero(clipped.start_ps[1:] - clipped.end_ps[:-1] >= min_ps)
        start = np.concatenate(([start_ps], clipped.end_ps[inner], clipped.end_ps[-1:]))
        end = np.concatenate((clipped.start_ps[:1], clipped.start_ps[1:][inner], [end_ps]))
        long_enough = end - start >= min_ps
        return Intervals(start[long_enough], end[long_enough])


def clip_columns(starts: Int64, ends: Int64, start_ps: int, end_ps: int) -> tuple[slice, Int64, Int64]:
    """Returns which of sorted, disjoint intervals overlap the window [start_ps, end_ps), and their starts and ends
    inside it."""
    low = int(np.searchsorted(ends, start_ps, "right"))
    high = max(low, int(np.searchsorted(starts, end_ps, "left")))
    overlapping = slice(low, high)
    start, end = starts[overlapping], ends[overlapping]
    if low < high and start[0] < start_ps:
        start = np.concatenate(([start_ps], start[1:]))
    if low < high and end[-1] > end_ps:
        end = np.concatenate((end[:-1], [end_ps]))
    return overlapping, start, end


def touches_window(starts: Int64, ends: Int64, start_ps: int, end_ps: int) -> NDArray[np.bool_]:
    """Returns which of some intervals have time in the window [start_ps, end_ps); of an empty one, its instant
    counts."""
    return (starts < end_ps) & ((ends > start_ps) | (starts >= start_ps))


def span_intervals(start_ps: int, end_ps: int) -> Intervals:
    """Returns the set of one interval; the empty set if the interval is empty."""
    count = int(end_ps > start_ps)
    return Intervals(np.full(count, start_ps, np.int64), np.full(count, end_ps, np.int64))


NO_INTERVALS = span_intervals(0, 0)


def union(start_ps: Int64, end_ps: Int64, chosen: NDArray[np.bool_] | None = None) -> Intervals:
    """Returns the union of intervals in any order; `chosen` is a mask that selects some of them. Empty intervals are
    ignored."""
    chosen = np.ones(len(start_ps), np.bool_) if chosen is None else chosen
    if not is_sorted(start_ps):
        order = np.argsort(start_ps, kind="stable")
        start_ps, end_ps, chosen = start_ps[order], end_ps[order], chosen[order]
    if kernels.are_chosen_and_separate(start_ps, end_ps, chosen):
        return Intervals(start_ps, end_ps)
    start, end = empty_columns(len(start_ps), np.int64, np.int64)
    count = kernels.merge(start_ps, end_ps, chosen, start, end)
    return Intervals(*trim_columns(count, start, end))


def union_all(sets: Sequence[Intervals]) -> Intervals:
    """Returns the instants that are in at least one of the sets."""
    sets = sets or [span_intervals(0, 0)]
    while len(sets) > 1:
        odd = sets[-1:] if len(sets) % 2 else []
        sets = [*map(_union_of_two, sets[::2], sets[1::2]), *odd]
    return sets[0]


def _union_of_two(a: Intervals, b: Intervals) -> Intervals:
    start, end = empty_columns(len(a) + len(b), np.int64, np.int64)
    count = kernels.union_of_two(a.start_ps, a.end_ps, b.start_ps, b.end_ps, start, end)
    return Intervals(*trim_columns(count, start, end))


def own_time_intervals(starts: Int64, ends: Int64, parents: Int32) -> tuple[Int64, Int64, Int64]:
    """Returns the parts of each interval that its children do not cover, as columns: its index, start, end.

    Intervals are sorted by start; `parents` holds their indices, -1 for none. They may overlap without being nested.
    """
    index, start, end = empty_columns(2 * len(starts), np.int64, np.int64, np.int64)
    count = kernels.own_time(starts, ends, parents, starts.copy(), index, start, end)
    index, start, end = trim_columns(count, index, start, end)
    return index, start, end
