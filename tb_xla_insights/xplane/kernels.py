"""The loops over a file's bytes: varints, the fields of a message, the events of a line.

A kernel sees a *window*: consecutive bytes of the file. A message may go on behind its window's end, so every
kernel tells "the window ends here" (read on from there) from "this cannot be" (a length that leaves its
parent, a varint without end).

All of them stand in this one file: numba's cache notices a change of the file that a kernel stands in, but
not of another whose functions were compiled into it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
DONE, MORE, FULL, BAD, UNKNOWN = 0, 1, 2, 3, 4
"""How a kernel stopped: at its limit, at the window's end, with its output full, at a byte that cannot be,
at an id that its table lacks."""

PADDING = 32
NEVER = 1 << 62
SPREAD = -7046029254386353131
"""Multiplying by this odd number spreads neighbouring ids over a hash table."""


NUMBER, REF, TEXT, DOUBLE, UNSIGNED = 0, 1, 2, 3, 4
"""What a stat's stored value is: a number, a stat metadata id, a place and length in the window, the bits of
a double, those of a number from 2^63 on."""

TEXT_SHIFT = 24
TEXT_LONGEST = (1 << TEXT_SHIFT) - 1
LINE_ID, LINE_TIME, LINE_NAME, LINE_NAME_LENGTH, LINE_DISPLAY, LINE_DISPLAY_LENGTH, UNKNOWN_ID, HEADER = (
    range(8)
)

# The kernels leave their loops at one place only: with an early return numba keeps counting references to
# every array in every iteration, which made decoding six times as slow.


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
def scan_fields(window, size, limit, field, value, length):  # type: ignore[no-untyped-def]
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


@njit("int32(int64[::1], int32[::1], int64)", cache=True, nogil=True, forceinline=True)
def lookup(keys, values, key):  # type: ignore[no-untyped-def]
    """The value of `key` in a table's arrays, -1 where it is absent. Without keys the values stand at their
    ids."""
    found = np.int32(-1)
    if len(keys) == 0:
        if 0 <= key < len(values):
            found = values[key]
    else:
        mask = len(keys) - 1
        slot = (key * np.int64(SPREAD)) >> 32 & mask
        while values[slot] >= 0 and keys[slot] != key:
            slot = (slot + 1) & mask
        found = values[slot]
    return found


@njit("void(int64[::1], int32[::1], int64[::1], int32[::1])", cache=True, nogil=True)
def insert_ids(keys, values, ids, given):  # type: ignore[no-untyped-def]
    mask = len(keys) - 1
    for index in range(len(ids)):
        slot = (ids[index] * np.int64(SPREAD)) >> 32 & mask
        while values[slot] >= 0 and keys[slot] != ids[index]:
            slot = (slot + 1) & mask
        keys[slot] = ids[index]
        values[slot] = given[index]


@njit("void(int64[::1], int32[::1], int64[::1], int32[::1])", cache=True, nogil=True)
def lookup_all(keys, values, ids, found):  # type: ignore[no-untyped-def]
    for index in range(len(ids)):
        found[index] = lookup(keys, values, ids[index])


@njit(
    "UniTuple(int64, 4)(uint8[::1], int64, int64, int64[::1], int32[::1])",
    cache=True,
    nogil=True,
    forceinline=True,
)
def _read_stat(window, pos, end, wanted_ids, wanted):  # type: ignore[no-untyped-def]
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
            elif tag == 3 << 3:
                kind, value = np.int64(UNSIGNED if number < 0 else NUMBER), number
            elif tag == 4 << 3:
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
def count_events(window, size, limit):  # type: ignore[no-untyped-def]
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
    return pos, events, how


@njit(
    "UniTuple(int64, 3)(uint8[::1], int64, int64, int64, boolean, int64[::1], int32[::1], int64[::1], int32[::1],"
    " int8[::1], int64[::1], int64, int64, int64, int32[::1], int64[::1], int64[::1], int64[::1], int32[:, ::1],"
    " int64[:, ::1], int64[::1], int64[:, ::1])",
    cache=True,
    nogil=True,
)
def decode_events(  # type: ignore[no-untyped-def]
    window, size, start, limit, quick, metadata_ids, metadata, wanted_ids, wanted, native, header,
    base, filled, room, event_metadata, offset_ps, duration_ps, place, stat_row, stat_value, stat_count, odd,
):  # fmt: skip
    """Decodes line fields from `start` to `limit`, in a window with `size` bytes; `limit` may lie behind the
    window.

    An event is written, from row `filled` to below `room`, only when the whole of it lies in the window; its
    place is that of its length in the window. Values of stat c go to `stat_row[c]` and `stat_value[c]` from
    `base` on, where `stat_count[c]` counts them. A value that is not of its column's `native` kind is listed
    in `odd` as (column, index, kind), whose last row counts them. Returns (next position, rows filled, how it
    stopped); at BAD the position is that of what cannot be.

    Nearly all stats are a small id, then a number or a reference. With `quick` those that begin so are taken
    to be nothing more, which is BAD where they are.
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
        elif row == room or odds + len(stat_count) >= len(odd):
            how = FULL
        else:
            header_at, at = at, end
            end += value
            id_, offset, duration = np.int64(0), np.int64(0), np.int64(0)
            # Writers put these fields first and in this order; the loop below would do the same, a fifth slower.
            if end - at > 8 and window[np.uint64(at)] == 1 << 3:
                id_, at = read_varint(window, at + 1)
                if at < end and window[np.uint64(at)] == 2 << 3:
                    offset, at = read_varint(window, at + 1)
                if at < end and window[np.uint64(at)] == 3 << 3:
                    duration, at = read_varint(window, at + 1)
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
                        tag = np.int64(window[np.uint64(at + 2)])
                        if (
                            quick
                            and value > 3
                            and window[np.uint64(at)] == 1 << 3
                            and window[np.uint64(at + 1)] < 0x80
                            and (tag == 4 << 3 or tag == 7 << 3)
                        ):
                            column = np.int64(lookup(wanted_ids, wanted, np.int64(window[np.uint64(at + 1)])))
                            kind = np.int64(NUMBER) if tag == 4 << 3 else np.int64(REF)
                            number, reached = np.int64(0), at + value
                            if column >= 0:
                                number, reached = read_varint(window, at + 3)
                        else:
                            column, kind, number, reached = _read_stat(
                                window, at, at + value, wanted_ids, wanted
                            )
                        at += value
                        if reached != at:
                            at = np.int64(NEVER)
                        elif column >= 0 and (
                            stat_count[column] == 0 or stat_row[column, base + stat_count[column] - 1] != row
                        ):  # of a stat given twice the first counts
                            index = base + stat_count[column]
                            stat_row[column, index] = row
                            stat_value[column, index] = number
                            stat_count[column] += 1
                            if kind != native[column] and (kind != UNSIGNED or native[column] != NUMBER):
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
                header[UNKNOWN_ID] = id_
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
        for stat in range(len(stat_count)):
            if stat_count[stat] > 0 and stat_row[stat, base + stat_count[stat] - 1] == row:
                stat_count[stat] -= 1
        while odds > 0 and odd[odds - 1, 1] >= base + stat_count[odd[odds - 1, 0]]:
            odds -= 1
    odd[len(odd) - 1, 0] = odds
    return pos, row, how


@njit("void(int64[::1], int64[::1], int32[::1], int64[::1], int64)", cache=True, nogil=True)
def resolve_texts(values, keys, positions, texts, missing):  # type: ignore[no-untyped-def]
    """Turns stat metadata ids into the texts they stand for, in place."""
    for index in range(len(values)):
        position = lookup(keys, positions, values[index])
        values[index] = texts[position] if position >= 0 else missing
