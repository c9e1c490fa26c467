"""The columns that events are decoded into: one row per event, known before decoding begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.files.source import Source
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.xplane.kernels import EventTables, all_have, rows_with
from tb_xla_insights.xplane.wire import IdIndex, fields, find_event_offset

_EVENTS = 4
"""The number of a line's field that holds its events."""


@dataclass
class PlaneTables:
    """The tables that decoding a plane's events needs: `metadata`, the index of each event metadata id (unknown ids
    are added); `stat_columns`, the column of each requested stat's id; `string_indices`, the string index of each stat
    metadata's name, by its id, with `missing_string` for an unknown id; and `names`, these names themselves."""

    metadata: IdIndex
    stat_columns: IdIndex
    string_indices: IdIndex
    missing_string: int
    names: dict[int, str]
    lock: Lock = field(default_factory=Lock)

    def kernel_tables(self) -> EventTables:
        """The tables as the kernels take them."""
        return EventTables(
            self.metadata.table, self.stat_columns.table, self.string_indices.table, self.missing_string
        )

    def add_metadata(self, id_: int) -> None:
        """Adds an event metadata id unless another thread has added it."""
        with self.lock:
            if self.metadata.positions(np.array([id_], np.int64))[0] < 0:
                self.metadata.add(id_)


@dataclass
class Piece:
    """A part of a line that one thread decodes: a file range of whole fields, and the rows of its events, `first` to
    `first + count - 1`. `invalid_offset` is the file offset of the invalid byte at which decoding stopped;
    `is_file_end` means that the file has become shorter and ends there, `has_changed` that the piece has more events
    than were counted, so the file was changed meanwhile, `is_stopped` that the caller stopped the reading."""

    start: int
    end: int
    count: int
    first: int = 0
    invalid_offset: int | None = None
    is_file_end: bool = False
    has_changed: bool = False
    is_stopped: bool = False
    values: dict[int, NDArray[Any]] = field(default_factory=dict)
    """The values of each requested stat that the events have, by column; numbers in the narrowest type that holds
    them."""


@dataclass
class EncodedLine:
    """One line of a plane: its file range, the fields of its header, and its pieces. Times of its events count from
    `timestamp_ns`."""

    start: int
    end: int
    id: int = 0
    name: bytes = b""
    display_name: bytes = b""
    timestamp_ns: int = 0
    pieces: list[Piece] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The row of the first event."""
        return self.pieces[0].first if self.pieces else 0

    @property
    def count(self) -> int:
        """The number of events."""
        return sum(piece.count for piece in self.pieces)


class DecodedColumns:
    """The columns of all events of a file. Bit c of `stats` says that the event has requested stat c."""

    def __init__(self, events: int) -> None:
        self.metadata = np.empty(events, np.int32)
        self.offset_ps, self.duration_ps = np.empty(events, np.int64), np.empty(events, np.int64)
        self.stats = np.empty(events, np.uint32)

    def close_holes(self, pieces: Sequence[Piece]) -> None:
        """Moves rows up to close the holes after pieces that have fewer events than were counted."""
        end = 0
        for piece in pieces:
            rows = slice(piece.first, piece.first + piece.count)
            for column in (self.metadata, self.offset_ps, self.duration_ps, self.stats):
                column[end : end + piece.count] = column[rows]
            piece.first, end = end, end + piece.count
        self.metadata, self.offset_ps = self.metadata[:end], self.offset_ps[:end]
        self.duration_ps, self.stats = self.duration_ps[:end], self.stats[:end]


@dataclass(frozen=True)
class StatColumn:
    """One stat of the events that carry it: `values[i]` belongs to event `rows[i]`; rows ascend.

    With `is_text`, values are indices (int32) into the trace's strings, else numbers, in the narrowest signed type that
    holds them all. Unsigned 64-bit numbers are stored by their bits.
    """

    rows: NDArray[np.int32]
    values: NDArray[Any]
    is_text: bool

    def at(self, rows: NDArray[Any], missing: int) -> NDArray[np.int64]:
        """The values of some events, `missing` where an event has none."""
        if self.rows.size == 0:
            return np.full(len(rows), missing, np.int64)
        index = np.minimum(np.searchsorted(self.rows, rows), self.rows.size - 1)
        return np.where(self.rows[index] == rows, self.values[index], np.int64(missing))


def narrow_ints(values: NDArray[Any]) -> NDArray[Any]:
    """Copies int64 values into the narrowest type that holds them all."""
    smallest, largest = int(values.min(initial=0)), int(values.max(initial=0))
    for bits, dtype in ((8, np.int8), (16, np.int16), (32, np.int32)):
        if -(1 << bits - 1) <= smallest and largest < 1 << bits - 1:
            return values.astype(dtype)
    return values.copy()


class StatColumns(dict[str, StatColumn]):
    """The requested stats that a file's events have, by name."""

    def move(self, order: NDArray[np.int64]) -> None:
        """Renumbers the rows after a sort of the events: row i is now the event that was row `order[i]`."""
        new_row = np.empty(len(order), np.int32)
        new_row[order] = np.arange(len(order), dtype=np.int32)
        # Stats that occur on the same events share their rows, before and after the move.
        moved: dict[int, tuple[NDArray[np.int32], NDArray[np.intp]]] = {}
        for name, column in list(self.items()):
            if id(column.rows) not in moved:
                rows = new_row[column.rows]
                ascending = np.argsort(rows, kind="stable")
                moved[id(column.rows)] = rows[ascending], ascending
            rows, ascending = moved[id(column.rows)]
            self[name] = StatColumn(rows, column.values[ascending], column.is_text)


