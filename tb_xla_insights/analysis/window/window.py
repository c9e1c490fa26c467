"""What every class, thread and device did in a window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tb_xla_insights.analysis.time.class_times import by_class, class_times
from tb_xla_insights.analysis.window.excerpt import DeviceExcerpt, Excerpt, ThreadExcerpt, excerpt
from tb_xla_insights.analysis.window.name_times import NO_CLASS, Names, NameTimes
from tb_xla_insights.analysis.window.op_times import OpsOfWindow, Sums, annotations_of, sum_of_ops
from tb_xla_insights.catalog.classes import CLASSES, ClassName
from tb_xla_insights.name_limit import shorten_name
from tb_xla_insights.trace.model import Int64, SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import ByClass
    from tb_xla_insights.schema.window import (
        EventTime,
        LongestEvent,
        More,
        NameTime,
        OpTime,
        Window,
        WindowDevice,
        WindowThread,
    )

_TOP = 30
_TOP_OF_THREAD = 8
_TOP_OPS = 20


def window(session: SessionTrace, start_ps: int, end_ps: int, device: str | None = None) -> Window:
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
    names = _top_names(_totals([host.own_ps for host in hosts]))
    return merge_windows([host.part(names) for host in hosts], start_ps, end_ps)


@dataclass(frozen=True)
class HostWindow:
    """One host's part of a window, which outlasts its trace. `ops` are those of each device; `own_ps` is, per name of
    an event, its own time by class, the last column without one; `events` tells of names how many there are. `number`
    is the host's place in the session, `shift_ps` where its time 0 lies on the session's time base."""

    host: str
    driven: bool
    by_class_ps: ByClass
    threads: list[WindowThread]
    devices: list[WindowDevice]
    ops: list[Sums]
    own_ps: dict[str, Int64]
    events: dict[str, _Events]
    number: int = 0
    shift_ps: int = 0

    def at(self, number: int, shift_ps: int) -> HostWindow:
        """The same at its place in the session."""
        return replace(self, number=number, shift_ps=shift_ps)

    def told_threads(self) -> list[WindowThread]:
        return [{**thread, "row": f"h{self.number}.{thread['row']}"} for thread in self.threads]

    def told_longest(self, name: str, class_: ClassName | None) -> LongestEvent:
        """The longest event of a name, in the class of that name in all hosts."""
        its = self.events[name].longest
        return {
            **its,
            "event": f"{self.number}.{its['event']}",
            "row": f"h{self.number}.{its['row']}",
            "start_ps": its["start_ps"] + self.shift_ps,
            "class": class_,
        }


class _Events(NamedTuple):
    """Events of a name that touch the window: their number, their time in it, and the longest one."""

    number: int
    total_ps: int
    longest: LongestEvent


def host_window(host: Excerpt, start_ps: int, end_ps: int) -> HostWindow:
    """One host's part, for `merge_windows`, from an excerpt that holds the window. Times are those of the
    excerpt."""
    its = _HostWindow(host, start_ps, end_ps)
    return its.part(its.own_ps)


def merge_windows(parts: Sequence[HostWindow], start_ps: int, end_ps: int) -> Window:
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


def _device(device: DeviceExcerpt, start_ps: int, end_ps: int, by_name: list[OpTime]) -> WindowDevice:
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
        self._told: list[WindowThread] = []
        self._times: list[tuple[ThreadExcerpt, NameTimes]] = []
        self.own_ps: dict[str, Int64]
        """Per name of an event, its own time in the window by class, the last column without one. What a device did on
        a thread is told with its ops."""
        names = Names(len(host.strings))
        for thread in host.threads:
            times = names.times(thread, start_ps, end_ps)
            if len(times.name):
                self._times.append((thread, times))
                self._told.append(self._thread(thread, times))
        self.own_ps = self._own_ps()

    def _thread(self, thread: ThreadExcerpt, times: NameTimes) -> WindowThread:
        sums = times.own_ps.sum(axis=0)
        top, more = _events_of_thread(self._host.strings, times)
        return {
            "row": f"t{thread.line}",
            "name": thread.label,
            "role": thread.role,
            "host": self._host.host,
            "busy_ps": int(sums.sum()),
            "events": int(times.count.sum()),
            "by_class_ps": by_class(sums[:NO_CLASS]),
            "no_class_ps": int(sums[NO_CLASS]),
            "top": top,
            "more": more,
        }

    def _own_ps(self) -> dict[str, Int64]:
        if not self._times:
            return {}
        names, place = np.unique(
            np.concatenate([times.name for _, times in self._times]), return_inverse=True
        )
        own = np.zeros((len(names), NO_CLASS + 1), np.int64)
        np.add.at(own, place, np.concatenate([times.own_ps for _, times in self._times]))
        of_ops = np.concatenate([times.of_ops_ps for _, times in self._times])
        np.subtract.at(own[:, NO_CLASS], place, of_ops)
        its = np.flatnonzero(own.any(axis=1))
        return {self._host.strings[name]: own[at] for name, at in zip(names[its].tolist(), its, strict=True)}

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
            by_class(class_times(host.classes, *edges)[0]),
            self._told,
            devices,
            ops,
            self.own_ps,
            dict(self._of_names([name for name in names if name in self.own_ps])),
            self._number,
        )

    def _of_names(self, names: Sequence[str]) -> Iterator[tuple[str, _Events]]:
        found: dict[str, list[tuple[ThreadExcerpt, NameTimes, int]]] = {name: [] for name in names}
        for thread, times in self._times:
            for place, name in enumerate(times.name.tolist()):
                if (text := self._host.strings[name]) in found:
                    found[text].append((thread, times, place))
        for text, its in found.items():
            thread, times, place = max(its, key=lambda it: it[0].duration_ps[it[1].longest[it[2]]])
            brief = self._brief(thread, int(times.longest[place]), _class(self.own_ps[text]))
            count, total = (
                sum(int(getattr(times, key)[place]) for _, times, place in its)
                for key in ("count", "total_ps")
            )
            yield text, _Events(count, total, brief)

    def _brief(self, thread: ThreadExcerpt, event: int, class_: ClassName | None) -> LongestEvent:
        return {
            "event": str(thread.first + event),
            "row": f"t{thread.line}",
            "depth": int(thread.depth[event]),
            "name": shorten_name(self._host.strings[thread.name[event]]),
            "class": class_,
            "thread": shorten_name(thread.label),
            "start_ps": int(thread.start_ps[event]),
            "duration_ps": int(thread.duration_ps[event]),
        }


def _class(sums: Int64) -> ClassName | None:
    """The class of most of the time; None for none."""
    return (*CLASSES, None)[int(sums.argmax())]


def _events_of_thread(strings: Sequence[str], times: NameTimes) -> tuple[list[EventTime], More]:
    """`top`: the names of events with most time of their own on a thread; `more`: the sums of all others."""
    self_ps = times.own_ps.sum(axis=1)
    rows = sorted(
        (-time, strings[name], place)
        for place, (name, time) in enumerate(zip(times.name.tolist(), self_ps.tolist(), strict=True))
        if time
    )[:_TOP_OF_THREAD]
    shown: list[EventTime] = [
        {
            "name": shorten_name(name),
            "class": _class(times.own_ps[place]),
            "count": int(times.count[place]),
            "self_ps": -time,
        }
        for time, name, place in rows
    ]
    more: More = {
        "names": len(times.name) - len(shown),
        "count": int(times.count.sum()) - sum(row["count"] for row in shown),
        "self_ps": int(self_ps.sum()) - sum(row["self_ps"] for row in shown),
    }
    return shown, more


def _totals(hosts: Sequence[Mapping[str, Int64]]) -> dict[str, Int64]:
    totals = dict(hosts[0]) if hosts else {}
    for host in hosts[1:]:
        for name, sums in host.items():
            totals[name] = totals.get(name, 0) + sums
    return totals


def _top_names(totals: Mapping[str, Int64]) -> list[str]:
    """The names with most time of their own over all hosts."""
    time = {name: int(sums.sum()) for name, sums in totals.items()}
    return sorted(time, key=lambda name: (-time[name], name))[:_TOP]


def _top(parts: Sequence[HostWindow]) -> list[NameTime]:
    """The names with most time of their own, over all threads."""
    totals = _totals([part.own_ps for part in parts])
    found: list[NameTime] = []
    for name in _top_names(totals):
        class_ = _class(totals[name])
        here = [part for part in parts if name in part.events]
        longest = max(here, key=lambda it: it.events[name].longest["duration_ps"])
        found.append(
            {
                "name": shorten_name(name),
                "class": class_,
                "count": sum(it.events[name].number for it in here),
                "total_ps": sum(it.events[name].total_ps for it in here),
                "self_ps": int(totals[name].sum()),
                "longest": longest.told_longest(name, class_),
            }
        )
    return found
