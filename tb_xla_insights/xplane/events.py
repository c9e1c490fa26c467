"""Decodes the events of a file, line by line, from the wire into columns.

A first pass counts the events of each line by stepping from length to length, and cuts long lines into pieces. Every
piece then knows its rows before decoding begins: columns are allocated once at their final size, and pieces are decoded
in parallel, straight into their rows. Only the values of stats are concatenated at the end.
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
    MAX_TEXT_LENGTH,
    MORE,
    PADDING,
    REF,
    TEXT,
    UNKNOWN,
    UNSIGNED,
)  # fmt: skip
from tb_xla_insights.xplane.columns import DecodedColumns, EncodedLine, Piece, PlaneTables, narrow_ints
from tb_xla_insights.xplane.kernels import EventColumns, count_events, decode_events

WINDOW_BYTES = 1 << 20
"""How much of a line is read at once; small enough for the processor's cache."""

PIECE_BYTES = 4 << 20
"""The approximate size of a piece, which one thread decodes."""

MAX_MISMATCHES = 1 << 12
"""How many stat values of an unexpected type one kernel call may leave for Python."""


def cut_into_pieces(source: Source, line: EncodedLine) -> None:
    """Cuts a line between its fields into pieces of about `PIECE_BYTES`. Their counts of events are upper limits, since
    damage inside events shows only when they are decoded."""
    window = np.zeros(min(WINDOW_BYTES, line.end - line.start) + PADDING, np.uint8)
    offset, stop_code = line.start, MORE
    line.pieces = [Piece(offset, offset, 0)]
    while offset < line.end and stop_code != BAD:
        size = source.read_into(offset, window[: min(WINDOW_BYTES, line.end - offset)])
        # A window has fewer events than bytes.
        pos, events, _, stop_code = count_events(window, size, line.end - offset, size)
        if pos == 0:
            break
        offset += pos
        if line.pieces[-1].end - line.pieces[-1].start >= PIECE_BYTES:
            line.pieces.append(Piece(line.pieces[-1].end, offset, 0))
        line.pieces[-1].end = offset
        line.pieces[-1].count += events
    line.pieces[-1].end = line.end  # damage is found again, and reported, when the piece is decoded


def _int64(text: bytes) -> int | None:
    value = int(text) if re.fullmatch(rb"-?\d{1,19}", text) else None
    return value if value is not None and -(2**63) <= value < 2**63 else None


_Conversion = tuple[int, int, int, int | None]
"""A stat value converted to its column's type: (column, index in the buffer, row, value, or None to remove it)."""


