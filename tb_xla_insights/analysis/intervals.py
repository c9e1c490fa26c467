"""Sets of instants as sorted intervals that do not touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.compiled import cut, kernel, room
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
        start, end = room(len(self) + len(other), np.int64, np.int64)
        made = _difference(self.start_ps, self.end_ps, other.start_ps, other.end_ps, start, end)
        return Intervals(*cut(made, start, end))

    def within(self, other: Intervals) -> Intervals:
        """The instants that are in both."""
        if not len(self):
            return self
        return self.without(other.gaps(int(self.start_ps[0]), int(self.end_ps[-1])))

    def gaps(self, start_ps: int, end_ps: int, least_ps: int = 1) -> Intervals:
        """The instants of the window that are none of these, in stretches of at least some length."""
        inside = self.clipped(start_ps, end_ps)
        start, end = room(len(inside) + 1, np.int64, np.int64)
        made = _between(inside.start_ps, inside.end_ps, start_ps, end_ps, max(least_ps, 1), start, end)
        return Intervals(*cut(made, start, end))


def span_intervals(start_ps: int, end_ps: int) -> Intervals:
    """One interval, or none where it is empty."""
    count = int(end_ps > start_ps)
    return Intervals(np.full(count, start_ps, np.int64), np.full(count, end_ps, np.int64))


def union(start_ps: Int64, end_ps: Int64, where: NDArray[np.bool_] | None = None) -> Intervals:
    """The union of any intervals, or of those that a mask selects; empty ones count for nothing."""
    start, end = (it.copy() if where is None else it[where] for it in (start_ps, end_ps))
    if np.any(start[1:] < start[:-1]):
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    return Intervals(*cut(_merge(start, end), start, end))


def union_of(parts: Sequence[Intervals]) -> Intervals:
    """The instants that are in one of the parts at least."""
    none = np.zeros(0, np.int64)
    return union(
        np.concatenate([part.start_ps for part in parts] or [none]),
        np.concatenate([part.end_ps for part in parts] or [none]),
    )


@kernel("int64(int64[::1], int64[::1])")
def _merge(start, end):  # type: ignore[no-untyped-def]
    """Puts the union of intervals, which are sorted by start, in their place. Returns how many they are."""
    made = 0
    for i in range(len(start)):
        if end[i] <= start[i]:
            continue
        if made and start[i] <= end[made - 1]:
            end[made - 1] = max(end[made - 1], end[i])
        else:
            start[made], end[made] = start[i], end[i]
            made += 1
    return made


@kernel("int64(int64[::1], int64[::1], int64, int64, int64, int64[::1], int64[::1])")
def _between(start, end, since, until, least, out_start, out_end):  # type: ignore[no-untyped-def]
    """What of a window lies before, between and behind intervals inside of it, if it has some length. Returns how many
    stretches that are."""
    made, now = 0, since
    for i in range(len(start) + 1):
        upto = start[i] if i < len(start) else until
        if upto - now >= least:
            out_start[made], out_end[made] = now, upto
            made += 1
        if i < len(start):
            now = end[i]
    return made


@kernel("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def _difference(a_start, a_end, b_start, b_end, out_start, out_end):  # type: ignore[no-untyped-def]
    """What of `a` is not in `b`, both of them intervals as in Intervals. Returns how many that are."""
    made, j = 0, 0
    for i in range(len(a_start)):
        now = a_start[i]
        while j < len(b_start) and b_end[j] <= now:
            j += 1
        at = j
        while at < len(b_start) and b_start[at] < a_end[i]:
            if b_start[at] > now:
                out_start[made], out_end[made] = now, b_start[at]
                made += 1
            now = max(now, b_end[at])
            at += 1
        j = max(j, at - 1)
        if now < a_end[i]:
            out_start[made], out_end[made] = now, a_end[i]
            made += 1
    return made


def own_time(starts: Int64, ends: Int64, parents: Int32) -> tuple[Int64, Int64, Int64]:
    """The stretches of each span that its children leave: which span, start, end.

    Spans come sorted by start; `parents` are indices of spans, -1 for none. Spans may lie side by side.
    """
    out, out_start, out_end = room(2 * len(starts), np.int64, np.int64, np.int64)
    made = _own_time(starts, ends, parents, starts.copy(), out, out_start, out_end)
    out, out_start, out_end = cut(made, out, out_start, out_end)
    return out, out_start, out_end


@kernel("int64(int64[::1], int64[::1], int32[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def _own_time(starts, ends, parents, now, out, out_start, out_end):  # type: ignore[no-untyped-def]
    """`now`: up to where each span was told, at first its start. Returns how many stretches there are."""
    count, made = len(starts), 0
    for i in range(count):
        parent = parents[i]
        if parent >= 0 and ends[i] > now[parent]:
            if starts[i] > now[parent]:
                out[made], out_start[made], out_end[made] = parent, now[parent], starts[i]
                made += 1
            now[parent] = ends[i]
    for i in range(count):
        if now[i] < ends[i]:
            out[made], out_start[made], out_end[made] = i, now[i], ends[i]
            made += 1
    return made
