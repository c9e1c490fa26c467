"""Numbers that the decoder and its kernels share."""

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Protobuf's wire types."""

DONE, MORE, FULL, BAD, UNKNOWN = 0, 1, 2, 3, 4
"""How a kernel stopped: at its limit, at the window's end, with its output full, at a byte that cannot be, at an id
that its table lacks."""

PADDING = 32
"""Bytes behind a window's content that may be read, and count for nothing."""

NEVER = 1 << 62
"""A position behind all others."""

NUMBER, REF, TEXT, DOUBLE, UNSIGNED = 0, 1, 2, 3, 4
"""What a stat's stored value is: a number, a stat metadata id, a place and length in the window, the bits of a double,
those of a number from 2^63 on."""

TEXT_SHIFT = 24
TEXT_LONGEST = (1 << TEXT_SHIFT) - 1
"""The value of a text is its place in the window, shifted, and its length, of which so much is told."""
