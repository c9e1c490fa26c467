"""The events of a file, decoded from the wire into columns: the one loop that sees every byte of a capture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

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
STATS = 1 << 15
"""How many values of one stat a kernel call has room for. Windows and stat buffers stay in the processor's cache."""

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


@njit(
    "UniTuple(int64, 3)(uint8[::1], int64, int64, int64, int64[::1], int32[::1], int64[::1], int32[::1], int64[::1],"
    " int64, int32[::1], int64[::1], int64[::1], int64[::1], int32[:, ::1], int64[:, ::1], int8[:, ::1], int64[::1])",
    cache=True,
    nogil=True,
)
def _decode(  # type: ignore[no-untyped-def]
    window, size, start, limit, metadata_ids, metadata, wanted_ids, wanted, header,
    filled, event_metadata, offset_ps, duration_ps, place, stat_row, stat_value, stat_kind, stat_count,
):  # fmt: skip
    """Decodes line fields from `start` to `limit`, in a window with `size` bytes; `limit` may lie behind
    the window.

    An event is written, from row `filled` on, only when the whole of it lies in the window; its place is
    that of its length in the window. Returns (next position, rows filled, how it stopped); at BAD the
    position is that of what cannot be.
    """
    row, pos, how, fullest = filled, start, DONE, 0
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
        elif row == len(event_metadata) or fullest + value // 4 > stat_row.shape[1]:
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
                            count = stat_count[column]
                            stat_row[column, count] = row
                            stat_value[column, count] = number
                            stat_kind[column, count] = kind
                            stat_count[column] = count + 1
                            fullest = max(fullest, count + 1)
                    else:
                        at += value
                elif wire == FIXED64:
                    at += 8
                elif wire == FIXED32:
                    at += 4
                else:
                    at = np.int64(NEVER)
            index = lookup(metadata_ids, metadata, id_)
            if at != end:
                how = BAD
            elif index < 0:
                how = UNKNOWN
            else:
                event_metadata[row], offset_ps[row], duration_ps[row], place[row] = (
                    index,
                    offset,
                    duration,
                    header_at,
                )
                row += 1
                pos = end
    for column in range(len(stat_count)):  # an event that was not written leaves no stats
        while stat_count[column] > 0 and stat_row[column, stat_count[column] - 1] == row:
            stat_count[column] -= 1
    return pos, row, how


