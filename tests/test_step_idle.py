"""How the devices' time divides in whole steps: against known truth, against brute force, and in real captures."""

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
from tb_xla_insights.analysis.steps.idle import step_idle_report
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Trace

SPAN = st.tuples(st.integers(0, 120), st.integers(1, 30))


def step(start: int, duration: int, number: int) -> Event:
    return ("Training_Step", start, duration, {"_r": 1, "step_num": number})


def test_work_and_idle_time_are_those_during_the_steps() -> None:
    """The device works before, between and after the steps, too: that is in none of them. Idle time before the
    device's first and after its last op counts."""
    made = capture(
        thread("python", step(10 * US, 100 * US, 5), step(130 * US, 100 * US, 6),
               ("StepMarker", 180 * US, 50 * US), role="driving"),
        Core([("early", 0, 5 * US), ("dot.1", 60 * US, 80 * US), ("add.1", 150 * US, 20 * US)]),
    )  # fmt: skip
    told: Any = step_idle_report(session(made))
    assert (told["steps"], told["cores"], told["step_ps"], told["median_ps"]) == (2, 1, 100 * US, 100 * US)
    assert told["all_cores"] == {
        "time_ps": 200 * US, "work_ps": 80 * US, "stall_ps": 0, "idle_ps": 120 * US, "small_ps": 0, "edges_ps": 60 * US,
        "by_class_ps": {"tracing": 70 * US, "sync_prepare": 50 * US},
    }  # fmt: skip
    assert (told["work_ps"], told["idle_ps"]) == (40 * US, 60 * US)
    assert told["by_class_ps"] == {"tracing": 35 * US, "sync_prepare": 25 * US}


def test_waiting_is_work_that_is_told_apart_and_short_gaps_have_no_class() -> None:
    made = capture(
        thread("python", step(0, 100 * US, 5), role="driving"),
        Core([("dot.1", 0, 40 * US), ("copy-done.1", 45 * US, 55 * US)]),
    )
    told: Any = step_idle_report(session(made))
    assert (told["work_ps"], told["stall_ps"], told["idle_ps"]) == (95 * US, 55 * US, 5 * US)
    assert (told["by_class_ps"], told["small_ps"]) == ({}, 5 * US)


def test_the_rest_of_the_idle_time_is_that_of_the_gaps_in_steps(shared_traces: Path) -> None:
    """What no gap has lies before a device's first or after its last work."""
    made = session(real_trace(shared_traces / "torch_xla/tiny_baseline"))
    told: Any = step_idle_report(made)["all_cores"]
    listed = sum(row["in_steps_ps"] for row in gaps_report(made)["patterns"])
    assert told["edges_ps"] > 0
    assert 0 <= told["idle_ps"] - told["edges_ps"] - listed <= told["small_ps"]


def test_each_host_is_divided_by_its_own_cores_and_every_step_counts_the_same() -> None:
    def host(name: str, steps: int, *works: int) -> Trace:
        events = [step(at * 100 * US, 100 * US, at) for at in range(steps)]
        cores = [
            Core([("dot", at * 100 * US, work * US) for at in range(steps)], name=f"TPU:{number}")
            for number, work in enumerate(works)
        ]
        return capture(thread("python", *events, role="driving"), *cores, host=name)

    told: Any = step_idle_report(session(host("a", 3, 80, 40), host("b", 1, 20)))
    assert (told["steps"], told["cores"], told["step_ps"]) == (4, 3, 100 * US)
    assert told["work_ps"] == (3 * 60 + 20) * US // 4
    assert told["all_cores"]["work_ps"] == (3 * 120 + 20) * US
    assert [(row["id"], row["steps"], row["work_ps"]) for row in told["devices"]] == [
        ("a/TPU:0", 3, 240 * US),
        ("a/TPU:1", 3, 120 * US),
        ("b/TPU:0", 1, 20 * US),
    ]


def test_hosts_that_tell_nothing_are_left_out_and_said() -> None:
    both = capture(
        thread("python", step(0, 100 * US, 1), role="driving"), Core([("dot", 0, 50 * US)]), host="both"
    )
    no_device = capture(thread("python", step(0, 300 * US, 1), role="driving"), host="no_device")
    no_steps = capture(thread("python", ("f", 0, 90)), Core([("dot", 0, 50 * US)]), host="no_steps")
    told: Any = step_idle_report(session(both, no_device, no_steps))
    assert (told["steps"], told["step_ps"], told["work_ps"], told["idle_ps"]) == (
        1,
        100 * US,
        50 * US,
        50 * US,
    )
    assert told["left_out"] == [
        {"host": "no_device", "reason": "no_device_work"},
        {"host": "no_steps", "reason": "no_steps"},
    ]
    alone = step_idle_report(session(no_device))
    assert (alone["steps"], alone["step_ps"], alone["work_ps"], alone["idle_ps"]) == (1, 300 * US, None, None)
    assert (alone["all_cores"], alone["left_out"][0]["reason"]) == (None, "no_device_work")


