"""Memory that was freed, given back to the system."""

from __future__ import annotations

import contextlib
import ctypes


def give_back() -> None:
    """Gives freed memory back to the system where the C library (glibc) otherwise keeps it for later.

    Decoding and building a session leave holes between the columns that stay, and a session that was released is one
    hole: without this a process would stay as large as the most that it ever held.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library has no such call
        ctypes.CDLL(None).malloc_trim(0)
