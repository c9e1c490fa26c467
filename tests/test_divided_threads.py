"""Threads that the recorders of the framework and of the runtime wrote as two lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from captures import Core, Event, HostThread, capture, real_trace, thread
from launching import TO_DEVICE, event

from tb_xla_insights.analysis.completeness.unknown_names import describe_unknown_names
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.analysis.launches.enqueues import EXACT, ORDERED
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.catalog.classes import CLASS_INDEX
from tb_xla_insights.trace.model import DividedThread

CALL = "PJRT_LoadedExecutable_Execute"
MARK = f"{CALL} linkage"
STARTS = (100, 200, 300, 400)


def marks(starts: Iterable[float] = STARTS) -> list[Event]:
    """Jitted calls with their marks."""
    return [
        row for start in starts for row in (event("PjitFunction(f)", start - 5, 40), event(MARK, start, 1))
    ]


def calls(starts: Iterable[float] = STARTS, delay: float = 2) -> list[Event]:
    """The runtime's calls, `delay` after their marks."""
    return [
        row
        for start in starts
        for row in (
            event(CALL, start + delay, 20),
            event("TpuClient::LinearizeIntoImpl", start + delay + 5, 3),
        )
    ]


def pairs(*threads: HostThread) -> list[tuple[str, str, bool]]:
    """The divided threads of a capture with a core, by the names of their lines."""
    trace = capture(*threads, Core([event("fusion.1", 110, 50)]))
    return [
        (trace.lines[row.framework].name, trace.lines[row.runtime].name, row.is_exact)
        for row in trace.divided_threads
    ]


def test_the_events_of_both_lines_are_one_nested_line() -> None:
    main = [event("$train.py:9 step", 90, 350), event("load_batch", 250, 30), *marks()]
    trace = capture(
        thread("other", event("$queue.py:9 get", 0, 500)),
        thread("python", *main),
        thread("main/7", *calls(), event("Wait for usage holds", 260, 4)),
        thread("pool/8", event("WriteHbm", 130, 9)),
    )
    framework, runtime = trace.lines[1], trace.lines[2]
    assert trace.divided_threads == [DividedThread(1, 2, is_exact=True)]
    assert (framework.name, framework.count, runtime.count) == ("python", 19, 0)
    rows = framework.rows
    assert (np.diff(trace.start_ps[rows]) >= 0).all()
    parents = {
        (trace.name(row), trace.name(int(trace.parent[row])))
        for row in range(rows.start, rows.stop)
        if trace.parent[row] >= 0
    }
    assert parents == {
        ("load_batch", "$train.py:9 step"),
        ("Wait for usage holds", "load_batch"),
        ("PjitFunction(f)", "$train.py:9 step"),
        (MARK, "PjitFunction(f)"),
        (CALL, "PjitFunction(f)"),
        ("TpuClient::LinearizeIntoImpl", CALL),
    }
    assert [trace.name(row) for row in trace.annotations] == ["load_batch"]
    assert {thread.line: thread.role for thread in trace.threads}[1] == "driving"
    (last,) = (row for row in range(len(trace)) if trace.name(row) == "WriteHbm")
    assert trace.line_of(last).name == "pool/8"


def test_calls_that_follow_the_marks_of_another_thread() -> None:
    late = (150, 250, 350, 450)
    assert pairs(
        thread("main/1", *calls(late)),
        thread("python", *marks()),
        thread("main/2", *calls()),
        thread("serving", *marks(late)),
    ) == [("python", "main/2", True), ("serving", "main/1", True)]
    # Two threads that launch at the same time: the shorter delay decides.
    close = tuple(start + 3 for start in STARTS)
    assert pairs(
        thread("main/1", *calls(close)),
        thread("python", *marks()),
        thread("main/2", *calls()),
        thread("serving", *marks(close)),
    ) == [("python", "main/2", True), ("serving", "main/1", True)]


@pytest.mark.parametrize(
    "runtime",
    [
        pytest.param([calls(STARTS[:2]), calls(STARTS[2:])], id="marks have their calls on two lines"),
        pytest.param([[*calls(), event(CALL, 160, 9)]], id="a call without its mark"),
        pytest.param(
            [[*calls(), event("Wait for usage holds", 130, 20)]], id="an event crosses a jitted call"
        ),
        pytest.param([calls((*STARTS[:2], 230, *STARTS[2:]))], id="two calls follow one mark"),
    ],
)
def test_lines_of_different_threads(runtime: list[list[Event]]) -> None:
    assert not pairs(
        thread("python", *marks()), *(thread(f"main/{i}", *events) for i, events in enumerate(runtime))
    )


