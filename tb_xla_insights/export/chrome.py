"""A session as Chrome's trace events, for Perfetto and chrome://tracing.

A process per host and per device. Tracks are those of the timeline: steps, annotations, host time by class, threads;
program runs, ops and what else a device records, and its gaps. Plumbing, which the timeline does not show, is left out.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.gaps import gaps_report
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.timeline.pyramid import Lane
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.tracks import Track
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace

if TYPE_CHECKING:
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

    def hosts() -> Iterator[Iterator[tuple[bytes, int]]]:
        pid = 1
        for number, trace in session.numbered():
            yield _pieces(trace, number, pid, session.duration_ps)
            pid += 1 + len(trace.devices)

    return _write(file, session.name, session.start_unix_ns, hosts())


def write_chrome_of_hosts(session: Session, file: BinaryIO) -> int:
    """The same of a session of several hosts, of which no trace is kept."""
    placed = session.placed
    pids = list(accumulate((1 + len(it.devices) for it in placed), initial=1))
    task = partial(chrome_task, pids=pids, duration_ps=max(it.end_ps for it in placed))
    start = next((it.start_unix_ns for it in placed if it.start_unix_ns), 0)
    texts = session.read_again(task, [it.host for it in placed])
    return _write(file, session.name, start, (_unpacked(*it.value) for it in texts))


def chrome_task(trace: Trace, host: HostCapture, pids: Sequence[int], duration_ps: int) -> tuple[bytes, int]:
    """One host's text, packed, and how many events that are."""
    parts: list[bytes] = []
    packer, count = zlib.compressobj(1), 0
    for piece, events in _pieces(trace, host.number, pids[host.number], duration_ps):
        parts.append(packer.compress(piece if not parts else b",\n" + piece))
        count += events
    return b"".join([*parts, packer.flush()]), count


def _unpacked(packed: bytes, count: int) -> Iterator[tuple[bytes, int]]:
    yield zlib.decompress(packed), count


def _write(
    file: BinaryIO, name: str, start_unix_ns: int, hosts: Iterable[Iterator[tuple[bytes, int]]]
) -> int:
    head = {"session": name, "start_unix_ns": str(start_unix_ns), "producer": "XLA Insights"}
    file.write(b'{"displayTimeUnit":"ms","otherData":' + json.dumps(head).encode() + b',"traceEvents":[\n')
    count, first = 0, True
    for piece, events in chain.from_iterable(hosts):
        file.write(piece if first else b",\n" + piece)
        count, first = count + events, False
    file.write(b"\n]}\n")
    return count


def _pieces(trace: Trace, number: int, pid: int, duration_ps: int) -> Iterator[tuple[bytes, int]]:
    """Text of some events of a host, and how many that are: names of processes and tracks do not count. The host is
    process `pid`, its devices are those after it."""
    gaps: dict[str, list[dict[str, Any]]] = {}
    for gap in gaps_report(SessionTrace(trace.host, trace.path, [trace]), all_gaps=True)["items"]:
        gaps.setdefault(gap["device"], []).append(gap)
    tracks = HostRows(number, trace, duration_ps).tracks
    processes: list[tuple[str, list[Track], str | None]] = [
        ("host " + trace.host, [it for it in tracks if it.head.device is None], None)
    ]
    for device in trace.devices:
        name = f"{device.name} of {trace.host}"
        processes.append((name, [it for it in tracks if it.head.device == device.id], device.id))
    for process, (name, its, device_id) in enumerate(processes, pid):
        yield _named("process", process, 0, name), 0
        tid = 0
        if device_id is not None:
            tid += 1
            yield _named("thread", process, tid, "gaps"), 0
            yield from _gaps(gaps.get(device_id, []), process, tid)
        for track in its:
            for lane, events in enumerate(_flat(track)):
                tid += 1
                label = f"{track.head.label} {lane + 1}" if lane else track.head.label
                yield _named("thread", process, tid, label), 0
                yield from _events(track, events, process, tid)


@dataclass(frozen=True)
class _Flat:
    start_ps: Int64
    duration_ps: Int64
    room: NDArray[np.bool_]
    """Whether a picosecond more would still nest."""
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
    duration, room = (np.concatenate(column) for column in zip(*_durations(lanes), strict=True))
    depth = np.repeat(np.arange(len(lanes)), [len(lane) for lane in lanes])
    order = np.lexsort((depth, -end, start))
    return _Flat(start[order], duration[order], room[order], name[order], kind[order])


