"""A file on disk, read by ranges. It is never mapped, since truncating a mapped file kills the process; reads copy into
buffers."""

from __future__ import annotations

import os
import threading

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.reasons import reason
from tb_xla_insights.files.source import CHANGED_MESSAGE, Bytes, Source

_BINARY = getattr(os, "O_BINARY", 0)
"""Without this flag, Windows translates line ends."""


class LocalFile(Source):
    """A file on disk, see `open_source`."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY | _BINARY)
        except OSError as error:
            raise InputError(f"{path}: {reason(error)}") from error
        self._position_lock = threading.Lock()
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        self.fingerprint = local_fingerprint(status)
        self._modified = _modified(status)

    def read_into(self, offset: int, buffer: Bytes) -> int:
        filled = 0
        try:
            while filled < len(buffer):
                count = self._read_at(offset + filled, buffer.data[filled:])
                if count == 0:
                    break
                filled += count
            modified = _modified(os.fstat(self._descriptor))
        except OSError as error:
            raise InputError(f"{self.path}: byte {offset + filled}: {reason(error)}") from error
        if modified != self._modified:  # earlier reads returned other content
            raise InputError(CHANGED_MESSAGE.format(self.path))
        return filled

    def _read_at(self, offset: int, buffer: memoryview) -> int:
        """Reads once from `offset`, at most the buffer's length. Returns the number of bytes, 0 at the end of the
        file."""
        if hasattr(os, "preadv"):
            return os.preadv(self._descriptor, [buffer], offset)
        with self._position_lock:  # Windows reads only from the file's position, which all threads share
            os.lseek(self._descriptor, offset, os.SEEK_SET)
            data = os.read(self._descriptor, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        os.close(self._descriptor)


def local_fingerprint(status: os.stat_result) -> str:
    """A fingerprint that changes when a local file is replaced or written, even if its size and time are restored (on
    Windows, only if the file is replaced)."""
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}-{status.st_ctime_ns}"


def _modified(status: os.stat_result) -> tuple[int, int]:
    """A value that changes when an open file is written, but not when it is removed or renamed."""
    return status.st_size, status.st_mtime_ns
