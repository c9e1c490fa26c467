"""A session as Chrome's trace events, for Perfetto and chrome://tracing.

A process per host and per device. Tracks are those of the timeline: steps, annotations, host time by class, threads;
program runs, ops and what else a device records, and its gaps. Plumbing, which the timeline does not show, is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.timeline.pyramid import Lane
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.tracks import Track
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.gaps import Gap
    from tb_xla_insights.session import Session
    from tb_xla_insights.tasks import HostCapture

_CHUNK = 1 << 16
"""Events that become text at once."""
_NS = 1000
"""Perfetto cuts starts and durations, each on its own, to nanoseconds, and drops what does not nest then."""

Text = NDArray[np.uint8]


def write_chrome(session: SessionTrace, file: BinaryIO) -> int:
    """Writes the trace, as one JSON object, and returns how many events it has.

    Every event is a complete one (`ph` is `X`). Within a track they come by start, and of those that begin together the
    outer one first; `ts` and `dur` are microseconds with all six decimals, and a seventh that is no part of the time
    (see `_times`). In these decimals, and rounded to picoseconds, whatever overlaps nests. `cat` is the class of a
    host's event, and what a device's track shows. Gaps have `args` with cause, kind and the programs before and after.
    """

    hosts = ((_processes(trace), 0) for trace in session.traces)
    return _write(file, session.name, session.start_unix_ns, hosts)


def write_chrome_of_hosts(session: Session, file: BinaryIO) -> int:
    """The same of a session of several hosts, of which no trace is kept."""
    with session.hosts.map_with_shifts(chrome_task) as hosts:
        placed = ((processes, host.shift_ps) for processes, host in hosts)
        return _write(file, session.name, session.hosts.start_unix_ns, placed)


def chrome_task(trace: Trace, _: HostCapture) -> list[_Process]:
    """What one host's text is made of, once it is known where the host lies on the session's time base."""
    return list(_processes(trace))


def _write(
    file: BinaryIO, name: str, start_unix_ns: int, hosts: Iterable[tuple[Iterable[_Process], int]]
) -> int:
    """`hosts` come with how far each is moved in time, in picoseconds."""
    head = {"session": name, "start_unix_ns": str(start_unix_ns), "producer": "XLA Insights"}
    file.write(b'{"displayTimeUnit":"ms","otherData":' + json.dumps(head).encode() + b',"traceEvents":[\n')
    count, before = 0, b""
    every = ((process, shift_ps) for processes, shift_ps in hosts for process in processes)
    for pid, (process, shift_ps) in enumerate(every, 1):
        for piece, events in _text(process, pid, shift_ps):
            file.write(before + piece)
            count, before = count + events, b",\n"
    file.write(b"\n]}\n")
    return count


class _Drawn(NamedTuple):
    """A track's events. `head` is, per event, which of `heads` (name and category) it has; `told` are its arguments,
    where events have some."""

    label: str
    heads: list[tuple[str, str]]
    head: NDArray[np.integer]
    nest: _Nest
    told: list[dict[str, Any]] | None = None


class _Nest(NamedTuple):
    """Events that nest, by start; of those that begin together the outer one first. Those of a depth do not overlap."""

    start_ps: Int64
    end_ps: Int64
    depth: NDArray[np.int16]


class _Process(NamedTuple):
    """A host or a device, and its tracks."""

    name: str
    tracks: Iterable[_Drawn]


def _processes(trace: Trace) -> Iterator[_Process]:
    """A host, then its devices."""
    gaps: dict[str, list[Gap]] = {}
    for gap in gaps_report(SessionTrace(trace.host, trace.path, [trace]), all_gaps=True)["items"]:
        gaps.setdefault(gap["device"], []).append(gap)
    tracks = HostRows(0, trace, trace.span_ps[1]).tracks
    yield _Process("host " + trace.host, _drawn(it for it in tracks if it.head.device is None))
    for device in trace.devices:
        its = _drawn(it for it in tracks if it.head.device == device.id)
        yield _Process(f"{device.name} of {trace.host}", [_gaps(gaps.get(device.id, [])), *its])


def _drawn(tracks: Iterable[Track]) -> list[_Drawn]:
    return [
        _events(track, f"{track.head.label} {lane + 1}" if lane else track.head.label, events)
        for track in tracks
        for lane, events in enumerate(_flat(track))
    ]


def _text(process: _Process, pid: int, shift_ps: int) -> Iterator[tuple[bytes, int]]:
    """Text of some events, and how many that are: names of processes and tracks do not count."""
    yield _named("process", pid, 0, process.name), 0
    for tid, track in enumerate(process.tracks, 1):
        yield _named("thread", pid, tid, track.label), 0
        heads = [_head(*head, pid, tid) for head in track.heads]
        start = track.nest.start_ps + shift_ps
        duration, room = _durations(track.nest._replace(start_ps=start, end_ps=track.nest.end_ps + shift_ps))
        for low in range(0, len(track.head), _CHUNK):
            part = slice(low, low + _CHUNK)
            times = _times(start[part], duration[part], room[part])
            events = [heads[i] + it for i, it in zip(track.head[part].tolist(), times, strict=True)]
            if track.told is not None:
                told = track.told[part]
                events = [
                    it[:-1] + b',"args":' + json.dumps(its).encode() + b"}"
                    for it, its in zip(events, told, strict=True)
                ]
            yield b",\n".join(events), len(events)


class _Flat(NamedTuple):
    nest: _Nest
    name: NDArray[np.integer]
    kind: NDArray[np.integer]


def _flat(track: Track) -> list[_Flat]:
    """The track's lanes as one where all that overlaps nests, as viewers want it of a track; else each on its own."""
    lanes = [lane for lane in track.lanes if len(lane)]
    nested = all(_inside(lane, outer) for outer, lane in pairwise(lanes))
    groups = [lanes] if nested and lanes else [[lane] for lane in lanes]
    return [_joined(group) for group in groups]