class Decoder:
    """Decodes pieces of lines. Each thread needs its own decoder; `intern` returns the string index of a text.

    Values of stats are decoded into buffers with space for all events of a piece per stat, since the number of events
    that have a stat is unknown. A piece's values are copied out and the buffers reused for the next piece, so that the
    system clears much less memory than for new buffers.
    """

    def __init__(
        self,
        source: Source,
        columns: DecodedColumns,
        number_stats: int,
        text_stats: int,
        intern: Callable[[bytes], int],
    ) -> None:
        self._source, self._columns, self._intern = source, columns, intern
        self._number_stats, self._text_stats = number_stats, text_stats
        self._window = np.zeros(min(WINDOW_BYTES, source.size) + PADDING, np.uint8)
        self._mismatches = np.empty((MAX_MISMATCHES, 5), np.int64)
        self._allocate(0)

    def _allocate(self, events: int) -> None:
        self._capacity = events
        # Frees the old buffers before new ones are allocated.
        self._numbers, self._texts = np.empty(0, np.int64), np.empty(0, np.int32)
        self._numbers = np.empty(self._number_stats * events, np.int64)
        self._texts = np.empty(self._text_stats * events, np.int32)
        self._start = events * np.concatenate((np.arange(self._number_stats), np.arange(self._text_stats)))

    def decode(
        self,
        tables: PlaneTables,
        line: EncodedLine,
        piece: Piece,
        progress: Callable[[int], None],
        should_stop: Callable[[], bool],
    ) -> None:
        """Decodes the events of a piece into its rows and sets `piece.count` to their number. Calls `progress` with the
        bytes decoded since its last call. Ends early once `should_stop` returns True."""
        if piece.count > self._capacity:
            self._allocate(piece.count)
        offset, row_limit = piece.start, piece.first + piece.count
        piece.count, self._next = 0, self._start.copy()
        conversions: list[_Conversion] = []
        while offset < piece.end and not should_stop():
            requested_bytes = min(len(self._window) - PADDING, piece.end - offset)
            size = self._source.read_into(offset, self._window[:requested_bytes])
            pos, stop_code = self._decode_window(tables, line, piece, offset, size, row_limit, conversions)
            if stop_code in (BAD, FULL) or size < requested_bytes:
                piece.invalid_offset, piece.is_file_end = offset + pos, size < requested_bytes
                piece.has_changed = stop_code == FULL
                break
            if stop_code == MORE and pos == 0:  # one field fills the window: read it again with a larger one
                self._window = np.zeros(2 * len(self._window), np.uint8)
            offset += pos
            progress(pos)
        piece.is_stopped = offset < piece.end and piece.invalid_offset is None
        self._apply_conversions(conversions)
        stats = np.flatnonzero(self._next > self._start).tolist()
        piece.values = {stat: self._stat_values(stat) for stat in stats}

    def _stat_values(self, stat: int) -> NDArray[Any]:
        """A copy of the piece's values of a stat."""
        values = self._buffer(stat)[self._start[stat] : self._next[stat]]
        return narrow_ints(values) if stat < self._number_stats else values.copy()

    def _buffer(self, stat: int) -> NDArray[Any]:
        """The buffer that holds a stat's values, from `_start[stat]` to `_next[stat]`."""
        return self._numbers if stat < self._number_stats else self._texts

    def _decode_window(
        self,
        tables: PlaneTables,
        line: EncodedLine,
        piece: Piece,
        offset: int,
        size: int,
        row_limit: int,
        conversions: list[_Conversion],
    ) -> tuple[int, int]:
        """Decodes one window, which begins at file offset `offset`. Returns (next position, stop code)."""
        columns = self._columns
        output = EventColumns(
            columns.metadata, columns.offset_ps, columns.duration_ps, columns.stats,
            self._number_stats, self._numbers, self._texts, self._next, self._mismatches,
        )  # fmt: skip
        pos, stop_code = 0, UNKNOWN
        while stop_code in (UNKNOWN, FULL):
            start, row = pos, piece.first + piece.count
            pos, row, stop_code = decode_events(
                self._window, size, start, piece.end - offset, row, row_limit, tables.kernel_tables(), output
            )
            piece.count = row - piece.first
            conversions += (
                self._convert(tables, *mismatch)
                for mismatch in self._mismatches[: output.mismatch_count].tolist()
            )
            output.mismatch_count = 0
            if stop_code == UNKNOWN:
                tables.add_metadata(output.unknown_id)
            elif stop_code == FULL and pos == start:
                break
        # A header field is known only to the piece that holds it; threads of other pieces must not overwrite it.
        if output.id:
            line.id = output.id
        if output.timestamp_ns:
            line.timestamp_ns = output.timestamp_ns
        if output.name_length:
            line.name = self._text(output.name_start, output.name_length)
        if output.display_length:
            line.display_name = self._text(output.display_start, output.display_length)
        return pos, stop_code

    def _text(self, start: int, length: int) -> bytes:
        return self._window[start : start + length].tobytes()

    def _convert(
        self, tables: PlaneTables, column: int, index: int, value_type: int, value: int, row: int
    ) -> _Conversion:
        """Converts a value of another type to its column's type; the result's value is None if that is impossible."""
        double = float(np.int64(value).view(np.float64)) if value_type == DOUBLE else 0.0
        if value_type == TEXT:
            start, length = divmod(value, MAX_TEXT_LENGTH + 1)
            text = self._text(start, length)
        elif value_type == REF:
            text = tables.names.get(value, "").encode()
        elif value_type == DOUBLE:
            text = str(double).encode()
        else:
            text = str(value % 2**64 if value_type == UNSIGNED else value).encode()
        if column >= self._number_stats:
            return column, index, row, self._intern(text)
        if value_type == DOUBLE:
            return column, index, row, int(double) if -(2.0**63) <= double < 2.0**63 else None
        return column, index, row, _int64(text)

    def _apply_conversions(self, conversions: list[_Conversion]) -> None:
        """Writes converted values to their buffers, and removes those that their column cannot hold."""
        removed: dict[int, list[int]] = {}
        for stat, index, row, value in conversions:
            if value is None:
                removed.setdefault(stat, []).append(index - int(self._start[stat]))
                self._columns.stats[row] &= ~np.uint32(1 << stat)
            else:
                self._buffer(stat)[index] = value
        for stat, indices in removed.items():
            values = self._buffer(stat)[self._start[stat] : self._next[stat]]
            remaining = np.delete(values, indices)
            values[: len(remaining)] = remaining
            self._next[stat] -= len(indices)
