"""One process of the fuzzing: generates inputs, measures their checks and records failures."""

from __future__ import annotations

import gc
import resource
import signal
import sys
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType
from typing import NamedTuple

from fuzz import seeds
from fuzz.change import change_message
from fuzz.shrink import shrink
from fuzz.target import Target
from fuzz.tree import Node, NotAMessageError, encode, parse

from tb_xla_insights.system.parallel import limit_threads

PACKAGE = "tb_xla_insights"
MAX_MEMORY_BYTES = 8 << 30
"""The memory limit of a process, beyond which Python raises MemoryError, so that the machine stays usable."""
MAX_CORPUS_SIZE = 400
"""The maximum number of a target's inputs that are changed further."""
_CORPUS_SHARE = 0.4
"""The share of inputs that are changed from the corpus."""
_SEEDS_PER_MEMORY_MEASUREMENT = 50
"""Memory is measured for one of this many seeds, as it makes the check slow."""
_SHRINK_SECONDS = 20.0
_REPETITIONS = 2
_STUCK_FACTOR = 4
"""The multiple of the time limit after which a check is ended."""
_TURN_SECONDS = 0.5


class StuckError(BaseException):
    """An input takes so long that it may never end. A BaseException, which no `except Exception` catches."""


class SlowError(Exception):
    """An input takes more time than its size allows."""


class LargeError(Exception):
    """An input takes more memory than its size allows."""


class Usage(NamedTuple):
    """How much of a limit an input used: the share of the limit, and the amount in seconds or bytes."""

    share: float
    amount: float
    input_bytes: int


_NO_USAGE = Usage(0.0, 0.0, 0)


@dataclass
class Tally:
    """The counts of a target, the seconds `spent` on it, and the largest usages of its limits of time and memory."""

    inputs: int = 0
    refused: int = 0
    spent: float = 0.0
    seconds: Usage = _NO_USAGE
    bytes: Usage = _NO_USAGE

    def add(self, tally: Tally) -> None:
        self.inputs += tally.inputs
        self.refused += tally.refused
        self.spent += tally.spent
        self.seconds, self.bytes = max(self.seconds, tally.seconds), max(self.bytes, tally.bytes)


@dataclass(frozen=True)
class Failure:
    """An input that fails a check. `signature` distinguishes failures: the error, and where it was raised."""

    target: str
    signature: str
    seed: int
    data: bytes
    smallest: bytes
    traceback: str


