"""Waits of cores for each other at the start of a run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from captures import Core, Event, capture, real_trace, thread
from launching import TO_DEVICE, US, event

from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.analysis.findings import Finding, find_findings
from tb_xla_insights.analysis.idle.barriers import find_barriers
from tb_xla_insights.analysis.idle.chains import find_chains
from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.idle.idle_time import QUEUED, STARVED, find_gaps
from tb_xla_insights.analysis.idle.in_steps import device_time
from tb_xla_insights.catalog.classes import CLASS_INDEX, WAIT
from tb_xla_insights.report.gap_text import gap_sentence
from tb_xla_insights.trace.model import Trace

LATE_US = 400
"""How much later the second core is enqueued."""


def two_cores(late_us: float = LATE_US, launches: int = 3) -> Trace:
    """Launches of one program on two cores, 1000 us apart. The first core begins at once and waits for the second, then
    both work for 300 us. The host runs Python between launches."""
    calls: list[Event] = []
    rows: dict[str, list[list[Event]]] = {name: [[], []] for name in ("ops", "runs", "barriers")}
    for number in range(launches):
        start = 1000 * number + 100
        calls.append(event("$train.py:9 prepare", start - 90, 80))
        calls.append(event("TpuLoadedExecutable::Execute", start, late_us + 20))
        for core, enqueued in enumerate((start + 5, start + 5 + late_us)):
            flow = {"_pt": TO_DEVICE, "_p": 10 * number + core}
            calls.append(event("DoEnqueueProgram", enqueued, 5, **flow))
            begin, ready = enqueued + 45, start + 5 + late_us + 48
            consumed = {"_ct": TO_DEVICE, "_c": 10 * number + core}
            rows["runs"][core].append(event("train(7)", begin, ready + 300 - begin, **consumed))
            rows["barriers"][core].append(event("barrier-cores", begin, ready - begin))
            rows["ops"][core].append(event("fusion.1", ready, 300))
    return capture(
        thread("python", *sorted(calls, key=lambda row: (row[1], -row[2]))),
        *(
            Core(
                rows["ops"][core],
                rows["runs"][core],
                f"TPU:{core}",
                lines={"XLA TraceMe": rows["barriers"][core]},
            )
            for core in range(2)
        ),
    )


def test_the_core_with_the_shortest_wait_came_last() -> None:
    barriers = find_barriers(two_cores())
    assert barriers.device.tolist() == [0, 0, 0, 1, 1, 1]
    assert (barriers.end_ps - barriers.start_ps).tolist() == [(LATE_US + 3) * US] * 3 + [3 * US] * 3
    assert barriers.late_device.tolist() == [1, 1, 1, -1, -1, -1]


def test_a_gap_that_is_mostly_a_barrier_waits_for_the_other_core() -> None:
    trace = two_cores()
    gaps = find_gaps(trace)
    assert (gaps.by_class_ps.sum(axis=1) == gaps.duration_ps).all()
    of_first = np.flatnonzero(gaps.device == 0)
    assert gaps.kind[of_first].tolist() == [QUEUED] * 3
    assert gaps.cause[of_first].tolist() == [WAIT] * 3
    assert gaps.late_device[of_first].tolist() == [1] * 3
    assert gaps.barrier_ps[of_first].tolist() == [(LATE_US + 3) * US] * 3
    assert (gaps.by_class_ps[of_first, WAIT] == gaps.barrier_ps[of_first]).all()
    of_second = np.flatnonzero(gaps.device == 1)
    assert gaps.kind[of_second].tolist() == [STARVED] * 2, "it waits for the host"
    assert gaps.late_device[of_second].tolist() == [-1] * 2
    last = find_chains(trace, of_first[-1:])[0]
    assert (last[-1]["name"], last[-1]["class"], last[-1]["thread"]) == (
        "barrier-cores, waits for TPU:1", "wait", "TPU:0"
    )  # fmt: skip
    assert sum(link["duration_ps"] for link in last) == gaps.duration_ps[of_first[-1]]
    items = gaps_report(trace)["items"]
    assert {row["late_device"] for row in items} == {"vm/TPU:1", None}
    sentence = gap_sentence(next(row for row in items if row["late_device"]), "jax")
    assert (
        sentence == "train had begun and waited 0.403\u202fms for TPU:1, which began it last (barrier-cores)."
    )


def test_a_short_barrier_leaves_the_gap_to_the_host() -> None:
    gaps = find_gaps(two_cores(late_us=20))
    later = np.flatnonzero((gaps.device == 0) & (gaps.before >= 0))
    assert gaps.kind[later].tolist() == [STARVED] * 2
    assert (gaps.barrier_ps[later] == 23 * US).all()
    assert (gaps.by_class_ps[later, WAIT] == 23 * US).all()


def test_barriers_of_devices_and_steps() -> None:
    trace = two_cores()
    rows = device_summaries(trace)
    assert [row["barrier_ps"] for row in rows] == [3 * (LATE_US + 3) * US, 3 * 3 * US]
    assert all(row["barrier_ps"] <= row["idle_ps"] for row in rows)
    time = device_time(trace, 0)
    assert (time.by_class_ps.sum(axis=1) + time.small_ps == time.idle_ps).all()
    assert time.by_class_ps[:, CLASS_INDEX["wait"]].sum() >= 2 * (LATE_US + 3) * US


@pytest.mark.parametrize(
    ("folder", "waiting", "late"),
    [("engines/barrier", "TPU:0", "TPU:1"), ("tpu/vllm_qwen3_step", "TPU:1", "TPU:0")],
)
def test_tpus_with_a_late_core(shared_traces: Path, folder: str, waiting: str, late: str) -> None:
    trace = real_trace(shared_traces / folder)
    gaps = find_gaps(trace)
    names = [device.name for device in trace.devices]
    queued = np.flatnonzero(gaps.kind == QUEUED)
    assert {(names[gaps.device[gap]], names[gaps.late_device[gap]]) for gap in queued} == {(waiting, late)}
    if folder == "engines/barrier":
        truth = json.loads((shared_traces / folder / "truth.json").read_text())["cores"]
        assert {f"/device:{row['name']}": row["barrier_ps"] for row in device_summaries(trace)} == {
            name: core["barrier_ps"] for name, core in truth.items()
        }


def late_cores(trace: Trace) -> list[Finding]:
    return [finding for finding in find_findings(trace) if finding.id == "late_core"]


def test_the_core_that_is_launched_later_is_a_finding() -> None:
    (finding,) = late_cores(two_cores(launches=6))
    assert finding.title == "TPU:0 waits for TPU:1, which is launched later"
    assert finding.evidence == {
        "late_device": "vm/TPU:1",
        "launches": 6,
        "barrier_ps": 6 * LATE_US * US,
        "enqueued_later_ps": 6 * LATE_US * US,
    }
    # Both cores idle for that time: one in the barrier, the other before its launch, except before its first run.
    assert finding.cost_ps == (6 + 5) * LATE_US * US
    assert "waits 0.400\u202fms a step for TPU:1 at the start of a run" in finding.detail
    assert "enqueued 0.400\u202fms later, by the thread python" in finding.detail


def test_a_core_that_comes_late_because_it_works_longer_is_not_launched_late() -> None:
    calls: list[Event] = []
    rows: list[list[tuple[int, int, int, dict[str, int]]]] = [[], []]
    for number in range(6):
        calls.append(event("TpuLoadedExecutable::Execute", 99 + 10 * number, 5))
        for core in range(2):
            calls.append(
                event("DoEnqueueProgram", 100 + 10 * number + core, 1, _pt=TO_DEVICE, _p=10 * number + core)
            )
            begin, ready, end = (
                300 + 1000 * number + offset for offset in ((0, 403, 900), (400, 403, 1400))[core]
            )
            rows[core].append((begin, ready, end, {"_ct": TO_DEVICE, "_c": 10 * number + core}))
    cores = [
        Core(
            [event("fusion.1", ready, end - ready) for _, ready, end, _ in rows[core]],
            [event("train(7)", begin, end - begin, **flow) for begin, _, end, flow in rows[core]],
            f"TPU:{core}",
            lines={
                "XLA TraceMe": [
                    event("barrier-cores", begin, ready - begin) for begin, ready, *_ in rows[core]
                ]
            },
        )
        for core in range(2)
    ]
    trace = capture(thread("python", *calls), *cores)
    assert find_barriers(trace).late_device.tolist() == [1] * 6 + [-1] * 6
    assert late_cores(trace) == []


def test_what_launching_the_late_core_with_the_others_gains(shared_traces: Path) -> None:
    """A step of 8.95 ms has 2.5 ms of barrier."""
    (finding,) = late_cores(real_trace(shared_traces / "engines/barrier"))
    assert finding.gain == pytest.approx(2.504 / 8.951, abs=0.005)
    for folder in ("tpu/vllm_qwen3_step", "public/tpu_v6e_jax"):
        assert late_cores(real_trace(shared_traces / folder)) == []
