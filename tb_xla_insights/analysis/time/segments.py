"""Disjoint segments of time with a class each, and the sweeps that build and merge them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.time import kernels
from tb_xla_insights.analysis.time.intervals import clip_columns
from tb_xla_insights.arrays import Int8, Int32, Int64, empty_columns, trim_columns
from tb_xla_insights.catalog.classes import OTHER, WAIT


@dataclass(frozen=True)
class Segments:
    """Disjoint segments [start_ps, end_ps) in order of time. `class_index`: index into CLASSES, -1: none. `row`: the
    event that the segment comes from, -1: none."""

    start_ps: Int64
    end_ps: Int64
    class_index: Int8
    row: Int32

    def __len__(self) -> int:
        return len(self.row)

    def clipped(self, start_ps: int, end_ps: int) -> Segments:
        """Returns the part of the segments inside the window [start_ps, end_ps)."""
        overlapping, start, end = clip_columns(self.start_ps, self.end_ps, start_ps, end_ps)
        return Segments(start, end, self.class_index[overlapping], self.row[overlapping])

    def select(self, chosen: NDArray[np.bool_]) -> Segments:
        """Returns the segments that a mask selects."""
        return Segments(
            self.start_ps[chosen], self.end_ps[chosen], self.class_index[chosen], self.row[chosen]
        )

    def cut(self, instants_ps: Int64) -> Segments:
        """Returns the same segments, each split at those of the instants that lie inside it."""
        instants = np.unique(instants_ps)
        index = np.searchsorted(self.start_ps, instants, "left") - 1
        inside = (index >= 0) & (instants < np.append(self.end_ps, 0)[index])
        instants, index = instants[inside], index[inside]
        return Segments(
            np.insert(self.start_ps, index + 1, instants),
            np.insert(self.end_ps, index, instants),
            np.insert(self.class_index, index, self.class_index[index]),
            np.insert(self.row, index, self.row[index]),
        )

    def sums(self, count: int) -> list[int]:
        """Returns the time per class, for classes 0 to count - 1."""
        classified = self.class_index >= 0
        totals = np.zeros(count, np.int64)
        np.add.at(totals, self.class_index[classified], (self.end_ps - self.start_ps)[classified])
        sums: list[int] = totals.tolist()
        return sums


NO_SEGMENTS = Segments(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int8), np.zeros(0, np.int32)
)


def innermost_segments(
    starts: Int64,
    ends: Int64,
    parents: Int32,
    class_indices: Int8,
    flags: Int8,
    first: int,
    with_unclassified: bool,
) -> Segments:
    """Returns one line's timeline, in which each instant belongs to the innermost open event.

    Events are sorted by start, the longer one first, so that the innermost open event is the last one; `parents` are
    rows of the trace, `first` is the row of the first event. An event of class -1 takes the class of its nearest
    ancestor that has one, as does an event with INHERIT and everything below it. If no ancestor has a class, it has
    class -1 if INHERIT applies to it, else `other`. When an event with WAIT_FOLLOWS ends, its nearest ancestor with
    DISPATCH_THEN_WAIT is of class `wait` from then on. Segments of class -1 are returned only `with_unclassified`.
    """
    columns = empty_columns(2 * len(starts), np.int64, np.int64, np.int8, np.int32)
    own_classes, inherits, stack = (
        class_indices.copy(),
        np.zeros(len(starts), np.bool_),
        np.empty(len(starts) + 1, np.int32),
    )
    count = kernels.innermost(
        starts,
        ends,
        parents,
        flags,
        first,
        with_unclassified,
        WAIT,
        OTHER,
        own_classes,
        inherits,
        stack,
        *columns,
    )
    return Segments(*trim_columns(count, *columns))


Ranked = tuple[Segments, Int8]
"""Segments, and the rank of each of them."""


def overlay(a: Ranked, b: Ranked) -> Ranked:
    """Merges two timelines: at each instant the segment of the lower rank, `a`'s if the ranks are equal, or the only
    segment there is."""
    (a_segments, a_rank), (b_segments, b_rank) = a, b
    columns_and_rank = empty_columns(
        2 * (len(a_segments) + len(b_segments)), np.int64, np.int64, np.int8, np.int32, np.int8
    )
    count = kernels.overlay(
        a_segments.start_ps, a_segments.end_ps, a_segments.class_index, a_segments.row, a_rank,
        b_segments.start_ps, b_segments.end_ps, b_segments.class_index, b_segments.row, b_rank, *columns_and_rank,
    )  # fmt: skip
    *columns, rank = trim_columns(count, *columns_and_rank)
    return Segments(*columns), rank


def overlay_first(first: Segments, second: Segments) -> Segments:
    """Merges two timelines: at each instant the segment of the first, else that of the second."""
    ranked = (first, np.zeros(len(first), np.int8)), (second, np.ones(len(second), np.int8))
    return overlay(*ranked)[0]
