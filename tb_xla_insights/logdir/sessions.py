"""Finds the sessions under a logdir and names them as the stock profile tab does."""

from __future__ import annotations

import os
import posixpath
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.open import is_url
from tb_xla_insights.files.paths import absolute, decoded
from tb_xla_insights.logdir import files, paths
from tb_xla_insights.logdir.files import FileInfo
from tb_xla_insights.logdir.paths import SUFFIX, host_of
from tb_xla_insights.text.host_order import natural_key


@dataclass(frozen=True)
class Root:
    """A directory or URL to search; the names of its sessions start with `group` if that is not empty."""

    path: str
    group: str = ""


@dataclass(frozen=True)
class HostFile:
    """One host's capture: the file's name without its suffix, and the file."""

    name: str
    file: FileInfo


@dataclass(frozen=True)
class SessionFiles:
    """A session: one capture per host, in natural order of the host names.

    Two values are equal if no file has changed between them.
    """

    name: str
    path: str
    hosts: tuple[HostFile, ...]

    @property
    def bytes(self) -> int:
        return sum(host.file.bytes for host in self.hosts)

    @property
    def modified_unix_ns(self) -> int:
        return max((host.file.modified_ns for host in self.hosts), default=0)

    @property
    def order(self) -> tuple[str, int, str]:
        """Sort key, the newest session last. Profilers name sessions by their start in local time; copies lose file
        times."""
        modified_s = self.modified_unix_ns // 10**9
        return (
            stamp_of(self.name) or time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(modified_s)),
            self.modified_unix_ns,
            self.name,
        )


def stamp_of(name: str) -> str | None:
    """The time in a session's name, None without one."""
    stamp = re.search(r"(?:^|/)(\d{4}(?:_\d\d){5})[^/]*$", name)
    return stamp[1] if stamp else None


