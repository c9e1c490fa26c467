"""Searches events by name, and lists the events of a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.catalog.classes import CLASSES, OTHER
from tb_xla_insights.text.name_limit import shorten_name
from tb_xla_insights.timeline import kernels
from tb_xla_insights.timeline.pyramid.pyramid import range_in_window
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.tracks import RowEvent, Track
from tb_xla_insights.trace.row_ids import EventId

if TYPE_CHECKING:
    from tb_xla_insights.schema.timeline_route import NameOfHits, SearchAnswer

_MAX_HITS = 1000
_EXACT = "name:"
_IS, _BEGINS, _CONTAINS, _NO_MATCH = range(4)
"""How a name matches a query, the best way first."""


def find(hosts: Sequence[Searchable], query: str, rows: Sequence[Track] | None) -> SearchAnswer:
    """Finds the events of these hosts whose name contains the query, ignoring case, or after `name:` equals it; and the
    scopes of device ops. Names that equal the query come first, then those that begin with it; events come before
    scopes.

    Long names, which include an op's operands, are searched only on hosts where no displayed name matches. Each event
    is found once, in its home row; with `rows`, in each of those rows. Events that threads do not show are found only
    by the start of their names: a search for an op should not find the end of the op.
    """
    results = _Results(query)
    for host in hosts if query else []:
        host.find(query, rows, results)
    return results.as_json()


class Searchable:
    """One host's events with their searchable names: the displayed names, and those of the file if they differ, each
    unchanged and in lower case."""

    def __init__(self, host: HostRows) -> None:
        self.host = host
        self.scopes: list[Track] = []
        """The rows of scopes, which are computed later."""
        names, metadata = host.names, host.trace.metadata
        is_hidden = np.zeros(len(names.texts) + 1, np.bool_)
        is_hidden[names.of_metadata[host.hidden]] = True
        self.hidden_names = is_hidden[:-1]
        self.texts = [(text, text.lower()) for text in names.full_texts]
        long_names = np.flatnonzero((metadata.display_name >= 0) & (metadata.display_name != metadata.name))
        strings = [host.trace.strings[i] if i >= 0 else "" for i in metadata.name[long_names]]
        self.long_names = {
            index: (text, text.lower()) for index, text in zip(long_names.tolist(), strings, strict=True)
        }

    def find(self, query: str, rows: Sequence[Track] | None, results: _Results) -> None:
        """Adds the events that match the query to the results; see the function `find`."""
        host, rank = self.host, _rank(query)
        rank_of_name = np.array([rank(*text) for text in self.texts], np.int8)
        rank_of_name[self.hidden_names & (rank_of_name == _CONTAINS)] = _NO_MATCH
        has_long_match = np.zeros(len(host.hidden), np.bool_)
        scopes = {text for track in self.scopes for text in track.texts}
        has_shown_match = ((rank_of_name < _NO_MATCH) & ~self.hidden_names).any()
        if not has_shown_match and all(rank(text, text.lower()) == _NO_MATCH for text in scopes):
            long_matches = [index for index, text in self.long_names.items() if rank(*text) < _NO_MATCH]
            has_long_match[long_matches] = True
        sums = _Sums(len(rank_of_name))
        for value in range(_NO_MATCH):
            is_match = rank_of_name == value
            is_long_match = has_long_match if value == _CONTAINS else np.zeros_like(has_long_match)
            if is_match.any() or is_long_match.any():
                self._find_ranked(value, is_match, is_long_match, rows, sums, results)
        for name in np.flatnonzero(sums.count).tolist():
            label, class_index = host.names.texts[name], int(sums.class_index[name])
            results.add_name(label, class_index, int(sums.count[name]), int(sums.total_ps[name]))
        for track in self.scopes:
            if rows is None or track in rows:
                _find_scopes(track, rank, results)

    def _find_ranked(
        self,
        rank: int,
        is_match: NDArray[np.bool_],
        has_long_match: NDArray[np.bool_],
        rows: Sequence[Track] | None,
        sums: _Sums,
        results: _Results,
    ) -> None:
        """Adds the events whose names, or the long names of their metadata, match in one way."""
        host, trace = self.host, self.host.trace
        is_shown_match, is_hidden_match = is_match & ~self.hidden_names, is_match & self.hidden_names
        for index, track in enumerate(host.tracks):
            if track.head.kind in ("steps", "classes") or (rows is not None and track not in rows):
                continue
            # The event of a GPU's run is a kernel, whose home row is that of the ops.
            home_row = index if rows is None and track.head.kind != "modules" else -1
            arrays = sums.arrays_for(track)
            for depth, lane in enumerate(track.lanes):
                columns = lane.event, lane.start, lane.end, lane.name, lane.class_index
                masks = is_shown_match, has_long_match
                hits = kernels.find_matches(
                    *columns, trace.metadata_index, *masks, host.home, home_row, _MAX_HITS, *arrays
                )
                start = lane.start[hits]
                results.add(
                    rank, track, depth, start, lane.end[hits] - start, lane.event[hits], lane.name[hits]
                )
            if is_hidden_match.any() and track.line is not None and track.head.kind == "thread":
                self._find_hidden(rank, track, track.line, is_hidden_match, sums, results)

    def _find_hidden(
        self,
        rank: int,
        track: Track,
        line: int,
        searched_names: NDArray[np.bool_],
        sums: _Sums,
        results: _Results,
    ) -> None:
        """Searches the events that a thread's row does not show, in the trace, by their metadata instead of names."""
        host, trace = self.host, self.host.trace
        rows, name_of_metadata = trace.lines[line].rows, host.names.of_metadata
        is_searched = searched_names[name_of_metadata]
        event = np.arange(rows.start, rows.stop, dtype=np.int32)
        columns = (
            event,
            trace.start_ps[rows],
            trace.end_ps[rows],
            trace.metadata_index[rows],
            host.class_index[rows],
        )
        sums_of_metadata = _Sums(len(is_searched))
        masks = is_searched, np.zeros_like(is_searched)
        arrays = sums_of_metadata.arrays_for(track)
        hits = kernels.find_matches(*columns, trace.metadata_index, *masks, host.home, -1, _MAX_HITS, *arrays)
        np.add.at(sums.count, name_of_metadata, sums_of_metadata.count)
        np.add.at(sums.total_ps, name_of_metadata, sums_of_metadata.total_ps)
        sums.class_index[name_of_metadata[is_searched]] = OTHER
        event = event[hits]
        name = name_of_metadata[trace.metadata_index[event]]
        results.add(rank, track, 0, trace.start_ps[event], trace.duration_ps[event], event, name)


