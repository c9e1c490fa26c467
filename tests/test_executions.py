"""Times of runs: the dynamo issue's table, queue time, and the fixed cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import real_trace, session
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import US, Tpu, demo
from synthetic import dynamo_issue

from tb_xla_insights.analysis.launches.executions import (
    executions_report,
    find_run_times,
    fixed_cost,
    programs_report,
    robust_line,
)
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.compare import compare
from tb_xla_insights.report.launch_rows import mean_runs
from tb_xla_insights.report.session_view import SessionView

COLUMNS = ("host_ps", "device_ps", "queue_ps", "overhead_ps")


@pytest.mark.parametrize("mode", dynamo_issue.MODES)
def test_table_of_the_dynamo_issue(mode: dynamo_issue.Mode) -> None:
    rows: dict[str, Any] = {
        row["program"]: row for row in executions_report(demo(f"synthetic_dynamo_issue_{mode}"))
    }
    truth = dynamo_issue.truth(mode).executions
    assert len(rows) == len(truth)
    for expected in truth:
        row = rows[expected.program]
        assert (row["kind"], row["launches"], row["count"], row["join"]) == (expected.kind, 1, 1, "exact")
        assert [row[column] for column in COLUMNS] == [
            expected.host_ps,
            expected.device_ps,
            0,
            expected.overhead_ps,
        ]


def test_time_in_the_queue_is_not_overhead() -> None:
    loop = Tpu()
    loop.launch(0, (10, 20), (50, 100))
    loop.launch(40, (60, 20), (160, 30), by="dynamo", program="g(2)")  # waits from 60 to 150 for the first
    # The call outlasts its run.
    loop.launch(190, (200, 90), (220, 10), by="dynamo", program="g(2)", enqueue=210)
    times = find_run_times(loop.trace())
    assert (times.host_ps // US).tolist() == [140, 130, 90]
    assert (times.device_ps // US).tolist() == [100, 30, 10]
    assert (times.queue_ps // US).tolist() == [0, 90, 0]
    assert (times.overhead_ps // US).tolist() == [40, 10, 80]
    assert (times.lead_ps // US).tolist() == [0, 80, -20]  # enqueued at 70 and 210, free at 150 and 190


def test_a_row_per_program_and_join() -> None:
    loop = Tpu()
    loop.launch(0, (10, 5), (20, 10), program="train(7)", cores=(0, 1))
    loop.launch(40, (50, 5), (60, 10), program="train(18446744073709551615)", cores=(0, 1))
    loop.runs[1].insert(0, ("train(7)", 0, 5 * US, {}))  # its call is before the capture
    rows: Any = executions_report(loop.trace())
    assert [(row["program"], row["join"], row["launches"], row["count"]) for row in rows] == [
        ("train", "exact", 2, 4),
        ("train", "none", 0, 1),
    ]
    assert rows[0]["program_ids"] == ["7", "18446744073709551615"]
    assert [rows[1][column] // US for column in COLUMNS] == [5, 5, 0, 0]
    has_launch = find_launches(loop.trace()).runs.launch >= 0
    assert has_launch.tolist() == [True, True, False, True, True]


def test_runs_launched_before_the_capture_do_not_decide_what_launches_a_program() -> None:
    """The host's record begins after three of five launches of the same loop."""
    loop = Tpu(run_ids=False, flows=False)
    for step in range(5):
        loop.launch(100 * step, (100 * step + 10, 20), (100 * step + 50, 40))
    loop.main, loop.executor = (
        [event for event in events if event[1] >= 300 * US] for events in (loop.main, loop.executor)
    )
    (row,) = programs_report(loop.trace())
    assert (row["kind"], row["joins"]) == ("lazy", {"ordered": 2, "none": 3})


def launched_before_the_capture(runs: int = 1) -> Tpu:
    """Four launches with an overhead of 50 us each, and before them runs of the same program without a launch."""
    loop = Tpu()
    for step in range(1, 5):
        loop.launch(1000 * step, (1000 * step + 10, 20), (1000 * step + 60, 100), program="train(7)")
    for run in range(runs):
        loop.runs[0].insert(run, ("train(7)", 200 * run * US, 150 * US, {}))
    return loop


