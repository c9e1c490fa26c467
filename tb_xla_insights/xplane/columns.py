"""Where decoded events go: one place per event and column, known before decoding begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.files.source import Source
from tb_xla_insights.parallel import run_parallel
from tb_xla_insights.xplane.kernels import EventTables, all_have, rows_with
from tb_xla_insights.xplane.wire import IdIndex, find_event_offset


@dataclass
class PlaneTables:
    """What decoding a plane's events needs: the index of each event metadata id (ids that it lacks are
    added), the column of each wanted stat's id, and the number of the text of each stat metadata id, or that of an
    id that nothing explains."""

    metadata: IdIndex
    wanted: IdIndex
    texts: IdIndex
    missing: int
    names: dict[int, str]
    lock: Lock = field(default_factory=Lock)

    def tables(self) -> EventTables:
        """As the kernels take them."""
        return EventTables(self.metadata.table, self.wanted.table, self.texts.table, self.missing)

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
    values: dict[int, NDArray[Any]] = field(default_factory=dict)
    """Of each wanted stat that its events have, by column, its values in the narrowest type that holds them."""


@dataclass
class Line:
    """One line of a plane: its file range, what its header says, and its pieces. Times of its events still
    count from `timestamp_ns`."""

    start: int
    end: int
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
    """The columns of all events of a file. `stats` tells by bits which wanted stats an event has."""

    def __init__(self, events: int) -> None:
        self.metadata = np.empty(events, np.int32)
        self.offset_ps, self.duration_ps = np.empty(events, np.int64), np.empty(events, np.int64)
        self.stats = np.empty(events, np.uint32)

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
    (unsigned 64-bit numbers are stored by their bits). Numbers are of the narrowest signed type that holds them all,
    indices int32.
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


def narrow_ints(values: NDArray[Any]) -> NDArray[Any]:
    """A copy of int64 values in the narrowest type that holds them all."""
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    for bits, narrow in ((8, np.int8), (16, np.int16), (32, np.int32)):
        if -(1 << bits - 1) <= least and most < 1 << bits - 1:
            return values.astype(narrow)
    return values.copy()


class StatColumns(dict[str, StatColumn]):
    """The wanted stats that events of a file have, by name."""

    @property
    def nbytes(self) -> int:
        """The memory that all columns take together; those of stats that come together share their rows."""
        rows = {id(column.rows): column.rows.nbytes for column in self.values()}
        return sum(rows.values()) + sum(column.values.nbytes for column in self.values())

    def move(self, order: NDArray[np.int64]) -> None:
        """Says that the event of row i was row `order[i]` when it was read."""
        moved = np.empty(len(order), np.int32)
        moved[order] = np.arange(len(order), dtype=np.int32)
        known: dict[
            int, tuple[NDArray[np.int32], NDArray[np.intp]]
        ] = {}  # stats that come together share their rows
        for name, column in list(self.items()):
            if id(column.rows) not in known:
                rows = moved[column.rows]
                ascending = np.argsort(rows, kind="stable")
                known[id(column.rows)] = rows[ascending], ascending
            rows, ascending = known[id(column.rows)]
            self[name] = StatColumn(rows, column.values[ascending], column.text)


def stat_columns(
    bits: NDArray[np.uint32], pieces: Sequence[Piece], number_names: Sequence[str], text_names: Sequence[str]
) -> StatColumns:
    """The stats of all events, from what `Columns.stats` and the pieces' values tell, which go."""
    names = [*number_names, *text_names]
    parts: dict[int, list[NDArray[Any]]] = {}
    for piece in pieces:
        for stat, its in piece.values.items():
            parts.setdefault(stat, []).append(its)
        piece.values = {}
    # Stats that come together share their rows: of as many events each they may.
    alike: dict[int, list[int]] = {}
    for stat, some in parts.items():
        alike.setdefault(sum(map(len, some)), []).append(stat)
    rows: dict[int, NDArray[np.int32]] = {}
    values: dict[int, NDArray[Any]] = {}

    def find_rows(count: int, stats: list[int]) -> None:
        for place, stat in enumerate(stats):
            known = [rows[other] for other in stats[:place] if all_have(bits, stat, rows[other])]
            rows[stat] = known[0] if known else np.empty(count, np.int32)
            if not known:
                rows_with(bits, stat, rows[stat])

    def join(stat: int) -> None:
        values[stat] = np.concatenate(parts.pop(stat))

    work = [partial(find_rows, count, stats) for count, stats in alike.items()]
    run_parallel([*work, *(partial(join, stat) for stat in list(parts))])
    return StatColumns(
        (name, StatColumn(rows[stat], values[stat], name in text_names))
        for stat, name in enumerate(names)
        if stat in values
    )


class EventOffsets:
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
        return find_event_offset(source, at, end, row - int(self._first[piece]))
