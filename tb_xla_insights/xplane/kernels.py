"""The loops over a file's bytes, compiled: the fields of a message, the events of a line, tables of ids.

A kernel gets a *window*: `size` consecutive bytes of the file, and PADDING bytes after them. Positions count from its
start. A message may continue after its window's end, so kernels that read one distinguish MORE (the window ends: read
on from the returned position) from BAD (invalid bytes: a length that exceeds its parent, a varint without end).

All kernels are in one file because the functions that a loop calls must be inlined. Cython inlines across modules only
functions in a `.pxd`, in Cython's own syntax.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import int32_t, int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tb_xla_insights.arrays import (
    Bits,
    Bytes,
    Int32,
    Int64,
    OutBits,
    OutInt32,
    OutInt64,
    OutTable64,
)

cython.declare(VARINT=cython.int, FIXED64=cython.int, LENGTH=cython.int, FIXED32=cython.int)
cython.declare(DONE=cython.int, MORE=cython.int, FULL=cython.int, BAD=cython.int, UNKNOWN=cython.int)
cython.declare(NUMBER=cython.int, REF=cython.int, TEXT=cython.int, DOUBLE=cython.int, UNSIGNED=cython.int)
cython.declare(INVALID_POSITION=int64_t, TEXT_SHIFT=cython.int, MAX_TEXT_LENGTH=int64_t)
from tb_xla_insights.xplane.codes import (  # noqa: E402
    BAD,
    DONE,
    DOUBLE,
    FIXED32,
    FIXED64,
    FULL,
    INVALID_POSITION,
    LENGTH,
    MAX_TEXT_LENGTH,
    MORE,
    NUMBER,
    REF,
    TEXT,
    TEXT_SHIFT,
    UNKNOWN,
    UNSIGNED,
    VARINT,
)

_Window = cython.typedef(cython.pointer[cython.const[uint8_t]])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _varint(window: _Window, pos: int64_t) -> tuple[int64_t, int64_t]:
    """The varint at `pos` as (value, position after it); a varint of more than ten bytes ends at INVALID_POSITION.

    For speed nothing is checked: the caller compares the position with its limit. Up to eight bytes are read at once:

        bytes    1xxxxxxx 1xxxxxxx 0xxxxxxx ........   the lowest first; the first byte without a top bit is the last
        ends     00000000 00000000 10000000 ........   the top bits that are not set
        whole    11111111 11111111 11111111 00000000   all bits up to the lowest bit of `ends`
        value    the low seven bits of each byte, packed in three steps
    """
    bits: uint64_t = 0
    low_bits: uint64_t = 0x7F7F7F7F7F7F7F7F
    memcpy(cython.address(bits), window + pos, 8)
    if not bits & 0x80:
        return bits & 0x7F, pos + 1
    ends = ~(bits | low_bits)
    if ends:
        low_bit_of_each: uint64_t = 0x0101010101010101
        whole = ends ^ (ends - 1)
        length = (whole & low_bit_of_each) * low_bit_of_each >> 56  # adds up one bit of each byte
        return _pack_seven_bits(bits & whole), pos + length
    value: uint64_t = 0
    for index in range(10):
        byte = window[pos + index]
        value |= cython.cast(uint64_t, byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, pos + index + 1
    return value, INVALID_POSITION


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _pack_seven_bits(bits: uint64_t) -> uint64_t:
    """Packs the low seven bits of each of eight bytes into a number."""
    even_bytes: uint64_t = 0x007F007F007F007F
    odd_bytes: uint64_t = 0x7F007F007F007F00
    even_pairs: uint64_t = 0x00003FFF00003FFF
    odd_pairs: uint64_t = 0x3FFF00003FFF0000
    low: uint64_t = 0x0FFFFFFF
    high: uint64_t = 0x0FFFFFFF00000000
    bits = bits & even_bytes | (bits & odd_bytes) >> 1
    bits = bits & even_pairs | (bits & odd_pairs) >> 2
    return bits & low | (bits & high) >> 4


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _field(
    window: _Window, pos: int64_t, size: int64_t, limit: int64_t
) -> tuple[cython.int, int64_t, int64_t, int64_t]:
    """The field at `pos`, of a message that ends at `limit`, as (stop code, tag, value, end); unless the code is DONE,
    the other values are undefined. The value of a LENGTH field is the payload's length, and `end` the payload's start;
    the payload ends within the message, but maybe not within the window. The value of a fixed-size number is its
    position."""
    tag, tag_end = _varint(window, pos)
    wire = tag & 7
    value, end = tag_end, tag_end
    if wire == VARINT or wire == LENGTH:
        if tag_end <= size:
            value, end = _varint(window, tag_end)
    elif wire == FIXED64:
        end = tag_end + 8
    elif wire == FIXED32:
        end = tag_end + 4
    else:
        return BAD, tag, value, end
    if end > limit:
        return BAD, tag, value, end
    if end > size:
        return MORE, tag, value, end
    # Checked last: in a field that the window cuts, tag and value are arbitrary, except for the wire type.
    if tag < 8 or (wire == LENGTH and (value < 0 or value > limit - end)):
        return BAD, tag, value, end
    return DONE, tag, value, end


def read_varint(window: Bytes, pos: int64_t) -> tuple[int, int]:
    """The varint at `pos` as (value, position after it); the position is INVALID_POSITION if it has more than ten
    bytes. Reads at most PADDING bytes."""
    value, end = _varint(cython.address(window[0]), pos)
    return value, end


def scan_fields(
    window: Bytes, size: int64_t, limit: int64_t, field: OutInt32, value: OutInt64, length: OutInt64
) -> tuple[int, int, int]:
    """Lists the fields in a window, of a message that ends at `limit`: number, value (of LENGTH fields the payload's
    position), payload length (-1 for numbers). Returns (number of fields, next position, stop code)."""
    memory: _Window = cython.address(window[0])
    count: cython.Py_ssize_t = 0
    pos: int64_t = 0
    stop_code: cython.int = DONE
    with cython.nogil:
        while stop_code == DONE and pos < limit:
            if count == len(field):
                stop_code = FULL
            elif pos >= size:
                stop_code = MORE
            else:
                stop_code, tag, number, end = _field(memory, pos, size, limit)
                if stop_code == DONE:
                    field[count], value[count], length[count] = tag >> 3, number, -1
                    if tag & 7 == LENGTH:
                        value[count], length[count] = end, number
                        end += number
                    count += 1
                    pos = end
    return count, pos, stop_code


def count_events(
    window: Bytes, size: int64_t, limit: int64_t, max_events: int64_t
) -> tuple[int, int, int, int]:
    """Counts the events of a line in a window, up to `max_events`. Returns (next position, number of events, position
    of the last event's length, stop code)."""
    memory: _Window = cython.address(window[0])
    pos: int64_t = 0
    events: int64_t = 0
    last: int64_t = 0
    stop_code: cython.int = DONE
    with cython.nogil:
        while stop_code == DONE and pos < limit and events < max_events:
            if pos >= size:
                stop_code = MORE
                break
            stop_code, tag, length, end = _field(memory, pos, size, limit)
            if stop_code == DONE:
                if tag == 4 << 3 | LENGTH:
                    events += 1
                    last = pos + 1
                pos = end + length if tag & 7 == LENGTH else end
    return pos, events, last, stop_code


@cython.final
@cython.cclass
class IdTable:
    """Maps ids to numbers; -1 for absent ids. Without `keys`, `values` is indexed by id; with `keys` it is a hash table
    of 2^n slots, in which -1 marks an empty slot."""

    keys: OutInt64
    values: OutInt32

    def __init__(self, keys: OutInt64, values: OutInt32) -> None:
        self.keys, self.values = keys, values

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def slot(self, id_: int64_t) -> cython.Py_ssize_t:
        """The slot of an id, or the empty slot where it would be inserted."""
        multiplier: int64_t = -7046029254386353131  # spreads neighbouring ids over the table
        mask: int64_t = len(self.keys) - 1
        slot = (id_ * multiplier) >> 32 & mask
        while self.values[slot] >= 0 and self.keys[slot] != id_:
            slot = (slot + 1) & mask
        return slot

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def find(self, id_: int64_t) -> int32_t:
        if len(self.keys) == 0:
            return self.values[id_] if 0 <= id_ < len(self.values) else -1
        return self.values[self.slot(id_)]

    def insert(self, ids: Int64, values: Int32) -> None:
        """Inserts ids into a table with keys, which must keep an empty slot; of equal ids the last one counts."""
        with cython.nogil:
            for i in range(len(ids)):
                slot = self.slot(ids[i])
                self.keys[slot] = ids[i]
                self.values[slot] = values[i]

    def find_all(self, ids: Int64, numbers: OutInt32) -> None:
        """Looks up the number of each id."""
        with cython.nogil:
            for i in range(len(ids)):
                numbers[i] = self.find(ids[i])


@cython.final
@cython.cclass
class EventTables:
    """The tables that a plane's events refer to: the index of each event metadata id; the column of each requested
    stat's id; the string index of each stat metadata's name, by its id, `missing_string` for an unknown id."""

    metadata: IdTable
    stat_columns: IdTable
    string_indices: IdTable
    missing_string: int32_t

    def __init__(
        self, metadata: IdTable, stat_columns: IdTable, string_indices: IdTable, missing_string: int32_t
    ) -> None:
        self.metadata, self.stat_columns = metadata, stat_columns
        self.string_indices, self.missing_string = string_indices, missing_string


@cython.final
@cython.cclass
class EventColumns:
    """The output of decoding: a row per event, and the values of stats.

    Bit c of an event's `stats` says that it has stat c. Its value is written to `numbers[next_index[c]]` or, as a
    string index for columns from `first_text` on, to `texts[next_index[c]]`; then `next_index[c]` advances. A value
    whose type is not its column's is also listed in `mismatches`, as (column, index, value type, value, row);
    `mismatch_count` counts them.

    The fields of the line's header are stored here as well: `id` and `timestamp_ns`, 0 if absent; the positions and
    lengths of its names in the window. `unknown_id` is the event metadata id at which decoding stopped with UNKNOWN.
    """

    metadata: OutInt32
    offset_ps: OutInt64
    duration_ps: OutInt64
    stats: OutBits
    first_text: cython.int
    numbers: OutInt64
    texts: OutInt32
    next_index: OutInt64
    mismatches: OutTable64
    mismatch_count = cython.declare(cython.Py_ssize_t, visibility="public")
    id = cython.declare(int64_t, visibility="readonly")
    timestamp_ns = cython.declare(int64_t, visibility="readonly")
    name_start = cython.declare(int64_t, visibility="readonly")
    name_length = cython.declare(int64_t, visibility="readonly")
    display_start = cython.declare(int64_t, visibility="readonly")
    display_length = cython.declare(int64_t, visibility="readonly")
    unknown_id = cython.declare(int64_t, visibility="readonly")

    def __init__(
        self, metadata: OutInt32, offset_ps: OutInt64, duration_ps: OutInt64, stats: OutBits,
        first_text: cython.int, numbers: OutInt64, texts: OutInt32, next_index: OutInt64, mismatches: OutTable64,
    ) -> None:  # fmt: skip
        self.metadata, self.offset_ps, self.duration_ps, self.stats = metadata, offset_ps, duration_ps, stats
        self.first_text, self.numbers, self.texts, self.next_index = first_text, numbers, texts, next_index
        self.mismatches = mismatches

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def add_stat(
        self, row: int64_t, column: cython.int, value_type: cython.int, value: int64_t, tables: EventTables
    ) -> cython.void:
        expected: cython.bint = False
        index = self.next_index[column]
        self.next_index[column] = index + 1
        if column < self.first_text:
            self.numbers[index] = value
            expected = value_type == NUMBER or value_type == UNSIGNED
        else:
            expected = value_type == REF
            string_index: int32_t = tables.string_indices.find(value) if expected else -1
            self.texts[index] = string_index if string_index >= 0 else tables.missing_string
        if not expected:
            count = self.mismatch_count
            self.mismatches[count, 0], self.mismatches[count, 1] = column, index
            self.mismatches[count, 2], self.mismatches[count, 3] = value_type, value
            self.mismatches[count, 4] = row
            self.mismatch_count = count + 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def discard_stats(self, row: int64_t, present: uint32_t) -> cython.void:
        """Removes the stats already written (bits of `present`) of an event that cannot be decoded."""
        for column in range(len(self.next_index)):
            if present >> column & 1:
                self.next_index[column] -= 1
        while self.mismatch_count > 0 and self.mismatches[self.mismatch_count - 1, 4] == row:
            self.mismatch_count -= 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _stat(
    window: _Window, pos: int64_t, end: int64_t, stat_columns: IdTable
) -> tuple[cython.int, cython.int, int64_t, int64_t]:
    """The stat message at [pos, end) as (column, value type, value, next position), which is `end` unless the message
    is invalid. Column -1: the stat was not requested, or has no value. The value of a text packs its position in the
    window and its length."""
    column: cython.int = -1
    value_type: cython.int = -1
    value: int64_t = 0
    while pos < end:
        tag, pos = _varint(window, pos)
        wire = tag & 7
        if pos > end:
            pos = INVALID_POSITION
        elif wire == VARINT:
            number, pos = _varint(window, pos)
            if tag == 1 << 3:
                column = stat_columns.find(number)
                if column < 0:  # read on demand instead
                    return -1, -1, 0, end if pos <= end else INVALID_POSITION
            elif tag == 3 << 3:
                value_type, value = UNSIGNED if number < 0 else NUMBER, number
            elif tag == 4 << 3:
                value_type, value = NUMBER, number
            elif tag == 7 << 3:
                value_type, value = REF, number
        elif wire == LENGTH:
            length, pos = _varint(window, pos)
            if length < 0 or length > end - pos:
                pos = INVALID_POSITION
            else:
                if tag >> 3 == 5 or tag >> 3 == 6:
                    value_type, value = TEXT, pos << TEXT_SHIFT | min(length, MAX_TEXT_LENGTH)
                pos += length
        elif wire == FIXED64:
            if tag >> 3 == 2:
                value_type = DOUBLE
                memcpy(cython.address(value), window + pos, 8)
            pos += 8
        elif wire == FIXED32:
            pos += 4
        else:
            pos = INVALID_POSITION
    return column if value_type >= 0 else -1, value_type, value, pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _event(
    window: _Window, pos: int64_t, end: int64_t, row: int64_t, tables: EventTables, columns: EventColumns
) -> cython.int:
    """Decodes the event message at [pos, end), which must be in the window, into a row. Returns DONE, or without
    writing the row BAD or UNKNOWN."""
    present: uint32_t = 0
    id_: int64_t = 0
    offset: int64_t = 0
    duration: int64_t = 0
    while pos < end:
        tag, pos = _varint(window, pos)
        wire = tag & 7
        if pos > end:
            pos = INVALID_POSITION
        elif wire == VARINT:
            value, pos = _varint(window, pos)
            if tag == 1 << 3:
                id_ = value
            elif tag == 2 << 3:
                offset = value
            elif tag == 3 << 3:
                duration = value
        elif wire == LENGTH:
            value, pos = _varint(window, pos)
            if value < 0 or value > end - pos:
                pos = INVALID_POSITION
            elif tag >> 3 == 4:
                stat_end = pos + value
                column, value_type, number, pos = _stat(window, pos, stat_end, tables.stat_columns)
                if pos != stat_end:
                    pos = INVALID_POSITION
                elif column >= 0 and not present >> column & 1:  # of equal stats the first counts
                    present |= cython.cast(uint32_t, 1) << column
                    columns.add_stat(row, column, value_type, number, tables)
            else:
                pos += value
        elif wire == FIXED64:
            pos += 8
        elif wire == FIXED32:
            pos += 4
        else:
            pos = INVALID_POSITION
    metadata_index = tables.metadata.find(id_)
    if pos == end and metadata_index >= 0:
        columns.metadata[row], columns.stats[row] = metadata_index, present
        columns.offset_ps[row], columns.duration_ps[row] = offset, duration
        return DONE
    columns.discard_stats(row, present)
    columns.unknown_id = id_
    return BAD if pos != end else UNKNOWN


def decode_events(
    window: Bytes, size: int64_t, pos: int64_t, limit: int64_t, row: int64_t, row_limit: int64_t,
    tables: EventTables, columns: EventColumns,
) -> tuple[int, int, int]:  # fmt: skip
    """Decodes a line's fields from `pos` to `limit`, which may be after the window. Events whose whole message is in
    the window are written to rows from `row` to below `row_limit`. Returns (next position, next row, stop code); with
    BAD the position is that of the invalid field.

        line     ┌ id ┬ name ┬ event ────────────────┬ event ───────── ... ┐
        event                └ id ┬ offset ┬ duration ┬ stat ─┬ stat ─ ... ┘
        stat                                          └ id ┬ value ┘

    A window may end anywhere in this, and any part may be damaged.
    """
    memory: _Window = cython.address(window[0])
    stop_code: cython.int = DONE
    with cython.nogil:
        while stop_code == DONE and pos < limit:
            if pos >= size:
                stop_code = MORE
                break
            stop_code, tag, value, end = _field(memory, pos, size, limit)
            if stop_code != DONE:
                break
            number = tag >> 3
            if tag & 7 != LENGTH:
                if tag == 1 << 3:
                    columns.id = value
                elif tag == 3 << 3:
                    columns.timestamp_ns = value
                pos = end
            elif number == 4:
                if end + value > size:
                    stop_code = MORE
                elif row == row_limit or columns.mismatch_count + len(columns.next_index) > len(
                    columns.mismatches
                ):
                    stop_code = FULL
                else:
                    stop_code = _event(memory, end, end + value, row, tables, columns)
                    if stop_code == DONE:
                        row += 1
                        pos = end + value
            elif number != 2 and number != 11:
                pos = end + value
            elif end + value > size:
                stop_code = MORE
            else:
                if number == 2:
                    columns.name_start, columns.name_length = end, value
                else:
                    columns.display_start, columns.display_length = end, value
                pos = end + value
    return pos, row, stop_code


def rows_with(stats: Bits, column: cython.int, rows: OutInt32) -> None:
    """Lists the rows that have the bit of a column set."""
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(len(stats)):
            if stats[row] >> column & 1:
                rows[count] = row
                count += 1


def all_have(stats: Bits, column: cython.int, rows: Int32) -> bool:
    """Whether all these rows have the bit of a column set."""
    all_set: cython.bint = True
    with cython.nogil:
        for i in range(len(rows)):
            if not stats[rows[i]] >> column & 1:
                all_set = False
                break
    return all_set
