"""What the report promises of every capture, on random ones: whatever they record, nothing is lost and sums add up."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from captures import Core, Event, Row, capture, session, thread

from tb_xla_insights.analysis.window import window
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
    for kind, id_ in (("_pt", "_p"), ("_ct", "_c")):
        if pick.random() < 0.4:
            stats |= {kind: pick.choice((12, 15)), id_: pick.randint(0, 9)}
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
        own = {key: value for key, value in stats.items() if value}
        return pick.choice(OPS), pick.randint(0, 60) * scale, pick.choice((0, 1, 2, 10)) * scale, own

    runs, ops = ([make() for _ in range(pick.choice((0, 1, 12)))] for make in (run, op))
    return Core(ops, runs, name=f"{pick.choice(('TPU', 'GPU'))}:{number}")


def any_session(pick: random.Random) -> SessionTrace:
    scale = pick.choice((1, US, 20 * US))
    hosts = []
    for host in range(pick.choice((1, 1, 2))):
        parts: list[Row | Core] = [
            thread(pick.choice(THREADS), *(any_event(pick, scale) for _ in range(pick.choice((0, 1, 5, 25)))))
            for _ in range(pick.randint(0, 4))
        ]
        cores = (any_core(pick, scale, number) for number in range(pick.choice((0, 1, 2))))
        hosts.append(capture(*parts, *cores, host=f"host{host}"))
    return session(*hosts)


def any_gpus(pick: random.Random) -> SessionTrace:
    """GPUs that record kernels alone, and the driver's calls on the threads that execute, or on lines of their own."""
    hosts = []
    for host in range(pick.choice((1, 1, 2))):
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
            calls = pick.choice((name, name, f"Host Threads/{name}"))
            line = threads.setdefault(name, [])
            if pick.random() < 0.9:
                line += [("PjRtStreamExecutorLoadedExecutable::Execute", at, length, {})]
                line += [("GpuExecutable::ExecuteThunks", at + US, length - 2 * US, {})]
            for _ in range(pick.choice((0, 1, 6))):
                when, id_ = (
                    at + pick.randint(1, length // US) * US,
                    pick.choice((launch, pick.randint(-9, 999))),
                )
                threads.setdefault(calls, []).append(("cuLaunchKernel", when, US, {"correlation_id": id_}))
                program = {"hlo_module": pick.choice("fg"), "program_id": pick.randint(0, 1)}
                stats = {"correlation_id": id_} | (program if pick.random() < 0.9 else {})
                kernel = (
                    pick.choice(OPS),
                    when + pick.randint(-5, 50) * US,
                    pick.choice((0, 1, 30)) * US,
                    stats,
                )
                of = pick.choice(streams).setdefault(f"Stream #{pick.randint(1, 2)}(Kernel)", [])
                of += [kernel] * pick.choice((1, 1, 1, 2))
        rows = [thread(name, *events) for name, events in threads.items()]
        cores = [Core(name=f"GPU:{number}", lines=lines) for number, lines in enumerate(streams)]
        some = [any_core(pick, US, 2)] if pick.random() < 0.2 else []
        hosts.append(capture(*rows, *cores, *some, host=f"host{host}"))
    return session(*hosts)


@pytest.mark.parametrize("make", [any_session, any_gpus])
@pytest.mark.parametrize("seed", range(150))
def test_sums_hold(seed: int, make: Callable[[random.Random], SessionTrace]) -> None:
    its = make(random.Random(seed))
    report: Any = session_report(its)
    devices, gaps, propagation = report["devices"], report["gaps"], report["propagation"]
    for device in devices:
        assert device["busy_ps"] + device["idle_ps"] == device["span_ps"]
        assert 0 <= device["stall_ps"] <= device["busy_ps"] <= device["span_ps"]
    assert gaps["total_ps"] == sum(device["idle_ps"] for device in devices)
    assert gaps["listed_ps"] == sum(gap["duration_ps"] for gap in gaps["items"])
    assert gaps["listed_ps"] == sum(gaps["by_class_ps"].values())
    assert gaps["listed_ps"] == sum(pattern["total_ps"] for pattern in gaps["patterns"])
    for gap in gaps["items"]:
        assert sum(gap["by_class_ps"].values()) == gap["duration_ps"] >= 10 * US
        at = gap["start_ps"]
        for link in gap["chain"]:
            assert link["start_ps"] == at
            assert link["duration_ps"] > 0
            at += link["duration_ps"]
        assert at == gap["start_ps"] + gap["duration_ps"]
        assert gap["kind"] != "queued" or gap["cause"] == "wait"
    for row in report["executions"]:
        parts = [row["device_ps"], row["queue_ps"], row["overhead_ps"]]
        assert sum(parts) == row["host_ps"]
        assert min(parts) >= 0
    for step in report["steps"]:
        assert sum(step["host_ps"].values()) == step["duration_ps"]
        assert min(step["host_ps"].values(), default=0) >= 0
    kinds = ("direct_ps", "recovered_ps", "bare_ps", "none_ps")
    assert sum(propagation[kind] for kind in kinds) == propagation["device_ps"]
    steps = {
        step["host"]: [it for it in report["steps"] if it["host"] == step["host"]] for step in report["steps"]
    }
    # Where the host only hands steps over, they last as long as its devices work: within their spans.
    spans = {
        host: max(it["span_ps"] for it in report["devices"] if it["host"] == host)
        for host in {it["host"] for it in report["devices"]}
    }
    longest = max(
        (
            max(sum(it["duration_ps"] for it in own), spans.get(host, 0)) / len(own)
            for host, own in steps.items()
        ),
        default=0,
    )
    for finding in report["findings"]:
        assert finding["cost_ps"] >= 0
        least, most = finding["step_if_fixed_ps"], finding["step_if_fixed_most_ps"]
        assert (least is None) == (most is None)
        assert 0 <= (least or 0) <= (most or 0) <= longest + 1
        assert (finding["gain_at_worst"] is None) == (least is None)
        assert 0 <= (finding["gain_at_worst"] or 0) <= max(finding["gain"] or 0, 0)
    # These take idle time from each other; the others tell of busy time.
    shared = ("device_stalls", "exposed_collectives")
    assert sum(it["cost_ps"] for it in report["findings"] if it["id"] not in shared) <= gaps["total_ps"]
    if its.duration_ps:
        some = window(its, its.duration_ps // 3, its.duration_ps // 3 + 1 + its.duration_ps // 5)
        assert sum(some["by_class_ps"].values()) == some["duration_ps"]
