"""What the C library does with memory, where that costs too much."""

from __future__ import annotations

import contextlib
import ctypes

_ARENAS, _MAP_FROM, _TRIM_FROM = -8, -3, -1
"""glibc's `M_ARENA_MAX`, `M_MMAP_THRESHOLD`, `M_TRIM_THRESHOLD`."""

_LARGEST_MAP_FROM = 32 * 2**20
"""glibc ignores a larger one."""

_keeps = False


def give_back() -> None:
    """Gives freed memory back to the system where the C library (glibc) otherwise keeps it for later.

    Decoding and building a session leave holes between the columns that stay, and a session that was released is one
    hole: without this a process would stay as large as the most that it ever held.
    """
    if _keeps:
        return
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library has no such call
        ctypes.CDLL(None).malloc_trim(0)


def keep_one_heap() -> None:
    """For a process that ends soon: all its threads to come take memory from one heap (glibc), which keeps what they
    free. Each would have its own, what one of them has freed being of no use to the others; and large arrays would go
    back to the system and come anew, where clearing them takes more time than filling them."""
    global _keeps
    _keeps = True
    with contextlib.suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_ARENAS, 1)
        library.mallopt(_MAP_FROM, _LARGEST_MAP_FROM)
        library.mallopt(_TRIM_FROM, 2**30)
