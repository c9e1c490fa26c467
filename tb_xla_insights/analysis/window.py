"""What every class, thread and device did in a window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tb_xla_insights.analysis.busy import busy, stalls
from tb_xla_insights.analysis.classes import partition, rows_touching, thread_segments
from tb_xla_insights.analysis.op_times import OpsOfWindow, Sums, annotations_of, sum_of_ops
from tb_xla_insights.analysis.segments import Segments
from tb_xla_insights.analysis.shares import by_class, class_shares
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Int8, Int32, Int64, SessionTrace, Spans, Thread, Trace
from tb_xla_insights.trace.threads import thread_labels

_TOP = 30
_TOP_OF_THREAD = 8
_TOP_OPS = 20


def window(session: SessionTrace, start_ps: int, end_ps: int, device: str | None = None) -> dict[str, Any]:
    """What happened in [start_ps, end_ps), as the page's `data/window` and the command line's `window` tell it.

    `by_class_ps` is the partition on the driving thread's host, which `host` names: the device's if one is given, else
    the first that has a driving thread; it adds up to `duration_ps`, as each host's does.

    `threads` are all that recorded something in the window, whatever they do for the training. Their `by_class_ps` and
    `no_class_ps` (device ops on a thread of the host, marks of thread pools) add up to `busy_ps`, and so do the own
    times of `top`, the names of events with most of it, and of `more`, all others.

    A device's busy and idle time add up to `span_ps`, the part of its span that lies in the window. `top_ops` and
    `more_ops` are its ops by name, with their own time in the window; that may exceed busy where ops run side by side.

    `annotations` has the ops of all these devices by annotation (`op_times.annotations_of`); the own times add up to
    those of the devices' ops.

    `top` has the names of events with most time of their own over all threads, without device ops.
    """
    hosts = [
        _HostWindow(number, trace, start_ps, end_ps, device)
        for number, trace in session.numbered()
        if device is None or any(it.id == device for it in trace.devices)
    ]
    names = _top_names([host.own_ps for host in hosts])
    return windows_together([host.part(names) for host in hosts], start_ps, end_ps)


@dataclass(frozen=True)
class HostWindow:
    """One host's part of a window, which outlasts its trace. `ops` are those of each device; `own_ps` is, per name of
    an event, its own time by class, the last column without one; `events` tells of names how many there are."""

    host: str
    driven: bool
    by_class_ps: dict[str, int]
    threads: list[dict[str, Any]]
    devices: list[dict[str, Any]]
    ops: list[Sums]
    own_ps: dict[str, Int64]
    events: dict[str, _Events]


class _Events(NamedTuple):
    """Events of a name that touch the window: their number, their time in it, and the longest one."""

    number: int
    total_ps: int
    longest: dict[str, Any]


def window_of_host(
    trace: Trace, number: int, start_ps: int, end_ps: int, device: str | None = None
) -> HostWindow:
    """One host's part, for `windows_together`; `number` is its place in the session."""
    host = _HostWindow(number, trace, start_ps, end_ps, device)
    return host.part(host.own_ps)


def windows_together(parts: Sequence[HostWindow], start_ps: int, end_ps: int) -> dict[str, Any]:
    """The window of the hosts of a session, as `window` tells it."""
    main = next((part for part in parts if part.driven), parts[0] if parts else None)
    return {
        "start_ps": start_ps,
        "end_ps": end_ps,
        "duration_ps": end_ps - start_ps,
        "host": main.host if main else None,
        "by_class_ps": main.by_class_ps if main else {},
        "hosts": [{"host": part.host, "by_class_ps": part.by_class_ps} for part in parts],
        "threads": [thread for part in parts for thread in part.threads],
        "devices": [device for part in parts for device in part.devices],
        "annotations": annotations_of(sums for part in parts for sums in part.ops),
        "top": _top(parts),
    }


def _shares(trace: Trace, start_ps: int, end_ps: int) -> dict[str, int]:
    return by_class(class_shares(partition(trace), np.array([start_ps]), np.array([end_ps]))[0])


