"""The class at an instant: the sweep, compared with the definition at every instant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import HostThread, capture, real_trace, thread
from host_classes import INDEX, class_at, class_of_event, class_segments, innermost_at, times_by_class
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tb_xla_insights.analysis.host.classes import host_class_segments, thread_segments
from tb_xla_insights.analysis.time.class_times import class_times
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.trace.model import Role, Trace

NAMES = (
    "Training_Step", "data_loading", "StepMarker", "algsimp", "PjRtComputationClient::Compile", "LoadProgram",
    "PjRtComputationClient::TransferFromDevice", "PjRtComputationClient::TransferToDevice", "TensorCollectionBarrier",
    "RunExecutable", "TPUExecute", "ThunkExecutor::Execute", "Transpose::Execute", "MemoryAllocation", "$train.py:3 f",
    "$array.py:3 block_until_ready", "ExecuteComputation", "ExecuteComputationWithBarrier", "RunPostOrder",
)  # fmt: skip


@st.composite
def events(draw: Any, names: tuple[str, ...] = NAMES) -> list[tuple[str, int, int]]:
    """A few events within 40 ps that nest or do not overlap."""
    drawn: list[tuple[str, int, int]] = []
    for _ in range(draw(st.integers(0, 7))):
        name = draw(st.sampled_from(names))
        start = draw(st.integers(0, 39))
        end = draw(st.integers(start, 40))
        others = [(other_start, other_start + duration) for _, other_start, duration in drawn]
        is_nested_or_apart = all(
            other_end <= start or end <= other_start
            or (other_start <= start and end <= other_end) or (start <= other_start and other_end <= end)
            for other_start, other_end in others
        )  # fmt: skip
        is_duplicate = (start, end) in others
        if is_nested_or_apart and not is_duplicate:
            drawn.append((name, start, end - start))
    return drawn


@st.composite
def traces(draw: Any) -> Trace:
    roles: tuple[tuple[str, Role], ...] = (
        ("pt_autograd_0", "autograd"), ("tf_pytorchxla/1", "executor"), ("client/2", "client"), ("codegen", "compiler"),
        ("python", "loader"), ("tf_XLAEigen/3", "op_pool"), ("python", "other"),
    )  # fmt: skip
    threads: list[HostThread] = [thread("python", *draw(events()), role="driving")]
    threads += [thread(name, *draw(events()), role=role) for name, role in roles if draw(st.booleans())]
    return capture(*threads)


@given(traces())
def test_sweep_agrees_with_the_definition_at_every_instant(trace: Trace) -> None:
    segments = host_class_segments(trace)
    start, end = trace.span_ps
    assert [*segments.start_ps, end] == ([start, *segments.end_ps] if len(segments) else [end]), (
        "the segments have no holes"
    )
    for segment_start, segment_end, class_index, row in zip(
        segments.start_ps.tolist(),
        segments.end_ps.tolist(),
        segments.class_index.tolist(),
        segments.row.tolist(),
        strict=True,
    ):
        assert [class_at(trace, t) for t in range(segment_start, segment_end)] == [CLASSES[class_index]] * (
            segment_end - segment_start
        )
        assert row != -1 or CLASSES[class_index] in ("unrecorded", "dynamo")
        assert row == -1 or (trace.start_ps[row] <= segment_start and segment_end <= trace.end_ps[row])


@settings(max_examples=100, deadline=None)
@example([("ThunkExecutor::Execute", 0, 2), ("RunExecutable", 0, 1), ("TPUExecute", 0, 0)])
@given(events())
def test_segments_of_one_thread(drawn: list[tuple[str, int, int]]) -> None:
    trace = capture(thread("python", *drawn, role="driving"))
    segment_by_instant: list[tuple[int, str | None] | None] = [None] * 41
    segments = thread_segments(trace, 0)
    for start, end, class_index, row in zip(
        segments.start_ps, segments.end_ps, segments.class_index, segments.row, strict=True
    ):
        segment_by_instant[start:end] = [
            (int(row), CLASSES[class_index] if class_index >= 0 else None)
        ] * int(end - start)
    rows = [innermost_at(trace, 0, t) for t in range(41)]
    assert segment_by_instant == [
        (event, class_of_event(trace, event, t)) if event >= 0 else None for t, event in enumerate(rows)
    ]


# Cases that motivate the definition


def test_innermost_events_decide_the_classes_of_a_step() -> None:
    trace = capture(
        thread(
            "python",
            ("Training_Step", 0, 100, {"_r": 1}),
            ("data_loading", 5, 20),
            ("PjRtComputationClient::TransferToDevice", 15, 10),
            ("forward", 30, 30),
            ("StepMarker", 70, 30),
            ("TensorCollectionBarrier", 80, 10),
        )
    )
    assert class_segments(trace) == [
        (0, 5, "python"), (5, 15, "input"), (15, 25, "to_device"), (25, 30, "python"), (30, 60, "tracing"),
        (60, 70, "python"), (70, 80, "sync_prepare"), (80, 90, "wait"), (90, 100, "sync_prepare"),
    ]  # fmt: skip


def test_a_helper_that_waits_in_python_does_not_make_the_driving_thread_wait() -> None:
    """A thread of the program waits for work all the time."""
    trace = capture(
        thread("python", ("PjitFunction(f)", 0, 10), ("$time sleep", 20, 10), ("PjitFunction(f)", 40, 10),
               role="driving"),
        thread("client/2", ("$threading.py:9 wait", 0, 50), role="client"),
    )  # fmt: skip
    assert times_by_class(trace)["wait"] == 10


def test_a_loading_annotation_that_is_mostly_between_its_transfers_sends() -> None:
    """The second annotation loads for most of its time; of a single transfer it is not known what was before it."""
    send = "PjRtComputationClient::TransferToDevice"
    trace = capture(
        thread(
            "python", ("data_loading", 0, 30), (send, 2, 3), (send, 10, 3), (send, 20, 5),
            ("data_loading", 40, 30), (send, 60, 3), (send, 65, 5), ("data_loading", 80, 10), (send, 82, 8),
            role="driving",
        )
    )  # fmt: skip
    assert class_segments(trace) == [
        (0, 2, "input"), (2, 25, "to_device"), (25, 30, "input"), (30, 40, "unrecorded"), (40, 60, "input"),
        (60, 63, "to_device"), (63, 65, "input"), (65, 70, "to_device"), (70, 80, "unrecorded"), (80, 82, "input"),
        (82, 90, "to_device"),
    ]  # fmt: skip


def test_compiler_passes_are_compile_inside_a_compilation_else_other() -> None:
    inside = capture(
        thread("python", ("StepMarker", 0, 10), ("XLAGraphExecutor::Compile", 2, 6), ("algsimp", 3, 4))
    )
    assert times_by_class(inside) == {"sync_prepare": 4, "compile": 6}
    top = capture(thread("python", ("dce", 0, 3), ("algsimp", 3, 2), ("StepMarker", 5, 5)))
    assert times_by_class(top) == {"other": 5, "sync_prepare": 5}
    assert top.annotations.size == 0


def test_autograd_decides_while_it_records_runtime_events() -> None:
    trace = capture(
        thread("python", ("backward", 0, 50), ("StepMarker", 60, 20), role="driving"),
        thread("pt_autograd_0", ("SyncTensorsGraph", 10, 10), ("my_backward", 25, 10), ("SyncTensorsGraph", 65, 5),
               role="autograd"),
    )  # fmt: skip
    assert class_segments(trace) == [
        (0, 10, "tracing"), (10, 20, "sync_prepare"), (20, 50, "tracing"), (50, 60, "unrecorded"),
        (60, 80, "sync_prepare"),
    ]  # fmt: skip


def test_most_specific_helper_work_decides_while_the_driving_thread_waits() -> None:
    trace = capture(
        thread("python", ("TensorCollectionBarrier", 0, 40), role="driving"),
        thread("tf_pytorchxla/1", ("ExecuteComputation", 5, 30), role="executor"),
        thread("codegen", ("PjRtCpuClient::Compile", 10, 5), role="compiler"),
        thread("client", ("Wait for donation holds", 0, 50), role="client"),
        thread("python", ("cpu_loader.next", 0, 60), role="loader"),
    )
    assert class_segments(trace) == [
        (0, 5, "wait"), (5, 10, "dispatch"), (10, 15, "compile"), (15, 35, "dispatch"), (35, 50, "wait"),
        (50, 60, "unrecorded"),
    ]  # fmt: skip


def test_helpers_are_ignored_while_the_driving_thread_works() -> None:
    trace = capture(
        thread("python", ("forward", 0, 40), role="driving"),
        thread("codegen", ("PjRtCpuClient::Compile", 10, 5), role="compiler"),
    )
    assert times_by_class(trace) == {"python": 40}


def test_helpers_decide_inside_a_launching_call() -> None:
    """The device's queue is full: both the call and the helper that takes the run over block."""
    trace = capture(
        thread("python", ("TfrtTpuLoadedExecutable::Execute", 0, 50), ("StepMarker", 60, 5), role="driving"),
        thread("py_xla_execute/1", ("Scheduled TfrtTpuLoadedExecutable::Execute", 5, 40), ("Acquire semaphore", 10, 20),
               ("LoadProgram", 32, 4), role="executor"),
    )  # fmt: skip
    assert class_segments(trace) == [
        (0, 10, "dispatch"), (10, 30, "wait"), (30, 32, "dispatch"), (32, 36, "program_load"), (36, 50, "dispatch"),
        (50, 60, "unrecorded"), (60, 65, "sync_prepare"),
    ]  # fmt: skip