def test_without_steps_the_same_is_told_of_each_core_s_span() -> None:
    made = capture(
        thread("python", ("StepMarker", 0, 200 * US), role="driving"),
        Core([("dot", 10 * US, 50 * US), ("dot", 90 * US, 20 * US)]),
        Core([("dot", 10 * US, 20 * US)], name="TPU:1"),
    )
    told: Any = step_idle_report(session(made))
    assert (told["steps"], told["step_ps"], told["cores"]) == (0, None, 2)
    assert (told["work_ps"], told["idle_ps"]) == (45 * US, 15 * US)
    assert told["all_cores"]["by_class_ps"] == {"sync_prepare": 30 * US}


def instants(*columns: Any) -> Iterator[tuple[int, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)


def by_hand(trace: Trace) -> dict[str, Fraction]:
    """The means of one host, picosecond by picosecond."""
    steps, devices = steps_of(trace), trace.devices
    host, classes = host_class_segments(trace), dict[int, str]()
    for start, end, kind in instants(host.start_ps, host.end_ps, host.class_index):
        classes |= dict.fromkeys(range(start, end), CLASSES[kind])
    sums: dict[str, int] = {"work": 0}
    for device in devices:
        found = busy(trace, device)
        work = instants(found.start_ps, found.end_ps)
        at_work = {ps for start, end in work for ps in range(start, end)}
        for one in steps:
            for ps in range(one.start_ps, one.end_ps):
                name = "work" if ps in at_work else classes.get(ps, "unrecorded")
                sums[name] = sums.get(name, 0) + 1
    return {name: Fraction(ps, len(steps) * len(devices)) for name, ps in sums.items()}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40)), min_size=1, max_size=4),
    st.lists(st.lists(SPAN, min_size=1, max_size=5), min_size=1, max_size=3),
    st.lists(SPAN, max_size=3),
)
def test_means_are_those_of_every_instant(
    steps: list[tuple[int, int]], cores: list[list[tuple[int, int]]], marks: list[tuple[int, int]]
) -> None:
    """Steps as (pause before it, duration). Gaps are as short as they come: without a class, all of them together."""
    events, now = [("main", 0, 400)], 0
    for number, (pause, duration) in enumerate(steps):
        events.append(step(now + pause, duration, number))
        now += pause + duration
    made = capture(
        thread("python", *events, *(("StepMarker", *mark) for mark in marks), role="driving"),
        *(Core([("dot", *op) for op in ops], name=f"TPU:{number}") for number, ops in enumerate(cores)),
    )
    told: Any = step_idle_report(session(made))
    truth = by_hand(made)
    parts = {"work": told["work_ps"], **told["by_class_ps"]}
    idle = sum(ps for name, ps in truth.items() if name != "work")
    assert told["work_ps"] + told["idle_ps"] == told["step_ps"]
    assert sum(told["by_class_ps"].values()) + told["small_ps"] == told["idle_ps"]
    assert abs(parts["work"] - truth["work"]) < 1
    assert abs(told["idle_ps"] - idle) < 2
    for name, ps in told["by_class_ps"].items():
        assert ps <= truth[name] + 1


def adds_up(told: Any) -> None:
    every = told["all_cores"]
    for it in (told, every, *told["devices"]):
        assert it["idle_ps"] == it["small_ps"] + sum(it["by_class_ps"].values())
        assert 0 <= it["stall_ps"] <= it["work_ps"]
    assert every["time_ps"] == every["work_ps"] + every["idle_ps"]
    for name in ("time_ps", "work_ps", "stall_ps", "idle_ps", "small_ps"):
        assert sum(device[name] for device in told["devices"]) == every[name]
    if told["steps"]:
        assert told["work_ps"] + told["idle_ps"] == told["step_ps"]


def test_the_case_study() -> None:
    told: Any = step_idle_report(session(demo("synthetic_case_study_8_tpu_cores")))
    adds_up(told)
    assert (told["steps"], told["cores"]) == (10, 8)
    assert [round(told[name] / 1e9, 1) for name in ("step_ps", "work_ps", "idle_ps")] == [290.8, 169.2, 121.7]


@pytest.mark.parametrize(
    "folder", ["torch_xla/dynamo_full_step", "torch_xla/spmd_fsdp_debug", "public/tpu_v6e_jax", "public/gpu_mi300_jax"]
)  # fmt: skip
def test_real_captures_add_up(shared_traces: Path, folder: str) -> None:
    adds_up(step_idle_report(session(real_trace(shared_traces / folder))))
