"""The loops over a file's bytes, compiled: the fields of a message, the events of a line, tables of ids.

A kernel sees a *window*: `size` consecutive bytes of the file, and PADDING behind them. Positions count from its begin.
A message may go on behind its window's end, so every kernel tells "the window ends here" (MORE: read on from
there) from "this cannot be" (BAD: a length that leaves its parent, a varint without end).

All of it is in one file: what a loop calls is inlined, which Cython does across modules only for what is written in a
`.pxd`, in Cython's own syntax.
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
cython.declare(NEVER=int64_t, TEXT_SHIFT=cython.int, TEXT_LONGEST=int64_t)
from tb_xla_insights.xplane.codes import (  # noqa: E402
    BAD,
    DONE,
    DOUBLE,
    FIXED32,
    FIXED64,
    FULL,
    LENGTH,
    MORE,
    NEVER,
    NUMBER,
    REF,
    TEXT,
    TEXT_LONGEST,
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
    """The varint at `pos` as (value, position after it); a varint of more than ten bytes ends at `NEVER`.

    Nothing is checked on the way, for speed: the caller compares the position with what it may not exceed. Up to eight
    bytes are read at once:

        bytes    1xxxxxxx 1xxxxxxx 0xxxxxxx ........   the lowest first; the first one without its top bit is the last
        ends     00000000 00000000 10000000 ........   `ends`: top bits that are not set
        whole    11111111 11111111 11111111 00000000   up to the lowest of them
        value    seven bits of each byte, pushed together in three steps
    """
    bits: uint64_t = 0
    low_bits: uint64_t = 0x7F7F7F7F7F7F7F7F
    memcpy(cython.address(bits), window + pos, 8)
    if not bits & 0x80:
        return bits & 0x7F, pos + 1
    ends = ~(bits | low_bits)
    if ends:
        one_each: uint64_t = 0x0101010101010101
        whole = ends ^ (ends - 1)
        length = (whole & one_each) * one_each >> 56  # adds up a bit of each byte
        return _seven_bits_each(bits & whole), pos + length
    value: uint64_t = 0
    for place in range(10):
        byte = window[pos + place]
        value |= cython.cast(uint64_t, byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, pos + place + 1
    return value, NEVER


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _seven_bits_each(bits: uint64_t) -> uint64_t:
    """The number in the low seven bits of each of eight bytes."""
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
    """The field at `pos`, of a message that ends at `limit`, as (how, tag, value, end). Unless `how` is DONE the others
    mean nothing. The value of a LENGTH field is the payload's length, and `end` is where that begins; it ends inside of
    the message, but maybe not of the window. The value of a fixed number is where it stands."""
    tag, at = _varint(window, pos)
    wire = tag & 7
    value, end = at, at
    if wire == VARINT or wire == LENGTH:
        if at <= size:
            value, end = _varint(window, at)
    elif wire == FIXED64:
        end = at + 8
    elif wire == FIXED32:
        end = at + 4
    else:
        return BAD, tag, value, end
    if end > limit:
        return BAD, tag, value, end
    if end > size:
        return MORE, tag, value, end
    # Not before: of a tag that the window cuts, only the first byte may be here.
    if tag < 8 or (wire == LENGTH and (value < 0 or value > limit - end)):
        return BAD, tag, value, end
    return DONE, tag, value, end


def read_varint(window: Bytes, pos: int64_t) -> tuple[int, int]:
    """The varint at `pos` as (value, position after it), NEVER where it has more than ten bytes. Looks at PADDING bytes
    at most."""
    value, end = _varint(cython.address(window[0]), pos)
    return value, end


def scan_fields(
    window: Bytes, size: int64_t, limit: int64_t, field: OutInt32, value: OutInt64, length: OutInt64
) -> tuple[int, int, int]:
    """Lists the fields of a window, of a message that ends at `limit`: number, value (of LENGTH fields: where the
    payload begins), payload length (-1 for numbers). Returns (fields listed, next position, how it stopped)."""
    memory: _Window = cython.address(window[0])
    count: cython.Py_ssize_t = 0
    pos: int64_t = 0
    how: cython.int = DONE
    with cython.nogil:
        while how == DONE and pos < limit:
            if count == len(field):
                how = FULL
            elif pos >= size:
                how = MORE
            else:
                how, tag, number, end = _field(memory, pos, size, limit)
                if how == DONE:
                    field[count], value[count], length[count] = tag >> 3, number, -1
                    if tag & 7 == LENGTH:
                        value[count], length[count] = end, number
                        end += number
                    count += 1
                    pos = end
    return count, pos, how


def count_events(window: Bytes, size: int64_t, limit: int64_t, most: int64_t) -> tuple[int, int, int, int]:
    """Counts the events of a line in a window, up to `most`. Returns (next position, events, where the length
    of the last one stands, how it stopped)."""
    memory: _Window = cython.address(window[0])
    pos: int64_t = 0
    events: int64_t = 0
    last: int64_t = 0
    how: cython.int = DONE
    with cython.nogil:
        while how == DONE and pos < limit and events < most:
            if pos >= size:
                how = MORE
                break
            how, tag, length, end = _field(memory, pos, size, limit)
            if how == DONE:
                if tag == 4 << 3 | LENGTH:
                    events += 1
                    last = pos + 1
                pos = end + length if tag & 7 == LENGTH else end
    return pos, events, last, how


@cython.final
@cython.cclass
class IdTable:
    """From ids to numbers, -1 for absent ones. Without `keys`, `values` stand at their ids; with them it is a hash
    table of 2^n slots, -1 where nothing is."""

    keys: OutInt64
    values: OutInt32

    def __init__(self, keys: OutInt64, values: OutInt32) -> None:
        self.keys, self.values = keys, values

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def slot(self, id_: int64_t) -> cython.Py_ssize_t:
        """Where an id stands, or would."""
        odd: int64_t = -7046029254386353131  # spreads neighbouring ids over the table
        mask: int64_t = len(self.keys) - 1
        slot = (id_ * odd) >> 32 & mask
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
        """Puts ids into a table with keys; of equal ids the last one counts. It must keep an empty slot."""
        with cython.nogil:
            for i in range(len(ids)):
                slot = self.slot(ids[i])
                self.keys[slot] = ids[i]
                self.values[slot] = values[i]

    def find_all(self, ids: Int64, found: OutInt32) -> None:
        """The number of each id."""
        with cython.nogil:
            for i in range(len(ids)):
                found[i] = self.find(ids[i])


@cython.final
@cython.cclass
class EventTables:
    """What the events of a plane refer to: the index of each event metadata id; the column of each wanted stat's id;
    the text of each stat metadata id, or `missing`."""

    metadata: IdTable
    wanted: IdTable
    texts: IdTable
    missing: int32_t

    def __init__(self, metadata: IdTable, wanted: IdTable, texts: IdTable, missing: int32_t) -> None:
        self.metadata, self.wanted, self.texts, self.missing = metadata, wanted, texts, missing


@cython.final
@cython.cclass
class EventColumns:
    """Where events go: a row each, and their stats' values.

    Bit c of an event's `stats` says that it has stat c, whose value goes to `places[c]` (which then moves on) of
    `numbers`, or of `names` for columns from `first_name` on, which hold numbers of texts. A value that is not of its
    column's kind is listed in `odd`, too, as (column, place, kind, value, row); `odds` counts them.

    What the line's header says is kept here as well: `id` and `timestamp_ns`, 0 without; where its names stand in the
    window, and how long they are; and of the event at which decoding stopped, the id that its table lacks.
    """

    metadata: OutInt32
    offset_ps: OutInt64
    duration_ps: OutInt64
    stats: OutBits
    first_name: cython.int
    numbers: OutInt64
    names: OutInt32
    places: OutInt64
    odd: OutTable64
    odds = cython.declare(cython.Py_ssize_t, visibility="public")
    id = cython.declare(int64_t, visibility="readonly")
    timestamp_ns = cython.declare(int64_t, visibility="readonly")
    name_at = cython.declare(int64_t, visibility="readonly")
    name_length = cython.declare(int64_t, visibility="readonly")
    display_at = cython.declare(int64_t, visibility="readonly")
    display_length = cython.declare(int64_t, visibility="readonly")
    unknown_id = cython.declare(int64_t, visibility="readonly")

    def __init__(
        self, metadata: OutInt32, offset_ps: OutInt64, duration_ps: OutInt64, stats: OutBits,
        first_name: cython.int, numbers: OutInt64, names: OutInt32, places: OutInt64, odd: OutTable64,
    ) -> None:  # fmt: skip
        self.metadata, self.offset_ps, self.duration_ps, self.stats = metadata, offset_ps, duration_ps, stats
        self.first_name, self.numbers, self.names, self.places = first_name, numbers, names, places
        self.odd = odd

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def add_stat(
        self, row: int64_t, column: cython.int, kind: cython.int, value: int64_t, tables: EventTables
    ) -> cython.void:
        expected: cython.bint = False
        place = self.places[column]
        self.places[column] = place + 1
        if column < self.first_name:
            self.numbers[place] = value
            expected = kind == NUMBER or kind == UNSIGNED
        else:
            expected = kind == REF
            text: int32_t = tables.texts.find(value) if expected else -1
            self.names[place] = text if text >= 0 else tables.missing
        if not expected:
            self.odd[self.odds, 0], self.odd[self.odds, 1], self.odd[self.odds, 2] = column, place, kind
            self.odd[self.odds, 3], self.odd[self.odds, 4] = value, row
            self.odds += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take_back(self, row: int64_t, held: uint32_t) -> cython.void:
        """Of an event that cannot be written, the stats that it holds so far."""
        for column in range(len(self.places)):
            if held >> column & 1:
                self.places[column] -= 1
        while self.odds > 0 and self.odd[self.odds - 1, 4] == row:
            self.odds -= 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _stat(
    window: _Window, pos: int64_t, end: int64_t, wanted: IdTable
) -> tuple[cython.int, cython.int, int64_t, int64_t]:
    """The stat message at [pos, end) as (column, kind, value, position reached). Column -1: not wanted, or
    without a value. The value of a text is its place in the window and its length, packed."""
    column: cython.int = -1
    kind: cython.int = -1
    value: int64_t = 0
    while pos < end:
        tag, pos = _varint(window, pos)
        wire = tag & 7
        if pos > end:
            pos = NEVER
        elif wire == VARINT:
            number, pos = _varint(window, pos)
            if tag == 1 << 3:
                column = wanted.find(number)
                if column < 0:  # left for reading on demand
                    return -1, -1, 0, end if pos <= end else NEVER
            elif tag == 3 << 3:
                kind, value = UNSIGNED if number < 0 else NUMBER, number
            elif tag == 4 << 3:
                kind, value = NUMBER, number
            elif tag == 7 << 3:
                kind, value = REF, number
        elif wire == LENGTH:
            length, pos = _varint(window, pos)
            if length < 0 or length > end - pos:
                pos = NEVER
            else:
                if tag >> 3 == 5 or tag >> 3 == 6:
                    kind, value = TEXT, pos << TEXT_SHIFT | min(length, TEXT_LONGEST)
                pos += length
        elif wire == FIXED64:
            if tag >> 3 == 2:
                kind = DOUBLE
                memcpy(cython.address(value), window + pos, 8)
            pos += 8
        elif wire == FIXED32:
            pos += 4
        else:
            pos = NEVER
    return column if kind >= 0 else -1, kind, value, pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _event(
    window: _Window, at: int64_t, end: int64_t, row: int64_t, tables: EventTables, columns: EventColumns
) -> cython.int:
    """Writes the event message at [at, end), all of it in the window, to a row. Returns DONE; or, having written
    nothing, BAD or UNKNOWN."""
    held: uint32_t = 0
    id_: int64_t = 0
    offset: int64_t = 0
    duration: int64_t = 0
    while at < end:
        tag, at = _varint(window, at)
        wire = tag & 7
        if at > end:
            at = NEVER
        elif wire == VARINT:
            value, at = _varint(window, at)
            if tag == 1 << 3:
                id_ = value
            elif tag == 2 << 3:
                offset = value
            elif tag == 3 << 3:
                duration = value
        elif wire == LENGTH:
            value, at = _varint(window, at)
            if value < 0 or value > end - at:
                at = NEVER
            elif tag >> 3 == 4:
                behind = at + value
                column, kind, number, at = _stat(window, at, behind, tables.wanted)
                if at != behind:
                    at = NEVER
                elif column >= 0 and not held >> column & 1:  # of a stat given twice the first counts
                    held |= cython.cast(uint32_t, 1) << column
                    columns.add_stat(row, column, kind, number, tables)
            else:
                at += value
        elif wire == FIXED64:
            at += 8
        elif wire == FIXED32:
            at += 4
        else:
            at = NEVER
    entry = tables.metadata.find(id_)
    if at == end and entry >= 0:
        columns.metadata[row], columns.stats[row] = entry, held
        columns.offset_ps[row], columns.duration_ps[row] = offset, duration
        return DONE
    columns.take_back(row, held)
    columns.unknown_id = id_
    return BAD if at != end else UNKNOWN


def decode_events(
    window: Bytes, size: int64_t, pos: int64_t, limit: int64_t, row: int64_t, room: int64_t,
    tables: EventTables, columns: EventColumns,
) -> tuple[int, int, int]:  # fmt: skip
    """Decodes line fields from `pos` to `limit`, which may lie behind the window. Events whose whole message lies in
    the window go to rows from `row` to below `room`. Returns (next position, next row, how it stopped); at BAD the
    position is that of what cannot be.

        line     ┌ id ┬ name ┬ event ────────────────┬ event ───────── ... ┐
        event                └ id ┬ offset ┬ duration ┬ stat ─┬ stat ─ ... ┘
        stat                                          └ id ┬ value ┘

    A window may end anywhere in this, and any of it may be damaged.
    """
    memory: _Window = cython.address(window[0])
    how: cython.int = DONE
    with cython.nogil:
        while how == DONE and pos < limit:
            if pos >= size:
                how = MORE
                break
            how, tag, value, end = _field(memory, pos, size, limit)
            if how != DONE:
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
                    how = MORE
                elif row == room or columns.odds + len(columns.places) > len(columns.odd):
                    how = FULL
                else:
                    how = _event(memory, end, end + value, row, tables, columns)
                    if how == DONE:
                        row += 1
                        pos = end + value
            elif number != 2 and number != 11:
                pos = end + value
            elif end + value > size:
                how = MORE
            else:
                if number == 2:
                    columns.name_at, columns.name_length = end, value
                else:
                    columns.display_at, columns.display_length = end, value
                pos = end + value
    return pos, row, how


def rows_with(stats: Bits, column: cython.int, rows: OutInt32) -> None:
    """Lists the rows whose bit of a column is set."""
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(len(stats)):
            if stats[row] >> column & 1:
                rows[count] = row
                count += 1


def all_have(stats: Bits, column: cython.int, rows: Int32) -> bool:
    """Whether all these rows have the bit of a column."""
    found: cython.bint = True
    with cython.nogil:
        for place in range(len(rows)):
            if not stats[rows[place]] >> column & 1:
                found = False
                break
    return found
