"""Which sessions lie under a logdir, by the names that the stock profile tab gives them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tb_xla_insights.errors import InputError
from tb_xla_insights.host_order import natural_key
from tb_xla_insights.logdir import files, paths
from tb_xla_insights.logdir.files import FileInfo
from tb_xla_insights.logdir.paths import SUFFIX
from tb_xla_insights.xplane.source import is_url


@dataclass(frozen=True)
class Root:
    """A place to look in; its sessions' names start with `group` where that is not empty."""

    path: str
    group: str = ""


@dataclass(frozen=True)
class HostFile:
    """One host's capture: the file's name without its suffix, and the file."""

    name: str
    file: FileInfo


@dataclass(frozen=True)
class SessionFiles:
    """A session: one capture per host, in the order in which hosts are told.

    Two of them are equal as long as no file of theirs changed.
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
        """Ascends with age: profilers name sessions by the second they started in, and copies lose file times."""
        stamp = re.search(r"(?:^|/)(\d{4}(?:_\d\d){5})[^/]*$", self.name)
        modified = datetime.fromtimestamp(self.modified_unix_ns // 10**9, UTC)
        return (
            stamp[1] if stamp else modified.strftime("%Y_%m_%d_%H_%M_%S"),
            self.modified_unix_ns,
            self.name,
        )


def roots(logdir: str, logdir_spec: str = "") -> list[Root]:
    """The places that TensorBoard's `--logdir PATH` or `--logdir_spec NAME:PATH,PATH,…` names."""
    if logdir:
        return [Root(paths.expand(logdir))]
    found = []
    for part in filter(None, logdir_spec.split(",")):
        group, path = "", part
        if ":" in part and not is_url(part) and not part.startswith("/"):
            group, _, path = part.partition(":")
        found.append(Root(paths.expand(path), group))
    return found


def find_sessions(places: Iterable[Root]) -> list[SessionFiles]:
    """All sessions, newest first. Places that do not exist have none. Raises InputError where one cannot be asked."""
    return _sessions((root, files.captures_under(root.path)) for root in places)


def as_it_is(session: SessionFiles) -> SessionFiles | None:
    """A local session as its directory holds it now, which is later than when it was listed, None where it holds none;
    one of a store as it was listed."""
    if is_url(session.path):
        return session
    try:
        captures = files.captures_in(session.path)
    except InputError:
        return None
    return _session(session.name, session.path, captures) if captures else None


def resolve(path: str, name: str | None = None) -> SessionFiles:
    """The session a command's PATH means: a capture, a session's directory, or a logdir's newest or named session.

    Raises InputError where there is none.
    """
    sessions = _at(path)
    if name is None:
        return sessions[0]
    name = _text(name)
    for session in sessions:
        if session.name == name:
            return session
    if sessions[0].path == paths.expand(path):
        raise InputError(
            f"{path}: is session {sessions[0].name}, not {name}; leave --session out or name a logdir"
        )
    raise InputError(f"{path}: no session {name}; there {_are(sessions)}")


def sessions_at(path: str) -> list[SessionFiles]:
    """The sessions a command's PATH means, newest first: those of a logdir, wherever in it the path leads, or the one
    that is no logdir's. Raises InputError where there is none."""
    return find_sessions([Root(paths.expand(path))]) or _at(path)


def _at(path: str) -> list[SessionFiles]:
    """The session that a place is, or those below it. Raises InputError where there is none."""
    place = paths.expand(path)
    found = files.find(place)
    if found is None:
        raise InputError(f"{path}: no such file or directory; check the path")
    if found.kind == "capture":
        return [_of_file(place, found.captures[0])]
    if found.kind == "session":
        return [_session(posixpath.basename(paths.absolute(place)), place, found.captures)]
    if not found.captures:
        raise InputError(
            f"{path}: no profile under this directory; captures lie in <run>/plugins/profile/<session>/*{SUFFIX}"
        )
    return _sessions([(Root(place), found.captures)])


def _sessions(captures_of: Iterable[tuple[Root, Sequence[FileInfo]]]) -> list[SessionFiles]:
    found: dict[str, SessionFiles] = {}
    for root, captures in captures_of:
        by_directory: dict[str, list[FileInfo]] = {}
        for capture in captures:
            by_directory.setdefault(paths.parent(capture.path), []).append(capture)
        for directory, own in by_directory.items():
            name = _name(root, directory)
            if name in found:  # two unnamed places with runs of the same name
                name = f"{root.path.strip('/')}/{name}"
            found[name] = _session(name, directory, own)
    return sorted(found.values(), key=lambda session: session.order, reverse=True)


def _of_file(place: str, file: FileInfo) -> SessionFiles:
    directory, file_name = posixpath.split(paths.absolute(place))
    in_session = posixpath.basename(posixpath.dirname(directory)) == "profile"
    host = _text(file_name.removesuffix(SUFFIX))
    name = _text(posixpath.basename(directory)) if in_session else host
    return SessionFiles(name, place, (HostFile(host, file),))


def _are(sessions: Sequence[SessionFiles]) -> str:
    names = [session.name for session in sessions]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{'is' if len(names) == 1 else 'are'} {', '.join(names[:5])}{more}"


def _session(name: str, directory: str, captures: Iterable[FileInfo]) -> SessionFiles:
    hosts = (HostFile(_text(posixpath.basename(info.path).removesuffix(SUFFIX)), info) for info in captures)
    ordered = sorted(hosts, key=lambda host: (natural_key(host.name), host.file.path))
    return SessionFiles(_text(name), directory, tuple(ordered))


def _name(root: Root, directory: str) -> str:
    """`<run>/<session>`, just `<session>` for a run at the root; the run is relative to the place looked in."""
    place = paths.absolute(root.path)
    run_directory, session = posixpath.split(paths.absolute(directory))
    run = posixpath.relpath(posixpath.dirname(posixpath.dirname(run_directory)), place)
    inside = run != "." and not run.startswith("..")
    return "/".join(filter(None, (root.group, run if inside else "", session)))


def _text(name: str) -> str:
    """A name that can be asked for again wherever it was told: bytes that are no UTF-8 stand as `\\udcXX` in it."""
    return name.encode(errors="backslashreplace").decode()
