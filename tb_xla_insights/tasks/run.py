"""Where the tasks of a session run."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING

from tb_xla_insights.tasks.host import Answer, HostCapture, Result, Task

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.trace.model import Trace

_SMALL_BYTES = 8_000_000
"""Files of so many bytes in all are read in this process sooner than others have started."""


def run(
    hosts: Sequence[HostCapture],
    function: Callable[[Trace, HostCapture], Result],
    catalog: Catalog,
    scheduler: str | None = None,
    memory: int | None = None,
) -> Generator[Answer[Result]]:
    """What `function` makes of each host's trace, or why there is nothing, in the order of the hosts.

    Results come as soon as those before them have come, and are not kept here. `scheduler` is the address of a Dask
    scheduler; without one the tasks run in processes of this machine, as many as there are cores and as fit into
    `memory` bytes, or in this process where that is as fast. Whoever stops to iterate ends what still runs.

    Raises InputError where the scheduler does not answer, or its workers cannot do the work.
    """
    task = Task(function, catalog)
    if scheduler is not None:
        from tb_xla_insights.tasks.cluster import run_on_cluster

        return run_on_cluster(hosts, task, scheduler)
    if len(hosts) > 1 and sum(host.bytes for host in hosts) > _SMALL_BYTES:
        from tb_xla_insights.tasks.pool import run_in_processes, workers_for

        if (workers := workers_for(hosts, memory)) > 1:
            return run_in_processes(hosts, task, workers)
    return (task(host) for host in hosts)
