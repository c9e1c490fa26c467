"""Tasks in processes of this machine.

The processes are loky's: they are started without running the user's script once more, so that a script without an
`if __name__ == "__main__"` works, and inside of a server they inherit neither its threads nor its locks.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

import loky

from tb_xla_insights.files.source import is_url
from tb_xla_insights.memory import available_bytes, retain_freed_memory, use_single_heap
from tb_xla_insights.parallel import limit_threads
from tb_xla_insights.tasks.host import Answer, Failure, HostCapture, Result, Task
from tb_xla_insights.tasks.in_flight import run_bounded

_PER_BYTE = 3
"""Memory that a task takes at most, per byte of its file (see benchmarks/bench_pod.py) …"""
_PER_WORKER = 120_000_000
"""… and beside that: the interpreter, NumPy, and what does not grow with the file."""
_REMOTE_AT_ONCE = 4
"""Remote hosts read at a time at least: a core decodes one host while others are waited for."""
_IDLE_SECONDS = 60
"""After so long without work a process ends: the one that had work for it may have been killed."""


def workers_for(hosts: Sequence[HostCapture], memory: int | None = None) -> int:
    """How many processes work at once: one per core, of remote files a few more, as far as they fit into `memory` bytes
    (half of what is free)."""
    budget = available_bytes() // 2 if memory is None else memory
    largest = _PER_WORKER + _PER_BYTE * max(host.bytes for host in hosts)
    at_once = max(int(loky.cpu_count()), _REMOTE_AT_ONCE if is_url(hosts[0].path) else 1)
    return max(1, min(at_once, len(hosts), budget // largest))


def _begin() -> None:
    """Runs in a process before its first task. Each task ends with a collection of garbage; none is needed in
    between."""
    gc.disable()
    use_single_heap()
    retain_freed_memory()
    limit_threads(1)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started within ignore Ctrl-C, which a terminal sends to all processes: this process ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Python's own tracker of semaphores starts with the first one, and lets the signal through again (3.12 and before).
    multiprocessing.get_context("spawn").Lock()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_in_processes(
    hosts: Sequence[HostCapture],
    task: Task[Result],
    workers: int,
    in_order: bool = True,
    should_continue: Callable[[], bool] = lambda: True,
) -> Generator[Answer[Result]]:
    """The tasks' results, in the order of the hosts or as they come; ends early where `should_continue` says no.

    Where a process dies, as the system ends those that take too much memory, the hosts that have no result yet are read
    again by half as many. A host whose process dies while no other works is a Failure.
    """
    waiting = list(hosts)
    while waiting:
        try:
            yield from _run_until_broken(waiting, task, workers, in_order, should_continue)
            return
        except BrokenProcessPool:
            if workers > 1:
                workers //= 2
                continue
            host = waiting.pop(0)
            yield Failure(
                host,
                f"{host.path}: the process that read it was killed, often for want of memory; "
                "close other programs, or use a machine with more",
            )


def _run_until_broken(
    waiting: list[HostCapture],
    task: Task[Result],
    workers: int,
    in_order: bool,
    should_continue: Callable[[], bool],
) -> Generator[Answer[Result]]:
    """Takes a host from `waiting` once its result is there. Raises BrokenProcessPool where a process dies."""
    # A lone worker has one host at a time, which is to blame for its end.
    ahead = 1 if workers == 1 else 2 * workers
    executor = loky.ProcessPoolExecutor(
        workers,
        timeout=_IDLE_SECONDS,
        initializer=_begin,
        # OpenBLAS would start a thread per core in each, and there is no algebra.
        env={"OPENBLAS_NUM_THREADS": "1"},
    )

    def submit(task: Task[Result], host: HostCapture) -> Future[Answer[Result]]:
        with _deaf_to_interrupts():
            answer: Future[Answer[Result]] = executor.submit(task, host)
            return answer

    try:
        yield from run_bounded(waiting, task, submit, ahead, in_order, should_continue)
    finally:
        executor.shutdown(wait=True, kill_workers=True)
