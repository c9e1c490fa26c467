"""Protobuf's wire format, as far as an XPlane file needs it: varints, and the fields of one message.

Kernels see a *window*: consecutive bytes of the file. A message may go on behind its window's end, so
every kernel tells
"the window ends here" (read on from there) from "this cannot be" (a length that leaves its parent, a
varint without end).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tb_xla_insights.xplane.source import Source

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
DONE, MORE, FULL, BAD, UNKNOWN = 0, 1, 2, 3, 4
"""How a kernel stopped: at its limit, at the window's end, with its output full, at a byte that cannot be,
at an id that its table lacks."""

SCAN_WINDOW = 1 << 18
SCAN_FIELDS = 1 << 14
PADDING = 32
NEVER = 1 << 62
SPREAD = -7046029254386353131
"""Multiplying by this odd number spreads neighbouring ids over a hash table."""


class WireError(Exception):
    """A byte that no writer of the format makes. `offset` is its place in the file; `ended` says that there is
    none any more, since the file has become shorter."""

    def __init__(self, offset: int, what: str, *, ended: bool = False) -> None:
        super().__init__(what)
        self.offset = offset
        self.ended = ended


@njit("UniTuple(int64, 2)(uint8[::1], int64)", cache=True, nogil=True, forceinline=True)
def read_varint(window, pos):  # type: ignore[no-untyped-def]
    """The varint at `pos` as (value, position after it); a varint of more than ten bytes ends at `NEVER`.

    Nothing is checked on the way, for speed: the caller compares the position with what it may not exceed,
    and a window has `PADDING` bytes behind its content.
    """
    byte = np.int64(window[np.uint64(pos)])  # unsigned: no test for an index from the end
    pos += 1
    value = byte
    if byte >= 0x80:
        value &= 0x7F
        shift = 7
        while byte >= 0x80:
            byte = np.int64(window[np.uint64(pos)])
            pos += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift == 70 and byte >= 0x80:
                byte, pos = np.int64(0), np.int64(NEVER)
    return value, pos


@njit(
    "UniTuple(int64, 3)(uint8[::1], int64, int64, int32[::1], int64[::1], int64[::1])", cache=True, nogil=True
)
def _scan(window, size, limit, field, value, length):  # type: ignore[no-untyped-def]
    """Lists the fields of a window with `size` bytes, of a message that ends at `limit`: number, value (of
    LENGTH fields: where the payload begins), payload length (-1 for numbers). Returns (fields listed, next
    position, how it stopped)."""
    count, pos = 0, 0
    while pos < limit:
        if count == len(field):
            return count, pos, FULL
        if pos >= size:
            return count, pos, MORE
        tag, at = read_varint(window, pos)
        wire = tag & 7
        end = at
        value[count], length[count] = at, -1
        if wire == VARINT or wire == LENGTH:
            if at <= size:
                number, end = read_varint(window, at)
                value[count] = number
        elif wire == FIXED64:
            end = at + 8
        elif wire == FIXED32:
            end = at + 4
        else:
            return count, pos, BAD
        if end > limit:
            return count, pos, BAD
        if end > size:
            return count, pos, MORE
        if tag < 8:  # not before: of a tag that the window cuts, only the first byte may be here
            return count, pos, BAD
        if wire == LENGTH:
            if number < 0 or number > limit - end:
                return count, pos, BAD
            value[count], length[count] = end, number
            end += number
        field[count] = tag >> 3
        count += 1
        pos = end
    return count, pos, DONE


Columns = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


def fields(source: Source, start: int, end: int) -> Iterator[Columns]:
    """The fields of the message in the file range [start, end), as batches of columns (number, value,
    length).

    Values of LENGTH fields are file offsets; the length of a number is -1. Payloads are stepped over, not
    read. Raises WireError.
    """
    columns = (
        np.empty(SCAN_FIELDS, np.int32),
        np.empty(SCAN_FIELDS, np.int64),
        np.empty(SCAN_FIELDS, np.int64),
    )
    window = np.zeros(SCAN_WINDOW + PADDING, np.uint8)
    at = start
    while at < end:
        want = min(SCAN_WINDOW, end - at)
        size = source.read_into(at, window[:want])
        count, pos, stop = _scan(window, size, end - at, *columns)
        if count:
            number, value, length = (
                columns[0][:count].copy(),
                columns[1][:count].copy(),
                columns[2][:count].copy(),
            )
            value[length >= 0] += at
            yield number, value, length
        if stop == BAD:
            raise WireError(at + pos, "a field or its length does not fit its message")
        if pos == 0 or (size < want and at + pos >= source.size):
            raise WireError(at + pos, "the file ends here", ended=True)
        at += pos


def cut_field(source: Source, at: int) -> tuple[int, int] | None:
    """The field at `at` if it goes on behind the end of the file: (number, where its payload begins), or (0, `at`)
    where not even its length is whole."""
    window = np.zeros(2 * PADDING, np.uint8)
    size = source.read_into(at, window[:PADDING])
    tag, payload = read_varint(window, 0)
    length = 0
    if payload <= size and tag & 7 in (VARINT, LENGTH):
        length, payload = read_varint(window, payload)
    elif payload <= size:
        payload += 8 if tag & 7 == FIXED64 else 4
    if size < payload < NEVER:
        return 0, at
    cut = tag & 7 == LENGTH and payload <= size and at + payload + length > source.size
    return (int(tag >> 3), at + int(payload)) if cut else None


def message_at(source: Source, at: int) -> bytes:
    """The message whose length stands at file offset `at`. Raises WireError."""
    window = np.zeros(2 * PADDING, np.uint8)
    size = source.read_into(at, window[:PADDING])
    length, body = read_varint(window, 0)
    data = source.read(at + body, length) if body <= size and length >= 0 else np.empty(0, np.uint8)
    if body > size or len(data) < length:
        raise WireError(at, "the file ends here")
    return data.tobytes()


@njit("int32(int64[::1], int32[::1], int64)", cache=True, nogil=True, forceinline=True)
def lookup(keys, values, key):  # type: ignore[no-untyped-def]
    """The value of `key` in a table's arrays, -1 where it is absent."""
    mask = len(keys) - 1
    slot = (key * np.int64(SPREAD)) >> 32 & mask
    while values[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return values[slot]


@njit("void(int64[::1], int32[::1], int64, int64)", cache=True, nogil=True)
def _insert_one(keys, values, key, value):  # type: ignore[no-untyped-def]
    mask = len(keys) - 1
    slot = (key * np.int64(SPREAD)) >> 32 & mask
    while values[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    keys[slot] = key
    values[slot] = value


@njit("void(int64[::1], int32[::1], int64[::1])", cache=True, nogil=True)
def _insert(keys, values, ids):  # type: ignore[no-untyped-def]
    for index in range(len(ids)):
        _insert_one(keys, values, ids[index], index)


@njit("void(int64[::1], int32[::1], int64[::1], int32[::1])", cache=True, nogil=True)
def _lookup_all(keys, values, ids, found):  # type: ignore[no-untyped-def]
    for index in range(len(ids)):
        found[index] = lookup(keys, values, ids[index])


class Table:
    """A hash table from ids, which may be sparse or negative, to their positions; of equal ids the last one
    counts."""

    def __init__(self, ids: Sequence[int] | NDArray[np.int64]) -> None:
        self.ids = [int(i) for i in ids]
        self._fill()

    def _fill(self) -> None:
        size = 1 << max(4, (2 * len(self.ids)).bit_length())
        self.arrays = np.zeros(size, np.int64), np.full(size, -1, np.int32)
        _insert(*self.arrays, np.array(self.ids, np.int64))

    @classmethod
    def of(cls, values: dict[int, int]) -> Table:
        """A table from ids to given values instead of positions. Nothing can be added to it."""
        made = cls(list(values))
        keys, found = made.arrays
        filled = found >= 0
        found[filled] = [values[int(key)] for key in keys[filled]]
        return made

    def add(self, id_: int) -> None:
        """Adds an id at the next position."""
        self.ids.append(id_)
        if 2 * len(self.ids) > len(self.arrays[0]):
            self._fill()
        else:
            _insert_one(*self.arrays, id_, len(self.ids) - 1)

    def positions(self, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """The position of each id, -1 for those that are absent."""
        found = np.empty(len(ids), np.int32)
        _lookup_all(*self.arrays, np.ascontiguousarray(ids), found)
        return found
