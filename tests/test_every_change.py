"""Recorded captures cut or changed at a sample of their bytes; `benchmarks/every_change.py` tries all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from helpers import small_space

from benchmarks import every_change
from benchmarks.every_change import FILES, Capture, all_changes


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parts[-5])
def test_whole_lines_before_the_damage_are_kept_and_the_damage_is_reported(path: Path) -> None:
    capture = Capture(path.read_bytes())
    size = len(capture.data)
    for number, position in enumerate(range(1, size, size // 40)):
        capture.check_prefix(position, depth=2 if number == 30 else number % 5 == 0)
        value = capture.data[position] ^ (0x80, 0x01, 0xFF)[number % 3]
        capture.check_changed_byte(position, value, depth=number % 5 == 1)


@pytest.mark.parametrize("one_in", [1, 7, 10])
def test_of_a_sample_as_large_a_share_is_built_and_reported(one_in: int) -> None:
    changes = list(all_changes(Capture(bytes(1000)), values=3, traces=7, reports=20, one_in=one_in))
    depths = [change.depth for change in changes]
    assert depths.count(2) == len(changes) // 20
    assert depths.count(1) == len(changes) // 7 - len(changes) // 140


def test_captures_of_one_name_are_all_tested(tmp_path: Path) -> None:
    captures = []
    for steps in (3, 2):
        folder = tmp_path / str(steps)
        folder.mkdir()
        captures.append(small_space(steps).write(folder / "vm.xplane.pb"))
    command = [sys.executable, every_change.__file__, *map(str, captures), "--one-in", "99"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    for path in captures:
        count = len(list(all_changes(Capture(path.read_bytes()), 3, 7, 200, 99)))
        assert f"{path}: {path.stat().st_size} bytes, {count} files, " in process.stdout
