"""The kind of a GPU's gaps between and inside runs, from the call of the kernel after the gap."""

from __future__ import annotations

from collections import defaultdict

import pytest
from captures import Core, Event, capture, session, thread
from gpus import US, event, gpu, kernel, nested, programs, runs
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.idle.idle_time import GAP_KINDS, find_gaps
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import Trace


def test_with_overlapping_runs_the_kernels_run_ends_the_gap() -> None:
    main = nested((0, 20, [(1, 5), (2, 8), (3, 9)]), (30, 20, [(4, 35), (5, 40)]))
    first = [kernel(10, 5, 1), kernel(80, 5, 2), kernel(130, 5, 3)]
    second = [kernel(40, 5, 4, "jit_g(8)"), kernel(100, 3, 5, "jit_g(8)"), kernel(115, 3, 6, None)]
    second += [kernel(150, 3, 7, None)]
    trace = capture(
        thread("python", *main, role="driving"), gpu(*first, streams={"Stream #2(Kernel)": second})
    )
    assert runs(trace) == [("jit_f(7)", 10, 135), ("jit_g(8)", 40, 103)]
    items = gaps_report(trace)["items"]
    gaps = sorted((gap["start_ps"] // US, gap["after"], gap["inside_run"], gap["kind"]) for gap in items)
    assert gaps == [
        (15, "jit_g", False, "starved"),
        (45, "jit_f", True, "queued"),
        (85, "jit_g", True, "queued"),
        (103, None, False, "unknown"),
        (118, "jit_f", True, "queued"),
        (135, None, False, "unknown"),
    ]
    assert all(sum(piece["duration_ps"] for piece in gap["chain"]) == gap["duration_ps"] for gap in items)


@pytest.mark.parametrize(("call", "kind"), [(30, "queued"), (100, "starved"), (55, "unknown")])
def test_the_kernels_call_decides_the_kind_of_a_gap_inside_a_run(call: float, kind: str) -> None:
    main = nested((0, 200, [(1, 5), (2, call)]))
    trace = capture(thread("python", *main, role="driving"), gpu(kernel(10, 40, 1), kernel(120, 5, 2)))
    gaps = find_gaps(trace)
    assert [GAP_KINDS[value] for value in gaps.kind.tolist()] == [kind]
    (item,) = gaps_report(trace)["items"]
    assert item["inside_run"]
    assert sum(piece["duration_ps"] for piece in item["chain"]) == item["duration_ps"]


def late_kernels(executions: int, kernels_per_run: int, interval: float) -> Trace:
    """Steps of several executions whose kernels (5 us) are launched individually; 20 us pass between executions."""
    main, kernels, at = list[Event](), list[Event](), 10.0
    for number in range(6):
        step_start, calls = at, []
        for _ in range(executions):
            ids = range(len(kernels) + 1, len(kernels) + kernels_per_run + 1)
            calls.append(
                (
                    at,
                    kernels_per_run * interval + 10,
                    [(id_, at + 3 + index * interval) for index, id_ in enumerate(ids)],
                )
            )
            kernels += [kernel(call_start + 2, 5, id_) for id_, call_start in calls[-1][2]]
            at += kernels_per_run * interval + 30
        main.append(event("train", step_start - 2, at - step_start - 10, _r=1, step_num=number))
        main += nested(*calls)
    return capture(thread("python", *main, role="driving"), gpu(*kernels))


def test_without_launch_time_a_run_is_as_long_as_its_kernels() -> None:
    findings = session_report(session(late_kernels(1, 20, 50)))["findings"]
    (overhead,) = [row for row in findings if row["id"] == "dispatch_overhead"]
    assert overhead["step_if_fixed_ps"] == 100 * US


def test_waits_inside_an_execution_do_not_make_it_small() -> None:
    findings = session_report(session(late_kernels(6, 4, 30)))["findings"]
    assert "many_small_executions" not in {row["id"] for row in findings}


def test_a_kernel_without_a_program_may_end_a_gap_in_a_run() -> None:
    main = nested((0, 200, [(1, 5), (2, 90), (3, 115)]))
    kernels = [kernel(10, 5, 1), kernel(100, 5, 2, None), kernel(120, 5, 3)]
    trace = capture(thread("python", *main, role="driving"), gpu(*kernels))
    gaps = [(gap["after"], gap["inside_run"], gap["kind"]) for gap in gaps_report(trace)["items"]]
    assert gaps == [("jit_f", True, "starved"), ("jit_f", True, "starved")]


def test_without_programs_each_kernel_s_own_call_decides() -> None:
    """TensorFlow without XLA launches operations one by one: their kernels are of no program, and make no runs."""
    calls = [event("cuLaunchKernel", at, 1, correlation_id=id_) for id_, at in ((1, 5), (2, 89), (3, 95))]
    kernels = [kernel(10, 5, 1, None), kernel(100, 5, 2, None), kernel(130, 5, 3, None)]
    trace = capture(thread("python", *calls, role="driving"), gpu(*kernels))
    report = session_report(session(trace))
    gaps = report["gaps"]["items"]
    assert [(gap["start_ps"] // US, gap["after"], gap["kind"]) for gap in gaps] == [
        (10, None, "starved"),
        (100, None, "unknown"),
    ]
    assert all(sum(piece["duration_ps"] for piece in gap["chain"]) == gap["duration_ps"] for gap in gaps)


@settings(max_examples=80, deadline=None)
@given(programs(), st.sampled_from([2, 16]))
def test_gaps_end_with_the_run_of_the_kernel_after_them(
    executions: list[tuple[str, list[tuple[int, int]]]], call_interval_us: int
) -> None:
    """Streams do not wait for each other, so runs overlap; the call and run of each kernel are known."""
    main: list[Event] = [event("f", 0, 1)]
    streams: dict[int, list[Event]] = defaultdict(list)
    free_at: dict[int, float] = defaultdict(float)
    kernel_times: list[tuple[float, float, float, int]] = []  # start, end, end of its call, run
    at = 10.0
    for run, (program, kernels) in enumerate(executions):
        calls: list[tuple[int, float]] = []
        for stream, duration in kernels:
            calls.append((len(kernel_times) + 1, at + 3 + call_interval_us * len(calls)))
            begin = max(free_at[stream], calls[-1][1] + 1.5 + len(kernel_times) / 1000)
            free_at[stream] = begin + duration
            streams[stream].append(kernel(begin, duration, calls[-1][0], program))
            kernel_times.append((begin, begin + duration, calls[-1][1] + 1, run))
        main += nested((at, 10 + call_interval_us * len(kernels), calls))
        at += 15 + call_interval_us * len(kernels)
    lines = {f"Stream #{stream}": events for stream, events in streams.items()}
    trace = capture(thread("python", *main, role="driving"), Core(name="GPU:0", lines=lines))
    gaps, launches = find_gaps(trace), find_launches(trace)
    expected = []
    for begin, _, call_end, run in sorted(kernel_times):
        last_end = max((end for start, end, *_ in kernel_times if start < begin), default=begin)
        if begin - last_end >= 10:
            kind = (
                "starved" if call_end > last_end + 10 else "queued" if call_end < last_end - 10 else "unknown"
            )
            expected.append((round(last_end * US), round(begin * US), kind, run))
    launch_of_gap = launches.runs.launch[gaps.run]
    columns = (
        gaps.start_ps.tolist(),
        gaps.end_ps.tolist(),
        [GAP_KINDS[value] for value in gaps.kind],
        launch_of_gap.tolist(),
    )
    assert list(zip(*columns, strict=True)) == expected
