"""Where decoded events go: one place per event and column, known before decoding begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from mmap import mmap
from threading import Lock
from typing import Any

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
class Piece:
    """A stretch of a line that one thread decodes: a file range between two fields, and the rows of its
    events, `first` to `first + count - 1`. `bad` is the file offset of what cannot be, where decoding had to
    stop; `ended` says that the file has become shorter, `stopped` that somebody wanted no more."""

    start: int
    end: int
    count: int
    first: int = 0
    bad: int | None = None
    ended: bool = False
    stopped: bool = False
    stat_count: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass
class Line:
    """One line of a plane: its file range, what its header says, and its pieces. Times of its events still
    count from `timestamp_ns`."""

    start: int
    end: int
    tables: PlaneTables
    id: int = 0
    name: bytes = b""
    display_name: bytes = b""
    timestamp_ns: int = 0
    pieces: list[Piece] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The row of its first event."""
        return self.pieces[0].first if self.pieces else 0

    @property
    def count(self) -> int:
        """How many events it has."""
        return sum(piece.count for piece in self.pieces)


class Columns:
    """The columns of all events of a file, and of the wanted stats, whose values are texts where `text` says
    so."""

    def __init__(self, events: int, text: Sequence[bool]) -> None:
        self.native = np.array([REF if is_text else NUMBER for is_text in text], np.int8)
        self.metadata = np.empty(events, np.int32)
        self.offset_ps, self.duration_ps, self.place = (np.empty(events, np.int64) for _ in range(3))
        # No event needs more than one place per stat.
        self.stat_row = _untouched((len(text), events), np.int32)
        self.stat_value = _untouched((len(text), events), np.int64)

    def stat(self, column: int, pieces: Sequence[Piece]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The rows and values of one stat. The values of pieces, which lie apart, are moved together in
        place."""
        rows, values, end = self.stat_row[column], self.stat_value[column], 0
        for piece in pieces:
            count = int(piece.stat_count[column])
            rows[end : end + count] = rows[piece.first : piece.first + count]
            values[end : end + count] = values[piece.first : piece.first + count]
            end += count
        return rows[:end], values[:end]

    def close_holes(self, pieces: Sequence[Piece]) -> None:
        """Moves events together where pieces have fewer than were counted."""
        end = 0
        for piece in pieces:
            kept = slice(piece.first, piece.first + piece.count)
            for events in (self.metadata, self.offset_ps, self.duration_ps, self.place):
                events[end : end + piece.count] = events[kept]
            for column in range(len(self.native)):
                stats = slice(piece.first, piece.first + piece.stat_count[column])
                moved = slice(end, end + piece.stat_count[column])
                self.stat_row[column, moved] = self.stat_row[column, stats] - (piece.first - end)
                self.stat_value[column, moved] = self.stat_value[column, stats]
            piece.first, end = end, end + piece.count
        self.metadata, self.offset_ps = self.metadata[:end], self.offset_ps[:end]
        self.duration_ps, self.place = self.duration_ps[:end], self.place[:end]


def _untouched(shape: tuple[int, int], dtype: type[np.generic]) -> NDArray[Any]:
    """An array whose memory is taken page by page, where something is written. NumPy's own would ask for huge
    pages, and take most of what is only reserved here."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    return np.frombuffer(mmap(-1, size), dtype).reshape(shape) if size else np.empty(shape, dtype)
