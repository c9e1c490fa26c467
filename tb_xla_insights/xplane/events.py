"""The events of a file, decoded from the wire into columns: the one loop that sees every byte of a capture.

Events of a line are counted first, which only hops from length to length. So every line knows its rows before decoding
begins, columns are made once at their final size, and lines can be decoded side by side, straight into their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tb_xla_insights.xplane.proto.xplane_pb2 import XEvent
from tb_xla_insights.xplane.source import Source
from tb_xla_insights.xplane.wire import (
    BAD,
    DONE,
    FIXED32,
    FIXED64,
    FULL,
    LENGTH,
    MORE,
    NEVER,
    PADDING,
    UNKNOWN,
    VARINT,
    Table,
    lookup,
    read_varint,
)

WINDOW = 1 << 20
ODD = 1 << 12
"""How many stat values of an unexpected kind one kernel call may leave for Python."""

NUMBER, REF, TEXT, DOUBLE = 0, 1, 2, 3
"""What a stat's stored value is: a number, a stat metadata id, a place and length in the window, the bits of a double."""

TEXT_SHIFT = 24
TEXT_LONGEST = (1 << TEXT_SHIFT) - 1
LINE_ID, LINE_TIME, LINE_NAME, LINE_NAME_LENGTH, LINE_DISPLAY, LINE_DISPLAY_LENGTH, HEADER = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
)

# The kernels leave their loops at one place only: with an early return numba keeps counting references to
# every array in every iteration, which made decoding six times as slow.


@njit(
    "UniTuple(int64, 4)(uint8[::1], int64, int64, int64[::1], int32[::1])",
    cache=True,
    nogil=True,
    forceinline=True,
)
def _stat(window, pos, end, wanted_ids, wanted):  # type: ignore[no-untyped-def]
    """The stat message at [pos, end) as (column, kind, value, position reached). Column -1: not wanted, or
    without a value. The value of a text is its place in the window and its length, packed."""
    column, kind, value = np.int64(-1), np.int64(-1), np.int64(0)
    while pos < end:
        tag, pos = read_varint(window, pos)
        wire = tag & 7
        if pos > end:
            pos = np.int64(NEVER)
        elif wire == VARINT:
            number, pos = read_varint(window, pos)
            if tag == 1 << 3:
                column = np.int64(lookup(wanted_ids, wanted, number))
                if column < 0:  # left for reading on demand
                    pos = end
            elif tag == 3 << 3 or tag == 4 << 3:
                kind, value = np.int64(NUMBER), number
            elif tag == 7 << 3:
                kind, value = np.int64(REF), number
        elif wire == LENGTH:
            length, pos = read_varint(window, pos)
            if length < 0 or length > end - pos:
                pos = np.int64(NEVER)
            else:
                if tag >> 3 == 5 or tag >> 3 == 6:
                    kind, value = np.int64(TEXT), pos << TEXT_SHIFT | min(length, TEXT_LONGEST)
                pos += length
        elif wire == FIXED64:
            if tag >> 3 == 2:
                kind, value = np.int64(DOUBLE), np.int64(0)
                for byte in range(8):
                    value |= np.int64(window[pos + byte]) << (8 * byte)
            pos += 8
        elif wire == FIXED32:
            pos += 4
        else:
            pos = np.int64(NEVER)
    return column if kind >= 0 else np.int64(-1), kind, value, pos


@njit("UniTuple(int64, 3)(uint8[::1], int64, int64)", cache=True, nogil=True)
def _count(window, size, limit):  # type: ignore[no-untyped-def]
    """Counts the events of a line in a window. Returns (next position, events, how it stopped)."""
    events, pos, how = 0, 0, DONE
    while how == DONE and pos < limit:
        if pos >= size:
            how = MORE
            break
        tag, at = read_varint(window, pos)
        wire = tag & 7
        length, end = np.int64(0), at
        if wire == VARINT or wire == LENGTH:
            if at <= size:
                length, end = read_varint(window, at)
            if wire == VARINT:
                length = np.int64(0)
        elif wire == FIXED64:
            end = at + 8
        else:
            end = at + 4
        if end <= size and (length < 0 or length > limit - end):
            end = np.int64(NEVER)
        if end > limit or tag < 8 or wire == 3 or wire == 4 or wire > 5:
            how = BAD
        elif end > size:
            how = MORE
        else:
            pos = end + length
            if tag == 4 << 3 | LENGTH:
                events += 1
    return pos, events, how


