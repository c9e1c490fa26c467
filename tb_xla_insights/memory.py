"""What the C library does with memory, where that costs too much."""

from __future__ import annotations

import contextlib
import ctypes

_ARENAS = -8
"""glibc's `M_ARENA_MAX`."""


def give_back() -> None:
    """Gives freed memory back to the system where the C library (glibc) otherwise keeps it for later.

    Decoding and building a session leave holes between the columns that stay, and a session that was released is one
    hole: without this a process would stay as large as the most that it ever held.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library has no such call
        ctypes.CDLL(None).malloc_trim(0)


def share_heap() -> None:
    """Lets all threads to come take memory from one heap (glibc): where each has its own, what one of them has freed is
    of no use to the others, and a report on a large capture needs a tenth more."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_ARENAS, 1)
