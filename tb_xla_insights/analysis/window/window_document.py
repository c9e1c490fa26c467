"""What every class, thread and device did in a window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tb_xla_insights.analysis.time.class_times import class_times, times_by_class
from tb_xla_insights.analysis.time.intervals import touches_window
from tb_xla_insights.analysis.window.excerpt import DeviceExcerpt, Excerpt, ThreadExcerpt, excerpt
from tb_xla_insights.analysis.window.name_times import NO_CLASS, NameSums, NameTimes
from tb_xla_insights.analysis.window.op_times import (
    OpsOfWindow,
    Sums,
    annotations_of,
    paths_around,
    sum_of_ops,
)
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import CLASSES, ClassName
from tb_xla_insights.text.name_limit import shorten_name
from tb_xla_insights.trace.model import SessionTrace
from tb_xla_insights.trace.row_ids import RowId, thread_row

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import ByClass
    from tb_xla_insights.schema.window import (
        EventTime,
        LongestEvent,
        NameTime,
        OmittedRows,
        OpTime,
        Window,
        WindowDevice,
        WindowHost,
        WindowThread,
    )

_MAX_TOP_NAMES = 30
_MAX_NAMES_OF_THREAD = 8
_MAX_TOP_OPS = 20


def window(session: SessionTrace, start_ps: int, end_ps: int, device: str | None = None) -> Window:
    """What happened in [start_ps, end_ps): the answer of the page's `data/window` and the command line's `window`.

    `by_class_ps` is the host's time by class on `host`: the host of the given device, else the first one with a driving
    thread, else the first one. It adds up to `duration_ps`, as that of each host in `hosts` does.

    `threads` are all threads that recorded something in the window, whatever their role. Their `by_class_ps` and
    `no_class_ps` (device ops on a thread of the host, markers of thread pools) add up to `busy_ps`, and so do the own
    times of `top`, the event names with most own time, and `more`, all others.

    A device's busy and idle time add up to `span_ps`, the part of its span in the window. `top_ops` and `more_ops` are
    its ops by name, with their own time in the window; that may exceed busy time if ops run side by side.

    `annotations` has the ops of all these devices by annotation (`op_times.annotations_of`); the own times add up to
    those of the devices' ops.

    `top` has the event names with most own time over all threads, without device ops.
    """
    hosts = [
        _HostSums(excerpt(trace, start_ps, end_ps, device), start_ps, end_ps, index)
        for index, trace in session.numbered_traces()
        if device is None or any(candidate.id == device for candidate in trace.devices)
    ]
    names = _top_names(_totals([host.own_ps for host in hosts]))
    return merge_windows([host.window(names) for host in hosts], start_ps, end_ps)


@dataclass(frozen=True)
class HostWindow:
    """One host's part of a window, independent of its trace. `row_by_class`: as in `schema.window.WindowHost`, with
    rows of the host. `ops`: the sums of each device; `paths`: those of the ops' annotations and of the annotations
    around them; `own_ps`: by event name, its own time by class, with a last column for time without a class; `events`:
    by name, the sums of its events. `host_index`: the host's index in the session; `shift_ps`: the host's time 0 on the
    session's time base."""

    host: str
    has_driving_thread: bool
    by_class_ps: ByClass
    row_by_class: dict[ClassName, str]
    threads: list[WindowThread]
    devices: list[WindowDevice]
    ops: list[Sums]
    paths: frozenset[str]
    own_ps: dict[str, Int64]
    events: dict[str, _EventSums]
    host_index: int = 0
    shift_ps: int = 0

    def in_session(self, host_index: int, shift_ps: int) -> HostWindow:
        """This part, as that of the host with an index in the session, whose time 0 is shifted."""
        return replace(self, host_index=host_index, shift_ps=shift_ps)

    def host_row(self) -> WindowHost:
        """The host's activity, with row ids that are unique in the session."""
        rows = {name: str(RowId(self.host_index, row)) for name, row in self.row_by_class.items()}
        return {"host": self.host, "by_class_ps": self.by_class_ps, "row_by_class": rows}

    def thread_rows(self) -> list[WindowThread]:
        """The threads with row ids that are unique in the session."""
        return [{**thread, "row": str(RowId(self.host_index, thread["row"]))} for thread in self.threads]

    def longest_event(self, name: str, class_: ClassName | None) -> LongestEvent:
        """The longest event of a name, with ids and times of the session; `class_`: the name's main class over all
        hosts."""
        event = self.events[name].longest
        return {
            **event,
            "event": f"{self.host_index}.{event['event']}",
            "row": str(RowId(self.host_index, event["row"])),
            "start_ps": event["start_ps"] + self.shift_ps,
            "class": class_,
        }


class _EventSums(NamedTuple):
    """The events of a name that touch the window: their number, their time in it, and the longest one."""

    number: int
    total_ps: int
    longest: LongestEvent


def host_window(host_excerpt: Excerpt, start_ps: int, end_ps: int) -> HostWindow:
    """One host's part of a window, for `merge_windows`, from an excerpt that covers the window. Times are those of the
    excerpt."""
    sums = _HostSums(host_excerpt, start_ps, end_ps)
    return sums.window(sums.own_ps)


