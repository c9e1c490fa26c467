"""The blocks of a remote file: each is fetched once, several side by side, some ahead of the reader."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar

BLOCK_BYTES = 2 << 20
"""Bytes that one request asks for."""

MAX_REQUESTS = 8
"""Requests of one file at a time."""

MAX_PREFETCH_BYTES = 1 << 30
"""Of a file up to this size a reader that wants all of it gets block after block, whatever it has asked for yet."""

STALL_TIMEOUT_S = 300.0
"""A store that sends no block for so long has stalled. File systems with limits of their own give up before."""

MAX_CACHE_BYTES = 128 << 20
"""Bytes of closed files that are kept for whoever opens these files next."""

_POLL_S = 0.2
_LOOK_S = 0.2

T = TypeVar("T")


class StalledError(OSError):
    """A store did not answer."""


class StoppedError(Exception):
    """The reader was told to stop before the store answered."""


def call_with_timeout(call: Callable[[], T], seconds: float | None = None) -> T:
    """Returns or raises what a call to a store does. Raises StalledError after `seconds` (`STALL_TIMEOUT_S`).

    The call runs in a daemon thread, so a call that never returns blocks neither the caller nor the process's exit.
    """
    answer: Future[T] = Future()
    threading.Thread(target=_answer, args=(answer, call), daemon=True).start()
    limit = STALL_TIMEOUT_S if seconds is None else seconds
    until = time.monotonic() + limit
    # A signal that comes between Python's look at signals and the wait is seen after the wait only.
    while not wait([answer], min(_LOOK_S, max(0.0, until - time.monotonic()))).done:
        if time.monotonic() >= until:
            raise StalledError(f"no answer for {limit:g} s")
    return answer.result()


def _answer(answer: Future[Any], call: Callable[[], Any]) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:  # whoever waits gets it
        answer.set_exception(_to_raise(error))


def _to_raise(error: BaseException) -> Exception:
    """What a request that was cancelled in its own thread is to whoever waits for it: a failure like others."""
    return error if isinstance(error, Exception) else OSError(f"{type(error).__name__} {error}".strip())


def split_into_blocks(data: bytes) -> dict[int, memoryview]:
    """A whole file's blocks."""
    return {
        at // BLOCK_BYTES: memoryview(data)[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES)
    }


