"""Details of one event: its enclosing events, flows, stats, and the events of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.text.name_limit import MAX_NAME_LENGTH, shorten_name
from tb_xla_insights.timeline.followed import Followed
from tb_xla_insights.timeline.links import Links
from tb_xla_insights.timeline.occurrences import find_occurrences
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.scopes import ScopeTrack, op_facts
from tb_xla_insights.timeline.tracks import HiddenEvent, RowEvent, Track
from tb_xla_insights.trace.device import NestedIntervals
from tb_xla_insights.trace.flows import FLOW_STATS
from tb_xla_insights.trace.nesting import own_time_ps
from tb_xla_insights.trace.row_ids import EventId

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
_KINDS_WITH_CLASS = ("annotations", "thread", "classes", "gaps")
"""Kinds of rows whose slices have a host class."""
_PROGRAM_STATS = ("hlo_module", "program_id")
"""Stats of a GPU's kernel that also apply to its run."""


class Enclosing(NamedTuple):
    """The events that enclose an event, the outermost first. If there are more than twice _MAX_ENCLOSING, only the
    _MAX_ENCLOSING outermost and as many innermost ones are shown; `left_out` is the number of those between."""

    shown: list[RowEvent]
    left_out: int

    @classmethod
    def of(cls, enclosing: list[RowEvent]) -> Enclosing:
        left_out = max(0, len(enclosing) - 2 * _MAX_ENCLOSING)
        return cls([*enclosing[:_MAX_ENCLOSING], *enclosing[_MAX_ENCLOSING + left_out :]], left_out)


@dataclass(frozen=True)
class _DeviceEvent:
    """An op or a run: the index of its device, all ops or runs of the device, and its index among them."""

    device: int
    intervals: NestedIntervals
    index: int


