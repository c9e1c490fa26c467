"""Runs the tasks of a session in this process, in local processes, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from tb_xla_insights.files.open import is_url
from tb_xla_insights.tasks.host import HostCapture, Result, Task, TaskResult

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.tasks.progress import Progress
    from tb_xla_insights.trace.model import Trace

_MAX_IN_PROCESS_BYTES = 8_000_000
"""Up to this total size, reading files in this process takes less time than starting others."""
_MAX_CONCURRENT_SMALL = 16
"""Concurrent reads of small remote files, which mostly wait for the store …"""
_MAX_CONCURRENT_UNSIZED = 4
"""… and of remote files of unknown size, which may be large."""


def run(
    hosts: Sequence[HostCapture],
    function: Callable[[Trace, HostCapture], Result],
    catalog: Catalog,
    scheduler: str | None = None,
    memory: int | None = None,
    in_order: bool = True,
    should_continue: Callable[[], bool] = lambda: True,
    progress: Progress | None = None,
) -> Generator[TaskResult[Result]]:
    """Yields the result of `function` for each host's trace, or a Failure, in the order of the hosts; without
    `in_order` as results become ready, so that a slow host delays no other (a scheduler always keeps the order).

    The generator keeps no results. It ends early once `should_continue` returns False. That is called several times a
    second; with a scheduler, or if tasks run one after the other, only between two hosts. `progress` records the bytes
    read of each host by its number; with a scheduler it records nothing. `scheduler` is the address of a Dask
    scheduler. Without one, tasks run in processes of this machine, one per core as far as they fit into `memory` bytes
    (default: half of the available memory); or in this process, in threads or one after the other, if that is as fast
    or if only one process fits. Closing the generator ends running tasks,
    except those in threads.

    Raises InputError if the scheduler does not answer, or if its workers cannot do the work.
    """
    task = Task(function, catalog, None if scheduler else progress)
    if scheduler is not None:
        from tb_xla_insights.tasks.cluster import run_on_cluster

        return run_on_cluster(hosts, task, scheduler, should_continue)
    if len(hosts) > 1 and sum(host.bytes for host in hosts) > _MAX_IN_PROCESS_BYTES:
        from tb_xla_insights.tasks.pool import run_in_processes, workers_for

        if (workers := workers_for(hosts, memory)) > 1:
            return run_in_processes(hosts, task, workers, in_order, should_continue)
    elif len(hosts) > 1 and is_url(hosts[0].path):
        from tb_xla_insights.tasks.in_flight import run_in_threads

        max_concurrent = (
            _MAX_CONCURRENT_SMALL if all(host.bytes for host in hosts) else _MAX_CONCURRENT_UNSIZED
        )
        return run_in_threads(list(hosts), task, max_concurrent, in_order, should_continue)
    return (task(host) for host in takewhile(lambda _: should_continue(), hosts))
