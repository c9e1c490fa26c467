"""Results cached with their trace."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from captures import capture, thread

from tb_xla_insights.analysis import memo
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import Trace


def test_concurrent_calls_compute_a_result_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first computation ends once the second call waits for it, or, without a lock, computes too."""
    trace = capture(thread("python", ("step", 0, 10)))
    computed, started, second_waits = [], threading.Event(), threading.Event()

    class Lock:
        def __init__(self) -> None:
            self._lock = make_lock()

        def __enter__(self) -> None:
            if not self._lock.acquire(blocking=False):
                second_waits.set()
                self._lock.acquire()

        def __exit__(self, *_: object) -> None:
            self._lock.release()

    make_lock = threading.Lock
    monkeypatch.setattr(memo, "threading", SimpleNamespace(Lock=Lock))

    @memoised
    def compute(_: Trace, argument: int) -> list[int]:
        computed.append(argument)
        if started.is_set():
            second_waits.set()
        started.set()
        assert second_waits.wait(60)
        return [argument]

    results: list[list[int]] = []
    first = threading.Thread(target=lambda: results.append(compute(trace, 1)))
    first.start()
    assert started.wait(60)
    second = threading.Thread(target=lambda: results.append(compute(trace, 1)))
    second.start()
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
