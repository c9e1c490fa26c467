"""A row of the timeline with its events, lane by lane, and the position of an event in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, starmap
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.timeline import kernels
from tb_xla_insights.timeline.pyramid.pyramid import Lane
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.timeline_route import TimelineRow, TimelineRowKind


@dataclass(frozen=True)
class RowHead:
    """A row's header. `initially_shown`: whether the row is drawn before the user unfolds threads."""

    id: str
    kind: TimelineRowKind
    label: str
    host: str
    device: str | None = None
    role: str | None = None
    initially_shown: bool = True


@dataclass(eq=False)
class Track:
    """A row of the timeline: its header and its events, lane by lane. `texts` are the events' names by id, `share` is
    the share of the session that the events cover."""

    head: RowHead
    host_number: int
    trace: Trace
    lanes: list[Lane]
    texts: list[str]
    share: float | None
    line: int | None = None
    """The line of the file that the row shows, None if it shows no single line."""

    @cached_property
    def event_count(self) -> int:
        return sum(map(len, self.lanes))

    def as_json(self) -> TimelineRow:
        """The row as the page's protocol gives it."""
        head = self.head
        return {
            "id": head.id,
            "kind": head.kind,
            "label": head.label,
            "host": head.host,
            "device": head.device,
            "role": head.role,
            "lanes": max(1, len(self.lanes)),
            "events": self.event_count,
            "unfolded": head.initially_shown,
            "share": None if self.share is None else round(self.share, 6),
        }

    def find_event(self, event: int) -> RowEvent | None:
        """The position of an event in the row, None if the row does not show it."""
        for depth, lane in enumerate(self.lanes):
            index = lane_index(lane, event)
            if index is not None:
                return RowEvent(self, depth, index)
        return None

    def find_events(self, events: Sequence[int]) -> list[RowEvent]:
        """The positions of events in the row, in the given order, without events that it does not show."""
        requested = np.array(events, np.int64)
        positions: list[tuple[int, RowEvent]] = []
        for depth, lane in enumerate(self.lanes if events else ()):
            event_column = lane.event
            if not len(event_column):
                continue
            order = (
                np.arange(len(event_column))
                if (event_column[1:] > event_column[:-1]).all()
                else np.argsort(event_column, kind="stable")
            )
            indices = np.minimum(
                np.searchsorted(event_column, requested, sorter=order), len(event_column) - 1
            )
            present = np.flatnonzero(event_column[order[indices]] == requested)
            positions += [
                (number, RowEvent(self, depth, index))
                for number, index in zip(present.tolist(), order[indices[present]].tolist(), strict=True)
            ]
        return [row_event for _, row_event in sorted(positions, key=itemgetter(0))]


@dataclass(frozen=True)
class RowEvent:
    """The position of an event in a row: its lane (depth) and the index in the lane."""

    track: Track
    depth: int
    index: int

    @property
    def lane(self) -> Lane:
        return self.track.lanes[self.depth]

    @property
    def event(self) -> int:
        return int(self.lane.event[self.index])

    @property
    def start_ps(self) -> int:
        return int(self.lane.start[self.index])

    @property
    def duration_ps(self) -> int:
        return int(self.lane.end[self.index]) - self.start_ps


@dataclass(frozen=True)
class HiddenEvent:
    """An event that no row shows as a slice. Its row is its thread's, its lane that of its enclosing event or, without
    one, the first."""

    track: Track
    depth: int
    event: int

    @property
    def start_ps(self) -> int:
        return int(self.track.trace.start_ps[self.event])

    @property
    def duration_ps(self) -> int:
        return int(self.track.trace.duration_ps[self.event])


def lane_index(lane: Lane, event: int) -> int | None:
    """The index of an event in a lane, None if it is not there. Lanes of threads are in the order of events; those of
    devices built from host events are not."""
    if not len(lane):
        return None
    index = int(np.searchsorted(lane.event, event))
    if index < len(lane) and lane.event[index] == event:
        return index
    positions = np.flatnonzero(lane.event == event)
    return int(positions[0]) if positions.size else None


@dataclass
class RowEvents:
    """A row's events before they are assigned to lanes, sorted by start; starts and ends in ps from the session's
    start. Parents (indices, -1: none) precede their children; the column is empty if no event has one."""

    start: Int64
    end: Int64
    name: Int32
    class_index: Int8
    event: Int32
    parent: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))

    def track(
        self,
        head: RowHead,
        host_number: int,
        trace: Trace,
        texts: list[str],
        duration_ps: int,
        line: int | None = None,
    ) -> Track:
        """Assigns the events to as many lanes as nesting and overlaps need."""
        parent = self.parent if self.parent.size else np.full(len(self.start), -1, np.int32)
        covered_ps = kernels.covered_ps(self.start, self.end)
        lane = kernels.assign_lanes(self.start, self.end, parent)
        start, end, name, class_index, event = self.start, self.end, self.name, self.class_index, self.event
        bounds = [0, len(lane)] if lane.size else [0]
        if lane.any():
            order = np.argsort(lane, kind="stable")
            start, end, event = start[order], end[order], event[order]
            name, class_index = name[order], class_index[order]
            bounds = np.cumsum([0, *np.bincount(lane)]).tolist()
        lanes = [
            Lane(start[rows], end[rows], name[rows], class_index[rows], event[rows], len(texts))
            for rows in starmap(slice, pairwise(bounds))
        ]
        return Track(
            head, host_number, trace, lanes, texts, covered_ps / duration_ps if duration_ps else None, line
        )
