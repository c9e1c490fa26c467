"""Freed memory goes back to the system."""

from __future__ import annotations

import ctypes
import platform
from pathlib import Path

import pytest

from tb_xla_insights.memory import give_back


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what was freed")
def test_holes_between_what_stays_go_back() -> None:
    blocks = [b"x" * 100_000 for _ in range(2000)]
    del blocks[:-1]  # the last one holds what lies below it
    before = resident()
    give_back()
    assert before - resident() > 100_000_000


def test_a_library_without_such_a_call_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    give_back()
