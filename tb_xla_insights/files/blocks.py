"""The blocks of a remote file: each is fetched once, several in parallel, some ahead of the reader."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar

BLOCK_BYTES = 2 << 20
"""The size of one request."""

MAX_REQUESTS = 8
"""The limit of parallel requests for one file."""

MAX_PREFETCH_BYTES = 1 << 30
"""A file up to this size is prefetched whole if its reader wants all of it."""

STALL_TIMEOUT_S = 300.0
"""A store that sends no block, or does not answer another kind of request, for this long has stalled. File systems with
timeouts of their own give up earlier."""

MAX_CACHE_BYTES = 128 << 20
"""The size limit of the cache for blocks of closed files, which later readers of these files use."""

_POLL_S = 0.2
"""How often waiting is interrupted, to handle signals and requests to stop."""

T = TypeVar("T")


class StalledError(OSError):
    """A store did not answer."""


class StoppedError(Exception):
    """The caller stopped the reading before the store answered."""


def call_with_timeout(
    call: Callable[[], T], seconds: float | None = None, should_stop: Callable[[], bool] = lambda: False
) -> T:
    """Returns or raises what a call to a store does. Raises StalledError after `seconds` (default: `STALL_TIMEOUT_S`),
    and StoppedError once `should_stop` returns True.

    The call runs in a daemon thread, so a call that never returns blocks neither the caller nor the process's exit.
    """
    result: Future[T] = Future()
    threading.Thread(target=_resolve, args=(result, call), daemon=True).start()
    limit = STALL_TIMEOUT_S if seconds is None else seconds
    deadline = time.monotonic() + limit
    # A signal that arrives between Python's check for signals and the wait is handled only after the wait.
    while not wait([result], min(_POLL_S, max(0.0, deadline - time.monotonic()))).done:
        if should_stop():
            raise StoppedError
        if time.monotonic() >= deadline:
            raise StalledError(f"no answer for {limit:g} s")
    return result.result()


def _resolve(result: Future[Any], call: Callable[[], Any]) -> None:
    """Stores what a call returns or raises in a future."""
    try:
        result.set_result(call())
    except BaseException as error:  # raised in the waiting thread
        result.set_exception(_as_exception(error))


def _as_exception(error: BaseException) -> Exception:
    """The exception to raise in the waiting thread; a request cancelled in its own thread becomes an OSError."""
    return error if isinstance(error, Exception) else OSError(f"{type(error).__name__} {error}".strip())


def split_into_blocks(data: bytes | bytearray) -> dict[int, memoryview]:
    """The blocks of a whole file, by number."""
    view = memoryview(data)
    return {
        start // BLOCK_BYTES: view[start : start + BLOCK_BYTES] for start in range(0, len(data), BLOCK_BYTES)
    }


class Blocks:
    """The blocks of a file of `size` bytes.

    `fetch(start, end)` requests a range from the store; a store that returns the whole file instead gets one request.
    `on_bytes` is called with the number of bytes that have arrived. Once `should_stop` returns True, readers stop
    waiting. `whole` prefetches all blocks of a file of up to MAX_PREFETCH_BYTES. The first failure fails all blocks
    that have not arrived: more requests would not help.
    """

    def __init__(
        self,
        size: int,
        fetch: Callable[[int, int], bytes],
        on_bytes: Callable[[int], None] = lambda _: None,
        should_stop: Callable[[], bool] = lambda: False,
        *,
        whole: bool = False,
    ) -> None:
        self.size = size
        self._block_count = -(-size // BLOCK_BYTES)
        self._fetch, self._on_bytes, self._should_stop = fetch, on_bytes, should_stop
        self._prefetch_all = whole and size <= MAX_PREFETCH_BYTES
        self._lock = threading.Lock()
        self._blocks: dict[int, Future[memoryview]] = {}
        self._requested: set[int] = set()
        self._queued: deque[int] = deque()
        self._failure: Exception | None = None
        self._threads = self._bytes_arrived = 0
        # One request at first: a store that ignores ranges would answer each request with the whole file.
        self._max_requests = 1
        self._last_arrival = time.monotonic()
        self._is_closed = False

    def put(self, blocks: Mapping[int, bytes | memoryview]) -> None:
        """Adds blocks that need not be fetched."""
        with self._lock:
            for number, block in blocks.items():
                self._store_block(number, block)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fills `buffer` from `offset` up to the end of the file; returns the number of bytes. Raises the store's
        exceptions, StalledError and StoppedError."""
        end = min(offset + len(buffer), self.size)
        if end <= offset:
            return 0
        numbers = range(offset // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1)
        for number, block in zip(numbers, self._request(numbers), strict=True):
            start = number * BLOCK_BYTES
            part = self._await_block(block)[max(offset - start, 0) : end - start]
            position = max(start - offset, 0)
            buffer[position : position + len(part)] = part
        return end - offset

    def finished_blocks(self, ranges: Iterable[tuple[int, int]]) -> dict[int, bytes]:
        """The arrived blocks that overlap these ranges (offset, length), by number."""
        numbers = {
            number
            for offset, length in ranges
            for number in range(offset // BLOCK_BYTES, (offset + max(length, 1) - 1) // BLOCK_BYTES + 1)
        }
        with self._lock:
            futures = {number: self._blocks[number] for number in sorted(numbers & self._blocks.keys())}
        # Copies: a view would keep the store's whole answer in memory.
        return {
            number: bytes(block.result())
            for number, block in futures.items()
            if block.done() and not block.exception()
        }

    def close(self) -> None:
        """Releases all blocks, and drops queued requests."""
        with self._lock:
            self._is_closed = True
            self._queued.clear()
            self._blocks = {}

    def _request(self, numbers: range) -> list[Future[memoryview]]:
        """Requests these blocks, with priority, and the blocks that the reader is likely to want next."""
        with self._lock:
            for number in reversed(numbers):  # ahead of all other queued blocks
                if number in self._queued:
                    self._queued.remove(number)
                    self._queued.appendleft(number)
                elif number not in self._blocks:
                    self._enqueue(number, self._queued.appendleft)
            ahead = range(
                numbers.stop, min(self._block_count, numbers.stop + self._sequential_blocks(numbers[-1]))
            )
            for number in range(self._block_count) if self._prefetch_all else ahead:
                if number not in self._blocks:
                    self._enqueue(number, self._queued.append)
            self._prefetch_all = False  # all blocks are requested now
            if self._failure is not None:
                self._fail_pending(self._failure)
            self._start_threads()
            return [self._blocks[number] for number in numbers]

    def _sequential_blocks(self, number: int) -> int:
        """The number of requested blocks directly before this one: a sequential reader is likely to continue."""
        return next(
            (count for count in range(MAX_REQUESTS) if number - count - 1 not in self._requested),
            MAX_REQUESTS,
        )

    def _await_block(self, block: Future[memoryview]) -> memoryview:
        """Returns a block once it has arrived. Raises the store's exception, StalledError and StoppedError."""
        began = time.monotonic()
        while not wait([block], min(_POLL_S, STALL_TIMEOUT_S)).done:
            if self._should_stop():
                raise StoppedError
            if time.monotonic() - max(began, self._last_arrival) >= STALL_TIMEOUT_S:
                raise StalledError(f"no answer for {STALL_TIMEOUT_S:g} s")
        return block.result()

    # The methods below are called with the lock held, except `_fetch_queued`, which runs in threads.

    def _enqueue(self, number: int, append: Callable[[int], None]) -> None:
        """Queues a block; `append` adds its number to an end of the queue."""
        self._blocks[number] = Future()
        self._requested.add(number)
        append(number)

    def _start_threads(self) -> None:
        """Starts threads for the queued blocks."""
        for _ in range(min(self._max_requests - self._threads, len(self._queued))):
            self._threads += 1
            threading.Thread(target=self._fetch_queued, daemon=True).start()

    def _fetch_queued(self) -> None:
        """Fetches queued blocks until none is left."""
        while True:
            with self._lock:
                if not self._queued:
                    self._threads -= 1
                    return
                number = self._queued.popleft()
            start, end = number * BLOCK_BYTES, min((number + 1) * BLOCK_BYTES, self.size)
            try:
                data = self._fetch(start, end)
                if len(data) not in (end - start, self.size):
                    raise OSError(f"the store sent {len(data)} of {end - start} requested bytes")
            except BaseException as error:  # raised in the waiting thread
                with self._lock:
                    self._failure = _as_exception(error)
                    self._fail_pending(self._failure)
                continue
            with self._lock:
                if len(data) == end - start:
                    self._store_block(number, data)
                else:
                    for index, whole_block in split_into_blocks(data).items():
                        self._store_block(index, whole_block)
                    self._queued.clear()
                self._max_requests = MAX_REQUESTS
                self._start_threads()

    def _store_block(self, number: int, block: bytes | memoryview) -> None:
        if self._is_closed:
            return
        future = self._blocks.setdefault(number, Future())
        if not future.done():
            future.set_result(memoryview(block))
            self._bytes_arrived += len(block)
            self._last_arrival = time.monotonic()
            self._on_bytes(self._bytes_arrived)

    def _fail_pending(self, error: Exception) -> None:
        self._queued.clear()
        for block in self._blocks.values():
            if not block.done():
                block.set_exception(error)


@dataclass(frozen=True)
class CachedBlocks:
    """The cached blocks of a file of `size` bytes."""

    size: int
    blocks: dict[int, bytes]


class BlockCache:
    """A cache of blocks of closed files, for later readers; the least recently used files are evicted first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[tuple[object, ...], CachedBlocks] = OrderedDict()

    def put(self, file: tuple[object, ...], cached: CachedBlocks) -> None:
        """Adds blocks of a file, identified by its path, size and fingerprint."""
        with self._lock:
            if earlier := self._files.pop(file, None):
                cached = CachedBlocks(cached.size, earlier.blocks | cached.blocks)
            self._files[file] = cached
            total_bytes = sum(
                len(block) for content in self._files.values() for block in content.blocks.values()
            )
            while total_bytes > MAX_CACHE_BYTES:
                _, oldest = self._files.popitem(last=False)
                total_bytes -= sum(map(len, oldest.blocks.values()))

    def get(self, file: tuple[object, ...]) -> CachedBlocks | None:
        with self._lock:
            if file in self._files:
                self._files.move_to_end(file)
            return self._files.get(file)

    def clear(self) -> None:
        with self._lock:
            self._files.clear()
