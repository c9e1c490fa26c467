"""Early executions, input syncs and reads: which launches and events count as such."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import real_trace, session
from launching import Tpu, demo, event
from synthetic import case_study

from tb_xla_insights.analysis.delays.early_executions import (
    early_executions_report,
    find_early_executions,
    reads_report,
)
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.steps.step_table import steps_report
from tb_xla_insights.trace.model import Trace


def per_step(trace: Trace) -> list[list[int]]:
    """Early executions, input syncs and reads, each per step."""
    return [column.tolist() for column in find_early_executions(trace).per_step(trace)]


def one_step() -> Tpu:
    loop = Tpu()
    loop.step(0, 200, 5)
    loop.on_main("forward", 10, 60)
    loop.launch(150, (160, 10), (200, 80), by="marker")
    return loop


def test_value_fetched_in_the_middle_of_a_step() -> None:
    loop = one_step()
    loop.on_main("attention", 15, 50)
    loop.launch(20, (25, 10), (40, 10), program="part(9)")
    loop.on_main("PjRtComputationClient::TransferFromDevice", 40, 12)
    trace = loop.trace()
    assert per_step(trace) == [[1], [0], [1]]
    (row,) = early_executions_report(trace)
    us = 1_000_000
    assert row == {
        "host": "vm", "step": 0, "annotation": "Training_Step/forward/attention", "trigger": "read", "program": "part",
        "thread": "python", "start_ps": 20 * us, "duration_ps": 32 * us, "device_ps": 10 * us, "idle_ps": 150 * us,
    }  # fmt: skip


def test_sync_before_a_dynamo_execution_is_an_input_sync() -> None:
    loop = one_step()
    loop.launch(20, (25, 10), (40, 10), program="inputs(9)")
    loop.launch(38, (45, 10), (60, 10), by="dynamo")
    loop.on_main("PjRtComputationClient::TransferFromDevice", 90, 12)
    assert per_step(loop.trace()) == [[0], [1], [1]]


def test_step_markers_sync_is_not_an_input_sync() -> None:
    loop = one_step()
    loop.step(200, 100, 6)
    loop.launch(210, (215, 10), (290, 10), by="dynamo")
    assert per_step(loop.trace()) == [[0, 0], [0, 0], [0, 0]]


def test_read_inside_a_sync_does_not_follow_it() -> None:
    loop = one_step()
    loop.launch(20, (25, 10), (40, 10), program="inputs(9)")
    loop.on_main("PjRtComputationClient::TransferFromDevice", 23, 0.5)
    loop.launch(38, (45, 10), (60, 10), by="dynamo")
    assert per_step(loop.trace()) == [[0], [1], [1]]


def test_a_launch_that_ends_its_step_cuts_nothing() -> None:
    """Steps of inference: the result is read, and the step's marker has nothing left to launch."""
    loop = Tpu()
    for i in range(3):
        at = 1000 * i
        loop.step(at, 900, i)
        loop.launch(at + 600, (at + 605, 10), (at + 650, 200))
        loop.on_main("PjRtComputationClient::TransferFromDevice", at + 610, 250)
    assert per_step(loop.trace()) == [[0, 0, 0], [0, 0, 0], [1, 1, 1]]
    loop.launch(850, (855, 10), (880, 20), by="marker")
    loop.launch(2850, (2855, 10), (2880, 20), by="marker")
    assert per_step(loop.trace()) == [[1, 0, 1], [0, 0, 0], [1, 1, 1]]


def test_outside_of_steps_a_marker_outside_of_them_launches_the_rest() -> None:
    loop = one_step()
    loop.launch(300, (305, 10), (320, 10), program="part(9)")
    loop.on_main("PjRtComputationClient::TransferFromDevice", 320, 12)
    assert find_early_executions(loop.trace()).launch.size == 0
    loop.launch(400, (405, 10), (420, 10), by="marker")
    assert find_early_executions(loop.trace()).launch.tolist() == [1]


