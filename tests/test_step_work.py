"""The intervals in which each device worked for a step."""

from __future__ import annotations

from pathlib import Path

from captures import Core, capture, real_trace, session, thread
from launching import US, Tpu, demo

from tb_xla_insights.analysis.steps.device_work import step_work_intervals
from tb_xla_insights.analysis.steps.step_table import steps_report
from tb_xla_insights.schema.overview_route import StepWorkIntervals
from tb_xla_insights.trace.model import Trace


def intervals(work: StepWorkIntervals) -> list[tuple[int, int, int]]:
    return list(zip(work["step"], work["start_ps"], work["end_ps"], strict=True))


def intervals_by_device(trace: Trace) -> list[list[tuple[int, float, float]]]:
    """Per device: step, start and end in microseconds."""
    work = step_work_intervals(session(trace), 1000)
    return [
        [(step, start / US, end / US) for step, start, end in intervals(device_work)] for device_work in work
    ]


def two_steps() -> Tpu:
    loop = Tpu()
    loop.step(0, 100, 1)
    loop.step(100, 100, 2)
    return loop


def test_work_belongs_to_the_step_that_launched_it() -> None:
    loop = two_steps()
    loop.launch(80, (90, 5), (120, 70))
    loop.launch(180, (190, 5), (230, 60))
    assert intervals_by_device(loop.trace()) == [[(0, 120, 190), (1, 230, 290)]]


def test_consecutive_runs_of_one_step_are_one_interval() -> None:
    loop = two_steps()
    loop.launch(20, (30, 5), (40, 20), program="forward(1)")
    loop.launch(60, (70, 5), (80, 30), program="backward(2)")
    loop.launch(120, (130, 5), (140, 20), program="forward(1)")
    assert intervals_by_device(loop.trace()) == [[(0, 40, 110), (1, 140, 160)]]


def test_runs_outside_steps_are_in_no_interval() -> None:
    loop = two_steps()
    loop.launch(20, (30, 5), (40, 20))
    loop.launch(120, (130, 5), (140, 20))
    loop.launch(220, (230, 5), (240, 20), program="eval(3)")
    assert intervals_by_device(loop.trace()) == [[(0, 40, 60), (1, 140, 160)]]


def test_each_core_has_its_intervals() -> None:
    loop = two_steps()
    loop.launch(20, (30, 5), (40, 20), cores=(0, 1))
    loop.launch(120, (130, 5), (140, 20), cores=(1,))
    assert intervals_by_device(loop.trace()) == [[(0, 40, 60)], [(0, 40, 60), (1, 140, 160)]]


def test_intervals_overlap_if_runs_do() -> None:
    loop = two_steps()
    loop.launch(80, (90, 5), (120, 70))
    loop.launch(110, (115, 5), (150, 20))
    assert intervals_by_device(loop.trace()) == [[(0, 120, 190), (1, 150, 170)]]


def test_steps_of_several_hosts_are_distinguished() -> None:
    first, second = two_steps(), two_steps()
    first.launch(20, (30, 5), (40, 20))
    second.launch(120, (130, 5), (140, 20))
    work = step_work_intervals(session(first.trace(), second.trace()), 10)
    assert [(device_work["steps"], device_work["step"]) for device_work in work] == [
        ((0, 2), [0]),
        ((2, 4), [3]),
    ]


def test_limit_cuts_after_whole_steps() -> None:
    trace = demo("synthetic_case_study_8_tpu_cores")
    for max_intervals, steps in ((80, 10), (79, 9), (16, 2), (15, 1), (7, 0)):
        work = step_work_intervals(session(trace), max_intervals)
        assert [device_work["step"] for device_work in work] == [list(range(steps))] * 8


def test_without_steps_or_devices() -> None:
    assert step_work_intervals(session(capture(thread("python", ("forward", 0, 10)))), 10) == []
    [work] = step_work_intervals(session(capture(Core([("fusion.1", 10, 20)], [("train(1)", 10, 40)]))), 10)
    assert work["step"] == []


def test_case_study_runs_each_step_while_the_next_one_is_built() -> None:
    """The exception is step 7, whose forward an early execution splits."""
    case_study = session(demo("synthetic_case_study_8_tpu_cores"))
    steps = steps_report(case_study.traces[0])
    for work in step_work_intervals(case_study, 1000):
        delays = [start - steps[step]["start_ps"] for step, start, _ in intervals(work)]
        assert delays[7] // US == 170_469
        for delay, step in zip(delays, steps, strict=True):
            assert step["index"] == 7 or abs(delay - step["duration_ps"]) < 300 * US


def test_intervals_of_real_captures_are_in_order(shared_traces: Path) -> None:
    for folder in ("torch_xla/tiny_dynamic", "torch_xla/tiny_dynamo_train", "public/tpu_v6e_jax"):
        capture_session = session(real_trace(shared_traces / folder))
        count = len(steps_report(capture_session.traces[0]))
        for work in step_work_intervals(capture_session, 10**6):
            assert work["start_ps"] == sorted(work["start_ps"])
            assert all(start <= end for _, start, end in intervals(work))
            assert all(0 <= step < count for step in work["step"])
