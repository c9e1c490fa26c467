"""The events of the same name as an event, in the same row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.arrays import Int64
from tb_xla_insights.timeline.tracks import HiddenEvent, RowEvent


@dataclass(frozen=True)
class SameNameEvents:
    """The events of a name in a row, by start. `depth` is their lane, `index` their index in it; of hidden events,
    `depth` is the lane of `event`, and `index` their index in the trace. `position` is that of `event` among them."""

    event: RowEvent | HiddenEvent
    position: int
    depth: Int64
    index: Int64
    duration_ps: Int64

    def event_at(self, position: int) -> RowEvent | HiddenEvent:
        depth, index = int(self.depth[position]), int(self.index[position])
        event_class = type(self.event)
        return event_class(self.event.track, depth, index)


def find_occurrences(event: RowEvent | HiddenEvent) -> SameNameEvents:
    """Finds the events of the same name in the same row; in rows of steps and of classes, those of the same class."""
    return _find_hidden(event) if isinstance(event, HiddenEvent) else _find_in_lanes(event)


def _find_hidden(event: HiddenEvent) -> SameNameEvents:
    trace, line = event.track.trace, event.track.line
    assert line is not None, "only threads hide events"
    rows = trace.lines[line].rows
    has_name = trace.metadata_index[rows] == trace.metadata_index[event.event]
    events = np.flatnonzero(has_name) + rows.start
    position = int(np.searchsorted(events, event.event))
    depth = np.full(len(events), event.depth)
    return SameNameEvents(event, position, depth, events, trace.duration_ps[events])


def _find_in_lanes(event: RowEvent) -> SameNameEvents:
    lanes = event.track.lanes
    column = "name" if event.track.head.kind not in ("classes", "steps") else "class_index"
    value = getattr(event.lane, column)[event.index]
    indices_of_lanes = [np.flatnonzero(getattr(lane, column) == value) for lane in lanes]
    depth = np.repeat(np.arange(len(lanes)), [len(indices) for indices in indices_of_lanes])
    index = np.concatenate(indices_of_lanes)
    start = np.concatenate(
        [lane.start[indices] for lane, indices in zip(lanes, indices_of_lanes, strict=True)]
    )
    end = np.concatenate([lane.end[indices] for lane, indices in zip(lanes, indices_of_lanes, strict=True)])
    order = np.lexsort((depth, start))
    depth, index, duration = depth[order], index[order], (end - start)[order]
    position = int(np.flatnonzero((depth == event.depth) & (index == event.index))[0])
    return SameNameEvents(event, position, depth, index, duration)
