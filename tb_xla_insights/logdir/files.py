"""What lies in a place: one way to ask local disks and whatever fsspec opens."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.reasons import reason
from tb_xla_insights.files.remote import MODIFIED_TIME_KEYS, remote_fingerprint
from tb_xla_insights.files.source import is_url, local_fingerprint
from tb_xla_insights.logdir.paths import DEEPEST, is_capture, is_session_directory, parent
from tb_xla_insights.logdir.remote import Remote

_YEAR_10000_NS = 253_402_300_800 * 10**9


@dataclass(frozen=True)
class FileInfo:
    """A file as its directory lists it. `mark` differs when its content was replaced, `modified_ns` may be 0."""

    path: str
    bytes: int
    modified_ns: int
    mark: str


def kind(path: str) -> str | None:
    """`file`, `directory` or None where there is nothing. Raises InputError where the place cannot be asked."""
    if is_url(path):
        with Remote(path) as remote:
            info = remote.info()
        if info is None:
            return None
        return "directory" if info.get("type") == "directory" else "file"
    if os.path.isdir(path):
        return "directory"
    return "file" if os.path.lexists(path) else None


def file_info(path: str) -> FileInfo:
    """One file. Raises InputError where it cannot be asked."""
    if not is_url(path):
        return _local_info(path)
    with Remote(path) as remote:
        return _remote_info(path, remote.system.info(remote.path))


@dataclass(frozen=True)
class Found:
    """What a place is: a capture, the directory of a session's captures, or a logdir, whose captures are those in
    `plugins/profile/<session>` directories at any depth; and the captures, by name."""

    kind: Literal["capture", "session", "logdir"]
    captures: list[FileInfo]


def find(place: str) -> Found | None:
    """What lies in a place, None where there is nothing; a remote one is listed once. Raises InputError."""
    if not is_url(place):
        what = kind(place)
        if what == "file":
            return Found("capture", [_local_info(place)])
        if what is None:
            return None
        direct = captures_in(place)
        return Found("session", direct) if direct else Found("logdir", list(_walk(place, frozenset(), 0)))
    with Remote(place) as remote:
        if is_capture(place):
            info = remote.info()
            return Found("capture", [_remote_info(place, info)]) if info else None
        listed = remote.listed()
        if listed and list(listed) != [place]:
            captures = [_remote_info(path, listed[path]) for path in sorted(listed) if is_capture(path)]
            direct = [capture for capture in captures if parent(capture.path) == place]
            inside = [capture for capture in captures if is_session_directory(parent(capture.path))]
            return Found("session", direct) if direct else Found("logdir", inside)
        info = remote.info()
        is_page = info is not None and info.get("mimetype") == "text/html"
        if info is None or is_page or info.get("type") == "directory":
            return Found("logdir", []) if info else None
        return Found("capture", [_remote_info(place, info)])


def captures_under(root: str) -> list[FileInfo]:
    """Every capture in a `plugins/profile/<session>` directory at any depth under a place; none where nothing is.
    Raises InputError."""
    if not is_url(root):
        return list(_walk(root, frozenset(), 0))
    with Remote(root) as remote:
        listed = remote.listed() or {}
    return [
        _remote_info(path, listed[path])
        for path in sorted(listed)
        if is_capture(path) and is_session_directory(parent(path))
    ]


def captures_in(directory: str) -> list[FileInfo]:
    """The captures that lie directly in a local directory, by name. Raises InputError."""
    try:
        names = os.listdir(directory)
    except OSError as error:
        raise InputError(f"{directory}: {reason(error, listing=True)}") from error
    return [_local_info(f"{directory}/{name}") for name in sorted(names) if is_capture(name)]


def _walk(directory: str, above: frozenset[tuple[int, int]], depth: int) -> Iterator[FileInfo]:
    """Links are followed, as people join runs by links; one that leads back to a directory above it is not."""
    try:
        status = os.stat(directory)
        names = sorted(entry.name for entry in os.scandir(directory) if _is_directory(entry))
    except OSError:
        return  # a directory that this user may not enter hides its sessions, not those beside it
    here = (status.st_dev, status.st_ino)
    if here in above or depth > DEEPEST:
        return
    if is_session_directory(directory):
        with suppress(InputError):  # removed just now
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


def _local_info(path: str) -> FileInfo:
    try:
        status = os.stat(path)
    except OSError:  # a broken link is listed, so that reading it tells what is wrong
        return FileInfo(path, 0, 0, "")
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    return FileInfo(path, size, _in_calendar(status.st_mtime_ns), local_fingerprint(status))


def _remote_info(path: str, info: dict[str, Any]) -> FileInfo:
    times = (info[key] for key in MODIFIED_TIME_KEYS if info.get(key) is not None)
    return FileInfo(path, int(info.get("size") or 0), _epoch_ns(next(times, 0)), remote_fingerprint(info))


def _epoch_ns(value: object) -> int:
    """Epoch nanoseconds of what a file system calls a modification time; 0 where it says nothing of use."""
    if isinstance(value, str):
        from email.utils import parsedate_to_datetime  # with sockets and more, which few files need

        # HTTP writes dates as mail does.
        read = parsedate_to_datetime if "," in value else datetime.fromisoformat
        try:
            value = read(value.replace("Z", "+00:00"))
        except ValueError:
            return 0
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return int(aware.timestamp() * 1e6) * 1000
    return _in_calendar(value * 1e9) if isinstance(value, int | float) else 0


def _in_calendar(unix_ns: float) -> int:
    """A modification time that is a date, else 0: some file systems keep any number, which nobody could be told."""
    return int(unix_ns) if 0 < unix_ns < _YEAR_10000_NS else 0
