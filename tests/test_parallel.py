"""Concurrent tasks: results in order, and no task prevents a process from ending."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers import raising

import tb_xla_insights as xi
from tb_xla_insights.system.parallel import limit_threads, run_parallel

DEMO_LOGS = sorted(
    path
    for path in (Path(__file__).parents[1] / "demo_logs").glob("*_*")
    if path.is_dir() and path.name != "synthetic_pod_16_hosts"  # each host is a report like that of one host
)


@pytest.fixture(autouse=True)
def no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the limit of the tests' processes."""
    monkeypatch.setattr("tb_xla_insights.system.parallel._max_threads", None)


def test_tasks_run_concurrently_with_results_in_order() -> None:
    barrier = threading.Barrier(2)

    def meet(number: int) -> int:
        barrier.wait(60)
        return number

    assert run_parallel([partial(meet, number) for number in range(6)]) == [*range(6)]
    assert run_parallel([]) == []


def test_one_thread_is_the_callers() -> None:
    assert run_parallel([threading.get_ident] * 3, threads=1) == [threading.get_ident()] * 3


def test_a_process_can_be_limited_to_the_callers_thread() -> None:
    limit_threads(1)
    assert run_parallel([threading.get_ident] * 3) == [threading.get_ident()] * 3


def test_the_first_failure_is_raised_and_pending_tasks_are_dropped() -> None:
    begun: list[int] = []
    tasks: list[Callable[[], Any]] = [
        partial(begun.append, 1),
        raising(KeyError("a")),
        raising(ValueError("b")),
        partial(begun.append, 2),
    ]
    with pytest.raises(KeyError, match="a"):
        run_parallel(tasks, threads=1)
    assert begun == [1]


def test_if_no_thread_can_start_the_caller_runs_all_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", raising(RuntimeError("interpreter shutdown")))
    assert run_parallel([lambda: 1, lambda: 2], threads=4) == [1, 2]


def test_a_process_ends_while_tasks_are_running() -> None:
    program = """
import threading
from tb_xla_insights.system.parallel import limit_threads, run_parallel
started = threading.Barrier(3)
def never_ends():
    started.wait()
    threading.Event().wait()
threading.Thread(target=run_parallel, args=([never_ends] * 3,), daemon=True).start()
started.wait()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def run_in_reverse(tasks: Sequence[Callable[[], Any]], _threads: int = 2) -> list[Any]:
    return [task() for task in reversed(tasks)][::-1]


@pytest.mark.parametrize("logdir", DEMO_LOGS, ids=lambda path: path.name)
def test_a_report_is_the_same_if_tasks_run_in_reverse_order(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def text() -> str:
        return json.dumps(xi.load(str(logdir)).report())

    report_text = text()
    for module in (
        "analysis.engines.device_rows", "report.host_document", "trace.build", "trace.flows", "trace.nesting",
        "trace.plane_devices", "xplane.columns", "xplane.read_xspace",
    ):  # fmt: skip
        monkeypatch.setattr(f"tb_xla_insights.{module}.run_parallel", run_in_reverse)
    assert text() == report_text
