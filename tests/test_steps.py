"""The sources of steps, and where steps begin and end."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from captures import Core, Event, capture, real_trace, thread
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.analysis.launches.step_sources import Step, annotated_times
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.steps.step_table import host_times
from tb_xla_insights.trace.model import Trace


def step_rows(trace: Trace) -> list[tuple[str, int | None, str, int, int]]:
    return [
        (step.name, step.number, step.source, step.start_ps, step.duration_ps) for step in find_steps(trace)
    ]


MARKERS = [("StepMarker", 10, 10), ("StepMarker", 40, 10), ("StepMarker", 70, 15)]
RUNS = Core(
    modules=[
        ("init(1)", 0, 50),
        ("step(7)", 60, 20),
        ("copy(2)", 80, 5),
        ("step(8)", 90, 20),
        ("copy(2)", 110, 5),
        ("step(7)", 130, 20),
        ("copy(2)", 155, 5),
    ]
)


def test_annotations_precede_other_sources() -> None:
    line = Core(lines={"Steps": [("3", 0, 50)]}, modules=RUNS.modules)
    events = [
        ("Training_Step", 5, 40, {"_r": 1, "step_num": 7}),
        ("Training_Step", 50, 40, {"_r": 1}),
        *MARKERS,
    ]
    assert step_rows(capture(thread("python", ("start", 0, 1), *events), line)) == [
        ("Training_Step", 7, "annotation", 5, 45),
        ("Training_Step", None, "annotation", 50, 40),
    ]


def test_annotations_with_one_number_are_one_step_if_most_numbers_have_several() -> None:
    """Rounds of reinforcement learning: a sampler, a reward without an annotation, a trainer with two parts."""
    events: list[Event] = []
    for number, start in enumerate((0, 100, 200)):
        events += [
            ("sampler", start, 30, {"_r": 1, "step_num": number}),
            ("trainer", start + 40, 50, {"_r": 1, "step_num": number}),
            ("train", start + 40, 20, {"_r": 1, "step_num": number}),
            ("train", start + 60, 20, {"_r": 1, "step_num": number}),
        ]
    trace = capture(thread("python", *events))
    assert step_rows(trace) == [
        ("sampler + trainer", 0, "annotation", 0, 100),
        ("sampler + trainer", 1, "annotation", 100, 100),
        ("sampler + trainer", 2, "annotation", 200, 90),
    ]
    assert [times.tolist() for times in annotated_times(trace)] == [[0, 100, 200], [90, 190, 290]]


def test_an_annotation_with_the_number_of_a_step_now_and_then_is_a_step_of_its_own() -> None:
    events = [("train", at, 30, {"_r": 1, "step_num": number}) for number, at in enumerate((0, 50, 100))]
    events.append(("evaluate", 85, 10, {"_r": 1, "step_num": 1}))
    assert [row[0] for row in step_rows(capture(thread("python", *events)))] == [
        "train", "train", "evaluate", "train"
    ]  # fmt: skip


def test_step_lasts_until_the_next_one_begins() -> None:
    """A loader runs between the annotations, and the host evaluates once. Nothing is recorded after the last one."""
    events = [("train", at, 30, {"_r": 1, "step_num": number}) for number, at in enumerate((0, 50, 100, 400))]
    between = [("next_batch", at + 30, 20) for at in (0, 50, 100)] + [("evaluate", 150, 240), ("log", 430, 5)]
    trace = capture(thread("python", *events, *between))
    assert [(start, duration) for *_, start, duration in step_rows(trace)] == [
        (0, 50), (50, 50), (100, 300), (400, 30),
    ]  # fmt: skip
    starts, ends = annotated_times(trace)
    assert (ends - starts).tolist() == [30] * 4


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40)), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 90)), max_size=3),
)
def test_steps_and_their_classes_add_up_to_the_loop(
    steps: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    """Annotations of any length with any time between them, and events of another thread. From the first annotation's
    start to the last one's end, each instant is in exactly one step and one class."""
    events: list[Event] = [("start", 0, 1)]
    at = 1
    for length, between in steps:
        events.append(("train", at, length, {"_r": 1}))
        at += length + between
    loop = (1, at - steps[-1][1])
    helper = thread("loader", *(("Compile", *time) for time in sorted(set(other))), role="other")
    trace = capture(thread("python", *events, role="driving"), helper)
    rows = find_steps(trace)
    assert (rows[0].start_ps, rows[-1].end_ps) == loop
    assert all(first.end_ps == second.start_ps for first, second in pairwise(rows))
    assert host_times(trace).sum(axis=1).tolist() == [step.duration_ps for step in rows]
    assert host_times(trace).sum() == loop[1] - loop[0]


