"""Writes a session as Chrome's trace events, for Perfetto and chrome://tracing.

Each host and each device is a process. Its tracks are those of the timeline: steps, annotations, host time by class and
threads; program runs, ops and other lines of a device, and its gaps. Events that threads do not show in the timeline
(see `timeline.rows`) are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report.gap_text import cause_text
from tb_xla_insights.timeline.pyramid.pyramid import Lane
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.tracks import Track
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.gaps import Gap
    from tb_xla_insights.session import Session
    from tb_xla_insights.tasks import HostCapture

_CHUNK_EVENTS = 1 << 16
"""The number of events that are formatted at once."""
_PS_PER_NS = 1000
"""Perfetto truncates starts and durations separately to nanoseconds and drops events that then overlap."""

Text = NDArray[np.uint8]
"""Characters, a row per text."""


def write_chrome(session: SessionTrace, file: BinaryIO) -> int:
    """Writes the trace as one JSON object and returns the number of its events.

    Every event is complete (`ph` is `X`) except those that name processes and tracks, which are not counted. Within a
    track, events are ordered by start, outer events first. `ts` and `dur` are microseconds with six decimals, and a
    seventh that is not part of the time (see `_format_times`); with these decimals, and rounded to picoseconds,
    overlapping events nest. `cat` is the class of a host's event, the cause of a gap, or the kind of the track for
    steps, events without a class, and other events of devices. Gaps are named after their cause, in the same words as
    in the report's texts, and have `args` with cause, kind, the programs before and after, and the step's number."""
    hosts = ((_processes(trace), 0) for trace in session.traces)
    return _write(file, session.name, session.start_unix_ns, hosts)


def write_chrome_of_hosts(session: Session, file: BinaryIO) -> int:
    """Writes a session of several hosts as `write_chrome` does, without keeping their traces in memory."""
    with session.hosts.map_with_shifts(chrome_task) as hosts:
        shifted = ((processes, host.shift_ps) for processes, host in hosts)
        return _write(file, session.name, session.hosts.start_unix_ns, shifted)


def chrome_task(trace: Trace, _: HostCapture) -> list[_Process]:
    """The processes of one host, in the host's own times; formatted once its shift is known."""
    return list(_processes(trace))


def _write(
    file: BinaryIO, name: str, start_unix_ns: int, hosts: Iterable[tuple[Iterable[_Process], int]]
) -> int:
    """Writes the hosts, each with its shift in picoseconds."""
    head = {"session": name, "start_unix_ns": str(start_unix_ns), "producer": "XLA Insights"}
    file.write(b'{"displayTimeUnit":"ms","otherData":' + json.dumps(head).encode() + b',"traceEvents":[\n')
    count, separator = 0, b""
    numbered = enumerate(((process, shift) for processes, shift in hosts for process in processes), 1)
    for pid, (process, shift_ps) in numbered:
        for text, events in _format_process(process, pid, shift_ps):
            file.write(separator + text)
            count, separator = count + events, b",\n"
    file.write(b"\n]}\n")
    return count


class _TrackEvents(NamedTuple):
    """A track's events. `heads` are the distinct pairs of name and category, `head` has the index of each event's pair,
    and `arguments` the events' `args`, if any."""

    label: str
    heads: Sequence[tuple[str, str]]
    head: NDArray[np.integer]
    times: _NestedTimes
    arguments: list[dict[str, Any]] | None = None


class _NestedTimes(NamedTuple):
    """Times of nested events, ordered by start, outer events first. Events of the same depth do not overlap."""

    start_ps: Int64
    end_ps: Int64
    depth: NDArray[np.int16]


class _Process(NamedTuple):
    """A host or a device with its tracks."""

    name: str
    tracks: Iterable[_TrackEvents]


def _processes(trace: Trace) -> Iterator[_Process]:
    """Yields the process of a host, then those of its devices."""
    gaps: dict[str, list[Gap]] = {}
    for gap in gaps_report(trace, all_gaps=True)["items"]:
        gaps.setdefault(gap["device"], []).append(gap)
    tracks = HostRows(0, trace, trace.span_ps[1]).tracks
    yield _Process("host " + trace.host, _events_of(track for track in tracks if track.head.device is None))
    for device in trace.devices:
        events = _events_of(track for track in tracks if track.head.device == device.id)
        yield _Process(f"{device.name} of {trace.host}", [_gap_events(gaps.get(device.id, [])), *events])


def _events_of(tracks: Iterable[Track]) -> list[_TrackEvents]:
    return [
        _track_events(track, f"{track.head.label} {number + 1}" if number else track.head.label, lane)
        for track in tracks
        for number, lane in enumerate(_merged_lanes(track))
    ]


