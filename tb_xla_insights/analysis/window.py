"""What every class, thread and device did in a window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.excerpt import DeviceExcerpt, Excerpt, ThreadExcerpt, excerpt
from tb_xla_insights.analysis.op_times import OpsOfWindow, Sums, annotations_of, sum_of_ops
from tb_xla_insights.analysis.segments import Segments
from tb_xla_insights.analysis.shares import by_class, class_shares
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Int32, Int64, SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import ByClass

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
        _HostWindow(excerpt(trace, start_ps, end_ps, device), start_ps, end_ps, number)
        for number, trace in session.numbered()
        if device is None or any(it.id == device for it in trace.devices)
    ]
    names = _top_names([host.own_ps for host in hosts])
    return windows_together([host.part(names) for host in hosts], start_ps, end_ps)


@dataclass(frozen=True)
class HostWindow:
    """One host's part of a window, which outlasts its trace. `ops` are those of each device; `own_ps` is, per name of
    an event, its own time by class, the last column without one; `events` tells of names how many there are. `number`
    is the host's place in the session, `shift_ps` where its time 0 lies on the session's time base."""

    host: str
    driven: bool
    by_class_ps: ByClass
    threads: list[dict[str, Any]]
    devices: list[dict[str, Any]]
    ops: list[Sums]
    own_ps: dict[str, Int64]
    events: dict[str, _Events]
    number: int = 0
    shift_ps: int = 0

    def at(self, number: int, shift_ps: int) -> HostWindow:
        """The same at its place in the session."""
        return replace(self, number=number, shift_ps=shift_ps)

    def told_threads(self) -> list[dict[str, Any]]:
        return [thread | {"row": f"h{self.number}.{thread['row']}"} for thread in self.threads]

    def told_longest(self, name: str) -> dict[str, Any]:
        """The longest event of a name."""
        its = self.events[name].longest
        place = {"event": f"{self.number}.{its['event']}", "row": f"h{self.number}.{its['row']}"}
        return its | place | {"start_ps": its["start_ps"] + self.shift_ps}


class _Events(NamedTuple):
    """Events of a name that touch the window: their number, their time in it, and the longest one."""

    number: int
    total_ps: int
    longest: dict[str, Any]


def window_of_host(host: Excerpt, start_ps: int, end_ps: int) -> HostWindow:
    """One host's part, for `windows_together`, from an excerpt that holds the window. Times are those of the
    excerpt."""
    its = _HostWindow(host, start_ps, end_ps)
    return its.part(its.own_ps)


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
        "threads": [thread for part in parts for thread in part.told_threads()],
        "devices": [device for part in parts for device in part.devices],
        "annotations": annotations_of(sums for part in parts for sums in part.ops),
        "top": _top(parts),
    }


def _device(
    device: DeviceExcerpt, start_ps: int, end_ps: int, by_name: list[dict[str, Any]]
) -> dict[str, Any]:
    span_start, span_end = device.span_ps
    span = max(0, min(span_end, end_ps) - max(span_start, start_ps))
    at_work = device.busy.clipped(start_ps, end_ps).total_ps
    return {
        "id": device.id,
        "name": device.name,
        "host": device.host,
        "span_ps": span,
        "busy_ps": at_work,
        "idle_ps": span - at_work,
        "stall_ps": device.stalls.clipped(start_ps, end_ps).total_ps,
        "modules": _touching(*device.modules, start_ps, end_ps),
        "ops": _touching(device.ops.start_ps, device.ops.end_ps, start_ps, end_ps),
        "top_ops": by_name[:_TOP_OPS],
        "more_ops": sum_of_ops(by_name[_TOP_OPS:]),
    }


def _touching(its_start_ps: Int64, its_end_ps: Int64, start_ps: int, end_ps: int) -> int:
    return int(np.count_nonzero((its_start_ps < end_ps) & (its_end_ps > start_ps)))


class _HostWindow:
    """One host's threads in the window: their timelines, and the events behind them. Times are those of the
    excerpt."""

    def __init__(self, host: Excerpt, start_ps: int, end_ps: int, number: int = 0) -> None:
        self._host, self._number = host, number
        self._start_ps, self._end_ps = start_ps, end_ps
        self._told: list[dict[str, Any]] = []
        self._events: list[tuple[ThreadExcerpt, NDArray[np.intp]]] = []
        self.own_ps: dict[str, Int64] = {}
        """Per name of an event, its own time in the window by class, the last column without one. What a device did on
        a thread is told with its ops."""
        for thread in host.threads:
            self._add(thread)

    def _add(self, thread: ThreadExcerpt) -> None:
        events = thread.touching(self._start_ps, self._end_ps)
        if not events.size:
            return
        self._events.append((thread, events))
        segments = thread.segments.clipped(self._start_ps, self._end_ps)
        strings = self._host.strings
        sums = _by_name(strings, thread, segments)
        works = thread.is_op[segments.row - thread.first] & (segments.kind < 0)
        own = _by_name(strings, thread, segments.where(~works)) if works.any() else sums
        self.own_ps = _totals([self.own_ps, own])
        busy_ps = int((segments.end_ps - segments.start_ps).sum())
        shares = by_class(np.array(segments.sums(len(CLASSES))))
        self._told.append(
            {
                "row": f"t{thread.line}",
                "name": thread.label,
                "role": thread.role,
                "host": self._host.host,
                "busy_ps": busy_ps,
                "events": len(events),
                "by_class_ps": shares,
                "no_class_ps": busy_ps - sum(shares.values()),
                **_events_of_thread(strings, thread.name[events], sums),
            }
        )

    def part(self, names: Iterable[str]) -> HostWindow:
        """What is told of the host, and of events of these names."""
        host = self._host
        window = self._start_ps, self._end_ps
        edges = (np.array([it]) for it in window)
        devices, ops = [], []
        for device in host.devices:
            assert host.ops is not None, "an excerpt with devices tells their ops"
            its = OpsOfWindow(device.ops, host.ops, *window)
            devices.append(_device(device, *window, its.by_name(host.strings)))
            ops.append(its.by_annotation())
        return HostWindow(
            host.host,
            host.driven,
            by_class(class_shares(host.classes, *edges)[0]),
            self._told,
            devices,
            ops,
            self.own_ps,
            dict(self._of_names([name for name in names if name in self.own_ps])),
            self._number,
        )

    def _of_names(self, names: Sequence[str]) -> Iterator[tuple[str, _Events]]:
        place = {name: number for number, name in enumerate(names)}
        number_of = np.array([place.get(text, -1) for text in self._host.strings], np.int32)
        found = [events[number_of[thread.name[events]] >= 0] for thread, events in self._events]
        threads = [thread for thread, _ in self._events]
        of_thread = np.repeat(np.arange(len(found)), [len(events) for events in found])
        start_ps, duration_ps, name = (
            np.concatenate(
                [getattr(thread, column)[events] for thread, events in zip(threads, found, strict=True)]
            )
            if found
            else np.zeros(0, np.int64)
            for column in ("start_ps", "duration_ps", "name")
        )
        event = np.concatenate([*found, np.zeros(0, np.intp)])
        end_ps = np.minimum(start_ps + duration_ps, self._end_ps)
        time_ps = end_ps - np.maximum(start_ps, self._start_ps)
        number = number_of[name]
        order = np.argsort(number, kind="stable")
        bounds = np.searchsorted(number[order], np.arange(len(names) + 1)).tolist()
        for text, (low, high) in zip(names, pairwise(bounds), strict=True):
            its = order[low:high]
            longest = int(its[duration_ps[its].argmax()])
            brief = self._brief(threads[of_thread[longest]], int(event[longest]), _class(self.own_ps[text]))
            yield text, _Events(high - low, int(time_ps[its].sum()), brief)

    def _brief(self, thread: ThreadExcerpt, event: int, class_: str | None) -> dict[str, Any]:
        return {
            "event": thread.first + event,
            "row": f"t{thread.line}",
            "depth": int(thread.depth[event]),
            "name": self._host.strings[thread.name[event]],
            "class": class_,
            "thread": thread.label,
            "start_ps": int(thread.start_ps[event]),
            "duration_ps": int(thread.duration_ps[event]),
        }


def _by_name(strings: Sequence[str], thread: ThreadExcerpt, segments: Segments) -> dict[str, Int64]:
    """Time per name of the event and class of the stretch, the last column without one."""
    width = len(CLASSES) + 1
    names, place = np.unique(thread.name[segments.row - thread.first], return_inverse=True)
    sums = np.zeros((len(names), width), np.int64)
    np.add.at(sums, (place, segments.kind % width), segments.end_ps - segments.start_ps)
    return {strings[name]: some for name, some in zip(names.tolist(), sums, strict=True)}


def _class(sums: Int64) -> str | None:
    """The class of most of the time; None for none."""
    return (*CLASSES, None)[int(sums.argmax())]


def _events_of_thread(strings: Sequence[str], events: Int32, sums: Mapping[str, Int64]) -> dict[str, Any]:
    """`top`: the names of events with most time of their own on a thread; `more`: the sums of all others."""
    found, numbers = np.unique(events, return_counts=True)
    counts = {strings[name]: some for name, some in zip(found.tolist(), numbers.tolist(), strict=True)}
    times = {name: int(some.sum()) for name, some in sums.items()}
    names = sorted(times, key=lambda name: (-times[name], name))[:_TOP_OF_THREAD]
    shown = [
        {"name": name, "class": _class(sums[name]), "count": counts[name], "self_ps": times[name]}
        for name in names
    ]
    more = {
        "names": len(counts) - len(names),
        "count": len(events) - sum(counts[name] for name in names),
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
        here = [part for part in parts if name in part.events]
        longest = max(here, key=lambda it: it.events[name].longest["duration_ps"]).told_longest(name)
        found.append(
            {
                "name": name,
                "class": class_,
                "count": sum(it.events[name].number for it in here),
                "total_ps": sum(it.events[name].total_ps for it in here),
                "self_ps": int(totals[name].sum()),
                "longest": longest | {"class": class_},
            }
        )
    return found
