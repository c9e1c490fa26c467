"""Where decoded events go: one place per event and column, known before decoding begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.xplane.kernels import NUMBER, REF
from tb_xla_insights.xplane.wire import Table


@dataclass
class PlaneTables:
    """What decoding a plane's events needs: the index of each event metadata id (ids that it lacks are
    added), the column of each wanted stat's id, and the interned text of each stat metadata id."""

    metadata: Table
    wanted: Table
    ids: Table
    texts: NDArray[np.int64]
    missing_text: int
    names: dict[int, str]
    lock: Lock = field(default_factory=Lock)

    def add(self, id_: int) -> None:
        with self.lock:
            if self.metadata.positions(np.array([id_], np.int64))[0] < 0:
                self.metadata.add(id_)


@dataclass
class Line:
    """One line of a plane: its file range, what its header says, and the rows of its events, `first` to
    `first + count - 1`, times still counted from `timestamp_ns`. `bad` is the file offset of what cannot be,
    where decoding had to stop; `ended` says that the file has become shorter."""

    start: int
    end: int
    tables: PlaneTables
    id: int = 0
    name: bytes = b""
    display_name: bytes = b""
    timestamp_ns: int = 0
    first: int = 0
    count: int = 0
    bad: int | None = None
    ended: bool = False
    stopped: bool = False
    stat_count: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


class Columns:
    """The columns of all events of a file, and of the wanted stats, whose values are texts where `text` says
    so."""

    def __init__(self, events: int, text: Sequence[bool]) -> None:
        self.native = np.array([REF if is_text else NUMBER for is_text in text], np.int8)
        self.metadata = np.empty(events, np.int32)
        self.offset_ps, self.duration_ps, self.place = (np.empty(events, np.int64) for _ in range(3))
        # No event needs more than one place per stat. Memory that nothing is written to is never really taken.
        self.stat_row = np.empty((len(text), events), np.int32)
        self.stat_value = np.empty((len(text), events), np.int64)

    def stat(self, column: int, lines: Sequence[Line]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The rows and values of one stat. The values of lines, which lie apart, are moved together in place."""
        rows, values, end = self.stat_row[column], self.stat_value[column], 0
        for line in lines:
            count = int(line.stat_count[column])
            rows[end : end + count] = rows[line.first : line.first + count]
            values[end : end + count] = values[line.first : line.first + count]
            end += count
        return rows[:end], values[:end]

    def close_holes(self, lines: Sequence[Line]) -> None:
        """Moves events together where lines have fewer than were counted."""
        end = 0
        for line in lines:
            kept = slice(line.first, line.first + line.count)
            for events in (self.metadata, self.offset_ps, self.duration_ps, self.place):
                events[end : end + line.count] = events[kept]
            for column in range(len(self.native)):
                stats = slice(line.first, line.first + line.stat_count[column])
                moved = slice(end, end + line.stat_count[column])
                self.stat_row[column, moved] = self.stat_row[column, stats] - (line.first - end)
                self.stat_value[column, moved] = self.stat_value[column, stats]
            line.first, end = end, end + line.count
        self.metadata, self.offset_ps = self.metadata[:end], self.offset_ps[:end]
        self.duration_ps, self.place = self.duration_ps[:end], self.place[:end]
