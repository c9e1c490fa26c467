"""Decodes the events of a file, line by line, from the wire into columns.

Events of a line are counted first, which only hops from length to length. So every line knows its rows before
decoding begins, columns are made once at their final size, and lines can be decoded side by side, straight
into their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.xplane import kernels
from tb_xla_insights.xplane.columns import Columns, Line, PlaneTables
from tb_xla_insights.xplane.source import Source
from tb_xla_insights.xplane.wire import BAD, FULL, MORE, PADDING, UNKNOWN

WINDOW = 1 << 20
"""How much of a line is read at once. Windows stay in the processor's cache."""

ODD = 1 << 12
"""How many stat values of an unexpected kind one kernel call may leave for Python."""


def count_events(source: Source, line: Line) -> None:
    """Sets the number of events a line has at most: damage shows only when they are decoded."""
    window = np.zeros(min(WINDOW, line.end - line.start) + PADDING, np.uint8)
    at, line.count = line.start, 0
    while at < line.end:
        size = source.read_into(at, window[: min(WINDOW, line.end - at)])
        pos, events, how = kernels.count_events(window, size, line.end - at)
        line.count += int(events)
        if how == BAD or pos == 0:
            break
        at += int(pos)


_Strange = tuple[int, int, int | None]
"""A stat value that needs care: (column, index in the column, value or None to take it out)."""


class Decoder:
    """Decodes lines. Each thread needs one of its own; `intern` gives the number of a text."""

    def __init__(self, source: Source, columns: Columns, intern: Callable[[bytes], int]) -> None:
        self._source, self._columns, self._intern = source, columns, intern
        self._window = np.zeros(WINDOW + PADDING, np.uint8)
        self._odd = np.zeros((ODD + 1, 3), np.int64)

    def decode(self, line: Line, progress: Callable[[int], None], stop: Callable[[], bool]) -> None:
        """Decodes a line's events into its rows; afterwards `count` says how many there are. `progress` is
        told the bytes decoded since it was told last. Ends early when `stop` says so."""
        columns = self._columns
        at, room = line.start, line.first + line.count
        line.stat_count = np.zeros(len(columns.native), np.int64)
        line.count = 0
        strange: list[_Strange] = []
        while at < line.end and not stop():
            want = min(len(self._window) - PADDING, line.end - at)
            size = self._source.read_into(at, self._window[:want])
            pos, how = self._decode_window(line, columns, at, size, room, strange)
            if how in (BAD, FULL) or size < want:  # more events than were counted: the file is being changed
                line.bad, line.ended = at + pos, size < want
                break
            if how == MORE and pos == 0:  # one event fills the window: read it again with more room
                self._window = np.zeros(2 * len(self._window), np.uint8)
            at += pos
            progress(pos)
        line.stopped = at < line.end and line.bad is None
        line.name = line.name or line.display_name
        for column in np.flatnonzero(columns.native == kernels.REF).tolist():
            values = columns.stat_value[column, line.first : line.first + line.stat_count[column]]
            kernels.resolve_texts(
                values, *line.tables.ids.arrays, line.tables.texts, line.tables.missing_text
            )
        self._settle(line, columns, strange)

    def _decode_window(
        self, line: Line, columns: Columns, at: int, size: int, room: int, strange: list[_Strange]
    ) -> tuple[int, int]:
        """Decodes one window, which begins at file offset `at`. Returns (position reached, how it stopped)."""
        header = np.zeros(kernels.HEADER, np.int64)
        header[kernels.LINE_ID], header[kernels.LINE_TIME] = line.id, line.timestamp_ns
        first, pos, how = line.first + line.count, 0, UNKNOWN
        while how in (UNKNOWN, FULL):
            self._odd[-1, 0] = 0
            before = pos
            pos, rows, how = kernels.decode_events(
                self._window, size, pos, line.end - at, *line.tables.metadata.arrays, *line.tables.wanted.arrays,
                columns.native, header, line.first, line.first + line.count, room,
                columns.metadata, columns.offset_ps, columns.duration_ps, columns.place,
                columns.stat_row, columns.stat_value, line.stat_count, self._odd,
            )  # fmt: skip
            line.count = int(rows) - line.first
            odds = self._odd[: self._odd[-1, 0]].tolist()
            strange += (self._strange(line.tables, columns, *odd) for odd in odds)
            if how == UNKNOWN:
                line.tables.add(int(header[kernels.UNKNOWN_ID]))
            elif how == FULL and pos == before:
                break
        columns.place[first : line.first + line.count] += at
        line.id, line.timestamp_ns = int(header[kernels.LINE_ID]), int(header[kernels.LINE_TIME])
        line.name = self._text(header, kernels.LINE_NAME) or line.name
        line.display_name = self._text(header, kernels.LINE_DISPLAY) or line.display_name
        return int(pos), int(how)

    def _text(self, header: NDArray[np.int64], slot: int) -> bytes:
        place, length = header[slot : slot + 2].tolist()
        return self._window[place : place + length].tobytes()

    def _strange(self, tables: PlaneTables, columns: Columns, column: int, index: int, kind: int) -> _Strange:
        """A value of another kind than its column's, turned into what the column holds; None where that
        cannot be."""
        value = int(columns.stat_value[column, index])
        double = float(np.int64(value).view(np.float64)) if kind == kernels.DOUBLE else 0.0
        if kind == kernels.TEXT:
            place, length = divmod(value, kernels.TEXT_LONGEST + 1)
            text = self._window[place : place + length].tobytes()
        elif kind == kernels.REF:
            text = tables.names.get(value, "").encode()
        elif kind == kernels.DOUBLE:
            text = str(double).encode()
        else:
            text = str(value % 2**64 if kind == kernels.UNSIGNED else value).encode()
        if columns.native[column] == kernels.REF:
            return column, index, self._intern(text)
        if kind == kernels.DOUBLE:
            return column, index, int(double) if -(2.0**63) <= double < 2.0**63 else None
        return column, index, int(text) if re.fullmatch(rb"-?\d{1,18}", text) else None

    def _settle(self, line: Line, columns: Columns, strange: list[_Strange]) -> None:
        """Puts values of other kinds in their places, and takes out those that their column cannot hold."""
        lost: dict[int, list[int]] = {}
        for column, index, value in strange:
            if value is None:
                lost.setdefault(column, []).append(index - line.first)
            else:
                columns.stat_value[column, index] = value
        for column, indices in lost.items():
            for values in (columns.stat_row, columns.stat_value):
                kept = np.delete(values[column, line.first : line.first + line.stat_count[column]], indices)
                values[column, line.first : line.first + len(kept)] = kept
            line.stat_count[column] -= len(indices)
