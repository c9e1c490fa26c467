"""Steps that the host only hands over last as long as their work, and follow each other."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from captures import real_trace, session
from hypothesis import given
from hypothesis import strategies as st
from simulated import ENQUEUED, LATENCY, MARKER, Simulation

from tb_xla_insights.analysis.diagnostics import diagnose
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.steps.partial_steps import partial_steps
from tb_xla_insights.analysis.steps.sources import recorded_steps
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.analysis.steps.table import steps_report
from tb_xla_insights.trace.model import Trace

US = 1_000_000
STEPS = 8


def loop(
    host: int, device: int, wait: bool = False, between: int = 0, evaluate_before: int | None = None
) -> Trace:
    """Steps of a host and a device, waited for within them or not at all; `between` two of them the host does something
    else, and before one it evaluates."""
    made = Simulation()
    for number in range(STEPS):
        if number == evaluate_before:
            made.launch(5 * device)
        begin = made.now
        made.host("forward", host)
        made.launch(device, marker=True)
        if wait:
            made.wait("PjRtComputationClient::TransferFromDevice")
        made.made.step(begin, made.now - begin, number + 5)
        made.host("log", between)
    return made.made.trace()


def durations(trace: Trace) -> list[int]:
    return [step.duration_ps // US for step in steps_of(trace)]


def test_a_host_that_runs_ahead() -> None:
    trace = loop(host=10, device=500)
    assert [step.duration_ps // US for step in recorded_steps(trace)] == [10 + MARKER] * STEPS
    assert durations(trace) == [500] * STEPS


def test_a_host_that_waits_in_the_step_or_takes_longer_than_the_device() -> None:
    """The annotation's length is the step's time."""
    for trace in (loop(host=10, device=500, wait=True), loop(host=500, device=10)):
        assert steps_of(trace) == recorded_steps(trace)


def test_a_host_that_waits_between_steps() -> None:
    made = Simulation()
    for number in range(STEPS):
        begin = made.now
        made.host("forward", 100)
        made.launch(500)
        made.made.step(begin, made.now - begin, number + 5)
        made.wait("PjRtComputationClient::TransferFromDevice", late=0)
    # The host works, hands the graph over, an idle device begins later, and works.
    assert durations(made.made.trace()) == [100 + ENQUEUED + LATENCY + 500] * STEPS


@pytest.mark.parametrize("most", [1, 3])
def test_a_full_queue_holds_the_host_up(most: int) -> None:
    """While it does, annotations are as long as steps; but they lack the work of the last ones, where the queue holds
    more than the step that the host is in."""
    made = Simulation()
    for number in range(STEPS):
        begin = made.now
        made.launch(500, marker=True)
        if number >= most:
            until = max(made.now, made.ends[-1 - most])
            made.made.on_main("Acquire semaphore", made.now, until - made.now)
            made.now = until
        made.made.step(begin, made.now - begin, number + 5)
    trace = made.made.trace()
    if most == 1:
        assert steps_of(trace) == recorded_steps(trace)
    else:
        assert durations(trace) == [500] * STEPS


def test_an_evaluation_now_and_then_is_in_no_step() -> None:
    assert durations(loop(host=10, device=500, evaluate_before=4)) == [500] * STEPS


def test_work_of_steps_that_the_capture_does_not_have() -> None:
    """Their annotations are there, and no run: those steps are cut."""
    made = Simulation()
    for number in range(STEPS):
        begin = made.now
        made.host("forward", 10)
        if number < STEPS - 3:
            made.launch(500)
        made.made.step(begin, made.now - begin, number + 5)
    trace = made.made.trace()
    assert (durations(trace), partial_steps(trace)) == ([500] * (STEPS - 3), 3)
    assert len(recorded_steps(trace)) == STEPS


@given(
    st.integers(1, 60), st.integers(1, 600), st.booleans(), st.integers(0, 80), st.sampled_from([None, 0, 3])
)
def test_steps_do_not_overlap_and_have_their_work(
    host: int, device: int, wait: bool, between: int, evaluate_before: int | None
) -> None:
    """Launches belong to the step whose annotation they lie in, however long it lasts."""
    trace = loop(host, device, wait, between, evaluate_before)
    steps, launches = steps_of(trace), find_launches(trace)
    assert all(first.end_ps <= second.start_ps for first, second in pairwise(steps))
    assert [row["executions"] for row in steps_report(session(trace))] == [1] * STEPS
    if launches.handed_over is not None:
        runs = launches.runs
        for number, step in enumerate(steps):
            own = launches.step_of_run == number
            assert step.start_ps <= runs.start_ps[own].min()
            assert step.end_ps >= runs.end_ps[own].max()


def noted(trace: Trace) -> list[str]:
    return [it.message for it in diagnose(session(trace)) if it.id == "step_times"]


def test_where_steps_last_other_than_annotated_a_note_says_so() -> None:
    assert noted(loop(host=500, device=10)) == []
    assert "its annotation lasts 16.0\u202fµs" in noted(loop(host=10, device=500))[0]
    between = noted(loop(host=200, device=10, wait=True, between=100))
    assert between[0].startswith("0.700")  # seven times between eight steps
    assert noted(loop(host=200, device=10, wait=True, between=20)) == []


@pytest.mark.parametrize(
    ("folder", "mean"), [("torch_xla/dynamo_full_step", 29.67), ("other/tf_keras_slow", 20.84)]
)
def test_real_captures(shared_traces: Path, folder: str, mean: float) -> None:
    """Twelve steps that the host is done with in 20.8 ms and that take the device 28.5; TensorFlow's `fit`, whose
    functions are handed over in 0.1 ms."""
    steps = steps_of(real_trace(shared_traces / folder))
    assert sum(step.duration_ps for step in steps) / len(steps) / 1e9 == pytest.approx(mean, abs=0.01)
