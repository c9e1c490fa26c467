"""The loops over a file's bytes: varints, the fields of a message, tables of ids.

A kernel sees a *window*: consecutive bytes of the file. A message may go on behind its window's end, so every
kernel tells "the window ends here" (read on from there) from "this cannot be" (a length that leaves its
parent, a varint without end).
"""

from __future__ import annotations

import numpy as np

from tb_xla_insights.compiled import inlined, kernel
from tb_xla_insights.compiled.marks import eight_bytes, zeros_below

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
DONE, MORE, FULL, BAD, UNKNOWN = 0, 1, 2, 3, 4
"""How a kernel stopped: at its limit, at the window's end, with its output full, at a byte that cannot be,
at an id that its table lacks."""

PADDING = 32
NEVER = 1 << 62
SPREAD = -7046029254386353131
"""Multiplying by this odd number spreads neighbouring ids over a hash table."""


@inlined
def byte_at(address):  # type: ignore[no-untyped-def]
    return np.int64(eight_bytes(address) & np.uint64(0xFF))


@inlined
def seven_bits_each(bits):  # type: ignore[no-untyped-def]
    """The number in the low seven bits of each of eight bytes: pushed together in three steps, without a loop."""
    bits &= np.uint64(0x7F7F7F7F7F7F7F7F)
    bits = bits & np.uint64(0x007F007F007F007F) | (bits & np.uint64(0x7F007F007F007F00)) >> np.uint64(1)
    bits = bits & np.uint64(0x00003FFF00003FFF) | (bits & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2)
    return np.int64(bits & np.uint64(0x0FFFFFFF) | (bits & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4))


@kernel("UniTuple(int64, 2)(int64, int64)")
def read_varint(memory, pos):  # type: ignore[no-untyped-def]
    """The varint at `pos` as (value, position after it); a varint of more than ten bytes ends at `NEVER`.

    Nothing is checked on the way, for speed: the caller compares the position with what it may not exceed,
    and a window has `PADDING` bytes behind its content.
    """
    bits = eight_bytes(memory + pos)
    ends = ~bits & np.uint64(0x8080808080808080)
    if bits & np.uint64(0x80) == 0:
        value = np.int64(bits & np.uint64(0x7F))
        pos += 1
    elif ends != 0:
        pos += np.int64(zeros_below(ends) >> np.uint64(3)) + 1
        value = seven_bits_each(bits & (ends ^ (ends - np.uint64(1))))
    else:
        value, shift, byte = np.int64(0), 0, np.int64(0x80)
        while byte >= 0x80:
            byte = byte_at(memory + pos)
            pos += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift == 70 and byte >= 0x80:
                byte, pos = np.int64(0), np.int64(NEVER)
    return value, pos


@kernel("UniTuple(int64, 3)(uint8[::1], int64, int64, int32[::1], int64[::1], int64[::1])")
def scan_fields(window, size, limit, field, value, length):  # type: ignore[no-untyped-def]
    """Lists the fields of a window with `size` bytes, of a message that ends at `limit`: number, value (of
    LENGTH fields: where the payload begins), payload length (-1 for numbers). Returns (fields listed, next
    position, how it stopped)."""
    memory = np.int64(window.ctypes.data)
    count, pos = 0, 0
    while pos < limit:
        if count == len(field):
            return count, pos, FULL
        if pos >= size:
            return count, pos, MORE
        tag, at = read_varint(memory, pos)
        wire = tag & 7
        end = at
        value[count], length[count] = at, -1
        if wire == VARINT or wire == LENGTH:
            if at <= size:
                number, end = read_varint(memory, at)
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


@inlined
def lookup(keys, values, key):  # type: ignore[no-untyped-def]
    """The value of `key` in a table, -1 where it is absent. Without keys the values stand at their ids."""
    found = np.int32(-1)
    if len(keys) == 0:
        if 0 <= key < len(values):
            found = values[key]
    else:
        mask = len(keys) - 1
        slot = (key * np.int64(SPREAD)) >> 32 & mask
        found = values[slot]
        while found >= 0 and keys[slot] != key:
            slot = (slot + 1) & mask
            found = values[slot]
    return found


@kernel("void(int64[::1], int32[::1], int64[::1], int32[::1])")
def insert_ids(keys, values, ids, given):  # type: ignore[no-untyped-def]
    mask = len(keys) - 1
    for index in range(len(ids)):
        slot = (ids[index] * np.int64(SPREAD)) >> 32 & mask
        while values[slot] >= 0 and keys[slot] != ids[index]:
            slot = (slot + 1) & mask
        keys[slot] = ids[index]
        values[slot] = given[index]


@kernel("void(int64[::1], int32[::1], int64[::1], int32[::1])")
def lookup_all(keys, values, ids, found):  # type: ignore[no-untyped-def]
    for index in range(len(ids)):
        found[index] = lookup(keys, values, ids[index])
