"""One host's part of a timeline, cached as long as the host is in memory."""

from __future__ import annotations

import threading

from tb_xla_insights.timeline.details import Details
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.scopes import ScopeTrack, scope_tracks
from tb_xla_insights.timeline.search import Searchable
from tb_xla_insights.timeline.tracks import Track
from tb_xla_insights.timeline.window_slices import prepare
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.row_ids import RowId


class HostTimeline:
    """A host's rows, event details and search; `number` is its index in the session, which lasts `duration_ps`."""

    def __init__(self, number: int, trace: Trace, duration_ps: int) -> None:
        self.number, self.trace, self._duration_ps = number, trace, duration_ps
        self._rows = HostRows(number, trace, duration_ps)
        self.tracks = {track.head.id: track for track in self._rows.tracks}
        self.details = Details(self._rows)
        self.searchable = Searchable(self._rows)
        self._scope_lock = threading.Lock()

    @property
    def has_scopes(self) -> bool:
        """Whether `tracks` includes the rows of scopes."""
        return self._rows.has_scopes

    def find_scopes(self) -> None:
        """Adds the rows of scopes. Reads the programs that ran, once; concurrent callers wait."""
        with self._scope_lock:
            if self.has_scopes:
                return
            scope_track_of_device = {
                track.device_number: track
                for track in scope_tracks(self.number, self.trace, self._duration_ps)
            }
            tracks: dict[str, Track] = {}
            for track in self._rows.tracks:
                tracks[track.head.id] = track
                device = RowId.parse(track.head.id).device if track.head.kind == "ops" else None
                if device is not None and device in scope_track_of_device:
                    scopes = scope_track_of_device[device]
                    tracks[scopes.head.id] = scopes
            self.tracks = tracks
            self._rows.has_scopes = True
            prepare([track for track in tracks.values() if isinstance(track, ScopeTrack)], self._duration_ps)