def _device(
    trace: Trace, number: int, start_ps: int, end_ps: int, by_name: list[dict[str, Any]]
) -> dict[str, Any]:
    device = trace.devices[number]
    span_start, span_end = device.span_ps
    span = max(0, min(span_end, end_ps) - max(span_start, start_ps))
    at_work = busy(trace, device).clipped(start_ps, end_ps).total_ps
    return {
        "id": device.id,
        "name": device.name,
        "host": device.host,
        "span_ps": span,
        "busy_ps": at_work,
        "idle_ps": span - at_work,
        "stall_ps": stalls(trace, device).clipped(start_ps, end_ps).total_ps,
        "modules": _touching(device.modules, start_ps, end_ps),
        "ops": _touching(device.ops, start_ps, end_ps),
        "top_ops": by_name[:_TOP_OPS],
        "more_ops": sum_of_ops(by_name[_TOP_OPS:]),
    }


def _touching(spans: Spans, start_ps: int, end_ps: int) -> int:
    return int(np.count_nonzero((spans.start_ps < end_ps) & (spans.end_ps > start_ps)))


class _HostWindow:
    """One host's threads in the window: their timelines, and the events behind them."""

    def __init__(self, index: int, trace: Trace, start_ps: int, end_ps: int, device: str | None) -> None:
        self.index, self.trace, self.start_ps, self.end_ps = index, trace, start_ps, end_ps
        self._device = device
        self._labels = thread_labels(trace)
        self.threads: list[dict[str, Any]] = []
        self.segments: list[Segments] = []
        self.rows: list[Int32] = []
        for thread in trace.threads:
            self._add(thread)

    def _add(self, thread: Thread) -> None:
        trace = self.trace
        run = rows_touching(trace, thread.line, self.start_ps, self.end_ps)
        touches = (trace.end_ps[run] > self.start_ps) | (trace.start_ps[run] >= self.start_ps)
        rows = (np.flatnonzero(touches) + run.start).astype(np.int32)
        if not rows.size:
            return
        segments = thread_segments(trace, thread.line, self.start_ps, self.end_ps)
        self.segments.append(segments)
        self.rows.append(rows)
        busy_ps = int((segments.end_ps - segments.start_ps).sum())
        shares = by_class(np.array(segments.sums(len(CLASSES))))
        self.threads.append(
            {
                "row": f"h{self.index}.t{thread.line}",
                "name": self._labels[thread.line],
                "role": thread.role,
                "host": trace.host,
                "busy_ps": busy_ps,
                "events": len(rows),
                "by_class_ps": shares,
                "no_class_ps": busy_ps - sum(shares.values()),
                **_events_of_thread(trace, segments, rows),
            }
        )

    @cached_property
    def own_ps(self) -> dict[str, Int64]:
        """Per name of an event, its own time in the window by class, the last column without one. What a device did on
        a thread is told with its ops."""
        if not self.segments:
            return {}
        every = Segments(
            *(np.concatenate(column) for column in zip(*map(_columns, self.segments), strict=True))
        )
        ops = np.zeros(len(self.trace), np.bool_)
        if "hlo_op" in self.trace.stats:
            ops[self.trace.stats["hlo_op"].rows] = True
        return _by_name(self.trace, every.where((every.kind >= 0) | ~ops[every.row]))

    def part(self, names: Iterable[str]) -> HostWindow:
        """What is told of the host, and of events of these names."""
        trace = self.trace
        window = self.start_ps, self.end_ps
        ops = {
            number: OpsOfWindow(trace, number, *window)
            for number, it in enumerate(trace.devices)
            if self._device in (None, it.id)
        }
        return HostWindow(
            trace.host,
            bool(trace.lines_with("driving")),
            _shares(trace, self.start_ps, self.end_ps),
            self.threads,
            [_device(trace, number, *window, its.by_name()) for number, its in ops.items()],
            [its.by_annotation() for its in ops.values()],
            self.own_ps,
            dict(self._events([name for name in names if name in self.own_ps])),
        )

    def _events(self, names: Sequence[str]) -> Iterator[tuple[str, _Events]]:
        place = {name: number for number, name in enumerate(names)}
        trace = self.trace
        of_meta = np.array([place.get(trace.strings[text], -1) for text in trace.metadata.name], np.int32)
        found = [rows[of_meta[trace.meta[rows]] >= 0] for rows in self.rows]
        rows = np.concatenate([*found, np.zeros(0, np.int32)])
        number = of_meta[trace.meta[rows]]
        order = np.argsort(number, kind="stable")
        bounds = np.searchsorted(number[order], np.arange(len(names) + 1)).tolist()
        for name, (low, high) in zip(names, pairwise(bounds), strict=True):
            its = rows[order[low:high]]
            longest = int(its[trace.duration_ps[its].argmax()])
            yield (
                name,
                _Events(high - low, self._clipped_ps(its), self.brief(longest, _class(self.own_ps[name]))),
            )

    def _clipped_ps(self, rows: Int32) -> int:
        end = np.minimum(self.trace.end_ps[rows], self.end_ps)
        return int((end - np.maximum(self.trace.start_ps[rows], self.start_ps)).sum())

    def brief(self, row: int, class_: str | None) -> dict[str, Any]:
        trace = self.trace
        line = trace.line_of(row)
        return {
            "event": f"{self.index}.{row}",
            "row": f"h{self.index}.t{line.index}",
            "depth": int(trace.depth[row]),
            "name": trace.name(row),
            "class": class_,
            "thread": self._labels[line.index],
            "start_ps": int(trace.start_ps[row]),
            "duration_ps": int(trace.duration_ps[row]),
        }


