"""What lies in a place: one way to ask local disks and whatever fsspec opens."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.xplane.source import REMOTE_TIMES, is_url, local_mark, remote_mark

SUFFIX = ".xplane.pb"
# Deeper than any logdir of a person; ends a walk through links that lead to ever new names.
_DEEPEST = 40
_YEAR_10000_NS = 253_402_300_800 * 10**9
_EXTRA = {"gs": "gcs", "gcs": "gcs", "s3": "s3", "s3a": "s3"}


@dataclass(frozen=True)
class FileInfo:
    """A file as its directory lists it. `mark` differs when its content was replaced, `modified_ns` may be 0."""

    path: str
    bytes: int
    modified_ns: int
    mark: str


def expand(path: str) -> str:
    """The place a user meant: `~` and `file://` taken away, no slash at the end."""
    if is_url(path):
        return path if path.endswith("://") else path.rstrip("/")
    local = os.path.expanduser(path.removeprefix("file://"))
    return local.rstrip("/") or "/" if local else local


def absolute(path: str) -> str:
    return path if is_url(path) else os.path.abspath(path)


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def kind(path: str) -> str | None:
    """`file`, `directory` or None where there is nothing. Raises InputError where the place cannot be asked."""
    if is_url(path):
        with _Remote(path) as remote:
            if remote.system.isdir(remote.path):
                return "directory"
            return "file" if remote.system.exists(remote.path) else None
    if os.path.isdir(path):
        return "directory"
    return "file" if os.path.lexists(path) else None


def file_info(path: str) -> FileInfo:
    """One file. Raises InputError where it cannot be asked."""
    if not is_url(path):
        return _local_info(path)
    with _Remote(path) as remote:
        return _remote_info(path, remote.system.info(remote.path))


def captures_in(directory: str) -> list[FileInfo]:
    """The captures that lie directly in a directory, by name. Raises InputError."""
    if not is_url(directory):
        try:
            names = os.listdir(directory)
        except OSError as error:
            raise InputError(f"{directory}: {reason(error)}") from error
        captures = (name for name in sorted(names) if _is_capture(name))
        return [_local_info(f"{directory}/{name}") for name in captures]
    with _Remote(directory) as remote:
        found = remote.system.ls(remote.path, detail=True)
        paths = {remote.full(info["name"]): info for info in found}
    return [_remote_info(path, info) for path, info in sorted(paths.items()) if _is_capture(path)]


def captures_under(root: str) -> Iterator[FileInfo]:
    """Every capture in a `plugins/profile/<session>` directory at any depth under a place. Raises InputError."""
    if is_url(root):
        with _Remote(root) as remote:
            # One listing of everything: on a bucket that is one request per thousand names, whatever their depth.
            found = {
                remote.full(path): info for path, info in remote.system.find(remote.path, detail=True).items()
            }
        for path in sorted(found):
            if _is_capture(path) and _is_session_directory(parent(path)):
                yield _remote_info(path, found[path])
        return
    if not os.path.isdir(root):
        return
    yield from _walk(root, frozenset(), 0)


def reason(error: Exception) -> str:
    """One line for what a file system said, with what to do."""
    if isinstance(error, FileNotFoundError):
        return "no such file or directory; check the path"
    if isinstance(error, PermissionError):
        return "permission denied; make it readable for this user"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"cannot be read ({' '.join(text.split()) or type(error).__name__}); check the path and the access to it"


def _walk(directory: str, above: frozenset[tuple[int, int]], depth: int) -> Iterator[FileInfo]:
    """Links are followed, as people join runs by links; one that leads back to a directory above it is not."""
    try:
        status = os.stat(directory)
        names = sorted(entry.name for entry in os.scandir(directory) if _is_directory(entry))
    except OSError:
        return  # a directory that this user may not enter hides its sessions, not those beside it
    here = (status.st_dev, status.st_ino)
    if here in above or depth > _DEEPEST:
        return
    if _is_session_directory(directory):
        yield from captures_in(directory)
        return
    for name in names:
        yield from _walk(f"{directory.rstrip('/')}/{name}", above | {here}, depth + 1)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """A link that leads to itself, or to where this user may not go, is none; what lies beside it still counts."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_capture(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(SUFFIX) and name != SUFFIX


def _is_session_directory(directory: str) -> bool:
    return absolute(directory).split("/")[-3:-1] == ["plugins", "profile"]


def _local_info(path: str) -> FileInfo:
    try:
        status = os.stat(path)
    except OSError:  # a broken link is listed, so that reading it tells what is wrong
        return FileInfo(path, 0, 0, "")
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    return FileInfo(path, size, _in_calendar(status.st_mtime_ns), local_mark(status))


def _remote_info(path: str, info: dict[str, Any]) -> FileInfo:
    times = (info[key] for key in REMOTE_TIMES if info.get(key) is not None)
    return FileInfo(path, int(info.get("size") or 0), _epoch_ns(next(times, 0)), remote_mark(info))


def _epoch_ns(value: object) -> int:
    """Epoch nanoseconds of what a file system calls a modification time; 0 where it says nothing of use."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return 0
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return int(aware.timestamp() * 1e6) * 1000
    return _in_calendar(value * 1e9) if isinstance(value, int | float) else 0


def _in_calendar(unix_ns: float) -> int:
    """A modification time that is a date, else 0: some file systems keep any number, which nobody could be told."""
    return int(unix_ns) if 0 < unix_ns < _YEAR_10000_NS else 0


class _Remote:
    """A URL's file system and path in it; what goes wrong inside `with` becomes an InputError of one line."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __enter__(self) -> _Remote:
        try:
            import fsspec

            self.system, self.path = fsspec.core.url_to_fs(self.url)
            self.system.invalidate_cache()
        except ImportError as error:
            extra = _EXTRA.get(self.url.split("://")[0])
            remedy = f'pip install "tb-xla-insights[{extra}]"' if extra else " ".join(str(error).split())
            raise InputError(f"{self.url}: nothing installed opens this kind of URL; {remedy}") from error
        except Exception as error:  # each file system raises its own kinds
            raise InputError(f"{self.url}: {reason(error)}") from error
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            raise InputError(f"{self.url}: {reason(error)}") from error

    def full(self, path: str) -> str:
        """The URL of a path that the file system gave."""
        return str(self.system.unstrip_protocol(path))
