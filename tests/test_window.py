"""The work in a window: sums that hold to the picosecond."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, real_trace, session, thread

from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.propagation import propagation_report
from tb_xla_insights.analysis.window.window_document import window
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
    answer = window(training, 5, 85)
    assert (answer["start_ps"], answer["end_ps"], answer["duration_ps"]) == (5, 85, 80)
    assert answer["by_class_ps"] == {
        "tracing": 30, "sync_prepare": 15, "dispatch": 6, "wait": 4, "python": 25,
    }  # fmt: skip
    assert [(row["host"], row["by_class_ps"]) for row in answer["hosts"]] == [("vm", answer["by_class_ps"])]
    assert answer["host"] == "vm"


def test_a_class_names_the_thread_that_decides_its_time(training: SessionTrace) -> None:
    """A thread with more time in the class does not, if it worked beside others."""
    rows = dict.fromkeys(("tracing", "sync_prepare", "wait", "python"), "h0.t0") | {"dispatch": "h0.t1"}
    assert [row["row_by_class"] for row in window(training, 5, 85)["hosts"]] == [rows]
    loader = thread("python", ("load_batch", 0, 80), role="loader")
    python = thread("python", ("StepMarker", 0, 70), ("data_loading", 70, 30), role="driving")
    answer = window(session(capture(loader, python), capture(python, host="b")), 20, 110)
    assert answer["threads"][0]["by_class_ps"]["input"] > answer["hosts"][0]["by_class_ps"]["input"]
    assert [row["row_by_class"] for row in answer["hosts"]] == [
        {"sync_prepare": row, "input": row} for row in ("h0.t1", "h1.t0")
    ]


def test_windows_outside_of_a_hosts_capture_are_unrecorded(training: SessionTrace) -> None:
    assert window(training, 90, 250)["by_class_ps"] == {"python": 10, "unrecorded": 150}
    answer = window(training, 200, 250)
    assert answer["by_class_ps"] == {"unrecorded": 50}
    assert (answer["threads"], answer["top"]) == ([], [])


def test_threads_that_recorded_something(training: SessionTrace) -> None:
    threads = {row["name"]: row for row in window(training, 65, 100)["threads"]}
    assert threads["python"] == {
        "row": "h0.t0", "name": "python", "role": "driving", "host": "vm", "busy_ps": 35, "events": 4,
        "by_class_ps": {"python": 10, "sync_prepare": 15, "wait": 10}, "no_class_ps": 0,
        "top": [
            {"name": "StepMarker", "class": "sync_prepare", "count": 2, "self_ps": 15},
            {"name": "TensorCollectionBarrier", "class": "wait", "count": 1, "self_ps": 10},
            {"name": "Training_Step", "class": "python", "count": 1, "self_ps": 10},
        ],
        "more": {"names": 0, "count": 0, "self_ps": 0},
    }  # fmt: skip
    assert (threads["tf_pytorchxla"]["by_class_ps"], threads["tf_pytorchxla"]["events"]) == (
        {"dispatch": 6},
        1,
    )
    pool = threads["tf_XLAEigen"]
    assert (pool["by_class_ps"], pool["no_class_ps"], pool["busy_ps"]) == ({}, 10, 10)
    assert pool["top"] == [{"name": "dot.1", "class": None, "count": 1, "self_ps": 10}]
    assert [row["name"] for row in window(training, 0, 20)["threads"]] == ["python"]


def test_devices_within_the_window(training: SessionTrace) -> None:
    assert window(training, 45, 85)["devices"] == [
        {"id": "vm/TPU:0", "name": "TPU:0", "host": "vm", "span_ps": 40, "busy_ps": 10, "idle_ps": 30, "stall_ps": 5,
         "modules": 1, "ops": 2,
         "top_ops": [{"op": "copy-done", "count": 1, "self_ps": 5}, {"op": "fusion.1", "count": 1, "self_ps": 5}],
         "more_ops": {"names": 0, "count": 0, "self_ps": 0}}
    ]  # fmt: skip
    before = window(training, 0, 40)["devices"][0]
    assert (before["span_ps"], before["busy_ps"], before["idle_ps"], before["ops"]) == (0, 0, 0, 0)


def test_regions_of_a_thread_pool_are_work_without_a_class() -> None:
    """A thread of the pool is busy in events without a class: they are listed by name, also over all threads."""
    capture_session = session(capture(
        thread("python", ("StepMarker", 0, 100), role="driving"),
        thread("tf_pjrt_thread_pool/7", ("BufferSequencingEvent::Execute", 10, 60), ("ThenExecuteCallback", 20, 15)),
    ))  # fmt: skip
    answer = window(capture_session, 0, 50)
    pool = answer["threads"][1]
    assert (pool["busy_ps"], pool["by_class_ps"], pool["no_class_ps"]) == (40, {}, 40)
    assert [(row["name"], row["class"], row["self_ps"]) for row in pool["top"]] == [
        ("BufferSequencingEvent::Execute", None, 25),
        ("ThenExecuteCallback", None, 15),
    ]
    assert ("BufferSequencingEvent::Execute", None, 25) in [
        (row["name"], row["class"], row["self_ps"]) for row in answer["top"]
    ]


def test_events_and_ops_beyond_the_limit_are_one_sum() -> None:
    events = [(f"call {number}", 20 * number, number + 1) for number in range(12)]
    ops = [(f"fusion.{number}", 10 * number, number % 9 + 1) for number in range(30)]
    answer = window(session(capture(thread("python", *events, role="driving"), Core(ops))), 0, 1000)
    (python,), (core,) = answer["threads"], answer["devices"]
    assert [row["self_ps"] for row in python["top"]] == list(range(12, 4, -1))
    assert python["more"] == {"names": 4, "count": 4, "self_ps": 1 + 2 + 3 + 4}
    assert (len(core["top_ops"]), core["more_ops"]["names"]) == (20, 10)
    assert sum(row["self_ps"] for row in core["top_ops"]) + core["more_ops"]["self_ps"] == core["busy_ps"]


def test_an_ops_own_time_in_a_window_excludes_its_parts() -> None:
    core = Core([("while.1", 0, 100), ("dot.1", 10, 40), ("dot.1", 60, 20), ("add.1", 120, 10)])
    capture_session = session(capture(core))

    def times(start: int, end: int) -> dict[str, tuple[int, int]]:
        (device,) = window(capture_session, start, end)["devices"]
        return {row["op"]: (row["count"], row["self_ps"]) for row in device["top_ops"]}

    assert times(0, 200) == {"dot.1": (2, 60), "while.1": (1, 40), "add.1": (1, 10)}
    assert times(30, 125) == {"dot.1": (2, 40), "while.1": (1, 30), "add.1": (1, 5)}
    assert times(80, 110) == {"while.1": (1, 20)}
    assert times(101, 110) == {}


def test_runs_and_ops_without_duration_are_in_the_window_that_begins_with_them() -> None:
    """Of two neighbouring windows, one has the op and the run at their common edge, as it has a thread's event."""
    ops = [("while.1", 0, 60), ("bitcast.2", 40, 0), ("bitcast.3", 70, 0)]
    core = Core([("bitcast.1", 0, 0), *ops], modules=[("f(1)", 0, 0), ("g(2)", 40, 0), ("h(3)", 70, 0)])
    python = thread("python", ("a", 0, 0), ("b", 40, 0), ("c", 70, 0), role="driving")
    capture_session = session(capture(python, core))
    for (start, end), names in {
        (0, 40): ["bitcast.1", "while.1"],
        (40, 70): ["bitcast.2", "while.1"],
        (70, 80): ["bitcast.3"],
    }.items():
        answer = window(capture_session, start, end)
        (device,), (host,) = answer["devices"], answer["threads"]
        assert sorted(row["op"] for row in device["top_ops"]) == names
        assert sum(row["count"] for row in answer["annotations"]) == device["ops"] == len(names)
        assert device["modules"] == host["events"] == 1


