"""The host's class in annotations and Python frames in which nothing else is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import capture, real_trace, thread
from host_classes import class_segments, times_by_class

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.catalog import CLASSES


@pytest.mark.parametrize(
    ("runtime", "expected"),
    [
        (("StepMarker", 90, 10), "tracing"),
        (("PjitFunction(f)", 90, 10), "python"),
        (("EagerExecute", 90, 10), "python"),
        (("ExecuteComputationWithBarrier", 90, 10), "tracing"),
    ],
)
def test_own_time_of_annotations_is_tracing_only_if_graphs_are_built_lazily(
    runtime: tuple[str, int, int], expected: str
) -> None:
    executor_name = "tf_pytorchxla/7" if "Barrier" in runtime[0] else "pool"
    trace = capture(
        thread("python", ("forward", 0, 80), runtime, role="driving"),
        thread(executor_name, ("x", 0, 1), role="executor"),
    )
    assert class_segments(trace)[0] == (0, 80, expected)


def test_annotation_in_which_torch_compile_launches_is_python() -> None:
    trace = capture(
        thread("python", ("Training_Step", 0, 100, {"_r": 1}), ("forward", 10, 20),
               ("ExecuteComputationWithBarrier", 15, 5), ("backward", 30, 20), ("update", 60, 20),
               ("StepMarker", 85, 10), role="driving"),
        thread("pt_autograd_0", ("ExecuteComputationWithBarrier", 40, 5), role="autograd"),
    )  # fmt: skip
    assert class_segments(trace) == [
        (0, 15, "python"), (15, 20, "dispatch"), (20, 40, "python"), (40, 45, "dispatch"), (45, 60, "python"),
        (60, 80, "tracing"), (80, 85, "python"), (85, 95, "sync_prepare"), (95, 100, "python"),
    ]  # fmt: skip


def test_events_inside_a_loading_annotation_are_input() -> None:
    trace = capture(
        thread("python", ("train", 0, 100), ("next_batch", 10, 50), ("$loader.py:3 read", 12, 20), ("decode", 35, 10),
               ("$wait.py:3 block_until_ready", 50, 5), ("$train.py:3 f", 70, 10), role="driving")
    )  # fmt: skip
    assert class_segments(trace) == [
        (0, 10, "python"), (10, 50, "input"), (50, 55, "wait"), (55, 60, "input"), (60, 100, "python"),
    ]  # fmt: skip


def test_frames_below_a_loading_function_are_input() -> None:
    """No loading annotation is around them; a generator's frame ends where it yields."""
    trace = capture(
        thread("python", ("train", 0, 100), ("$train.py:3 step", 5, 90), ("$train.py:9 next_batch", 10, 50),
               ("$time sleep", 12, 20), ("$api.py:3 block_until_ready", 50, 5), ("$numpy random", 70, 10),
               role="driving")
    )  # fmt: skip
    assert class_segments(trace) == [
        (0, 10, "python"), (10, 50, "input"), (50, 55, "wait"), (55, 60, "input"), (60, 100, "python"),
    ]  # fmt: skip


def test_a_framework_that_launches_in_python() -> None:
    """As JAX does for programs with callbacks. A call that compiles also traces, and runs the script's functions."""
    trace = capture(
        thread("python", ("$train.py:3 step", 0, 100),
               ("PjitFunction(f)", 10, 30), ("$pjit.py:7 cache_miss", 15, 20), ("$train.py:9 f", 20, 5),
               ("PjitFunction(g)", 50, 30), ("$pjit.py:7 cache_miss", 55, 20),
               ("$compiler.py:4 backend_compile_and_load", 60, 5), role="driving")
    )  # fmt: skip
    assert class_segments(trace) == [
        (0, 15, "python"), (15, 20, "dispatch"), (20, 25, "python"), (25, 35, "dispatch"), (35, 60, "python"),
        (60, 65, "compile"), (65, 100, "python"),
    ]  # fmt: skip


def test_waiting_for_a_queue_that_another_thread_fills_is_input() -> None:
    trace = capture(
        thread("python", ("train", 0, 100, {"_r": 1}), ("$queue.py:154 get", 10, 50),
               ("$threading.py:3 wait", 12, 40), ("$builtins acquire", 13, 30), role="driving"),
        thread("", ("$train.py:20 fill", 0, 100), ("$train.py:9 batches", 0, 90), role="loader"),
    )  # fmt: skip
    assert class_segments(trace) == [(0, 10, "python"), (10, 60, "input"), (60, 100, "python")]


def test_frames_of_a_loader_in_a_real_capture_are_input(shared_traces: Path) -> None:
    trace = real_trace(shared_traces / "other/jax0.10.2_slow_input")
    loading_rows = [row for row in trace.annotations.tolist() if trace.name(row) == "next_batch"]
    assert (
        times_by_class(trace)["input"]
        == sum(int(trace.duration_ps[row]) for row in loading_rows)
        == 644_238_680_000
    )


@pytest.mark.parametrize(
    ("call", "expected"), [("backend_compile_and_load", "compile"), ("np.asarray(jax.Array)", "from_device")]
)
def test_python_frames_inside_a_compilation_or_read_have_its_class(call: str, expected: str) -> None:
    """The caller waits in them; frames around the call, and after it, are Python."""
    trace = capture(
        thread("python", ("$pjit.py:1 call", 0, 100), (call, 10, 60), ("$inner.py:292 wait", 20, 40),
               ("$api.py:9 done", 80, 10), role="driving"),
    )  # fmt: skip
    segments = host_class_segments(trace)
    classes = [CLASSES[index] for index in segments.class_index.tolist()]
    assert list(zip(segments.start_ps.tolist(), classes, strict=True)) == [
        (0, "python"), (10, expected), (20, expected), (60, expected), (70, "python"), (80, "python"),
        (90, "python"),
    ]  # fmt: skip