def test_events_inside_a_launching_call_precede_helper_work() -> None:
    trace = capture(
        thread(
            "python",
            ("TfrtTpuLoadedExecutable::Execute", 0, 50),
            ("TransferToDevice", 10, 20),
            role="driving",
        ),
        thread("py_xla_execute/1", ("Acquire semaphore", 0, 50), role="executor"),
    )
    assert class_segments(trace) == [(0, 10, "wait"), (10, 30, "to_device"), (30, 50, "wait")]


def test_call_that_waits_for_a_compiler_pool_is_compile() -> None:
    trace = capture(
        thread("python", ("PjitFunction(f)", 0, 50), ("backend_compile_and_load", 5, 40), role="driving"),
        thread("tf_PjRtCompilerThreadPool/3", ("PjRtCpuClient::Compile", 8, 30), ("dce", 10, 5)),
    )
    assert class_segments(trace) == [(0, 5, "python"), (5, 45, "compile"), (45, 50, "python")]
    trace_without_roles = capture(
        thread("python", ("StepMarker", 0, 50)), thread("tf_PjRtCompilerThreadPool/3", ("dce", 10, 5))
    )
    assert [host_thread.role for host_thread in trace_without_roles.threads] == ["driving", "compiler"]


def test_run_executable_dispatches_then_waits() -> None:
    launch = ("TPUExecute", 12, 8)
    trace = capture(thread("tf_Compute/1", ("RunExecutable", 0, 40), launch, role="executor"))
    assert class_segments(trace) == [(0, 20, "dispatch"), (20, 40, "wait")]
    without_launch = capture(thread("tf_Compute/1", ("RunExecutable", 0, 40), role="executor"))
    assert times_by_class(without_launch) == {"dispatch": 40}