def _columns(segments: Segments) -> tuple[Int64, Int64, Int8, Int32]:
    return segments.start_ps, segments.end_ps, segments.kind, segments.row


def _by_name(trace: Trace, segments: Segments) -> dict[str, Int64]:
    """Time per name of the event and class of the stretch, the last column without one."""
    width = len(CLASSES) + 1
    metas, place = np.unique(trace.meta[segments.row], return_inverse=True)
    sums = np.zeros((len(metas), width), np.int64)
    np.add.at(sums, (place, segments.kind % width), segments.end_ps - segments.start_ps)
    found: dict[str, Int64] = {}
    for text, some in zip(trace.metadata.name[metas].tolist(), sums, strict=True):
        name = trace.strings[text]
        found[name] = found[name] + some if name in found else some
    return found


def _class(sums: Int64) -> str | None:
    """The class of most of the time; None for none."""
    return (*CLASSES, None)[int(sums.argmax())]


def _events_of_thread(trace: Trace, segments: Segments, rows: Int32) -> dict[str, Any]:
    """`top`: the names of events with most time of their own on a thread; `more`: the sums of all others."""
    metas, events = np.unique(trace.meta[rows], return_counts=True)
    counts: Counter[str] = Counter()
    for text, some in zip(trace.metadata.name[metas].tolist(), events.tolist(), strict=True):
        counts[trace.strings[text]] += some
    sums = _by_name(trace, segments)
    times = {name: int(some.sum()) for name, some in sums.items()}
    names = sorted(times, key=lambda name: (-times[name], name))[:_TOP_OF_THREAD]
    shown = [
        {"name": name, "class": _class(sums[name]), "count": counts[name], "self_ps": times[name]}
        for name in names
    ]
    more = {
        "names": len(counts) - len(names),
        "count": len(rows) - sum(counts[name] for name in names),
        "self_ps": sum(times.values()) - sum(times[name] for name in names),
    }
    return {"top": shown, "more": more}


def _totals(hosts: Sequence[Mapping[str, Int64]]) -> dict[str, Int64]:
    totals: dict[str, Int64] = {}
    for host in hosts:
        for name, sums in host.items():
            totals[name] = totals.get(name, 0) + sums
    return totals


def _top_names(hosts: Sequence[Mapping[str, Int64]]) -> list[str]:
    """The names with most time of their own over all hosts."""
    totals = _totals(hosts)
    return sorted(totals, key=lambda name: (-totals[name].sum(), name))[:_TOP]


def _top(parts: Sequence[HostWindow]) -> list[dict[str, Any]]:
    """The names with most time of their own, over all threads."""
    every = [part.own_ps for part in parts]
    totals = _totals(every)
    found = []
    for name in _top_names(every):
        class_ = _class(totals[name])
        here = [part.events[name] for part in parts if name in part.events]
        longest = max(here, key=lambda it: it.longest["duration_ps"]).longest
        found.append(
            {
                "name": name,
                "class": class_,
                "count": sum(it.number for it in here),
                "total_ps": sum(it.total_ps for it in here),
                "self_ps": int(totals[name].sum()),
                "longest": longest | {"class": class_},
            }
        )
    return found
