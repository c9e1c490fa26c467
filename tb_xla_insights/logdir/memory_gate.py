"""Room in memory for what is being read: who finds none waits for those before."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class MemoryGate:
    """So many `bytes`, taken by one reader after the other in the order in which they come."""

    def __init__(self, bytes: int) -> None:
        self.bytes = bytes
        self.used = 0
        """What those take that are being read."""
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()

    @contextmanager
    def taken(self, needed: int, stopped: Callable[[], bool]) -> Iterator[None]:
        """Waits until so many bytes are free, or nobody else takes any; once `stopped` says so, no longer."""
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            self._changed.wait_for(lambda: self._may_go_on(ticket, needed) or stopped())
            self._waiting.remove(ticket)
            self.used += needed
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self.used -= needed
                self._changed.notify_all()

    def look(self) -> None:
        """Has those who wait ask once more whether they are stopped."""
        with self._changed:
            self._changed.notify_all()

    def _may_go_on(self, ticket: object, needed: int) -> bool:
        return self._waiting[0] is ticket and (not self.used or self.used + needed <= self.bytes)
