"""The chunks of a Riegeli/records file: where they begin, and their data as far as their hashes confirm them.

A file is divided into blocks of 64 KiB. Each begins with a header, wherever it falls into the chunk that it interrupts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tb_xla_insights.files.source import Source
from tb_xla_insights.xplane.riegeli.kernels import highway_hash

SIGNATURE = bytes.fromhex(
    "83af70d10d884a3f0000000000000000400000000000000091bac23c9287e1a9"
    "0000000000000000e19f13c0e9b1c37273000000000000000000000000000000"
)
"""The first bytes of every file: the header of the first block, and a chunk without data."""

_KEY = b"Riegeli/records\n" * 2
_BLOCK_BYTES = 1 << 16
_BLOCK_HEADER = struct.Struct("<QQQ")  # hash, distance back to the chunk's begin, distance to its end
_CHUNK_HEADER = struct.Struct(
    "<QQQQQ"
)  # hash, bytes of data, their hash, kind and number of records, decoded bytes
_USABLE_BYTES = _BLOCK_BYTES - _BLOCK_HEADER.size


@dataclass(frozen=True)
class Chunk:
    """A whole chunk that begins at byte `begin` of the file. `kind` is a letter, `r` for records."""

    begin: int
    kind: bytes
    decoded_size: int
    data: bytes


@dataclass(frozen=True)
class Lost:
    """A chunk at byte `begin` that the end of the file cuts (`is_cut`), or whose header or data are damaged."""

    begin: int
    is_cut: bool


def read_chunks(source: Source) -> Iterator[Chunk | Lost]:
    """The chunks of a file, in order; behind a damaged header, those that the next intact block header leads to."""
    begin: int | None = 0
    while begin is not None and begin < source.size:
        header = _read(source, begin, _CHUNK_HEADER.size)
        if header is None:
            yield Lost(begin, is_cut=True)
            return
        header_hash, size, data_hash, kind_and_count, decoded_size = _CHUNK_HEADER.unpack(header)
        if highway_hash(header[8:], _KEY) != header_hash:
            yield Lost(begin, is_cut=False)
            begin = _next_begin(source, begin)
            continue
        data = _read(source, begin, size, skipped=_CHUNK_HEADER.size)
        if data is None:
            yield Lost(begin, is_cut=True)
            return
        if highway_hash(data, _KEY) != data_hash:
            yield Lost(begin, is_cut=False)
        else:
            yield Chunk(begin, bytes([kind_and_count & 0xFF]), decoded_size, data)
        end = _end(begin, _CHUNK_HEADER.size + size)
        begin = max(end, _possible_boundary(begin + (kind_and_count >> 8)))


def _read(source: Source, begin: int, size: int, skipped: int = 0) -> bytes | None:
    """Reads `size` bytes of a chunk behind the first `skipped`, without block headers; None if the file ends before."""
    start, end = _end(begin, skipped) if skipped else begin, _end(begin, skipped + size)
    if end > source.size:
        return None
    content = source.read(start, end - start).tobytes()
    if len(content) < end - start:
        return None
    parts = []
    for block in range(start - start % _BLOCK_BYTES, end, _BLOCK_BYTES):
        first = block + _BLOCK_HEADER.size if block >= start else start
        parts.append(content[first - start : block + _BLOCK_BYTES - start])
    return b"".join(parts)


def _end(begin: int, size: int) -> int:
    """Where `size` bytes from `begin` on end, with the block headers between them."""
    headers = (size + (begin + _USABLE_BYTES - 1) % _BLOCK_BYTES) // _USABLE_BYTES
    return begin + size + headers * _BLOCK_HEADER.size


def _possible_boundary(position: int) -> int:
    """The position, or the first one behind the block header in which it lies, or directly after which."""
    offset = position % _BLOCK_BYTES
    return position - offset + _BLOCK_HEADER.size + 1 if 0 < offset <= _BLOCK_HEADER.size else position


def _next_begin(source: Source, begin: int) -> int | None:
    """Where a chunk begins behind a damaged one; None if no intact block header tells."""
    for block in range(begin - begin % _BLOCK_BYTES + _BLOCK_BYTES, source.size, _BLOCK_BYTES):
        header = source.read(block, _BLOCK_HEADER.size).tobytes()
        if len(header) == _BLOCK_HEADER.size:
            header_hash, before, after = _BLOCK_HEADER.unpack(header)
            if highway_hash(header[8:], _KEY) == header_hash:
                return block if before == 0 else block + max(after, _BLOCK_HEADER.size)
    return None
