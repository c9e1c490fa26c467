"""Answers that stay with their trace."""

from __future__ import annotations

import threading

import pytest
from captures import capture, thread

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import Trace


def test_threads_that_ask_at_once_compute_an_answer_once() -> None:
    trace = capture(thread("python", ("step", 0, 10)))
    computed, inside, both = [], threading.Event(), threading.Event()

    @memoised
    def answer(_: Trace, more: int) -> list[int]:
        computed.append(more)
        inside.set()
        both.wait(60)
        return [more]

    found: list[list[int]] = []
    first = threading.Thread(target=lambda: found.append(answer(trace, 1)))
    first.start()
    assert inside.wait(60)
    second = threading.Thread(target=lambda: found.append(answer(trace, 1)))
    second.start()
    both.set()
    first.join()
    second.join()
    assert computed == [1]
    assert found[0] is found[1]
    assert answer(trace, 2) == [2]


def test_an_answer_that_fails_is_tried_again() -> None:
    trace = capture(thread("python", ("step", 0, 10)))
    tries = []

    @memoised
    def answer(_: Trace) -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not yet")
        return "done"

    with pytest.raises(ValueError, match="not yet"):
        answer(trace)
    assert answer(trace) == answer(trace) == "done"
    assert len(tries) == 2
