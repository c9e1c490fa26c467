"""One task per host: in this process, and in processes of this machine."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers import write_session
from host_tasks import count, die, die_once

from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.tasks import Failure, HostCapture, HostResult, run
from tb_xla_insights.tasks.host import Task, TaskResult
from tb_xla_insights.tasks.in_flight import run_bounded, run_in_threads
from tb_xla_insights.tasks.pool import run_in_processes, workers_for
from tb_xla_insights.tasks.progress import NOT_STARTED, shared_progress
from tb_xla_insights.trace.model import Trace

NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture
def hosts(tmp_path: Path) -> list[HostCapture]:
    folder = write_session(tmp_path / "s", *NAMES)
    paths = [folder / f"{name}.xplane.pb" for name in NAMES]
    return [
        HostCapture(path.name.partition(".")[0], str(path), path.stat().st_size, number)
        for number, path in enumerate(paths)
    ]


def run_tasks_in_processes(
    hosts: list[HostCapture], function: Callable[[Trace, HostCapture], Any]
) -> list[Any]:
    """The result of each host from two processes, or its Failure."""
    answers = run_in_processes(hosts, Task(function, load_catalog()), 2)
    return [result.value if isinstance(result, HostResult) else result for result in answers]


def test_small_sessions_are_read_in_this_process_in_order(hosts: list[HostCapture]) -> None:
    values = [result.value for result in run(hosts, count, load_catalog()) if isinstance(result, HostResult)]
    assert [name for name, _, _ in values] == list(NAMES)
    assert {process for _, _, process in values} == {os.getpid()}


def test_processes_give_the_same_in_the_same_order(hosts: list[HostCapture]) -> None:
    in_this_process = [
        result.value for result in run(hosts, count, load_catalog()) if isinstance(result, HostResult)
    ]
    in_pool = run_tasks_in_processes(hosts, count)
    assert [result[:2] for result in in_pool] == [result[:2] for result in in_this_process]
    assert os.getpid() not in {process for _, _, process in in_pool}


def test_a_result_has_the_hosts_time_base(hosts: list[HostCapture]) -> None:
    first = next(iter(run(hosts, count, load_catalog())))
    assert isinstance(first, HostResult)
    assert first.base_unix_ns == 1_700_000_000_000_000_000
    moved = next(iter(run([HostCapture("a", hosts[0].path, 0, shift_ps=1000)], count, load_catalog())))
    assert isinstance(moved, HostResult)
    assert moved.base_unix_ns == first.base_unix_ns - 1


@pytest.mark.parametrize("collects_by_itself", [True, False])
def test_the_trace_of_a_host_is_freed_before_the_next_one_is_read(
    collects_by_itself: bool, hosts: list[HostCapture]
) -> None:
    """Python's garbage collection is off in a command and in worker processes. A trace is part of a cycle, as with its
    cached results."""

    def refer_to_itself(trace: Trace, _: HostCapture) -> weakref.ref[Trace]:
        cycle: list[Any] = [trace]
        cycle.append(cycle)
        trace.scratch = cycle  # type: ignore[attr-defined]
        return weakref.ref(trace)

    was_enabled = gc.isenabled()
    try:
        (gc.enable if collects_by_itself else gc.disable)()
        for host in hosts:
            result = Task(refer_to_itself, load_catalog())(host)
            assert isinstance(result, HostResult)
            assert result.value() is None
    finally:
        (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("processes", [False, True])
def test_a_host_that_fails_leaves_the_others(hosts: list[HostCapture], processes: bool) -> None:
    Path(hosts[1].path).write_text("<html>")
    Path(hosts[3].path).unlink()
    task = Task(count, load_catalog())
    results = list(run_in_processes(hosts, task, 2) if processes else map(task, hosts))
    assert [isinstance(result, Failure) for result in results] == [False, True, False, True, False]
    assert all(
        result.message.startswith(result.host.path) for result in results if isinstance(result, Failure)
    )


def test_a_process_that_dies_once_costs_no_host(hosts: list[HostCapture], tmp_path: Path) -> None:
    results = run_tasks_in_processes(hosts, partial(die_once, host_name="c", folder=str(tmp_path)))
    assert (tmp_path / "died").exists()
    assert [name for name, _ in results] == list(NAMES)


def test_a_host_whose_process_always_dies_is_reported(hosts: list[HostCapture]) -> None:
    results = run_tasks_in_processes(hosts, partial(die, host_name="c"))
    assert [result.host.name for result in results if isinstance(result, Failure)] == ["c"]
    assert [result[0] for result in results if isinstance(result, tuple)] == ["a", "b", "d", "e"]
    failure = results[2]
    assert isinstance(failure, Failure)
    assert "killed" in failure.message
    assert hosts[2].path in failure.message


def test_the_budget_decides_how_many_processes_work(hosts: list[HostCapture]) -> None:
    large = [HostCapture(host.name, host.path, 10**9) for host in hosts]
    assert workers_for(large, memory=10**9) == 1
    assert workers_for(hosts[:1], memory=10**12) == 1
    assert 1 <= workers_for(large, memory=10**12) <= len(large)


def test_a_script_without_a_main_guard_reads_in_processes(tmp_path: Path, hosts: list[HostCapture]) -> None:
    """The user's script is not run once more in each process."""
    script = tmp_path / "script.py"
    script.write_text(
        "from tb_xla_insights.catalog import load_catalog\n"
        "from tb_xla_insights.tasks import HostCapture\n"
        "from tb_xla_insights.tasks.host import Task\n"
        "from tb_xla_insights.tasks.pool import run_in_processes\n"
        "from host_tasks import count\n"
        "print('script')\n"
        f"hosts = [HostCapture(name, path, 0) for name, path in {[(host.name, host.path) for host in hosts]}]\n"
        "results = run_in_processes(hosts, Task(count, load_catalog()), 2)\n"
        "print([result.value[0] for result in results])\n"
    )
    process = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    assert process.stdout.splitlines() == ["script", str(list(NAMES))]


