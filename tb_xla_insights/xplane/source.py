"""Where a capture's bytes come from: random reads of a local file, or of any URL that fsspec opens.

A file is never mapped: a map of a file that somebody truncates kills the process. Reads go into buffers of
our own, and `fingerprint` tells later reads of single ranges whether the file is still the one that was
decoded.
"""

from __future__ import annotations

import os
import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.errors import InputError

if TYPE_CHECKING:
    from typing import Self

Bytes = NDArray[np.uint8]

_MARKS = ("ETag", "etag", "md5Hash")
REMOTE_TIMES = ("LastModified", "last_modified", "mtime", "updated", "created")
"""Under which names file systems tell when a file was changed, the best first."""


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
            raise InputError(f"{path}: {_reason(error)}") from error
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        self.fingerprint = local_mark(status)

    def read_into(self, offset: int, buffer: Bytes) -> int:
        filled = 0
        try:
            while filled < len(buffer):
                count = os.preadv(self._descriptor, [buffer.data[filled:]], offset + filled)
                if count == 0:
                    break
                filled += count
        except OSError as error:
            raise InputError(f"{self.path}: byte {offset + filled}: {_reason(error)}") from error
        return filled

    def close(self) -> None:
        os.close(self._descriptor)


class _RemoteFile(Source):
    def __init__(self, url: str) -> None:
        import fsspec

        self.path = url
        try:
            self._system, self._path = fsspec.core.url_to_fs(url)
            info: dict[str, Any] = self._system.info(self._path)
        except Exception as error:  # each file system raises its own kinds
            raise InputError(f"{url}: {_reason(error)}") from error
        if info.get("type") == "directory":
            raise InputError(f"{url}: is a directory; name a .xplane.pb file")
        self.size = int(info["size"])
        self.fingerprint = remote_mark(info)

    def read_into(self, offset: int, buffer: Bytes) -> int:
        length = min(len(buffer), self.size - offset)
        if length <= 0:
            return 0
        try:
            data: bytes = self._system.cat_file(self._path, start=offset, end=offset + length)
        except Exception as error:
            raise InputError(f"{self.path}: byte {offset}: {_reason(error)}") from error
        buffer[: len(data)] = np.frombuffer(data, np.uint8)
        return len(data)

    def close(self) -> None:
        pass  # each read is a request of its own


def is_url(path: str) -> bool:
    """Whether a path is a URL that fsspec opens; `file://` URLs are local paths."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path) is not None and not path.startswith("file://")


def local_mark(status: os.stat_result) -> str:
    """Differs when a local file was replaced."""
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def remote_mark(info: Mapping[str, Any]) -> str:
    """The same of what fsspec says of a file: each file system has other names for what it knows."""
    return "-".join(str(info[key]) for key in ("size", *_MARKS, *REMOTE_TIMES) if key in info)


def open_source(path: str) -> Source:
    """Opens a local path or a URL (`gs://…`, `s3://…`, …). Raises InputError where that fails."""
    if is_url(path):
        return _RemoteFile(path)
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


def _reason(error: Exception) -> str:
    """One line for what an operating or file system said, with what to do."""
    if isinstance(error, FileNotFoundError):
        return "no such file; check the path"
    if isinstance(error, PermissionError):
        return "permission denied; make the file readable for this user"
    text = (
        error.strerror
        if isinstance(error, OSError) and error.strerror
        else str(error) or type(error).__name__
    )
    return f"cannot be read ({' '.join(text.split())}); try again or copy the file to a local disk"
