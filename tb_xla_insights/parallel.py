"""Work for several processors: NumPy and the kernels leave the interpreter to other threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Any

_LOOK_SECONDS = 0.2
_most_threads: int | None = None
"""What `limit_threads` was told."""


def limit_threads(most: int) -> None:
    """Has `run_parallel` use at most so many threads in this process from now on: one of several processes, which have
    work for all processors, only pays for more. A session of 32 hosts of 120 MB takes 34 to 39 s of processor time so,
    and 40 s otherwise."""
    global _most_threads
    _most_threads = most


def run_parallel(tasks: Sequence[Callable[[], Any]], threads: int = 2) -> list[Any]:
    """What each task answers. Tasks begin in order, on at most `threads` threads, of which the caller's is one.

    Raises what the first of the failed tasks raised; tasks that had not begun by then are left out.

    Python waits for an executor's threads before it exits: Ctrl-C while TensorBoard reads 120 MB from a bucket at
    10 MB/s per thread would take 5.7 s rather than 0.3 s. `multiprocessing.pool.ThreadPool` has daemon threads as here,
    and makes a report on a small capture take 0.58 s rather than 0.51 s.
    """
    threads = threads if _most_threads is None else min(threads, _most_threads)
    if min(threads, len(tasks)) < 2:
        return [task() for task in tasks]
    answers: list[Future[Any]] = [Future() for _ in tasks]
    waiting = deque(zip(answers, tasks, strict=True))

    def work() -> None:
        with suppress(IndexError):  # nothing is waiting any more
            while True:
                answer, task = waiting.popleft()
                try:
                    answer.set_result(task())
                except Exception as failure:
                    waiting.clear()
                    answer.set_exception(failure)

    others: list[Thread] = []
    with suppress(RuntimeError):  # the interpreter is exiting and starts no more threads
        while len(others) < min(threads, len(tasks)) - 1:
            other = Thread(target=work, daemon=True)
            other.start()
            others.append(other)
    work()
    for other in others:
        while other.is_alive():  # a signal that comes as the wait begins is seen after it only
            other.join(_LOOK_SECONDS)
    return [answer.result() for answer in answers]
