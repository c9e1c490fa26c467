"""One process that tries inputs without end: which it makes, what it measures, and what it says of failures."""

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

from fuzz import seeds
from fuzz.change import changed
from fuzz.shrink import shrunk
from fuzz.target import Target
from fuzz.tree import Node, NoMessageError, parsed, written

from tb_xla_insights.parallel import limit_threads

PACKAGE = "tb_xla_insights"
MOST_MEMORY = 8 << 30
"""Of a process: beyond it Python raises MemoryError, and the machine goes on."""
MOST_KEPT = 400
"""Inputs of a target that are changed further."""
_FROM_KEPT = 0.4
_MEASURED = 50
"""The memory of one of so many seeds' inputs is measured, which makes it slow."""
_SHRINK_SECONDS = 20.0
_AGAIN = 2
_STUCK = 4
"""Times of what is allowed after which an input is ended."""
_TURN_SECONDS = 0.5


class StuckError(BaseException):
    """An input takes so long that it may never end. No Exception: nothing may take it for its own."""


class SlowError(Exception):
    """An input takes more time than its size allows."""


class LargeError(Exception):
    """An input takes more memory than its size allows."""


@dataclass
class Tally:
    """What a target did. `seconds` and `bytes` are the most of what the limits allow that an input took, as (share,
    amount, size of the input)."""

    inputs: int = 0
    refused: int = 0
    spent: float = 0.0
    seconds: tuple[float, float, int] = (0.0, 0.0, 0)
    bytes: tuple[float, float, int] = (0.0, 0.0, 0)

    def add(self, other: Tally) -> None:
        self.inputs += other.inputs
        self.refused += other.refused
        self.spent += other.spent
        self.seconds, self.bytes = max(self.seconds, other.seconds), max(self.bytes, other.bytes)


@dataclass(frozen=True)
class Failure:
    """An input for which something does not hold. `sign` tells failures apart: the error, and where it was raised."""

    target: str
    sign: str
    seed: int
    data: bytes
    smallest: bytes
    told: str