def test_runs_without_a_launch_count_in_no_mean_or_range_of_overhead() -> None:
    """The totals have all runs, and zero queue time and overhead of these."""
    row: Any
    (row,) = programs_report(launched_before_the_capture().trace())
    assert [row[column] // US for column in COLUMNS] == [750, 550, 0, 200]
    assert row["spread"]["overhead_ps"] == dict.fromkeys(("min", "median", "max"), 50 * US)
    assert (row["spread"]["host_ps"]["max"], row["spread"]["device_ps"]["max"]) == (150 * US, 150 * US)
    (means,) = mean_runs([row])
    assert [means[column] // US for column in COLUMNS] == [110 + 50, 110, 0, 50]
    assert means["overhead_spread"] == "50.000 / 50.000 / 50.000\u202fµs"


def test_queue_time_and_overhead_are_unknown_if_no_launch_is_known() -> None:
    loop = launched_before_the_capture()
    loop.main, loop.executor = [], []
    row = programs_report(loop.trace())[0]
    assert row["joins"] == {"none": 5}
    (means,) = mean_runs([row])
    assert [means[column] for column in COLUMNS] == [None, 110 * US, None, None]
    assert means["overhead_spread"] == ""


def test_a_comparison_has_the_mean_overhead_of_runs_whose_launch_is_known() -> None:
    all_known, others = (session(launched_before_the_capture(runs).trace()) for runs in (0, 3))
    document: Any = compare(SessionView(all_known), SessionView(others))
    [program] = document["programs"]
    assert (program["overhead"]["a_ps"], program["overhead"]["b_ps"]) == (50 * US, 50 * US)
    assert program["b"]["overhead_ps"] == 200 * US
    [measure] = [row for row in document["measures"] if row["name"] == "overhead_per_run"]
    assert (measure["a_ps"], measure["b_ps"]) == (50 * US, 50 * US)


def test_overhead_is_not_negative_if_clocks_disagree() -> None:
    loop = Tpu()
    loop.launch(0, (10, 4), (8, 20))
    times = find_run_times(loop.trace())
    assert [int(getattr(times, column)[0]) // US for column in COLUMNS] == [20, 20, 0, 0]


@st.composite
def calls_with_runs(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Calls on one thread and their runs on one core: call, its duration, run, its duration, in microseconds."""
    calls, call, free_at = [], 10, 0
    for _ in range(draw(st.integers(1, 6))):
        call += draw(st.integers(5, 30))
        length = draw(st.integers(2, 20))
        run_start = max(free_at, call + draw(st.integers(0, 10)))
        free_at = run_start + draw(st.integers(1, 60))
        calls.append((call, length, run_start, free_at - run_start))
        call += length
    return calls


@settings(max_examples=60, deadline=None)
@given(calls_with_runs())
def test_queue_time_microsecond_by_microsecond(calls: list[tuple[int, int, int, int]]) -> None:
    loop = Tpu()
    for call, length, run_start, duration in calls:
        loop.launch(call - 5, (call, length), (run_start, duration))
    times = find_run_times(loop.trace())
    for i, (call, length, run_start, duration) in enumerate(calls):
        earlier_ends = [earlier_start + earlier_us for _, _, earlier_start, earlier_us in calls[:i]]
        queue_us = sum(any(end > instant for end in earlier_ends) for instant in range(call, run_start))
        host_us = max(call + length, run_start + duration) - call
        expected = [host_us, duration, queue_us, host_us - duration - queue_us]
        assert [int(getattr(times, column)[i]) for column in COLUMNS] == [value * US for value in expected]


def test_tpu_with_a_full_queue_has_little_overhead(shared_traces: Path) -> None:
    rows = {
        row["program"]: row for row in executions_report(real_trace(shared_traces / "public/tpu_v6e_jax"))
    }
    row = rows["jit_f"]
    assert (row["launches"], row["count"], row["join"]) == (100, 400, "exact")
    assert row["queue_ps"] > 0.96 * row["host_ps"]
    assert row["overhead_ps"] < 0.002 * row["host_ps"]


@pytest.mark.parametrize("scenario", ["spmd_fsdp_debug", "dynamo_train_session", "tiny_early_item"])
def test_sums_of_real_runs(shared_traces: Path, scenario: str) -> None:
    trace = real_trace(shared_traces / "torch_xla" / scenario)
    times, launches = find_run_times(trace), find_launches(trace)
    assert (times.host_ps == times.device_ps + times.queue_ps + times.overhead_ps).all()
    assert min(times.queue_ps.min(), times.overhead_ps.min()) >= 0
    rows = executions_report(trace)
    assert sum(row["count"] for row in rows) == sum(len(device.runs) for device in trace.devices)
    assert sum(row["host_ps"] for row in rows) == times.host_ps.sum()
    assert max(row["launches"] for row in rows) <= len(launches)


def test_fixed_cost_is_robust() -> None:
    loop = Tpu()
    for number, (wait, duration) in enumerate(
        [(30, 50), (31, 100), (30, 150), (29, 200), (30, 250), (300, 60)]
    ):
        start = number * 1000
        loop.launch(start, (start + 10, 5), (start + 10 + wait, duration))
    fit = fixed_cost(loop.trace())
    assert fit is not None
    assert fit["runs"] == 6
    assert fit["fixed_ps"] == pytest.approx(30 * US, rel=0.1)  # the slow last run has no influence
    assert fit["slope"] == pytest.approx(0, abs=0.01)


def test_queued_runs_do_not_count_for_the_fixed_cost() -> None:
    loop = Tpu()
    for number in range(4):
        start = number * 1000
        loop.launch(start, (start + 10, 5), (start + 40, 50 * number + 50))
        loop.launch(start + 20, (start + 25, 5), (start + 90 + 50 * number, 40))
    fit = fixed_cost(loop.trace())
    assert fit is not None
    assert fit["runs"] == 4
    assert fit["fixed_ps"] == pytest.approx(30 * US)


def test_all_runs_count_for_the_fixed_cost_if_most_queue(shared_traces: Path) -> None:
    """In this capture only the first few executions did not queue, and these load the program for seconds."""
    fit = fixed_cost(real_trace(shared_traces / "public/tpu_v6e_jax"))
    assert fit is not None
    assert (fit["runs"], fit["fixed_ps"] < 10 * US) == (414, True)


def test_spread_of_a_programs_runs() -> None:
    loop = Tpu()
    for number, duration in enumerate((30, 10, 20, 90)):
        loop.launch(200 * number, (200 * number + 5, 5), (200 * number + 10, duration))
    row: Any
    (row,) = executions_report(loop.trace())
    assert row["spread"]["device_ps"] == {"min": 10 * US, "median": 20 * US, "max": 90 * US}
    assert all(spread["min"] * 4 <= row[name] <= spread["max"] * 4 for name, spread in row["spread"].items())


def test_fixed_cost_has_no_negative_slope() -> None:
    """If longer runs happen to cost less, the fixed cost is the median."""
    loop = Tpu()
    for number, (overhead, duration) in enumerate(((30, 10), (20, 20), (10, 30))):
        loop.launch(200 * number, (200 * number + 5, 5), (200 * number + overhead, duration))
    median = int(np.median(find_run_times(loop.trace()).overhead_ps))
    assert fixed_cost(loop.trace()) == {"fixed_ps": median, "slope": 0.0, "runs": 3}


def test_two_executions_have_no_fixed_cost() -> None:
    loop = Tpu()
    loop.launch(0, (10, 5), (20, 10))
    loop.launch(100, (110, 5), (120, 10))
    assert fixed_cost(loop.trace()) is None


def test_robust_line() -> None:
    x = np.arange(1.0, 9.0)
    assert robust_line(x, 3 + 0.5 * x) == pytest.approx((3, 0.5))
    assert robust_line(np.full(5, 7.0), np.array([1.0, 2, 3, 4, 90])) == (3, 0)
