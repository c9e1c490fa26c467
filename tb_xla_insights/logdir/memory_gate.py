"""Limits the memory of concurrent reads; readers wait in order of arrival."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class MemoryGate:
    """A capacity in bytes, granted to readers in order of arrival."""

    def __init__(self, capacity_bytes: int) -> None:
        self.capacity_bytes = capacity_bytes
        self.used_bytes = 0
        """Memory granted to the reads in progress."""
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()

    @contextmanager
    def acquire(self, needed_bytes: int, is_stopped: Callable[[], bool]) -> Iterator[None]:
        """Waits for its turn, and until `needed_bytes` are free or no other read is in progress; waits no longer once
        `is_stopped` returns True. Holds the bytes during the block."""
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                self._changed.wait_for(lambda: self._is_admitted(ticket, needed_bytes) or is_stopped())
                self.used_bytes += needed_bytes
            finally:  # an error that ends the wait must not hold up later readers
                self._waiting.remove(ticket)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self.used_bytes -= needed_bytes
                self._changed.notify_all()

    def wake_waiting(self) -> None:
        """Makes waiting readers check again whether they are stopped."""
        with self._changed:
            self._changed.notify_all()

    def _is_admitted(self, ticket: object, needed_bytes: int) -> bool:
        fits = not self.used_bytes or self.used_bytes + needed_bytes <= self.capacity_bytes
        return self._waiting[0] is ticket and fits
