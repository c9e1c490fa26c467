"""Levels of detail of a lane: merges any number of events into as many slices as a screen can show.

Level r has buckets of T = 2^r picoseconds. At level r
- an event is *short* if it lasts less than T; a longer event is a slice of its own;
- consecutive short events that start in the same bucket [i T, (i+1) T) of the session form one slice; a short event
  that is alone in its bucket keeps its start and duration.

So the slices of a level depend only on the lane's events; a slice consists of whole slices of the level below; and two
neighbours share a slice from level `bit_length(d1 | d2 | (s1 ^ s2))` on. A slice of k > 1 events extends from its first
start to its latest end; its busy time is the union of its events; its name and class are those with most time among its
events, the earlier one if times are equal.

A view shows the level with T <= 2 pixels < 2 T. It then merges, from left to right within the window, consecutive
slices of short events with the same class and pauses of less than T into a *group*, whose name is the one with most
time among its slices' names. Counts and busy times add up through both steps. The fill of a group is, for each bucket,
the busy share of the group's part in that bucket; the busy time of a slice that extends into the next bucket is spread
over both. Fills are in steps of 1/15: 0 is empty, 15 full.

A window with few events is merged at each view. For a window with many, the level of the whole lane is computed once,
in one pass over the events, and cached if it has at most a quarter as many slices as the lane has events. Otherwise
the window is merged at each view as well, since it does not have many more events than slices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int8, Int32, Int64, is_sorted
from tb_xla_insights.timeline.pyramid import kernels

_MIN_REDUCTION = 4
_MAX_UNCACHED_EVENTS = 1 << 15
"""Merging this many events takes a fraction of a millisecond."""


class Slices(NamedTuple):
    """Slices to draw, as columns: start, end, name (-1: none), class, number of events, busy time (0 for a
    single event) and first event; times in ps. `fill` concatenates the bucket fills (0 to 15) of the slices with
    several events."""

    start: Int64
    end: Int64
    name: Int32
    class_index: Int8
    events: Int32
    busy: Int64
    event: Int32
    fill: Int8


class _LevelSlices(NamedTuple):
    """The slices of a level; `time` is the total time of the slice's events with its name."""

    start: Int64
    end: Int64
    name: Int32
    class_index: Int8
    events: Int32
    busy: Int64
    event: Int32
    time: Int64


def level_of_window(span_ps: int, px: int) -> int:
    """The level at which `px` pixels show a span: the largest r with 2^r <= 2 span / px, at least 0.

    Fewer than 4 px count as 4, so that no slice of several events extends over a whole window."""
    return max(0, (2 * span_ps // max(px, 4)).bit_length() - 1)


@dataclass(eq=False)
class Lane:
    """The events of one depth of a row, sorted by start; starts and ends in ps from the session's start. `name_count`
    is the number of names."""

    start: Int64
    end: Int64
    name: Int32
    class_index: Int8
    event: Int32
    name_count: int
    _levels: dict[int, tuple[_LevelSlices, Int64]] = field(default_factory=dict, repr=False)
    """The cached levels, with the latest ends of their slices."""

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def latest_end(self) -> Int64:
        """The latest end of each event and those before it."""
        return self.end if is_sorted(self.end) else np.maximum.accumulate(self.end)

    @cached_property
    def _level_sizes(self) -> Int64:
        return kernels.slices_per_level(self.start, self.end)

    def view(self, start_ps: int, end_ps: int, level: int) -> Slices:
        """The slices of a level that touch [start_ps, end_ps)."""
        first, stop = range_in_window(self.start, self.latest_end, start_ps, end_ps)
        cached = self._cached_level(level) if stop - first > _MAX_UNCACHED_EVENTS else None
        if cached is None:
            slices = self._merge(first, stop, level)
            first, stop = 0, len(slices.start)
        else:
            slices, latest_end = cached
            first, stop = range_in_window(slices.start, latest_end, start_ps, end_ps)
        start, end, name, class_index, events, busy, event = kernels.group_slices(
            *slices, first, stop, start_ps, level, self.name_count
        )
        fill = kernels.group_fills(
            slices.start,
            slices.end,
            slices.events,
            slices.busy,
            first,
            stop,
            start_ps,
            level,
            start,
            end,
            events,
        )
        return Slices(start, end, name, class_index, events, busy, event, fill)

    def at(self, index: Int64) -> Slices:
        """Events (by index) as slices of their own."""
        return Slices(
            self.start[index],
            self.end[index],
            self.name[index],
            self.class_index[index],
            np.ones(len(index), np.int32),
            np.zeros(len(index), np.int64),
            self.event[index],
            np.zeros(0, np.int8),
        )

    def _cached_level(self, level: int) -> tuple[_LevelSlices, Int64] | None:
        """A cached level with the latest ends of its slices, None if it is too large to cache."""
        if level not in self._levels:
            if self._level_sizes[level] > len(self) // _MIN_REDUCTION:
                return None
            slices = self._merge(0, len(self), level)
            self._levels[level] = slices, np.maximum.accumulate(slices.end)
        return self._levels[level]

    def _merge(self, first: int, stop: int, level: int) -> _LevelSlices:
        columns = self.start, self.end, self.latest_end, self.name, self.class_index, self.event
        return _LevelSlices(*kernels.merge_slices(*columns, first, stop, level, self.name_count))


def range_in_window(start: Int64, latest_end: Int64, start_ps: int, end_ps: int) -> tuple[int, int]:
    """The range (first, stop) of intervals that may touch the window: from the first whose latest end reaches the
    window's start, up to the last that starts before its end."""
    first = int(np.searchsorted(latest_end, start_ps, "left"))
    return first, max(first, int(np.searchsorted(start, end_ps, "left")))


def class_shares(
    start: Int64, end: Int64, class_index: Int8, class_count: int, duration_ps: int, buckets: int
) -> NDArray[np.float64]:
    """The share of each class in each of the session's buckets, shape (class_count, buckets). Intervals must not
    overlap."""
    # Hosts with different clocks make a session of days, whose products with the buckets would overflow 64 bits.
    shift = max(0, (duration_ps * buckets).bit_length() - 62)
    start, end, duration_ps = start >> shift, end >> shift, duration_ps >> shift
    time = kernels.class_times(start, end, class_index, class_count, duration_ps, buckets)
    edges = np.array([duration_ps * i // buckets for i in range(buckets + 1)], np.int64)
    return np.asarray(time / np.maximum(np.diff(edges), 1))
