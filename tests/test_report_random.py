"""Reports of random captures: the sums of every report add up."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from captures import Core, Event, HostThread, capture, session, thread
from sums import check_sums

from tb_xla_insights.analysis.window.window_document import window
from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import SessionTrace

THREADS = (
    "python",
    "pt_autograd_0",
    "tf_pytorchxla/1",
    "tf_XLAPjRtCpuClient/2",
    "tf_XLAEigen/3",
    "Thread-3",
    "",
)
EVENTS = (
    "Training_Step", "forward", "load_batch", "a/b", "StepMarker", "SyncTensorsGraphInternal", "SyncTensorsGraph",
    "ScheduleSyncTensorsGraph", "ExecuteComputation", "PjRtCpuExecutable::ExecuteHelper", "DoEnqueueProgram",
    "ExecuteComputationWithBarrier", "TransferFromDevice", "TransferToDevice", "XLAGraphExecutor::Compile",
    "TensorCollectionBarrier", "ThunkExecutor::Execute", "ThunkExecutor::Execute (wait for completion)",
    "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion", "ThreadpoolListener::Record",
)  # fmt: skip
OPS = (
    "fusion.1",
    "dot.3",
    "copy-done.1",
    "all-reduce.2",
    "all-reduce-start.4",
    "infeed.1",
    "while.3",
    "call.1",
    "",
)
CATEGORIES = ("", "infeed", "async-done", "all-reduce", "convolution fusion", "copy-done")
SCOPES = ("", "Training_Step.1/forward.2/aten__mm:x", "jit(f)/jit(main)/add", "aten__mm")
US = 1_000_000


def any_event(pick: random.Random, scale: int) -> Event:
    name, stats = pick.choice(EVENTS), dict[str, Any]()
    if name == "Training_Step":
        stats |= {"_r": 1, "step_num": pick.choice((0, 1, 2, 5))} if pick.random() < 0.7 else {}
    for type_stat, id_stat in (("_pt", "_p"), ("_ct", "_c")):
        if pick.random() < 0.4:
            stats |= {type_stat: pick.choice((12, 15)), id_stat: pick.randint(0, 9)}
    if pick.random() < 0.1:
        stats |= {"hlo_op": pick.choice(OPS), "hlo_module": "m", "program_id": pick.choice((1, 2**63 - 1))}
    return name, pick.randint(0, 60) * scale, pick.choice((0, 1, 3, 10, 50)) * scale, stats


def any_core(pick: random.Random, scale: int, number: int) -> Core:
    def run() -> Event:
        flow = {"_ct": 12, "_c": pick.randint(0, 9)} if pick.random() < 0.6 else {}
        return (
            pick.choice(("f(1)", "f(-2)", "g")),
            pick.randint(0, 60) * scale,
            pick.randint(0, 9) * scale,
            flow,
        )

    def op() -> Event:
        stats = {"hlo_category": pick.choice(CATEGORIES), "tf_op": pick.choice(SCOPES)}
        recorded_stats = {key: value for key, value in stats.items() if value}
        return (
            pick.choice(OPS),
            pick.randint(0, 60) * scale,
            pick.choice((0, 1, 2, 10)) * scale,
            recorded_stats,
        )

    runs, ops = ([make() for _ in range(pick.choice((0, 1, 12)))] for make in (run, op))
    return Core(ops, runs, name=f"{pick.choice(('TPU', 'GPU'))}:{number}")


Planes = list[HostThread | Core]
"""The threads and cores of a host."""


def any_session(pick: random.Random) -> SessionTrace:
    return session_of(any_hosts(pick))


def session_of(hosts: list[Planes]) -> SessionTrace:
    return session(*(capture(*planes, host=f"host{number}") for number, planes in enumerate(hosts)))


def any_hosts(pick: random.Random) -> list[Planes]:
    """One or two hosts with random threads and cores."""
    scale = pick.choice((1, US, 20 * US))
    hosts = []
    for _ in range(pick.choice((1, 1, 2))):
        threads: Planes = [
            thread(pick.choice(THREADS), *(any_event(pick, scale) for _ in range(pick.choice((0, 1, 5, 25)))))
            for _ in range(pick.randint(0, 4))
        ]
        cores = (any_core(pick, scale, number) for number in range(pick.choice((0, 1, 2))))
        hosts.append([*threads, *cores])
    return hosts


def any_gpus(pick: random.Random) -> SessionTrace:
    return session_of(any_gpu_hosts(pick))


def any_gpu_hosts(pick: random.Random) -> list[Planes]:
    """One or two hosts whose GPUs record only kernels, with the driver's calls on the executing threads or on separate
    lines. Some hosts also have a core of `any_core`."""
    hosts: list[Planes] = []
    for _ in range(pick.choice((1, 1, 2))):
        threads: dict[str, list[Event]] = {
            "python": [any_event(pick, US) for _ in range(pick.choice((0, 9)))]
        }
        streams: list[dict[str, list[Event]]] = [{} for _ in range(pick.choice((1, 2)))]
        for launch in range(pick.choice((0, 1, 9))):
            name, at, length = (
                f"Thread-{pick.randint(1, 2)}",
                launch * 150 * US,
                pick.choice((9, 40, 190)) * US,
            )
            calling_line = pick.choice((name, name, f"Host Threads/{name}"))
            line = threads.setdefault(name, [])
            if pick.random() < 0.9:
                line += [("PjRtStreamExecutorLoadedExecutable::Execute", at, length, {})]
                line += [("GpuExecutable::ExecuteThunks", at + US, length - 2 * US, {})]
            for _ in range(pick.choice((0, 1, 6))):
                call_start, id_ = (
                    at + pick.randint(1, length // US) * US,
                    pick.choice((launch, pick.randint(-9, 999))),
                )
                threads.setdefault(calling_line, []).append(
                    ("cuLaunchKernel", call_start, US, {"correlation_id": id_})
                )
                program = {"hlo_module": pick.choice("fg"), "program_id": pick.randint(0, 1)}
                stats = {"correlation_id": id_} | (program if pick.random() < 0.9 else {})
                kernel = (
                    pick.choice(OPS),
                    call_start + pick.randint(-5, 50) * US,
                    pick.choice((0, 1, 30)) * US,
                    stats,
                )
                stream = pick.choice(streams).setdefault(f"Stream #{pick.randint(1, 2)}(Kernel)", [])
                stream += [kernel] * pick.choice((1, 1, 1, 2))
        rows = [thread(name, *events) for name, events in threads.items()]
        cores = [Core(name=f"GPU:{number}", lines=lines) for number, lines in enumerate(streams)]
        extra_cores = [any_core(pick, US, 2)] if pick.random() < 0.2 else []
        hosts.append([*rows, *cores, *extra_cores])
    return hosts


@pytest.mark.parametrize("make", [any_session, any_gpus])
@pytest.mark.parametrize("seed", range(50))
def test_sums_hold(seed: int, make: Callable[[random.Random], SessionTrace]) -> None:
    random_session = make(random.Random(seed))
    report = session_report(random_session)
    check_sums(report)
    if random_session.duration_ps:
        start_ps, duration_ps = random_session.duration_ps // 3, 1 + random_session.duration_ps // 5
        answer = window(random_session, start_ps, start_ps + duration_ps)
        assert sum(answer["by_class_ps"].values()) == answer["duration_ps"]
