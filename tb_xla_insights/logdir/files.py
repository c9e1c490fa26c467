"""Lists files and captures of local disks and of every store that fsspec opens."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.local import local_fingerprint
from tb_xla_insights.files.open import is_url
from tb_xla_insights.files.paths import decoded
from tb_xla_insights.files.reasons import reason
from tb_xla_insights.files.remote import MODIFIED_TIME_KEYS, remote_fingerprint
from tb_xla_insights.logdir.paths import MAX_DEPTH, is_capture, is_session_directory, parent
from tb_xla_insights.logdir.remote import Remote

_YEAR_10000_NS = 253_402_300_800 * 10**9


@dataclass(frozen=True)
class FileInfo:
    """A file as its directory lists it. `fingerprint` changes when the content is replaced; `modified_ns` is 0 where
    unknown."""

    path: str
    bytes: int
    modified_ns: int
    fingerprint: str


def path_kind(path: str) -> str | None:
    """`file`, `directory`, or None if nothing exists at the path. Raises InputError if it cannot be queried."""
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
    """Size, modification time and fingerprint of one file. Raises InputError if the store cannot be queried."""
    if not is_url(path):
        return _local_info(path)
    with Remote(path) as remote:
        return _remote_info(path, remote.system.info(remote.path))


@dataclass(frozen=True)
class PathContents:
    """What a path is (a capture, the directory of a session, or a logdir) and its captures, by name; those of a logdir
    are in `plugins/profile/<session>` directories at any depth."""

    kind: Literal["capture", "session", "logdir"]
    captures: list[FileInfo]
    unreadable: tuple[str, ...] = ()
    """Directories that may hold sessions and that this user may not read."""


def inspect_path(path: str) -> PathContents | None:
    """What the path holds, None if nothing exists there; a URL is listed once. Raises InputError."""
    if not is_url(path):
        kind = path_kind(path)
        if kind == "file":
            return PathContents("capture", [_local_info(path)])
        if kind is None:
            return None
        direct = captures_in(path)
        if direct:
            return PathContents("session", direct)
        return captures_under(path)
    with Remote(path) as remote:
        if is_capture(decoded(path)):
            info = remote.info()
            return PathContents("capture", [_remote_info(path, info)]) if info else None
        infos = remote.list_files()
        if infos and list(infos) != [path]:
            captures = [_remote_info(file, infos[file]) for file in sorted(infos) if is_capture(file)]
            direct = [capture for capture in captures if parent(capture.path) == path]
            if direct:
                return PathContents("session", direct)
            in_sessions = [capture for capture in captures if is_session_directory(parent(capture.path))]
            return PathContents("logdir", in_sessions, tuple(remote.unreadable))
        info = remote.info()
        is_html_listing = info is not None and info.get("mimetype") == "text/html"
        if info is None or is_html_listing or info.get("type") == "directory":
            return PathContents("logdir", [], tuple(remote.unreadable)) if info else None
        return PathContents("capture", [_remote_info(path, info)])


def captures_under(root: str) -> PathContents:
    """A logdir's captures: all in `plugins/profile/<session>` directories at any depth; none if it does not exist.
    Raises InputError."""
    if not is_url(root):
        unreadable: list[str] = []
        return PathContents("logdir", list(_walk(root, frozenset(), 0, unreadable)), tuple(unreadable))
    with Remote(root) as remote:
        infos = remote.list_files() or {}
    captures = [
        _remote_info(path, infos[path])
        for path in sorted(infos)
        if is_capture(path) and is_session_directory(parent(path))
    ]
    return PathContents("logdir", captures, tuple(remote.unreadable))


def captures_in(directory: str) -> list[FileInfo]:
    """The captures directly in a local directory, by name. Raises InputError."""
    try:
        names = os.listdir(directory)
    except OSError as error:
        raise InputError(f"{directory}: {reason(error, listing=True)}") from error
    return [_local_info(f"{directory}/{name}") for name in sorted(names) if is_capture(name)]


def _walk(
    directory: str, ancestors: frozenset[tuple[int, int]], depth: int, unreadable: list[str]
) -> Iterator[FileInfo]:
    """Yields the captures of all sessions below a directory, and adds directories without permission to `unreadable`:
    each hides its own sessions only. Follows links, as users group sessions by links, except those that lead back to an
    ancestor."""
    try:
        status = os.stat(directory)
        names = sorted(entry.name for entry in os.scandir(directory) if _is_directory(entry))
    except PermissionError:
        unreadable.append(directory)
        return
    except OSError:  # removed meanwhile
        return
    identity = (status.st_dev, status.st_ino)
    if identity in ancestors or depth > MAX_DEPTH:
        return
    if is_session_directory(directory):
        with suppress(InputError):  # removed meanwhile
            yield from captures_in(directory)
        return
    for name in names:
        yield from _walk(f"{directory.rstrip('/')}/{name}", ancestors | {identity}, depth + 1, unreadable)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory or a link to one; False for links that cannot be followed."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _local_info(path: str) -> FileInfo:
    try:
        status = os.stat(path)
    except OSError:  # a broken link is listed, so that reading it reports the error
        return FileInfo(path, 0, 0, "")
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    return FileInfo(path, size, _valid_time_ns(status.st_mtime_ns), local_fingerprint(status))


def _remote_info(path: str, info: dict[str, Any]) -> FileInfo:
    times = (info[key] for key in MODIFIED_TIME_KEYS if info.get(key) is not None)
    return FileInfo(path, int(info.get("size") or 0), _epoch_ns(next(times, 0)), remote_fingerprint(info))


def _epoch_ns(value: object) -> int:
    """A file system's modification time in epoch nanoseconds; 0 if it is missing or unreadable."""
    if isinstance(value, str):
        from email.utils import parsedate_to_datetime  # imports sockets and more, which few files need

        # HTTP dates have the format of mail dates.
        parse = parsedate_to_datetime if "," in value else datetime.fromisoformat
        try:
            value = parse(value.replace("Z", "+00:00"))
        except ValueError:
            return 0
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return _valid_time_ns(int(aware.timestamp() * 1e6) * 1000)
    return _valid_time_ns(value * 1e9) if isinstance(value, int | float) else 0


def _valid_time_ns(unix_ns: float) -> int:
    """A modification time before the year 10000, else 0: some file systems store numbers that are no date."""
    return int(unix_ns) if 0 < unix_ns < _YEAR_10000_NS else 0