@dataclass
class Worker:
    """`kept` are inputs to begin with, by target; `begin` is told each input before it is tried."""

    targets: Sequence[Target]
    begin: Callable[[int, bytes], None]
    kept: dict[str, list[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tallies = {target.name: Tally() for target in self.targets}
        self.failures: list[Failure] = []
        self.new: list[tuple[str, bytes]] = []
        """Inputs that are the first of something, by target."""
        self.worst: dict[tuple[str, str], bytes] = {}
        """Inputs that took more of what is allowed than any before, by target, and `time` or `memory`."""
        self._most: dict[tuple[str, str], float] = {}
        self._known: dict[str, set[str]] = {target.name: set() for target in self.targets}
        self._trees: dict[str, list[Node]] = {target.name: [] for target in self.targets}
        self._spent = {target.name: 0.0 for target in self.targets}
        self._signs: set[tuple[str, str]] = set()
        for target in self.targets:
            for data in self.kept.get(target.name, ()):
                self.attempt(target, data, -1)
        self.new.clear()

    def turn(self, numbers: Iterator[int]) -> None:
        """Tries inputs of the target that has had the least of its share."""
        target = min(self.targets, key=lambda its: self._spent[its.name] / its.share)
        began = time.monotonic()
        while (spent := time.monotonic() - began) < _TURN_SECONDS:
            seed = next(numbers)
            self.attempt(target, self._made(target, Random(seed)), seed)
        self._spent[target.name] += spent
        self.tallies[target.name].spent += spent

    def _made(self, target: Target, pick: Random) -> bytes:
        trees = self._trees[target.name]
        if trees and pick.random() < _FROM_KEPT:
            return written(changed(pick, pick.choice(trees), seeds.parts(real=True)))
        return target.make(pick)

    def attempt(self, target: Target, data: bytes, seed: int) -> None:
        """Tries one input, and says what there is to say of it."""
        tally = self.tallies[target.name]
        tally.inputs += 1
        self.begin(self.targets.index(target), data)
        try:
            found = measured(target, data, tally, seed % _MEASURED == 0)
        except (Exception, StuckError) as error:
            self._fail(target, data, seed, error)
            return
        tally.refused += found == {"refused"}
        self._look_at_worst(target, data, tally)
        if not found <= self._known[target.name]:
            self._known[target.name] |= found
            self._keep(target, data)

    def _look_at_worst(self, target: Target, data: bytes, tally: Tally) -> None:
        for what, share in (("time", tally.seconds[0]), ("memory", tally.bytes[0])):
            if share > self._most.get((target.name, what), 0.0):
                self._most[target.name, what] = share
                self.worst[target.name, what] = data

    def _keep(self, target: Target, data: bytes) -> None:
        trees = self._trees[target.name]
        if target.kind is None or len(trees) >= MOST_KEPT:
            return
        try:
            trees.append(parsed(target.kind, data))
        except NoMessageError:
            return
        self.new.append((target.name, data))

    def _fail(self, target: Target, data: bytes, seed: int, error: BaseException) -> None:
        sign = sign_of(error)
        told = "".join(traceback.format_exception(error))
        smallest = data
        if (target.name, sign) not in self._signs and not isinstance(error, StuckError):
            self._signs.add((target.name, sign))
            smallest = shrunk(data, target.kind, lambda its: _sign(target, its) == sign, _SHRINK_SECONDS)
        self.failures.append(Failure(target.name, sign, seed, data, smallest, told))


def measured(target: Target, data: bytes, tally: Tally, memory: bool) -> set[str]:
    """What an input is an example of. Raises what its check raises, SlowError, LargeError and StuckError."""
    limits, size = target.limits, len(data)
    allowed = limits.seconds_of(size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.thread_time()
    with _ending(_STUCK * allowed):
        found = set(target.check(data))
    took = time.thread_time() - began
    for _ in range(_AGAIN if took > allowed else 0):  # a machine that is busy makes all slow now and then
        began = time.thread_time()
        set(target.check(data))
        took = min(took, time.thread_time() - began)
    tally.seconds = max(tally.seconds, (took / allowed, took, size))
    if took > allowed:
        raise SlowError(f"{took:.2f} s for {size} bytes, where {allowed:.2f} s are allowed")
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << (
        0 if sys.platform == "darwin" else 10
    )
    if memory or more > limits.bytes_of(size):
        _measure_memory(target, data, tally)
    return found


def _measure_memory(target: Target, data: bytes, tally: Tally) -> None:
    allowed = target.limits.bytes_of(len(data))
    tracemalloc.start()
    try:
        set(target.check(data))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    tally.bytes = max(tally.bytes, (peak / allowed, float(peak), len(data)))
    if peak > allowed:
        raise LargeError(f"{peak:,} bytes for {len(data)} bytes, where {allowed:,} are allowed")


@contextmanager
def _ending(seconds: float) -> Iterator[None]:
    """Raises StuckError in what takes more processor time than that."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise StuckError(f"no end after {seconds:.0f} s")

    signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def sign_of(error: BaseException) -> str:
    """What tells a failure from others: the error, and the innermost place in the package; of a check its text."""
    places = traceback.extract_tb(error.__traceback__)
    if isinstance(error, (SlowError, LargeError)):
        return type(error).__name__
    own = [its for its in places if f"/{PACKAGE}/" in its.filename]
    if own and not isinstance(error, AssertionError):
        return f"{type(error).__name__} {Path(own[-1].filename).name} {own[-1].name}"
    return f"{type(error).__name__} {places[-1].name} {places[-1].line}"


def _sign(target: Target, data: bytes) -> str | None:
    try:
        measured(target, data, Tally(), memory=False)
    except (Exception, StuckError) as error:
        return sign_of(error)
    return None


def settle() -> None:
    """Has this process work on its own: with all that inputs are made of, one thread, bounded memory, and no look for
    garbage in what stays."""
    limit_threads(1)
    seeds.take_all()
    seeds.parts(real=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY if soft < 0 else min(soft, MOST_MEMORY), hard))
    gc.collect()
    gc.freeze()
