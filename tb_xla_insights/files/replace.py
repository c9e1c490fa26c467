"""Atomic writing: files are written beside their target and then renamed."""

from __future__ import annotations

import os
import platform
import secrets
import stat
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tb_xla_insights.errors import InputError

_MIN_ABANDONED_SECONDS = 60.0
"""A file that was written to within this time is never removed: its process may be about to lock it."""


@contextmanager
def report_write_errors(path: Path, remedy: str) -> Iterator[None]:
    """Turns an OSError in this block into an InputError that names the path and the remedy. A BrokenPipeError, which
    says that the reader of a pipe has closed it, is raised unchanged."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise InputError(f"{path}: {reason}; {remedy}") from error


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yields a path to write to, which replaces `path` when the block ends; if the block fails or is interrupted,
    `path` does not change.

    A link is kept, and its target replaced. A device, a pipe, and a file to which this process prints are written in
    place. Raises OSError.

    A process that is killed (SIGKILL, lack of memory) leaves its temporary file; this user's next output from the same
    machine to the same directory removes it, after a minute (not on Windows).
    """
    if _is_written_in_place(path):
        yield path
        return
    target = Path(os.path.realpath(path))
    # Locks may not reach other machines that write to the same directory.
    prefix = f".xla-insights-{zlib.crc32(platform.node().encode()):08x}-"
    _remove_abandoned(target.parent, prefix)
    # A random name: another user of a shared folder cannot have put a link there.
    temporary = target.with_name(f"{prefix}{secrets.token_hex(8)}")
    try:
        with _locked_file(temporary):
            yield temporary
        with suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def _locked_file(path: Path) -> Iterator[None]:
    """Creates a file, and locks it while the block runs and its process lives."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        if sys.platform != "win32":
            _lock(descriptor)
            yield
    finally:
        os.close(descriptor)
    if sys.platform == "win32":  # locks would keep others from writing to the path
        yield


def _remove_abandoned(directory: Path, prefix: str) -> None:
    """Removes this user's temporary files of processes that were killed: their locks ended."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        for path in directory.glob(f"{prefix}*"):
            status = path.lstat()
            if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _MIN_ABANDONED_SECONDS:
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if _lock(descriptor):
                        path.unlink()
                finally:
                    os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Tries to lock a file. Returns False if another process has locked it, or the file system has no locks."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_written_in_place(path: Path) -> bool:
    with suppress(OSError):
        status = path.stat()
        is_output = any(os.path.samestat(status, os.fstat(number)) for number in (1, 2))
        return is_output or not stat.S_ISREG(status.st_mode)
    return False
