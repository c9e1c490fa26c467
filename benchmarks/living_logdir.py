"""A logdir of long captures, and a thread that changes it during the benchmark, for bench_load.py."""

from __future__ import annotations

import os
import random
import shutil
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "demo_logs/torch_xla_baseline/plugins/profile"
POD = ROOT / "demo_logs/synthetic_pod_16_hosts/plugins/profile"


def make_logdir(logdir: Path, sessions: int, times: int) -> tuple[list[Path], list[Path]]:
    """Creates a logdir. Returns the sessions' directories, and the captures; each session has a copy of one."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT), str(ROOT / "benchmarks")]
    from independent import SPACE
    from longer_capture import lengthen

    [demo] = DEMO.glob("*/*.xplane.pb")
    captures = []
    for number in range(3):
        capture = logdir.parent / f"capture{number}.xplane.pb"
        capture.write_bytes(lengthen(SPACE.FromString(demo.read_bytes()), times + number))
        captures.append(capture)
    shutil.copytree(POD, logdir / "pod/plugins/profile")
    directories = [logdir / f"plugins/profile/2026_01_01_00_00_{number:02}" for number in range(sessions)]
    for number, directory in enumerate(directories):
        directory.mkdir(parents=True)
        shutil.copyfile(captures[number % len(captures)], directory / "vm.xplane.pb")
    return directories, captures


class Changes(threading.Thread):
    """Changes the logdir until `has_ended`. Each session's capture is one of `captures`, complete, truncated or
    missing."""

    def __init__(self, directories: list[Path], captures: list[Path], has_ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self._directories, self._captures, self._has_ended = directories, captures, has_ended
        self._random = random.Random(1)
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        changes = (self._replace, self._write, self._cut, self._remove, self._rename, self._set_times)
        while not self._has_ended.wait(0.3):
            change = self._random.choice(changes)
            change(self._random.choice(self._directories) / "vm.xplane.pb")
            self.counts[change.__name__.strip("_")] += 1

    def restore(self) -> dict[str, Path]:
        """Makes all sessions complete again. Returns each session's capture, by name."""
        captures = {}
        for directory in self._directories:
            capture = self._random.choice(self._captures)
            self._replace(directory / "vm.xplane.pb", capture)
            captures[directory.name] = capture
        return captures

    def _replace(self, path: Path, capture: Path | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name("copy")
        shutil.copyfile(capture or self._random.choice(self._captures), temporary)
        temporary.replace(path)

    def _write(self, path: Path) -> None:
        """Writes in place and in pieces, like a slow copy."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._random.choice(self._captures).open("rb") as source, path.open("wb") as out:
            while chunk := source.read(256 << 10):
                out.write(chunk)
                out.flush()
                time.sleep(0.005)

    def _cut(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            os.truncate(path, self._random.randrange(path.stat().st_size + 1))

    def _remove(self, path: Path) -> None:
        shutil.rmtree(path.parent, ignore_errors=True)

    def _rename(self, path: Path) -> None:
        new_path = path.parent.with_name(f"{path.parent.name}_renamed")
        with suppress(OSError):
            path.parent.rename(new_path)
            time.sleep(0.1)
            new_path.rename(path.parent)

    def _set_times(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            os.utime(path, ns=(self._random.choice((1, 4 * 10**18, 2**62)),) * 2)