def _durations(lanes: Sequence[Lane]) -> Iterator[tuple[Int64, NDArray[np.bool_]]]:
    """Durations of lanes that nest, so that they nest in whole nanoseconds, too, and which of them have room.

    An outer event from 0.9 to 2.0 ns is one from 0 to 1 ns then, and an inner one from 1.0 to 2.0 ns, which would end
    after it, is made up to a nanosecond shorter; and what is inside of that one ends with it.
    """
    until = until_ns = np.empty(0, np.int64)
    for depth, lane in enumerate(lanes):
        duration = lane.end - lane.start
        limit = np.append(lane.start[1:], np.iinfo(np.int64).max)
        if depth:
            at = np.searchsorted(lanes[depth - 1].start, lane.start, "right") - 1
            limit = np.minimum(limit, until[at])
            room = limit > lane.start + duration
            late = (lane.start // _NS + _cut(duration, room) > until_ns[at]) & (duration >= _NS)
            duration = np.where(late, duration // _NS * _NS - 1, duration)
            duration = np.clip(duration, 0, np.maximum(0, limit - lane.start))
        until = lane.start + duration
        room = limit > until
        until_ns = lane.start // _NS + _cut(duration, room)
        yield duration, room


def _events(track: Track, flat: _Flat, pid: int, tid: int) -> Iterator[tuple[bytes, int]]:
    """Names and classes are few: what precedes the times is made once for each pair of them."""
    classes = track.head.device is None
    width = len(CLASSES) + 1
    key = (flat.name.astype(np.int64) + 1) * width + flat.kind + 1
    used = np.flatnonzero(np.bincount(key)) if key.size else key
    place = np.searchsorted(used, key)
    heads = []
    for name, kind in ((pair // width - 1, pair % width - 1) for pair in used.tolist()):
        category = CLASSES[kind] if classes and kind >= 0 else track.head.kind
        text = track.texts[name] if name >= 0 else category
        heads.append(_head(text, track.head.kind if track.head.kind == "steps" else category, pid, tid))
    for low in range(0, len(place), _CHUNK):
        part = slice(low, low + _CHUNK)
        times = _times(flat.start_ps[part], flat.duration_ps[part], flat.room[part])
        yield (
            b",\n".join([heads[i] + it for i, it in zip(place[part].tolist(), times, strict=True)]),
            len(times),
        )


def _gaps(gaps: Sequence[dict[str, Any]], pid: int, tid: int) -> Iterator[tuple[bytes, int]]:
    if not gaps:
        return
    ordered = sorted(gaps, key=lambda gap: gap["start_ps"])
    start, duration = (
        np.array([gap[key] for gap in ordered], np.int64) for key in ("start_ps", "duration_ps")
    )
    events = []
    for gap, times in zip(ordered, _times(start, duration), strict=True):
        told = {key: gap[key] for key in ("cause", "kind", "before", "after", "step_number")}
        head = _head(f"idle: {gap['cause'].replace('_', ' ')}", gap["cause"], pid, tid)
        events.append(head + times[:-1] + b',"args":' + json.dumps(told).encode() + b"}")
    yield b",\n".join(events), len(events)


def _head(name: str, category: str, pid: int, tid: int) -> bytes:
    return f'{{"ph":"X","pid":{pid},"tid":{tid},"name":{json.dumps(name)},"cat":"{category}","ts":'.encode()


def _named(what: str, pid: int, tid: int, name: str) -> bytes:
    order = tid if what == "thread" else pid
    events = [
        {"ph": "M", "pid": pid, "tid": tid, "name": f"{what}_name", "args": {"name": name}},
        {"ph": "M", "pid": pid, "tid": tid, "name": f"{what}_sort_index", "args": {"sort_index": order}},
    ]
    return b",\n".join(json.dumps(event).encode() for event in events)


def _times(start_ps: Int64, duration_ps: Int64, room: NDArray[np.bool_] | None = None) -> list[bytes]:
    """`<start>,"dur":<duration>}` of each event. `room`: which of them may end later; None: all.

    What is read is a float, which times 1000 may fall short of the nanosecond: 4.035 µs are 4034.9999999999995 ns. Cut
    to 4034 the event would begin within the one before, so all begin 0.3 ps later, alike: their distances stay. A
    duration gets these only where it falls short and has room; without, Perfetto shows it one nanosecond shorter.
    """
    middle, end = (np.frombuffer(text, np.uint8) for text in (b',"dur":', b"}"))
    count = len(start_ps)
    more = _falls_short(duration_ps) if room is None else _falls_short(duration_ps) & room
    columns = (
        _microseconds(start_ps, np.ones(count, np.bool_)),
        np.tile(middle, (count, 1)),
        _microseconds(duration_ps, more),
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
