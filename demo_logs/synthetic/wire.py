"""The part of the protocol buffer wire format that writing a profile needs.

A message is a sequence of fields; each is a tag (field number and wire type) and a value. Building the bytes directly
fixes the order of fields, and so the file, on every machine, and needs no schema and no generated code.
"""

import struct

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_TWO_TO_64 = 1 << 64


def varint(value: int) -> bytes:
    """Seven bits per byte, lowest first. Negative numbers are written as their 64-bit two's complement."""
    if not -(1 << 63) <= value < _TWO_TO_64:
        raise OverflowError(f"{value} does not fit 64 bits")
    value %= _TWO_TO_64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """An int32, int64, uint64 or bool field, written even when it is zero."""
    return varint(field << 3 | _VARINT) + varint(value)


def optional_integer(field: int, value: int) -> bytes:
    """An integer field, left out when zero, as proto3 does outside of a oneof."""
    return integer(field, value) if value else b""


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def block(field: int, value: bytes | str) -> bytes:
    """A string, bytes or message field, written even when it is empty."""
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | _BYTES) + varint(len(data)) + data


def optional_block(field: int, value: bytes | str) -> bytes:
    return block(field, value) if value else b""


def packed(field: int, values: list[int]) -> bytes:
    """A repeated integer field in the packed form that proto3 writers use."""
    return optional_block(field, b"".join(map(varint, values)))
