"""How many bytes of each host are read, told by whichever process of this machine reads it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tb_xla_insights.trace.model import Int64

NOT_BEGUN = -1


@dataclass(frozen=True)
class Progress:
    """Bytes read and file size (int64) of each of `hosts` hosts, in the file at `path`, which processes map into their
    memory."""

    path: str
    hosts: int

    def tell(self, number: int, bytes_read: int, size: int) -> None:
        """Says how much of the file of the host with that number is read."""
        self._told[number] = bytes_read, size

    def told(self) -> list[list[int]]:
        """Bytes read and the file's size by host, NOT_BEGUN of those that nobody reads yet."""
        found: list[list[int]] = self._told.tolist()
        return found

    def end(self) -> None:
        """Lets go of the file, which Windows does not remove while it is mapped. A thread that still waits for a store
        may tell more, which nobody reads."""
        vars(self)["_told"] = np.array(self._told)

    @cached_property
    def _told(self) -> Int64:
        return np.memmap(self.path, np.int64, "r+", shape=(self.hosts, 2))

    def __getstate__(self) -> tuple[str, int]:
        return self.path, self.hosts

    def __setstate__(self, state: tuple[str, int]) -> None:
        vars(self).update(zip(("path", "hosts"), state, strict=True))


@contextmanager
def shared_progress(hosts: int) -> Generator[Progress]:
    """Room for the progress of so many hosts, 1 or more."""
    # A process that was ended may hold the file for a moment (Windows): the system's clean-up has it then.
    with TemporaryDirectory(prefix="xla_insights_", ignore_cleanup_errors=True) as folder:
        progress = Progress(str(Path(folder, "progress")), hosts)
        np.full((hosts, 2), NOT_BEGUN, np.int64).tofile(progress.path)
        try:
            yield progress
        finally:
            progress.end()
