"""Freed memory is returned to the system."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from tb_xla_insights.system.memory import release_freed_memory, use_single_heap

GLIBC = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc retains freed memory")
THREADS = """
import ctypes, threading
from tb_xla_insights.system.memory import use_single_heap
if {shared}:
    use_single_heap()
blocks, libc = [], ctypes.CDLL(None)
libc.malloc.restype, libc.fdopen.restype = ctypes.c_void_p, ctypes.c_void_p
barrier = threading.Barrier(4)
def allocate():
    blocks.append(libc.malloc(1000))
    barrier.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


FREED_BLOCKS = """
import mmap
from tb_xla_insights.system.memory import release_freed_memory, retain_freed_memory
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE
if {retains}:
    retain_freed_memory()
blocks = [b"x" * 100_000 for _ in range(2000)]
del blocks[:-1]  # the last block, at the end of the heap, keeps the heap from shrinking
before = resident()
release_freed_memory()
print(before - resident())
"""


def output(program: str) -> str:
    """The output of a separate process, as settings of the C library cannot be undone."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@GLIBC
def test_freed_memory_between_live_blocks_is_returned() -> None:
    assert int(output(FREED_BLOCKS.format(retains=False))) > 100_000_000


@GLIBC
def test_a_process_that_retains_freed_memory_returns_none() -> None:
    assert int(output(FREED_BLOCKS.format(retains=True))) < 10_000_000


@GLIBC
def test_threads_share_one_heap() -> None:
    def heaps(shared: bool) -> int:
        return output(THREADS.format(shared=shared)).count("<heap nr")

    assert heaps(shared=False) > 1
    assert heaps(shared=True) == 1


def test_a_libc_without_malloc_trim_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    release_freed_memory()
    use_single_heap()