class Blocks:
    """A file of `size` bytes. `fetch(start, end)` asks the store for a range; one that answers with the whole file is
    asked once. `arrived` is told how many bytes have come; once `stop` says so, nobody waits any longer.

    The first failure is that of all blocks that have not come: asking for more would not help.
    """

    def __init__(
        self,
        size: int,
        fetch: Callable[[int, int], bytes],
        arrived: Callable[[int], None] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
        *,
        whole: bool = False,
    ) -> None:
        self.size = size
        self._count = -(-size // BLOCK_BYTES)
        self._fetch, self._arrived, self._stop = fetch, arrived, stop
        self._whole = whole and size <= MAX_PREFETCH_BYTES
        self._lock = threading.Lock()
        self._blocks: dict[int, Future[memoryview]] = {}
        self._asked_for: set[int] = set()
        self._waiting: deque[int] = deque()
        self._failure: Exception | None = None
        self._workers = self._bytes = 0
        # One request goes ahead: a store that ignores ranges would answer each of them with the whole file.
        self._at_once = 1
        self._last = time.monotonic()
        self._closed = False

    def put(self, blocks: Mapping[int, bytes | memoryview]) -> None:
        """Blocks that need not be fetched any more."""
        with self._lock:
            for number, block in blocks.items():
                self._came(number, block)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fills `buffer` from `offset` on, as far as the file goes. Raises what the store raises, StalledError and
        StoppedError."""
        end = min(offset + len(buffer), self.size)
        if end <= offset:
            return 0
        numbers = range(offset // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1)
        for number, block in zip(numbers, self._ask_for(numbers), strict=True):
            start = number * BLOCK_BYTES
            part = self._wait_for(block)[max(offset - start, 0) : end - start]
            at = max(start - offset, 0)
            buffer[at : at + len(part)] = part
        return end - offset

    def of(self, ranges: Iterable[tuple[int, int]]) -> dict[int, bytes]:
        """Of the blocks with bytes of these ranges (offset, length) those that have come."""
        numbers = {
            number
            for offset, length in ranges
            for number in range(offset // BLOCK_BYTES, (offset + max(length, 1) - 1) // BLOCK_BYTES + 1)
        }
        with self._lock:
            found = {number: self._blocks[number] for number in sorted(numbers & self._blocks.keys())}
        # A view of a store's answer would keep the whole of it.
        return {
            number: bytes(it.result()) for number, it in found.items() if it.done() and not it.exception()
        }

    def close(self) -> None:
        """Lets go of all blocks, and asks for no more."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            self._blocks = {}

    def _ask_for(self, numbers: range) -> list[Future[memoryview]]:
        """The blocks, on their way now if they have not come; and those that the reader is going to want next."""
        with self._lock:
            for number in reversed(numbers):  # before all others that wait
                if number in self._waiting:
                    self._waiting.remove(number)
                    self._waiting.appendleft(number)
                elif number not in self._blocks:
                    self._queue(number, self._waiting.appendleft)
            ahead = range(numbers.stop, min(self._count, numbers.stop + self._run_before(numbers[-1])))
            for number in range(self._count) if self._whole else ahead:
                if number not in self._blocks:
                    self._queue(number, self._waiting.append)
            self._whole = False  # all of them are asked for
            if self._failure is not None:
                self._fail(self._failure)
            self._begin()
            return [self._blocks[number] for number in numbers]

    def _run_before(self, number: int) -> int:
        """How many blocks right before this one the store was asked for: who has read on for long will read on."""
        return next(
            (run for run in range(MAX_REQUESTS) if number - run - 1 not in self._asked_for), MAX_REQUESTS
        )

    def _wait_for(self, block: Future[memoryview]) -> memoryview:
        began = time.monotonic()
        while not wait([block], min(_POLL_S, STALL_TIMEOUT_S)).done:
            if self._stop():
                raise StoppedError
            if time.monotonic() - max(began, self._last) >= STALL_TIMEOUT_S:
                raise StalledError(f"no answer for {STALL_TIMEOUT_S:g} s")
        return block.result()

    # What follows is called with the lock, but for the threads that fetch.

    def _queue(self, number: int, put: Callable[[int], None]) -> None:
        self._blocks[number] = Future()
        self._asked_for.add(number)
        put(number)

    def _begin(self) -> None:
        """Starts threads for the blocks that wait."""
        for _ in range(min(self._at_once - self._workers, len(self._waiting))):
            self._workers += 1
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._workers -= 1
                    return
                number = self._waiting.popleft()
            start, end = number * BLOCK_BYTES, min((number + 1) * BLOCK_BYTES, self.size)
            try:
                data = self._fetch(start, end)
                if len(data) not in (end - start, self.size):
                    raise OSError(f"{len(data)} bytes came where {end - start} were asked for")
            except BaseException as error:  # whoever waits gets it
                with self._lock:
                    self._failure = _to_raise(error)
                    self._fail(self._failure)
                continue
            with self._lock:
                if len(data) == end - start:
                    self._came(number, data)
                else:
                    for at, block in split_into_blocks(data).items():
                        self._came(at, block)
                    self._waiting.clear()
                self._at_once = MAX_REQUESTS
                self._begin()

    def _came(self, number: int, block: bytes | memoryview) -> None:
        if self._closed:
            return
        future = self._blocks.setdefault(number, Future())
        if not future.done():
            future.set_result(memoryview(block))
            self._bytes += len(block)
            self._last = time.monotonic()
            self._arrived(self._bytes)

    def _fail(self, error: Exception) -> None:
        self._waiting.clear()
        for block in self._blocks.values():
            if not block.done():
                block.set_exception(error)


@dataclass(frozen=True)
class CachedBlocks:
    """Of a file of `size` bytes the blocks that are kept."""

    size: int
    blocks: dict[int, bytes]


class BlockCache:
    """Blocks of files that were closed, for whoever opens them next; those of the files used longest ago go first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[tuple[str, str], CachedBlocks] = OrderedDict()

    def put(self, file: tuple[str, str], kept: CachedBlocks) -> None:
        """Blocks of a file, which its path and its mark name."""
        with self._lock:
            if before := self._files.pop(file, None):
                kept = CachedBlocks(kept.size, before.blocks | kept.blocks)
            self._files[file] = kept
            used = sum(len(block) for it in self._files.values() for block in it.blocks.values())
            while used > MAX_CACHE_BYTES:
                _, oldest = self._files.popitem(last=False)
                used -= sum(map(len, oldest.blocks.values()))

    def get(self, file: tuple[str, str]) -> CachedBlocks | None:
        with self._lock:
            if file in self._files:
                self._files.move_to_end(file)
            return self._files.get(file)

    def clear(self) -> None:
        with self._lock:
            self._files.clear()