def test_function_whose_batch_is_loaded_on_another_thread_is_input() -> None:
    """In TensorFlow, while other operations of the function run, the function does not wait for the batch alone.
    Threads that load ahead, and the pool in which the pipeline runs Python, do not count."""
    trace = capture(
        thread("python", ("train", 0, 100), ("EagerExecute", 10, 80)),
        thread("tf_data_iterator_get_next/2", ("IteratorGetNextOp::DoCompute", 20, 40)),
        thread("tf_Compute/3", ("ExecutorState::Process", 50, 30)),
        thread("tf_data_iterator_resource/4", ("PrefetchProduce", 0, 100)),
        thread("tf_data_private_threadpool/5", ("ExecutorState::Process", 0, 100)),
    )
    roles = {host_thread.name.split("/")[0]: host_thread.role for host_thread in trace.threads}
    assert [role for name, role in roles.items() if name.startswith("tf_data")] == [
        "executor",
        "loader",
        "loader",
    ]
    assert class_segments(trace) == [
        (0, 10, "python"), (10, 20, "dispatch"), (20, 50, "input"), (50, 90, "dispatch"), (90, 100, "python"),
    ]  # fmt: skip


def test_device_work_on_a_host_thread_is_not_host_work() -> None:
    trace = capture(
        thread("python", ("TensorCollectionBarrier", 0, 40), role="driving"),
        thread("client", ("ThunkExecutor::Execute", 0, 30), ("dot.3", 5, 20, {"hlo_op": "dot.3"}),
               ("Transpose::Execute", 6, 5), role="client"),
    )  # fmt: skip
    assert times_by_class(trace) == {"wait": 40}


def test_sums_of_times_beyond_two_and_a_half_hours_are_exact() -> None:
    trace = capture(thread("python", ("StepMarker", 0, 2**53 + 1), role="driving"))
    assert times_by_class(trace) == {"sync_prepare": 2**53 + 1}


def test_lines_of_rows() -> None:
    trace = capture(
        thread("python", ("StepMarker", 0, 10)),
        thread("empty", ("x", 3, 0)),
        thread("b", ("StepMarker", 0, 5)),
    )
    assert trace.lines_of(np.array([0, -1, 2], np.int32)).tolist() == [0, -1, 2]


@pytest.mark.parametrize(
    "scenario", ["tiny_baseline", "tiny_early_item", "tiny_dynamo_train", "tiny_dynamic"]
)
def test_segments_of_real_captures_follow_the_definition(shared_traces: Path, scenario: str) -> None:
    trace = real_trace(shared_traces / "torch_xla" / scenario)
    start, end = trace.span_ps
    segments = host_class_segments(trace)
    assert sum(segments.sums(len(CLASSES))) == end - start
    for t in np.linspace(start, end - 1, 50).astype(np.int64).tolist():
        index = int(np.searchsorted(segments.end_ps, t, "right"))
        assert CLASSES[segments.class_index[index]] == class_at(trace, t)


def test_full_queue_of_a_real_tpu_is_wait(shared_traces: Path) -> None:
    """For 57.2 s the driving thread is inside execute calls that record nothing more."""
    trace = real_trace(shared_traces / "public/tpu_v6e_jax")
    driving_segments = thread_segments(trace, trace.lines_with("driving")[0])
    calls = driving_segments.select(driving_segments.class_index == INDEX["dispatch"])
    assert calls.sums(len(CLASSES))[INDEX["dispatch"]] // 10**9 == 57_176
    times = class_times(host_class_segments(trace), calls.start_ps, calls.end_ps).sum(axis=0)
    assert {name: int(time) // 10**9 for name, time in zip(CLASSES, times, strict=True) if time} == {
        "wait": 52_712, "dispatch": 2_002, "program_load": 1_913, "to_device": 547, "from_device": 0,
    }  # fmt: skip
