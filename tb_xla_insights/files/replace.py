"""Files that are whole or not there: written beside their place and moved to it."""

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
    """What cannot be written in this block becomes an InputError that names the path and says what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise InputError(f"{path}: {reason}; {remedy}") from error


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Where to write what `path` is to hold once the block has ended; nothing changes there where it fails or is
    stopped.

    A link stays, and the file that it leads to is replaced. A device, a pipe and the file to which this process prints
    are written to as they are. Raises OSError.
    """
    if _is_open_end(path):
        yield path
        return
    place = Path(os.path.realpath(path))
    # Another user of a shared folder cannot guess the name, nor have put a link there.
    partial = place.with_name(f".xla-insights-{secrets.token_hex(8)}")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        yield partial
        with suppress(FileNotFoundError):
            partial.chmod(stat.S_IMODE(place.stat().st_mode))
        partial.replace(place)
    finally:
        with suppress(OSError):
            partial.unlink()


def _is_open_end(path: Path) -> bool:
    with suppress(OSError):
        status = path.stat()
        printed_to = (os.path.samestat(status, os.fstat(number)) for number in (1, 2))
        return not stat.S_ISREG(status.st_mode) or any(printed_to)
    return False
