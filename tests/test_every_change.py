"""Recorded captures cut or changed at a sample of their bytes; `benchmarks/every_change.py` tries all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.every_change import FILES, Capture


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parts[-5])
def test_whole_lines_before_the_damage_are_kept_and_the_damage_is_reported(path: Path) -> None:
    capture = Capture(path.read_bytes())
    size = len(capture.data)
    for number, position in enumerate(range(1, size, size // 40)):
        capture.check_prefix(position, depth=2 if number == 30 else number % 5 == 0)
        value = capture.data[position] ^ (0x80, 0x01, 0xFF)[number % 3]
        capture.check_changed_byte(position, value, depth=number % 5 == 1)
