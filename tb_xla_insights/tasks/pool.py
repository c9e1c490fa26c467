"""Tasks in processes of this machine.

The processes are loky's. They start without running the user's script again, so a script without
`if __name__ == "__main__"` works, and they inherit neither threads nor locks of a server.
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

from tb_xla_insights.files.open import is_url
from tb_xla_insights.system.memory import available_bytes, retain_freed_memory, use_single_heap
from tb_xla_insights.system.parallel import limit_threads
from tb_xla_insights.tasks.host import Failure, HostCapture, Result, Task, TaskResult
from tb_xla_insights.tasks.in_flight import run_bounded

_BYTES_PER_FILE_BYTE = 3
"""The memory that a task takes at most, per byte of its file (see benchmarks/bench_pod.py) …"""
_BYTES_PER_WORKER = 120_000_000
"""… plus a constant: the interpreter, NumPy, and data that does not grow with the file."""
_MIN_REMOTE_WORKERS = 4
"""The minimum number of workers for remote files: while one host is decoded, others are downloaded."""
_IDLE_SECONDS = 60
"""A worker without work exits after this time, since its parent process may have been killed."""


def workers_for(hosts: Sequence[HostCapture], memory: int | None = None) -> int:
    """The number of worker processes: one per core, for remote files at least _MIN_REMOTE_WORKERS, as far as they fit
    into `memory` bytes (default: half of the available memory), and at least one."""
    budget = available_bytes() // 2 if memory is None else memory
    largest = _BYTES_PER_WORKER + _BYTES_PER_FILE_BYTE * max(host.bytes for host in hosts)
    max_workers = max(int(loky.cpu_count()), _MIN_REMOTE_WORKERS if is_url(hosts[0].path) else 1)
    return max(1, min(max_workers, len(hosts), budget // largest))


def _initialize_worker() -> None:
    """Prepares a worker process. Each task ends with a garbage collection, so automatic collection is disabled."""
    gc.disable()
    use_single_heap()
    retain_freed_memory()
    limit_threads(1)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Blocks Ctrl-C in processes started within, since a terminal sends it to all processes; this process ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Python's semaphore tracker starts with the first semaphore, and unblocks the signal again (up to Python 3.12).
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
) -> Generator[TaskResult[Result]]:
    """Yields the tasks' results, in the order of the hosts or as they become ready. Ends early once `should_continue`
    returns False.

    If a process dies (the system kills processes that take too much memory), the hosts without a result are read again
    by half as many processes. A host whose process dies while that is the only process is a Failure.
    """
    pending = list(hosts)
    while pending:
        try:
            yield from _run_until_broken(pending, task, workers, in_order, should_continue)
            return
        except BrokenProcessPool:
            if workers > 1:
                workers //= 2
                continue
            host = pending.pop(0)
            yield Failure(
                host,
                f"{host.path}: the process that read it was killed, often because it ran out of memory; "
                "close other programs, or use a machine with more",
            )


def _run_until_broken(
    pending: list[HostCapture],
    task: Task[Result],
    workers: int,
    in_order: bool,
    should_continue: Callable[[], bool],
) -> Generator[TaskResult[Result]]:
    """Yields results, and removes each host from `pending` as its result is yielded. Raises BrokenProcessPool if a
    process dies."""
    # A single worker gets one host at a time, so that its death can be attributed to that host.
    max_submitted = 1 if workers == 1 else 2 * workers
    executor = loky.ProcessPoolExecutor(
        workers,
        timeout=_IDLE_SECONDS,
        initializer=_initialize_worker,
        # OpenBLAS would start a thread per core in each process, none of which is used.
        env={"OPENBLAS_NUM_THREADS": "1"},
    )

    def submit(task: Task[Result], host: HostCapture) -> Future[TaskResult[Result]]:
        with _interrupts_blocked():
            future: Future[TaskResult[Result]] = executor.submit(task, host)
            return future

    try:
        yield from run_bounded(pending, task, submit, max_submitted, in_order, should_continue)
    finally:
        executor.shutdown(wait=True, kill_workers=True)
