"""Each compilation counts once, even if an edge of the capture cuts off some of its events."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import HostThread, capture, real_trace, thread
from hypothesis import given
from hypothesis import strategies as st
from launching import demo

from tb_xla_insights.analysis.compiles.calls import CUTS, find_compile_calls
from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.compile_table import compiles_report
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Trace

CALL, PART, POOL = (
    "XLAGraphExecutor::Compile",
    "HLO passes after layout assignment",
    "FusionCompiler::Compile",
)
READ = "PjRtComputationClient::TransferFromDevice"


def pool(*starts: int, name: str = POOL, length: int = 8) -> HostThread:
    """The compiler's thread pool, with a part at each of these instants."""
    return thread("tf_xla-cpu-codegen/1", *((name, start, length) for start in starts), role="compiler")


def compilations(trace: Trace) -> list[tuple[int, int, str | None]]:
    calls = find_compile_calls(trace)
    return list(
        zip(
            calls.start_ps.tolist(),
            calls.end_ps.tolist(),
            [CUTS[cut] for cut in calls.cut.tolist()],
            strict=True,
        )
    )


def test_nested_calls_and_parts_count_once() -> None:
    trace = capture(
        thread("python", (READ, 0, 5), (CALL, 10, 80), ("PjRtComputationClient::Compile", 12, 70), (CALL, 200, 50),
               role="driving"),
        pool(20, 60, 85, 210),
        thread("tf_PjRtCompilerThreadPool/1", ("PjRtCpuClient::Compile", 15, 60), role="compiler"),
    )  # fmt: skip
    assert compilations(trace) == [(10, 90, None), (200, 250, None)]


def test_call_cut_by_the_end_is_one_compilation_up_to_the_end() -> None:
    """Events of the compilation remain on the requesting thread and in the pool."""
    trace = capture(
        thread(
            "python", (READ, 0, 5), (CALL, 10, 30), ("RunPostOrder", 50, 5), (PART, 60, 5), role="driving"
        ),
        pool(20, 70, 80, 92),
    )
    assert compilations(trace) == [(10, 40, None), (60, 100, "end")]


def test_call_cut_by_the_start_is_one_compilation_from_the_start() -> None:
    trace = capture(pool(0, 30, 42), thread("python", (READ, 60, 10), (CALL, 80, 20), role="driving"))
    assert compilations(trace) == [(0, 50, "start"), (80, 100, None)]


@pytest.mark.parametrize("by_tracer", [False, True])
def test_a_host_whose_capture_begins_later_has_the_same_compilation(by_tracer: bool) -> None:
    """The compilation begins with its host's capture, not with the session."""
    frames = ("$compiler.py:267 backend_compile_and_load", 0, 50), ("$train.py:9 step", 55, 20)
    trace = (
        capture(thread("python", *frames, (READ, 60, 10), role="driving"))
        if by_tracer
        else capture(pool(0, 30, 42), thread("python", (READ, 60, 10), role="driving"))
    )
    trace.shift(1000)
    assert compilations(trace) == [(1000, 1050, "start")]


def test_compilation_longer_than_the_capture_is_cut_at_both_ends() -> None:
    assert compilations(capture(pool(0, 20, 60, 92), thread("python", role="driving"))) == [(0, 100, "both")]


def test_parts_at_both_ends_belong_to_two_compilations() -> None:
    trace = capture(pool(0, 10, 80, 92), thread("python", (READ, 40, 10), role="driving"))
    assert compilations(trace) == [(0, 18, "start"), (80, 100, "end")]


def test_parts_without_a_known_call_are_split_by_other_work() -> None:
    trace = capture(
        pool(10, 20, 50, 60), thread("python", (READ, 0, 5), (READ, 40, 5), (READ, 90, 5), role="driving")
    )
    assert compilations(trace) == [(10, 28, None), (50, 68, None)]


FRAME = "$compiler.py:292 backend_compile_and_load"


def test_frame_closed_by_the_python_tracers_end_is_an_unfinished_call() -> None:
    trace = capture(
        thread("python", ("$train.py:3 main", 2, 96), (READ, 0, 1), (FRAME, 10, 88), role="driving"),
        pool(20, 92),
    )
    assert compilations(trace) == [(10, 100, "end")]


def test_frame_open_at_the_python_tracers_start_began_before() -> None:
    """The compiler's threads finish before the call, but all host time in the call is compiling."""
    main: list[tuple[str, int, int]] = [
        ("$train.py:3 main", 2, 96),
        (FRAME, 2, 40),
        ("$dispatch.py:9 __exit__", 43, 2),
    ]
    trace = capture(thread("python", *main, role="driving"), pool(0, 20))
    assert compilations(trace) == [(0, 42, "start")]
    classes = host_class_segments(trace)
    compiling = classes.select(classes.class_index == CLASSES.index("compile"))
    assert int((compiling.end_ps - compiling.start_ps).sum()) == 42


