"""The devices' time in whole steps: compared with known truth, with counting, and in real captures."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from captures import Core, Event, capture, real_trace, session, thread
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import US, demo

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.busy import busy
from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.idle.in_steps import step_idle_report
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import Trace

START_AND_DURATION = st.tuples(st.integers(0, 120), st.integers(1, 30))


def step_event(start: int, duration: int, number: int) -> Event:
    return ("Training_Step", start, duration, {"_r": 1, "step_num": number})


def test_work_and_idle_time_during_steps() -> None:
    """The device also works before the steps. Time between annotations, and idle time after the last op, count."""
    trace = capture(
        thread("python", step_event(10 * US, 100 * US, 5), step_event(130 * US, 100 * US, 6),
               ("StepMarker", 180 * US, 50 * US), role="driving"),
        Core([("early", 0, 5 * US), ("dot.1", 60 * US, 80 * US), ("add.1", 150 * US, 20 * US)]),
    )  # fmt: skip
    report: Any = step_idle_report(trace)
    assert (report["steps"], report["cores"], report["step_ps"], report["median_ps"]) == (
        2,
        1,
        110 * US,
        100 * US,
    )
    assert report["all_cores"] == {
        "time_ps": 220 * US, "work_ps": 100 * US, "stall_ps": 0, "idle_ps": 120 * US, "small_ps": 0,
        "edges_ps": 60 * US, "by_class_ps": {"tracing": 70 * US, "sync_prepare": 50 * US},
    }  # fmt: skip
    assert (report["work_ps"], report["idle_ps"]) == (50 * US, 60 * US)
    assert report["by_class_ps"] == {"tracing": 35 * US, "sync_prepare": 25 * US}


def test_stalls_are_work_and_short_gaps_have_no_class() -> None:
    trace = capture(
        thread("python", step_event(0, 100 * US, 5), role="driving"),
        Core([("dot.1", 0, 40 * US), ("copy-done.1", 45 * US, 55 * US)]),
    )
    report: Any = step_idle_report(trace)
    assert (report["work_ps"], report["stall_ps"], report["idle_ps"]) == (95 * US, 55 * US, 5 * US)
    assert (report["by_class_ps"], report["small_ps"]) == ({}, 5 * US)


def test_idle_time_without_edges_is_that_of_the_gaps_in_steps(shared_traces: Path) -> None:
    """Idle time that is in no gap is before a device's first or after its last work."""
    capture_session = session(real_trace(shared_traces / "torch_xla/tiny_baseline"))
    all_cores: Any = step_idle_report(capture_session.traces[0])["all_cores"]
    listed = sum(row["in_steps_ps"] for row in gaps_report(capture_session.traces[0])["patterns"])
    assert all_cores["edges_ps"] > 0
    assert 0 <= all_cores["idle_ps"] - all_cores["edges_ps"] - listed <= all_cores["small_ps"]


def test_hosts_are_divided_by_their_cores_and_steps_have_equal_weight() -> None:
    def host(name: str, steps: int, *work_us: int) -> Trace:
        events = [step_event(at * 100 * US, 100 * US, at) for at in range(steps)]
        cores = [
            Core([("dot", at * 100 * US, duration_us * US) for at in range(steps)], name=f"TPU:{number}")
            for number, duration_us in enumerate(work_us)
        ]
        return capture(thread("python", *events, role="driving"), *cores, host=name)

    report: Any = session_report(session(host("a", 3, 80, 40), host("b", 1, 20)))["step_idle"]
    assert (report["steps"], report["cores"], report["step_ps"]) == (4, 3, 100 * US)
    assert report["work_ps"] == (3 * 60 + 20) * US // 4
    assert report["all_cores"]["work_ps"] == (3 * 120 + 20) * US
    assert [(row["id"], row["steps"], row["work_ps"]) for row in report["devices"]] == [
        ("a/TPU:0", 3, 240 * US),
        ("a/TPU:1", 3, 120 * US),
        ("b/TPU:0", 1, 20 * US),
    ]


def test_hosts_without_device_work_or_steps_are_left_out() -> None:
    complete = capture(
        thread("python", step_event(0, 100 * US, 1), role="driving"),
        Core([("dot", 0, 50 * US)]),
        host="complete",
    )
    no_device = capture(thread("python", step_event(0, 300 * US, 1), role="driving"), host="no_device")
    no_steps = capture(thread("python", ("f", 0, 90)), Core([("dot", 0, 50 * US)]), host="no_steps")
    report: Any = session_report(session(complete, no_device, no_steps))["step_idle"]
    assert (report["steps"], report["step_ps"], report["work_ps"], report["idle_ps"]) == (
        1,
        100 * US,
        50 * US,
        50 * US,
    )
    assert report["left_out"] == [
        {"host": "no_device", "reason": "no_device_work"},
        {"host": "no_steps", "reason": "no_steps"},
    ]
    report = step_idle_report(no_device)
    assert (report["steps"], report["step_ps"], report["work_ps"], report["idle_ps"]) == (
        1,
        300 * US,
        None,
        None,
    )
    assert (report["all_cores"], report["left_out"][0]["reason"]) == (None, "no_device_work")


