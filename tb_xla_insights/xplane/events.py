"""Decodes the events of a file, line by line, from the wire into columns.

Events of a line are counted first, which only hops from length to length, and cuts long lines into pieces. So
every piece knows its rows before decoding begins, columns are made once at their final size, and pieces are
decoded side by side, straight into their places. Only the values of stats are joined when all are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.files.source import Source
from tb_xla_insights.xplane.codes import (
    BAD,
    DOUBLE,
    FULL,
    MORE,
    NEVER,
    PADDING,
    REF,
    TEXT,
    TEXT_LONGEST,
    UNKNOWN,
    UNSIGNED,
)  # fmt: skip
from tb_xla_insights.xplane.columns import Columns, Line, Piece, PlaneTables, narrow_ints
from tb_xla_insights.xplane.kernels import EventColumns, count_events, decode_events

WINDOW = 1 << 20
"""How much of a line is read at once. Windows stay in the processor's cache."""

PIECE = 4 << 20
"""About how many bytes of a line one thread decodes at a time."""

ODD = 1 << 12
"""How many stat values of an unexpected kind one kernel call may leave for Python."""


def cut_into_pieces(source: Source, line: Line) -> None:
    """Cuts a line into pieces of about `PIECE` bytes between its fields, each with the number of events it
    has at most: damage inside of events shows only when they are decoded."""
    window = np.zeros(min(WINDOW, line.end - line.start) + PADDING, np.uint8)
    at, how = line.start, MORE
    line.pieces = [Piece(at, at, 0)]
    while at < line.end and how != BAD:
        size = source.read_into(at, window[: min(WINDOW, line.end - at)])
        pos, events, _, how = count_events(window, size, line.end - at, NEVER)
        if pos == 0:
            break
        at += pos
        if line.pieces[-1].end - line.pieces[-1].start >= PIECE:
            line.pieces.append(Piece(line.pieces[-1].end, at, 0))
        line.pieces[-1].end = at
        line.pieces[-1].count += events
    line.pieces[-1].end = line.end  # what cannot be is found again, and told, when it is decoded


_Strange = tuple[int, int, int, int | None]
"""A stat value that needs care: (column, place, row, value or None to take it out)."""


