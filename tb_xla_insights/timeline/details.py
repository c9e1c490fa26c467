"""Details of one event: its enclosing events, flows, stats, and the events of the same name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.name_limit import MAX_NAME_LENGTH, shorten_name
from tb_xla_insights.timeline.links import Links
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.scopes import ScopeTrack, op_facts
from tb_xla_insights.timeline.tracks import RowEvent, Track
from tb_xla_insights.trace.device import Spans
from tb_xla_insights.trace.nesting import self_ps

if TYPE_CHECKING:
    from tb_xla_insights.schema.timeline_route import (
        EventDetails,
        EventFlow,
        EventSummary,
        Occurrences,
        StatOfEvent,
    )

_MAX_SAMPLE = 64
_MAX_PARTNERS = 256
_MAX_ENCLOSING = 100
"""Stacks of Python functions are seldom deeper than twice this limit."""
_MAX_HEX_BYTES = 32
_KINDS_WITH_CLASS = ("annotations", "thread", "classes")
"""Kinds of rows whose slices have a host class."""
_PROGRAM_STATS = ("hlo_module", "program_id")
"""Stats of a GPU's kernel that also apply to its run."""


@dataclass(frozen=True)
class HiddenEvent:
    """An event that no row shows as a slice. Its row is its thread's, its lane that of its enclosing event."""

    track: Track
    depth: int
    event: int

    @property
    def start_ps(self) -> int:
        return int(self.track.trace.start_ps[self.event])

    @property
    def duration_ps(self) -> int:
        return int(self.track.trace.duration_ps[self.event])


class Path(NamedTuple):
    """The events that enclose an event, the outermost first. Of more than twice _MAX_ENCLOSING, only that many of the
    outermost and of the innermost are shown; `left_out` is the number of those between."""

    shown: list[RowEvent]
    left_out: int

    @classmethod
    def of(cls, enclosing: list[RowEvent]) -> Path:
        more = max(0, len(enclosing) - 2 * _MAX_ENCLOSING)
        return cls([*enclosing[:_MAX_ENCLOSING], *enclosing[_MAX_ENCLOSING + more :]], more)