def test_device_ops_of_a_window_are_listed_by_annotation() -> None:
    """A loop's own time belongs to no annotation; `s` around `f` has no ops of its own; ops are cut at the window."""
    f, g = {"tf_op": "s/f/dot:"}, {"tf_op": "s/g/add:"}
    first = Core([("while.1", 0, 100), ("dot.1", 10, 40, f), ("add.1", 60, 21, g), ("dot.2", 90, 10, f)])
    second = Core([("dot.1", 20, 20, f)], name="TPU:1")
    host = thread("python", ("s", 0, 8), ("f", 0, 3), ("g", 4, 3), role="driving")
    rows = window(session(capture(host, first, second)), 30, 95)["annotations"]
    assert [(row["path"], row["count"], row["self_ps"], row["inside_ps"]) for row in rows] == [
        ("s/f", 3, 20 + 5 + 10, 35), ("s/g", 1, 21, 21), (None, 1, 19, 19), ("s", 0, 0, 56),
    ]  # fmt: skip
    assert rows[0]["top_ops"] == [
        {"op": "dot.1", "count": 2, "self_ps": 30}, {"op": "dot.2", "count": 1, "self_ps": 5},
    ]  # fmt: skip
    assert rows[0]["more_ops"] == {"names": 0, "count": 0, "self_ps": 0}
    assert [row["share"] for row in rows] == [35 / 75, 21 / 75, 19 / 75, 0]