def test_call_recorded_before_the_python_tracer_starts_is_part_of_the_frame_open_then() -> None:
    frames = ("$train.py:3 main", 4, 90), (FRAME, 4, 60)
    for length in (3, 40):
        client = thread("tf_client/1", ("PjRtCpuClient::Compile", 0, length), role="compiler")
        assert compilations(capture(thread("python", *frames, role="driving"), client)) == [(0, 64, "start")]


def test_frame_inside_its_call_is_that_call() -> None:
    main = ("$train.py:3 main", 0, 96), ("backend_compile_and_load", 10, 30), (FRAME, 11, 28)
    assert compilations(capture(thread("python", *main, role="driving"))) == [(10, 40, None)]


@given(st.lists(st.integers(20, 92), min_size=1, max_size=30), st.integers(0, 10))
def test_unfinished_compilation_counts_once_with_any_number_of_parts(starts: list[int], before: int) -> None:
    trace = capture(thread("python", (READ, 0, before), role="driving"), pool(*sorted(starts), 99, length=1))
    assert compilations(trace) == [(min(starts), 100, "end")]


class TestWarmUp:
    """A cut compilation is not warm-up just because it is the first one: earlier ones may be outside the capture."""

    @pytest.mark.parametrize("starts", [(0, 10), (60, 92)])
    def test_without_steps(self, starts: tuple[int, ...]) -> None:
        trace = capture(pool(*starts), thread("python", (READ, 40, 5), role="driving"))
        assert find_compilations(trace).warm_up.tolist() == [False]

    @pytest.mark.parametrize(("number", "warm"), [(1, True), (2, True), (3, False)])
    def test_step_cut_by_the_start_precedes_the_first_step(self, number: int, warm: bool) -> None:
        step = ("Training_Step", 50, 50, {"_r": 1, "step_num": number})
        assert find_compilations(
            capture(pool(0, 10), thread("python", step, role="driving"))
        ).warm_up.tolist() == [warm]

    @pytest.mark.parametrize(("number", "warm"), [(0, True), (1, False)])
    def test_step_cut_by_the_end_follows_the_last_step(self, number: int, warm: bool) -> None:
        step = ("Training_Step", 0, 50, {"_r": 1, "step_num": number})
        assert find_compilations(
            capture(thread("python", step, role="driving"), pool(60, 92))
        ).warm_up.tolist() == [warm]

    def test_cut_compilation_before_other_warm_up(self) -> None:
        trace = capture(pool(0, 10), thread("python", ("forward", 30, 5), (CALL, 40, 10), role="driving"))
        assert find_compilations(trace).warm_up.tolist() == [True, True]


def test_jax_parts_name_their_module() -> None:
    trace = capture(
        thread("python", ("PjitFunction(big)", 0, 5), role="driving"),
        thread("tf_PjRtCompilerThreadPool/1", ("async-collective (jit_big)", 6, 1), (PART + " (jit_big)", 10, 20),
               role="compiler"),
        pool(40, 92),
    )  # fmt: skip
    compiles = find_compilations(trace)
    assert (compiles.module, [CUTS[cut] for cut in compiles.cut.tolist()]) == (["jit_big"], ["end"])


def test_jax_call_is_one_compilation_with_any_number_of_pool_events() -> None:
    trace = capture(
        thread("python", ("PjitFunction(f)", 0, 95), ("backend_compile_and_load", 10, 80), role="driving"),
        thread("tf_PjRtCompilerThreadPool/1", ("PjRtCpuClient::Compile", 12, 77), (PART + " (jit_f)", 15, 20),
               role="compiler"),
        pool(30, 40, 50, 60),
    )  # fmt: skip
    assert compilations(trace) == [(10, 90, None)]
    assert find_compilations(trace).module == ["jit_f"]
    assert not trace.annotations.size


def test_real_capture_that_ends_in_a_compilation(shared_traces: Path) -> None:
    """Every third step has a new shape; the capture begins in step 3 and ends in step 15."""
    trace = real_trace(shared_traces / "torch_xla/dynamic_server")
    rows = compiles_report(trace)
    assert [row["cut"] for row in rows] == [None] * 4 + ["end"]
    assert [row["step_number"] for row in rows] == [None, 6, 9, 12, None]
    assert not any(row["warm_up"] for row in rows)
    assert {row["module"] for row in rows[:4]} == {"SyncTensorsGraph.1235"}
    assert rows[-1]["module"] is None
    assert rows[-1]["start_ps"] + rows[-1]["duration_ps"] == trace.span_ps[1]
    assert sum(row["duration_ps"] for row in rows) < trace.span_ps[1]


def test_real_capture_that_begins_in_a_compilation(shared_traces: Path) -> None:
    """The capture of four TPU chips begins in the compilation of one of the first programs."""
    rows = compiles_report(real_trace(shared_traces / "public/tpu_v6e_jax"))
    assert [row["cut"] for row in rows] == ["start", None, None, None, None]
    assert (rows[0]["start_ps"], all(row["warm_up"] for row in rows)) == (0, True)


@pytest.mark.parametrize("name", ["torch_xla_dynamic_shapes", "synthetic_case_study_8_tpu_cores"])
def test_whole_compilations_are_not_cut(name: str) -> None:
    assert [cut for *_, cut in compilations(demo(name))] == [None]