class Details:
    """The details of single events of one host."""

    def __init__(self, host: HostRows) -> None:
        self._host = host
        self._links = Links(host.trace, host.hidden)

    def find(self, event: int) -> RowEvent | HiddenEvent | None:
        """The position of an event in its home row, None if no row shows it."""
        row_index = int(self._host.home[event])
        if row_index < 0:
            return None
        track = self._host.tracks[row_index]
        row_event = track.find_event(event)
        if row_event is not None:
            return row_event
        above = self._links.enclosing(event)
        enclosing = None if above is None else track.find_event(above)
        return HiddenEvent(track, 0 if enclosing is None else enclosing.depth, event)

    def summary(self, row_event: RowEvent | HiddenEvent) -> EventSummary:
        """The summary of an event, for lists."""
        track, event = row_event.track, row_event.event
        trace = track.trace
        if isinstance(row_event, RowEvent):
            name = int(row_event.lane.name[row_event.index])
            class_index = int(row_event.lane.class_index[row_event.index])
            missing_name = "no scope" if isinstance(track, ScopeTrack) else CLASSES[class_index]
            text = track.texts[name] if name >= 0 else missing_name
        else:
            text = shorten_name(trace.short_name(event))
            class_index = int(self._host.class_index[event])
        return {
            "event": f"{track.host}.{event}" if event >= 0 else None,
            "row": track.head.id,
            "depth": row_event.depth,
            "name": text,
            "class": CLASSES[class_index] if track.head.kind in _KINDS_WITH_CLASS else None,
            "thread": shorten_name(self._thread(row_event)),
            "start_ps": row_event.start_ps,
            "duration_ps": row_event.duration_ps,
        }

    def _thread(self, row_event: RowEvent | HiddenEvent) -> str:
        track, event = row_event.track, row_event.event
        if track.head.kind == "thread" or event < 0:
            return track.head.label
        line = self._host.trace.line_of(event)
        row = self._host.thread_rows.get(line.index)
        return line.name if row is None else row.head.label

    def full(self, row_event: RowEvent | HiddenEvent) -> EventDetails:
        """All details of an event, in the page's protocol."""
        event, trace = row_event.event, row_event.track.trace
        summary, path = self.summary(row_event), self._path(row_event)
        return {
            **summary,
            "title": self._title(event, summary["name"]),
            "thread": self._thread(row_event),
            "host": trace.host,
            "self_ps": self._self_ps(row_event),
            "path": [self.summary(item) for item in path.shown],
            "path_left_out": path.left_out,
            "stats": self._stats(row_event),
            "flow": self._flow(event),
            "occurrences": self._occurrences(row_event),
        }

    def names(self, row_event: RowEvent) -> list[str]:
        """The names of the events that enclose an event in its row, outermost first, and its own; see `Path`."""
        return [self.summary(item)["name"] for item in (*self._path(row_event).shown, row_event)]

    def _title(self, event: int, name: str) -> str | None:
        """The whole name of an event with a short name, or whose name is cut in lists."""
        trace = self._host.trace
        if event < 0 or trace.name(event) == name:
            return None
        has_short = (
            trace.metadata.display_name[trace.metadata_index[event]] >= 0 or len(name) > MAX_NAME_LENGTH
        )
        return trace.name(event) if has_short else None

    def _span(self, row_event: RowEvent | HiddenEvent) -> tuple[int, Spans, int] | None:
        """For an op or a run: the number of its device, all ops or runs of the device, and its index among them."""
        head, devices = row_event.track.head, row_event.track.trace.devices
        if head.kind not in ("ops", "modules"):
            return None
        number = next(number for number, item in enumerate(devices) if item.id == head.device)
        spans = devices[number].ops if head.kind == "ops" else devices[number].modules
        return number, spans, int(np.flatnonzero(spans.row == row_event.event)[0])

    def _self_ps(self, row_event: RowEvent | HiddenEvent) -> int:
        trace, span = row_event.track.trace, self._span(row_event)
        if span is None:
            return self_ps(trace, row_event.event) if row_event.event >= 0 else row_event.duration_ps
        number, spans, at = span
        if trace.devices[number].from_host_events and spans is trace.devices[number].ops:
            # The times of parallel ops do not show which op is part of which.
            return int(find_ops(trace).devices[number].own_ps[at])
        return int(spans.self_ps[at])

    def _path(self, row_event: RowEvent | HiddenEvent) -> Path:
        """The events that enclose an event in its row; for ops preceded by their run."""
        trace, track = row_event.track.trace, row_event.track
        if isinstance(track, ScopeTrack) and isinstance(row_event, RowEvent):
            return Path.of(track.around(row_event))
        span = self._span(row_event)
        enclosing: list[int] = []
        if span is None:
            row = int(trace.parent[row_event.event]) if row_event.event >= 0 else -1
            while row >= 0:
                enclosing.append(row)
                row = int(trace.parent[row])
            return Path.of(track.find_events(enclosing[::-1]))
        _, spans, at = span
        while (at := int(spans.parent[at])) >= 0:
            enclosing.append(int(spans.row[at]))
        runs = None
        if track.head.kind == "ops":
            runs = next((item for item in self._host.tracks if _same_device(item, track)), None)
        outermost = _optional(runs and _open_at(runs, row_event.start_ps))
        return Path.of([*outermost, *track.find_events(enclosing[::-1])])

    def _stats(self, row_event: RowEvent | HiddenEvent) -> list[StatOfEvent]:
        from tb_xla_insights.trace.details import event_stats

        if isinstance(row_event.track, ScopeTrack) and isinstance(row_event, RowEvent):
            return row_event.track.facts(row_event)
        facts = self._facts(row_event) if self._host.has_scopes and row_event.track.head.kind == "ops" else []
        span = self._span(row_event) if row_event.track.head.kind == "modules" else None
        has_kernel_runs = span is not None and row_event.track.trace.devices[span[0]].run_of_op is not None
        return facts + [
            {"name": item.name, "value": _text(item.value), "kind": item.kind}
            for item in (event_stats(self._host.trace, row_event.event) if row_event.event >= 0 else ())
            if item.name in _PROGRAM_STATS or not has_kernel_runs
        ]

    def _facts(self, row_event: RowEvent | HiddenEvent) -> list[StatOfEvent]:
        """The facts about an op from its compiled program."""
        span = self._span(row_event)
        return [] if span is None else op_facts(row_event.track.trace, span[0], span[2])

    def _flow(self, event: int) -> EventFlow:
        if event < 0:
            return {"from": [], "to": []}
        return {
            "from": self._partners(self._links.sources(event)),
            "to": self._partners(self._links.targets(event)),
        }

    def _partners(self, events: Iterable[int]) -> list[EventSummary]:
        row_events = [
            row_event for event in list(events)[:_MAX_PARTNERS] for row_event in _optional(self.find(event))
        ]
        return [self.summary(row_event) for row_event in sorted(row_events, key=lambda item: item.start_ps)]

    def _occurrences(self, row_event: RowEvent | HiddenEvent) -> Occurrences:
        """The events of the same name in the same row; in rows of steps and of classes, those of the same class."""
        track = row_event.track
        if isinstance(row_event, HiddenEvent):
            trace = track.trace
            rows = trace.lines[track.line].rows if track.line is not None else slice(0)
            has_name = trace.metadata_index[rows] == trace.metadata_index[row_event.event]
            events_of_name = np.flatnonzero(has_name) + rows.start
            depth, index = np.zeros(len(events_of_name), np.int64), events_of_name
            duration = trace.duration_ps[events_of_name]
            occurrence = int(np.searchsorted(events_of_name, row_event.event))
        else:
            column = "name" if track.head.kind not in ("classes", "steps") else "class_index"
            value_of_event = getattr(row_event.lane, column)[row_event.index]
            indices_of_lanes = [
                np.flatnonzero(getattr(lane, column) == value_of_event) for lane in track.lanes
            ]
            depth = np.repeat(np.arange(len(indices_of_lanes)), [len(item) for item in indices_of_lanes])
            index = np.concatenate(indices_of_lanes)
            start = np.concatenate(
                [lane.start[at] for lane, at in zip(track.lanes, indices_of_lanes, strict=True)]
            )
            end = np.concatenate(
                [lane.end[at] for lane, at in zip(track.lanes, indices_of_lanes, strict=True)]
            )
            order = np.lexsort((depth, start))
            depth, index, duration = depth[order], index[order], (end - start)[order]
            occurrence = int(np.flatnonzero((depth == row_event.depth) & (index == row_event.index))[0])

        def at(number: int) -> EventSummary | None:
            if not 0 <= number < len(index):
                return None
            if isinstance(row_event, HiddenEvent):
                return self.summary(HiddenEvent(track, row_event.depth, int(index[number])))
            return self.summary(RowEvent(track, int(depth[number]), int(index[number])))

        sample = np.unique(
            np.linspace(0, len(index) - 1, min(_MAX_SAMPLE, len(index))).round().astype(np.int64)
        )
        return {
            "count": len(index),
            "index": occurrence,
            "mean_ps": int(duration.sum()) // len(index),
            "min_ps": int(duration.min()),
            "max_ps": int(duration.max()),
            "previous": at(occurrence - 1),
            "next": at(occurrence + 1),
            "durations_ps": duration[sample].tolist(),
        }


def _optional(row_event: Any) -> list[Any]:
    return [] if row_event is None else [row_event]


def _same_device(runs: Track, ops: Track) -> bool:
    return runs.head.kind == "modules" and runs.head.device == ops.head.device


def _open_at(track: Track, at_ps: int) -> RowEvent | None:
    """The outermost slice of a row at an instant."""
    for depth, lane in enumerate(track.lanes):
        index = int(np.searchsorted(lane.start, at_ps, "right")) - 1
        if index >= 0 and lane.end[index] > at_ps:
            return RowEvent(track, depth, index)
    return None


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        more = " …" if len(value) > _MAX_HEX_BYTES else ""
        return f"{value[:_MAX_HEX_BYTES].hex(' ')}{more} ({len(value)} bytes)"
    return str(value)
