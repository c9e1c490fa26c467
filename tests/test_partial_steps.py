"""Steps that the capture's edges cut are reported as a diagnostic, and are not in the list of steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Core, Event, capture, real_trace, thread
from launching import demo
from simulated import Simulation

from tb_xla_insights.analysis.steps.partial_steps import count_partial_steps, partial_diagnostics

STEP = {"_r": 1, "step_num": 5}


@pytest.mark.parametrize(
    ("outside", "count"),
    [
        ([], 0),
        ([("loss", 2, 5)], 1),
        ([("loss", 2, 5), ("forward", 95, 3)], 2),
        ([("evaluation", 95, 5)], 0),
        ([("StepMarker", 95, 5)], 0),
        ([("Wait for donation holds", 95, 1)], 0),
    ],
)
def test_annotations_of_steps_outside_all_steps(outside: list[tuple[str, int, int]], count: int) -> None:
    """An annotation that also occurs inside a step is part of a cut step; others launch nothing, so they are not."""
    inside = [("forward", 30, 20), ("loss", 50, 5)]
    events: list[Event] = [*outside, *inside, ("Training_Step", 20, 60, STEP)]
    events.sort(key=lambda event: event[1])
    trace = capture(thread("python", *events, role="driving"))
    assert count_partial_steps(trace) == count
    diagnostics = partial_diagnostics(trace)
    assert [diagnostic.id for diagnostic in diagnostics] == ["partial_steps"] * (count > 0)


@pytest.mark.parametrize("outside", [0, 1])
def test_launches_after_the_last_step_are_a_cut_step(outside: int) -> None:
    simulation = Simulation()
    for number in range(4):
        begin = simulation.now
        simulation.host("forward", 300)
        simulation.launch(100)
        if number < 4 - outside:
            simulation.tpu.step(begin, simulation.now - begin, number + 5)
    assert count_partial_steps(simulation.tpu.trace()) == outside


def test_last_step_without_duration_is_whole() -> None:
    steps = ("Training_Step", 0, 60, STEP), ("Training_Step", 70, 0, STEP)
    trace = capture(thread("python", *steps, role="driving"))
    assert [*partial_diagnostics(trace)] == []


def test_other_threads_have_no_steps() -> None:
    trace = capture(
        thread("python", ("Training_Step", 20, 60, STEP), role="driving"),
        thread("python", ("load_batch", 0, 200), role="loader"),
    )
    assert count_partial_steps(trace) == 0


def test_steps_from_markers_have_a_cut_step_before_the_first() -> None:
    markers = [("StepMarker", at, 10) for at in (10, 40, 70)]
    assert count_partial_steps(capture(thread("python", *markers, role="driving"))) == 1


@pytest.mark.parametrize(("first", "count"), [("f(1)", 1), ("warm_up(2)", 2)])
def test_last_step_from_runs_is_cut(first: str, count: int) -> None:
    """The end of the last step is unknown. So is the start of a step whose run precedes the first `f`."""
    runs = [(first, 0, 10), ("f(1)", 20, 20), ("f(1)", 60, 20), ("f(1)", 100, 20)]
    assert count_partial_steps(capture(thread("python", ("x", 0, 8)), Core(modules=runs))) == count


def test_case_study() -> None:
    assert count_partial_steps(demo("synthetic_case_study_8_tpu_cores")) == 1


@pytest.mark.parametrize(
    ("folder", "count"), [("tiny_baseline", 0), ("tiny_server", 1), ("baseline_server_level1", 2)]
)
def test_real_captures(shared_traces: Path, folder: str, count: int) -> None:
    """Captures from the server begin or end within steps."""
    assert count_partial_steps(real_trace(shared_traces / "torch_xla" / folder)) == count
