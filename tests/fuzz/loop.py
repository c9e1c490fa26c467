"""Fuzzing that can run for days: a process per processor, what they find in a folder, and where they were in it too."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import count
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzz.target import Target
from fuzz.worker import Failure, Tally, Worker, settle

_LARGEST = 1 << 20
"""Bytes of an input that are told when a process dies of it."""
_SAY_SECONDS = 60.0
_SEND_SECONDS = 2.0
_HANGS_SECONDS = 1800.0
"""A process that says nothing for so long is stuck where Python cannot interrupt it."""
_EXAMPLES = 3
"""Inputs that are kept of one failure."""
_SEEDS = 1 << 40
"""Each process that starts takes the seeds from the next multiple of this on."""


class Running:
    """A process, and the input that it tries now."""

    def __init__(self, names: Sequence[str], kept: dict[str, list[bytes]], first: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.input, self.place = context.RawArray("c", _LARGEST), context.RawArray("q", 2)
        self.says, end = context.Pipe(duplex=False)
        arguments = (list(names), kept, first, self.input, self.place, end)
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        self.process.start()
        end.close()
        self.heard = time.monotonic()

    def now(self) -> tuple[int, bytes]:
        """Which target, and the input."""
        target, size = self.place
        return target, self.input.raw[: min(size, _LARGEST)]


def _work(
    names: list[str], kept: dict[str, list[bytes]], first: int, data: Any, place: Any, end: Connection
) -> None:
    from fuzz.targets import TARGETS

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this one ends it
    targets = [its for its in TARGETS if its.name in names]

    def begin(target: int, its: bytes) -> None:
        place[0], place[1] = target, len(its)
        data.raw = its[:_LARGEST].ljust(1, b"\0")

    settle()
    worker = Worker(targets, begin, kept)
    seeds = count(first)
    while True:
        until = time.monotonic() + _SEND_SECONDS
        while time.monotonic() < until:
            worker.turn(seeds)
        try:
            end.send((worker.tallies, worker.failures, worker.new, worker.worst))
        except BrokenPipeError:  # nobody listens any more
            return
        worker.tallies = {name: Tally() for name in worker.tallies}
        worker.failures, worker.new, worker.worst = [], [], {}


class Loop:
    """`folder` has `state.json` (what was tried so far), `corpus` (inputs that are changed further), `worst` (those
    that took most of the time and memory that they are allowed) and `failures` (per target and sign: an input as it was
    made, the smallest that fails alike, and the traceback)."""

    def __init__(self, folder: Path, targets: Sequence[Target]) -> None:
        self.folder, self.targets = folder, targets
        self.tallies = {target.name: Tally() for target in targets}
        self.failed: dict[str, int] = {}
        self.started = 0
        state = folder / "state.json"
        if state.exists():
            known = json.loads(state.read_text())
            self.failed, self.started = known["failed"], known["started"]
            for name, its in known["targets"].items():
                seconds, most = tuple(its.pop("seconds")), tuple(its.pop("bytes"))
                self.tallies[name] = Tally(**its, seconds=seconds, bytes=most)

    def run(self, processes: int, seconds: float | None) -> None:
        """Goes on until the time is over, or forever."""
        began = said = time.monotonic()
        running = [self._start() for _ in range(processes)]
        try:
            while seconds is None or time.monotonic() - began < seconds:
                ready = wait([its.says for its in running], timeout=5)
                running = [self._look_after(its, its.says in ready) for its in running]
                if time.monotonic() - said > _SAY_SECONDS:
                    said = time.monotonic()
                    self.save()
                    print("\n".join(self.lines()), flush=True)
        finally:
            for its in running:
                its.process.kill()
                its.process.join()
            self.save()

    def _look_after(self, its: Running, ready: bool) -> Running:
        """Takes what a process says; one that has died or hangs is replaced, and what it tried is a failure."""
        why = None
        if ready:
            try:
                self._take(*its.says.recv())
                its.heard = time.monotonic()
            except (EOFError, OSError):
                its.process.join()
                why = f"died with {its.process.exitcode}"
        elif time.monotonic() - its.heard > _HANGS_SECONDS:
            its.process.kill()
            its.process.join()
            why = "hung"
        if why is None:
            return its
        target, data = its.now()
        name = self.targets[target].name
        self._fail(Failure(name, f"process {why}", -1, data, data, f"The process {why}.\n"))
        return self._start()

    def _start(self) -> Running:
        self.started += 1
        kept = {its.name: self._kept(its.name) for its in self.targets}
        return Running([its.name for its in self.targets], kept, self.started * _SEEDS)

    def _kept(self, name: str) -> list[bytes]:
        return [file.read_bytes() for file in sorted((self.folder / "corpus" / _word(name)).glob("*"))]

    def _take(
        self,
        tallies: dict[str, Tally],
        failures: list[Failure],
        new: list[tuple[str, bytes]],
        worst: dict[tuple[str, str], bytes],
    ) -> None:
        for (name, what), data in worst.items():
            its, known = (
                (it.seconds if what == "time" else it.bytes) for it in (tallies[name], self.tallies[name])
            )
            if its > known:
                self._write(self.folder / "worst" / f"{_word(name)}.{what}", data)
        for name, tally in tallies.items():
            self.tallies[name].add(tally)
        for failure in failures:
            self._fail(failure)
        for name, data in new:
            self._write(self.folder / "corpus" / _word(name) / _digest(data), data)

    def _fail(self, its: Failure) -> None:
        key = f"{its.target}: {its.sign}"
        self.failed[key] = self.failed.get(key, 0) + 1
        folder = self.folder / "failures" / _word(its.target) / _word(its.sign)
        if self.failed[key] > _EXAMPLES:
            return
        name = _digest(its.data)
        self._write(folder / f"{name}.input", its.data)
        self._write(folder / f"{name}.smallest", its.smallest)
        self._write(folder / f"{name}.txt", f"seed {its.seed}\n{its.told}".encode())
        print(
            f"FAILED {key}, seed {its.seed}: {folder / name}.smallest ({len(its.smallest)} bytes)", flush=True
        )

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def save(self) -> None:
        """Writes where the loop is; a second one goes on from there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {name: asdict(tally) for name, tally in self.tallies.items()}
        document = {"started": self.started, "failed": self.failed, "targets": told}
        place = self.folder / "state.json.new"
        place.write_text(json.dumps(document, indent=1))
        os.replace(place, self.folder / "state.json")

    def lines(self) -> Iterator[str]:
        """Per target: how many inputs, and the most of the time and memory allowed that one took."""
        yield time.strftime("%Y-%m-%d %H:%M:%S")
        for name, its in self.tallies.items():
            speed = its.inputs / its.spent if its.spent else 0.0
            yield (
                f"  {name:14} {its.inputs:>12,} inputs, {its.refused:,} refused, {speed:,.0f} a second; most time "
                f"{its.seconds[1]:.3f} s of {its.seconds[2]:,} bytes ({its.seconds[0]:.0%} of what is allowed), most "
                f"memory {its.bytes[1] / 1e6:.1f} MB of {its.bytes[2]:,} bytes ({its.bytes[0]:.0%})"
            )
        yield f"  {sum(self.failed.values()):,} failures of {len(self.failed)} kinds"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text)[:90]
