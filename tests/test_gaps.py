"""Gaps: their times, their division by class, their kind and cause, and their patterns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import Core, capture, real_trace, session, thread
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import US, Tpu, demo, event
from synthetic import case_study, dynamo_issue

from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.busy import idle
from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.idle.idle_time import GAP_KINDS, MIN_GAP_PS, find_gaps
from tb_xla_insights.analysis.time.class_times import class_times, covered_times, times_by_class
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import Trace


def report(trace: Trace, **options: Any) -> Any:
    return gaps_report(trace, **options)


def in_us(times: dict[str, int]) -> dict[str, float]:
    return {name: time / US for name, time in times.items()}


@st.composite
def captures(draw: st.DrawFn) -> Trace:
    """A driving thread and one or two devices, in microseconds."""

    def intervals(max_count: int) -> list[tuple[int, int]]:
        edges = sorted(draw(st.sets(st.integers(0, 120), max_size=2 * max_count)))
        return list(zip(edges[::2], edges[1::2], strict=False))

    names = st.sampled_from(["forward", "data_loading", "StepMarker", "TensorCollectionBarrier"])
    host = [event(draw(names), start, end - start) for start, end in intervals(5)]
    cores = []
    for number in range(draw(st.integers(1, 2))):
        runs = intervals(4)
        ops = []
        for start, end in runs:
            delay = draw(st.integers(0, 3))
            ops.append(event("fusion", start + delay, max(0, end - start - delay)))
        modules = [event("f(1)", start, end - start) for start, end in runs]
        cores.append(Core(ops, modules, f"TPU:{number}"))
    return capture(thread("python", event("start", 0, 1), *host, role="driving"), *cores)


@settings(max_examples=60, deadline=None)
@given(captures())
def test_gaps_by_the_microsecond(trace: Trace) -> None:
    segments, gaps = host_class_segments(trace), find_gaps(trace)
    classes = ["unrecorded"] * 200
    for start, end, class_index in zip(segments.start_ps, segments.end_ps, segments.class_index, strict=True):
        classes[start // US : end // US] = [CLASSES[class_index]] * int((end - start) // US)
    idle_by_device = []
    for device in trace.devices:
        start, end = (instant // US for instant in device.span_ps)
        busy = {
            instant
            for op_start, op_end in zip(device.ops.start_ps, device.ops.end_ps, strict=True)
            for instant in range(op_start // US, op_end // US)
        }
        idle_by_device.append([instant for instant in range(start, end) if instant not in busy])
    work_by_device, expected = [], []
    for device, idle_us in zip(trace.devices, idle_by_device, strict=True):
        start, end = (instant // US for instant in device.span_ps)
        work_by_device.append(set(range(start, end)) - set(idle_us))
    for number, idle_us in enumerate(idle_by_device):
        idle_instants = set(idle_us)
        for start in [instant for instant in idle_us if instant - 1 not in idle_instants]:
            end = start
            while end in idle_instants:
                end += 1
            if end - start >= 10:
                by_class_us = {
                    name: classes[start:end].count(name) for name in CLASSES if name in classes[start:end]
                }
                all_cores_idle_us = sum(
                    not any(instant in work_instants for work_instants in work_by_device)
                    for instant in range(start, end)
                )
                expected.append((number, start, end, by_class_us, all_cores_idle_us))
    listed = [
        (int(gaps.device[i]), int(gaps.start_ps[i]) // US, int(gaps.end_ps[i]) // US,
         {name: time // US for name, time in times_by_class(gaps.by_class_ps[i]).items()},
         int(gaps.all_cores_idle_ps[i]) // US)
        for i in range(len(gaps))
    ]  # fmt: skip
    assert listed == expected
    assert [idle(trace, device).total_ps // US for device in trace.devices] == [
        len(idle_us) for idle_us in idle_by_device
    ]
    for row in device_summaries(trace):
        assert row["busy_ps"] + row["idle_ps"] == row["span_ps"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=5), captures())
def test_windows_divide_by_class(windows: list[tuple[int, int]], trace: Trace) -> None:
    start = np.array([min(window) * US for window in windows], np.int64)
    end = np.array([max(window) * US for window in windows], np.int64)
    segments = host_class_segments(trace)
    times = class_times(segments, start, end)
    assert times.sum(axis=1).tolist() == (end - start).tolist()
    for i in range(len(windows)):
        inside = segments.clipped(int(start[i]), int(end[i]))
        sums = inside.sums(len(CLASSES))
        sums[-1] += int(end[i] - start[i]) - sum(sums)
        assert times[i].tolist() == sums
    cover = covered_times(segments.start_ps, segments.end_ps, start, end)
    assert cover.tolist() == [
        int((part.end_ps - part.start_ps).sum())
        for part in (segments.clipped(*window) for window in zip(start.tolist(), end.tolist(), strict=True))
    ]


def two_runs(call: float, enqueue: float, begin: float = 200) -> Trace:
    """A run until 100 us, and another one from `begin`, called at `call` and enqueued at `enqueue`."""
    loop = Tpu()
    loop.step(0, 180, 3)
    loop.launch(0, (5, 5), (20, 80))
    loop.on_main("forward", 30, 90)
    loop.launch(call - 10, (call, 2 * (enqueue - call)), (begin, 50), program="g(2)", enqueue=enqueue)
    return loop.trace()


@pytest.mark.parametrize(
    ("call", "enqueue", "kind"),
    [(140, 150, "starved"), (50, 60, "queued"), (90, 95, "unknown"), (98, 110, "unknown")],
)
def test_the_kind_of_a_gap(call: float, enqueue: float, kind: str) -> None:
    (gap,) = report(two_runs(call, enqueue))["items"]
    assert (gap["start_ps"] // US, gap["duration_ps"] // US, gap["kind"]) == (100, 100, kind)
    assert (gap["before"], gap["after"], gap["step"], gap["step_number"]) == ("train", "g", 0, 3)
    assert sum(gap["by_class_ps"].values()) == gap["duration_ps"]


def test_the_cause_of_a_gap() -> None:
    """The host's activity after the enqueuing of the next run does not count."""
    loop = Tpu()
    loop.launch(0, (5, 5), (20, 80))
    loop.on_main("forward", 90, 40)
    loop.launch(130, (136, 10), (200, 50))
    loop.on_main("data_loading", 150, 45)
    (gap,) = report(loop.trace())["items"]
    times = in_us(gap["by_class_ps"])
    assert (times["tracing"], times["input"]) == (30, 45)
    assert (gap["kind"], gap["cause"]) == ("starved", "tracing")
    (gap,) = report(two_runs(50, 60))["items"]
    assert (gap["kind"], gap["cause"]) == ("queued", "wait")