def stat_columns(
    bits: NDArray[np.uint32], pieces: Sequence[Piece], number_names: Sequence[str], text_names: Sequence[str]
) -> StatColumns:
    """The stats of all events, from the bits in `DecodedColumns.stats` and the pieces' values, which are released."""
    names = [*number_names, *text_names]
    parts: dict[int, list[NDArray[Any]]] = {}
    for piece in pieces:
        for stat, piece_values in piece.values.items():
            parts.setdefault(stat, []).append(piece_values)
        piece.values = {}
    # Stats that occur on the same events share their rows; candidates are stats with equal counts.
    stats_by_count: dict[int, list[int]] = {}
    for stat, arrays in parts.items():
        stats_by_count.setdefault(sum(map(len, arrays)), []).append(stat)
    rows: dict[int, NDArray[np.int32]] = {}
    values: dict[int, NDArray[Any]] = {}

    def find_rows(count: int, stats: list[int]) -> None:
        for index, stat in enumerate(stats):
            shared_rows = [rows[earlier] for earlier in stats[:index] if all_have(bits, stat, rows[earlier])]
            rows[stat] = shared_rows[0] if shared_rows else np.empty(count, np.int32)
            if not shared_rows:
                rows_with(bits, stat, rows[stat])

    def concatenate_values(stat: int) -> None:
        values[stat] = np.concatenate(parts.pop(stat))

    tasks = [partial(find_rows, count, stats) for count, stats in stats_by_count.items()]
    run_parallel([*tasks, *(partial(concatenate_values, stat) for stat in list(parts))])
    return StatColumns(
        (name, StatColumn(rows[stat], values[stat], name in text_names))
        for stat, name in enumerate(names)
        if stat in values
    )


class EventOffsets:
    """The file offsets of events, found on demand by scanning the piece of the line that holds an event."""

    def __init__(self, pieces: Sequence[tuple[int, Piece]]) -> None:
        """`pieces` are those of all lines, each with the index of its plane."""
        nonempty = [piece for _, piece in pieces if piece.count]
        self._plane = [plane for plane, piece in pieces if piece.count]
        self._first = np.array([piece.first for piece in nonempty], np.int64)
        self._ranges = [(piece.start, piece.end) for piece in nonempty]
        self._order: NDArray[np.int64] | None = None

    def move(self, order: NDArray[np.int64]) -> None:
        """Renumbers the rows after a sort of the events: row i is now the event that was row `order[i]`."""
        self._order = order if self._order is None else self._order[order]

    def plane(self, row: int) -> int:
        """The index of the plane in which an event is recorded."""
        row = row if self._order is None else int(self._order[row])
        return self._plane[int(np.searchsorted(self._first, row, "right")) - 1]

    def find(self, source: Source, row: int) -> int:
        """The file offset of the length of an event's message. Raises InputError, and WireError if the file has become
        shorter."""
        row = row if self._order is None else int(self._order[row])
        piece = int(np.searchsorted(self._first, row, "right")) - 1
        start, end = self._ranges[piece]
        return find_event_offset(source, start, end, row - int(self._first[piece]))

    def messages(self, source: Source, rows: NDArray[np.int32]) -> Iterator[tuple[int, int, int]]:
        """The messages of many events: the place of each in `rows`, and its file range as offset and length. They come
        in the order of the file, which is scanned once where these events are. Raises as `find` does."""
        recorded = rows if self._order is None else self._order[rows]
        order = np.argsort(recorded, kind="stable")
        pieces = np.searchsorted(self._first, recorded[order], "right") - 1
        for of_piece in np.split(order, np.flatnonzero(np.diff(pieces)) + 1) if len(rows) else ():
            piece = int(np.searchsorted(self._first, recorded[of_piece[0]], "right")) - 1
            wanted, seen = recorded[of_piece] - self._first[piece], 0
            for number, offset, length in fields(source, *self._ranges[piece]):
                is_event = (number == _EVENTS) & (length >= 0)
                events = int(is_event.sum())
                here = slice(*np.searchsorted(wanted, (seen, seen + events)))
                at = wanted[here] - seen
                yield from zip(
                    of_piece[here].tolist(),
                    offset[is_event][at].tolist(),
                    length[is_event][at].tolist(),
                    strict=True,
                )
                seen += events
                if seen > wanted[-1]:
                    break
