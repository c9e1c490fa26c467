"""The bytes read of each host, shared by the processes of this machine."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tb_xla_insights.arrays import Int64

NOT_STARTED = -1


@dataclass(frozen=True)
class Progress:
    """Bytes read and file size (int64) of each of `hosts` hosts, in the file at `path`, which processes map into their
    memory; with an empty path the values are local to this process."""

    path: str
    hosts: int

    def record(self, number: int, bytes_read: int, size: int) -> None:
        """Records the progress of the host with this number."""
        self._values[number] = bytes_read, size

    def snapshot(self) -> list[list[int]]:
        """Bytes read and file size of each host, both NOT_STARTED before the host is read."""
        values: list[list[int]] = self._values.tolist()
        return values

    def end(self) -> None:
        """Releases the file, since Windows does not remove mapped files. A thread that still waits for a store may
        record progress afterwards, which then is not shared."""
        vars(self)["_values"] = np.array(self._values)

    @cached_property
    def _values(self) -> Int64:
        if not self.path:
            return np.full((self.hosts, 2), NOT_STARTED, np.int64)
        return np.memmap(self.path, np.int64, "r+", shape=(self.hosts, 2))

    def __getstate__(self) -> tuple[str, int]:
        return self.path, self.hosts

    def __setstate__(self, state: tuple[str, int]) -> None:
        vars(self).update(zip(("path", "hosts"), state, strict=True))


@contextmanager
def shared_progress(hosts: int) -> Generator[Progress]:
    """Yields the shared progress of `hosts` hosts (at least 1), local to this process if no file can be written."""
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
    """Yields the path of a temporary file for the values. Raises OSError."""
    # On Windows a process that was just ended may still hold the file, which then remains in the temporary folder.
    with TemporaryDirectory(prefix="xla_insights_", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "progress")
        # Written, not only extended: writing to a mapped file kills the process if the disk has no space for it.
        path.write_bytes(np.full((hosts, 2), NOT_STARTED, np.int64).tobytes())
        yield str(path)