def test_a_gap_that_no_known_run_ended_has_unknown_kind() -> None:
    ops = [event("fusion", 0, 10), event("fusion", 40, 10), event("fusion", 100, 10)]
    trace = capture(thread("python", event("forward", 0, 120)), Core(ops, [event("f(1)", 0, 10)]))
    report_gaps = report(trace)
    assert [(gap["before"], gap["after"], gap["kind"], gap["cause"]) for gap in report_gaps["items"]] == [
        ("f", None, "unknown", "python"),
        ("f", None, "unknown", "python"),
    ]


def test_a_capture_of_one_infeed_op_is_one_gap() -> None:
    (gap,) = session_report(session(capture(Core([event("infeed.1", 0, 50)]))))["gaps"]["items"]
    assert (gap["start_ps"], gap["duration_ps"] // US, gap["kind"]) == (0, 50, "unknown")


def test_gaps_inside_of_a_run_and_at_the_end_of_the_span() -> None:
    ops = [event("fusion", 0, 10), event("fusion", 30, 10)]
    trace = capture(thread("python", event("forward", 0, 90)), Core(ops, [event("f(1)", 0, 80)]))
    inside, after = sorted(report(trace)["items"], key=lambda gap: gap["start_ps"])
    assert (inside["before"], inside["after"], inside["inside_run"]) == ("f", "f", True)
    assert (inside["kind"], inside["cause"]) == (
        "queued",
        "wait",
    )  # the op after the gap belongs to the run before the gap
    assert (after["start_ps"] // US, after["duration_ps"] // US, after["after"]) == (40, 40, None)


def test_short_gaps_are_summed_but_not_counted_or_listed() -> None:
    ops = [event("fusion", 0, 10), event("fusion", 12, 10), event("fusion", 40, 10)]
    report_gaps = report(
        capture(thread("python", event("forward", 0, 60)), Core(ops, [event("f(1)", 0, 50)]))
    )
    assert (report_gaps["count"], report_gaps["listed_ps"] // US, report_gaps["total_ps"] // US) == (
        1,
        18,
        20,
    )
    assert in_us(report_gaps["by_class_ps"]) == {"python": 18}


def recurring_gaps() -> Trace:
    loop = Tpu()
    for i in range(6):
        at = 1000 * i
        loop.launch(at, (at + 10, 10), (at + 30, 100), program="f(1)", cores=(0, 1))
        loop.launch(at + 200, (at + 210, 10), (at + 230 + i, 100), program="g(2)", cores=(0, 1))
    return loop.trace()


def test_patterns_of_recurring_gaps() -> None:
    patterns = report(recurring_gaps())["patterns"]
    assert [(row["before"], row["after"], row["count"]) for row in patterns] == [
        ("g", "f", 10),
        ("f", "g", 12),
    ]
    assert patterns[0]["total_ps"] // US == 2 * sum(1000 - 330 - i + 30 for i in range(5))
    assert patterns[0]["mean_ps"] == patterns[0]["total_ps"] // 10


def test_items_are_the_longest() -> None:
    trace = recurring_gaps()
    complete = report(trace, all_gaps=True)
    assert len(complete["items"]) == complete["count"] == 22
    lengths = [gap["duration_ps"] for gap in complete["items"]]
    assert lengths == sorted(lengths, reverse=True)
    assert report(trace, max_items=3)["items"] == complete["items"][:3]
    assert all(gap["all_cores_idle_ps"] == gap["duration_ps"] for gap in complete["items"])


def test_every_gap_of_the_case_study() -> None:
    trace = demo("synthetic_case_study_8_tpu_cores")
    gaps, truth = find_gaps(trace), case_study.truth()
    for number, device in enumerate(truth.devices):
        on_device = gaps.device == number
        listed = [gap for gap in device.gaps if gap[1] >= MIN_GAP_PS]
        assert (
            list(zip(gaps.start_ps[on_device].tolist(), gaps.duration_ps[on_device].tolist(), strict=True))
            == listed
        )
    report_gaps = report(trace)
    assert report_gaps["total_ps"] == sum(device.idle_ps for device in truth.devices)
    gap = next(
        gap
        for gap in report_gaps["items"]
        if gap["device"].endswith("TPU:0") and gap["start_ps"] == truth.gap_start_ps
    )
    assert (gap["duration_ps"], gap["by_class_ps"]) == (72_143_000_000, truth.gap_parts_ps)
    assert (gap["kind"], gap["cause"], gap["step_number"]) == ("starved", "tracing", truth.gap_step)
    assert gap["before"] == gap["after"] == "SyncTensorsGraph.41937"


def test_the_gaps_of_the_dynamo_issue() -> None:
    truth = dynamo_issue.truth("dynamo")
    gaps = sorted(report(demo("synthetic_dynamo_issue_dynamo"))["items"], key=lambda gap: gap["start_ps"])
    assert [gap["duration_ps"] for gap in gaps] == [duration for _, _, duration in truth.gaps_ps]
    assert {gap["kind"] for gap in gaps} == {"starved"}


@pytest.mark.parametrize(
    ("scenario", "cause"),
    [("tiny_slow_input", "input"), ("baseline_session_debug", "tracing"), ("tiny_coldstart", "compile")],
)
def test_the_main_cause_of_gaps_on_real_devices(shared_traces: Path, scenario: str, cause: str) -> None:
    report_gaps = report(real_trace(shared_traces / "torch_xla" / scenario))
    assert report_gaps["patterns"][0]["cause"] == cause
    assert report_gaps["items"][0]["kind"] == "starved"


@pytest.mark.parametrize("folder", ["torch_xla/spmd_fsdp_debug", "torch_xla/dynamo_train_session", "public/tpu_v6e_jax",
                                    "public/gpu_mi300_jax", "public/gpu_v100_tf"])  # fmt: skip
def test_sums_of_real_gaps(shared_traces: Path, folder: str) -> None:
    trace = real_trace(shared_traces / folder)
    report_gaps = report(trace, all_gaps=True)
    assert report_gaps["total_ps"] == sum(row["idle_ps"] for row in device_summaries(trace))
    assert (
        report_gaps["listed_ps"]
        == sum(gap["duration_ps"] for gap in report_gaps["items"])
        == sum(report_gaps["by_class_ps"].values())
    )
    assert report_gaps["listed_ps"] == sum(row["total_ps"] for row in report_gaps["patterns"])
    assert report_gaps["by_kind_ps"]["queued"] == sum(row["queued_ps"] for row in report_gaps["patterns"])
    for gap in report_gaps["items"]:
        assert sum(gap["by_class_ps"].values()) == gap["duration_ps"] >= MIN_GAP_PS
        assert gap["kind"] in GAP_KINDS
        assert gap["cause"] in CLASSES
