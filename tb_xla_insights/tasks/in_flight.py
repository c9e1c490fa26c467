"""Tasks that run side by side: some are under way, the others wait, and answers come as they are ready or in order."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from threading import Thread

from tb_xla_insights.tasks.host import Answer, HostCapture, Result, Task

_LOOK_S = 0.2
"""How often to look whether to go on while no answer comes."""

Begin = Callable[[Task[Result], HostCapture], "Future[Answer[Result]]"]


def run_bounded(
    waiting: list[HostCapture],
    task: Task[Result],
    begin: Begin[Result],
    at_once: int,
    in_order: bool,
    should_continue: Callable[[], bool],
) -> Generator[Answer[Result]]:
    """The tasks' results, of which `at_once` are under way; `in_order` or as they are ready. A host leaves `waiting`
    once its answer is there. Ends early where `should_continue`, asked several times a second, says no."""
    under_way: dict[HostCapture, Future[Answer[Result]]] = {}
    while waiting:
        for host in waiting[:at_once]:
            if host not in under_way:
                under_way[host] = begin(task, host)
        wanted = [under_way[waiting[0]]] if in_order else list(under_way.values())
        while not (done := wait(wanted, _LOOK_S, FIRST_COMPLETED).done):
            if not should_continue():
                return
        for host in [host for host, answer in under_way.items() if answer in done]:
            answer = under_way.pop(host).result()
            waiting.remove(host)
            yield answer


def run_in_threads(
    hosts: list[HostCapture],
    task: Task[Result],
    at_once: int,
    in_order: bool = True,
    should_continue: Callable[[], bool] = lambda: True,
) -> Generator[Answer[Result]]:
    """The tasks' results in this process, where most of the time a store is waited for."""
    return run_bounded(list(hosts), task, _in_thread, at_once, in_order, should_continue)


def _in_thread(task: Task[Result], host: HostCapture) -> Future[Answer[Result]]:
    """A daemon's: Python waits for an executor's threads before it exits, and a store may never answer."""
    answer: Future[Answer[Result]] = Future()
    Thread(target=lambda: answer.set_result(task(host)), daemon=True).start()
    return answer
