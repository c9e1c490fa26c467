"""The rows of a host: their order, and the events that each shows.

Per host: steps, annotations, the partition of host time by class, the threads (driving first, then its helpers, then
the others); per device its gaps, its modules, its ops, its asynchronous ops, its other lines and its SparseCores.

Threads do not show plumbing: events that mark handed-over tasks (`ThreadpoolListener::…`) and the ends of device ops.
These have no duration to speak of, are half of the events of a CPU capture, and would be drawn with the work as slices
of several events. Their content is shown elsewhere: the link between threads as a flow between the events around them,
an op's end as the length of the op in its device's row. Search finds them by the start of their names, and they have
details like any event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import INHERIT
from tb_xla_insights.analysis.delays.collectives import collective_kinds
from tb_xla_insights.analysis.engines.sparse_cores import find_sparse_cores
from tb_xla_insights.analysis.engines.windows import find_windows
from tb_xla_insights.analysis.host.classes import event_classes, host_class_segments
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.analysis.launches.step_times import find_steps, step_times
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.opcodes import collective_kind, is_host_transfer, is_wait
from tb_xla_insights.analysis.propagation.scope_lines import scope_line
from tb_xla_insights.arrays import Int8, Int16, Int32
from tb_xla_insights.catalog.classes import OTHER
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.text.name_limit import shorten_name
from tb_xla_insights.timeline import kernels
from tb_xla_insights.timeline.tracks import RowEvents, RowHead, Track
from tb_xla_insights.trace.device import Device, NestedIntervals
from tb_xla_insights.trace.metadata_events import texts_of_events
from tb_xla_insights.trace.model import Thread, Trace
from tb_xla_insights.trace.nesting import nearest_ancestor
from tb_xla_insights.trace.plane_devices import intervals_of_events, nest_intervals
from tb_xla_insights.trace.row_ids import RowId, thread_row
from tb_xla_insights.trace.threads import ROLES, thread_labels

if TYPE_CHECKING:
    from tb_xla_insights.schema.timeline_route import TimelineRowKind

_FOLDED_ROLES = ("op_pool", "other")
_HELPER_ROLES = ("executor", "client", "compiler", "transfer", "loader")
_MAX_UNFOLDED_HELPERS = 8
"""How many helpers, the busiest, are drawn without unfolding: a TPU host has a hundred transfer threads."""

_LINES_SHOWN_ELSEWHERE = {"XLA Modules", "XLA Ops", "Steps"}
"""Lines of a device plane that the rows of modules, ops and the host's steps show."""

OP, COLLECTIVE, STALL = 0, 1, 2

GAPS = "gaps"
"""The name of a row of gaps in its id."""


@dataclass
class Names:
    """The display names of events by id: `texts`, and `full_texts` in which long names are not shortened. `of_metadata`
    and `of_string` are the ids by event metadata and by string."""

    full_texts: list[str]
    texts: list[str]
    of_metadata: Int32
    of_string: Int32

    @classmethod
    def of(cls, trace: Trace) -> Names:
        label = trace.metadata.label
        is_name = np.zeros(len(trace.strings) + 1, np.bool_)  # no name, -1, is the last entry
        is_name[label] = True
        for device in trace.devices:
            is_name[device.runs.name] = True
            is_name[device.ops.name] = True
        strings = np.flatnonzero(is_name).tolist()
        of_string = np.full(len(is_name), -1, np.int32)
        of_string[strings] = np.arange(len(strings), dtype=np.int32)
        full_texts = [trace.strings[i] if i < len(trace.strings) else "" for i in strings]
        return cls(full_texts, [shorten_name(text) for text in full_texts], of_string[label], of_string)