def _format_process(process: _Process, pid: int, shift_ps: int) -> Iterator[tuple[bytes, int]]:
    """Yields the text of up to `_CHUNK_EVENTS` events and their number. Metadata events, which name processes and
    tracks, are not counted."""
    yield _format_names("process", pid, 0, process.name), 0
    for tid, track in enumerate(process.tracks, 1):
        yield _format_names("thread", pid, tid, track.label), 0
        heads = [_format_head(*head, pid, tid) for head in track.heads]
        start = track.times.start_ps + shift_ps
        end = track.times.end_ps + shift_ps
        duration, extendable = _durations(track.times._replace(start_ps=start, end_ps=end))
        for low in range(0, len(track.head), _CHUNK_EVENTS):
            chunk = slice(low, low + _CHUNK_EVENTS)
            times = _format_times(start[chunk], duration[chunk], extendable[chunk])
            events = [heads[i] + text for i, text in zip(track.head[chunk].tolist(), times, strict=True)]
            if track.arguments is not None:
                events = [
                    event[:-1] + b',"args":' + json.dumps(arguments).encode() + b"}"
                    for event, arguments in zip(events, track.arguments[chunk], strict=True)
                ]
            yield b",\n".join(events), len(events)


class _MergedLane(NamedTuple):
    """Events with the indices of their names and classes."""

    times: _NestedTimes
    name: NDArray[np.integer]
    class_index: NDArray[np.integer]


def _merged_lanes(track: Track) -> list[_MergedLane]:
    """The track's lanes merged into one if all overlapping events nest, as viewers expect of a track; else each lane by
    itself."""
    lanes = [lane for lane in track.lanes if len(lane)]
    all_nest = all(_is_inside(lane, outer) for outer, lane in pairwise(lanes))
    groups = [lanes] if all_nest and lanes else [[lane] for lane in lanes]
    return [_merge_lanes(group) for group in groups]


def _is_inside(lane: Lane, outer: Lane) -> bool:
    """Whether every slice of a lane is within a slice of the outer lane."""
    index = np.searchsorted(outer.start, lane.start, "right") - 1
    return bool(np.all((index >= 0) & (outer.end[index] >= lane.end)))


def _merge_lanes(lanes: Sequence[Lane]) -> _MergedLane:
    start, end, name, class_index = (
        np.concatenate([getattr(lane, column) for lane in lanes])
        for column in ("start", "end", "name", "class_index")
    )
    depth = np.repeat(np.arange(len(lanes), dtype=np.int16), [len(lane) for lane in lanes])
    order = np.lexsort((depth, -end, start))
    times = _NestedTimes(start[order], end[order], depth[order])
    return _MergedLane(times, name[order], class_index[order])


