"""A file that is read by ranges.

`fingerprint` shows later reads whether the file is still the one that was decoded. A file that changes while it is read
is an error, since its bytes may come from different versions of the file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.errors import Diagnostic

if TYPE_CHECKING:
    from typing import Self

Bytes = NDArray[np.uint8]

CHANGED_MESSAGE = "{}: the file changed while it was read; read it again once writing has finished"
STOPPED_MESSAGE = "{}: not read, because reading was stopped; reload the session to read it"


class Source(ABC):
    """A file of known size that is read by ranges."""

    path: str
    size: int
    fingerprint: str
    diagnostics: Sequence[Diagnostic] = ()
    """What was lost before the bytes that can be read, where they are not the file's own but decoded from it."""

    @property
    def stored_bytes(self) -> int:
        """The size of the file itself, which differs from `size` if it is decoded."""
        return self.size

    @abstractmethod
    def read_into(self, offset: int, buffer: Bytes) -> int:
        """Fills `buffer` from `offset`. Returns the number of bytes, less than the buffer's length at the end of the
        file. Raises InputError."""

    def read(self, offset: int, length: int) -> Bytes:
        """The bytes from `offset`, fewer than `length` at the end of the file. Raises InputError."""
        buffer = np.empty(max(0, min(length, self.size - offset)), np.uint8)
        return buffer[: self.read_into(offset, buffer)]

    def check_unchanged(self) -> None:  # noqa: B027  local files are checked at each read
        """Raises InputError if a remote file was replaced while it was read."""

    def cache_ranges(self, ranges: Iterable[tuple[int, int]]) -> None:  # noqa: B027  the system caches local files
        """Caches ranges (offset, length) for later readers of the file."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
