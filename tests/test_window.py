"""What happened in a window: sums that hold to the picosecond."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, real_trace, session, thread

from tb_xla_insights.analysis.busy import device_summaries
from tb_xla_insights.analysis.classes import partition
from tb_xla_insights.analysis.window import window
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.trace.model import SessionTrace


@pytest.fixture
def training() -> SessionTrace:
    """A step with a transfer, a sync and its device work, and an executor thread."""
    host = capture(
        thread("python", ("Training_Step", 0, 100, {"_r": 1}), ("forward", 10, 30), ("StepMarker", 60, 30),
               ("TensorCollectionBarrier", 70, 10), ("StepMarker", 95, 0), role="driving"),
        thread("tf_pytorchxla/1", ("ExecuteComputation", 72, 6), role="executor"),
        thread("tf_XLAEigen", ("dot.1", 74, 10, {"hlo_op": "dot.1"}), role="op_pool"),
        Core(ops=[("fusion.1", 40, 10), ("copy-done", 80, 10)], modules=[("jit_f(1)", 40, 50)]),
    )  # fmt: skip
    return session(host)


def test_classes_add_up_to_the_window(training: SessionTrace) -> None:
    found = window(training, 5, 85)
    assert (found["start_ps"], found["end_ps"], found["duration_ps"]) == (5, 85, 80)
    assert found["by_class_ps"] == {"tracing": 55, "sync_prepare": 15, "dispatch": 6, "wait": 4}
    assert found["hosts"] == [{"host": "vm", "by_class_ps": found["by_class_ps"]}]
    assert found["host"] == "vm"


def test_outside_of_what_a_host_recorded_nothing_is_recorded(training: SessionTrace) -> None:
    assert window(training, 90, 250)["by_class_ps"] == {"tracing": 10, "unrecorded": 150}
    nothing = window(training, 200, 250)
    assert nothing["by_class_ps"] == {"unrecorded": 50}
    assert (nothing["threads"], nothing["top"]) == ([], [])


def test_threads_that_recorded_something(training: SessionTrace) -> None:
    found = {it["name"]: it for it in window(training, 65, 100)["threads"]}
    assert found["python"] == {
        "row": "h0.t0", "name": "python", "role": "driving", "host": "vm", "busy_ps": 35, "events": 4,
        "by_class_ps": {"tracing": 10, "sync_prepare": 15, "wait": 10},
    }  # fmt: skip
    assert (found["tf_pytorchxla"]["by_class_ps"], found["tf_pytorchxla"]["events"]) == (
        {"dispatch": 6},
        1,
    )
    assert (found["tf_XLAEigen"]["by_class_ps"], found["tf_XLAEigen"]["busy_ps"]) == ({}, 10)
    assert [it["name"] for it in window(training, 0, 20)["threads"]] == ["python"]


def test_devices_within_the_window(training: SessionTrace) -> None:
    assert window(training, 45, 85)["devices"] == [
        {"id": "vm/TPU:0", "name": "TPU:0", "host": "vm", "span_ps": 40, "busy_ps": 10, "idle_ps": 30, "stall_ps": 5,
         "modules": 1, "ops": 2}
    ]  # fmt: skip
    before = window(training, 0, 40)["devices"][0]
    assert (before["span_ps"], before["busy_ps"], before["idle_ps"], before["ops"]) == (0, 0, 0, 0)


def test_the_names_with_most_time_of_their_own(training: SessionTrace) -> None:
    top = window(training, 0, 75)["top"]
    assert [(it["name"], it["self_ps"], it["total_ps"], it["count"]) for it in top] == [
        ("Training_Step", 30, 75, 1), ("forward", 30, 30, 1), ("StepMarker", 10, 15, 1),
        ("TensorCollectionBarrier", 5, 5, 1), ("ExecuteComputation", 3, 3, 1),
    ]  # fmt: skip
    assert top[1]["longest"] == {
        "event": "0.1", "row": "h0.t0", "depth": 1, "name": "forward", "class": "tracing", "thread": "python",
        "start_ps": 10, "duration_ps": 30,
    }  # fmt: skip


def test_two_hosts_and_one_of_their_devices() -> None:
    first = capture(
        thread("python", ("StepMarker", 0, 100), role="driving"), Core([("dot", 0, 50)]), host="a"
    )
    second = capture(thread("python", ("forward", 0, 100), role="driving"), Core([("dot", 0, 80)]), host="b")
    both = session(first, second)
    found = window(both, 0, 100)
    assert [it["host"] for it in found["hosts"]] == ["a", "b"]
    assert (found["host"], found["by_class_ps"]) == ("a", {"sync_prepare": 100})
    assert [it["row"] for it in found["threads"]] == ["h0.t0", "h1.t0"]
    of_b = window(both, 0, 100, "b/TPU:0")
    assert [it["busy_ps"] for it in of_b["devices"]] == [80]
    assert (of_b["host"], of_b["by_class_ps"]) == ("b", {"python": 100})
    assert [it["row"] for it in of_b["threads"]] == ["h1.t0"]


def of(found: dict[str, Any], key: str) -> list[int]:
    return [it[key] for it in found["devices"]]


@pytest.mark.parametrize(
    "folder", ["torch_xla/tiny_early_item", "torch_xla/spmd_fsdp_debug", "public/tpu_v6e_jax"]
)
def test_windows_of_real_captures_add_up(shared_traces: Path, folder: str) -> None:
    trace = real_trace(shared_traces / folder)
    whole_session = session(trace)
    end = whole_session.duration_ps
    cuts = [0, end // 7, end // 7 + 1, end // 3, end - 1, end]
    parts = [window(whole_session, a, b) for a, b in pairwise(cuts)]
    whole = window(whole_session, 0, end)
    for found in [*parts, whole]:
        assert sum(found["by_class_ps"].values()) == found["duration_ps"]
        for it in found["devices"]:
            assert it["busy_ps"] + it["idle_ps"] == it["span_ps"]
            assert it["stall_ps"] <= it["busy_ps"]
        for it in found["threads"]:
            assert sum(it["by_class_ps"].values()) <= it["busy_ps"] <= found["duration_ps"]
    for name, total in zip(CLASSES, partition(trace).sums(len(CLASSES)), strict=True):
        assert (
            sum(part["by_class_ps"].get(name, 0) for part in parts)
            == total
            == whole["by_class_ps"].get(name, 0)
        )
    for key in ("busy_ps", "idle_ps", "stall_ps"):
        assert [sum(it) for it in zip(*(of(part, key) for part in parts), strict=True)] == of(whole, key)
        assert of(whole, key) == [it[key] for it in device_summaries(whole_session)]
