"""One host's part of a timeline: it lasts as long as the host is in memory, whichever hosts are drawn with it."""

from __future__ import annotations

import threading

from tb_xla_insights.timeline.details import Details
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.scopes import ScopeTrack, scope_tracks
from tb_xla_insights.timeline.search import Searchable
from tb_xla_insights.timeline.tracks import Track
from tb_xla_insights.timeline.view import prepare
from tb_xla_insights.trace.model import Trace


class HostTimeline:
    """A host's rows, and what answers about its events. `number` is its place in the session, which lasts
    `duration_ps`."""

    def __init__(self, number: int, trace: Trace, duration_ps: int) -> None:
        self.number, self.trace, self._duration_ps = number, trace, duration_ps
        self._rows = HostRows(number, trace, duration_ps)
        self.tracks = {track.head.id: track for track in self._rows.tracks}
        self.details = Details(self._rows)
        self.searchable = Searchable(self._rows)
        self._scoping = threading.Lock()

    @property
    def scoped(self) -> bool:
        """Whether the rows of scopes are among `tracks`."""
        return self._rows.scoped

    def find_scopes(self) -> None:
        """Adds the rows of scopes. Reads the programs that ran, once; whoever comes later waits."""
        with self._scoping:
            if self.scoped:
                return
            made = {it.number: it for it in scope_tracks(self.number, self.trace, self._duration_ps)}
            tracks: dict[str, Track] = {}
            for track in self._rows.tracks:
                tracks[track.head.id] = track
                scopes = made.get(_device_of(track.head.id)) if track.head.kind == "ops" else None
                if scopes is not None:
                    tracks[scopes.head.id] = scopes
            self.tracks = tracks
            self._rows.scoped = True
            prepare([track for track in tracks.values() if isinstance(track, ScopeTrack)], self._duration_ps)

    @property
    def nbytes(self) -> int:
        """Memory held beside the trace."""
        lanes = sum(lane.nbytes for track in self.tracks.values() for lane in track.lanes)
        return lanes + self._rows.kind.nbytes + 2 * len(self.trace)


def _device_of(row: str) -> int:
    """The number of a device's row: 3 of `h0.d3.ops`."""
    return int(row.split(".")[1][1:])
