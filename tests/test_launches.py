"""The call of each run, its sync and its step: by flow, by key, and by order."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from captures import real_trace
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import US, Tpu, demo

from tb_xla_insights.analysis.launches.enqueues import JOINS
from tb_xla_insights.analysis.launches.launches import KINDS, Launches, find_launches
from tb_xla_insights.analysis.launches.match_by_order import match_by_order
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.trace.model import Flows, Trace


def join_counts(launches: Launches) -> dict[str, int]:
    return {
        name: int((launches.runs.join == join).sum())
        for join, name in enumerate(JOINS)
        if join in launches.runs.join
    }


def step_numbers(trace: Trace, launches: Launches) -> list[int | None]:
    return [None if step < 0 else find_steps(trace)[step].number for step in launches.step.tolist()]


def two_steps(flows: bool = True, run_ids: bool = True) -> Tpu:
    """Two steps; the first step's run begins during the second step and lasts past its end."""
    loop = Tpu(flows=flows, run_ids=run_ids)
    loop.step(0, 100, 7)
    loop.launch(80, (90, 20), (130, 120), by="marker")
    loop.step(100, 100, 8)
    loop.launch(110, (120, 10), (250, 5), program="inputs(3)")
    loop.launch(120, (135, 10), (255, 20), program="forward(4)", by="dynamo")
    loop.launch(180, (190, 20), (275, 50), by="marker")
    return loop


