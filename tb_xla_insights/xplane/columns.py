"""Where decoded events go: one place per event and column, known before decoding begins."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.xplane.event_kernels import all_have, rows_with
from tb_xla_insights.xplane.source import Source
from tb_xla_insights.xplane.wire import Table, event_place


@dataclass
class PlaneTables:
    """What decoding a plane's events needs: the index of each event metadata id (ids that it lacks are
    added), the column of each wanted stat's id (`near` again by ids below 128), and the number of the text of
    each stat metadata id, or that of an id that nothing explains."""

    metadata: Table
    wanted: Table
    texts: Table
    missing: int
    names: dict[int, str]
    lock: Lock = field(default_factory=Lock)

    @cached_property
    def near(self) -> NDArray[np.int8]:
        return self.wanted.positions(np.arange(128)).astype(np.int8)

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
    base: int = 0
    """Where the values of its events' stats begin in their columns."""
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
    """The columns of all events of a file. `stats` tells by bits which wanted stats an event has; their values
    stand in `numbers` and, as numbers of texts, in `names`, without holes within each piece."""

    def __init__(self, events: int, number_stats: int, text_stats: int) -> None:
        self.metadata = np.empty(events, np.int32)
        self.offset_ps, self.duration_ps = np.empty(events, np.int64), np.empty(events, np.int64)
        self.stats = np.empty(events, np.uint32)
        # No event needs more than one place per stat: those of each stat stand behind those of the one before.
        self._events = events
        self._memory = (
            mmap.mmap(-1, max(8 * number_stats * events, 1)),
            mmap.mmap(-1, max(4 * text_stats * events, 1)),
        )
        # Maps take memory page by page, where something is written. NumPy's own would ask for huge pages, and
        # take most of what is only reserved here.
        self.numbers = np.frombuffer(self._memory[0], np.int64, number_stats * events)
        self.names = np.frombuffer(self._memory[1], np.int32, text_stats * events)
        self.first_name = number_stats
        self.places = events * np.concatenate((np.arange(number_stats), np.arange(text_stats)))

    def values(self, column: int) -> NDArray[Any]:
        """Where values of a stat stand, at its places."""
        return self.numbers if column < self.first_name else self.names

    def release(self, column: int) -> None:
        """Gives back the memory of one stat's values, where the system can."""
        size = self.values(column).itemsize
        first = int(self.places[column]) * size
        start = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE
        length = first + self._events * size - start
        if length > 0 and hasattr(mmap, "MADV_DONTNEED"):
            memory = self._memory[column >= self.first_name]
            memory.madvise(mmap.MADV_DONTNEED, start, length // mmap.PAGESIZE * mmap.PAGESIZE)

    def close_holes(self, pieces: Sequence[Piece]) -> None:
        """Moves events together where pieces have fewer than were counted."""
        end = 0
        for piece in pieces:
            kept = slice(piece.first, piece.first + piece.count)
            for events in (self.metadata, self.offset_ps, self.duration_ps, self.stats):
                events[end : end + piece.count] = events[kept]
            piece.first, end = end, end + piece.count
        self.metadata, self.offset_ps = self.metadata[:end], self.offset_ps[:end]
        self.duration_ps, self.stats = self.duration_ps[:end], self.stats[:end]


@dataclass(frozen=True)
class StatColumn:
    """One stat of the events that carry it: `values[i]` belongs to event `rows[i]`; rows ascend.

    `text` tells columns whose values are indices into the trace's strings from those that are numbers
    (unsigned 64-bit numbers are stored by their bits): int64 for numbers, int32 for texts.
    """

    rows: NDArray[np.int32]
    values: NDArray[Any]
    text: bool

    def at(self, rows: NDArray[Any], missing: int) -> NDArray[np.int64]:
        """The values of the given events, `missing` where an event has none."""
        if self.rows.size == 0:
            return np.full(len(rows), missing, np.int64)
        place = np.minimum(np.searchsorted(self.rows, rows), self.rows.size - 1)
        return np.where(self.rows[place] == rows, self.values[place], np.int64(missing))


class StatColumns(Mapping[str, StatColumn]):
    """The wanted stats that events of a file have. A column is put together when it is asked for first, since
    making memory is what most of decoding's time goes to. Several threads may ask, each for a column of its own; only
    `release` needs to be alone."""

    def __init__(self, columns: Columns, pieces: Sequence[Piece], names: Sequence[str]) -> None:
        self._columns, self._pieces, self._locks = columns, pieces, {name: Lock() for name in names}
        counts = sum((piece.stat_count for piece in pieces), np.zeros(len(names), np.int64))
        self._counts = {name: (i, int(counts[i])) for i, name in enumerate(names) if counts[i]}
        self._made: dict[str, StatColumn] = {}
        self._read: list[NDArray[np.int32]] = []
        self._moved: NDArray[np.int32] | None = None

    def move(self, order: NDArray[np.int64]) -> None:
        """Says that the event of row i was row `order[i]` when it was read. Once, before any column is asked for."""
        self._moved = np.empty(len(order), np.int32)
        self._moved[order] = np.arange(len(order), dtype=np.int32)

    @property
    def nbytes(self) -> int:
        """About the memory that all columns take together."""
        return self._columns.stats.nbytes + 12 * sum(count for _, count in self._counts.values())

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __contains__(self, name: object) -> bool:
        return name in self._counts

    def __getitem__(self, name: str) -> StatColumn:
        column, count = self._counts[name]
        with self._locks[name]:
            if name not in self._made:
                rows, values = self._rows(column, count), self._join(column)
                if self._moved is not None:
                    moved = self._moved[rows]
                    ascending = np.argsort(moved, kind="stable")
                    rows, values = moved[ascending], values[ascending]
                self._made[name] = StatColumn(rows, values, column >= self._columns.first_name)
        return self._made[name]

    def make(self, *names: str) -> None:
        """Puts together the columns that somebody will ask for."""
        for name in names:
            self.get(name)

    def release(self, *names: str) -> None:
        """Forgets stats that nobody asks for again; columns handed out before hold nothing of use any more."""
        for name in names:
            if name in self._counts:
                self._columns.release(self._counts.pop(name)[0])
                self._made.pop(name, None)
        self._read.clear()

    def _rows(self, column: int, count: int) -> NDArray[np.int32]:
        """The rows that have a stat, as they were read; stats that come together share them."""
        for shared in self._read:
            if len(shared) == count and all_have(self._columns.stats, column, shared):
                return shared
        rows = np.empty(count, np.int32)
        rows_with(self._columns.stats, column, rows)
        self._read.append(rows)
        return rows

    def _join(self, column: int) -> NDArray[Any]:
        """Moves the values of pieces, which lie apart, together in place."""
        values, first = self._columns.values(column), int(self._columns.places[column])
        end = first
        for piece in self._pieces:
            count, base = int(piece.stat_count[column]), first + piece.base
            values[end : end + count] = values[base : base + count]
            end += count
        return values[first:end]


class Places:
    """Where in the file events lie, as read: found by stepping through the piece of a line that holds them."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        filled = [piece for piece in pieces if piece.count]
        self._first = np.array([piece.first for piece in filled], np.int64)
        self._ranges = [(piece.start, piece.end) for piece in filled]
        self._order: NDArray[np.int64] | None = None

    def move(self, order: NDArray[np.int64]) -> None:
        """Says that the event of row i was row `order[i]` when it was read."""
        self._order = order

    def find(self, source: Source, row: int) -> int:
        """The file offset of the length of an event's message. Raises InputError, and WireError where the
        file has become shorter."""
        row = row if self._order is None else int(self._order[row])
        piece = int(np.searchsorted(self._first, row, "right")) - 1
        at, end = self._ranges[piece]
        return event_place(source, at, end, row - int(self._first[piece]))