def merge_windows(parts: Sequence[HostWindow], start_ps: int, end_ps: int) -> Window:
    """The answer of `window`, from the parts of the session's hosts."""
    main = next((part for part in parts if part.has_driving_thread), parts[0] if parts else None)
    return {
        "start_ps": start_ps,
        "end_ps": end_ps,
        "duration_ps": end_ps - start_ps,
        "host": main.host if main else None,
        "by_class_ps": main.by_class_ps if main else {},
        "hosts": [part.host_row() for part in parts],
        "threads": [thread for part in parts for thread in part.thread_rows()],
        "devices": [device for part in parts for device in part.devices],
        "annotations": annotations_of(
            [sums for part in parts for sums in part.ops],
            frozenset().union(*(part.paths for part in parts)),
        ),
        "top": _top_rows(parts),
    }


def _device_row(device: DeviceExcerpt, start_ps: int, end_ps: int, by_name: list[OpTime]) -> WindowDevice:
    span_start, span_end = device.span_ps
    span = max(0, min(span_end, end_ps) - max(span_start, start_ps))
    busy_ps = device.busy.clipped(start_ps, end_ps).total_ps
    return {
        "id": device.id,
        "name": device.name,
        "host": device.host,
        "span_ps": span,
        "busy_ps": busy_ps,
        "idle_ps": span - busy_ps,
        "stall_ps": device.stalls.clipped(start_ps, end_ps).total_ps,
        "modules": _count_touching(*device.runs, start_ps, end_ps),
        "ops": _count_touching(device.ops.start_ps, device.ops.end_ps, start_ps, end_ps),
        "top_ops": by_name[:_MAX_TOP_OPS],
        "more_ops": sum_of_ops(by_name[_MAX_TOP_OPS:]),
    }


def _count_touching(starts: Int64, ends: Int64, start_ps: int, end_ps: int) -> int:
    return int(np.count_nonzero(touches_window(starts, ends, start_ps, end_ps)))


class _HostSums:
    """The sums of one host's threads in the window. Times are those of the excerpt."""

    def __init__(self, host_excerpt: Excerpt, start_ps: int, end_ps: int, host_index: int = 0) -> None:
        self._excerpt, self._host_index = host_excerpt, host_index
        self._start_ps, self._end_ps = start_ps, end_ps
        self._threads: list[WindowThread] = []
        self._times: list[tuple[ThreadExcerpt, NameTimes]] = []
        self.own_ps: dict[str, Int64]
        """By event name, its own time in the window by class, with a last column for time without a class. Device ops
        on a thread are left out; they count with the device."""
        name_sums = NameSums(len(host_excerpt.strings))
        for thread in host_excerpt.threads:
            times = name_sums.times(thread, start_ps, end_ps)
            if len(times.name):
                self._times.append((thread, times))
                self._threads.append(self._thread_row(thread, times))
        self.own_ps = self._own_ps_by_name()

    def _thread_row(self, thread: ThreadExcerpt, times: NameTimes) -> WindowThread:
        sums = times.own_ps.sum(axis=0)
        top, more = _events_of_thread(self._excerpt.strings, times)
        return {
            "row": thread_row(thread.line),
            "name": thread.label,
            "role": thread.role,
            "host": self._excerpt.host,
            "busy_ps": int(sums.sum()),
            "events": int(times.count.sum()),
            "by_class_ps": times_by_class(sums[:NO_CLASS]),
            "no_class_ps": int(sums[NO_CLASS]),
            "top": top,
            "more": more,
        }

    def _own_ps_by_name(self) -> dict[str, Int64]:
        if not self._times:
            return {}
        names, index = np.unique(
            np.concatenate([times.name for _, times in self._times]), return_inverse=True
        )
        own_ps = np.zeros((len(names), NO_CLASS + 1), np.int64)
        np.add.at(own_ps, index, np.concatenate([times.own_ps for _, times in self._times]))
        op_ps = np.concatenate([times.op_ps for _, times in self._times])
        np.subtract.at(own_ps[:, NO_CLASS], index, op_ps)
        rows = np.flatnonzero(own_ps.any(axis=1))
        return {
            self._excerpt.strings[name]: own_ps[row]
            for name, row in zip(names[rows].tolist(), rows, strict=True)
        }

    def window(self, names: Iterable[str]) -> HostWindow:
        """The host's part of the window, with `events` for some names."""
        host_excerpt = self._excerpt
        window = self._start_ps, self._end_ps
        edges = (np.array([instant]) for instant in window)
        devices, ops = [], []
        for device in host_excerpt.devices:
            assert host_excerpt.ops is not None, "an excerpt with devices includes their ops"
            ops_of_window = OpsOfWindow(device.ops, host_excerpt.ops, *window)
            devices.append(_device_row(device, *window, ops_of_window.by_name(host_excerpt.strings)))
            ops.append(ops_of_window.by_annotation())
        return HostWindow(
            host_excerpt.host,
            host_excerpt.has_driving_thread,
            times_by_class(class_times(host_excerpt.classes, *edges)[0]),
            self._row_by_class(),
            self._threads,
            devices,
            ops,
            paths_around(ops, host_excerpt.ops.paths if host_excerpt.ops else ()),
            self.own_ps,
            dict(self._event_sums([name for name in names if name in self.own_ps])),
            self._host_index,
        )

    def _row_by_class(self) -> dict[ClassName, str]:
        """By class of the host, the row of the thread whose events decide most of its time."""
        segments = self._excerpt.classes.clipped(self._start_ps, self._end_ps)
        segments = segments.select((segments.row >= 0) & (segments.class_index >= 0))
        threads = self._excerpt.threads
        first_rows = np.array([thread.first for thread in threads], np.int64)
        thread_of_segment = np.searchsorted(first_rows, segments.row, "right") - 1
        times = np.zeros((len(CLASSES), len(threads)), np.int64)
        np.add.at(times, (segments.class_index, thread_of_segment), segments.end_ps - segments.start_ps)
        return {
            name: thread_row(threads[int(row.argmax())].line)
            for name, row in zip(CLASSES, times, strict=True)
            if row.any()
        }

    def _event_sums(self, names: Sequence[str]) -> Iterator[tuple[str, _EventSums]]:
        rows_of_name: dict[str, list[tuple[ThreadExcerpt, NameTimes, int]]] = {name: [] for name in names}
        for thread, times in self._times:
            for row, name in enumerate(times.name.tolist()):
                if (text := self._excerpt.strings[name]) in rows_of_name:
                    rows_of_name[text].append((thread, times, row))
        for text, rows in rows_of_name.items():
            count = sum(int(times.count[row]) for _, times, row in rows)
            total_ps = sum(int(times.total_ps[row]) for _, times, row in rows)
            longest_events = [(thread, int(times.longest[row])) for thread, times, row in rows]
            thread, event = max(longest_events, key=lambda pair: pair[0].duration_ps[pair[1]])
            longest = self._longest_event(thread, event, _main_class(self.own_ps[text]))
            yield text, _EventSums(count, total_ps, longest)

    def _longest_event(self, thread: ThreadExcerpt, event: int, class_: ClassName | None) -> LongestEvent:
        return {
            "event": str(thread.first + event),
            "row": thread_row(thread.line),
            "depth": int(thread.depth[event]),
            "name": shorten_name(self._excerpt.strings[thread.name[event]]),
            "class": class_,
            "thread": shorten_name(thread.label),
            "start_ps": int(thread.start_ps[event]),
            "duration_ps": int(thread.duration_ps[event]),
        }


