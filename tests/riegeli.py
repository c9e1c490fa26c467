"""Writes Riegeli/records files as profilers do, by the format's specification and without the package's code."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

Compress = Callable[[bytes], bytes]

_BLOCK, _HEADER = 1 << 16, 24
_WORD = 2**64 - 1
_KEY: tuple[int, ...] = struct.unpack("<4Q", b"Riegeli/records\n" * 2)
_START = (
    (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3),
    (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377),
)


def chunked(records: Iterable[bytes], compress: Compress | None = None) -> bytes:
    """A file with one chunk per record, compressed with Brotli if a function for that is given."""
    content = bytearray()
    append_chunk(content, b"s")
    for record in records:
        append_chunk(content, b"r", simple(record, compress), 1, len(record))
    pad(content)
    return bytes(content)


def top_level_fields(capture: bytes) -> list[bytes]:
    """The parts of a capture that a profiler may write as records: its planes, errors and host names."""
    parts, start = [], 0
    while start < len(capture):
        position, length, shift = start + 1, 0, 0  # the numbers of all fields have one byte
        while True:
            byte = capture[position]
            length |= (byte & 127) << shift
            position, shift = position + 1, shift + 7
            if byte < 128:
                break
        parts.append(capture[start : position + length])
        start = position + length
    return parts


def simple(record: bytes, compress: Compress | None = None) -> bytes:
    """The data of a chunk that holds one record."""
    if compress is None:
        sizes = varint(len(record))
        return b"\0" + varint(len(sizes)) + sizes + record
    size = varint(len(record))
    sizes = varint(len(size)) + compress(size)
    return b"b" + varint(len(sizes)) + sizes + varint(len(record)) + compress(record)


def append_chunk(
    content: bytearray, kind: bytes, data: bytes = b"", records: int = 0, decoded_size: int = 0
) -> None:
    """Appends a chunk, with the headers of the blocks that begin in it."""
    rest = struct.pack("<QQ", len(data), highway_hash(data)) + kind + records.to_bytes(7, "little")
    rest += decoded_size.to_bytes(8, "little")
    chunk = struct.pack("<Q", highway_hash(rest)) + rest + data
    begin, end, left = len(content), len(content), len(chunk)
    while left:  # first the end, which block headers contain
        end += _HEADER * (end % _BLOCK == 0)
        part = min(left, _BLOCK - end % _BLOCK)
        end, left = end + part, left - part
    end = max(end, begin + records)
    while chunk:
        if len(content) % _BLOCK == 0:
            distances = struct.pack("<QQ", len(content) - begin, end - len(content))
            content += struct.pack("<Q", highway_hash(distances)) + distances
        part = _BLOCK - len(content) % _BLOCK
        content += chunk[:part]
        chunk = chunk[part:]
    content += bytes(end - len(content))


def pad(content: bytearray) -> None:
    """Fills the file up to the end of a block, as profilers have it filled."""
    if left := -len(content) % _BLOCK:
        if left < 40:  # no room for a chunk's header: the chunk extends to the end of the next block
            left += _BLOCK - _HEADER
        append_chunk(content, b"p", bytes(left - 40))


def varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def highway_hash(data: bytes) -> int:
    """HighwayHash-64 with the format's key, on Python's integers."""
    mul: list[list[int]] = [list(words) for words in _START]
    v: list[list[int]] = [[word ^ key for word, key in zip(_START[0], _KEY, strict=True)]]
    v.append([word ^ _rotated(key, 32, 64) for word, key in zip(_START[1], _KEY, strict=True)])

    def update(packet: bytes) -> None:
        for lane, word in enumerate(struct.unpack("<4Q", packet)):
            v[1][lane] = v[1][lane] + mul[0][lane] + word & _WORD
            mul[0][lane] ^= (v[1][lane] & 0xFFFFFFFF) * (v[0][lane] >> 32)
            v[0][lane] = v[0][lane] + mul[1][lane] & _WORD
            mul[1][lane] ^= (v[0][lane] & 0xFFFFFFFF) * (v[1][lane] >> 32)
        for target, source in ((0, 1), (1, 0)):
            packed = struct.pack("<4Q", *v[source])
            order = (3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7)
            mixed = bytes(packed[pair + place] for pair in (0, 16) for place in order)
            added = zip(v[target], struct.unpack("<4Q", mixed), strict=True)
            v[target] = [word + other & _WORD for word, other in added]

    whole = len(data) & ~31
    for position in range(0, whole, 32):
        update(data[position : position + 32])
    if rest := data[whole:]:
        count = len(rest)
        v[0] = [word + (count << 32) + count & _WORD for word in v[0]]
        v[1] = [
            _rotated(word >> 32, count, 32) << 32 | _rotated(word & 0xFFFFFFFF, count, 32) for word in v[1]
        ]
        words, odd = rest[: count & ~3], rest[count & ~3 :]
        packet = words.ljust(32, b"\0")
        if count & 16:
            packet = packet[:28] + rest[-4:]
        elif odd:
            packet = packet[:16] + bytes([odd[0], odd[len(odd) // 2], odd[-1]]) + bytes(13)
        update(packet)
    for _ in range(4):
        update(struct.pack("<4Q", *(_rotated(v[0][lane], 32, 64) for lane in (2, 3, 0, 1))))
    return v[0][0] + v[1][0] + mul[0][0] + mul[1][0] & _WORD


def _rotated(value: int, by: int, bits: int) -> int:
    return (value << by | value >> bits - by) & (1 << bits) - 1