def test_without_steps_times_are_of_each_cores_span() -> None:
    trace = capture(
        thread("python", ("StepMarker", 0, 200 * US), role="driving"),
        Core([("dot", 10 * US, 50 * US), ("dot", 90 * US, 20 * US)]),
        Core([("dot", 10 * US, 20 * US)], name="TPU:1"),
    )
    report: Any = step_idle_report(trace)
    assert (report["steps"], report["step_ps"], report["cores"]) == (0, None, 2)
    assert (report["work_ps"], report["idle_ps"]) == (45 * US, 15 * US)
    assert report["all_cores"]["by_class_ps"] == {"sync_prepare": 30 * US}


def intervals(*columns: Any) -> Iterator[tuple[int, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)


def count_means(trace: Trace) -> dict[str, Fraction]:
    """The means of one host, picosecond by picosecond."""
    steps, devices = find_steps(trace), trace.devices
    host, classes = host_class_segments(trace), dict[int, str]()
    for start, end, class_index in intervals(host.start_ps, host.end_ps, host.class_index):
        classes |= dict.fromkeys(range(start, end), CLASSES[class_index])
    sums: dict[str, int] = {"work": 0}
    for device in devices:
        busy_intervals = busy(trace, device)
        work = intervals(busy_intervals.start_ps, busy_intervals.end_ps)
        at_work = {instant for start, end in work for instant in range(start, end)}
        for step in steps:
            for instant in range(step.start_ps, step.end_ps):
                name = "work" if instant in at_work else classes.get(instant, "unrecorded")
                sums[name] = sums.get(name, 0) + 1
    return {name: Fraction(ps, len(steps) * len(devices)) for name, ps in sums.items()}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40)), min_size=1, max_size=4),
    st.lists(st.lists(START_AND_DURATION, min_size=1, max_size=5), min_size=1, max_size=3),
    st.lists(START_AND_DURATION, max_size=3),
)
def test_means_agree_with_counting_every_instant(
    steps: list[tuple[int, int]], cores: list[list[tuple[int, int]]], markers: list[tuple[int, int]]
) -> None:
    """Steps are given as (pause before it, duration). All gaps are too short to have a class."""
    events, now_ps = [("main", 0, 400)], 0
    for number, (pause, duration) in enumerate(steps):
        events.append(step_event(now_ps + pause, duration, number))
        now_ps += pause + duration
    trace = capture(
        thread("python", *events, *(("StepMarker", *marker) for marker in markers), role="driving"),
        *(Core([("dot", *op) for op in ops], name=f"TPU:{number}") for number, ops in enumerate(cores)),
    )
    report: Any = step_idle_report(trace)
    expected = count_means(trace)
    idle = sum(ps for name, ps in expected.items() if name != "work")
    assert report["work_ps"] + report["idle_ps"] == report["step_ps"]
    assert sum(report["by_class_ps"].values()) + report["small_ps"] == report["idle_ps"]
    assert abs(report["work_ps"] - expected["work"]) < 1
    assert abs(report["idle_ps"] - idle) < 2
    for name, ps in report["by_class_ps"].items():
        assert ps <= expected[name] + 1


def check_sums(report: Any) -> None:
    all_cores = report["all_cores"]
    for times in (report, all_cores, *report["devices"]):
        assert times["idle_ps"] == times["small_ps"] + sum(times["by_class_ps"].values())
        assert 0 <= times["stall_ps"] <= times["work_ps"]
    assert all_cores["time_ps"] == all_cores["work_ps"] + all_cores["idle_ps"]
    for name in ("time_ps", "work_ps", "stall_ps", "idle_ps", "small_ps"):
        assert sum(device[name] for device in report["devices"]) == all_cores[name]
    if report["steps"]:
        assert report["work_ps"] + report["idle_ps"] == report["step_ps"]


def test_case_study() -> None:
    report: Any = step_idle_report(demo("synthetic_case_study_8_tpu_cores"))
    check_sums(report)
    assert (report["steps"], report["cores"]) == (10, 8)
    assert [round(report[name] / 1e9, 1) for name in ("step_ps", "work_ps", "idle_ps")] == [
        290.8,
        169.2,
        121.7,
    ]


@pytest.mark.parametrize(
    "folder", ["torch_xla/dynamo_full_step", "torch_xla/spmd_fsdp_debug", "public/tpu_v6e_jax", "public/gpu_mi300_jax"]
)  # fmt: skip
def test_real_captures_add_up(shared_traces: Path, folder: str) -> None:
    check_sums(step_idle_report(real_trace(shared_traces / folder)))
