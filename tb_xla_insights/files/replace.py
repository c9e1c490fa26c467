"""Atomic writing: files are written beside their target and then renamed."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tb_xla_insights.errors import InputError


@contextmanager
def report_write_errors(path: Path, remedy: str) -> Iterator[None]:
    """Turns an OSError in this block into an InputError that names the path and the remedy."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise InputError(f"{path}: {reason}; {remedy}") from error


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yields a path to write to, which replaces `path` when the block ends; if the block fails or is interrupted,
    `path` does not change.

    A link is kept, and its target replaced. A device, a pipe, and a file to which this process prints are written in
    place. Raises OSError.
    """
    if _is_written_in_place(path):
        yield path
        return
    target = Path(os.path.realpath(path))
    # A random name: another user of a shared folder cannot have put a link there.
    temporary = target.with_name(f".xla-insights-{secrets.token_hex(8)}")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        yield temporary
        with suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink()


def _is_written_in_place(path: Path) -> bool:
    with suppress(OSError):
        status = path.stat()
        printed_to = (os.path.samestat(status, os.fstat(number)) for number in (1, 2))
        return not stat.S_ISREG(status.st_mode) or any(printed_to)
    return False
