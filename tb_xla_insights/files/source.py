"""Where a capture's bytes come from: random reads of a local file, or of any URL that fsspec opens.

A file is never mapped: a map of a file that somebody truncates kills the process. Reads go into buffers of
our own, and `fingerprint` tells later reads of single ranges whether the file is still the one that was
decoded. A file that is written while it is read is told, as nobody knows which bytes are of which content.
"""

from __future__ import annotations

import os
import posixpath
import re
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

CHANGED_MESSAGE = "{}: the file changed while it was read; read it again once it is written"


class Source(ABC):
    """A file of known size that is read by ranges."""

    path: str
    size: int
    fingerprint: str

    @abstractmethod
    def read_into(self, offset: int, buffer: Bytes) -> int:
        """Fills `buffer` from `offset`; the number of bytes is less than its length where the file ends.
        Raises InputError."""

    def read(self, offset: int, length: int) -> Bytes:
        """The bytes from `offset`, fewer than `length` where the file ends. Raises InputError."""
        buffer = np.empty(max(0, min(length, self.size - offset)), np.uint8)
        return buffer[: self.read_into(offset, buffer)]

    def check(self) -> None:  # noqa: B027  a local file has nothing to add
        """Raises InputError where what was read is of several contents: a remote file was replaced meanwhile."""

    def keep(self, ranges: Iterable[tuple[int, int]]) -> None:  # noqa: B027  the system keeps local ones
        """Says which ranges (offset, length) will be read again, by whoever opens the file next."""

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
            self._descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise InputError(f"{path}: {reason(error)}") from error
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        self.fingerprint = local_fingerprint(status)
        self._written = _written(status)

    def read_into(self, offset: int, buffer: Bytes) -> int:
        filled = 0
        try:
            while filled < len(buffer):
                count = os.preadv(self._descriptor, [buffer.data[filled:]], offset + filled)
                if count == 0:
                    break
                filled += count
            written = _written(os.fstat(self._descriptor))
        except OSError as error:
            raise InputError(f"{self.path}: byte {offset + filled}: {reason(error)}") from error
        if written != self._written:  # what was read before is of another content
            raise InputError(CHANGED_MESSAGE.format(self.path))
        return filled

    def close(self) -> None:
        os.close(self._descriptor)


def is_url(path: str) -> bool:
    """Whether a path is a URL that fsspec opens; `file://` URLs are local paths."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path) is not None and not path.startswith("file://")


def local_fingerprint(status: os.stat_result) -> str:
    """Differs when a local file was replaced or written, even where it was given its size and time from before."""
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}-{status.st_ctime_ns}"


def _written(status: os.stat_result) -> tuple[int, int]:
    """Differs when an open file was written. One that was removed, or given another name, still is what it was."""
    return status.st_size, status.st_mtime_ns


def open_source(
    path: str,
    *,
    whole: bool = False,
    arrived: Callable[[int], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Source:
    """Opens a local path or a URL (`gs://…`, `s3://…`, …). Raises InputError where that fails.

    Of a remote file, which comes block by block: `whole` says that all of it will be read, `arrived` is told how many
    bytes have come, and once `stop` says so, reading what has not come raises InputError.
    """
    if is_url(path):
        from tb_xla_insights.files.remote import RemoteFile

        return RemoteFile(path, whole, arrived, stop)
    local = path.removeprefix("file://")
    if os.path.isdir(local):
        raise InputError(f"{path}: is a directory; name a .xplane.pb file")
    if os.path.exists(local) and not os.path.isfile(local):  # opening a pipe waits for one who writes into it
        raise InputError(f"{path}: is a pipe or a device; name a .xplane.pb file")
    return _LocalFile(local)


def file_names(directory: str) -> list[str]:
    """The names of the files in a local directory or below a URL. Raises what its file system raises."""
    if not is_url(directory):
        with os.scandir(directory.removeprefix("file://")) as entries:
            return [entry.name for entry in entries if entry.is_file()]
    import fsspec

    system, path = fsspec.core.url_to_fs(directory)
    return [posixpath.basename(it["name"]) for it in system.ls(path, detail=True) if it["type"] == "file"]
