"""Running tasks with a limit on their concurrency; results come in order or as they become ready."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from threading import Thread

from tb_xla_insights.tasks.host import HostCapture, Result, Task, TaskResult

_POLL_S = 0.2
"""How often `should_continue` is called while no result is ready."""

Start = Callable[[Task[Result], HostCapture], "Future[TaskResult[Result]]"]
"""Starts the task for a host."""


def run_bounded(
    pending: list[HostCapture],
    task: Task[Result],
    start: Start[Result],
    max_concurrent: int,
    in_order: bool,
    should_continue: Callable[[], bool],
) -> Generator[TaskResult[Result]]:
    """Yields the tasks' results, `in_order` or as they become ready; at most `max_concurrent` tasks run at once. A host
    is removed from `pending` as its result is yielded. Ends early once `should_continue`, which is called several times
    a second, returns False."""
    running: dict[HostCapture, Future[TaskResult[Result]]] = {}
    while pending:
        for host in pending[:max_concurrent]:
            if host not in running:
                running[host] = start(task, host)
        awaited = [running[pending[0]]] if in_order else list(running.values())
        while not (finished := wait(awaited, _POLL_S, FIRST_COMPLETED).done):
            if not should_continue():
                return
        for host in [host for host, future in running.items() if future in finished]:
            result = running.pop(host).result()
            pending.remove(host)
            yield result
        if not should_continue():  # also if a result is always ready
            return


def run_in_threads(
    hosts: list[HostCapture],
    task: Task[Result],
    max_concurrent: int,
    in_order: bool = True,
    should_continue: Callable[[], bool] = lambda: True,
) -> Generator[TaskResult[Result]]:
    """Yields the results of tasks that run in threads of this process, which mostly wait for a store."""
    return run_bounded(list(hosts), task, _in_thread, max_concurrent, in_order, should_continue)


def _in_thread(task: Task[Result], host: HostCapture) -> Future[TaskResult[Result]]:
    """Runs a task in a daemon thread: Python waits for an executor's threads before it exits, and a store may never
    answer."""
    future: Future[TaskResult[Result]] = Future()
    Thread(target=lambda: future.set_result(task(host)), daemon=True).start()
    return future
