"""Constants that the decoder and its kernels share."""

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Protobuf's wire types."""

DONE, MORE, FULL, BAD, UNKNOWN = 0, 1, 2, 3, 4
"""Why a kernel stopped: at its limit, at the window's end, with its output full, at an invalid byte, at an id that its
table lacks."""

PADDING = 32
"""Bytes after a window's content that kernels may read. Unless they are 0, a field that the window cuts may seem
invalid."""

INVALID_POSITION = 1 << 62
"""The position after an invalid field: beyond the end of every message, so that checks of limits reject it."""

NUMBER, REF, TEXT, DOUBLE, UNSIGNED = 0, 1, 2, 3, 4
"""The types of a stat's stored value: a number, a stat metadata id, a text's position and length in the window, the
bits of a double, the bits of a number from 2^63 on."""

TEXT_SHIFT = 24
MAX_TEXT_LENGTH = (1 << TEXT_SHIFT) - 1
"""A text's value packs its position in the window, shifted, and its length, which is capped at MAX_TEXT_LENGTH."""
