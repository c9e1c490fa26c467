"""A row of the timeline with the events it shows, lane by lane, and where in the rows an event is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, starmap
from operator import itemgetter
from typing import Any

import numpy as np

from tb_xla_insights.timeline import kernels
from tb_xla_insights.timeline.pyramid import Lane
from tb_xla_insights.trace.model import Int8, Int32, Int64, Trace


@dataclass(frozen=True)
class RowHead:
    """What a row is. `kind` and `role` are the page's words, `main` says that it is drawn before rows are unfolded."""

    id: str
    kind: str
    label: str
    host: str
    device: str | None = None
    role: str | None = None
    main: bool = True


@dataclass(eq=False)
class Track:
    """A row's events. `texts` are the names their ids stand for, `share` the part of the session they cover."""

    head: RowHead
    host: int
    trace: Trace
    lanes: list[Lane]
    texts: list[str]
    share: float | None
    line: int | None = None
    """The line of the file that the row shows, where it is one."""

    @cached_property
    def events(self) -> int:
        return sum(map(len, self.lanes))

    def as_json(self) -> dict[str, Any]:
        """The row as the page's protocol gives it."""
        head = self.head
        return {
            "id": head.id,
            "kind": head.kind,
            "label": head.label,
            "host": head.host,
            "device": head.device,
            "role": head.role,
            "depths": max(1, len(self.lanes)),
            "events": self.events,
            "main": head.main,
            "share": None if self.share is None else round(self.share, 6),
        }

    def place(self, event: int) -> Place | None:
        """Where the row shows an event, None where it does not."""
        for depth, lane in enumerate(self.lanes):
            index = lane_index(lane, event)
            if index is not None:
                return Place(self, depth, index)
        return None

    def places(self, events: Sequence[int]) -> list[Place]:
        """Where the row shows events, in their order, without those that it does not show."""
        wanted = np.array(events, np.int64)
        found: list[tuple[int, Place]] = []
        for depth, lane in enumerate(self.lanes if events else ()):
            its = lane.event
            if not len(its):
                continue
            order = np.arange(len(its)) if (its[1:] > its[:-1]).all() else np.argsort(its, kind="stable")
            at = np.minimum(np.searchsorted(its, wanted, sorter=order), len(its) - 1)
            there = np.flatnonzero(its[order[at]] == wanted)
            found += [
                (number, Place(self, depth, index))
                for number, index in zip(there.tolist(), order[at[there]].tolist(), strict=True)
            ]
        return [place for _, place in sorted(found, key=itemgetter(0))]


@dataclass(frozen=True)
class Place:
    """An event as a row shows it: lane and index in the lane."""

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


def lane_index(lane: Lane, event: int) -> int | None:
    """Where in a lane an event is. Lanes of threads are in the order of events, those of made devices are not."""
    if not len(lane):
        return None
    at = int(np.searchsorted(lane.event, event))
    if at < len(lane) and lane.event[at] == event:
        return at
    found = np.flatnonzero(lane.event == event)
    return int(found[0]) if found.size else None


@dataclass
class Columns:
    """A row's events before they are placed in lanes: sorted by start, parents (indices, -1 none) first."""

    start: Int64
    end: Int64
    name: Int32
    kind: Int8
    event: Int32
    parent: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))

    def track(
        self,
        head: RowHead,
        host: int,
        trace: Trace,
        texts: list[str],
        duration_ps: int,
        line: int | None = None,
    ) -> Track:
        """The events in as many lanes as nesting and overlaps need."""
        parent = self.parent if self.parent.size else np.full(len(self.start), -1, np.int32)
        covered = kernels.covered(self.start, self.end)
        lane = kernels.pack(self.start, self.end, parent)
        start, end, name, kind, event = self.start, self.end, self.name, self.kind, self.event
        bounds = [0, len(lane)] if lane.size else [0]
        if lane.any():
            order = np.argsort(lane, kind="stable")
            start, end, event = start[order], end[order], event[order]
            name, kind = name[order], kind[order]
            bounds = np.cumsum([0, *np.bincount(lane)]).tolist()
        lanes = [
            Lane(start[at], end[at], name[at], kind[at], event[at], len(texts))
            for at in starmap(slice, pairwise(bounds))
        ]
        return Track(head, host, trace, lanes, texts, covered / duration_ps if duration_ps else None, line)
