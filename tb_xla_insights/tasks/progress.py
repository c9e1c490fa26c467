"""How many bytes of each host are read, told by whichever process of this machine reads it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tb_xla_insights.trace.model import Int64

NOT_BEGUN = -1


@dataclass(frozen=True)
class Progress:
    """Two numbers for each of `hosts` hosts in the file at `path`, which processes have in their memory."""

    path: str
    hosts: int

    def tell(self, number: int, bytes_read: int, size: int) -> None:
        """Says how much of the file of the host with that number is read."""
        self._told[number] = bytes_read, size

    def told(self) -> list[list[int]]:
        """Bytes read and the file's size by host, NOT_BEGUN of those that nobody reads yet."""
        found: list[list[int]] = self._told.tolist()
        return found

    @cached_property
    def _told(self) -> Int64:
        return np.memmap(self.path, np.int64, "r+", shape=(self.hosts, 2))

    def __getstate__(self) -> tuple[str, int]:
        return self.path, self.hosts

    def __setstate__(self, state: tuple[str, int]) -> None:
        vars(self).update(zip(("path", "hosts"), state, strict=True))


@contextmanager
def shared_progress(hosts: int) -> Generator[Progress]:
    """Room for the progress of so many hosts."""
    handle, path = tempfile.mkstemp(prefix="xla_insights_progress_")
    try:
        with open(handle, "wb") as file:
            np.full((hosts, 2), NOT_BEGUN, np.int64).tofile(file)
        yield Progress(path, hosts)
    finally:
        os.unlink(path)
