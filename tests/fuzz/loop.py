"""Runs fuzzing for days: one process per processor, with failures and progress saved in a folder."""

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
from fuzz.worker import Failure, Tally, Usage, Worker, prepare_process

_MAX_INPUT_BYTES = 1 << 20
"""The part of the current input that is shared, to be saved if the process dies."""
_PRINT_SECONDS = 60.0
_SEND_SECONDS = 2.0
_HANG_SECONDS = 1800.0
"""A process without a message for this time is stuck where Python cannot interrupt it."""
_MAX_EXAMPLES = 3
"""The number of inputs saved per failure."""
_SEEDS_PER_PROCESS = 1 << 40
"""Each new process takes its seeds from the next multiple of this number."""


class RunningProcess:
    """A process that fuzzes, with its current input in shared memory."""

    def __init__(self, names: Sequence[str], corpus: dict[str, list[bytes]], first_seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.input = context.RawArray("c", _MAX_INPUT_BYTES)
        self.target_and_size = context.RawArray("q", 2)
        self.messages, sender = context.Pipe(duplex=False)
        arguments = (list(names), corpus, first_seed, self.input, self.target_and_size, sender)
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        self.process.start()
        sender.close()
        self.last_message_at = time.monotonic()

    def current(self) -> tuple[int, bytes]:
        """The index of the current target, and its input."""
        target, size = self.target_and_size
        return target, self.input.raw[: min(size, _MAX_INPUT_BYTES)]


def _work(
    names: list[str],
    corpus: dict[str, list[bytes]],
    first_seed: int,
    shared_input: Any,
    target_and_size: Any,
    sender: Connection,
) -> None:
    from fuzz.targets import TARGETS

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one
    targets = [target for target in TARGETS if target.name in names]

    def begin(target: int, current: bytes) -> None:
        target_and_size[0], target_and_size[1] = target, len(current)
        shared_input.raw = current[:_MAX_INPUT_BYTES].ljust(1, b"\0")

    prepare_process()
    worker = Worker(targets, begin, corpus)
    seeds = count(first_seed)
    while True:
        until = time.monotonic() + _SEND_SECONDS
        while time.monotonic() < until:
            worker.turn(seeds)
        try:
            sender.send((worker.tallies, worker.failures, worker.new, worker.worst))
        except BrokenPipeError:  # the parent process has ended
            return
        worker.tallies = {name: Tally() for name in worker.tallies}
        worker.failures, worker.new, worker.worst = [], [], {}


class Loop:
    """Runs the processes and collects their results in `folder`.

    The folder has `state.json` (the counts so far), `corpus` (inputs for further changes), `worst` (inputs that came
    closest to the limits of time and memory) and `failures` (per target and signature: an input, the smallest input
    with the same failure, and the traceback).
    """

    def __init__(self, folder: Path, targets: Sequence[Target]) -> None:
        self.folder, self.targets = folder, targets
        self.tallies = {target.name: Tally() for target in targets}
        self.failed: dict[str, int] = {}
        self.started = 0
        state = folder / "state.json"
        if state.exists():
            document = json.loads(state.read_text())
            self.failed, self.started = document["failed"], document["started"]
            for name, row in document["targets"].items():
                seconds, memory = Usage(*row.pop("seconds")), Usage(*row.pop("bytes"))
                self.tallies[name] = Tally(**row, seconds=seconds, bytes=memory)

    def run(self, processes: int, seconds: float | None) -> None:
        """Runs for `seconds`, or forever."""
        began = printed_at = time.monotonic()
        running = [self._start() for _ in range(processes)]
        try:
            while seconds is None or time.monotonic() - began < seconds:
                ready = wait([fuzzer.messages for fuzzer in running], timeout=5)
                running = [self._supervise(fuzzer, fuzzer.messages in ready) for fuzzer in running]
                if time.monotonic() - printed_at > _PRINT_SECONDS:
                    printed_at = time.monotonic()
                    self.save()
                    print("\n".join(self.lines()), flush=True)
        finally:
            for fuzzer in running:
                fuzzer.process.kill()
                fuzzer.process.join()
            self.save()

    def _supervise(self, running: RunningProcess, ready: bool) -> RunningProcess:
        """Receives a process's results if they are `ready`. Replaces a process that died or hangs, and records its
        input as a failure. Returns the process that runs now."""
        reason = None
        if ready:
            try:
                self._add_results(*running.messages.recv())
                running.last_message_at = time.monotonic()
            except (EOFError, OSError):
                running.process.join()
                reason = f"died with {running.process.exitcode}"
        elif time.monotonic() - running.last_message_at > _HANG_SECONDS:
            running.process.kill()
            running.process.join()
            reason = "hung"
        if reason is None:
            return running
        target, data = running.current()
        name = self.targets[target].name
        self._save_failure(Failure(name, f"process {reason}", -1, data, data, f"The process {reason}.\n"))
        return self._start()

    def _start(self) -> RunningProcess:
        self.started += 1
        corpus = {target.name: self._corpus(target.name) for target in self.targets}
        names = [target.name for target in self.targets]
        return RunningProcess(names, corpus, self.started * _SEEDS_PER_PROCESS)

    def _corpus(self, name: str) -> list[bytes]:
        return [file.read_bytes() for file in sorted((self.folder / "corpus" / _file_name(name)).glob("*"))]

    def _add_results(
        self,
        tallies: dict[str, Tally],
        failures: list[Failure],
        new: list[tuple[str, bytes]],
        worst: dict[tuple[str, str], bytes],
    ) -> None:
        for (name, resource), data in worst.items():
            worst_of_process, worst_so_far = (
                (tally.seconds if resource == "time" else tally.bytes)
                for tally in (tallies[name], self.tallies[name])
            )
            if worst_of_process > worst_so_far:
                self._write(self.folder / "worst" / f"{_file_name(name)}.{resource}", data)
        for name, tally in tallies.items():
            self.tallies[name].add(tally)
        for failure in failures:
            self._save_failure(failure)
        for name, data in new:
            self._write(self.folder / "corpus" / _file_name(name) / _digest(data), data)

    def _save_failure(self, failure: Failure) -> None:
        key = f"{failure.target}: {failure.signature}"
        self.failed[key] = self.failed.get(key, 0) + 1
        folder = self.folder / "failures" / _file_name(failure.target) / _file_name(failure.signature)
        if self.failed[key] > _MAX_EXAMPLES:
            return
        name = _digest(failure.data)
        self._write(folder / f"{name}.input", failure.data)
        self._write(folder / f"{name}.smallest", failure.smallest)
        self._write(folder / f"{name}.txt", f"seed {failure.seed}\n{failure.traceback}".encode())
        print(
            f"FAILED {key}, seed {failure.seed}: {folder / name}.smallest ({len(failure.smallest)} bytes)",
            flush=True,
        )

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def save(self) -> None:
        """Saves the state, from which a second run continues."""
        self.folder.mkdir(parents=True, exist_ok=True)
        targets = {name: asdict(tally) for name, tally in self.tallies.items()}
        document = {"started": self.started, "failed": self.failed, "targets": targets}
        path = self.folder / "state.json.new"
        path.write_text(json.dumps(document, indent=1))
        os.replace(path, self.folder / "state.json")

    def lines(self) -> Iterator[str]:
        """Yields per target the number of inputs, and the largest use of its time and memory limits."""
        yield time.strftime("%Y-%m-%d %H:%M:%S")
        for name, tally in self.tallies.items():
            speed = tally.inputs / tally.spent if tally.spent else 0.0
            seconds, memory = tally.seconds, tally.bytes
            yield (
                f"  {name:14} {tally.inputs:>12,} inputs, {tally.refused:,} refused, {speed:,.0f} per second; "
                f"most time {seconds.amount:.3f} s for {seconds.input_bytes:,} bytes "
                f"({seconds.share:.0%} of the limit), "
                f"most memory {memory.amount / 1e6:.1f} MB for {memory.input_bytes:,} bytes ({memory.share:.0%})"
            )
        yield f"  {sum(self.failed.values()):,} failures with {len(self.failed)} signatures"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text)[:90]
