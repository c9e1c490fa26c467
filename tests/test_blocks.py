"""Blocks of a remote file: each is fetched once, whatever the order of reads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.files import blocks
from tb_xla_insights.files.blocks import Blocks, call_with_timeout

BLOCK = 16
CONTENT = bytes(range(256)) * 3


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", BLOCK)
        yield


class File:
    """A file of `CONTENT` that records the requested ranges."""

    def __init__(self, *, whole: bool = False, fetch: Callable[[int, int], bytes] | None = None) -> None:
        self.requests: list[tuple[int, int]] = []
        self._fetch = fetch or (lambda start, end: CONTENT[start:end])
        self.blocks = Blocks(len(CONTENT), self._record_and_fetch, whole=whole)

    def _record_and_fetch(self, start: int, end: int) -> bytes:
        self.requests.append((start, end))
        return self._fetch(start, end)

    def read(self, offset: int, length: int) -> bytes:
        buffer = bytearray(length)
        return bytes(buffer[: self.blocks.read_into(offset, memoryview(buffer))])


@given(st.lists(st.tuples(st.integers(0, 800), st.integers(0, 200)), max_size=8), st.booleans())
def test_reads_return_the_content_and_fetch_each_block_once(
    reads: list[tuple[int, int]], whole: bool
) -> None:
    file = File(whole=whole)
    for offset, length in reads:
        assert file.read(offset, length) == CONTENT[offset : offset + length]
    file.blocks.close()
    assert len(file.requests) == len(set(file.requests))
    assert all(start % BLOCK == 0 and end - start == BLOCK for start, end in file.requests)


def test_sequential_readers_get_read_ahead_and_random_ones_do_not() -> None:
    file = File()
    for number in (40, 7, 20, 3):
        file.read(number * BLOCK, 4)
    assert sorted(file.requests) == [(number * BLOCK, (number + 1) * BLOCK) for number in (3, 7, 20, 40)]
    # As many blocks are read ahead as were read in sequence before: after blocks 0 to 5, blocks 6 to 10.
    expected = {(number * BLOCK, (number + 1) * BLOCK) for number in range(11)}
    all_requested = threading.Event()

    def fetch(start: int, end: int) -> bytes:
        if expected <= set(sequential.requests):
            all_requested.set()
        return CONTENT[start:end]

    sequential = File(fetch=fetch)
    for number in range(6):
        sequential.read(number * BLOCK, 4)
    # Threads fetch ahead of the reader: the last requests may come after the last read.
    assert all_requested.wait(60), sequential.requests
    assert sorted(sequential.requests) == sorted(expected)


def test_a_file_beyond_the_prefetch_limit_is_not_fetched_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MAX_PREFETCH_BYTES", len(CONTENT) - 1)
    file = File(whole=True)
    file.read(30 * BLOCK, 1)
    file.blocks.close()
    assert file.requests == [(30 * BLOCK, 31 * BLOCK)]


def test_a_request_that_is_cancelled_fails_like_others() -> None:
    def cancelled(_start: int, _end: int) -> bytes:
        raise asyncio.CancelledError

    file = File(fetch=cancelled)
    for _ in range(2):
        with pytest.raises(OSError, match="CancelledError"):
            file.read(0, 1)
    assert len(file.requests) == 1


def test_a_call_without_an_answer_times_out() -> None:
    over = threading.Event()
    try:
        with pytest.raises(OSError, match=r"no answer for 0\.01 s"):
            call_with_timeout(over.wait, 0.01)
    finally:
        over.set()
    assert call_with_timeout(lambda: 5) == 5