def test_the_names_with_most_own_time(training: SessionTrace) -> None:
    top = window(training, 0, 75)["top"]
    assert [(row["name"], row["self_ps"], row["total_ps"], row["count"]) for row in top] == [
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
    hosts = session(first, second)
    answer = window(hosts, 0, 100)
    assert [row["host"] for row in answer["hosts"]] == ["a", "b"]
    assert (answer["host"], answer["by_class_ps"]) == ("a", {"sync_prepare": 100})
    assert [row["row"] for row in answer["threads"]] == ["h0.t0", "h1.t0"]
    window_of_b = window(hosts, 0, 100, "b/TPU:0")
    assert [device["busy_ps"] for device in window_of_b["devices"]] == [80]
    assert (window_of_b["host"], window_of_b["by_class_ps"]) == ("b", {"python": 100})
    assert [row["row"] for row in window_of_b["threads"]] == ["h1.t0"]


def sum_op_times(device: Any) -> int:
    return int(sum(row["self_ps"] for row in device["top_ops"]) + device["more_ops"]["self_ps"])


def values_of(document: Any, key: str) -> list[int]:
    return [device[key] for device in document["devices"]]


@pytest.mark.parametrize(
    "folder", ["torch_xla/tiny_early_item", "torch_xla/spmd_fsdp_debug", "public/tpu_v6e_jax"]
)
def test_windows_of_real_captures_add_up(shared_traces: Path, folder: str) -> None:
    trace = real_trace(shared_traces / folder)
    whole_session = session(trace)
    duration = whole_session.duration_ps
    bounds = [0, duration // 7, duration // 7 + 1, duration // 3, duration - 1, duration]
    windows = [window(whole_session, start, end) for start, end in pairwise(bounds)]
    whole: Any = window(whole_session, 0, duration)
    answer: Any
    for answer in [*windows, whole]:
        assert sum(answer["by_class_ps"].values()) == answer["duration_ps"]
        for row in answer["devices"]:
            assert row["busy_ps"] + row["idle_ps"] == row["span_ps"]
            assert row["stall_ps"] <= row["busy_ps"]
        op_ps = sum(sum_op_times(device) for device in answer["devices"])
        assert sum(row["self_ps"] for row in answer["annotations"]) == op_ps
        for row in answer["threads"]:
            assert (
                sum(row["by_class_ps"].values()) + row["no_class_ps"]
                == row["busy_ps"]
                <= answer["duration_ps"]
            )
            assert sum(name["self_ps"] for name in row["top"]) + row["more"]["self_ps"] == row["busy_ps"]
            assert sum(name["count"] for name in row["top"]) + row["more"]["count"] == row["events"]
    for name, total in zip(CLASSES, host_class_segments(trace).sums(len(CLASSES)), strict=True):
        assert (
            sum(answer["by_class_ps"].get(name, 0) for answer in windows)
            == total
            == whole["by_class_ps"].get(name, 0)
        )
    for key in ("busy_ps", "idle_ps", "stall_ps"):
        assert [
            sum(values) for values in zip(*(values_of(answer, key) for answer in windows), strict=True)
        ] == values_of(whole, key)
        assert values_of(whole, key) == [
            summary[key] for summary in device_summaries(whole_session.traces[0])
        ]
    ops = [[sum_op_times(device) for device in answer["devices"]] for answer in windows]
    assert [sum(values) for values in zip(*ops, strict=True)] == [
        sum_op_times(device) for device in whole["devices"]
    ]
    assert (
        sum(sum_op_times(device) for device in whole["devices"])
        == (propagation_report(whole_session.traces[0])["propagation"]["device_ps"])
    )
