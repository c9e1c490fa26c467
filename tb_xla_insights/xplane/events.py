"""Decodes the events of a file, line by line, from the wire into columns.

Events of a line are counted first, which only hops from length to length. So every line knows its rows before
decoding begins, columns are made once at their final size, and lines can be decoded side by side, straight
into their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from tb_xla_insights.xplane import kernels
from tb_xla_insights.xplane.columns import Columns, Line
from tb_xla_insights.xplane.proto.xplane_pb2 import XEvent
from tb_xla_insights.xplane.source import Bytes, Source
from tb_xla_insights.xplane.wire import BAD, FULL, MORE, PADDING, UNKNOWN, read_varint

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
            size = self._source.read_into(at, self._window[: min(len(self._window) - PADDING, line.end - at)])
            pos, how = self._decode_window(line, columns, at, size, room, strange)
            if how == BAD or (how in (MORE, FULL) and pos < size < len(self._window) - PADDING):
                line.bad = at + pos
                break
            if how == MORE and pos == 0:  # one event fills the window: read it again with more room
                self._window = np.zeros(2 * len(self._window), np.uint8)
            at += pos
            progress(pos)
        line.stopped = at < line.end and line.bad is None
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
        header = np.array([line.id, line.timestamp_ns, 0, 0, 0, 0], np.int64)
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
            strange += (self._strange(columns, *odd) for odd in self._odd[: self._odd[-1, 0]].tolist())
            if how == UNKNOWN:
                line.tables.add(_event_metadata_id(self._window[pos:size]))
            elif how == FULL and pos == before:
                break
        columns.place[first : line.first + line.count] += at
        line.id, line.timestamp_ns = int(header[kernels.LINE_ID]), int(header[kernels.LINE_TIME])
        for place in (kernels.LINE_NAME, kernels.LINE_DISPLAY):
            if header[place + 1] and not line.name:
                line.name = self._window[header[place] : header[place] + header[place + 1]].tobytes()
        return int(pos), int(how)

    def _strange(self, columns: Columns, column: int, index: int, kind: int) -> _Strange:
        """A value of another kind than its column's, turned into what the column holds; None where that
        cannot be."""
        value = int(columns.stat_value[column, index])
        text, number = b"", value
        if kind == kernels.TEXT:
            place, length = divmod(value, kernels.TEXT_LONGEST + 1)
            text = self._window[place : place + length].tobytes()
        elif kind == kernels.DOUBLE:
            double = float(np.array([value], np.int64).view(np.float64)[0])
            number, text = int(double) if np.isfinite(double) else 0, str(double).encode()
        if columns.native[column] == kernels.REF:
            return column, index, self._intern(text or str(number).encode())
        if kind == kernels.TEXT:
            return column, index, int(text) if re.fullmatch(rb"-?\d{1,18}", text) else None
        return column, index, number if kind == kernels.DOUBLE else None

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


def _event_metadata_id(window: Bytes) -> int:
    """The metadata id of the event field that begins the window."""
    _, at = read_varint(window, 0)
    length, body = read_varint(window, at)
    return int(XEvent.FromString(window[body : body + length].tobytes()).metadata_id)
