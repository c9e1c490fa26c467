"""The parts of Protobuf's wire format that XPlane files need: the fields of a message, and tables of ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.files.source import Source
from tb_xla_insights.xplane.codes import BAD, FIXED64, INVALID_POSITION, LENGTH, PADDING, VARINT
from tb_xla_insights.xplane.kernels import IdTable, count_events, read_varint, scan_fields

SCAN_WINDOW = 1 << 18
"""How many bytes are read at once."""

SCAN_FIELDS = 1 << 14
"""How many fields are listed at once."""


class WireError(Exception):
    """Invalid bytes at file offset `offset`. With `is_file_end`, the file ends there, earlier than its lengths say."""

    def __init__(self, offset: int, message: str, *, is_file_end: bool = False) -> None:
        super().__init__(message)
        self.offset = offset
        self.is_file_end = is_file_end


FieldColumns = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]
"""Number, value and length of each field."""


def fields(source: Source, start: int, end: int) -> Iterator[FieldColumns]:
    """The fields of the message in the file range [start, end), in batches.

    Values of LENGTH fields are file offsets; the length of a numeric field is -1. Payloads are skipped, not read.
    Raises WireError.
    """
    batch = min(SCAN_FIELDS, (end - start) // 2 + 1)  # a field takes two bytes or more
    columns = np.empty(batch, np.int32), np.empty(batch, np.int64), np.empty(batch, np.int64)
    window = np.zeros(min(SCAN_WINDOW, end - start) + PADDING, np.uint8)
    offset = start
    while offset < end:
        requested_bytes = min(SCAN_WINDOW, end - offset)
        size = source.read_into(offset, window[:requested_bytes])
        window[size : size + PADDING] = 0  # so that bytes of the window before never continue a cut field
        count, pos, stop_code = scan_fields(window, size, end - offset, *columns)
        if count:
            number, value, length = (
                columns[0][:count].copy(),
                columns[1][:count].copy(),
                columns[2][:count].copy(),
            )
            value[length >= 0] += offset
            yield number, value, length
        if stop_code == BAD:
            raise WireError(offset + pos, "a field or its length does not fit its message")
        if pos == 0 or (size < requested_bytes and offset + pos >= source.size):
            raise WireError(offset + pos, "the file ends here", is_file_end=True)
        offset += pos


def cut_field(source: Source, offset: int) -> tuple[int, int] | None:
    """The field at a file offset if the end of the file cuts it: (number, file offset of its payload) for a cut
    payload, (0, `offset`) for a cut tag, number or length. None if the field is whole or invalid."""
    window = np.zeros(2 * PADDING, np.uint8)
    size = source.read_into(offset, window[:PADDING])
    tag, payload = read_varint(window, 0)
    length = 0
    if payload <= size and tag & 7 in (VARINT, LENGTH):
        length, payload = read_varint(window, payload)
    elif payload <= size:
        payload += 8 if tag & 7 == FIXED64 else 4
    if size < payload < INVALID_POSITION:
        return 0, offset
    is_cut = tag & 7 == LENGTH and payload <= size and offset + payload + length > source.size
    return (tag >> 3, offset + payload) if is_cut else None


def message_at(source: Source, offset: int) -> bytes:
    """The message whose length is at a file offset. Raises WireError."""
    window = np.zeros(2 * PADDING, np.uint8)
    size = source.read_into(offset, window[:PADDING])
    length, body = read_varint(window, 0)
    data = source.read(offset + body, length) if body <= size and length >= 0 else np.empty(0, np.uint8)
    if body > size or len(data) < length:
        raise WireError(offset, "the file ends here", is_file_end=True)
    return data.tobytes()


def find_event_offset(source: Source, start: int, end: int, index: int) -> int:
    """The file offset of the length prefix of event `index` of the line in the file range [start, end). Raises
    WireError."""
    window = np.zeros(SCAN_WINDOW + PADDING, np.uint8)
    offset = start
    while offset < end:
        size = source.read_into(offset, window[: min(SCAN_WINDOW, end - offset)])
        pos, events, last, _ = count_events(window, size, end - offset, index + 1)
        if events > index:
            return offset + last
        if pos == 0:
            break
        index -= events
        offset += pos
    raise WireError(offset, "the file ends here", is_file_end=True)


class IdIndex:
    """Maps ids, which may be sparse or negative, to their positions, or to `values` if given; of equal ids the last one
    counts. Small ids, which most writers use, are looked up by index; others are hashed."""

    def __init__(
        self, ids: Sequence[int] | NDArray[np.int64], values: Sequence[int] | NDArray[np.int32] | None = None
    ) -> None:
        self.ids = [int(id_) for id_ in ids]
        self._values = None if values is None else np.array(values, np.int32)
        self._fill()

    def _fill(self) -> None:
        ids = np.array(self.ids, np.int64)
        values = np.arange(len(ids), dtype=np.int32) if self._values is None else self._values
        largest = int(ids.max(initial=0))
        if ids.min(initial=0) >= 0 and largest < 64 + 8 * len(ids):
            self._direct = np.full(2 * largest + 64, -1, np.int32)
            self._direct[ids] = values
            self._size, self.table = 0, IdTable(np.empty(0, np.int64), self._direct)
        else:
            self._size, self._direct = 1 << (4 * len(ids)).bit_length(), np.empty(0, np.int32)
            table = IdTable(np.zeros(self._size, np.int64), np.full(self._size, -1, np.int32))
            table.insert(ids, values)
            self.table = table  # assigned last: other threads never see a partly filled table

    def add(self, id_: int) -> None:
        """Adds an id at the next position."""
        self.ids.append(id_)
        if 0 <= id_ < len(self._direct):
            self._direct[id_] = len(self.ids) - 1
        elif self._size >= 2 * len(self.ids):
            self.table.insert(np.array([id_], np.int64), np.array([len(self.ids) - 1], np.int32))
        else:
            self._fill()

    def positions(self, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """The position of each id, -1 for those that are absent."""
        positions = np.empty(len(ids), np.int32)
        self.table.find_all(np.ascontiguousarray(ids), positions)
        return positions
