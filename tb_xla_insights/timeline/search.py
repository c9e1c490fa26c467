"""Finding events by name, and listing what a window holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.catalog.classes import CLASSES, OTHER
from tb_xla_insights.name_limit import shorten_name
from tb_xla_insights.timeline import kernels
from tb_xla_insights.timeline.pyramid import window
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.tracks import Place, Track
from tb_xla_insights.trace.model import Int8, Int32, Int64

_MOST_HITS = 1000
_EXACT = "name:"


def find(hosts: Sequence[Searchable], query: str, rows: Sequence[Track] | None) -> dict[str, Any]:
    """Events of these hosts whose name contains the query in any case or, after `name:`, is the query.

    A long name, which tells an op's operands too, is looked into where no name of the page's is found. Each event
    is found once, in the row it is at home in; where rows are given, in each of those. What threads do not show is
    found by what its name begins with: the end of an op is not wanted by who looks for the op.
    """
    found = _Found()
    for host in hosts if query else []:
        host.find(query, rows, found)
    return found.as_json()


class Searchable:
    """One host's events with their names as they are searched: the page's, and the file's where those differ."""

    def __init__(self, host: HostRows) -> None:
        self.host = host
        names, metadata = host.names, host.trace.metadata
        marks = np.zeros(len(names.texts) + 1, np.bool_)
        marks[names.of_meta[host.hidden]] = True
        self.marks = marks[:-1]
        self.texts = [(text, text.lower()) for text in names.whole]
        long = np.flatnonzero((metadata.display_name >= 0) & (metadata.display_name != metadata.name))
        strings = [host.trace.strings[i] if i >= 0 else "" for i in metadata.name[long]]
        self.long = {entry: (text, text.lower()) for entry, text in zip(long.tolist(), strings, strict=True)}

    def find(self, query: str, rows: Sequence[Track] | None, found: _Found) -> None:
        host, trace, match = self.host, self.host.trace, _match(query)
        named = np.array([match(*text) for text in self.texts], np.bool_)
        begun = np.array([match(*text, begins=True) for text in self.texts], np.bool_)
        shown, marks = named & ~self.marks, begun & self.marks
        entries = np.zeros(len(host.hidden), np.bool_)
        if not shown.any():
            entries[[entry for entry, text in self.long.items() if match(*text)]] = True
        if not (shown.any() or marks.any() or entries.any()):
            return
        sums = _Sums(len(named))
        for index, track in enumerate(host.tracks):
            if track.head.kind in ("steps", "classes") or (rows is not None and track not in rows):
                continue
            # A GPU's run stands for a kernel, which is at home among the ops.
            own = index if rows is None and track.head.kind != "modules" else -1
            arrays = sums.of(track)
            for depth, lane in enumerate(track.lanes):
                columns = lane.event, lane.start, lane.end, lane.name, lane.kind
                at = kernels.matches(
                    *columns, trace.meta, shown, entries, host.home, own, _MOST_HITS, *arrays
                )
                hits = lane.start[at], lane.end[at] - lane.start[at], lane.event[at], lane.name[at]
                found.add(track, depth, *hits)
            if marks.any() and track.line is not None and track.head.kind == "thread":
                self._find_marks(track, track.line, marks, sums, found)
        for name in np.flatnonzero(sums.count).tolist():
            kind = int(sums.kind[name])
            label = host.names.texts[name]
            found.name(label, kind, int(sums.count[name]), int(sums.total_ps[name]))

    def _find_marks(
        self, track: Track, line: int, wanted: NDArray[np.bool_], sums: _Sums, found: _Found
    ) -> None:
        """What a thread's row does not show, straight from the trace: as names stand the metadata entries."""
        host, trace = self.host, self.host.trace
        rows, of_meta = trace.lines[line].rows, host.names.of_meta
        entries = wanted[of_meta]
        event = np.arange(rows.start, rows.stop, dtype=np.int32)
        columns = event, trace.start_ps[rows], trace.end_ps[rows], trace.meta[rows], host.kind[rows]
        of_entries = _Sums(len(entries))
        none = np.zeros_like(entries)
        arrays = of_entries.of(track)
        at = kernels.matches(*columns, trace.meta, entries, none, host.home, -1, _MOST_HITS, *arrays)
        np.add.at(sums.count, of_meta, of_entries.count)
        np.add.at(sums.total_ps, of_meta, of_entries.total_ps)
        sums.kind[of_meta[entries]] = OTHER
        event = event[at]
        found.add(
            track, 0, trace.start_ps[event], trace.duration_ps[event], event, of_meta[trace.meta[event]]
        )