def test_recorders_that_start_and_stop_at_different_times() -> None:
    everything = ("python", "main/7", True)
    assert pairs(thread("python", *marks()), thread("main/7", *calls((40, *STARTS, 500)))) == [everything]
    assert pairs(thread("python", *marks((40, *STARTS, 500))), thread("main/7", *calls())) == [everything]
    assert pairs(thread("python", *marks((100,))), thread("main/7", *calls((100,)))) == [everything]
    assert not pairs(thread("python", *marks((100, 200, 300))), thread("main/7", *calls((300, 400, 500)))), (
        "one of three pairs may be chance"
    )


def test_one_recorder_wrote_marks_and_calls() -> None:
    both = sorted([*marks(), *calls()], key=lambda row: (row[1], -row[2]))
    assert not pairs(thread("python", *both), thread("main/7", event("Wait for usage holds", 500, 4)))


def launching_calls(starts: Iterable[float] = STARTS) -> list[Event]:
    """PyTorch/XLA's execute calls, without marks."""
    return [event("PjRtComputationClient::ExecuteComputation", start - 5, 40) for start in starts]


def test_files_without_marks_are_joined_by_nesting() -> None:
    frames = thread("python", event("$queue.py:154 get", 0, 500))
    executor = thread("tf_pytorchxla/7", *launching_calls())
    assert pairs(frames, executor, thread("main/7", *calls())) == [("tf_pytorchxla/7", "main/7", False)]
    assert not pairs(frames, executor, thread("main/7", *calls(), event(CALL, 450, 9))), "not inside a call"
    assert not pairs(frames, thread("main/7", *calls())), "frames are around any event"
    twin = thread("tf_pytorchxla/8", *launching_calls())
    assert not pairs(executor, twin, thread("main/7", *calls())), "both fit"


@pytest.mark.parametrize("has_marks", [True, False])
def test_launches_of_lines_that_nesting_joined_are_ordered(has_marks: bool) -> None:
    framework = marks() if has_marks else launching_calls()
    runtime = [
        row
        for index, start in enumerate(STARTS)
        for row in (
            event(CALL, start + 2, 20),
            event("DoEnqueueProgram", start + 5, 2, _pt=TO_DEVICE, _p=index),
        )
    ]
    runs = [event("train(7)", start + 10, 60, _ct=TO_DEVICE, _c=index) for index, start in enumerate(STARTS)]
    trace = capture(thread("tf_pytorchxla/7", *framework), thread("main/7", *runtime), Core(runs, runs))
    launches = find_launches(trace)
    assert {trace.name(row) for row in launches.row} == {
        CALL if has_marks else "PjRtComputationClient::ExecuteComputation"
    }
    assert set(launches.runs.join) == {EXACT if has_marks else ORDERED}


def test_unknown_events_of_the_runtime_are_no_annotations() -> None:
    """On a divided thread any name that the runtime's recorder wrote; elsewhere members of a known class."""
    own = [event("Untold", 150, 10), event("NewClient::Fill", 250, 10)]
    main = [event("train", 90, 350), *marks()]
    trace = capture(thread("python", *main), thread("main/7", *calls(), *own))
    assert [trace.name(row) for row in trace.annotations] == ["train"]
    whole = capture(
        thread(
            "python",
            event("train", 0, 90, _r=1),
            event("TfrtTpuClient::New", 1, 9),
            event("Model::forward", 20, 9),
        )
    )
    assert [whole.name(row) for row in whole.annotations] == ["train", "Model::forward"]
    unknown_names = describe_unknown_names(whole)
    assert unknown_names is not None
    assert "TfrtTpuClient::New" in unknown_names.message


def test_a_real_server(shared_traces: Path) -> None:
    trace = real_trace(shared_traces / "tpu/vllm_qwen3_loop_annotated")
    assert [trace.lines[row.framework].name for row in trace.divided_threads] == ["python"]
    gaps = find_gaps(trace)
    long = np.flatnonzero(gaps.duration_ps > 30 * 10**9)
    assert len(long) == 18
    rows = trace.annotations[[trace.name(row) == "load_batch" for row in trace.annotations]]
    loading = union(trace.start_ps[rows], trace.end_ps[rows])
    load_ps = covered_times(loading.start_ps, loading.end_ps, gaps.start_ps[long], gaps.end_ps[long])
    assert np.abs(load_ps - 28.04 * 10**9).max() < 0.01 * 10**9
    assert (
        gaps.by_class_ps[long][:, [CLASS_INDEX["input"], CLASS_INDEX["wait"]]].sum(axis=1) > load_ps
    ).all()
    assert (gaps.by_class_ps[long, CLASS_INDEX["unrecorded"]] < 0.1 * 10**9).all()
    assert {trace.name(row) for row in trace.annotations} == {"load_batch", "train_step"}