class Decoder:
    """Decodes pieces of lines. Each thread needs one of its own; `intern` gives the number of a text.

    Values of stats go where each stat has room for all events of a piece, since how many have it is not known before.
    That is used again for the next piece, and what the piece has is copied: much less memory to clear.
    """

    def __init__(
        self,
        source: Source,
        columns: Columns,
        number_stats: int,
        text_stats: int,
        intern: Callable[[bytes], int],
    ) -> None:
        self._source, self._columns, self._intern = source, columns, intern
        self._number_stats, self._text_stats = number_stats, text_stats
        self._window = np.zeros(min(WINDOW, source.size) + PADDING, np.uint8)
        self._odd = np.empty((ODD, 5), np.int64)
        self._make_room(0)

    def _make_room(self, events: int) -> None:
        self._room = events
        self._numbers, self._names = np.empty(0, np.int64), np.empty(0, np.int32)  # the old room goes first
        self._numbers = np.empty(self._number_stats * events, np.int64)
        self._names = np.empty(self._text_stats * events, np.int32)
        self._first = events * np.concatenate((np.arange(self._number_stats), np.arange(self._text_stats)))

    def decode(
        self,
        tables: PlaneTables,
        line: Line,
        piece: Piece,
        progress: Callable[[int], None],
        stop: Callable[[], bool],
    ) -> None:
        """Decodes the events of a line's piece into its rows; afterwards `count` says how many there are.
        `progress` is told the bytes decoded since it was told last. Ends early when `stop` says so."""
        if piece.count > self._room:
            self._make_room(piece.count)
        at, room = piece.start, piece.first + piece.count
        piece.count, self._places = 0, self._first.copy()
        strange: list[_Strange] = []
        while at < piece.end and not stop():
            want = min(len(self._window) - PADDING, piece.end - at)
            size = self._source.read_into(at, self._window[:want])
            pos, how = self._decode_window(tables, line, piece, at, size, room, strange)
            if how in (BAD, FULL) or size < want:  # more events than were counted: the file is being changed
                piece.bad, piece.ended = at + pos, size < want
                break
            if how == MORE and pos == 0:  # one event fills the window: read it again with more room
                self._window = np.zeros(2 * len(self._window), np.uint8)
            at += pos
            progress(pos)
        piece.stopped = at < piece.end and piece.bad is None
        self._settle(strange)
        found = np.flatnonzero(self._places > self._first).tolist()
        piece.values = {stat: self._taken(stat) for stat in found}

    def _taken(self, stat: int) -> NDArray[Any]:
        """The values of a stat that the piece has."""
        values = self._values(stat)[self._first[stat] : self._places[stat]]
        return narrow_ints(values) if stat < self._number_stats else values.copy()

    def _values(self, stat: int) -> NDArray[Any]:
        """Where values of a stat stand, at its places."""
        return self._numbers if stat < self._number_stats else self._names

    def _decode_window(
        self,
        tables: PlaneTables,
        line: Line,
        piece: Piece,
        at: int,
        size: int,
        room: int,
        strange: list[_Strange],
    ) -> tuple[int, int]:
        """Decodes one window, which begins at file offset `at`. Returns (position reached, how it stopped)."""
        columns = self._columns
        into = EventColumns(
            columns.metadata, columns.offset_ps, columns.duration_ps, columns.stats,
            self._number_stats, self._numbers, self._names, self._places, self._odd,
        )  # fmt: skip
        pos, how = 0, UNKNOWN
        while how in (UNKNOWN, FULL):
            before, row = pos, piece.first + piece.count
            pos, row, how = decode_events(
                self._window, size, pos, piece.end - at, row, room, tables.tables(), into
            )
            piece.count = row - piece.first
            strange += (self._strange(tables, *odd) for odd in self._odd[: into.odds].tolist())
            into.odds = 0
            if how == UNKNOWN:
                tables.add(into.unknown_id)
            elif how == FULL and pos == before:
                break
        # Only the piece that holds a field of the header knows it.
        line.id = into.id or line.id
        line.timestamp_ns = into.timestamp_ns or line.timestamp_ns
        line.name = self._text(into.name_at, into.name_length) or line.name
        line.display_name = self._text(into.display_at, into.display_length) or line.display_name
        return pos, how

    def _text(self, place: int, length: int) -> bytes:
        return self._window[place : place + length].tobytes()

    def _strange(
        self, tables: PlaneTables, column: int, place: int, kind: int, value: int, row: int
    ) -> _Strange:
        """A value of another kind than its column's, turned into what the column holds; None where that
        cannot be."""
        double = float(np.int64(value).view(np.float64)) if kind == DOUBLE else 0.0
        if kind == TEXT:
            at, length = divmod(value, TEXT_LONGEST + 1)
            text = self._text(at, length)
        elif kind == REF:
            text = tables.names.get(value, "").encode()
        elif kind == DOUBLE:
            text = str(double).encode()
        else:
            text = str(value % 2**64 if kind == UNSIGNED else value).encode()
        if column >= self._number_stats:
            return column, place, row, self._intern(text)
        if kind == DOUBLE:
            return column, place, row, int(double) if -(2.0**63) <= double < 2.0**63 else None
        return column, place, row, int(text) if re.fullmatch(rb"-?\d{1,18}", text) else None

    def _settle(self, strange: list[_Strange]) -> None:
        """Puts values of other kinds in their places, and takes out those that their column cannot hold."""
        lost: dict[int, list[int]] = {}
        for stat, place, row, value in strange:
            if value is None:
                lost.setdefault(stat, []).append(place - int(self._first[stat]))
                self._columns.stats[row] &= ~np.uint32(1 << stat)
            else:
                self._values(stat)[place] = value
        for stat, indices in lost.items():
            values = self._values(stat)[self._first[stat] : self._places[stat]]
            kept = np.delete(values, indices)
            values[: len(kept)] = kept
            self._places[stat] -= len(indices)
