"""Tasks on the workers of a Dask scheduler, which read the files themselves. Dask assigns tasks to workers, repeats
them, and moves results."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Generic

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.open import is_url
from tb_xla_insights.tasks.address import scheduler_address
from tb_xla_insights.tasks.host import Failure, HostCapture, Result, Task, TaskResult
from tb_xla_insights.version import __version__

if TYPE_CHECKING:
    from distributed import Client, Future

ANSWER_SECONDS = 10
"""The timeout of the scheduler's answers, and the interval of checks for workers."""
WORKER_SECONDS = 60
"""How long to wait for a first worker; workers that are started on demand take a while."""
_NO_WORKER_ERRORS = ("NoWorkerError", "NoValidWorkerError")
"""Errors of a task for which Dask found no worker in its `no-workers-timeout`; by name, as old versions lack them."""


@dataclass(frozen=True)
class OnWorker(Generic[Result]):
    """A task that runs on a worker. It is a Failure if the worker has another version of this package, whose results
    may differ in shape."""

    task: Task[Result]
    version: str

    def __call__(self, host: HostCapture) -> TaskResult[Result]:
        if self.version != __version__:
            return Failure(
                host, f"{host.path}: {versions_text(self.version, __version__, _worker_address())}"
            )
        result = self.task(host)
        if isinstance(result, Failure):
            return replace(result, message=_failure_on_worker(result))
        return result


def run_on_cluster(
    hosts: Sequence[HostCapture],
    task: Task[Result],
    scheduler: str,
    should_continue: Callable[[], bool] = lambda: True,
) -> Generator[TaskResult[Result]]:
    """Yields the tasks' results in the order of the hosts; a host whose workers end repeatedly is a Failure. Once
    `should_continue` returns False, ends early, between two hosts.

    Raises InputError if the scheduler does not answer, if it has no worker in time, or if a worker has another version.
    """
    with _connect(scheduler) as client:
        from distributed import CancelledError, KilledWorker

        _check_versions(client, scheduler)
        task_on_worker = OnWorker(task, __version__)
        # Not pure: the file may have changed since the scheduler last had the result of this task.
        pending = deque(
            client.submit(task_on_worker, host, pure=False, priority=-number)
            for number, host in enumerate(hosts)
        )
        for host in takewhile(lambda _: should_continue(), hosts):
            future = pending.popleft()
            try:
                _wait_for(future, host, client, scheduler)
                yield future.result()
            except KilledWorker:
                yield Failure(
                    host,
                    f"{host.path}: the workers that read it ended, often because they ran out of memory; "
                    "give workers more, or fewer threads each",
                )
            except (CancelledError, OSError, TimeoutError) as error:
                raise InputError(
                    f"{scheduler}: the scheduler ended while {host.name} was read; start it again"
                ) from error
            except Exception as error:
                if type(error).__name__ not in _NO_WORKER_ERRORS:
                    raise
                raise InputError(_no_worker_text(scheduler, host)) from error
            future.release()


def _wait_for(future: Future, host: HostCapture, client: Client, scheduler: str) -> None:
    """Returns once the task has ended, also if it failed. Raises InputError if no worker is left to run it."""
    while True:
        with suppress(TimeoutError):
            future.exception(timeout=ANSWER_SECONDS)  # returns the exception that the task itself raised
            return
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError as error:
            raise InputError(
                _no_worker_text(scheduler, host, f", and none came within {WORKER_SECONDS} s")
            ) from error


def _no_worker_text(scheduler: str, host: HostCapture, wait_text: str = "") -> str:
    return (
        f"{scheduler}: no worker is left to read {host.name}{wait_text}; workers often end because they run out of "
        f"memory: give them more, and start some with: dask worker {scheduler}"
    )


def _connect(scheduler: str) -> Client:
    """A connection to the scheduler. Raises InputError if Dask is not installed or the scheduler does not answer."""
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            f'{scheduler}: a scheduler needs Dask; pip install "tb-xla-insights[dask]"'
        ) from error
    try:
        client: Client = Client(scheduler_address(scheduler), timeout=ANSWER_SECONDS, set_as_default=False)
        return client
    except (OSError, TimeoutError) as error:
        raise InputError(
            f"{scheduler}: no Dask scheduler answers there within {ANSWER_SECONDS} s; check that it runs, and the "
            "address, such as tcp://HOST:8786"
        ) from error


def _check_versions(client: Client, scheduler: str) -> None:
    """Checks the versions of the present workers; later workers check their own (see `OnWorker`). Raises InputError,
    also if no worker comes in time."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError as error:
        raise InputError(
            f"{scheduler}: the scheduler has no worker, and none came within {WORKER_SECONDS} s; start some with: "
            f"dask worker {scheduler}"
        ) from error

    def version() -> str | None:  # sent as code, since a worker may lack the package
        try:
            from tb_xla_insights.version import __version__ as installed
        except ImportError:
            return None
        return installed

    answers: dict[str, Any] = client.run(version, on_error="ignore")
    for address, worker_version in sorted(answers.items()):
        if worker_version != __version__:
            raise InputError(f"{scheduler}: {versions_text(__version__, worker_version, address)}")


def versions_text(own_version: str, worker_version: str | None, worker: str) -> str:
    """What to do about a worker of another version."""
    installed = f"tb-xla-insights {worker_version}" if worker_version else "no tb-xla-insights"
    return f"worker {worker} has {installed} and this command {own_version}; install {own_version} on all workers"


def _failure_on_worker(failure: Failure) -> str:
    """The message of a failure on this worker, with the worker's address."""
    path = failure.host.path
    if not is_url(path) and not os.path.exists(path):
        remedy = "mount the logdir there under this path, or specify it as a URL such as gs://…"
        return f"{path}: worker {_worker_address()} sees no such file; {remedy}"
    return f"{failure.message} (worker {_worker_address()})"


def _worker_address() -> str:
    from distributed import get_worker

    return str(get_worker().address)
