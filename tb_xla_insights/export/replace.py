"""Files that are whole or not there: written beside their place and moved to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tb_xla_insights.errors import InputError


@contextmanager
def writing(path: Path, remedy: str) -> Iterator[None]:
    """What cannot be written in this block becomes an InputError that names the path and says what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise InputError(f"{path}: {reason}; {remedy}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what `path` is to hold once the block has ended; nothing changes there where it fails.

    What is there and no plain file (a device, a pipe, a link) is written to as it is, and stays what it is.
    Raises OSError.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        yield path
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield partial
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink()
