"""The loops over the events of a line, in windows as in `wire_kernels`, and over the columns that they fill."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.compiled import inlined, kernel
from tb_xla_insights.compiled.marks import eight_bytes
from tb_xla_insights.xplane.wire_kernels import (
    BAD,
    DONE,
    FIXED32,
    FIXED64,
    FULL,
    LENGTH,
    MORE,
    NEVER,
    UNKNOWN,
    VARINT,
    byte_at,
    lookup,
    read_varint,
    seven_bits_each,
)

NUMBER, REF, TEXT, DOUBLE, UNSIGNED = 0, 1, 2, 3, 4
"""What a stat's stored value is: a number, a stat metadata id, a place and length in the window, the bits of
a double, those of a number from 2^63 on."""

TEXT_SHIFT = 24
TEXT_LONGEST = (1 << TEXT_SHIFT) - 1
LINE_ID, LINE_TIME, LINE_NAME, LINE_NAME_LENGTH, LINE_DISPLAY, LINE_DISPLAY_LENGTH, UNKNOWN_ID, HEADER = (
    range(8)
)


@inlined
def _read_stat(memory, pos, end, wanted_ids, wanted):  # type: ignore[no-untyped-def]
    """The stat message at [pos, end) as (column, kind, value, position reached). Column -1: not wanted, or
    without a value. The value of a text is its place in the window and its length, packed."""
    column, kind, value = np.int64(-1), np.int64(-1), np.int64(0)
    while pos < end:
        tag, pos = read_varint(memory, pos)
        wire = tag & 7
        if pos > end:
            pos = np.int64(NEVER)
        elif wire == VARINT:
            number, pos = read_varint(memory, pos)
            if tag == 1 << 3:
                column = np.int64(lookup(wanted_ids, wanted, number))
                if column < 0:  # left for reading on demand
                    pos = end
            elif tag == 3 << 3:
                kind, value = np.int64(UNSIGNED if number < 0 else NUMBER), number
            elif tag == 4 << 3:
                kind, value = np.int64(NUMBER), number
            elif tag == 7 << 3:
                kind, value = np.int64(REF), number
        elif wire == LENGTH:
            length, pos = read_varint(memory, pos)
            if length < 0 or length > end - pos:
                pos = np.int64(NEVER)
            else:
                if tag >> 3 == 5 or tag >> 3 == 6:
                    kind, value = np.int64(TEXT), pos << TEXT_SHIFT | min(length, TEXT_LONGEST)
                pos += length
        elif wire == FIXED64:
            if tag >> 3 == 2:
                kind, value = np.int64(DOUBLE), np.int64(eight_bytes(memory + pos))
            pos += 8
        elif wire == FIXED32:
            pos += 4
        else:
            pos = np.int64(NEVER)
    return column if kind >= 0 else np.int64(-1), kind, value, pos


@kernel("UniTuple(int64, 4)(uint8[::1], int64, int64, int64)")
def count_events(window, size, limit, most):  # type: ignore[no-untyped-def]
    """Counts the events of a line in a window, up to `most`. Returns (next position, events, where the length
    of the last one stands, how it stopped)."""
    memory = np.int64(window.ctypes.data)
    events, pos, last, how = 0, 0, 0, DONE
    while how == DONE and pos < limit and events < most:
        if pos >= size:
            how = MORE
            break
        tag, at = read_varint(memory, pos)
        wire = tag & 7
        length, end = np.int64(0), at
        if wire == VARINT or wire == LENGTH:
            if at <= size:
                length, end = read_varint(memory, at)
            if wire == VARINT:
                length = np.int64(0)
        elif wire == FIXED64:
            end = at + 8
        else:
            end = at + 4
        if end <= size and (length < 0 or length > limit - end):
            end = np.int64(NEVER)
        if end > limit:
            how = BAD
        elif end > size:
            how = MORE
        elif tag < 8 or wire == 3 or wire == 4 or wire > 5:
            how = BAD
        else:
            pos = end + length
            if tag == 4 << 3 | LENGTH:
                events += 1
                last = at
    return pos, events, last, how


@kernel(
    "UniTuple(int64, 3)(uint8[::1], int64, int64, int64, boolean, int64[::1], int32[::1], int64[::1], int32[::1],"
    " int8[::1], int64[::1], int32[::1], int32, int64[::1], int64, int64, int32[::1], int64[::1], int64[::1],"
    " uint32[::1], int64, int64[::1], int32[::1], int64[::1], int64[:, ::1])"
)
def decode_events(  # type: ignore[no-untyped-def]
    window, size, start, limit, quick, metadata_ids, metadata, wanted_ids, wanted, near, text_ids, texts, missing,
    header, filled, room, event_metadata, offset_ps, duration_ps, stats, first_name, numbers, names, places, odd,
):  # fmt: skip
    """Decodes line fields from `start` to `limit`, in a window with `size` bytes; `limit` may lie behind the
    window.

    An event is written, from row `filled` to below `room`, only when the whole of it lies in the window. Bit c
    of its `stats` says that it has stat c, whose value goes to `places[c]` (which then moves on) of `numbers`,
    or of `names` for columns from `first_name` on, which hold numbers of texts. A value that is not of its
    column's kind is listed in `odd` as (column, place, kind, value, row), whose last row counts them. Returns
    (next position, rows filled, how it stopped); at BAD the position is that of what cannot be.

    Nearly all stats are a small id (`near` has the columns of those below 128), then a number or a reference.
    With `quick` those that begin so are taken to be nothing more, which is BAD where they are.
    """
    memory = np.int64(window.ctypes.data)
    row, pos, how, held = filled, start, DONE, np.uint32(0)
    odds = odd[len(odd) - 1, 0]
    while how == DONE and pos < limit:
        if pos >= size:
            how = MORE
            break
        tag, at = read_varint(memory, pos)
        wire = tag & 7
        value, end = at, at
        if wire == VARINT or wire == LENGTH:
            if at <= size:
                value, end = read_varint(memory, at)
        elif wire == FIXED64:
            end = at + 8
        else:
            end = at + 4
        if end > limit:
            how = BAD
        elif end > size:
            how = MORE
        elif tag < 8 or wire == 3 or wire == 4 or wire > 5:
            how = BAD
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
        elif row == room or odds + len(places) >= len(odd):
            how = FULL
        else:
            at = end
            end += value
            held = np.uint32(0)
            id_, offset, duration = np.int64(0), np.int64(0), np.int64(0)
            # Writers put these fields first and in this order; the loop below would do the same, a fifth slower.
            if end - at > 8 and byte_at(memory + at) == 1 << 3:
                id_, at = read_varint(memory, at + 1)
                if at < end and byte_at(memory + at) == 2 << 3:
                    offset, at = read_varint(memory, at + 1)
                if at < end and byte_at(memory + at) == 3 << 3:
                    duration, at = read_varint(memory, at + 1)
            while at < end:
                column, kind, number = np.int64(-1), np.int64(0), np.int64(0)
                bits = np.int64(eight_bytes(memory + at))
                tag = bits >> 32 & 0xFF
                behind = at + 2 + (bits >> 8 & 0x7F)
                digits = behind - at - 5
                if (
                    quick
                    and bits & 0x80FF80FF == 1 << 3 << 16 | 4 << 3 | LENGTH
                    and (tag == 4 << 3 or tag == 7 << 3)
                    and 0 < digits <= 8
                    and behind <= end
                ):
                    column = np.int64(near[np.uint64(bits >> 24 & 0x7F)])
                    if column >= 0:
                        kind = np.int64(NUMBER) if tag == 4 << 3 else np.int64(REF)
                        rest = eight_bytes(memory + at + 5)
                        ends = ~rest & np.uint64(0x8080808080808080)
                        ends ^= ends - np.uint64(1)
                        number = seven_bits_each(rest & ends)
                        if ends != np.uint64(-1) >> np.uint64(64 - 8 * digits):
                            behind = np.int64(NEVER)
                    at = behind
                else:
                    tag, at = read_varint(memory, at)
                    wire = tag & 7
                    if at > end:
                        at = np.int64(NEVER)
                    elif wire == VARINT:
                        value, at = read_varint(memory, at)
                        if tag == 1 << 3:
                            id_ = value
                        elif tag == 2 << 3:
                            offset = value
                        elif tag == 3 << 3:
                            duration = value
                    elif wire == LENGTH:
                        value, at = read_varint(memory, at)
                        if value < 0 or value > end - at:
                            at = np.int64(NEVER)
                        elif tag >> 3 == 4:
                            column, kind, number, behind = _read_stat(
                                memory, at, at + value, wanted_ids, wanted
                            )
                            at = at + value if behind == at + value else np.int64(NEVER)
                        else:
                            at += value
                    elif wire == FIXED64:
                        at += 8
                    elif wire == FIXED32:
                        at += 4
                    else:
                        at = np.int64(NEVER)
                if column >= 0 and at <= end and held >> np.uint32(column) & np.uint32(1) == 0:
                    # of a stat given twice the first counts
                    held |= np.uint32(1) << np.uint32(column)
                    place = places[np.uint64(column)]
                    places[np.uint64(column)] = place + 1
                    if column < first_name:
                        numbers[np.uint64(place)] = number
                        expected = kind == NUMBER or kind == UNSIGNED
                    else:
                        expected = kind == REF
                        which = np.int32(-1)
                        if expected:
                            which = lookup(text_ids, texts, number)
                        names[np.uint64(place)] = which if which >= 0 else missing
                    if not expected:
                        odd[odds, 0], odd[odds, 1], odd[odds, 2] = column, place, kind
                        odd[odds, 3], odd[odds, 4] = number, row
                        odds += 1
            which = lookup(metadata_ids, metadata, id_)
            if at != end:
                how = BAD
            elif which < 0:
                how = UNKNOWN
                header[UNKNOWN_ID] = id_
            else:
                event_metadata[np.uint64(row)] = which
                offset_ps[np.uint64(row)] = offset
                duration_ps[np.uint64(row)] = duration
                stats[np.uint64(row)] = held
                held = np.uint32(0)
                row += 1
                pos = end
    if how == BAD or how == UNKNOWN:  # an event that was not written leaves no stats
        for stat in range(len(places)):
            if held >> np.uint32(stat) & np.uint32(1):
                places[stat] -= 1
        while odds > 0 and odd[odds - 1, 4] == row:
            odds -= 1
    odd[len(odd) - 1, 0] = odds
    return pos, row, how


@kernel("void(uint32[::1], int64, int32[::1])")
def rows_with(stats, column, rows):  # type: ignore[no-untyped-def]
    """Lists the rows whose bit of a column is set."""
    count, bit = 0, np.uint32(1) << np.uint32(column)
    for row in range(len(stats)):
        if stats[row] & bit:
            rows[count] = row
            count += 1


@kernel("int64(uint32[::1], int64, int32[::1])")
def all_have(stats, column, rows):  # type: ignore[no-untyped-def]
    """1 if all these rows have the bit of a column, else 0."""
    for place in range(len(rows)):
        if stats[rows[place]] >> np.uint32(column) & np.uint32(1) == 0:
            return 0
    return 1


@kernel("UniTuple(int64, 2)(int64[::1])")
def extent(values):  # type: ignore[no-untyped-def]
    """The least and the largest value; 0 counts as one."""
    least, most = np.int64(0), np.int64(0)
    for i in range(len(values)):
        least, most = min(least, values[i]), max(most, values[i])
    return least, most
