"""The captures of the demo and of the tests, with their events repeated until they have about n times 20 kB of them."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from benchmarks.growth.training import AXES  # noqa: E402
from benchmarks.longer_capture import lengthen  # noqa: E402

_UNIT_BYTES = 20_000
"""Bytes of events of a capture of size 1."""


class RepeatedCapture:
    """A capture with its events repeated until they have about this many bytes."""

    def __init__(self, file: Path, event_bytes: int) -> None:
        self._file, self._event_bytes = file, event_bytes

    def to_bytes(self) -> bytes:
        repetition_bytes = len(self._repeat(2)) - len(self._repeat(1))
        return self._repeat(max(1, self._event_bytes // repetition_bytes))

    def write(self, path: Path) -> Path:
        path.write_bytes(self.to_bytes())
        return path

    def _repeat(self, times: int) -> bytes:
        from independent import SPACE

        return lengthen(SPACE.FromString(self._file.read_bytes()), times)


def _repeated_capture(file: Path, n: int) -> RepeatedCapture:
    return RepeatedCapture(file, n * _UNIT_BYTES)


for _file in sorted(
    file
    for folder in (ROOT / "demo_logs", ROOT / "tests" / "recorded")
    for file in folder.rglob("plugins/profile/*/*.xplane.pb")
):
    _logdir = _file.parents[3].relative_to(ROOT)
    AXES.setdefault(f"{_logdir.parent.name}/{_logdir.name}", partial(_repeated_capture, _file))
