"""The report's `steps`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import Core, Event, capture, real_trace, session, thread
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import US, Tpu, demo, event
from synthetic import case_study, dynamo_issue

from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.steps.step_table import steps_report
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.report.document import session_report


def test_a_step_has_its_work_even_if_it_runs_later() -> None:
    loop = Tpu()
    loop.step(0, 100, 7)
    loop.on_main("data_loading", 0, 30)
    loop.launch(80, (90, 20), (130, 120), by="marker", cores=(0, 1))
    loop.step(100, 100, 8)
    loop.launch(110, (120, 10), (250, 5), program="inputs(3)")
    loop.launch(120, (135, 10), (255, 20), by="dynamo", program="g(4)")
    first, second = map(dict[str, Any], steps_report(loop.trace()))
    host = {name: time / US for name, time in first.pop("host_ps").items()}
    assert host == {"input": 30, "tracing": 64, "sync_prepare": 6}
    assert first == {
        "index": 0, "name": "Training_Step", "number": 7, "source": "annotation", "host": "vm", "start_ps": 0,
        "duration_ps": 100 * US, "device_busy_ps": 120 * US, "device_work_ps": 0, "executions": 1,
        "compiles": 0, "early_syncs": 0, "input_syncs": 0, "from_device": 0,
    }  # fmt: skip
    assert (second["executions"], second["device_busy_ps"] // US, second["input_syncs"]) == (2, 25, 1)
    assert second["device_work_ps"] == 70 * US, "the first step's work, by the clock"


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 150), st.integers(1, 90)), max_size=3), min_size=1, max_size=4)
)
def test_overlapping_runs_count_once(steps: list[list[tuple[int, int]]]) -> None:
    """Each step's runs are given as (start after the step's start, duration)."""
    loop = Tpu()
    for i, runs in enumerate(steps):
        loop.step(100 * i, 100, i)
        for n, (offset, duration) in enumerate(runs):
            call = 100 * i + 10 + 20 * n
            loop.launch(call, (call + 5, 5), (100 * i + offset, duration))
    capture_session = session(loop.trace())
    busy = sum(device["busy_ps"] for device in device_summaries(capture_session.traces[0]))
    assert sum(row["device_busy_ps"] for row in steps_report(capture_session.traces[0])) == busy


@pytest.mark.parametrize(
    "lines",
    [
        {"Steps": [event("1", 0, 100), event("2", 100, 60)]},
        {"XLA Modules": [event("f(1)", 0, 90), event("f(1)", 100, 60), event("f(1)", 160, 5)]},
    ],
)
def test_steps_from_a_device_have_the_work_within_them(lines: dict[str, list[Event]]) -> None:
    """No launch is known. One op lasts from the first step into the second."""
    work = [event("fusion", 10, 40), event("fusion", 80, 30), event("fusion", 120, 40)]
    rows = steps_report(capture(thread("python", event("forward", 0, 9)), Core(work, lines=lines)))
    assert [row["device_busy_ps"] // US for row in rows] == [60, 50]


def test_compilations_count_in_the_step_in_which_they_begin() -> None:
    trace = capture(
        thread(
            "python",
            event("Training_Step", 0, 100, _r=1),
            event("XLAGraphExecutor::Compile", 10, 60),
            event("PjRtComputationClient::Compile", 12, 50),
            event("XLAGraphExecutor::Compile", 80, 5),
            role="driving",
        ),
        thread("tf_xla-cpu-codegen/1", event("PjRtCpuClient::Compile", 15, 20), role="compiler"),
        thread("tf_xla-cpu-codegen/2", event("PjRtCpuClient::Compile", 110, 20), role="compiler"),
    )
    assert [row["compiles"] for row in steps_report(trace)] == [2]


def test_index_counts_through_all_hosts() -> None:
    first = capture(thread("python", event("a", 0, 10, _r=1), event("b", 20, 10, _r=1)), host="one")
    last = capture(thread("python", event("c", 0, 10, _r=1)), host="other")
    rows = session_report(session(first, capture(thread("python", event("x", 0, 1))), last))["steps"]
    columns = [(row["index"], row["name"], row["host"]) for row in rows]
    assert columns == [(0, "a", "one"), (1, "b", "one"), (2, "c", "other")]


def test_case_study() -> None:
    trace, truth = demo("synthetic_case_study_8_tpu_cores"), case_study.truth()
    rows = steps_report(trace)
    assert [(row["number"], row["start_ps"], row["duration_ps"], row["executions"]) for row in rows] == [
        (step.number, step.start_ps, step.duration_ps, step.launch_count) for step in truth.steps
    ]
    assert [row["compiles"] for row in rows] == [
        int(step.number == truth.recompiled_step) for step in truth.steps
    ]
    gap_row = next(row for row in rows if row["number"] == truth.gap_step)
    # Cores start at slightly different times.
    assert truth.run_ps <= gap_row["device_busy_ps"] <= truth.run_ps + 200 * US


@pytest.mark.parametrize("mode", dynamo_issue.MODES)
def test_dynamo_issue(mode: dynamo_issue.Mode) -> None:
    truth = dynamo_issue.truth(mode)
    (row,) = steps_report(demo(f"synthetic_dynamo_issue_{mode}"))
    assert (row["number"], row["duration_ps"], row["device_busy_ps"]) == (
        truth.step_number,
        truth.step_ps,
        truth.device_ps,
    )
    assert (row["executions"], row["input_syncs"], row["early_syncs"]) == (
        len(truth.executions),
        truth.input_syncs,
        0,
    )
    if truth.tracing_ps is not None:
        assert row["host_ps"]["tracing"] == truth.tracing_ps


@pytest.mark.parametrize(
    "folder",
    [
        "torch_xla/tiny_dynamo_train",
        "torch_xla/spmd_fsdp_debug",
        "torch_xla/tiny_server",
        "public/tpu_v6e_jax",
    ],
)
def test_real_steps_add_up(shared_traces: Path, folder: str) -> None:
    trace = real_trace(shared_traces / folder)
    rows = steps_report(trace)
    assert len(rows) == len(find_steps(trace)) > 0
    for row in rows:
        assert sum(row["host_ps"].values()) == row["duration_ps"]
    totals = host_class_segments(trace).sums(len(CLASSES))
    for name, total in zip(CLASSES, totals, strict=True):
        assert sum(row["host_ps"].get(name, 0) for row in rows) <= total
    busiest_ps = max(device["busy_ps"] for device in device_summaries(trace))
    assert 0.8 * busiest_ps < sum(row["device_busy_ps"] for row in rows)


@pytest.mark.parametrize(
    ("scenario", "compiled"), [("tiny_coldstart", 2), ("tiny_dynamic", 3), ("tiny_baseline", 0)]
)
def test_compilations_of_real_steps(shared_traces: Path, scenario: str, compiled: int) -> None:
    rows = steps_report(real_trace(shared_traces / "torch_xla" / scenario))
    assert sum(row["compiles"] for row in rows) == compiled
