"""One host's part of a timeline, cached as long as the host is in memory."""

from __future__ import annotations

import threading

from tb_xla_insights.timeline.details import Details
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.scopes import scope_tracks
from tb_xla_insights.timeline.search import Searchable
from tb_xla_insights.timeline.tracks import Track
from tb_xla_insights.timeline.window_slices import prepare
from tb_xla_insights.trace.model import Trace


class HostTimeline:
    """A host's rows, event details and search; `number` is its index in the session, which lasts `duration_ps`."""

    def __init__(self, number: int, trace: Trace, duration_ps: int) -> None:
        self.number, self.trace, self._duration_ps = number, trace, duration_ps
        self._rows = HostRows(number, trace, duration_ps)
        self.tracks = {track.head.id: track for track in self._rows.tracks}
        self.details = Details(self._rows)
        self.searchable = Searchable(self._rows)
        self._lock = threading.Lock()

    @property
    def has_all_rows(self) -> bool:
        """Whether `tracks` includes the rows of gaps, scopes and asynchronous ops."""
        return self._rows.has_all

    def find_more_rows(self) -> None:
        """Adds the rows of gaps, scopes and asynchronous ops, once; concurrent callers wait. Scopes are read from the
        programs that ran."""
        with self._lock:
            if self.has_all_rows:
                return
            gaps = {track.head.device: track for track in self._rows.gap_tracks()}
            scopes = {
                track.head.device: track for track in scope_tracks(self.number, self.trace, self._duration_ps)
            }
            windows = {track.head.device: track for track in self._rows.window_tracks()}
            more = [*gaps.values(), *scopes.values(), *windows.values()]
            tracks: list[Track] = []
            for track in self._rows.tracks:
                device = track.head.device
                if device in gaps:  # gaps precede the device's other rows
                    tracks.append(gaps.pop(device))
                tracks.append(track)
                if track.head.kind == "ops":
                    tracks += [rows[device] for rows in (scopes, windows) if device in rows]
            self.tracks = {track.head.id: track for track in tracks}
            self.searchable.scopes = [track for track in more if track.head.kind == "scopes"]
            self._rows.has_all = True
            prepare(more, self._duration_ps)
