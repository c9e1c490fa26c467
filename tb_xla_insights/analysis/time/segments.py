"""Stretches of time that do not overlap, and the sweeps that make and merge them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis import kernels
from tb_xla_insights.arrays import empty_columns, trimmed
from tb_xla_insights.catalog.classes import OTHER, WAIT
from tb_xla_insights.trace.model import Int8, Int32, Int64


@dataclass(frozen=True)
class Segments:
    """Stretches in order of time, none overlapping: [start_ps, end_ps), the class each is of (index into CLASSES, -1:
    none), and the event it comes from (-1: none)."""

    start_ps: Int64
    end_ps: Int64
    class_index: Int8
    row: Int32

    def __len__(self) -> int:
        return len(self.row)

    def clipped(self, start_ps: int, end_ps: int) -> Segments:
        """What of the stretches lies in the window."""
        low = int(np.searchsorted(self.end_ps, start_ps, "right"))
        high = max(low, int(np.searchsorted(self.start_ps, end_ps, "left")))
        part = slice(low, high)
        start, end = self.start_ps[part], self.end_ps[part]
        if low < high and start[0] < start_ps:
            start = np.concatenate(([start_ps], start[1:]))
        if low < high and end[-1] > end_ps:
            end = np.concatenate((end[:-1], [end_ps]))
        return Segments(start, end, self.class_index[part], self.row[part])

    def where(self, keep: NDArray[np.bool_]) -> Segments:
        """The stretches that a mask selects."""
        return Segments(self.start_ps[keep], self.end_ps[keep], self.class_index[keep], self.row[keep])

    def cut(self, at_ps: Int64) -> Segments:
        """The same stretches, those around one of some instants in two."""
        at = np.unique(at_ps)
        place = np.searchsorted(self.start_ps, at, "left") - 1
        inside = (place >= 0) & (at < np.append(self.end_ps, 0)[place])
        at, place = at[inside], place[inside]
        return Segments(
            np.insert(self.start_ps, place + 1, at),
            np.insert(self.end_ps, place, at),
            np.insert(self.class_index, place, self.class_index[place]),
            np.insert(self.row, place, self.row[place]),
        )

    def sums(self, count: int) -> list[int]:
        """Time per class, for classes 0 to count - 1. Exact: no sum reaches 2**53 ps, which is two and a half hours."""
        known = self.class_index >= 0
        lengths = (self.end_ps - self.start_ps)[known]
        return [int(total) for total in np.bincount(self.class_index[known], lengths, minlength=count)]


NO_SEGMENTS = Segments(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int8), np.zeros(0, np.int32)
)


def innermost_segments(
    starts: Int64, ends: Int64, parents: Int32, kinds: Int8, flags: Int8, first: int, bare: bool
) -> Segments:
    """One line's timeline by its innermost event.

    The events come sorted by start, the longer one first; `parents` are rows of the trace and `first` is the row of the
    first one. The innermost of the events that are open is the last of them. An event of class -1, or with INHERIT or
    below such a one, has the class of its nearest ancestor that has one; without such an ancestor it is of class -1
    because of INHERIT, else of class `other`. When an event with ENDS ends, its nearest ancestor with SWITCHES is of
    class `wait` from then on. Stretches of class -1 are told where `bare` says so.
    """
    out = empty_columns(2 * len(starts), np.int64, np.int64, np.int8, np.int32)
    own, nobodys, stack = kinds.copy(), np.zeros(len(starts), np.bool_), np.empty(len(starts) + 1, np.int32)
    made = kernels.innermost(
        starts, ends, parents, flags, first, bare, WAIT, OTHER, own, nobodys, stack, *out
    )
    return Segments(*trimmed(made, *out))


Ranked = tuple[Segments, Int8]
"""A timeline with the rank of each stretch."""


def overlay(a: Ranked, b: Ranked) -> Ranked:
    """Two timelines become one: at each instant the stretch of the lower rank (the first timeline's where they are
    equal), and the other's where one has none."""
    (one, one_rank), (other, other_rank) = a, b
    out = empty_columns(2 * (len(one) + len(other)), np.int64, np.int64, np.int8, np.int32, np.int8)
    made = kernels.overlay(
        one.start_ps, one.end_ps, one.class_index, one.row, one_rank,
        other.start_ps, other.end_ps, other.class_index, other.row, other_rank, *out,
    )  # fmt: skip
    *columns, rank = trimmed(made, *out)
    return Segments(*columns), rank
