"""Level of detail of one lane: what a screen can show of any number of events.

Rungs are powers of two of a picosecond. At rung r, with T = 2^r,
- an event is *short* if it lasts less than T; a longer one is a slice of its own;
- neighbouring short events that start in the same bucket [i T, (i+1) T) of the session form one slice. Alone in its
  bucket, a short event keeps its own start and duration.

So the slices of a rung depend on nothing but the lane's events, those of a rung are made of whole slices of the rung
below, and two neighbours are in one slice from rung `bit_length(d1 | d2 | (s1 ^ s2))` on. A slice that stands for k > 1
events lasts from its first start to its latest end; its busy time is the union of its events; its name and its class
are those with most time among its events, the earlier one where times are equal.

A view shows the rung with T <= 2 px < 2 T and then joins, from left to right within the window, neighbouring slices of
short events that have the same class and less than T of pause between them: a comb. The name of a comb is that with
most time among the names of its slices. Counts and busy times add up through both steps. How full a comb is where is
told by the share of each bucket, as far as the comb lasts in it, that its slices are busy in; the busy time of a slice
that reaches into the next bucket is spread over both. Shares are in steps of 1/15: 0 nothing, 15 all.

A window of few events is merged at each view. For one of many, the rung of the whole lane is made when it is first
needed, in one pass over the events, and kept if it has at most a quarter as many slices; if it has more, a window does
not show many more events than slices. All rungs kept of a lane together have less than half as many slices as it has
events.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import is_sorted
from tb_xla_insights.timeline import kernels
from tb_xla_insights.trace.model import Int8, Int32, Int64

_KEEP_ONE_IN = 4
_FEW = 1 << 15
"""So many events are merged within a fraction of a millisecond."""


class Slices(NamedTuple):
    """What is drawn: columns of start, end, name (-1 none), class, number of events, busy time (0 where that is 1) and
    the first event; and of those of several events, one after the other, how full each bucket is from 0 to 15."""

    start: Int64
    end: Int64
    name: Int32
    kind: Int8
    events: Int32
    busy: Int64
    event: Int32
    fill: Int8


class _Level(NamedTuple):
    """The slices of a rung, with the busy time of each and the time of the name each bears."""

    start: Int64
    end: Int64
    name: Int32
    kind: Int8
    events: Int32
    busy: Int64
    event: Int32
    time: Int64


def rung_of(span_ps: int, px: int) -> int:
    """The largest r with 2^r <= 2 span / px: the rung at which `px` pixels show that span; 0 at least.

    Fewer than 4 px count as 4, so that no slice of many events reaches over a whole window."""
    return max(0, (2 * span_ps // max(px, 4)).bit_length() - 1)


@dataclass(eq=False)
class Lane:
    """The events of one depth of a row, sorted by start; `names` is more than any name's id."""

    start: Int64
    end: Int64
    name: Int32
    kind: Int8
    event: Int32
    names: int
    _levels: dict[int, tuple[_Level, Int64]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def reach(self) -> Int64:
        """The latest end among an event and those before it."""
        return self.end if is_sorted(self.end) else np.maximum.accumulate(self.end)

    @cached_property
    def _sizes(self) -> Int64:
        return kernels.sizes(self.start, self.end)

    def view(self, start_ps: int, end_ps: int, rung: int) -> Slices:
        """The slices that touch [start_ps, end_ps) at a rung."""
        first, stop = window(self.start, self.reach, start_ps, end_ps)
        kept = self._level(rung) if stop - first > _FEW else None
        if kept is None:
            level = self._merge(first, stop, rung)
            first, stop = 0, len(level.start)
        else:
            level, reach = kept
            first, stop = window(level.start, reach, start_ps, end_ps)
        start, end, name, kind, events, busy, event = kernels.comb(
            *level, first, stop, start_ps, rung, self.names
        )
        fill = kernels.fill(
            level.start, level.end, level.events, level.busy, first, stop, start_ps, rung, start, end, events
        )
        return Slices(start, end, name, kind, events, busy, event, fill)

    def _level(self, rung: int) -> tuple[_Level, Int64] | None:
        """A rung that is kept, with the latest end so far of its slices."""
        if rung not in self._levels:
            if self._sizes[rung] > len(self) // _KEEP_ONE_IN:
                return None
            level = self._merge(0, len(self), rung)
            self._levels[rung] = level, np.maximum.accumulate(level.end)
        return self._levels[rung]

    def _merge(self, first: int, stop: int, rung: int) -> _Level:
        columns = self.start, self.end, self.reach, self.name, self.kind, self.event
        return _Level(*kernels.merge(*columns, first, stop, rung, self.names))

    @property
    def nbytes(self) -> int:
        """Memory held by the events' columns and the rungs kept."""
        arrays: list[NDArray[Any]] = [self.start, self.end, self.name, self.kind, self.event]
        for level, reach in list(self._levels.values()):
            arrays.extend((*level, reach))
        return sum(array.nbytes for array in arrays)


def window(start: Int64, reach: Int64, start_ps: int, end_ps: int) -> tuple[int, int]:
    """First and stop of the entries of which some touch the window: those that start before its end, from the first
    one on that reaches its start."""
    first = int(np.searchsorted(reach, start_ps, "left"))
    return first, max(first, int(np.searchsorted(start, end_ps, "left")))


def spread(
    start: Int64, end: Int64, kind: Int8, kinds: int, duration_ps: int, buckets: int
) -> NDArray[np.float64]:
    """Shares of each class in each of the session's buckets, (kinds, buckets); intervals must not overlap."""
    time = kernels.spread(start, end, kind, kinds, duration_ps, buckets)
    edges = np.array([duration_ps * i // buckets for i in range(buckets + 1)], np.int64)
    return np.asarray(time / np.maximum(np.diff(edges), 1))
