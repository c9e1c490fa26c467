"""What the C library does with memory, where that costs too much."""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path

_TRIM_THRESHOLD, _MMAP_MAX, _ARENAS = -1, -4, -8
"""glibc's `M_TRIM_THRESHOLD`, `M_MMAP_MAX` and `M_ARENA_MAX`."""
_UNKNOWN_BYTES = 4 << 30
"""What is taken to be free where the system does not tell."""
_CONTAINER = Path("/sys/fs/cgroup")

_keeps_freed = False
"""Whether `retain_freed_memory` was called."""


def release_freed_memory() -> None:
    """Gives freed memory back to the system where the C library (glibc) otherwise keeps it for later.

    Decoding leaves holes between the columns that stay, and a session that was released is one hole. A process that
    has loaded a capture of 120 MB takes 195 MB with this and 330 MB without, and 360 instead of 384 MB after a report.
    """
    if _keeps_freed:
        return
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library has no such call
        ctypes.CDLL(None).malloc_trim(0)


def use_single_heap() -> None:
    """All threads to come take memory from one heap (glibc). Each would have its own otherwise, and what one of them
    has freed would be of no use to the others: a report on a capture of 120 MB takes 367 MB at its peak then, and
    341 MB with one heap. A server of four sessions of 40 MB each that has answered on 16 threads keeps 440 MB then,
    340 MB of them once the sessions are gone, and with one heap 230 MB and 120 MB."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_ARENAS, 1)


def retain_freed_memory() -> None:
    """Freed memory stays with this process from now on (glibc): one that reads host after host needs as much again at
    once, and what the system gives anew it clears first."""
    global _keeps_freed
    _keeps_freed = True
    with contextlib.suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, 1 << 30)


def available_bytes() -> int:
    """Memory that can still be had on this machine, and in this container where it has a limit of its own (Linux)."""
    free = _fields(Path("/proc/meminfo")).get("MemAvailable:", _UNKNOWN_BYTES // 1024) * 1024
    with contextlib.suppress(OSError, ValueError):  # no limit reads "max", which is no number
        limit, used = (int((_CONTAINER / f"memory.{name}").read_text()) for name in ("max", "current"))
        # Of files; the system takes it back when somebody needs memory.
        kept = _fields(_CONTAINER / "memory.stat").get("inactive_file", 0)
        free = min(free, limit - used + kept)
    return max(free, 0)


def _fields(path: Path) -> dict[str, int]:
    """The numbers of a file of the kernel's with a name and a number per line; none where it has no such file."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    return {
        words[0]: int(words[1]) for words in map(str.split, lines) if len(words) > 1 and words[1].isdigit()
    }