@dataclass(frozen=True)
class SessionList:
    """The sessions of logdirs, newest first, and the directories that may hold more and that this user may not read."""

    sessions: tuple[SessionFiles, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def note(self) -> str | None:
        """One line about the unreadable directories, None if there are none."""
        if not self.unreadable:
            return None
        return f"Sessions may be missing: {_unreadable_text(self.unreadable)}; permit reading."


def roots(logdir: str, logdir_spec: str = "") -> list[Root]:
    """The roots that TensorBoard's `--logdir PATH` or `--logdir_spec NAME:PATH,PATH,…` names."""
    if logdir:
        return [Root(paths.expand(logdir))]
    result = []
    for item in filter(None, logdir_spec.split(",")):
        group, path = "", item
        is_path = is_url(item) or item.startswith(("/", "file://")) or bool(os.path.splitdrive(item)[0])
        if ":" in item and not is_path:
            group, _, path = item.partition(":")
        result.append(Root(paths.expand(path), group))
    return result


def find_sessions(roots: Iterable[Root]) -> list[SessionFiles]:
    """The sessions of `list_sessions`, without the unreadable directories. Raises InputError."""
    return list(list_sessions(roots).sessions)


def list_sessions(roots: Iterable[Root]) -> SessionList:
    """All sessions; none for roots that do not exist. Raises InputError if a URL cannot be listed."""
    contents = [(root, files.captures_under(root.path)) for root in roots]
    sessions = _sessions((root, listing.captures) for root, listing in contents)
    return SessionList(tuple(sessions), tuple(path for _, listing in contents for path in listing.unreadable))


def current_files(session: SessionFiles) -> SessionFiles | None:
    """A local session as its directory is now, None if it contains no capture any more; a remote session as it was
    listed."""
    if is_url(session.path):
        return session
    try:
        captures = files.captures_in(session.path)
    except InputError:
        return None
    return _session_files(session.name, session.path, captures) if captures else None


def resolve(path: str, name: str | None = None) -> SessionFiles:
    """The session that a command's PATH means: a capture, a session's directory, or a logdir's newest or named session.

    Raises InputError if there is none.
    """
    sessions = _sessions_in(path)
    if name is None:
        return sessions[0]
    name = _printable(name)
    for session in sessions:
        if session.name == name:
            return session
    if sessions[0].path == paths.expand(path):
        raise InputError(
            f"{path}: is session {sessions[0].name}, not {name}; leave --session out or name a logdir"
        )
    raise InputError(f"{path}: no session {name}; there {_names_text(sessions)}")


def joined(sessions: Sequence[SessionFiles]) -> SessionFiles:
    """Several sessions as one, whose path is the first one's. Hosts whose names occur twice are named with their
    session. Raises InputError if a file occurs twice."""
    if len(sessions) == 1:
        return sessions[0]
    hosts = [(session, host) for session in sessions for host in session.hosts]
    paths_of_hosts = Counter(host.file.path for _, host in hosts)
    path, count = paths_of_hosts.most_common(1)[0]
    if count > 1:
        raise InputError(f"{path}: given {count} times; name each session once")
    names = Counter(host.name for _, host in hosts)
    renamed = [
        replace(host, name=f"{host.name} ({session.name})") if names[host.name] > 1 else host
        for session, host in hosts
    ]
    ordered = sorted(renamed, key=lambda host: (natural_key(host.name), host.file.path))
    more = f" and {len(sessions) - 2} more" if len(sessions) > 2 else ""
    name = f"{sessions[0].name} + {sessions[1].name}{more}"
    return SessionFiles(name, sessions[0].path, tuple(ordered))


def sessions_at(path: str) -> SessionList:
    """The sessions that a command's PATH means: those of a logdir or of a directory inside one, or the single session
    outside any logdir. Raises InputError if there is none."""
    listed = list_sessions([Root(paths.expand(path))])
    return listed if listed.sessions else SessionList(tuple(_sessions_in(path)))


def _sessions_in(path: str) -> list[SessionFiles]:
    """The session at the path, or those below it. Raises InputError if there is none."""
    expanded = paths.expand(path)
    contents = files.inspect_path(expanded)
    if contents is None:
        raise InputError(f"{path}: no such file or directory; check the path")
    if contents.kind == "capture":
        return [_single_capture_session(expanded, contents.captures[0])]
    if contents.kind == "session":
        return [_session_files(_base_name(expanded), expanded, contents.captures)]
    if not contents.captures:
        if contents.unreadable:
            text = _unreadable_text(contents.unreadable)
            raise InputError(f"{path}: no profile found, and {text}; permit reading")
        raise InputError(
            f"{path}: no profile under this directory; captures are in <run>/plugins/profile/<session>/*{SUFFIX}"
        )
    return _sessions([(Root(expanded), contents.captures)])


def _sessions(captures_of_roots: Iterable[tuple[Root, Sequence[FileInfo]]]) -> list[SessionFiles]:
    sessions: dict[str, SessionFiles] = {}
    for root, captures in captures_of_roots:
        by_directory: dict[str, list[FileInfo]] = {}
        for capture in captures:
            by_directory.setdefault(paths.parent(capture.path), []).append(capture)
        for directory, captures_of_session in by_directory.items():
            name = _session_name(root, directory)
            if name in sessions:  # two roots without a group have runs of the same name
                name = f"{root.path.strip('/')}/{name}"
            sessions[name] = _session_files(name, directory, captures_of_session)
    return sorted(sessions.values(), key=lambda session: session.order, reverse=True)


def _single_capture_session(path: str, file: FileInfo) -> SessionFiles:
    directory, file_name = posixpath.split(decoded(absolute(path)))
    in_session = posixpath.basename(posixpath.dirname(directory)) == "profile"
    host = _printable(host_of(file_name))
    name = _printable(posixpath.basename(directory)) if in_session else host
    return SessionFiles(name, path, (HostFile(host, file),))


def _unreadable_text(directories: Sequence[str]) -> str:
    first, *more = map(_printable, directories)
    return (f"{first} and {len(more)} more are" if more else f"{first} is") + " not readable for this user"


def _names_text(sessions: Sequence[SessionFiles]) -> str:
    names = [session.name for session in sessions]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{'is' if len(names) == 1 else 'are'} {', '.join(names[:5])}{more}"


def _session_files(name: str, directory: str, captures: Iterable[FileInfo]) -> SessionFiles:
    hosts = (HostFile(_printable(host_of(_base_name(info.path))), info) for info in captures)
    ordered = sorted(hosts, key=lambda host: (natural_key(host.name), host.file.path))
    return SessionFiles(_printable(name), directory, tuple(ordered))


def _session_name(root: Root, directory: str) -> str:
    """`<run>/<session>`, or `<session>` for a run at the root; the run's path is relative to the root."""
    base = decoded(absolute(root.path))
    profile_directory, session = posixpath.split(decoded(absolute(directory)))
    run = posixpath.relpath(posixpath.dirname(posixpath.dirname(profile_directory)), base)
    is_inside = run.split("/")[0] not in (".", "..")
    return "/".join(filter(None, (root.group, run if is_inside else "", session)))


def _base_name(path: str) -> str:
    return posixpath.basename(decoded(absolute(path)))


def _printable(name: str) -> str:
    """The name as valid text, which requests can repeat: bytes that are not UTF-8 become `\\udcXX`."""
    return name.encode(errors="backslashreplace").decode()
