"""The answers to the page's requests about the timeline: rows, slices in a window, events, and searches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.idle.idle_time import long_gaps
from tb_xla_insights.analysis.launches.step_times import find_steps, traces_with_step_offsets
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import CLASSES, ClassName
from tb_xla_insights.errors import InputError
from tb_xla_insights.timeline.host import HostTimeline
from tb_xla_insights.timeline.rows import GAPS
from tb_xla_insights.timeline.scopes import SCOPES, ScopeTrack
from tb_xla_insights.timeline.search import find, table
from tb_xla_insights.timeline.tracks import RowEvent, Track
from tb_xla_insights.timeline.window_slices import overview, prepare, view
from tb_xla_insights.trace.model import SessionTrace
from tb_xla_insights.trace.row_ids import EventId

if TYPE_CHECKING:
    from tb_xla_insights.schema.session_route import TimelineHead
    from tb_xla_insights.schema.timeline_route import (
        AnnotationOfEvent,
        EventDetails,
        EventTable,
        Neighbor,
        SearchAnswer,
        TimelineRows,
        TimelineSlices,
    )

_MAX_SIBLINGS = 24
_MAX_DISTANCE_PS = 1000
"""Links contain starts with a resolution of a nanosecond."""


class Timeline:
    """The answers to the page's requests about a session's events, in its protocol.

    Times are integer picoseconds from the session's start. An unknown row or event, or an invalid range, raises
    InputError.
    """

    def __init__(self, session: SessionTrace, hosts: Sequence[HostTimeline] | None = None) -> None:
        """`hosts` are the timelines of the session's hosts, if they exist already."""
        self._session = session
        duration = session.duration_ps
        host_timelines = hosts or [
            HostTimeline(number, trace, duration) for number, trace in session.numbered_traces()
        ]
        self.hosts = {host.number: host for host in host_timelines}

    @property
    def _tracks(self) -> dict[str, Track]:
        return {row_id: track for host in self.hosts.values() for row_id, track in host.tracks.items()}

    def head(self) -> TimelineHead:
        """The data that the page needs before it draws: phases, overview strip, and `rows`."""
        strip = overview(list(self._tracks.values()), self._session)
        return {
            "phases": self._phases(),
            "annotations": self._annotations(),
            "classes": self._classes(),
            "strip": strip,
            **self.rows(),
        }

    def rows(self) -> TimelineRows:
        """`rows` in drawing order; `more_rows` says that those of gaps, scopes and asynchronous ops are missing."""
        return {
            "more_rows": not all(host.has_all_rows for host in self.hosts.values()),
            "rows": [track.as_json() for track in self._tracks.values()],
        }

    def find_more_rows(self) -> None:
        """Adds the rows of gaps, scopes and asynchronous ops, once; concurrent callers wait."""
        for host in self.hosts.values():
            host.find_more_rows()

    def view(self, start_ps: int, end_ps: int, px: int, rows: Sequence[str]) -> TimelineSlices:
        """The slices of these rows that touch [start_ps, end_ps), for a screen of `px` pixels."""
        self._check_window(start_ps, end_ps)
        if px < 1:
            raise InputError(
                f"{self._session.path}: a window of {px} pixels shows nothing; ask for 1 or more"
            )
        return view([self._row(row) for row in rows], start_ps, end_ps, px)

    def prepare(self) -> None:
        """Computes the levels that the first view of the whole session needs, for usual screen widths."""
        prepare(list(self._tracks.values()), self._session.duration_ps)

    def event(self, event_id: str) -> EventDetails:
        """The details of an event by its id (see `EventId`), in its home row."""
        parsed = EventId.parse(event_id)
        host = self.hosts.get(parsed.host) if parsed else None
        if parsed and host is not None and parsed.row < len(host.trace):
            row_event = host.details.find(parsed.row)
            if row_event is not None:
                return host.details.full(row_event)
        raise InputError(
            f"{self._session.path}: no event {event_id} in this session; select one in the timeline"
        )

    def event_at(self, row_id: str, start_ps: int, depth: int | None = None) -> EventDetails:
        """The details of the event of a row that starts at an instant, within a nanosecond: the one whose start is
        nearest (of equally near ones the outermost), at any depth or at one."""
        row_event = self._event_at(row_id, start_ps, depth)
        return self.hosts[row_event.track.host_number].details.full(row_event)

    def event_of_annotation(self, path: str, start_ps: int) -> EventDetails:
        """The details of the first annotation of a path that does not end before an instant, or else of the first, on
        the first host that has the path."""
        for host in self.hosts.values():
            annotations = host_annotations(host.trace)
            if path not in annotations.path_texts:
                continue
            rows = annotations.row[annotations.path == annotations.path_texts.index(path)]
            rows = rows[np.argsort(host.trace.start_ps[rows], kind="stable")]
            later = rows[host.trace.end_ps[rows] >= start_ps]
            row_event = host.details.find(int((later if len(later) else rows)[0]))
            if row_event is not None:
                return host.details.full(row_event)
        raise InputError(
            f"{self._session.path}: no annotation {path} in this session; select one in the timeline"
        )

    def annotation_at(self, row_id: str, start_ps: int, depth: int | None = None) -> AnnotationOfEvent:
        """The annotation of an event in a row of annotations, scopes or steps: `path` (None: no annotation), `step`
        (index over all hosts' steps, None: unknown) and `device` (None: unknown)."""
        row_event = self._event_at(row_id, start_ps, depth)
        track = row_event.track
        step_offset = next(
            offset for trace, offset in traces_with_step_offsets(self._session) if trace is track.trace
        )
        path, step = None, -1
        if isinstance(track, ScopeTrack):
            path, step = track.path_of(row_event), track.step_of(row_event)
        elif track.head.kind == "annotations":
            host = host_annotations(track.trace)
            index = int(np.searchsorted(host.row, row_event.event))
            if index < len(host.row) and host.row[index] == row_event.event:
                path, step = host.path_texts[host.path[index]], int(host.step[index])
        elif track.head.kind == "scopes":
            scope = "/".join(self.hosts[track.host_number].details.names(row_event))
            path = host_annotations(track.trace).paths.path_of(scope)
        elif track.head.kind == "steps":
            step = [candidate.row for candidate in find_steps(track.trace)].index(row_event.event)
        return {"path": path, "step": step_offset + step if step >= 0 else None, "device": track.head.device}

    def _event_at(self, row_id: str, start_ps: int, depth: int | None) -> RowEvent:
        track = self._row(row_id)
        depths = range(len(track.lanes)) if depth is None else [depth] if depth < len(track.lanes) else []
        candidates: list[tuple[int, int, RowEvent]] = []
        for lane_depth in depths:
            start = track.lanes[lane_depth].start
            index = int(np.searchsorted(start, start_ps))
            nearby = [i for i in (index - 1, index) if 0 <= i < len(start)]
            candidates += [
                (abs(int(start[i]) - start_ps), lane_depth, RowEvent(track, lane_depth, i)) for i in nearby
            ]
        nearest = min(candidates, key=lambda item: item[:2], default=None)
        if nearest is None or nearest[0] > _MAX_DISTANCE_PS:
            raise InputError(
                f"{self._session.path}: no event of {row_id} starts at {start_ps} ps; select one there"
            )
        return nearest[2]

    def neighbor(
        self, row_id: str, depth: int, start_ps: int, direction: str, skip_short: bool = False
    ) -> Neighbor:
        """The next event at a depth of a row after an instant, or the previous one before it, by their starts;
        `skip_short`: only gaps that `long_gaps` counts."""
        track = self._row(row_id)
        if direction not in ("next", "previous"):
            raise InputError(f"{self._session.path}: no direction {direction}; ask for next or previous")
        if not 0 <= depth < max(1, len(track.lanes)):
            raise InputError(
                f"{self._session.path}: {row_id} has {len(track.lanes)} depths; ask for a lower one"
            )
        if not track.lanes:
            return {"event": None}
        lane = track.lanes[depth]
        candidates = long_gaps(lane.end - lane.start) if skip_short else np.arange(len(lane))
        start = lane.start[candidates]
        if direction == "next":
            index = int(np.searchsorted(start, start_ps, "right"))
        else:
            index = int(np.searchsorted(start, start_ps, "left")) - 1
        if not 0 <= index < len(candidates):
            return {"event": None}
        row_event = RowEvent(track, depth, int(candidates[index]))
        return {"event": self.hosts[track.host_number].details.summary(row_event)}

    def search(self, query: str, rows: Sequence[str] | None = None) -> SearchAnswer:
        """Searches events by a part of their name, ignoring case, or after `name:` by the whole name; in all rows or in
        these."""
        tracks = [self._row(row) for row in rows] if rows else None
        return find([host.searchable for host in self.hosts.values()], query, tracks)

    def table(self, start_ps: int, end_ps: int, rows: Sequence[str], limit: int) -> EventTable:
        """The events of rows in a window, by start; without `rows`, of all unfolded rows except classes and gaps."""
        self._check_window(start_ps, end_ps)
        tracks = [self._row(row) for row in rows] or [
            track
            for track in self._tracks.values()
            if track.head.initially_shown and track.head.kind not in ("classes", "gaps")
        ]
        count, row_events = table(tracks, start_ps, end_ps, limit)
        return {
            "count": count,
            "items": [self.hosts[item.track.host_number].details.summary(item) for item in row_events],
        }

    def _row(self, row_id: str) -> Track:
        track = self._find_row(row_id)
        if track is None and row_id.endswith((f".{GAPS}", f".{SCOPES}")):
            # The page knows the row from before the session was released and read again.
            self.find_more_rows()
            track = self._find_row(row_id)
        if track is not None:
            return track
        raise InputError(f"{self._session.path}: no row {row_id[:80]} in this session; reload the page")

    def _find_row(self, row_id: str) -> Track | None:
        return next((host.tracks[row_id] for host in self.hosts.values() if row_id in host.tracks), None)

    def _check_window(self, start_ps: int, end_ps: int) -> None:
        if end_ps <= start_ps:
            raise InputError(
                f"{self._session.path}: the window {start_ps} to {end_ps} ps is empty; give a later end"
            )

    def _annotations(self) -> dict[str, list[str]]:
        """The names of annotations by that of the enclosing one, outer ones first; of each the longest in total.
        Without nested annotations, all names are below an empty one."""
        times: dict[str, dict[str, int]] = {}
        for track in self._tracks.values():
            if track.head.kind != "annotations":
                continue
            for outer, lane in pairwise(track.lanes if len(track.lanes) > 1 else track.lanes * 2):
                parent = outer.name[np.maximum(np.searchsorted(outer.start, lane.start, "right") - 1, 0)]
                pairs, index = np.unique(np.stack((parent, lane.name)), axis=1, return_inverse=True)
                sums = np.bincount(index.ravel(), lane.end - lane.start).tolist()
                for (above, name), time in zip(pairs.T.tolist(), sums, strict=True):
                    siblings = times.setdefault("" if outer is lane else track.texts[above], {})
                    siblings[track.texts[name]] = siblings.get(track.texts[name], 0) + time
        return {
            above: sorted(siblings, key=siblings.__getitem__, reverse=True)[:_MAX_SIBLINGS]
            for above, siblings in times.items()
        }

    def _classes(self) -> list[ClassName]:
        """The classes of host time in the rows of threads and of classes."""
        lanes = [
            lane
            for track in self._tracks.values()
            if track.head.kind in ("classes", "thread")
            for lane in track.lanes
        ]
        present = {index for lane in lanes for index in np.unique(lane.class_index).tolist()}
        return [name for index, name in enumerate(CLASSES) if index in present]

    def _phases(self) -> list[str]:
        """The names of annotations directly below the outermost ones (of the outermost if these have no children), in
        their usual order: by the median distance from the start of the enclosing annotation.

        A name that occurs mostly at other depths is no phase: in a step that the capture cuts, deeper annotations move
        up.
        """
        distances: dict[str, list[Int64]] = {}
        for track in self._tracks.values():
            if track.head.kind != "annotations":
                continue
            outer, lane = track.lanes[0], track.lanes[min(1, len(track.lanes) - 1)]
            outer_index = np.maximum(np.searchsorted(outer.start, lane.start, "right") - 1, 0)
            distance = lane.start - outer.start[outer_index] if lane is not outer else lane.start
            names = len(track.texts)
            counts = [np.bincount(item.name, minlength=names) for item in track.lanes]
            counts_in_lane = np.bincount(lane.name, minlength=names)
            for name in np.flatnonzero(
                (counts_in_lane > 0) & (2 * counts_in_lane >= np.sum(counts, axis=0))
            ).tolist():
                distances.setdefault(track.texts[name], []).append(distance[lane.name == name])
        return sorted(distances, key=lambda name: (float(np.median(np.concatenate(distances[name]))), name))