class Growing:
    """A column that grows at its end. Growing moves memory pages, not numbers, so no second copy is ever held."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self.room: NDArray[Any] = np.empty(0, dtype)
        self.count = 0

    def reserve(self, room: int) -> None:
        if room > len(self.room):
            self.room.resize(max(room, 2 * len(self.room)), refcheck=False)

    def append(self, values: NDArray[Any]) -> None:
        self.reserve(self.count + len(values))
        self.room[self.count : self.count + len(values)] = values
        self.count += len(values)

    def done(self) -> NDArray[Any]:
        """The column, at its final length. Ends the growing."""
        self.room.resize(self.count, refcheck=False)
        return self.room


@dataclass
class DecodedLine:
    """One line: what its header says, and the rows of its events, `first` to `first + count - 1`, times
    still counted from `timestamp_ns`. `bad` is the file offset of what cannot be, where decoding had to stop."""

    id: int = 0
    name: bytes = b""
    timestamp_ns: int = 0
    first: int = 0
    count: int = 0
    bad: int | None = None
    stopped: bool = False


class Decoder:
    """Decodes lines one after the other into growing columns. Not for use by two threads at once.

    `stat_text[i]` says that wanted stat i is text: its column then holds what `intern` returns. Other
    columns hold numbers; a text that is no number there is dropped.
    """

    def __init__(self, source: Source, stat_text: Sequence[bool], intern: Callable[[bytes], int]) -> None:
        self.metadata, self.offset_ps, self.duration_ps, self.place = (
            Growing(t) for t in (np.int32, np.int64, np.int64, np.int64)
        )
        self.stat_rows = [Growing(np.int32) for _ in stat_text]
        self.stat_values = [Growing(np.int64) for _ in stat_text]
        self._source = source
        self._stat_text = stat_text
        self._intern = intern
        self._window = np.zeros(WINDOW + PADDING, np.uint8)
        self._make_stat_buffers(STATS)

    def _make_stat_buffers(self, room: int) -> None:
        shape = (len(self._stat_text), room)
        self._stat = np.empty(shape, np.int32), np.empty(shape, np.int64), np.empty(shape, np.int8)
        self._stat_count = np.zeros(len(self._stat_text), np.int64)

    def line(
        self,
        start: int,
        end: int,
        metadata: Table,
        wanted: Table,
        texts: Callable[[NDArray[np.int64]], NDArray[np.int64]],
        progress: Callable[[int], None],
        stop: Callable[[], bool],
    ) -> DecodedLine:
        """Decodes the line message in the file range [start, end).

        `metadata` gives the index of an event metadata id (an id that it lacks is added), `wanted` the
        column of a stat metadata id, `texts` the interned texts of stat metadata ids that stats refer to.
        `progress` is told the file offset reached. When `stop` says so, what was decoded so far is the
        result.
        """
        line = DecodedLine(first=self.metadata.count)
        at = start
        while at < end:
            if stop():
                line.stopped = True
                break
            room = len(self._window) - PADDING
            size = self._source.read_into(at, self._window[: min(room, end - at)])
            pos, how = self._window_events(line, at, size, end - at, metadata, wanted, texts)
            if how == BAD or (how == MORE and pos < size < room):
                line.bad = at + pos
                break
            if how == MORE and pos == 0:  # one event fills the window: read it again with more room
                self._window = np.zeros(2 * room + PADDING, np.uint8)
            at += pos
            progress(at)
        line.count = self.metadata.count - line.first
        return line

    def _window_events(
        self,
        line: DecodedLine,
        at: int,
        size: int,
        limit: int,
        metadata: Table,
        wanted: Table,
        texts: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    ) -> tuple[int, int]:
        """Decodes one window, which begins at file offset `at`. Returns (position reached, how it stopped)."""
        header = np.array([line.id, line.timestamp_ns, 0, 0, 0, 0], np.int64)
        events = (self.metadata, self.offset_ps, self.duration_ps, self.place)
        pos, how = 0, FULL
        while how in (FULL, UNKNOWN):
            before, first = pos, self.metadata.count
            for column in events:
                column.reserve(first + WINDOW // 32)
            pos, rows, how = _decode(
                self._window, size, pos, limit, *metadata.arrays, *wanted.arrays, header,
                first, *(column.room for column in events), *self._stat, self._stat_count,
            )  # fmt: skip
            pos, rows = int(pos), int(rows)
            for column in events:
                column.count = rows
            self.place.room[first:rows] += at
            self._keep_stats(texts)
            if how == UNKNOWN:
                metadata.add(_event_metadata_id(self._window[pos:size]))
            elif how == FULL and pos == before:  # one event may have more wanted stats than there is room for
                self._make_stat_buffers(2 * self._stat[0].shape[1])
        line.id, line.timestamp_ns = int(header[LINE_ID]), int(header[LINE_TIME])
        for place in (LINE_NAME, LINE_DISPLAY):
            if header[place + 1] and not line.name:
                line.name = self._window[header[place] : header[place] + header[place + 1]].tobytes()
        return pos, int(how)

    def _keep_stats(self, texts: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
        """Moves what a kernel call found from the buffers into the columns, texts interned."""
        for index in np.flatnonzero(self._stat_count).tolist():
            row, value, kind = (buffer[index, : self._stat_count[index]] for buffer in self._stat)
            if self._stat_text[index]:
                if kind.min() == kind.max() == REF:
                    value = texts(value)
                else:
                    value = np.array(
                        [self._text(int(v), int(k), texts) for v, k in zip(value, kind)], np.int64
                    )
            elif kind.any():
                numbers = [self._number(int(v), int(k), texts) for v, k in zip(value, kind)]
                known = np.array([number is not None for number in numbers])
                row, value = (
                    row[known],
                    np.array([number for number in numbers if number is not None], np.int64),
                )
            self.stat_rows[index].append(row)
            self.stat_values[index].append(value)
        self._stat_count[:] = 0

    def _text(self, value: int, kind: int, texts: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> int:
        if kind == REF:
            return int(texts(np.array([value], np.int64))[0])
        if kind == TEXT:
            place, length = divmod(value, TEXT_LONGEST + 1)
            return self._intern(self._window[place : place + length].tobytes())
        return self._intern(str(_double(value) if kind == DOUBLE else value).encode())

    def _number(
        self, value: int, kind: int, texts: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    ) -> int | None:
        if kind == DOUBLE:
            return int(_double(value))
        if kind == TEXT:
            place, length = divmod(value, TEXT_LONGEST + 1)
            text = self._window[place : place + length].tobytes()
            return int(text) if text.lstrip(b"-").isdigit() and len(text) < 19 else None
        return value if kind == NUMBER else None


def _double(bits: int) -> float:
    return float(np.array([bits], np.int64).view(np.float64)[0])


def _event_metadata_id(window: NDArray[np.uint8]) -> int:
    """The metadata id of the event field that begins the window."""
    from tb_xla_insights.xplane.proto.xplane_pb2 import XEvent

    _, at = read_varint(window, 0)
    length, body = read_varint(window, at)
    return int(XEvent.FromString(window[body : body + length].tobytes()).metadata_id)