def _find_scopes(track: Track, rank: Callable[[str, str], int], results: _Results) -> None:
    """Searches a row of scopes, whose slices are no events."""
    rank_of_name = np.array([*(rank(text, text.lower()) for text in track.texts), _NO_MATCH], np.int8)
    for depth, lane in enumerate(track.lanes):
        ranks, duration = rank_of_name[lane.name], lane.end - lane.start
        for value in np.unique(ranks[(ranks < _NO_MATCH) & (lane.name >= 0)]).tolist():
            hits = np.flatnonzero((ranks == value) & (lane.name >= 0))
            names, group, counts = np.unique(lane.name[hits], return_inverse=True, return_counts=True)
            totals_ps = np.zeros(len(names), np.int64)
            np.add.at(totals_ps, group, duration[hits])
            for name, count, total_ps in zip(
                names.tolist(), counts.tolist(), totals_ps.tolist(), strict=True
            ):
                results.add_name(track.texts[name], -1, count, total_ps, count)
            hits = hits[:_MAX_HITS]
            results.add(
                value, track, depth, lane.start[hits], duration[hits], lane.event[hits], lane.name[hits]
            )


class _Sums:
    """The number, time and class (of the first event in a host's row, -1: none) of the events of each name."""

    def __init__(self, name_count: int) -> None:
        self.count, self.total_ps = np.zeros(name_count, np.int64), np.zeros(name_count, np.int64)
        self.class_index = np.full(name_count, -1, np.int8)
        self._unused_class_index = np.zeros(name_count, np.int8)

    def arrays_for(self, track: Track) -> tuple[Int64, Int64, Int8]:
        """The arrays that a row's events are added to; a device's events have no host class."""
        return (
            self.count,
            self.total_ps,
            self.class_index if track.head.device is None else self._unused_class_index,
        )


