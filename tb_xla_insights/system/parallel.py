"""Parallel work on threads: NumPy and the kernels release the interpreter's lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Any

_JOIN_SECONDS = 0.2
"""How long to wait for a thread before signals are checked again."""
_max_threads: int | None = None
"""The limit set by `limit_threads`."""


def limit_threads(max_threads: int) -> None:
    """Limits `run_parallel` to `max_threads` threads in this process from now on. One of several processes that keep
    all processors busy gains nothing from more: a session of 32 hosts of 120 MB takes 34 to 39 s of processor time with
    the limit, and 40 s without."""
    global _max_threads
    _max_threads = max_threads


def run_parallel(tasks: Sequence[Callable[[], Any]], threads: int = 2) -> list[Any]:
    """Returns the result of each task. Tasks begin in order, on at most `threads` threads, the caller's included.

    Raises the exception of the first failed task in order; tasks that had not begun when a task failed do not run.

    The threads are daemons. Python waits for an executor's threads before it exits: Ctrl-C while TensorBoard reads
    120 MB from a bucket at 10 MB/s per thread would take 5.7 s rather than 0.3 s. `multiprocessing.pool.ThreadPool`
    also has daemon threads, but makes a report on a small capture take 0.58 s rather than 0.51 s.
    """
    threads = threads if _max_threads is None else min(threads, _max_threads)
    if min(threads, len(tasks)) < 2:
        return [task() for task in tasks]
    results: list[Future[Any]] = [Future() for _ in tasks]
    pending = deque(zip(results, tasks, strict=True))

    def work() -> None:
        with suppress(IndexError):  # no task is pending any more
            while True:
                result, task = pending.popleft()
                try:
                    result.set_result(task())
                except Exception as error:
                    pending.clear()
                    result.set_exception(error)

    helpers: list[Thread] = []
    with suppress(RuntimeError):  # the interpreter is exiting and starts no more threads
        while len(helpers) < min(threads, len(tasks)) - 1:
            helper = Thread(target=work, daemon=True)
            helper.start()
            helpers.append(helper)
    work()
    for helper in helpers:
        while helper.is_alive():  # a signal that arrives as the wait begins is handled only after the wait
            helper.join(_JOIN_SECONDS)
    return [result.result() for result in results]
