"""What tasks gave back and nobody can use yet: it waits on disk, so that memory does not grow with hosts."""

from __future__ import annotations

import pickle
import tempfile
import zlib
from contextlib import AbstractContextManager
from typing import Any

from tb_xla_insights.errors import InputError

_IN_MEMORY = 32 << 20
"""Bytes that need no file."""


def packed(value: Any) -> bytes:
    """A value as a task gives it back."""
    return zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), 1)


class Spool(AbstractContextManager["Spool"]):
    """Packed values by name, in a file without a name that goes when the block ends or the process does. Raises
    InputError where the disk is full."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  closed by __exit__
        self._places: dict[str, tuple[int, int]] = {}

    def put(self, name: str, value: bytes) -> None:
        try:
            self._places[name] = self._file.seek(0, 2), self._file.write(value)
        except OSError as error:
            raise InputError(
                f"temporary files: {error.strerror}; free some space for them, or name another folder with TMPDIR"
            ) from error

    def take(self, name: str) -> Any:
        offset, length = self._places[name]
        self._file.seek(offset)
        return pickle.loads(zlib.decompress(self._file.read(length)))

    def __exit__(self, *_: object) -> None:
        self._file.close()
