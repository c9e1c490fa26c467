"""Steps that the host only hands over last as long as their work, and follow each other."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from captures import real_trace, session
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import US, Tpu
from simulated import ENQUEUE_OFFSET, LATENCY, MARKER, SYNC, Simulation

from tb_xla_insights.analysis.completeness.diagnostics import diagnose
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import recorded_steps
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.steps.partial_steps import count_partial_steps
from tb_xla_insights.analysis.steps.step_table import steps_report
from tb_xla_insights.compare.step import default_step_view
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.trace.model import Trace

STEPS = 8


def loop(
    host: int, device: int, wait: bool = False, between: int = 0, evaluate_before: int | None = None
) -> Trace:
    """Steps of a host and a device. With `wait`, the host waits for the device within each step. It works for `between`
    microseconds between steps, and evaluates before one step."""
    simulation = Simulation()
    for number in range(STEPS):
        if number == evaluate_before:
            simulation.launch(5 * device)
        with simulation.step(number):
            simulation.host("forward", host)
            simulation.launch(device, marker=True)
            if wait:
                simulation.wait("PjRtComputationClient::TransferFromDevice")
        simulation.host("log", between)
    return simulation.tpu.trace()


def durations(trace: Trace) -> list[int]:
    return [step.duration_ps // US for step in find_steps(trace)]


def test_host_runs_ahead() -> None:
    trace = loop(host=10, device=500)
    assert [step.duration_ps // US for step in recorded_steps(trace)] == [10 + MARKER] * STEPS
    assert durations(trace) == [500] * STEPS


@pytest.mark.parametrize(("wait", "phases"), [(False, []), (True, ["forward"])])
def test_comparisons_draw_the_phases_that_overlap_the_step(wait: bool, phases: list[str]) -> None:
    """A host that runs ahead has left the phases of a step before the step's work begins."""
    step = default_step_view(SessionView(session(loop(host=10, device=500, wait=wait))))
    assert step is not None
    assert [phase["name"] for phase in step["phases"]] == phases


def test_host_waits_in_the_step_or_is_slower_than_the_device() -> None:
    """The host's time from step to step is the step's time."""
    for between in (0, 200):
        for trace in (loop(10, 500, wait=True, between=between), loop(500, 10, between=between)):
            assert find_steps(trace) == recorded_steps(trace)


def test_a_loader_between_the_steps_is_no_sign_of_steps_that_are_handed_over() -> None:
    """The work of each step ends after its annotation, but before the next one begins."""
    assert durations(loop(host=10, device=100, between=400)) == [10 + MARKER + 400] * (STEPS - 1) + [
        10 + MARKER
    ]


def test_host_waits_between_steps() -> None:
    simulation = Simulation()
    for number in range(STEPS):
        with simulation.step(number):
            simulation.host("forward", 100)
            simulation.launch(500)
        simulation.wait("PjRtComputationClient::TransferFromDevice", delay_us=0)
    # The host works and hands the graph over; the idle device starts after a latency and works. The last step lasts
    # only as long as its annotation.
    period = 100 + ENQUEUE_OFFSET + LATENCY + 500
    assert durations(simulation.tpu.trace()) == [period] * (STEPS - 1) + [100 + SYNC]


@pytest.mark.parametrize("capacity", [1, 3])
def test_full_queue_blocks_the_host(capacity: int) -> None:
    """While the queue is full, annotations are as long as steps. If the queue holds more than the host's current step,
    the annotations lack the work of the last steps."""
    simulation = Simulation()
    for number in range(STEPS):
        with simulation.step(number):
            simulation.launch(500, marker=True)
            if number >= capacity:
                until = max(simulation.now, simulation.ends[-1 - capacity])
                simulation.tpu.on_main("Acquire semaphore", simulation.now, until - simulation.now)
                simulation.now = until
    trace = simulation.tpu.trace()
    if capacity == 1:
        assert find_steps(trace) == recorded_steps(trace)
    else:
        assert durations(trace) == [500] * STEPS


def test_evaluation_belongs_to_the_step_before_it() -> None:
    assert durations(loop(host=10, device=500, evaluate_before=4)) == [500] * 3 + [3000] + [500] * 4


@pytest.mark.parametrize("recorded", [1000, 500, 300])
def test_filling_a_pipeline_is_in_no_step(recorded: int) -> None:
    """Two stages, the first of which is one step ahead. The first step lasts no longer than the others; if the capture
    has only the end of its work, it lasts as long as that part."""
    tpu = Tpu()
    for number in range(STEPS):
        at, work = number * 20, number * 500
        tpu.step(at, 18, number)
        if number or recorded > 500:
            tpu.launch(at, (at + 5, 4), (100 + work, 500))
        late = 0 if number else max(0, 500 - recorded)
        tpu.launch(at + 10, (at + 12, 4), (600 + work + late, 500 - late), cores=(1,))
    assert durations(tpu.trace()) == [min(recorded, 500)] + [500] * (STEPS - 1)


def test_steps_without_recorded_work_are_cut() -> None:
    """The annotations of the last steps are recorded, but not their runs."""
    simulation = Simulation()
    for number in range(STEPS):
        with simulation.step(number):
            simulation.host("forward", 10)
            if number < STEPS - 3:
                simulation.launch(500)
    trace = simulation.tpu.trace()
    assert (durations(trace), count_partial_steps(trace)) == ([500] * (STEPS - 3), 3)
    assert len(recorded_steps(trace)) == STEPS


@given(
    st.integers(1, 60), st.integers(1, 600), st.booleans(), st.integers(0, 80), st.sampled_from([None, 0, 3])
)
@settings(max_examples=40)
def test_steps_do_not_overlap_and_contain_their_work(
    host: int, device: int, wait: bool, between: int, evaluate_before: int | None
) -> None:
    """A launch belongs to the step in which the host makes it, however long its runs last."""
    trace = loop(host, device, wait, between, evaluate_before)
    steps, launches = find_steps(trace), find_launches(trace)
    assert all(first.end_ps == second.start_ps for first, second in pairwise(steps))
    launched = [1] * STEPS
    if evaluate_before:
        launched[evaluate_before - 1] += 1
    assert [row["executions"] for row in steps_report(trace)] == launched
    if launches.handed_over_times is not None:
        runs = launches.runs
        for number, step in enumerate(steps):
            is_of_step = launches.step_of_run == number
            assert step.start_ps <= runs.start_ps[is_of_step].min()
            assert step.end_ps >= runs.end_ps[is_of_step].max()


def step_time_messages(trace: Trace) -> list[str]:
    return [diagnostic.message for diagnostic in diagnose(trace) if diagnostic.id == "step_times"]


def test_diagnostic_for_steps_that_differ_from_their_annotations() -> None:
    assert step_time_messages(loop(host=500, device=10)) == []
    assert "its annotation lasts only 16.0\u202fµs" in step_time_messages(loop(host=10, device=500))[0]
    assert step_time_messages(loop(host=200, device=10, wait=True, between=100)) == []


@pytest.mark.parametrize(
    ("folder", "mean"), [("torch_xla/dynamo_full_step", 29.67), ("other/tf_keras_slow", 21.59)]
)
def test_mean_steps_of_real_captures(shared_traces: Path, folder: str, mean: float) -> None:
    """Twelve steps with annotations of 20.8 ms and runs of 29.3 ms; and TensorFlow's `fit`, whose steps are the calls
    around its `FunctionRun` events of 0.04 ms."""
    steps = find_steps(real_trace(shared_traces / folder))
    assert sum(step.duration_ps for step in steps) / len(steps) / 1e9 == pytest.approx(mean, abs=0.01)
