"""Random reads of a local file, or of any URL that fsspec opens.

Files are never mapped, since truncating a mapped file kills the process; reads copy into buffers. `fingerprint` shows
later reads whether the file is still the one that was decoded. A file that changes while it is read is an error, since
its bytes may come from different versions of the file.
"""

from __future__ import annotations

import os
import posixpath
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.reasons import reason

if TYPE_CHECKING:
    from typing import Self

Bytes = NDArray[np.uint8]

CHANGED_MESSAGE = "{}: the file changed while it was read; read it again once writing has finished"
STOPPED_MESSAGE = "{}: not read, because reading was stopped; reload the session to read it"

_BINARY = getattr(os, "O_BINARY", 0)
"""Without this flag, Windows translates line ends."""


class Source(ABC):
    """A file of known size that is read by ranges."""

    path: str
    size: int
    fingerprint: str

    @abstractmethod
    def read_into(self, offset: int, buffer: Bytes) -> int:
        """Fills `buffer` from `offset`. Returns the number of bytes, less than the buffer's length at the end of the
        file. Raises InputError."""

    def read(self, offset: int, length: int) -> Bytes:
        """The bytes from `offset`, fewer than `length` at the end of the file. Raises InputError."""
        buffer = np.empty(max(0, min(length, self.size - offset)), np.uint8)
        return buffer[: self.read_into(offset, buffer)]

    def check_unchanged(self) -> None:  # noqa: B027  local files are checked at each read
        """Raises InputError if a remote file was replaced while it was read."""

    def cache_ranges(self, ranges: Iterable[tuple[int, int]]) -> None:  # noqa: B027  the system caches local files
        """Caches ranges (offset, length) for later readers of the file."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _LocalFile(Source):
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


def is_url(path: str) -> bool:
    """Whether a path is a URL that fsspec opens; `file://` URLs are local paths."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path) is not None and not path.startswith("file://")


def local_fingerprint(status: os.stat_result) -> str:
    """A fingerprint that changes when a local file is replaced or written, even if its size and time are restored (on
    Windows, only if the file is replaced)."""
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}-{status.st_ctime_ns}"


def _modified(status: os.stat_result) -> tuple[int, int]:
    """A value that changes when an open file is written, but not when it is removed or renamed."""
    return status.st_size, status.st_mtime_ns


def open_source(
    path: str,
    *,
    whole: bool = False,
    on_bytes: Callable[[int], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Source:
    """Opens a local path or a URL (`gs://…`, `s3://…`, …). Raises InputError if that fails.

    A remote file is fetched block by block: `whole` prefetches all of it, `on_bytes` is called with the number of bytes
    that have arrived, and once `should_stop` returns True, reading bytes that have not arrived raises InputError.
    """
    if is_url(path):
        from tb_xla_insights.files.remote import RemoteFile

        return RemoteFile(path, whole, on_bytes, should_stop)
    local = path.removeprefix("file://")
    if os.path.isdir(local):
        raise InputError(f"{path}: is a directory; specify a .xplane.pb file")
    if os.path.exists(local) and not os.path.isfile(local):  # opening a pipe would wait for its writer
        raise InputError(f"{path}: is a pipe or a device; specify a .xplane.pb file")
    return _LocalFile(local)


def file_names(directory: str) -> list[str]:
    """The names of the files in a local directory or below a URL. Raises the exceptions of its file system."""
    if not is_url(directory):
        with os.scandir(directory.removeprefix("file://")) as entries:
            # Unlike `entry.is_file()`, this does not raise for a link that cannot be followed.
            return [entry.name for entry in entries if os.path.isfile(entry.path)]
    import fsspec

    system, path = fsspec.core.url_to_fs(directory)
    return [
        posixpath.basename(entry["name"]) for entry in system.ls(path, detail=True) if entry["type"] == "file"
    ]
