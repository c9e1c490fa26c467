"""What the host does in annotations and Python frames where nothing inside of them is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import capture, real_trace, thread
from test_classes import shares, timeline

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
def test_an_annotations_own_time_is_tracing_only_where_graphs_are_built_lazily(
    runtime: tuple[str, int, int], expected: str
) -> None:
    made_by = "tf_pytorchxla/7" if "Barrier" in runtime[0] else "pool"
    trace = capture(
        thread("python", ("forward", 0, 80), runtime, role="driving"),
        thread(made_by, ("x", 0, 1), role="executor"),
    )
    assert timeline(trace)[0] == (0, 80, expected)


def test_an_annotation_in_which_torch_compile_launches_is_python() -> None:
    trace = capture(
        thread("python", ("Training_Step", 0, 100, {"_r": 1}), ("forward", 10, 20),
               ("ExecuteComputationWithBarrier", 15, 5), ("backward", 30, 20), ("update", 60, 20),
               ("StepMarker", 85, 10), role="driving"),
        thread("pt_autograd_0", ("ExecuteComputationWithBarrier", 40, 5), role="autograd"),
    )  # fmt: skip
    assert timeline(trace) == [
        (0, 15, "python"), (15, 20, "dispatch"), (20, 40, "python"), (40, 45, "dispatch"), (45, 60, "python"),
        (60, 80, "tracing"), (80, 85, "python"), (85, 95, "sync_prepare"), (95, 100, "python"),
    ]  # fmt: skip


def test_what_lies_inside_an_annotation_that_loads_is_input() -> None:
    trace = capture(
        thread("python", ("train", 0, 100), ("next_batch", 10, 50), ("$loader.py:3 read", 12, 20), ("decode", 35, 10),
               ("$wait.py:3 block_until_ready", 50, 5), ("$train.py:3 f", 70, 10), role="driving")
    )  # fmt: skip
    assert timeline(trace) == [
        (0, 10, "python"), (10, 50, "input"), (50, 55, "wait"), (55, 60, "input"), (60, 100, "python"),
    ]  # fmt: skip


def test_frames_below_a_function_that_loads_are_input() -> None:
    """No annotation says so; a generator's frame ends where it yields."""
    trace = capture(
        thread("python", ("train", 0, 100), ("$train.py:3 step", 5, 90), ("$train.py:9 next_batch", 10, 50),
               ("$time sleep", 12, 20), ("$api.py:3 block_until_ready", 50, 5), ("$numpy random", 70, 10),
               role="driving")
    )  # fmt: skip
    assert timeline(trace) == [
        (0, 10, "python"), (10, 50, "input"), (50, 55, "wait"), (55, 60, "input"), (60, 100, "python"),
    ]  # fmt: skip


def test_waiting_for_a_queue_is_waiting_for_what_another_thread_loads() -> None:
    trace = capture(
        thread("python", ("train", 0, 100, {"_r": 1}), ("$queue.py:154 get", 10, 50),
               ("$threading.py:3 wait", 12, 40), ("$builtins acquire", 13, 30), role="driving"),
        thread("", ("$train.py:20 fill", 0, 100), ("$train.py:9 batches", 0, 90)),
    )  # fmt: skip
    assert timeline(trace) == [(0, 10, "python"), (10, 60, "input"), (60, 100, "python")]


def test_a_loaders_frames_are_input_in_a_real_capture(shared_traces: Path) -> None:
    trace = real_trace(shared_traces / "other/jax0.10.2_slow_input")
    loads = [row for row in trace.annotations.tolist() if trace.name(row) == "next_batch"]
    assert shares(trace)["input"] == sum(int(trace.duration_ps[row]) for row in loads) == 644_238_680_000


@pytest.mark.parametrize(
    ("call", "kind"), [("backend_compile_and_load", "compile"), ("np.asarray(jax.Array)", "from_device")]
)
def test_python_frames_inside_a_call_that_compiles_or_reads_are_parts_of_it(call: str, kind: str) -> None:
    """The caller waits in them; frames around the call, and after it, are Python."""
    trace = capture(
        thread("python", ("$pjit.py:1 call", 0, 100), (call, 10, 60), ("$inner.py:292 wait", 20, 40),
               ("$api.py:9 done", 80, 10), role="driving"),
    )  # fmt: skip
    found = host_class_segments(trace)
    told = [CLASSES[kind] for kind in found.class_index.tolist()]
    assert list(zip(found.start_ps.tolist(), told, strict=True)) == [
        (0, "python"), (10, kind), (20, kind), (60, kind), (70, "python"), (80, "python"),
        (90, "python"),
    ]  # fmt: skip
