"""What the C library does with memory, where that costs too much."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from pathlib import Path

_ARENAS, _MAP_FROM, _PAD, _TRIM_FROM = -8, -3, -2, -1
"""glibc's `M_ARENA_MAX`, `M_MMAP_THRESHOLD`, `M_TOP_PAD`, `M_TRIM_THRESHOLD`."""

_LARGEST_MAP_FROM = 32 * 2**20
"""glibc ignores a larger one."""

_USUAL_PAD = 2**17
"""glibc's own: what the heap grows by beyond what is asked for."""

_HEAP = 2**29
"""What the heap is made ready for. What nobody writes to takes no memory."""

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
        _ask_for_huge_pages(library)


def _ask_for_huge_pages(library: ctypes.CDLL) -> None:
    """Makes the heap grow by a large piece at once, for which Linux is asked to give memory 2 MB at a time: most of a
    report's memory is new to it, and in pages of 4 kB that costs a tenth of its time. Not where what nobody has written
    to counts, too: others would find no room."""
    if _counts_what_is_reserved():
        return
    for function in (library.sbrk, library.malloc):
        function.restype = ctypes.c_void_p
    library.mallopt(_PAD, _HEAP)
    begin = library.sbrk(0)
    library.free(ctypes.c_void_p(library.malloc(ctypes.c_size_t(_LARGEST_MAP_FROM // 2))))
    end = library.sbrk(0)
    library.mallopt(_PAD, _USUAL_PAD)
    begin = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
    if end > begin:  # not where the system gives no such piece
        library.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_HUGEPAGE)


def _counts_what_is_reserved() -> bool:
    import resource

    if any(
        resource.getrlimit(it)[0] != resource.RLIM_INFINITY
        for it in (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    ):
        return True
    try:
        return Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2"
    except OSError:
        return False
