"""A sample of every prefix and every changed byte of recorded captures; `benchmarks/every_change.py` tries them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.every_change import FILES, Capture


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parts[-5])
def test_whole_lines_before_the_damage_are_kept_and_the_damage_is_reported(path: Path) -> None:
    capture = Capture(path.read_bytes())
    size = len(capture.data)
    for number, at in enumerate(range(1, size, size // 40)):
        capture.cut(at, depth=2 if number == 30 else number % 5 == 0)
        capture.changed(at, capture.data[at] ^ (0x80, 0x01, 0xFF)[number % 3], depth=number % 5 == 1)