def _main_class(sums: Int64) -> ClassName | None:
    """The class with most time; None if that is time without a class."""
    return (*CLASSES, None)[int(sums.argmax())]


def _events_of_thread(strings: Sequence[str], times: NameTimes) -> tuple[list[EventTime], OmittedRows]:
    """`top`: the event names with most own time on a thread; `more`: the sums of all others."""
    self_ps = times.own_ps.sum(axis=1)
    rows = sorted(
        (-time, strings[name], row)
        for row, (name, time) in enumerate(zip(times.name.tolist(), self_ps.tolist(), strict=True))
        if time
    )[:_MAX_NAMES_OF_THREAD]
    top: list[EventTime] = [
        {
            "name": shorten_name(name),
            "class": _main_class(times.own_ps[row]),
            "count": int(times.count[row]),
            "self_ps": -time,
        }
        for time, name, row in rows
    ]
    more: OmittedRows = {
        "names": len(times.name) - len(top),
        "count": int(times.count.sum()) - sum(row["count"] for row in top),
        "self_ps": int(self_ps.sum()) - sum(row["self_ps"] for row in top),
    }
    return top, more


def _totals(own_ps_of_hosts: Sequence[Mapping[str, Int64]]) -> dict[str, Int64]:
    totals = dict(own_ps_of_hosts[0]) if own_ps_of_hosts else {}
    for own_ps in own_ps_of_hosts[1:]:
        for name, sums in own_ps.items():
            totals[name] = totals.get(name, 0) + sums
    return totals


def _top_names(totals: Mapping[str, Int64]) -> list[str]:
    """The names with most own time over all hosts."""
    time = {name: int(sums.sum()) for name, sums in totals.items()}
    return sorted(time, key=lambda name: (-time[name], name))[:_MAX_TOP_NAMES]


def _top_rows(parts: Sequence[HostWindow]) -> list[NameTime]:
    """The rows of the names with most own time over all threads."""
    totals = _totals([part.own_ps for part in parts])
    rows: list[NameTime] = []
    for name in _top_names(totals):
        class_ = _main_class(totals[name])
        hosts = [part for part in parts if name in part.events]
        longest = max(hosts, key=lambda host: host.events[name].longest["duration_ps"])
        rows.append(
            {
                "name": shorten_name(name),
                "class": class_,
                "count": sum(host.events[name].number for host in hosts),
                "total_ps": sum(host.events[name].total_ps for host in hosts),
                "self_ps": int(totals[name].sum()),
                "longest": longest.longest_event(name, class_),
            }
        )
    return rows
