"""Task results stored on disk until they can be used, so that memory does not grow with the number of hosts."""

from __future__ import annotations

import pickle
import tempfile
import zlib
from contextlib import AbstractContextManager
from typing import Any

from tb_xla_insights.errors import InputError

_MAX_MEMORY_BYTES = 32 << 20
"""Results that exceed this size together are written to a file."""


def packed(value: Any) -> bytes:
    """A value as compressed bytes, for `Spool.put`."""
    return zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), 1)


class Spool(AbstractContextManager["Spool"]):
    """Packed values by name, in memory or in an unnamed temporary file that is deleted when the block or the process
    ends. Raises InputError if the disk is full."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_MAX_MEMORY_BYTES)  # noqa: SIM115  closed by __exit__
        self._extents: dict[str, tuple[int, int]] = {}

    def put(self, name: str, packed_value: bytes) -> None:
        try:
            self._extents[name] = self._file.seek(0, 2), self._file.write(packed_value)
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"temporary files: {error.strerror}; free some space for them, or specify another folder with TMPDIR"
            ) from error

    def load(self, name: str) -> Any:
        """Returns the value that `packed` packed; it stays in the spool."""
        offset, length = self._extents[name]
        self._file.seek(offset)
        return pickle.loads(zlib.decompress(self._file.read(length)))

    def __exit__(self, *_: object) -> None:
        self._file.close()