class _Sums:
    """Number, time and class (of the first one on a host's row, -1: none) of the events of each name."""

    def __init__(self, names: int) -> None:
        self.count, self.total_ps = np.zeros(names, np.int64), np.zeros(names, np.int64)
        self.kind = np.full(names, -1, np.int8)
        self._nobodys = np.zeros(names, np.int8)

    def of(self, track: Track) -> tuple[Int64, Int64, Int8]:
        """The arrays that a row's events are added to; a device's have no class of the host's."""
        return self.count, self.total_ps, self.kind if track.head.device is None else self._nobodys


class _Found:
    """Hits and sums while they are gathered."""

    def __init__(self) -> None:
        self.names: dict[str, dict[str, Any]] = {}
        self.tracks: list[Track] = []
        self.columns: list[NDArray[np.int64]] = []

    def name(self, label: str, kind: int, count: int, total_ps: int) -> None:
        class_ = CLASSES[kind] if kind >= 0 else None
        sums = self.names.setdefault(label, {"name": label, "class": class_, "count": 0, "total_ps": 0})
        sums["count"] += count
        sums["total_ps"] += total_ps

    def add(self, track: Track, depth: int, start: Int64, duration: Int64, event: Int32, name: Int32) -> None:
        """Events of one lane, in order."""
        same = np.ones(len(event), np.int64)
        self.columns.append(np.stack([start, duration, event, name, same * depth, same * len(self.tracks)]))
        self.tracks.append(track)

    def as_json(self) -> dict[str, Any]:
        names = sorted(self.names.values(), key=lambda it: (-it["total_ps"], it["name"]))
        place = {it["name"]: index for index, it in enumerate(names)}
        hits = np.concatenate(self.columns, axis=1) if self.columns else np.zeros((6, 0), np.int64)
        order = np.lexsort((hits[4], hits[5], hits[0]))[:_MOST_HITS]
        start, duration, event, name, depth, number = hits[:, order].tolist()
        tracks = [self.tracks[i] for i in number]
        count = sum(it["count"] for it in names)
        return {
            "count": count,
            "truncated": count > len(start),
            "names": names,
            "hits": {
                "event": [f"{track.host}.{e}" for track, e in zip(tracks, event, strict=True)],
                "row": [track.head.id for track in tracks],
                "depth": depth,
                "s": start,
                "d": duration,
                "n": [place[track.texts[i]] for track, i in zip(tracks, name, strict=True)],
            },
        }


def _match(query: str) -> Callable[..., bool]:
    """Tells of a name, as it is and in lower case, whether it is wanted."""
    if query.startswith(_EXACT):
        exact = query.removeprefix(_EXACT)
        return lambda text, lower, begins=False: exact in (text, shorten_name(text))  # noqa: ARG005
    query = query.lower()
    return lambda text, lower, begins=False: lower.startswith(query) if begins else query in lower  # noqa: ARG005


def table(tracks: Sequence[Track], start_ps: int, end_ps: int, limit: int) -> tuple[int, list[Place]]:
    """How many events of these rows touch the window, and the first `limit` of them by start."""
    count = 0
    first: list[tuple[int, int, Place]] = []
    for number, track in enumerate(tracks):
        for depth, lane in enumerate(track.lanes):
            low, stop = window(lane.start, lane.reach, start_ps, end_ps)
            inside = (lane.end[low:stop] > start_ps) | (lane.start[low:stop] >= start_ps)
            touching = np.flatnonzero(inside) + low
            count += len(touching)
            places = [Place(track, depth, index) for index in touching[:limit].tolist()]
            first.extend((place.start_ps, number, place) for place in places)
    first.sort(key=lambda it: (it[0], it[1], it[2].depth))
    return count, [place for *_, place in first[:limit]]
