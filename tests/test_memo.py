"""Results cached with their trace."""

from __future__ import annotations

import threading

import pytest
from captures import capture, thread

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import Trace


def test_concurrent_calls_compute_a_result_once() -> None:
    trace = capture(thread("python", ("step", 0, 10)))
    computed, started, second_started = [], threading.Event(), threading.Event()

    @memoised
    def compute(_: Trace, argument: int) -> list[int]:
        computed.append(argument)
        started.set()
        second_started.wait(60)
        return [argument]

    results: list[list[int]] = []
    first = threading.Thread(target=lambda: results.append(compute(trace, 1)))
    first.start()
    assert started.wait(60)
    second = threading.Thread(target=lambda: results.append(compute(trace, 1)))
    second.start()
    second_started.set()
    first.join()
    second.join()
    assert computed == [1]
    assert results[0] is results[1]
    assert compute(trace, 2) == [2]


def test_failed_computation_is_repeated() -> None:
    trace = capture(thread("python", ("step", 0, 10)))
    attempts = []

    @memoised
    def compute(_: Trace) -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ValueError("not yet")
        return "done"

    with pytest.raises(ValueError, match="not yet"):
        compute(trace)
    assert compute(trace) == compute(trace) == "done"
    assert len(attempts) == 2