def test_step_closure_is_not_an_early_execution() -> None:
    """The closure reads after the marker; its synchronisation launches nothing, if there is one."""
    loop = one_step()
    loop.on_main("SyncTensorsGraphInternal", 170, 5)
    loop.on_main("PjRtComputationClient::TransferFromDevice", 176, 12)
    assert per_step(loop.trace()) == [[0], [0], [1]]


def test_sync_without_read_is_not_an_early_execution() -> None:
    loop = one_step()
    loop.launch(20, (25, 10), (40, 10), program="part(9)")
    assert per_step(loop.trace()) == [[0], [0], [0]]


def test_read_on_another_thread_does_not_follow() -> None:
    loop = one_step()
    loop.launch(20, (25, 10), (40, 10), program="part(9)", autograd=True)
    loop.on_main("PjRtComputationClient::TransferFromDevice", 40, 12)
    assert per_step(loop.trace()) == [[0], [0], [1]]


def test_step_marker_inside_a_step() -> None:
    loop = one_step()
    loop.launch(20, (30, 10), (50, 10), program="part(9)", by="marker")
    trace = loop.trace()
    assert per_step(trace) == [[1], [0], [0]]
    (row,) = early_executions_report(trace)
    assert (row["annotation"], row["trigger"]) == ("Training_Step/forward", "step_marker")


def test_nested_step_ends_with_its_own_marker() -> None:
    loop = Tpu()
    loop.step(0, 400, 1)
    for i in range(2):
        loop.step(200 * i + 5, 190, i + 5)
        loop.launch(200 * i + 150, (200 * i + 160, 10), (200 * i + 180, 50), by="marker")
    assert per_step(loop.trace()) == [[0], [0], [0]]


def test_python_frames_are_not_annotations() -> None:
    loop = Tpu()
    loop.step(0, 200, 5)
    loop.on_main("$train.py:30 step", 5, 190)
    loop.launch(150, (160, 10), (200, 80), by="marker")
    assert per_step(loop.trace()) == [[0], [0], [0]]


def test_step_marker_in_an_annotation_outside_of_steps() -> None:
    loop = Tpu()
    loop.on_main("epoch", 0, 100)
    loop.launch(20, (30, 10), (50, 10), by="marker")
    loop.launch(60, (70, 10), (90, 10), by="marker")
    assert find_early_executions(loop.trace()).launch.size == 0


def test_early_execution_in_a_backward_pass_belongs_to_the_open_annotation() -> None:
    loop = one_step()
    loop.on_main("backward", 80, 60)
    loop.launch(90, (95, 10), (110, 10), program="part(9)", autograd=True)
    loop.autograd.append(("PjRtComputationClient::TransferFromDevice", 105_000_000, 12_000_000))
    (row,) = early_executions_report(loop.trace())
    assert (row["annotation"], row["step"]) == ("Training_Step/backward", 0)


def test_reads_in_half_of_the_steps_are_reads_in_most_steps() -> None:
    loop = Tpu()
    for i in range(4):
        loop.step(100 * i, 90, i)
        loop.launch(100 * i + 60, (100 * i + 70, 5), (100 * i + 80, 5), by="marker")
    loop.on_main("PjRtComputationClient::TransferFromDevice", 10, 20)
    assert not reads_report(loop.trace())["most_steps"]
    loop.on_main("PjRtComputationClient::TransferFromDevice", 130, 20)
    loop.on_main("PjRtComputationClient::GetDataShard", 132, 5)  # a part of that read
    report = reads_report(loop.trace())
    assert (report["steps"], report["steps_with_reads"], report["reads"], report["most_steps"]) == (
        4,
        2,
        2,
        True,
    )
    assert report["duration_ps"] == 40_000_000
    assert report["idle_ps"] == 20_000_000  # the first read is before the device's first run


