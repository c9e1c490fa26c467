"""What executions cost: the dynamo issue's table, the queue, and the fixed cost."""

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
    find_costs,
    fixed_cost,
    robust_line,
)
from tb_xla_insights.analysis.launches.launches import find_launches

COLUMNS = ("host_ps", "device_ps", "queue_ps", "overhead_ps")


@pytest.mark.parametrize("mode", dynamo_issue.MODES)
def test_the_dynamo_issues_table(mode: dynamo_issue.Mode) -> None:
    rows: dict[str, Any] = {
        row["program"]: row for row in executions_report(session(demo(f"synthetic_dynamo_issue_{mode}")))
    }
    truth = dynamo_issue.truth(mode).executions
    assert len(rows) == len(truth)
    for its in truth:
        row = rows[its.program]
        assert (row["kind"], row["launches"], row["count"], row["join"]) == (its.kind, 1, 1, "exact")
        assert [row[column] for column in COLUMNS] == [its.pjrt_ps, its.device_ps, 0, its.overhead_ps]


def test_time_in_the_queue_is_not_overhead() -> None:
    loop = Tpu()
    loop.launch(0, (10, 20), (50, 100))
    loop.launch(40, (60, 20), (160, 30), by="dynamo", program="g(2)")  # waits from 60 to 150 for the first
    loop.launch(
        190, (200, 90), (220, 10), by="dynamo", program="g(2)", enqueue=210
    )  # the call outlasts its run
    costs = find_costs(loop.trace())
    assert (costs.host_ps // US).tolist() == [140, 130, 90]
    assert (costs.device_ps // US).tolist() == [100, 30, 10]
    assert (costs.queue_ps // US).tolist() == [0, 90, 0]
    assert (costs.overhead_ps // US).tolist() == [40, 10, 80]
    assert (costs.lead_ps // US).tolist() == [0, 80, -20]  # enqueued at 70 and 210, free at 150 and 190


def test_rows_come_by_program_and_join() -> None:
    loop = Tpu()
    loop.launch(0, (10, 5), (20, 10), program="train(7)", cores=(0, 1))
    loop.launch(40, (50, 5), (60, 10), program="train(18446744073709551615)", cores=(0, 1))
    loop.runs[1].insert(0, ("train(7)", 0, 5 * US, {}))  # its call lies before the capture
    rows: Any = executions_report(session(loop.trace()))
    assert [(row["program"], row["join"], row["launches"], row["count"]) for row in rows] == [
        ("train", "exact", 2, 4),
        ("train", "none", 0, 1),
    ]
    assert rows[0]["program_ids"] == ["7", "18446744073709551615"]
    assert [rows[1][column] // US for column in COLUMNS] == [5, 5, 0, 0]
    known = find_launches(loop.trace()).runs.launch >= 0
    assert known.tolist() == [True, True, False, True, True]


def test_clocks_that_disagree_make_no_negative_overhead() -> None:
    loop = Tpu()
    loop.launch(0, (10, 4), (8, 20))
    costs = find_costs(loop.trace())
    assert [int(getattr(costs, column)[0]) // US for column in COLUMNS] == [20, 20, 0, 0]


@st.composite
def work(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Calls on one thread and their runs on one core: call, its duration, run, its duration, in microseconds."""
    found, call, free = [], 10, 0
    for _ in range(draw(st.integers(1, 6))):
        call += draw(st.integers(5, 30))
        length = draw(st.integers(2, 20))
        begin = max(free, call + draw(st.integers(0, 10)))
        free = begin + draw(st.integers(1, 60))
        found.append((call, length, begin, free - begin))
        call += length
    return found


@settings(max_examples=60, deadline=None)
@given(work())
def test_queue_time_by_the_microsecond(its: list[tuple[int, int, int, int]]) -> None:
    loop = Tpu()
    for call, length, begin, duration in its:
        loop.launch(call - 5, (call, length), (begin, duration))
    costs = find_costs(loop.trace())
    for i, (call, length, begin, duration) in enumerate(its):
        queued = sum(any(b + d > t for _, _, b, d in its[:i]) for t in range(call, begin))
        host = max(call + length, begin + duration) - call
        expected = [host, duration, queued, host - duration - queued]
        assert [int(getattr(costs, column)[i]) for column in COLUMNS] == [value * US for value in expected]


def test_a_queued_tpu_has_little_overhead(shared_traces: Path) -> None:
    rows = {
        row["program"]: row
        for row in executions_report(session(real_trace(shared_traces / "public/tpu_v6e_jax")))
    }
    row = rows["jit_f"]
    assert (row["launches"], row["count"], row["join"]) == (100, 400, "exact")
    assert row["queue_ps"] > 0.96 * row["host_ps"]
    assert row["overhead_ps"] < 0.002 * row["host_ps"]


@pytest.mark.parametrize("scenario", ["spmd_fsdp_debug", "dynamo_train_session", "tiny_early_item"])
def test_sums_of_real_runs(shared_traces: Path, scenario: str) -> None:
    trace = real_trace(shared_traces / "torch_xla" / scenario)
    costs, launches = find_costs(trace), find_launches(trace)
    assert (costs.host_ps == costs.device_ps + costs.queue_ps + costs.overhead_ps).all()
    assert min(costs.queue_ps.min(), costs.overhead_ps.min()) >= 0
    rows = executions_report(session(trace))
    assert sum(row["count"] for row in rows) == sum(len(device.modules) for device in trace.devices)
    assert sum(row["host_ps"] for row in rows) == costs.host_ps.sum()
    assert max(row["launches"] for row in rows) <= len(launches)


def test_the_fixed_cost_of_an_execution() -> None:
    loop = Tpu()
    for number, (wait, duration) in enumerate(
        [(30, 50), (31, 100), (30, 150), (29, 200), (30, 250), (300, 60)]
    ):
        start = number * 1000
        loop.launch(start, (start + 10, 5), (start + 10 + wait, duration))
    fit = fixed_cost(session(loop.trace()))
    assert fit is not None
    assert fit["n"] == 6
    assert fit["fixed_ps"] == pytest.approx(30 * US, rel=0.1)  # the last one took long and bends nothing
    assert fit["per_device"] == pytest.approx(0, abs=0.01)


def test_what_hides_behind_the_queue_tells_no_fixed_cost() -> None:
    loop = Tpu()
    for number in range(4):
        start = number * 1000
        loop.launch(start, (start + 10, 5), (start + 40, 50 * number + 50))
        loop.launch(start + 20, (start + 25, 5), (start + 90 + 50 * number, 40))
    fit = fixed_cost(session(loop.trace()))
    assert fit is not None
    assert fit["n"] == 4
    assert fit["fixed_ps"] == pytest.approx(30 * US)


def test_where_most_runs_queue_an_execution_costs_what_is_left(shared_traces: Path) -> None:
    """On this capture a few executions did not: the first ones, which load the program for seconds."""
    fit = fixed_cost(session(real_trace(shared_traces / "public/tpu_v6e_jax")))
    assert fit is not None
    assert (fit["n"], fit["fixed_ps"] < 10 * US) == (414, True)


def test_the_spread_of_a_programs_runs() -> None:
    loop = Tpu()
    for number, duration in enumerate((30, 10, 20, 90)):
        loop.launch(200 * number, (200 * number + 5, 5), (200 * number + 10, duration))
    row: Any
    (row,) = executions_report(session(loop.trace()))
    assert row["spread"]["device_ps"] == {"min": 10 * US, "median": 20 * US, "max": 90 * US}
    assert all(its["min"] * 4 <= row[name] <= its["max"] * 4 for name, its in row["spread"].items())


def test_launching_gets_no_cheaper_with_time() -> None:
    """Where longer runs happen to cost less, the middle is what an execution costs."""
    loop = Tpu()
    for number, (overhead, duration) in enumerate(((30, 10), (20, 20), (10, 30))):
        loop.launch(200 * number, (200 * number + 5, 5), (200 * number + overhead, duration))
    middle = int(np.median(find_costs(loop.trace()).overhead_ps))
    assert fixed_cost(session(loop.trace())) == {"fixed_ps": middle, "per_device": 0.0, "n": 3}


def test_two_executions_tell_no_fixed_cost() -> None:
    loop = Tpu()
    loop.launch(0, (10, 5), (20, 10))
    loop.launch(100, (110, 5), (120, 10))
    assert fixed_cost(session(loop.trace())) is None


def test_a_line_through_points() -> None:
    x = np.arange(1.0, 9.0)
    assert robust_line(x, 3 + 0.5 * x) == pytest.approx((3, 0.5))
    assert robust_line(np.full(5, 7.0), np.array([1.0, 2, 3, 4, 90])) == (3, 0)