class Details:
    """The details of single events of one host."""

    def __init__(self, host: HostRows) -> None:
        self._host = host
        self._links = Links(host.trace, host.hidden)

    def find(self, event: int) -> RowEvent | HiddenEvent | None:
        """The position of an event in its home row, None if it has none."""
        row_index = int(self._host.home[event])
        if row_index < 0:
            return None
        track = self._host.tracks[row_index]
        row_event = track.find_event(event)
        if row_event is not None:
            return row_event
        enclosing_event = self._links.enclosing(event)
        enclosing = None if enclosing_event is None else track.find_event(enclosing_event)
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
            "event": str(EventId(track.host_number, event)) if event >= 0 else None,
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
        if track.head.kind in ("thread", "sparse_core") or event < 0:
            return track.head.label
        line = self._host.trace.line_of(event)
        row = self._host.thread_rows.get(line.index)
        return line.name if row is None else row.head.label

    def full(self, row_event: RowEvent | HiddenEvent) -> EventDetails:
        """All details of an event, in the page's protocol."""
        event, trace = row_event.event, row_event.track.trace
        summary, enclosing = self.summary(row_event), self._enclosing(row_event)
        followed = Followed(self._host, row_event, self.find, self.summary)
        launches, launches_left_out = followed.launches()
        return {
            **summary,
            "title": self._title(event, summary["name"]),
            "thread": self._thread(row_event),
            "host": trace.host,
            "self_ps": self._self_ps(row_event),
            "path": [self.summary(enclosing_event) for enclosing_event in enclosing.shown],
            "path_left_out": enclosing.left_out,
            "stats": self._stats(row_event),
            "flow": self._flow(event),
            "launches": launches,
            "launches_left_out": launches_left_out,
            "on_device": followed.on_device(),
            "occurrences": self._occurrences(row_event),
        }

    def names(self, row_event: RowEvent) -> list[str]:
        """The names of the events that enclose an event in its row, outermost first, and its own; see `Enclosing`."""
        return [self.summary(event)["name"] for event in (*self._enclosing(row_event).shown, row_event)]

    def _title(self, event: int, name: str) -> str | None:
        """The whole name of an event that lists show by a short name or cut; None for other events."""
        trace = self._host.trace
        if event < 0 or trace.name(event) == name:
            return None
        has_short_name = (
            trace.metadata.display_name[trace.metadata_index[event]] >= 0 or len(name) > MAX_NAME_LENGTH
        )
        return trace.name(event) if has_short_name else None

    def _device_event(self, row_event: RowEvent | HiddenEvent) -> _DeviceEvent | None:
        """The op or the run that an event of a device's row is, None in other rows."""
        head, devices = row_event.track.head, row_event.track.trace.devices
        if head.kind not in ("ops", "modules"):
            return None
        number = next(number for number, device in enumerate(devices) if device.id == head.device)
        intervals = devices[number].ops if head.kind == "ops" else devices[number].runs
        return _DeviceEvent(number, intervals, int(np.flatnonzero(intervals.row == row_event.event)[0]))

    def _self_ps(self, row_event: RowEvent | HiddenEvent) -> int:
        trace, device_event = row_event.track.trace, self._device_event(row_event)
        if device_event is None:
            # The row of asynchronous ops may be made from their start ops.
            has_own_event = (
                row_event.event >= 0 and trace.duration_ps[row_event.event] == row_event.duration_ps
            )
            return own_time_ps(trace, row_event.event) if has_own_event else row_event.duration_ps
        device = trace.devices[device_event.device]
        if device.from_host_events and device_event.intervals is device.ops:
            # The times of parallel ops do not show which op is part of which.
            return int(find_ops(trace).devices[device_event.device].own_ps[device_event.index])
        return int(device_event.intervals.own_ps[device_event.index])

    def _enclosing(self, row_event: RowEvent | HiddenEvent) -> Enclosing:
        """The events that enclose an event in its row; for ops preceded by their run or their SparseCore's job."""
        trace, track = row_event.track.trace, row_event.track
        if isinstance(track, ScopeTrack) and isinstance(row_event, RowEvent):
            return Enclosing.of(track.enclosing(row_event))
        device_event = self._device_event(row_event)
        enclosing: list[int] = []
        if device_event is None:
            event = int(trace.parent[row_event.event]) if row_event.event >= 0 else -1
            while event >= 0:
                enclosing.append(event)
                event = int(trace.parent[event])
            is_in_job = track.head.kind == "sparse_core" and row_event.depth > 0
            jobs = _optional(_event_at(track, row_event.start_ps)) if is_in_job else []
            return Enclosing.of([*jobs, *track.find_events(enclosing[::-1])])
        intervals, index = device_event.intervals, device_event.index
        while (index := int(intervals.parent[index])) >= 0:
            enclosing.append(int(intervals.row[index]))
        runs = self._runs_of_op(row_event, device_event) if track.head.kind == "ops" else []
        return Enclosing.of([*runs, *track.find_events(enclosing[::-1])])

    def _runs_of_op(self, row_event: RowEvent | HiddenEvent, op: _DeviceEvent) -> list[RowEvent]:
        """The run that an op is part of, if any. Runs that were derived from kernels may overlap."""
        runs = next((row for row in self._host.tracks if _is_row_of_runs(row, row_event.track)), None)
        device = row_event.track.trace.devices[op.device]
        if runs is None or device.run_of_op is None:
            return _optional(runs and _event_at(runs, row_event.start_ps))
        run = int(device.run_of_op[op.index])
        return [] if run < 0 else runs.find_events([int(device.runs.row[run])])

    def _stats(self, row_event: RowEvent | HiddenEvent) -> list[StatOfEvent]:
        from tb_xla_insights.trace.details import event_stats

        if isinstance(row_event.track, ScopeTrack) and isinstance(row_event, RowEvent):
            return row_event.track.facts(row_event)
        facts = self._facts(row_event) if self._host.has_all and row_event.track.head.kind == "ops" else []
        run = self._device_event(row_event) if row_event.track.head.kind == "modules" else None
        # If runs are derived from kernels, the event of a run is its first kernel.
        has_kernel_runs = run is not None and row_event.track.trace.devices[run.device].run_of_op is not None
        return facts + [
            {"name": stat.name, "value": _text(stat.value), "kind": stat.kind}
            for stat in (event_stats(self._host.trace, row_event.event) if row_event.event >= 0 else ())
            if stat.name not in FLOW_STATS and (stat.name in _PROGRAM_STATS or not has_kernel_runs)
        ]

    def _facts(self, row_event: RowEvent | HiddenEvent) -> list[StatOfEvent]:
        """The facts about an op from its compiled program."""
        op = self._device_event(row_event)
        return [] if op is None else op_facts(row_event.track.trace, op.device, op.index)

    def _flow(self, event: int) -> EventFlow:
        sources, targets = (
            (self._links.sources(event), self._links.targets(event)) if event >= 0 else ([], [])
        )
        return {
            "from": self._partners(sources),
            "to": self._partners(targets),
            "left_out": sum(max(0, len(events) - _MAX_PARTNERS) for events in (sources, targets)),
        }

    def _partners(self, events: Sequence[int]) -> list[EventSummary]:
        """The first _MAX_PARTNERS of some events by start."""
        first = sorted(events, key=lambda event: int(self._host.trace.start_ps[event]))[:_MAX_PARTNERS]
        row_events = [row_event for event in first for row_event in _optional(self.find(event))]
        row_events.sort(key=lambda row_event: row_event.start_ps)
        return [self.summary(row_event) for row_event in row_events]

    def _occurrences(self, row_event: RowEvent | HiddenEvent) -> Occurrences:
        occurrences = find_occurrences(row_event)
        duration, position, count = (
            occurrences.duration_ps,
            occurrences.position,
            len(occurrences.duration_ps),
        )

        def summary_at(position: int) -> EventSummary | None:
            if not 0 <= position < count:
                return None
            occurrence = occurrences.event_at(position)
            if isinstance(occurrence, HiddenEvent):
                occurrence = (
                    self.find(occurrence.event) or occurrence
                )  # in the lane of its own enclosing event
            return self.summary(occurrence)

        sample = np.unique(np.linspace(0, count - 1, min(_MAX_SAMPLE, count)).round().astype(np.int64))
        return {
            "count": count,
            "index": position,
            "mean_ps": int(duration.sum()) // count,
            "min_ps": int(duration.min()),
            "max_ps": int(duration.max()),
            "previous": summary_at(position - 1),
            "next": summary_at(position + 1),
            "durations_ps": duration[sample].tolist(),
        }


def _optional(row_event: Any) -> list[Any]:
    """A list of the event, empty if there is none."""
    return [] if row_event is None else [row_event]


def _is_row_of_runs(row: Track, ops: Track) -> bool:
    """Whether a row has the runs of the device of a row of ops."""
    return row.head.kind == "modules" and row.head.device == ops.head.device


def _event_at(track: Track, time_ps: int) -> RowEvent | None:
    """The outermost event of a row at an instant."""
    for depth, lane in enumerate(track.lanes):
        index = int(np.searchsorted(lane.start, time_ps, "right")) - 1
        if index >= 0 and lane.end[index] > time_ps:
            return RowEvent(track, depth, index)
    return None


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        more = " …" if len(value) > _MAX_HEX_BYTES else ""
        return f"{value[:_MAX_HEX_BYTES].hex(' ')}{more} ({len(value)} bytes)"
    return str(value)