def test_steps_of_several_threads_are_those_of_one_loop() -> None:
    """Without steps on the driving thread, those of the thread on which they last longest."""
    threads = [
        thread(f"worker{n}", *(("step", at + n, length, {"_r": 1}) for at in (0, 50)), role="other")
        for n, length in enumerate((20, 40, 30))
    ]
    assert [(start, duration) for *_, start, duration in step_rows(capture(*threads))] == [(1, 50), (51, 40)]


def test_steps_of_a_damaged_capture_may_last_no_time() -> None:
    events = [("step", 0, 0, {"_r": 1}), ("step", 0, 0, {"_r": 1})]
    assert {step.duration_ps for step in find_steps(capture(thread("python", *events)))} <= {0}


def test_nested_step_is_part_of_the_outer_one() -> None:
    events = [("epoch", 0, 90, {"_r": 1}), ("evaluation", 50, 30), ("batch", 51, 9, {"_r": 1, "step_num": 1})]
    assert step_rows(capture(thread("python", *events))) == [("epoch", None, "annotation", 0, 90)]


def test_steps_of_other_threads_count_only_without_steps_on_the_driving_thread() -> None:
    second_thread = thread("python", ("eval", 0, 9, {"_r": 1}), role="other")
    with_steps = thread("python", ("train", 0, 40, {"_r": 1}), role="driving")
    assert [name for name, *_ in step_rows(capture(with_steps, second_thread))] == ["train"]
    assert [
        name
        for name, *_ in step_rows(
            capture(thread("python", ("forward", 0, 40), role="driving"), second_thread)
        )
    ] == ["eval"]


def test_steps_line_of_a_device() -> None:
    line = {"Steps": [("3", 100, 50), ("train 4", 150, 50), ("?", 200, 10)]}
    trace = capture(thread("python", ("x", 0, 1), *MARKERS), Core(lines=line), Core(name="TPU:1", lines=line))
    assert step_rows(trace) == [
        ("3", 3, "steps_line", 100, 50), ("train 4", 4, "steps_line", 150, 50), ("?", None, "steps_line", 200, 10),
    ]  # fmt: skip


def test_step_lasts_from_the_end_of_a_marker_to_the_end_of_the_next() -> None:
    trace = capture(thread("python", ("forward", 0, 8), *MARKERS), RUNS)
    assert step_rows(trace) == [
        ("StepMarker", None, "step_marker", 20, 30),
        ("StepMarker", None, "step_marker", 50, 35),
    ]


def test_one_marker_is_no_step() -> None:
    assert step_rows(capture(thread("python", ("forward", 0, 8), MARKERS[0]))) == []


def test_repeated_program_with_most_time_marks_steps() -> None:
    assert step_rows(capture(thread("python", ("f", 0, 8)), RUNS)) == [
        ("step", None, "modules", 60, 30), ("step", None, "modules", 90, 40),
    ]  # fmt: skip


def find_loop_programs(*names: str) -> set[str]:
    """The program that marks the loop in runs of these programs, 10 ps each."""
    runs = [(f"{name}(1)", 20 * number, 10) for number, name in enumerate(names)]
    return {name for name, *_ in step_rows(capture(thread("python", ("f", 0, 8)), Core(modules=runs)))}


