"""Decodes the events of a file, line by line, from the wire into columns.

Events of a line are counted first, which only hops from length to length, and cuts long lines into pieces. So
every piece knows its rows before decoding begins, columns are made once at their final size, and pieces are
decoded side by side, straight into their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.xplane import event_kernels
from tb_xla_insights.xplane.columns import Columns, Line, Piece, PlaneTables
from tb_xla_insights.xplane.source import Source
from tb_xla_insights.xplane.wire_kernels import BAD, FULL, MORE, NEVER, PADDING, UNKNOWN

WINDOW = 1 << 20
"""How much of a line is read at once. Windows stay in the processor's cache."""

PIECE = 8 << 20
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
        pos, events, _, how = event_kernels.count_events(window, size, line.end - at, NEVER)
        if pos == 0:
            break
        at += int(pos)
        if line.pieces[-1].end - line.pieces[-1].start >= PIECE:
            line.pieces.append(Piece(line.pieces[-1].end, at, 0))
        line.pieces[-1].end = at
        line.pieces[-1].count += int(events)
    line.pieces[-1].end = line.end  # what cannot be is found again, and told, when it is decoded


_Strange = tuple[int, int, int, int | None]
"""A stat value that needs care: (column, place, row, value or None to take it out)."""


class Decoder:
    """Decodes pieces of lines. Each thread needs one of its own; `intern` gives the number of a text."""

    def __init__(self, source: Source, columns: Columns, intern: Callable[[bytes], int]) -> None:
        self._source, self._columns, self._intern = source, columns, intern
        self._window = np.zeros(WINDOW + PADDING, np.uint8)
        self._odd = np.zeros((ODD + 1, 5), np.int64)

    def decode(
        self, line: Line, piece: Piece, progress: Callable[[int], None], stop: Callable[[], bool]
    ) -> None:
        """Decodes the events of a line's piece into its rows; afterwards `count` says how many there are.
        `progress` is told the bytes decoded since it was told last. Ends early when `stop` says so."""
        columns = self._columns
        at, room = piece.start, piece.first + piece.count
        piece.count, piece.base = 0, piece.first
        self._places = columns.places + piece.base
        strange: list[_Strange] = []
        while at < piece.end and not stop():
            want = min(len(self._window) - PADDING, piece.end - at)
            size = self._source.read_into(at, self._window[:want])
            pos, how = self._decode_window(line, piece, at, size, room, strange)
            if how in (BAD, FULL) or size < want:  # more events than were counted: the file is being changed
                piece.bad, piece.ended = at + pos, size < want
                break
            if how == MORE and pos == 0:  # one event fills the window: read it again with more room
                self._window = np.zeros(2 * len(self._window), np.uint8)
            at += pos
            progress(pos)
        piece.stopped = at < piece.end and piece.bad is None
        piece.stat_count = self._places - columns.places - piece.base
        self._settle(piece, strange)

    def _decode_window(
        self, line: Line, piece: Piece, at: int, size: int, room: int, strange: list[_Strange]
    ) -> tuple[int, int]:
        """Decodes one window, which begins at file offset `at`. Returns (position reached, how it stopped)."""
        columns, tables = self._columns, line.tables
        header = np.zeros(event_kernels.HEADER, np.int64)
        pos, how, quick = 0, UNKNOWN, True
        while how in (UNKNOWN, FULL):
            self._odd[-1, 0] = 0
            before = pos
            pos, rows, how = event_kernels.decode_events(
                self._window, size, pos, piece.end - at, quick, *tables.metadata.arrays, *tables.wanted.arrays,
                tables.near, *tables.texts.arrays, tables.missing, header, piece.first + piece.count, room,
                columns.metadata, columns.offset_ps, columns.duration_ps, columns.stats,
                columns.first_name, columns.numbers, columns.names, self._places, self._odd,
            )  # fmt: skip
            piece.count = int(rows) - piece.first
            odds = self._odd[: self._odd[-1, 0]].tolist()
            strange += (self._strange(tables, *odd) for odd in odds)
            if how == UNKNOWN:
                tables.add(int(header[event_kernels.UNKNOWN_ID]))
            elif how == BAD and quick:
                quick, how = False, UNKNOWN
            elif how == FULL and pos == before:
                break
        # Only the piece that holds a field of the header knows it.
        line.id = int(header[event_kernels.LINE_ID]) or line.id
        line.timestamp_ns = int(header[event_kernels.LINE_TIME]) or line.timestamp_ns
        line.name = self._text(header, event_kernels.LINE_NAME) or line.name
        line.display_name = self._text(header, event_kernels.LINE_DISPLAY) or line.display_name
        return int(pos), int(how)

    def _text(self, header: NDArray[np.int64], slot: int) -> bytes:
        place, length = header[slot : slot + 2].tolist()
        return self._window[place : place + length].tobytes()

    def _strange(
        self, tables: PlaneTables, column: int, place: int, kind: int, value: int, row: int
    ) -> _Strange:
        """A value of another kind than its column's, turned into what the column holds; None where that
        cannot be."""
        double = float(np.int64(value).view(np.float64)) if kind == event_kernels.DOUBLE else 0.0
        if kind == event_kernels.TEXT:
            at, length = divmod(value, event_kernels.TEXT_LONGEST + 1)
            text = self._window[at : at + length].tobytes()
        elif kind == event_kernels.REF:
            text = tables.names.get(value, "").encode()
        elif kind == event_kernels.DOUBLE:
            text = str(double).encode()
        else:
            text = str(value % 2**64 if kind == event_kernels.UNSIGNED else value).encode()
        if column >= self._columns.first_name:
            return column, place, row, self._intern(text)
        if kind == event_kernels.DOUBLE:
            return column, place, row, int(double) if -(2.0**63) <= double < 2.0**63 else None
        return column, place, row, int(text) if re.fullmatch(rb"-?\d{1,18}", text) else None

    def _settle(self, piece: Piece, strange: list[_Strange]) -> None:
        """Puts values of other kinds in their places, and takes out those that their column cannot hold."""
        columns = self._columns
        lost: dict[int, list[int]] = {}
        for column, place, row, value in strange:
            if value is None:
                lost.setdefault(column, []).append(place - piece.base - int(columns.places[column]))
                columns.stats[row] &= ~np.uint32(1 << column)
            else:
                columns.values(column)[place] = value
        for column, indices in lost.items():
            first = piece.base + int(columns.places[column])
            values = columns.values(column)[first : first + piece.stat_count[column]]
            kept = np.delete(values, indices)
            values[: len(kept)] = kept
            piece.stat_count[column] -= len(indices)