class _Results:
    """Collects hits and sums."""

    def __init__(self, query: str) -> None:
        self._rank = _rank(query)
        self.names: dict[str, NameOfHits] = {}
        self.tracks: list[Track] = []
        self.columns: list[NDArray[np.int64]] = []

    def add_name(self, label: str, class_index: int, count: int, total_ps: int, scopes: int = 0) -> None:
        class_ = CLASSES[class_index] if class_index >= 0 else None
        sums = self.names.setdefault(
            label, {"name": label, "class": class_, "count": 0, "scopes": 0, "total_ps": 0}
        )
        sums["count"] += count
        sums["scopes"] += scopes
        sums["total_ps"] += total_ps

    def add(
        self, rank: int, track: Track, depth: int, start: Int64, duration: Int64, event: Int32, name: Int32
    ) -> None:
        """Adds events of one lane, in order. Scopes, which every device repeats, follow events that match as well."""
        ones, place = np.ones(len(event), np.int64), 2 * rank + (track.head.kind == "scopes")
        self.columns.append(
            np.stack([start, duration, event, name, ones * depth, ones * len(self.tracks), ones * place])
        )
        self.tracks.append(track)

    def as_json(self) -> SearchAnswer:
        def order_of(sums: NameOfHits) -> tuple[int, int, str]:
            name = sums["name"]
            return self._rank(name, name.lower()), -sums["total_ps"], name

        names = sorted(self.names.values(), key=order_of)
        index_of_name = {sums["name"]: index for index, sums in enumerate(names)}
        hits = np.concatenate(self.columns, axis=1) if self.columns else np.zeros((7, 0), np.int64)
        order = np.lexsort((hits[4], hits[5], hits[0], hits[6]))[:_MAX_HITS]
        start, duration, event, name, depth, number, place = hits[:, order].tolist()
        tracks = [self.tracks[i] for i in number]
        count = sum(sums["count"] for sums in names)
        return {
            "count": count,
            "truncated": count > len(start),
            "best": place.count(place[0]) if place else 0,
            "names": names,
            "hits": {
                "event": [
                    str(EventId(track.host_number, row)) if row >= 0 else None
                    for track, row in zip(tracks, event, strict=True)
                ],
                "row": [track.head.id for track in tracks],
                "depth": depth,
                "s": start,
                "d": duration,
                "n": [index_of_name[track.texts[i]] for track, i in zip(tracks, name, strict=True)],
            },
        }


def _rank(query: str) -> Callable[[str, str], int]:
    """How a text, given unchanged and in lower case, matches a query; after `name:`, the text or its shortened form is
    the query, or does not match."""
    if query.startswith(_EXACT):
        name = query.removeprefix(_EXACT)
        return lambda text, lower: _IS if name in (text, shorten_name(text)) else _NO_MATCH  # noqa: ARG005
    query = query.lower()

    def rank(_: str, lower: str) -> int:
        if lower.startswith(query):
            return _IS if lower == query else _BEGINS
        return _CONTAINS if query in lower else _NO_MATCH

    return rank


def table(tracks: Sequence[Track], start_ps: int, end_ps: int, limit: int) -> tuple[int, list[RowEvent]]:
    """The number of events in these rows that touch the window, and the first `limit` of them by start."""
    count = 0
    earliest: list[tuple[int, int, RowEvent]] = []  # start, index of the row, event
    for number, track in enumerate(tracks):
        for depth, lane in enumerate(track.lanes):
            begin, stop = range_in_window(lane.start, lane.latest_end, start_ps, end_ps)
            overlaps = (lane.end[begin:stop] > start_ps) | (lane.start[begin:stop] >= start_ps)
            indices = np.flatnonzero(overlaps) + begin
            count += len(indices)
            events = [RowEvent(track, depth, index) for index in indices[:limit].tolist()]
            earliest.extend((event.start_ps, number, event) for event in events)
    earliest.sort(key=lambda item: (item[0], item[1], item[2].depth))
    return count, [event for *_, event in earliest[:limit]]