@njit(
    "UniTuple(int64, 3)(uint8[::1], int64, int64, int64, int64[::1], int32[::1], int64[::1], int32[::1], int8[::1],"
    " int64[::1], int64, int64, int64, int32[::1], int64[::1], int64[::1], int64[::1], int32[:, ::1], int64[:, ::1], int64[::1],"
    " int64[:, ::1])",
    cache=True,
    nogil=True,
)
def _decode(  # type: ignore[no-untyped-def]
    window, size, start, limit, metadata_ids, metadata, wanted_ids, wanted, native, header,
    base, filled, room, event_metadata, offset_ps, duration_ps, place, stat_row, stat_value, stat_count, odd,
):  # fmt: skip
    """Decodes line fields from `start` to `limit`, in a window with `size` bytes; `limit` may lie behind the window.

    An event is written, from row `filled` to below `room`, only when the whole of it lies in the window; its place is
    that of its length in the window. Values of stat c go to `stat_row[c]` and `stat_value[c]` from `base` on, where
    `stat_count[c]` counts them. A value that is not of its column's `native` kind is listed in `odd` as (column, index,
    kind), whose last row counts them. Returns (next position, rows filled, how it stopped); at BAD the position is that of what cannot be.
    """
    row, pos, how = filled, start, DONE
    odds = odd[len(odd) - 1, 0]
    while how == DONE and pos < limit:
        if pos >= size:
            how = MORE
            break
        tag, at = read_varint(window, pos)
        wire = tag & 7
        value, end = at, at
        if wire == VARINT or wire == LENGTH:
            if at <= size:
                value, end = read_varint(window, at)
        elif wire == FIXED64:
            end = at + 8
        else:
            end = at + 4
        if end > limit or tag < 8 or wire == 3 or wire == 4 or wire > 5:
            how = BAD
        elif end > size:
            how = MORE
        elif wire != LENGTH:
            if tag == 1 << 3:
                header[LINE_ID] = value
            elif tag == 3 << 3:
                header[LINE_TIME] = value
            pos = end
        elif value < 0 or value > limit - end:
            how = BAD
        elif tag >> 3 != 4:
            named = tag >> 3 == 2 or tag >> 3 == 11
            if named and end + value > size:
                how = MORE
            else:
                if named:
                    slot = LINE_NAME if tag >> 3 == 2 else LINE_DISPLAY
                    header[slot], header[slot + 1] = end, value
                pos = end + value
        elif end + value > size:
            how = MORE
        elif row == room or odds + len(stat_count) >= len(odd):
            how = FULL
        else:
            header_at, at = at, end
            end += value
            id_, offset, duration = np.int64(0), np.int64(0), np.int64(0)
            while at < end:
                tag, at = read_varint(window, at)
                wire = tag & 7
                if at > end:
                    at = np.int64(NEVER)
                elif wire == VARINT:
                    value, at = read_varint(window, at)
                    if tag == 1 << 3:
                        id_ = value
                    elif tag == 2 << 3:
                        offset = value
                    elif tag == 3 << 3:
                        duration = value
                elif wire == LENGTH:
                    value, at = read_varint(window, at)
                    if value < 0 or value > end - at:
                        at = np.int64(NEVER)
                    elif tag >> 3 == 4:
                        column, kind, number, reached = _stat(window, at, at + value, wanted_ids, wanted)
                        at += value
                        if reached != at:
                            at = np.int64(NEVER)
                        elif column >= 0:
                            index = base + stat_count[column]
                            if (
                                index == base or stat_row[column, index - 1] != row
                            ):  # given twice, the first counts
                                stat_row[column, index] = row
                                stat_value[column, index] = number
                                stat_count[column] += 1
                                if kind != native[column]:
                                    odd[odds, 0], odd[odds, 1], odd[odds, 2] = column, index, kind
                                    odds += 1
                    else:
                        at += value
                elif wire == FIXED64:
                    at += 8
                elif wire == FIXED32:
                    at += 4
                else:
                    at = np.int64(NEVER)
            which = lookup(metadata_ids, metadata, id_)
            if at != end:
                how = BAD
            elif which < 0:
                how = UNKNOWN
            else:
                event_metadata[row], offset_ps[row], duration_ps[row], place[row] = (
                    which,
                    offset,
                    duration,
                    header_at,
                )
                row += 1
                pos = end
    if how == BAD or how == UNKNOWN:  # an event that was not written leaves no stats
        for column in range(len(stat_count)):
            if stat_count[column] > 0 and stat_row[column, base + stat_count[column] - 1] == row:
                stat_count[column] -= 1
        while odds > 0 and odd[odds - 1, 1] >= base + stat_count[odd[odds - 1, 0]]:
            odds -= 1
    odd[len(odd) - 1, 0] = odds
    return pos, row, how


