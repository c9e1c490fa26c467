"""Sets of instants as sorted intervals that do not touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis import kernels
from tb_xla_insights.arrays import empty_columns, is_sorted, trimmed
from tb_xla_insights.trace.model import Int32, Int64


@dataclass(frozen=True)
class Intervals:
    """[start_ps, end_ps) each, ascending, with time between each two."""

    start_ps: Int64
    end_ps: Int64

    def __len__(self) -> int:
        return len(self.start_ps)

    @property
    def total_ps(self) -> int:
        """How long they are together."""
        # Without a third column; should the sums overflow, they still differ by what is right.
        return int((self.end_ps.sum(keepdims=True) - self.start_ps.sum(keepdims=True))[0])

    def clipped(self, start_ps: int, end_ps: int) -> Intervals:
        """What of them lies in the window."""
        low = int(np.searchsorted(self.end_ps, start_ps, "right"))
        high = max(low, int(np.searchsorted(self.start_ps, end_ps, "left")))
        start, end = self.start_ps[low:high], self.end_ps[low:high]
        if low < high and start[0] < start_ps:
            start = np.concatenate(([start_ps], start[1:]))
        if low < high and end[-1] > end_ps:
            end = np.concatenate((end[:-1], [end_ps]))
        return Intervals(start, end)

    def without(self, other: Intervals) -> Intervals:
        """The instants of these that are none of the other ones."""
        start, end = empty_columns(len(self) + len(other), np.int64, np.int64)
        made = kernels.difference(self.start_ps, self.end_ps, other.start_ps, other.end_ps, start, end)
        return Intervals(*trimmed(made, start, end))

    def within(self, other: Intervals) -> Intervals:
        """The instants that are in both."""
        if not len(self):
            return self
        return self.without(other.gaps(int(self.start_ps[0]), int(self.end_ps[-1])))

    def gaps(self, start_ps: int, end_ps: int, least_ps: int = 1) -> Intervals:
        """The instants of the window that are none of these, in stretches of at least some length."""
        least_ps = max(1, least_ps)
        its = self.clipped(start_ps, end_ps)
        inner = np.flatnonzero(its.start_ps[1:] - its.end_ps[:-1] >= least_ps)
        start = np.concatenate(([start_ps], its.end_ps[inner], its.end_ps[-1:]))
        end = np.concatenate((its.start_ps[:1], its.start_ps[1:][inner], [end_ps]))
        found = end - start >= least_ps
        return Intervals(start[found], end[found])


def span_intervals(start_ps: int, end_ps: int) -> Intervals:
    """One interval, or none where it is empty."""
    count = int(end_ps > start_ps)
    return Intervals(np.full(count, start_ps, np.int64), np.full(count, end_ps, np.int64))


def union(start_ps: Int64, end_ps: Int64, where: NDArray[np.bool_] | None = None) -> Intervals:
    """The union of any intervals, or of those that a mask selects; empty ones count for nothing."""
    where = np.ones(len(start_ps), np.bool_) if where is None else where
    if not is_sorted(start_ps):
        order = np.argsort(start_ps, kind="stable")
        start_ps, end_ps, where = start_ps[order], end_ps[order], where[order]
    if kernels.apart(start_ps, end_ps, where):
        return Intervals(start_ps, end_ps)
    start, end = empty_columns(len(start_ps), np.int64, np.int64)
    made = kernels.merge(start_ps, end_ps, where, start, end)
    return Intervals(*trimmed(made, start, end))


def union_all(parts: Sequence[Intervals]) -> Intervals:
    """The instants that are in one of the parts at least."""
    parts = parts or [span_intervals(0, 0)]
    while len(parts) > 1:
        odd = parts[-1:] if len(parts) % 2 else []
        parts = [*map(_union_of_two, parts[::2], parts[1::2]), *odd]
    return parts[0]


def _union_of_two(one: Intervals, other: Intervals) -> Intervals:
    start, end = empty_columns(len(one) + len(other), np.int64, np.int64)
    made = kernels.join(one.start_ps, one.end_ps, other.start_ps, other.end_ps, start, end)
    return Intervals(*trimmed(made, start, end))


def own_time_intervals(starts: Int64, ends: Int64, parents: Int32) -> tuple[Int64, Int64, Int64]:
    """The stretches of each span that its children leave: which span, start, end.

    Spans come sorted by start; `parents` are indices of spans, -1 for none. Spans may lie side by side.
    """
    out, out_start, out_end = empty_columns(2 * len(starts), np.int64, np.int64, np.int64)
    made = kernels.own_time(starts, ends, parents, starts.copy(), out, out_start, out_end)
    out, out_start, out_end = trimmed(made, out, out_start, out_end)
    return out, out_start, out_end