def hold_back(names: str, until: threading.Event) -> Callable[[Trace, HostCapture], str]:
    """A task that returns the host's name; for the hosts `names`, only after `until` is set."""

    def function(_: Trace, host: HostCapture) -> str:
        if host.name in names:
            until.wait()
        return host.name

    return function


def test_a_slow_host_does_not_delay_the_others(hosts: list[HostCapture]) -> None:
    released = threading.Event()
    answers = run_in_threads(hosts, Task(hold_back("a", released), load_catalog()), 2, in_order=False)
    try:
        assert {next(answers).host.name for _ in NAMES[1:]} == set(NAMES[1:])
    finally:
        released.set()
    assert [result.host.name for result in answers] == ["a"]


def test_in_order_later_hosts_wait_for_a_slow_one(hosts: list[HostCapture]) -> None:
    released, polls = threading.Event(), []

    def should_continue() -> bool:
        polls.append(1)
        released.set()
        return True

    answers = run_in_threads(
        hosts,
        Task(hold_back("a", released), load_catalog()),
        2,
        in_order=True,
        should_continue=should_continue,
    )
    assert [result.host.name for result in answers] == list(NAMES)
    assert polls


def test_stop_ends_tasks_whose_results_are_always_ready(hosts: list[HostCapture]) -> None:
    def finished(_: object, host: HostCapture) -> Future[TaskResult[Any]]:
        future: Future[TaskResult[Any]] = Future()
        future.set_result(Failure(host, ""))
        return future

    answers = run_bounded(list(hosts), Task(count, load_catalog()), finished, 1, True, lambda: False)
    assert [result.host.name for result in answers] == [NAMES[0]]


def test_stop_does_not_wait_for_running_hosts(hosts: list[HostCapture]) -> None:
    released = threading.Event()
    task = Task(hold_back("".join(NAMES), released), load_catalog())
    try:
        assert list(run_in_threads(hosts, task, 2, in_order=False, should_continue=lambda: False)) == []
    finally:
        released.set()


@pytest.mark.parametrize("processes", [False, True])
def test_progress_is_in_bytes_of_each_host(hosts: list[HostCapture], processes: bool) -> None:
    with shared_progress(len(hosts) + 1) as progress:
        assert progress.snapshot()[0] == [NOT_STARTED, NOT_STARTED]
        task = Task(count, load_catalog(), progress)
        list(run_in_processes(hosts, task, 2) if processes else map(task, hosts))
        *readings, last = progress.snapshot()
        other_process = pickle.loads(pickle.dumps(progress))
        assert other_process.snapshot()[0] == readings[0]
    assert not Path(progress.path).exists()
    progress.record(0, 1, 1)  # a thread that still waits for a store may do so
    assert other_process.snapshot()[0] == readings[0], "the file is still mapped"
    assert all(0 < read <= size for read, size in readings)
    assert [size for _, size in readings] == [Path(host.path).stat().st_size for host in hosts]
    assert last == [NOT_STARTED, NOT_STARTED]