@pytest.mark.parametrize(("flows", "run_ids"), [(True, True), (True, False), (False, True), (False, False)])
def test_call_sync_and_step_of_each_run(flows: bool, run_ids: bool) -> None:
    trace = two_steps(flows=flows, run_ids=run_ids).trace()
    launches = find_launches(trace)
    assert [trace.name(row) for row in launches.row] == ["PjRtComputationClient::ExecuteComputation"] * 4
    assert (trace.start_ps[launches.row] // US).tolist() == [90, 120, 135, 190]
    assert [trace.lines[line].name for line in launches.line] == ["tf_pytorchxla/7"] * 4
    syncs = ["SyncTensorsGraphInternal", "SyncTensorsGraphInternal", "ExecuteComputationWithBarrier"]
    assert [trace.name(row) for row in launches.sync] == [*syncs, "SyncTensorsGraphInternal"]
    assert [KINDS[kind] for kind in launches.kind] == ["lazy", "lazy", "dynamo", "lazy"]
    assert (launches.marker >= 0).tolist() == [True, False, False, True]
    assert step_numbers(trace, launches) == [7, 8, 8, 8]
    assert launches.runs.launch.tolist() == [0, 1, 2, 3]
    names = [launches.programs[program] for program in launches.program]
    assert names == [("train", "7"), ("inputs", "3"), ("forward", "4"), ("train", "7")]
    assert join_counts(launches) == {"exact" if flows else "ordered": 4}
    assert [trace.name(row) for row in launches.runs.enqueue_row] == ["DoEnqueueProgram"] * 4
    assert (launches.runs.enqueue_ps == trace.end_ps[launches.runs.enqueue_row]).all()


def test_keys_are_more_reliable_than_order() -> None:
    """Runs of two queues may overtake each other."""
    loop = two_steps(flows=False)
    _, (name, start, duration, stats), (overtaking_name, *times, overtaking_stats), _ = loop.runs[0]
    loop.runs[0][1:3] = [(name, *times, stats), (overtaking_name, start, duration, overtaking_stats)]
    launches = find_launches(loop.trace())
    assert launches.runs.launch.tolist() == [0, 2, 1, 3]


def test_launch_from_the_thread_of_a_backward_pass() -> None:
    loop = Tpu()
    loop.step(0, 100, 1)
    loop.on_main("backward", 10, 80)
    loop.launch(20, (30, 10), (50, 10), autograd=True)
    trace = loop.trace()
    launches = find_launches(trace)
    assert trace.line_of(int(launches.sync[0])).name == "pt_autograd_0"
    assert (step_numbers(trace, launches), launches.marker.tolist()) == ([1], [-1])


def test_launch_has_one_run_on_each_core() -> None:
    loop = Tpu()
    loop.step(0, 100, 1)
    loop.launch(5, (10, 10), (30, 10), cores=(0, 1, 2))
    loop.launch(50, (60, 10), (80, 10), cores=(0, 1, 2), by="marker")
    launches = find_launches(loop.trace())
    assert len(launches) == 2
    assert launches.runs.launch.tolist() == [0, 1] * 3
    assert launches.runs.device.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("enqueues", [True, False])
def test_each_core_takes_all_calls_if_cores_are_unknown(enqueues: bool) -> None:
    loop = Tpu(flows=False, run_ids=False)
    loop.step(0, 200, 1)
    for at in (0, 100):
        loop.launch(at + 5, (at + 10, 60), (at + 30, 10), cores=(0, 1), enqueue=at + 25)
    if not enqueues:
        loop.executor = [event for event in loop.executor if event[0] != "DoEnqueueProgram"]
    trace = loop.trace()
    launches = find_launches(trace)
    assert launches.runs.launch.tolist() == [0, 1, 0, 1]
    assert join_counts(launches) == {"ordered": 4}
    # The call outlasts the run, but the run was enqueued before it began.
    assert (launches.runs.enqueue_ps // US).tolist() == [30, 130, 30, 130]


def test_call_whose_run_is_after_the_capture_is_a_launch() -> None:
    loop = two_steps()
    loop.runs[0].pop()
    launches = find_launches(loop.trace())
    assert (len(launches), len(launches.runs), launches.program[3]) == (4, 3, -1)


def test_run_whose_call_is_before_the_capture_has_no_launch() -> None:
    loop = two_steps()
    loop.runs[0].insert(0, ("train(7)", 0, 5 * US, {"run_id": 99, "queue_id": 0, "core_type": 0}))
    launches = find_launches(loop.trace())
    assert launches.runs.launch.tolist() == [-1, 0, 1, 2, 3]
    assert join_counts(launches) == {"exact": 4, "none": 1}


def test_steps_from_markers_contain_their_markers_launches() -> None:
    """Events before the first marker's end are in a partial step."""
    loop = Tpu()
    for i in range(4):
        loop.launch(100 * i + 20, (100 * i + 30, 10), (100 * i + 90, 60), by="marker")
    loop.launch(230, (240, 5), (250, 5), program="part(9)")
    trace = loop.trace()
    assert find_steps(trace)[0].source == "step_marker"
    assert find_launches(trace).step.tolist() == [-1, 0, 1, 2, 2]


def test_steps_from_modules_contain_the_runs_that_begin_in_them() -> None:
    loop = Tpu()
    for i in range(3):
        loop.launch(10 * i, (10 * i + 5, 4), (100 * i + 50, 60), by="dynamo", cores=(0, 1))
    loop.launch(40, (45, 4), (310, 5), by="dynamo", program="g(2)", cores=(0, 1))
    loop.main = [event for event in loop.main if event[0] != "StepMarker"]
    trace = loop.trace()
    assert find_steps(trace)[0].source == "modules"
    assert find_launches(trace).step.tolist() == [0, 1, -1, -1]


@st.composite
def queues(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Starts of a device's runs, the call of each (-1: before the capture), and starts of the calls in the capture."""
    count = draw(st.integers(1, 12))
    calls = list(accumulate(draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))))
    free_at, runs = 0, []
    for call in calls:
        free_at = max(free_at, call) + draw(st.integers(0, 25))
        runs.append(free_at)
    begin = draw(st.integers(0, calls[-1]))
    end = draw(st.integers(begin, runs[-1]))
    recorded_calls = [i for i, call in enumerate(calls) if begin <= call <= end]
    recorded_runs = [i for i, run in enumerate(runs) if begin <= run <= end]
    return (
        [runs[i] for i in recorded_runs],
        [recorded_calls.index(i) if i in recorded_calls else -1 for i in recorded_runs],
        [calls[i] for i in recorded_calls],
    )


@settings(max_examples=300, deadline=None)
@given(queues(), st.data())
def test_one_known_call_determines_all_others_by_order(
    queue: tuple[list[int], list[int], list[int]], data: st.DataObject
) -> None:
    """A device runs its launches in order: one run's known call determines the calls of all others."""
    runs, truth, calls = queue
    joined = [i for i, call in enumerate(truth) if call >= 0]
    if not joined:
        return
    known_runs = data.draw(st.sets(st.sampled_from(joined), min_size=1))
    known_calls = np.array([call if i in known_runs else -1 for i, call in enumerate(truth)], np.int64)
    shuffled = np.array(data.draw(st.permutations(range(len(runs)))))
    matched = match_by_order(np.array(runs)[shuffled], known_calls[shuffled], np.array(calls, np.int64))
    expected = [-1 if run in known_runs else truth[run] for run in shuffled.tolist()]
    starts = [runs[i] for i in shuffled.tolist()]
    if len(set(starts)) == len(starts):  # runs without duration may start together
        assert matched.tolist() == expected


DEMOS = [
    "synthetic_case_study_8_tpu_cores",
    "synthetic_dynamo_issue_dynamo",
    "torch_xla_dynamo",
    "torch_xla_early_item",
]


def without_flows(trace: Trace) -> Trace:
    trace.flows = Flows(np.zeros(0, np.int32), np.zeros(0, np.int32))
    return trace


@pytest.mark.parametrize("name", DEMOS)
def test_order_agrees_with_flows(name: str) -> None:
    by_flow, by_order = find_launches(demo(name)), find_launches(without_flows(demo(name)))
    for column in ("row", "sync", "marker", "step", "kind", "program"):
        assert getattr(by_order, column).tolist() == getattr(by_flow, column).tolist(), column
    assert by_order.runs.launch.tolist() == by_flow.runs.launch.tolist()
    assert by_order.runs.enqueue_row.tolist() == by_flow.runs.enqueue_row.tolist()
    assert join_counts(by_order) == {"ordered": len(by_flow.runs)}


def test_order_agrees_with_flows_on_a_tpu(shared_traces: Path) -> None:
    folder = shared_traces / "public/tpu_v6e_jax"
    by_flow, by_order = find_launches(real_trace(folder)), find_launches(without_flows(real_trace(folder)))
    assert by_order.runs.launch.tolist() == by_flow.runs.launch.tolist()


def test_case_study_over_xrt() -> None:
    trace = demo("synthetic_case_study_8_tpu_cores")
    launches = find_launches(trace)
    assert join_counts(launches) == {"exact": 96}
    assert {trace.name(row) for row in launches.row} == {"ExecuteReplicated"}
    assert {trace.name(row) for row in launches.runs.enqueue_row} == {"TPUExecute"}
    # The first launch's marker is before the capture.
    assert step_numbers(trace, launches) == [
        None,
        1204,
        1205,
        1206,
        1207,
        1208,
        1209,
        1210,
        1211,
        1211,
        1212,
        1213,
    ]
    assert [KINDS[kind] for kind in launches.kind] == ["other", *["lazy"] * 11]


def test_every_run_of_a_real_tpu_is_joined(shared_traces: Path) -> None:
    launches = find_launches(real_trace(shared_traces / "public/tpu_v6e_jax"))
    assert (join_counts(launches), len(launches)) == ({"exact": 414}, 105)


LAUNCHES_PER_STEP = {
    "tiny_baseline": 1, "tiny_nodebug": 1, "tiny_coldstart": 1, "tiny_dynamic": 1, "tiny_mp_loader": 1,
    "tiny_slow_input": 1, "tiny_server": 1, "baseline_session_debug": 1, "baseline_server_level1": 1,
    "lazy_train_session": 1, "multihost_server_debug": 1, "spmd_fsdp_debug": 1, "tiny_early_item": 3,
    "tiny_grad_accum_sync": 4, "tiny_dynamo_train": 4, "dynamo_train_session": 4,
}  # fmt: skip


@pytest.mark.parametrize("scenario", LAUNCHES_PER_STEP)
def test_launches_per_step_of_real_runs(shared_traces: Path, scenario: str) -> None:
    trace = real_trace(shared_traces / "torch_xla" / scenario)
    launches = find_launches(trace)
    counts = np.bincount(launches.step[launches.step >= 0], minlength=len(find_steps(trace)))
    assert counts.tolist() == [LAUNCHES_PER_STEP[scenario]] * len(find_steps(trace))
    assert (launches.runs.launch >= 0).all()


def test_queued_runs_take_their_calls_in_order(shared_traces: Path) -> None:
    """Each step runs the same four programs, and no run begins before its call."""
    trace = real_trace(shared_traces / "torch_xla/dynamo_train_session")
    launches = find_launches(trace)
    assert join_counts(launches) == {"exact": 19, "ordered": 29}
    names = [
        launches.programs[program].name.removeprefix("SyncTensorsGraph.") for program in launches.program
    ]
    assert names == ["760", "72", "1055", "616"] * 12
    assert [KINDS[kind] for kind in launches.kind] == ["dynamo", "lazy"] * 24
    assert (trace.start_ps[launches.row[launches.runs.launch]] < launches.runs.start_ps).all()