@njit("void(int64[::1], int64[::1], int32[::1], int64[::1], int64)", cache=True, nogil=True)
def _resolve(values, keys, positions, texts, missing):  # type: ignore[no-untyped-def]
    """Turns stat metadata ids into the texts they stand for, in place."""
    for index in range(len(values)):
        position = lookup(keys, positions, values[index])
        values[index] = texts[position] if position >= 0 else missing


@dataclass
class PlaneTables:
    """What decoding a plane's events needs: the index of each event metadata id (ids that it lacks are added), the column of
    each wanted stat's id, and the interned text of each stat metadata id."""

    metadata: Table
    wanted: Table
    ids: Table
    texts: NDArray[np.int64]
    missing_text: int
    lock: Lock = field(default_factory=Lock)

    def add(self, id_: int) -> None:
        with self.lock:
            if id_ not in self.metadata.ids:
                self.metadata.add(id_)


@dataclass
class Line:
    """One line of a plane: its file range, what its header says, and the rows of its events, `first` to `first + count - 1`,
    times still counted from `timestamp_ns`. `bad` is the file offset of what cannot be, where decoding had to stop."""

    start: int
    end: int
    tables: PlaneTables
    id: int = 0
    name: bytes = b""
    timestamp_ns: int = 0
    first: int = 0
    count: int = 0
    bad: int | None = None
    stopped: bool = False
    stat_count: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


class Columns:
    """The columns of all events of a file, and of the wanted stats, whose values are texts where `text` says so."""

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


def count_events(source: Source, line: Line) -> None:
    """Sets the number of events a line has at most: damage shows only when they are decoded."""
    window = np.zeros(min(WINDOW, line.end - line.start) + PADDING, np.uint8)
    at, line.count = line.start, 0
    while at < line.end:
        size = source.read_into(at, window[: min(WINDOW, line.end - at)])
        pos, events, how = _count(window, size, line.end - at)
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
        """Decodes a line's events into its rows; afterwards `count` says how many there are. `progress` is told the bytes
        decoded since it was told last. Ends early when `stop` says so."""
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
        for column in np.flatnonzero(columns.native == REF).tolist():
            values = columns.stat_value[column, line.first : line.first + line.stat_count[column]]
            _resolve(values, *line.tables.ids.arrays, line.tables.texts, line.tables.missing_text)
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
            pos, rows, how = _decode(
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
        line.id, line.timestamp_ns = int(header[LINE_ID]), int(header[LINE_TIME])
        for place in (LINE_NAME, LINE_DISPLAY):
            if header[place + 1] and not line.name:
                line.name = self._window[header[place] : header[place] + header[place + 1]].tobytes()
        return int(pos), int(how)

    def _strange(self, columns: Columns, column: int, index: int, kind: int) -> _Strange:
        """A value of another kind than its column's, turned into what the column holds; None where that cannot be."""
        value = int(columns.stat_value[column, index])
        text, number = b"", value
        if kind == TEXT:
            place, length = divmod(value, TEXT_LONGEST + 1)
            text = self._window[place : place + length].tobytes()
        elif kind == DOUBLE:
            double = float(np.array([value], np.int64).view(np.float64)[0])
            number, text = int(double) if np.isfinite(double) else 0, str(double).encode()
        if columns.native[column] == REF:
            return column, index, self._intern(text or str(number).encode())
        if kind == TEXT:
            return column, index, int(text) if re.fullmatch(rb"-?\d{1,18}", text) else None
        return column, index, number if kind == DOUBLE else None

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


def _event_metadata_id(window: NDArray[np.uint8]) -> int:
    """The metadata id of the event field that begins the window."""
    _, at = read_varint(window, 0)
    length, body = read_varint(window, at)
    return int(XEvent.FromString(window[body : body + length].tobytes()).metadata_id)