@dataclass
class Worker:
    """Tries inputs. `corpus` has initial inputs by target; `begin` is called with each input before it is tried."""

    targets: Sequence[Target]
    begin: Callable[[int, bytes], None]
    corpus: dict[str, list[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tallies = {target.name: Tally() for target in self.targets}
        self.failures: list[Failure] = []
        self.new: list[tuple[str, bytes]] = []
        """Inputs that are the first example of some feature, with their target."""
        self.worst: dict[tuple[str, str], bytes] = {}
        """Inputs that used more of a limit than any before, by target, and `time` or `memory`."""
        self._max_share: dict[tuple[str, str], float] = {}
        self._features: dict[str, set[str]] = {target.name: set() for target in self.targets}
        self._trees: dict[str, list[Node]] = {target.name: [] for target in self.targets}
        self._spent = {target.name: 0.0 for target in self.targets}
        self._signatures: set[tuple[str, str]] = set()
        for target in self.targets:
            for data in self.corpus.get(target.name, ()):
                self.attempt(target, data, -1)
        self.new.clear()

    def turn(self, numbers: Iterator[int]) -> None:
        """Tries inputs of the target that is furthest behind its share of the time."""
        target = min(self.targets, key=lambda candidate: self._spent[candidate.name] / candidate.share)
        began = time.monotonic()
        while (spent := time.monotonic() - began) < _TURN_SECONDS:
            seed = next(numbers)
            self.attempt(target, self._make_input(target, Random(seed)), seed)
        self._spent[target.name] += spent
        self.tallies[target.name].spent += spent

    def _make_input(self, target: Target, pick: Random) -> bytes:
        trees = self._trees[target.name]
        if trees and pick.random() < _CORPUS_SHARE:
            return encode(change_message(pick, pick.choice(trees), seeds.fields(real=True)))
        return target.make(pick)

    def attempt(self, target: Target, data: bytes, seed: int) -> None:
        """Tries one input and records the outcome."""
        tally = self.tallies[target.name]
        tally.inputs += 1
        self.begin(self.targets.index(target), data)
        try:
            features = check_limits(target, data, tally, seed % _SEEDS_PER_MEMORY_MEASUREMENT == 0)
        except (Exception, StuckError) as error:
            self._fail(target, data, seed, error)
            return
        finally:  # an input beyond a limit fails
            self._update_worst(target, data, tally)
        tally.refused += features == {"refused"}
        if not features <= self._features[target.name]:
            self._features[target.name] |= features
            self._add_to_corpus(target, data)

    def _update_worst(self, target: Target, data: bytes, tally: Tally) -> None:
        for resource_name, share in (("time", tally.seconds.share), ("memory", tally.bytes.share)):
            if share > self._max_share.get((target.name, resource_name), 0.0):
                self._max_share[target.name, resource_name] = share
                self.worst[target.name, resource_name] = data

    def _add_to_corpus(self, target: Target, data: bytes) -> None:
        trees = self._trees[target.name]
        if target.kind is None or len(trees) >= MAX_CORPUS_SIZE:
            return
        try:
            trees.append(parse(target.kind, data))
        except NotAMessageError:
            return
        self.new.append((target.name, data))

    def _fail(self, target: Target, data: bytes, seed: int, error: BaseException) -> None:
        signature = signature_of(error)
        text = "".join(traceback.format_exception(error))
        smallest = data
        if (target.name, signature) not in self._signatures and not isinstance(error, StuckError):
            self._signatures.add((target.name, signature))
            smallest = shrink(
                data, target.kind, lambda smaller: _signature(target, smaller) == signature, _SHRINK_SECONDS
            )
        self.failures.append(Failure(target.name, signature, seed, data, smallest, text))


def check_limits(target: Target, data: bytes, tally: Tally, memory: bool) -> set[str]:
    """Checks an input and returns its features. Measures memory if `memory` is true or the process grew too much.
    Raises the check's errors, SlowError, LargeError and StuckError."""
    limits, size = target.limits, len(data)
    allowed = limits.seconds_of(size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.thread_time()
    with _time_limit(_STUCK_FACTOR * allowed):
        features = set(target.check(data))
    took = time.thread_time() - began
    for _ in range(_REPETITIONS if took > allowed else 0):  # a busy machine is slow at times
        began = time.thread_time()
        set(target.check(data))
        took = min(took, time.thread_time() - began)
    tally.seconds = max(tally.seconds, Usage(took / allowed, took, size))
    if took > allowed:
        raise SlowError(f"{took:.2f} s for {size} bytes, beyond the limit of {allowed:.2f} s")
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << (
        0 if sys.platform == "darwin" else 10
    )
    if memory or growth > limits.bytes_of(size):
        _measure_memory(target, data, tally)
    return features


def _measure_memory(target: Target, data: bytes, tally: Tally) -> None:
    allowed = target.limits.bytes_of(len(data))
    tracemalloc.start()
    try:
        set(target.check(data))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    tally.bytes = max(tally.bytes, Usage(peak / allowed, float(peak), len(data)))
    if peak > allowed:
        raise LargeError(f"{peak:,} bytes for {len(data)} bytes, beyond the limit of {allowed:,}")


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raises StuckError in a block that takes more than `seconds` of processor time."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise StuckError(f"no end after {seconds:.0f} s")

    signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def signature_of(error: BaseException) -> str:
    """Identifies a failure: the error and the innermost function in the package; for a failed check its line."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, (SlowError, LargeError)):
        return type(error).__name__
    inner = [frame for frame in frames if f"/{PACKAGE}/" in frame.filename]
    if inner and not isinstance(error, AssertionError):
        return f"{type(error).__name__} {Path(inner[-1].filename).name} {inner[-1].name}"
    return f"{type(error).__name__} {frames[-1].name} {frames[-1].line}"


def _signature(target: Target, data: bytes) -> str | None:
    try:
        check_limits(target, data, Tally(), memory=False)
    except (Exception, StuckError) as error:
        return signature_of(error)
    return None


def prepare_process() -> None:
    """Loads the seeds, limits this process to one thread and bounded memory, and excludes permanent objects from
    garbage collection."""
    limit_threads(1)
    seeds.include_large_captures()
    seeds.fields(real=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (MAX_MEMORY_BYTES if soft < 0 else min(soft, MAX_MEMORY_BYTES), hard)
    )
    gc.collect()
    gc.freeze()