@pytest.mark.parametrize("read", ["PjRtComputationClient::TransferFromDevice", "np.asarray(jax.Array)"])
def test_reads_after_each_step_count_for_the_step_before(read: str) -> None:
    """A read before the first step belongs to no step."""
    loop = Tpu()
    loop.on_main(read, 0, 5)
    for i in range(3):
        at = 1000 * i + 10
        loop.step(at, 900, i + 5)
        loop.launch(at + 600, (at + 605, 10), (at + 650, 200), by="marker")
        loop.on_main(read, at + 920, 60)
    trace = loop.trace()
    assert per_step(trace) == [[0, 0, 0], [0, 0, 0], [1, 1, 1]]
    assert [row["from_device"] for row in steps_report(trace)] == [1, 1, 1]
    assert reads_report(trace)["steps_with_reads"] == 3


def test_case_study() -> None:
    trace, truth = demo("synthetic_case_study_8_tpu_cores"), case_study.truth()
    executions = find_early_executions(trace)
    assert [enclosing_path(trace, int(row)) for row in executions.annotation] == [truth.early_annotation]
    is_early_step = [truth.early_step == step.number for step in truth.steps]
    assert per_step(trace) == [is_early_step, [0] * len(is_early_step), is_early_step]
    (row,) = early_executions_report(trace)
    assert (row["trigger"], row["program"]) == ("step_marker", "SyncTensorsGraph.41102")


def test_dynamo_issue() -> None:
    assert per_step(demo("synthetic_dynamo_issue_dynamo")) == [[0], [2], [0]]
    assert per_step(demo("synthetic_dynamo_issue_lazy")) == [[0], [0], [0]]


def test_step_marker_on_the_backward_thread() -> None:
    """The driving thread's `backward` encloses it."""
    loop = one_step()
    loop.on_main("backward", 75, 60)
    loop.launch(80, (95, 10), (110, 10), by="marker", autograd=True)
    (row,) = early_executions_report(loop.trace())
    assert (row["annotation"], row["trigger"], row["thread"]) == (
        "Training_Step/backward", "step_marker", "pt_autograd_0",
    )  # fmt: skip


def test_launches_of_torch_compiles_bridge_are_not_early_executions() -> None:
    """In a backward pass, the bridge's step markers run the operations traced so far, before it extracts the graph."""
    loop = one_step()
    loop.on_main("backward", 75, 60)
    loop.launch(80, (95, 10), (110, 10), by="marker", autograd=True)
    loop.autograd += [
        event("StepMarker", 90, 2),
        event("RunPostOrder", 94, 1),
        event("SyncTensorsGraph", 96, 1),
    ]
    trace = loop.trace()
    assert early_executions_report(trace) == []
    assert per_step(trace) == [[0], [0], [0]]


REAL = {
    "tiny_early_item": (2, 0, 2), "tiny_dynamo_train": (0, 1, 0), "dynamo_train_session": (0, 1, 0),
    "lazy_train_session": (0, 0, 0), "tiny_baseline": (0, 0, 0), "tiny_nodebug": (0, 0, 0), "tiny_server": (0, 0, 0),
    "tiny_coldstart": (0, 0, 0), "tiny_dynamic": (0, 0, 0), "tiny_grad_accum_sync": (0, 0, 0),
    "tiny_mp_loader": (0, 0, 0), "tiny_slow_input": (0, 0, 0), "spmd_fsdp_debug": (0, 0, 0),
    "baseline_session_debug": (0, 0, 0), "baseline_server_level1": (0, 0, 0), "multihost_server_debug": (0, 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("scenario", REAL)
def test_real_steps(shared_traces: Path, scenario: str) -> None:
    trace = real_trace(shared_traces / "torch_xla" / scenario)
    counts = set(zip(*per_step(trace), strict=True))
    assert counts == {REAL[scenario]}
    assert len(find_early_executions(trace).launch) == sum(per_step(trace)[0])


def test_real_items_are_fetched_in_forward(shared_traces: Path) -> None:
    trace = session(real_trace(shared_traces / "torch_xla/tiny_early_item"))
    rows = early_executions_report(trace.traces[0])
    assert {(row["annotation"], row["trigger"]) for row in rows} == {("Training_Step/forward", "read")}
    assert [row["program"] for row in rows[:2]] == ["SyncTensorsGraph.30", "SyncTensorsGraph.44"]
    assert reads_report(trace.traces[0])["most_steps"]
