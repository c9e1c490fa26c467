"""The records of a Riegeli file as one file: each is a part of a message, and protocol buffers are merged by writing
them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.files.source import STOPPED_MESSAGE, Bytes, Source
from tb_xla_insights.xplane.file_format import describe_wrong_format
from tb_xla_insights.xplane.riegeli.chunks import SIGNATURE, Chunk, Lost, read_chunks

MAX_EXPANSION = 1032
"""A chunk whose header claims to expand to more than this, the limit of Deflate, is refused before memory is reserved.
Real captures expand up to 140 times."""

_RECORDS, _TRANSPOSED = b"r", b"t"
_WITHOUT_RECORDS = (b"s", b"m", b"p")
"""Signature, metadata and padding."""
_COMPRESSIONS = {b"z": "Zstandard", b"s": "Snappy"}


class RiegeliSource(Source):
    """The concatenated records of an open file, which are decoded at once. Closes the file when it is closed."""

    def __init__(self, file: Source, should_stop: Callable[[], bool] = lambda: False) -> None:
        self._file = file
        self.path, self.fingerprint = file.path, file.fingerprint
        head = file.read(0, len(SIGNATURE)).tobytes()
        if head != SIGNATURE[: len(head)]:
            message = (
                "byte 0: not a Riegeli/records file; rename it to *.xplane.pb if it is a protocol buffer"
            )
            raise InputError(f"{self.path}: {describe_wrong_format(file) or message}")
        content = bytearray()
        lost: list[Lost] = []
        for chunk in read_chunks(file):
            if should_stop():
                raise InputError(STOPPED_MESSAGE.format(self.path))
            if isinstance(chunk, Lost):
                lost.append(chunk)
            elif chunk.kind not in _WITHOUT_RECORDS:
                try:
                    content += _records(chunk)
                except _InvalidError:
                    lost.append(Lost(chunk.begin, is_cut=False))
                except _UnreadableError as error:
                    raise InputError(f"{self.path}: byte {chunk.begin}: {error}") from None
        self.diagnostics = _diagnostics(lost, file.size)
        if file.size and not content:
            reason = self.diagnostics[0].message if lost else "no records; capture again"
            raise InputError(f"{self.path}: nothing can be read: {reason}")
        self._content = np.frombuffer(content, np.uint8)
        self.size = len(self._content)

    @property
    def stored_bytes(self) -> int:
        return self._file.size

    def read_into(self, offset: int, buffer: Bytes) -> int:
        part = self._content[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        return len(part)

    def check_unchanged(self) -> None:
        self._file.check_unchanged()

    def cache_ranges(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Caches the whole file if any range is wanted: later readers decode all of it."""
        if any(True for _ in ranges):
            self._file.cache_ranges([(0, self._file.size)])

    def close(self) -> None:
        self._file.close()


class _InvalidError(Exception):
    """The data of a chunk contradict themselves, although their hash is right."""


class _UnreadableError(Exception):
    """A chunk whose format or compression cannot be read here; the message says what to do."""


def _records(chunk: Chunk) -> bytes:
    """The records of a chunk, one after the other."""
    if chunk.kind == _TRANSPOSED:
        raise _UnreadableError("records are transposed, which is not supported; write them without transpose")
    if chunk.kind != _RECORDS:
        raise _UnreadableError(f"a chunk of the unknown type {chunk.kind!r}; update XLA Insights")
    compression = chunk.data[:1]
    sizes_size, position = _varint(chunk.data, 1)
    position += sizes_size
    size = chunk.decoded_size
    if compression == b"\0":
        content = chunk.data[position:]
    elif compression == b"b":
        claimed, position = _varint(chunk.data, position)
        if claimed != size or size > MAX_EXPANSION * len(chunk.data):
            raise _InvalidError
        content = _decompress(chunk.data[position:], size)
    else:
        name = _COMPRESSIONS.get(compression, repr(compression))
        raise _UnreadableError(
            f"records are compressed with {name}, which is not supported; write them with Brotli"
        )
    if len(content) != size:
        raise _InvalidError
    return content


def _decompress(content: bytes, size: int) -> bytes:
    """Decompresses Brotli; stops as soon as there are more than `size` bytes."""
    try:
        import brotli
    except ImportError:
        brotli = None
    if not hasattr(getattr(brotli, "Decompressor", None), "can_accept_more_data"):
        raise _UnreadableError("records are compressed with Brotli; run pip install 'brotli>=1.2'")
    decompressor: Any = brotli.Decompressor()
    try:
        decoded: bytes = decompressor.process(content, output_buffer_limit=size + 1)
    except brotli.error:
        raise _InvalidError from None
    if not decompressor.is_finished():
        raise _InvalidError
    return decoded


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """The varint at a position, and the position behind it."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            break
        value |= (data[position] & 0x7F) << shift
        position += 1
        if data[position - 1] < 0x80:
            return value, position
    raise _InvalidError


def _diagnostics(lost: list[Lost], size: int) -> list[Diagnostic]:
    """What was lost, in one line for a cut file, and in one for damaged chunks."""
    damaged = [chunk.begin for chunk in lost if not chunk.is_cut]
    diagnostics = []
    if damaged:
        text = (
            f"Byte {damaged[0]} is invalid: the records of the chunk there are lost"
            if len(damaged) == 1
            else f"{len(damaged)} chunks of records are invalid and lost, the first at byte {damaged[0]}"
        )
        message = f"{text}; copy the file again, or capture again."
        diagnostics.append(Diagnostic("corrupt_file", "warning", message, variant="invalid chunks"))
    if len(damaged) < len(lost):
        text = f"File ends early, at byte {size}, in records that begin at byte {lost[-1].begin} and are lost"
        message = f"{text}; copy it again if it was still being written."
        diagnostics.append(Diagnostic("truncated_file", "warning", message, variant="ends in records"))
    return diagnostics
