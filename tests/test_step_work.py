"""What each device worked on for which step."""

from __future__ import annotations

from pathlib import Path

from captures import Core, capture, real_trace, session, thread
from launching import US, Tpu, demo

from tb_xla_insights.analysis.steps.device_work import step_work_intervals
from tb_xla_insights.analysis.steps.table import steps_report
from tb_xla_insights.schema.overview_route import StepWorkIntervals
from tb_xla_insights.trace.model import Trace


def stretches(work: StepWorkIntervals) -> list[tuple[int, int, int]]:
    return list(zip(work["step"], work["start_ps"], work["end_ps"], strict=True))


def of(trace: Trace) -> list[list[tuple[int, float, float]]]:
    """Per device: step, start and end in microseconds."""
    work = step_work_intervals(session(trace), 1000)
    return [[(step, start / US, end / US) for step, start, end in stretches(it)] for it in work]


def two_steps() -> Tpu:
    loop = Tpu()
    loop.step(0, 100, 1)
    loop.step(100, 100, 2)
    return loop


def test_work_belongs_to_the_step_that_launched_it_however_late_it_runs() -> None:
    loop = two_steps()
    loop.launch(80, (90, 5), (120, 70))
    loop.launch(180, (190, 5), (230, 60))
    assert of(loop.trace()) == [[(0, 120, 190), (1, 230, 290)]]


def test_runs_of_one_step_that_follow_each_other_are_one_stretch() -> None:
    loop = two_steps()
    loop.launch(20, (30, 5), (40, 20), program="forward(1)")
    loop.launch(60, (70, 5), (80, 30), program="backward(2)")
    loop.launch(120, (130, 5), (140, 20), program="forward(1)")
    assert of(loop.trace()) == [[(0, 40, 110), (1, 140, 160)]]


def test_what_no_step_launched_is_in_no_stretch() -> None:
    loop = two_steps()
    loop.launch(20, (30, 5), (40, 20))
    loop.launch(120, (130, 5), (140, 20))
    loop.launch(220, (230, 5), (240, 20), program="eval(3)")
    assert of(loop.trace()) == [[(0, 40, 60), (1, 140, 160)]]


def test_each_core_has_its_own() -> None:
    loop = two_steps()
    loop.launch(20, (30, 5), (40, 20), cores=(0, 1))
    loop.launch(120, (130, 5), (140, 20), cores=(1,))
    assert of(loop.trace()) == [[(0, 40, 60)], [(0, 40, 60), (1, 140, 160)]]


def test_stretches_overlap_where_runs_do() -> None:
    loop = two_steps()
    loop.launch(80, (90, 5), (120, 70))
    loop.launch(110, (115, 5), (150, 20))
    assert of(loop.trace()) == [[(0, 120, 190), (1, 150, 170)]]


def test_steps_of_several_hosts_are_told_apart() -> None:
    one, other = two_steps(), two_steps()
    one.launch(20, (30, 5), (40, 20))
    other.launch(120, (130, 5), (140, 20))
    work = step_work_intervals(session(one.trace(), other.trace()), 10)
    assert [(it["steps"], it["step"]) for it in work] == [((0, 2), [0]), ((2, 4), [3])]


def test_too_many_are_cut_after_whole_steps() -> None:
    trace = demo("synthetic_case_study_8_tpu_cores")
    for most, steps in ((80, 10), (79, 9), (16, 2), (15, 1), (7, 0)):
        work = step_work_intervals(session(trace), most)
        assert [it["step"] for it in work] == [list(range(steps))] * 8


def test_nothing_to_tell() -> None:
    assert step_work_intervals(session(capture(thread("python", ("forward", 0, 10)))), 10) == []
    [work] = step_work_intervals(session(capture(Core([("fusion.1", 10, 20)], [("train(1)", 10, 40)]))), 10)
    assert work["step"] == []


def test_the_case_studys_steps_run_while_the_next_one_is_built() -> None:
    """But for step 7, whose forward is cut by an early sync."""
    its = session(demo("synthetic_case_study_8_tpu_cores"))
    steps = steps_report(its)
    for work in step_work_intervals(its, 1000):
        late = [start - steps[step]["start_ps"] for step, start, _ in stretches(work)]
        assert late[7] // US == 170_469
        for ps, step in zip(late, steps, strict=True):
            assert step["index"] == 7 or abs(ps - step["duration_ps"]) < 300 * US


def test_stretches_are_in_order_on_real_captures(shared_traces: Path) -> None:
    for folder in ("torch_xla/tiny_dynamic", "torch_xla/tiny_dynamo_train", "public/tpu_v6e_jax"):
        its = session(real_trace(shared_traces / folder))
        count = len(steps_report(its))
        for work in step_work_intervals(its, 10**6):
            assert work["start_ps"] == sorted(work["start_ps"])
            assert all(start <= end for _, start, end in stretches(work))
            assert all(0 <= step < count for step in work["step"])