def _inside(lane: Lane, outer: Lane) -> bool:
    """Whether every slice of a lane lies within one of the lane above."""
    at = np.searchsorted(outer.start, lane.start, "right") - 1
    return bool(np.all((at >= 0) & (outer.end[at] >= lane.end)))


def _joined(lanes: Sequence[Lane]) -> _Flat:
    start, end, name, kind = (
        np.concatenate([getattr(lane, column) for lane in lanes])
        for column in ("start", "end", "name", "kind")
    )
    depth = np.repeat(np.arange(len(lanes), dtype=np.int16), [len(lane) for lane in lanes])
    order = np.lexsort((depth, -end, start))
    return _Flat(_Nest(start[order], end[order], depth[order]), name[order], kind[order])


def _durations(nest: _Nest) -> tuple[Int64, NDArray[np.bool_]]:
    """Durations of events, so that they nest in whole nanoseconds, too, and which of them have room for a picosecond
    more.

    An outer event from 0.9 to 2.0 ns is one from 0 to 1 ns then, and an inner one from 1.0 to 2.0 ns, which would end
    after it, is made up to a nanosecond shorter; and what is inside of that one ends with it.
    """
    durations, rooms = nest.end_ps - nest.start_ps, np.ones(len(nest.depth), np.bool_)
    outer = until = until_ns = np.empty(0, np.int64)
    for depth in range(int(nest.depth.max(initial=-1)) + 1):
        lane = nest.depth == depth
        start, duration = nest.start_ps[lane], durations[lane]
        limit = np.append(start[1:], np.iinfo(np.int64).max)
        if depth:
            at = np.searchsorted(outer, start, "right") - 1
            limit = np.minimum(limit, until[at])
            room = limit > start + duration
            late = (start // _NS + _cut(duration, room) > until_ns[at]) & (duration >= _NS)
            duration = np.where(late, duration // _NS * _NS - 1, duration)
            duration = np.clip(duration, 0, np.maximum(0, limit - start))
        outer, until = start, start + duration
        room = limit > until
        until_ns = start // _NS + _cut(duration, room)
        durations[lane], rooms[lane] = duration, room
    return durations, rooms


def _events(track: Track, label: str, flat: _Flat) -> _Drawn:
    """Names and classes are few: what precedes the times is made once for each pair of them."""
    classes = track.head.device is None
    width = len(CLASSES) + 1
    key = (flat.name.astype(np.int64) + 1) * width + flat.kind + 1
    used = np.flatnonzero(np.bincount(key)) if key.size else key
    place = np.searchsorted(used, key).astype(np.int32)
    heads = []
    for name, kind in ((pair // width - 1, pair % width - 1) for pair in used.tolist()):
        category = CLASSES[kind] if classes and kind >= 0 else track.head.kind
        text = track.texts[name] if name >= 0 else category
        heads.append((text, track.head.kind if track.head.kind == "steps" else category))
    return _Drawn(label, heads, place, flat.nest)


def _gaps(gaps: Sequence[Gap]) -> _Drawn:
    ordered = sorted(gaps, key=lambda gap: gap["start_ps"])
    start = np.array([gap["start_ps"] for gap in ordered], np.int64)
    duration = np.array([gap["duration_ps"] for gap in ordered], np.int64)
    causes = sorted({gap["cause"] for gap in ordered})
    heads = [(f"idle: {cause.replace('_', ' ')}", str(cause)) for cause in causes]
    kept = ("cause", "kind", "before", "after", "step_number")
    told = [{key: value for key, value in gap.items() if key in kept} for gap in ordered]
    head = np.array([causes.index(gap["cause"]) for gap in ordered], np.int32)
    nest = _Nest(start, start + duration, np.zeros(len(ordered), np.int16))
    return _Drawn("gaps", heads, head, nest, told)


def _head(name: str, category: str, pid: int, tid: int) -> bytes:
    return f'{{"ph":"X","pid":{pid},"tid":{tid},"name":{json.dumps(name)},"cat":"{category}","ts":'.encode()


def _named(what: str, pid: int, tid: int, name: str) -> bytes:
    order = tid if what == "thread" else pid
    events = [
        {"ph": "M", "pid": pid, "tid": tid, "name": f"{what}_name", "args": {"name": name}},
        {"ph": "M", "pid": pid, "tid": tid, "name": f"{what}_sort_index", "args": {"sort_index": order}},
    ]
    return b",\n".join(json.dumps(event).encode() for event in events)


def _times(start_ps: Int64, duration_ps: Int64, room: NDArray[np.bool_]) -> list[bytes]:
    """`<start>,"dur":<duration>}` of each event. `room`: which of them may end later.

    What is read is a float, which times 1000 may fall short of the nanosecond: 4.035 µs are 4034.9999999999995 ns. Cut
    to 4034 the event would begin within the one before, so all begin 0.3 ps later, alike: their distances stay. A
    duration gets these only where it falls short and has room; without, Perfetto shows it one nanosecond shorter.
    """
    middle, end = (np.frombuffer(text, np.uint8) for text in (b',"dur":', b"}"))
    count = len(start_ps)
    columns = (
        _microseconds(start_ps, np.ones(count, np.bool_)),
        np.tile(middle, (count, 1)),
        _microseconds(duration_ps, _falls_short(duration_ps) & room),
        np.tile(end, (count, 1)),
    )
    rows = np.ascontiguousarray(np.concatenate(columns, axis=1))
    found: list[bytes] = rows.view(f"S{rows.shape[1]}").ravel().tolist()
    return found


def _falls_short(ps: Int64) -> NDArray[np.bool_]:
    """Which times, read as a float in microseconds, are cut to a nanosecond less."""
    short: NDArray[np.bool_] = (ps / 10**6 * 1000).astype(np.int64) < ps // _NS
    return short


def _cut(duration_ps: Int64, room: NDArray[np.bool_]) -> Int64:
    """The nanoseconds that Perfetto makes of durations."""
    return duration_ps // _NS - (_falls_short(duration_ps) & ~room)


def _microseconds(ps: Int64, more: NDArray[np.bool_]) -> Text:
    """Picoseconds as decimal microseconds, and 0.3 of one where there is to be `more`, one row of characters each;
    space before the first digit. Digits are made column by column: formatting numbers one by one takes longer than
    reading the capture."""
    whole, fraction = np.divmod(ps, 10**6)
    width = max(1, len(str(int(whole.max(initial=0)))))
    text = np.full((len(ps), width + 8), ord(" "), np.uint8)
    text[:, -8] = ord(".")
    text[:, -1] = np.where(more, ord("3"), ord("0"))
    for place in range(2, 8):
        fraction, digit = np.divmod(fraction, 10)
        text[:, -place] = ord("0") + digit
    for place in range(9, 9 + width):
        shown = (whole > 0) | (place == 9)
        whole, digit = np.divmod(whole, 10)
        text[:, -place] = np.where(shown, ord("0") + digit, ord(" "))
    return text