OP_BY_OP = ("matmul", "matmul", "add", "matmul", "tanh", "add")


def test_ops_in_several_places_mark_no_loop() -> None:
    assert find_loop_programs(*OP_BY_OP * 3) == {"tanh"}
    assert find_loop_programs(*OP_BY_OP * 2) == set()
    assert find_loop_programs("matmul", "add", "matmul", "add", "add", "matmul") == set()


def test_loop_may_evaluate_now_and_then() -> None:
    assert find_loop_programs(*("train",) * 5, "evaluate", *("train",) * 5, "evaluate") == {"train"}


def test_call_around_a_tensorflow_function_is_the_step() -> None:
    """Keras' loop: the event with `_r` only hands the function over."""
    calls = [
        event
        for at in (0, 100, 200)
        for event in [
            ("train_function", at, 90),
            ("FunctionRun", at + 5, 2, {"_r": 1}),
            ("Iterator", at + 92, 3),
        ]
    ]
    evaluation = [("evaluate_function", 300, 50), ("FunctionRun", 305, 2, {"_r": 1})]
    assert step_rows(capture(thread("python", *calls, *evaluation, role="driving"))) == [
        ("train_function", None, "annotation", at, duration)
        for at, duration in ((0, 100), (100, 100), (200, 90))
    ]


def test_annotations_precede_tensorflow_functions() -> None:
    events = [
        ("train", 0, 90, {"_r": 1}),
        ("FunctionRun", 5, 2, {"_r": 1}),
        ("FunctionRun", 95, 2, {"_r": 1}),
    ]
    assert [name for name, *_ in step_rows(capture(thread("python", *events, role="driving")))] == ["train"]


def test_program_ids_are_no_part_of_a_name_even_if_negative() -> None:
    runs = Core(modules=[("f(-5)", 10, 20), ("f(7)", 40, 20), ("f(-5)", 80, 20)])
    assert [(start, duration) for *_, start, duration in step_rows(capture(thread("python", ("x", 0, 8)), runs))] == [
        (10, 30), (40, 40),
    ]  # fmt: skip


def test_no_source() -> None:
    assert (
        step_rows(capture(thread("python", ("f", 0, 8)), Core(modules=[("a(1)", 0, 5), ("b(2)", 9, 5)])))
        == []
    )


def test_end_and_event_of_a_step() -> None:
    trace = capture(thread("python", ("forward", 0, 8), *MARKERS))
    first: Step = find_steps(trace)[0]
    assert (first.end_ps, trace.name(first.row), int(trace.start_ps[first.row])) == (50, "StepMarker", 40)


@pytest.mark.parametrize(
    ("folder", "count", "source", "first_number"),
    [
        ("torch_xla/tiny_baseline", 6, "annotation", 3),
        ("torch_xla/tiny_server", 13, "annotation", 4),
        ("torch_xla/tiny_grad_accum_sync", 4, "annotation", 2),
        ("torch_xla/baseline_server_level1", 24, "annotation", 5),
        ("public/gpu_v100_tf", 1, "steps_line", 0),
        ("public/tpu_v6e_jax", 99, "modules", None),
        ("public/gpu_mi300_jax", 4, "modules", None),
        ("other/mi300_jax08_attention", 2, "modules", None),
        ("other/tf_keras_slow", 32, "annotation", None),
    ],
)
def test_steps_of_real_captures(
    shared_traces: Path, folder: str, count: int, source: str, first_number: int | None
) -> None:
    capture_steps = find_steps(real_trace(shared_traces / folder))
    assert len(capture_steps) == count
    assert {step.source for step in capture_steps} == {source}
    assert capture_steps[0].number == first_number
    assert all(step.end_ps <= next_step.start_ps for step, next_step in pairwise(capture_steps))