class HostRows:
    """One host's rows, and for each of its events the most informative row."""

    def __init__(self, index: int, trace: Trace, duration_ps: int) -> None:
        self.index, self.trace, self.duration_ps = index, trace, duration_ps
        self.names = Names.of(trace)
        self.hidden: NDArray[np.bool_] = has_tag(trace, "plumbing") & ~has_tag(trace, "device_work")
        """Per event metadata, whether threads' rows leave its events out."""
        own_class, flags = event_classes(trace)
        self.class_index: Int8 = kernels.inherit_classes(
            own_class, (flags & INHERIT) > 0, trace.parent, OTHER
        )
        self.tracks: list[Track] = self._tracks()
        self.has_all = False
        """Whether the rows of gaps, scopes and asynchronous ops exist; computing them takes a while."""

    @cached_property
    def thread_rows(self) -> dict[int, Track]:
        """The row of each host line that has one, by line."""
        return {
            track.line: track
            for track in self.tracks
            if track.line is not None and track.head.kind == "thread"
        }

    @cached_property
    def home(self) -> Int16:
        """The home row of each event of the trace: an index into `tracks`, -1 for events of lines without a row.

        A device's row takes precedence, since it has the duration of an op; then the row of annotations, then a
        thread's.
        """
        home = np.full(len(self.trace), -1, np.int16)
        for index, track in enumerate(self.tracks):
            if track.line is not None:
                home[self.trace.lines[track.line].rows] = index
        for kind in ("annotations", "modules", "ops", "sparse_core"):
            for index, track in enumerate(self.tracks):
                if track.head.kind == kind:
                    for lane in track.lanes:
                        home[lane.event] = index
        return home

    def gap_tracks(self) -> Iterator[Track]:
        """The rows of devices' gaps, which are not among `tracks`: finding their causes takes a while."""
        gaps = find_gaps(self.trace)
        for number in np.unique(gaps.device).tolist():
            rows = gaps.device == number
            no_value = np.full(int(rows.sum()), -1, np.int32)
            columns = RowEvents(gaps.start_ps[rows], gaps.end_ps[rows], no_value, gaps.cause[rows], no_value)
            track = self._track(self._device_head(number, GAPS, "gaps", "gaps"), columns)
            track.share = None
            yield track

    def window_tracks(self) -> Iterator[Track]:
        """The rows of devices' asynchronous ops, where the file has none, from start to done. They are not among
        `tracks`: finding them takes a while."""
        ids = {track.head.id for track in self.tracks}
        for number, device in enumerate(self.trace.devices):
            head, windows = self._async_head(number), find_windows(self.trace, number)
            if head.id not in ids and len(windows):
                row, name = device.ops.row[windows.start_op], device.ops.name[windows.start_op]
                intervals = nest_intervals(row, windows.start_ps, windows.end_ps, name)
                yield self._track(head, self._intervals(intervals, self._op_classes))

    def _tracks(self) -> list[Track]:
        devices = [self._device(number, device) for number, device in enumerate(self.trace.devices)]
        groups = self._steps(), self._annotations(), self._classes(), self._threads(), *devices
        return [
            track for tracks in run_parallel([partial(list, group) for group in groups]) for track in tracks
        ]

    def _head(self, name: str, kind: TimelineRowKind, label: str) -> RowHead:
        return RowHead(str(RowId(self.index, name)), kind, label, self.trace.host)

    def _device_head(self, number: int, name: str, kind: TimelineRowKind, label: str) -> RowHead:
        row_id = str(RowId(self.index, name, number))
        return RowHead(row_id, kind, label, self.trace.host, self.trace.devices[number].id)

    def _async_head(self, number: int) -> RowHead:
        return self._device_head(number, "async", "async", "async ops")

    def _track(self, head: RowHead, columns: RowEvents, line: int | None = None) -> Track:
        return columns.track(head, self.index, self.trace, self.names.texts, self.duration_ps, line)

    def _steps(self) -> Iterator[Track]:
        steps = find_steps(self.trace)
        if not steps:
            return
        texts = [str(step.number) if step.number is not None else shorten_name(step.name) for step in steps]
        columns = RowEvents(
            *step_times(self.trace),
            np.arange(len(steps), dtype=np.int32),
            np.zeros(len(steps), np.int8),
            np.array([step.row for step in steps], np.int32),
        )
        head = self._head("steps", "steps", "Steps")
        yield columns.track(head, self.index, self.trace, texts, self.duration_ps)

    def _annotations(self) -> Iterator[Track]:
        """The annotations of the driving threads, or of all threads if those have none; loaders' would overlap them."""
        trace = self.trace
        rows = trace.annotations
        on_driving_thread = trace.is_on_lines(rows, trace.driving_lines)
        rows = rows[on_driving_thread] if on_driving_thread.any() else rows
        if not rows.size:
            return
        nearest_parent = nearest_ancestor(trace.parent, rows)
        order = np.lexsort((-trace.duration_ps[rows], trace.start_ps[rows]))
        position = np.argsort(order)  # in that order, by index in `rows`, which ascend
        parent = np.where(nearest_parent >= 0, position[np.searchsorted(rows, nearest_parent)], -1)
        columns = self._columns(rows[order], parent[order].astype(np.int32))
        yield self._track(self._head("ann", "annotations", "Annotations"), columns)

    def _classes(self) -> Iterator[Track]:
        segments = host_class_segments(self.trace)
        if not len(segments) or not self.trace.threads:
            return
        no_value = np.full(len(segments.start_ps), -1, np.int32)
        class_index = segments.class_index.astype(np.int8)
        columns = RowEvents(segments.start_ps, segments.end_ps, no_value, class_index, no_value)
        track = self._track(self._head("classes", "classes", "Host, by class"), columns)
        track.share = None
        yield track

    def _threads(self) -> Iterator[Track]:
        trace = self.trace
        lines_shown = {thread.line for thread in trace.threads} | {
            line for device in trace.devices for line in device.lines.values()
        }
        device_planes = {device.plane for device in trace.devices} | {
            core.plane for number in range(len(trace.devices)) for core in find_sparse_cores(trace, number)
        }
        other_lines = [
            line for line in trace.lines if line.index not in lines_shown and line.plane not in device_planes
        ]
        threads = [*trace.threads, *(Thread(line.index, line.name, "other") for line in other_lines)]
        threads = [thread for thread in threads if trace.lines[thread.line].count]
        threads.sort(key=lambda thread: (ROLES.index(thread.role), thread.line))
        labels = thread_labels(trace)
        tracks = []
        for thread in threads:
            row_id = str(RowId(self.index, thread_row(thread.line)))
            initially_shown = thread.role not in _FOLDED_ROLES
            label = labels[thread.line] + (" (driving)" if thread.role == "driving" else "")
            head = RowHead(row_id, "thread", label, trace.host, None, thread.role, initially_shown)
            tracks.append(self._track(head, self._thread_columns(thread.line), thread.line))
        helpers = sorted(
            (track for track in tracks if track.head.role in _HELPER_ROLES),
            key=lambda track: -(track.share or 0),
        )
        for track in helpers[_MAX_UNFOLDED_HELPERS:]:
            track.head = replace(track.head, initially_shown=False)
        yield from tracks

    def _thread_columns(self, index: int) -> RowEvents:
        line = self.trace.lines[index]
        is_shown = ~self.hidden[self.trace.metadata_index[line.rows]]
        rows = np.flatnonzero(is_shown) + line.first
        parent = kernels.shown_parents(self.trace.parent, is_shown, line.first, len(rows))
        return self._columns(rows.astype(np.int32), parent)

    def _columns(self, rows: Int32, parent: Int32) -> RowEvents:
        trace = self.trace
        start = trace.start_ps[rows]
        name = self.names.of_metadata[trace.metadata_index[rows]]
        return RowEvents(start, start + trace.duration_ps[rows], name, self.class_index[rows], rows, parent)

    def _device(self, number: int, device: Device) -> Iterator[Track]:
        head = partial(self._device_head, number)
        op_classes = self._op_classes
        if len(device.runs):
            yield self._track(head("modules", "modules", "modules"), self._intervals(device.runs, None))
        if len(device.ops):
            columns = self._intervals(device.ops, op_classes)
            if device.from_host_events:  # ops are classified by their programs, not by names
                exchanges = collective_kinds(self.trace, number) >= 0
                columns.class_index[exchanges] = COLLECTIVE
            yield self._track(head("ops", "ops", "ops"), columns)
        stored_scopes = scope_line(self.trace, device)
        for name, index in device.lines.items():
            line = self.trace.lines[index]
            if name in _LINES_SHOWN_ELSEWHERE or not line.count:
                continue
            if name == "Async XLA Ops":
                row_head = self._async_head(number)
            elif line is stored_scopes:
                row_head = head("scopes", "scopes", "scopes")
            else:
                row_head = head(f"l{index}", "stream" if name.startswith("Stream") else "async", name)
            rows = np.arange(line.first, line.rows.stop, dtype=np.int32)
            parent = self.trace.parent[line.rows]
            columns = self._columns(rows, np.where(parent >= 0, parent - line.first, -1).astype(np.int32))
            columns.class_index = op_classes[self.trace.metadata_index[rows]]
            yield self._track(row_head, columns, index)
        for core in find_sparse_cores(self.trace, number):
            work = intervals_of_events(self.trace, np.concatenate((core.jobs, core.ops)))
            if len(work):
                yield self._track(
                    head(f"sc{core.number}", "sparse_core", core.name), self._intervals(work, op_classes)
                )

    def _intervals(self, intervals: NestedIntervals, op_classes: Int8 | None) -> RowEvents:
        class_index = (
            np.zeros(len(intervals), np.int8)
            if op_classes is None
            else op_classes[self.trace.metadata_index[intervals.row]]
        )
        name = texts_of_events(self.names.of_string, intervals.name)
        return RowEvents(
            np.ascontiguousarray(intervals.start_ps),
            np.ascontiguousarray(intervals.end_ps),
            name,
            class_index,
            intervals.row,
            intervals.parent,
        )

    @cached_property
    def _op_classes(self) -> Int8:
        """Per event metadata: an op, a collective, or an op that only waits for an asynchronous one."""
        trace = self.trace
        is_wait_op = trace.map_texts(trace.metadata.label, is_wait) > 0
        is_collective_op = trace.map_texts(trace.metadata.label, _is_collective) > 0
        categories = trace.metadata.text.get("hlo_category")
        if categories is not None:
            is_collective_op |= trace.map_texts(categories, _is_collective) > 0
            is_collective_op &= trace.map_texts(categories, is_host_transfer) <= 0
        return np.where(is_wait_op, STALL, np.where(is_collective_op, COLLECTIVE, OP)).astype(np.int8)


def _is_collective(text: str) -> bool:
    return collective_kind(text) is not None