def _durations(times: _NestedTimes) -> tuple[Int64, NDArray[np.bool_]]:
    """Durations with which events also nest when truncated to nanoseconds, and whether each event may end a picosecond
    later.

    An outer event from 0.9 to 2.0 ns is truncated to 0 to 1 ns. An inner one from 1.0 to 2.0 ns would end after it, so
    it is shortened by up to a nanosecond, and events inside it end with it.
    """
    durations, extendable = times.end_ps - times.start_ps, np.ones(len(times.depth), np.bool_)
    outer_start = outer_end = outer_end_ns = np.empty(0, np.int64)
    for depth in range(int(times.depth.max(initial=-1)) + 1):
        lane = times.depth == depth
        start, duration = times.start_ps[lane], durations[lane]
        limit = np.append(start[1:], np.iinfo(np.int64).max)
        if depth:
            outer_index = np.searchsorted(outer_start, start, "right") - 1
            limit = np.minimum(limit, outer_end[outer_index])
            has_space = limit > start + duration
            ends_late = (
                start // _PS_PER_NS + _truncated_ns(duration, has_space) > outer_end_ns[outer_index]
            ) & (duration >= _PS_PER_NS)
            duration = np.where(ends_late, duration // _PS_PER_NS * _PS_PER_NS - 1, duration)
            duration = np.clip(duration, 0, np.maximum(0, limit - start))
        outer_start, outer_end = start, start + duration
        has_space = limit > outer_end
        outer_end_ns = start // _PS_PER_NS + _truncated_ns(duration, has_space)
        durations[lane], extendable[lane] = duration, has_space
    return durations, extendable


def _track_events(track: Track, label: str, lane: _MergedLane) -> _TrackEvents:
    """The events of a lane. Pairs of name and class are few, so the text before the times is built once per pair."""
    has_classes = track.head.device is None
    width = len(CLASSES) + 1
    key = (lane.name.astype(np.int64) + 1) * width + lane.class_index + 1
    used = np.flatnonzero(np.bincount(key)) if key.size else key
    head = np.searchsorted(used, key).astype(np.int32)
    heads = []
    for name, class_index in ((pair // width - 1, pair % width - 1) for pair in used.tolist()):
        category = CLASSES[class_index] if has_classes and class_index >= 0 else track.head.kind
        text = track.texts[name] if name >= 0 else category
        heads.append((text, track.head.kind if track.head.kind == "steps" else category))
    return _TrackEvents(label, heads, head, lane.times)


def _gap_events(gaps: Sequence[Gap]) -> _TrackEvents:
    ordered = sorted(gaps, key=lambda gap: gap["start_ps"])
    start = np.array([gap["start_ps"] for gap in ordered], np.int64)
    duration = np.array([gap["duration_ps"] for gap in ordered], np.int64)
    heads_of_gaps = [(f"idle: {cause_text(gap)}", str(gap["cause"])) for gap in ordered]
    heads = sorted(set(heads_of_gaps))
    keys = ("cause", "kind", "before", "after", "step_number")
    arguments = [{key: value for key, value in gap.items() if key in keys} for gap in ordered]
    head = np.array([heads.index(head_of_gap) for head_of_gap in heads_of_gaps], np.int32)
    times = _NestedTimes(start, start + duration, np.zeros(len(ordered), np.int16))
    return _TrackEvents("gaps", heads, head, times, arguments)


def _format_head(name: str, category: str, pid: int, tid: int) -> bytes:
    return f'{{"ph":"X","pid":{pid},"tid":{tid},"name":{json.dumps(name)},"cat":"{category}","ts":'.encode()


def _format_names(kind: Literal["process", "thread"], pid: int, tid: int, name: str) -> bytes:
    """The metadata events of a process, or of a track (a thread)."""
    order = tid if kind == "thread" else pid
    events = [
        {"ph": "M", "pid": pid, "tid": tid, "name": f"{kind}_name", "args": {"name": name}},
        {"ph": "M", "pid": pid, "tid": tid, "name": f"{kind}_sort_index", "args": {"sort_index": order}},
    ]
    return b",\n".join(json.dumps(event).encode() for event in events)


def _format_times(start_ps: Int64, duration_ps: Int64, extendable: NDArray[np.bool_]) -> list[bytes]:
    """`<start>,"dur":<duration>}` of each event. `extendable`: whether each event may end a picosecond later.

    Perfetto reads microseconds as a float, whose product with 1000 may fall short of the nanosecond: 4.035 µs are
    4034.9999999999995 ns. Truncated to 4034 ns, the event would begin within the previous one. So all starts get an
    extra 0.3 ps, which preserves their distances. A duration gets it only if it falls short and the event is
    extendable; otherwise Perfetto shows it one nanosecond shorter.
    """
    middle, end = (np.frombuffer(text, np.uint8) for text in (b',"dur":', b"}"))
    count = len(start_ps)
    columns = (
        _microseconds(start_ps, np.ones(count, np.bool_)),
        np.tile(middle, (count, 1)),
        _microseconds(duration_ps, _falls_short(duration_ps) & extendable),
        np.tile(end, (count, 1)),
    )
    rows = np.ascontiguousarray(np.concatenate(columns, axis=1))
    texts: list[bytes] = rows.view(f"S{rows.shape[1]}").ravel().tolist()
    return texts


def _falls_short(ps: Int64) -> NDArray[np.bool_]:
    """Whether each time, read as a float in microseconds, is truncated to one nanosecond less."""
    short: NDArray[np.bool_] = (ps / 10**6 * 1000).astype(np.int64) < ps // _PS_PER_NS
    return short


def _truncated_ns(duration_ps: Int64, extendable: NDArray[np.bool_]) -> Int64:
    """The durations in nanoseconds as Perfetto truncates them."""
    return duration_ps // _PS_PER_NS - (_falls_short(duration_ps) & ~extendable)


def _microseconds(ps: Int64, extended: NDArray[np.bool_]) -> Text:
    """Picoseconds as decimal microseconds, plus 0.3 ps if `extended`: one row of characters each, padded with spaces on
    the left. Digits are computed column by column, as formatting single numbers takes longer than reading the
    capture."""
    whole, fraction = np.divmod(ps, 10**6)
    width = max(1, len(str(int(whole.max(initial=0)))))
    text = np.full((len(ps), width + 8), ord(" "), np.uint8)
    text[:, -8] = ord(".")
    text[:, -1] = np.where(extended, ord("3"), ord("0"))
    for column in range(2, 8):
        fraction, digit = np.divmod(fraction, 10)
        text[:, -column] = ord("0") + digit
    for column in range(9, 9 + width):
        is_visible = (whole > 0) | (column == 9)
        whole, digit = np.divmod(whole, 10)
        text[:, -column] = np.where(is_visible, ord("0") + digit, ord(" "))
    return text
