"""Bytes read of each host, shared by the processes of this machine."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
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
    memory; without a path only those of this process are told."""

    path: str
    hosts: int

    def tell(self, number: int, bytes_read: int, size: int) -> None:
        """Says how much of the file of the host with that number is read."""
        self._told[number] = bytes_read, size

    def told(self) -> list[list[int]]:
        """Bytes read and file size of each host, both NOT_BEGUN before the host is read."""
        found: list[list[int]] = self._told.tolist()
        return found

    def end(self) -> None:
        """Releases the file, since Windows does not remove mapped files. A thread that still waits for a store may go
        on to tell; then nothing is shared any more."""
        vars(self)["_told"] = np.array(self._told)

    @cached_property
    def _told(self) -> Int64:
        if not self.path:
            return np.full((self.hosts, 2), NOT_BEGUN, np.int64)
        return np.memmap(self.path, np.int64, "r+", shape=(self.hosts, 2))

    def __getstate__(self) -> tuple[str, int]:
        return self.path, self.hosts

    def __setstate__(self, state: tuple[str, int]) -> None:
        vars(self).update(zip(("path", "hosts"), state, strict=True))


@contextmanager
def shared_progress(hosts: int) -> Generator[Progress]:
    """Room for the progress of so many hosts, 1 or more; in this process alone where files have no place."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(_shared_file(hosts))
        except OSError:  # the disk is full, or there is no temporary folder
            path = ""
        progress = Progress(path, hosts)
        try:
            yield progress
        finally:
            progress.end()


@contextmanager
def _shared_file(hosts: int) -> Generator[str]:
    """Raises OSError."""
    # On Windows a process that was just ended may still hold the file: it then stays in the temporary folder.
    with TemporaryDirectory(prefix="xla_insights_", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "progress")
        # Written, not only made longer: who writes into a map of a file that finds no place on the disk is killed.
        path.write_bytes(np.full((hosts, 2), NOT_BEGUN, np.int64).tobytes())
        yield str(path)
