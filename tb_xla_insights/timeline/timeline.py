"""The timeline of a session: its rows, what a window of them looks like, and single events."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.steps.step_times import traces_with_step_offsets
from tb_xla_insights.errors import InputError
from tb_xla_insights.timeline.host import HostTimeline
from tb_xla_insights.timeline.scopes import SCOPES, ScopeTrack
from tb_xla_insights.timeline.search import find, table
from tb_xla_insights.timeline.tracks import Place, Track
from tb_xla_insights.timeline.view import prepare, strip, view
from tb_xla_insights.trace.model import Int64, SessionTrace

_NEAR_PS = 1000
"""Links give starts to the nanosecond."""

Json = dict[str, Any]


class Timeline:
    """All that the page asks about a session's events, as its protocol gives it.

    Times are integer picoseconds from the session's start. A row, an event or a range that is not there
    raises InputError.
    """

    def __init__(self, session: SessionTrace, hosts: Sequence[HostTimeline] | None = None) -> None:
        """`hosts` are those of the session's hosts where somebody has them already."""
        self._session = session
        duration = session.duration_ps
        made = hosts or [HostTimeline(number, trace, duration) for number, trace in session.numbered()]
        self.hosts = {host.number: host for host in made}

    @property
    def _tracks(self) -> dict[str, Track]:
        return {id: track for host in self.hosts.values() for id, track in host.tracks.items()}

    def head(self) -> Json:
        """What the page needs before it draws: the phases, the strip, and its `rows`."""
        found = {"phases": self._phases(), "strip": strip(list(self._tracks.values()), self._session)}
        return {**found, **self.rows()}

    def rows(self) -> Json:
        """`rows` in drawing order; `more_rows` says that those of scopes are still to come."""
        return {
            "more_rows": not all(host.scoped for host in self.hosts.values()),
            "rows": [track.as_json() for track in self._tracks.values()],
        }

    def find_scopes(self) -> None:
        """Adds the rows of scopes. Reads the programs that ran, once; whoever comes later waits."""
        for host in self.hosts.values():
            host.find_scopes()

    def view(self, start_ps: int, end_ps: int, px: int, rows: Sequence[str]) -> Json:
        """The slices of these rows that touch [start_ps, end_ps), for a screen of `px` pixels."""
        self._check(start_ps, end_ps)
        if px < 1:
            raise InputError(
                f"{self._session.path}: a window of {px} pixels shows nothing; ask for 1 or more"
            )
        return view([self._row(row) for row in rows], start_ps, end_ps, px)

    def prepare(self) -> None:
        """Makes what the first view of the whole session needs, on screens of usual widths. The page asks for
        a power of two of picoseconds per pixel."""
        prepare(list(self._tracks.values()), self._session.duration_ps)

    def event(self, event_id: str) -> Json:
        """An event by its id, `<host's place in the session>.<event>`, in the row that tells most about it."""
        match = re.fullmatch(r"(\d{1,6})\.(\d{1,12})", event_id)
        host = self.hosts.get(int(match[1])) if match else None
        if match and host is not None and int(match[2]) < len(host.trace):
            place = host.details.find(int(match[2]))
            if place is not None:
                return host.details.full(place)
        raise InputError(
            f"{self._session.path}: no event {event_id} in this session; select one in the timeline"
        )

    def event_at(self, row: str, start_ps: int, depth: int | None = None) -> Json:
        """The event of a row that starts at an instant, to the nanosecond: the outermost one, or that at a
        depth."""
        place = self._at(row, start_ps, depth)
        return self.hosts[place.track.host].details.full(place)

    def annotation_at(self, row: str, start_ps: int, depth: int | None = None) -> Json:
        """The annotation that an event of a row of annotations or scopes is of: `path` (None: of none), `step` (index
        over all hosts' steps) and `device`, None where they are not known."""
        place = self._at(row, start_ps, depth)
        track = place.track
        offset = next(
            before for trace, before in traces_with_step_offsets(self._session) if trace is track.trace
        )
        path, step = None, -1
        if isinstance(track, ScopeTrack):
            path, step = track.path_of(place), track.step_of(place)
        elif track.head.kind == "annotations":
            host = host_annotations(track.trace)
            at = int(np.searchsorted(host.row, place.event))
            if at < len(host.row) and host.row[at] == place.event:
                path, step = host.names[host.path[at]], int(host.step[at])
        elif track.head.kind == "scopes":
            path = "/".join(self.hosts[track.host].details.names(place))
        elif track.head.kind == "steps":
            step = place.index
        return {"path": path, "step": offset + step if step >= 0 else None, "device": track.head.device}

    def _at(self, row: str, start_ps: int, depth: int | None) -> Place:
        track = self._row(row)
        depths = range(len(track.lanes)) if depth is None else [depth] if depth < len(track.lanes) else []
        found: list[tuple[int, int, Place]] = []
        for at in depths:
            start = track.lanes[at].start
            index = int(np.searchsorted(start, start_ps))
            near = [i for i in (index - 1, index) if 0 <= i < len(start)]
            found.extend((abs(int(start[i]) - start_ps), at, Place(track, at, i)) for i in near)
        best = min(found, key=lambda it: it[:2], default=None)
        if best is None or best[0] > _NEAR_PS:
            raise InputError(
                f"{self._session.path}: no event of {row} starts at {start_ps} ps; select one there"
            )
        return best[2]

    def neighbor(self, row: str, depth: int, start_ps: int, direction: str) -> Json:
        """The next event at a depth of a row that starts after an instant, or the previous one that starts
        before."""
        track = self._row(row)
        if direction not in ("next", "previous"):
            raise InputError(f"{self._session.path}: no direction {direction}; ask for next or previous")
        if not 0 <= depth < max(1, len(track.lanes)):
            raise InputError(
                f"{self._session.path}: {row} has {len(track.lanes)} depths; ask for a lower one"
            )
        if not track.lanes:
            return {"event": None}
        lane = track.lanes[depth]
        if direction == "next":
            index = int(np.searchsorted(lane.start, start_ps, "right"))
        else:
            index = int(np.searchsorted(lane.start, start_ps, "left")) - 1
        there = 0 <= index < len(lane)
        return {"event": self.hosts[track.host].details.brief(Place(track, depth, index)) if there else None}

    def search(self, query: str, rows: Sequence[str] | None = None) -> Json:
        """Events by name: a part of it in any case, or after `name:` the whole; in all rows or in these."""
        tracks = [self._row(row) for row in rows] if rows else None
        return find([host.searchable for host in self.hosts.values()], query, tracks)

    def table(self, start_ps: int, end_ps: int, rows: Sequence[str], limit: int) -> Json:
        """What rows show in a window, by start; without rows, all that are drawn unfolded and hold events."""
        self._check(start_ps, end_ps)
        tracks = [self._row(row) for row in rows] or [
            track for track in self._tracks.values() if track.head.main and track.head.kind != "classes"
        ]
        count, places = table(tracks, start_ps, end_ps, limit)
        return {"count": count, "items": [self.hosts[it.track.host].details.brief(it) for it in places]}

    @property
    def nbytes(self) -> int:
        """Memory held beside the traces."""
        return sum(host.nbytes for host in self.hosts.values())

    def _row(self, row: str) -> Track:
        track = self._known(row)
        if track is None and row.endswith(SCOPES):
            # The page knows it from before the session was let go and read again.
            self.find_scopes()
            track = self._known(row)
        if track is not None:
            return track
        raise InputError(f"{self._session.path}: no row {row[:80]} in this session; reload the page")

    def _known(self, row: str) -> Track | None:
        return next((host.tracks[row] for host in self.hosts.values() if row in host.tracks), None)

    def _check(self, start_ps: int, end_ps: int) -> None:
        if end_ps <= start_ps:
            raise InputError(
                f"{self._session.path}: the window {start_ps} to {end_ps} ps is empty; give a later end"
            )

    def _phases(self) -> list[str]:
        """Names of the annotations just below the outermost ones (of the outermost where none has any below),
        in the order in which they usually come: by the median of their distance from the start of what
        encloses them.

        A name that is mostly found elsewhere is none: where a capture cuts a step, what lay deeper comes up.
        """
        distances: dict[str, list[Int64]] = {}
        for track in self._tracks.values():
            if track.head.kind != "annotations":
                continue
            outer, lane = track.lanes[0], track.lanes[min(1, len(track.lanes) - 1)]
            above = np.maximum(np.searchsorted(outer.start, lane.start, "right") - 1, 0)
            distance = lane.start - outer.start[above] if lane is not outer else lane.start
            names = len(track.texts)
            counts = [np.bincount(it.name, minlength=names) for it in track.lanes]
            here = np.bincount(lane.name, minlength=names)
            for name in np.flatnonzero((here > 0) & (2 * here >= np.sum(counts, axis=0))).tolist():
                distances.setdefault(track.texts[name], []).append(distance[lane.name == name])
        return sorted(distances, key=lambda name: (float(np.median(np.concatenate(distances[name]))), name))
