"""A logdir of long captures, and somebody who works in it while others look at it, for bench_load.py."""

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
    """Directories of so many sessions, and the captures of which they hold one each."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT), str(ROOT / "benchmarks")]
    from independent import SPACE
    from longer_capture import longer

    [demo] = DEMO.glob("*/*.xplane.pb")
    captures = []
    for more in range(3):
        captures.append(logdir.parent / f"capture{more}.xplane.pb")
        captures[-1].write_bytes(longer(SPACE.FromString(demo.read_bytes()), times + more))
    shutil.copytree(POD, logdir / "pod/plugins/profile")
    directories = [logdir / f"plugins/profile/2026_01_01_00_00_{number:02}" for number in range(sessions)]
    for number, directory in enumerate(directories):
        directory.mkdir(parents=True)
        shutil.copyfile(captures[number % len(captures)], directory / "vm.xplane.pb")
    return directories, captures


class Changes(threading.Thread):
    """Somebody who works in the logdir. Each session's capture is one of `captures`, whole or not; in the end all are
    whole."""

    def __init__(self, directories: list[Path], captures: list[Path], over: threading.Event) -> None:
        super().__init__(daemon=True)
        self._directories, self._captures, self._over = directories, captures, over
        self._random = random.Random(1)
        self.made: Counter[str] = Counter()

    def run(self) -> None:
        ways = (self._replace, self._write, self._cut, self._remove, self._rename, self._travel)
        while not self._over.wait(0.3):
            way = self._random.choice(ways)
            way(self._random.choice(self._directories) / "vm.xplane.pb")
            self.made[way.__name__.strip("_")] += 1

    def end(self) -> dict[str, Path]:
        """Every session's capture, all whole again, by name."""
        found = {}
        for directory in self._directories:
            capture = self._random.choice(self._captures)
            self._replace(directory / "vm.xplane.pb", capture)
            found[directory.name] = capture
        return found

    def _replace(self, path: Path, capture: Path | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name("copied")
        shutil.copyfile(capture or self._random.choice(self._captures), beside)
        beside.replace(path)

    def _write(self, path: Path) -> None:
        """In place and bit by bit, as a slow copy is."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._random.choice(self._captures).open("rb") as source, path.open("wb") as out:
            while piece := source.read(256 << 10):
                out.write(piece)
                out.flush()
                time.sleep(0.005)

    def _cut(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            os.truncate(path, self._random.randrange(path.stat().st_size + 1))

    def _remove(self, path: Path) -> None:
        shutil.rmtree(path.parent, ignore_errors=True)

    def _rename(self, path: Path) -> None:
        aside = path.parent.with_name(f"{path.parent.name}_renamed")
        with suppress(OSError):
            path.parent.rename(aside)
            time.sleep(0.1)
            aside.rename(path.parent)

    def _travel(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            os.utime(path, ns=(self._random.choice((1, 4 * 10**18, 2**62)),) * 2)
