"""Freed memory goes back to the system."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tb_xla_insights.memory import _counts_what_is_reserved, give_back, keep_one_heap

GLIBC = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what was freed")
THREADS = """
import ctypes, threading
from tb_xla_insights.memory import keep_one_heap
if {shared}:
    keep_one_heap()
held, libc = [], ctypes.CDLL(None)
libc.malloc.restype, libc.fdopen.restype = ctypes.c_void_p, ctypes.c_void_p
barrier = threading.Barrier(4)
def allocate():
    held.append(libc.malloc(1000))
    barrier.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
[it.start() for it in threads]
[it.join() for it in threads]
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@GLIBC
def test_holes_between_what_stays_go_back() -> None:
    blocks = [b"x" * 100_000 for _ in range(2000)]
    del blocks[:-1]  # the last one holds what lies below it
    before = resident()
    give_back()
    assert before - resident() > 100_000_000


FAULTS = """
import resource, numpy
from tb_xla_insights.memory import give_back, keep_one_heap
if {kept}:
    keep_one_heap()
def fill():
    numpy.ones(3_000_000)
    give_back()
fill()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
fill()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@GLIBC
def test_a_kept_heap_is_not_cleared_again() -> None:
    def faults(kept: bool) -> int:
        program, environment = FAULTS.format(kept=kept), os.environ | {"NUMPY_MADVISE_HUGEPAGE": "0"}
        command = [sys.executable, "-c", program]
        return int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    assert faults(kept=False) > 1000
    assert faults(kept=True) < 100


@GLIBC
def test_threads_share_one_heap() -> None:
    def heaps(shared: bool) -> int:
        program = THREADS.format(shared=shared)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return done.stdout.count("<heap nr")

    assert heaps(shared=False) > 1
    assert heaps(shared=True) == 1


def test_a_library_without_such_a_call_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    give_back()
    keep_one_heap()


HEAP = """
from tb_xla_insights.memory import keep_one_heap
keep_one_heap()
lines = open("/proc/self/smaps").read().splitlines()
named = [line for line in lines if line.endswith("[heap]") or line.startswith("VmFlags:")]
print(any(head.endswith("[heap]") and " hg" in flags for head, flags in zip(named, named[1:])))
"""


@GLIBC
@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists() or _counts_what_is_reserved(),
    reason="this system has no huge pages, or limits memory that nobody has written to",
)
def test_the_heap_is_of_huge_pages() -> None:
    done = subprocess.run([sys.executable, "-c", HEAP], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


@GLIBC
def test_a_limit_on_memory_is_no_error() -> None:
    program = f"import resource; resource.setrlimit(resource.RLIMIT_DATA, (2**27, 2**27)){HEAP.partition('lines')[0]}"
    subprocess.run([sys.executable, "-c", f"{program}print(bytearray(2**24)[:1])"], check=True)


@GLIBC
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_the_heap_leaves_room_where_memory_is_limited(limit: str) -> None:
    most = 700 * 2**20
    program = (
        f"import resource; resource.setrlimit(resource.{limit}, ({most}, {most})){HEAP.partition('lines')[0]}"
    )
    subprocess.run([sys.executable, "-c", f"{program}print(bytearray(2**29)[:1])"], check=True)
