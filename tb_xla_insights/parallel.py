"""Work for several processors: NumPy and the kernels leave the interpreter to other threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any


def side_by_side(tasks: Sequence[Callable[[], Any]], threads: int = 2) -> list[Any]:
    """What each task answers. They are begun in their order, by so many threads at most, the caller's among them.

    The others are daemons rather than an executor's: what they do keeps no process from ending. Raises what the first
    of the tasks raised that failed; those that were not begun by then are left out.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(tasks)):
        waiting.put(number)
    answers: dict[int, Any] = {}
    failures: dict[int, Exception] = {}

    def work() -> None:
        while not failures:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                answers[number] = tasks[number]()
            except Exception as failure:
                failures[number] = failure

    others = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, len(tasks)) - 1)]
    with suppress(RuntimeError):  # the interpreter is about to end and starts no threads any more
        for other in others:
            other.start()
    work()
    for other in others:
        if other.ident is not None:
            other.join()
    if failures:
        raise failures[min(failures)]
    return [answers[number] for number in range(len(tasks))]
