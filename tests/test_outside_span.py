"""Time outside the devices' span: before the first run and after the last one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from captures import Core, capture, real_trace, session, thread

from tb_xla_insights.analysis.idle.outside_span import (
    outside_sentence,
    outside_span_report,
)
from tb_xla_insights.schema.common import ByClass
from tb_xla_insights.schema.feeding import TimeOutsideSpan
from tb_xla_insights.trace.model import Trace

MS = 10**9
PARTS: tuple[Literal["before"], Literal["after"]] = ("before", "after")


def host(first: int, last: int, end: int = 100, name: str = "vm") -> Trace:
    """A host that compiles until its device's first run at `first`, and reads a value from the end of the last one at
    `last` to `end`, in ms."""
    return capture(
        thread("python", ("XLAGraphExecutor::Compile", 0, first * MS),
               ("PjRtComputationClient::TransferFromDevice", last * MS, (end - last) * MS), role="driving"),
        Core(ops=[("dot", first * MS, MS), ("dot", (last - 1) * MS, MS)]),
        host=name,
    )  # fmt: skip


def test_both_parts_by_class_of_host_work() -> None:
    outside = outside_span_report(host(30, 80))
    assert outside is not None
    assert outside["before"] == {
        "duration_ps": 30 * MS,
        "by_class_ps": {"compile": 30 * MS},
        "longest": {"name": "XLAGraphExecutor::Compile", "class": "compile", "duration_ps": 30 * MS},
    }
    assert outside["after"]["by_class_ps"] == {"from_device": 20 * MS}
    assert (outside["profiler_start_ps"], outside["profiler_stop_ps"]) == (0, 0)
    assert outside["share"] == 0.5
    assert outside["text"] == (
        "50.0 ms, 50.0 % of the capture, are outside the device's span: 30.0 ms before the first run (the host "
        "mostly compiles) and 20.0 ms after the last run (the host mostly reads data back)."
    ).replace(".0 ms", ".0\N{NARROW NO-BREAK SPACE}ms").replace(" %", "\N{NARROW NO-BREAK SPACE}%")


@pytest.mark.parametrize(
    ("unrecorded", "compiling", "text"),
    [
        (25, 40, "the host compiles or builds the graph"),
        (40, 35, "the capture shows nothing of the host, or the host compiles"),
        (35, 40, "the host compiles, or the capture shows nothing of the host"),
    ],
)
def test_of_several_activities_the_two_longest_are_told(unrecorded: int, compiling: int, text: str) -> None:
    times: ByClass = {
        "tracing": (100 - unrecorded - compiling) * MS,
        "compile": compiling * MS,
        "unrecorded": unrecorded * MS,
    }
    outside: TimeOutsideSpan = {
        "before": {"duration_ps": 100 * MS, "by_class_ps": times, "longest": None},
        "after": {"duration_ps": 0, "by_class_ps": {}, "longest": None},
        "profiler_start_ps": 0,
        "profiler_stop_ps": 0,
        "capture_ps": 200 * MS,
        "share": 0.5,
        "text": None,
    }
    assert f" before the first run ({text})." in outside_sentence(outside, 1, "torch_xla")


@pytest.mark.parametrize(("first", "is_reported"), [(9, False), (10, True)])
def test_time_outside_of_the_span_is_reported_from_a_tenth_of_the_capture_on(
    first: int, is_reported: bool
) -> None:
    outside = outside_span_report(host(first, 100))
    assert outside is not None
    assert (outside["text"] is not None) == is_reported
    assert "after" not in (outside["text"] or "")


def test_starting_and_stopping_the_profiler_is_not_part_of_the_training() -> None:
    main = thread(
        "python",
        ("$profiler.py:101 start_trace", 0, 20 * MS),
        ("$queue.py:154 get", 22 * MS, 15 * MS),
        ("train", 40 * MS, 50 * MS),
        ("$profiler.py:235 stop_trace", 100 * MS, 40 * MS),
        role="driving",
    )
    trace = session(capture(main, Core(ops=[("dot", 40 * MS, 50 * MS)])))
    report = outside_span_report(trace.traces[0])
    assert report is not None
    assert [sum(report[part]["by_class_ps"].values()) for part in PARTS] == [20 * MS, 10 * MS]
    assert [report[part]["duration_ps"] for part in PARTS] == [20 * MS, 10 * MS]
    assert report["capture_ps"] == 80 * MS
    assert (report["profiler_start_ps"], report["profiler_stop_ps"]) == (20 * MS, 40 * MS)
    longest = report["before"]["longest"]
    assert longest is not None
    assert (longest["name"], longest["duration_ps"]) == ("$queue.py:154 get", 15 * MS)
    assert "37.5\N{NARROW NO-BREAK SPACE}% of the capture without the profiler's start and stop (20.0" in (
        report["text"] or ""
    )


def test_a_real_capture_from_inside_the_process(shared_traces: Path) -> None:
    outside = outside_span_report(real_trace(shared_traces / "tpu/vllm_qwen3_step"))
    assert outside is not None
    times_ms = [round(outside[key] / MS, 1) for key in ("profiler_start_ps", "profiler_stop_ps")]
    assert times_ms == [139.9, 1100.9]
    longest = outside["before"]["longest"]
    assert longest is not None
    assert (longest["name"], round(longest["duration_ps"] / MS)) == ("$queue.py:154 get", 1002)


def test_a_session_without_device_work_has_no_span() -> None:
    assert outside_span_report(capture(thread("python", ("forward", 0, 50)))) is None


def test_a_compilation_at_either_end_of_a_real_capture(shared_traces: Path) -> None:
    trace = real_trace(shared_traces / "torch_xla/dynamic_server")
    outside = outside_span_report(trace)
    assert outside is not None
    runs = trace.devices[0].runs
    assert outside["before"]["duration_ps"] == runs.start_ps.min()
    assert outside["after"]["duration_ps"] == trace.span_ps[1] - runs.end_ps.max()
    for part in (outside["before"], outside["after"]):
        assert sum(part["by_class_ps"].values()) == part["duration_ps"]
        assert part["by_class_ps"]["compile"] > 0.8 * part["duration_ps"]
    assert outside["text"]
