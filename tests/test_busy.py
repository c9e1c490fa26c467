"""Busy, idle and stall time, compared with instants counted one by one and with known figures of real captures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import Core, capture, real_trace, thread
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.analysis.idle.busy import busy, idle, stalls
from tb_xla_insights.analysis.time.intervals import Intervals, own_time_intervals, union
from tb_xla_insights.trace.model import Trace

HOST = thread("python", ("step", 0, 100, {"_r": 1}))


def instants(intervals: Intervals) -> set[int]:
    return {
        instant
        for start, end in zip(intervals.start_ps.tolist(), intervals.end_ps.tolist(), strict=True)
        for instant in range(start, end)
    }


def summary_of_device(trace: Trace) -> Any:
    return device_summaries(trace)[0]


def test_busy_is_the_union_of_top_level_ops_within_the_span_of_modules_and_ops() -> None:
    trace = capture(HOST, Core(ops=[("while.1", 20, 20), ("fusion.1", 22, 5), ("fusion.2", 50, 10)],
                               modules=[("jit_f(1)", 10, 55)]))  # fmt: skip
    assert trace.devices[0].span_ps == (10, 65)
    assert instants(busy(trace, trace.devices[0])) == set(range(20, 40)) | set(range(50, 60))
    assert instants(idle(trace, trace.devices[0])) == set(range(10, 20)) | set(range(40, 50)) | set(
        range(60, 65)
    )
    assert summary_of_device(trace) == {
        "id": "vm/TPU:0", "name": "TPU:0", "kind": "tpu", "host": "vm", "span_ps": 55, "busy_ps": 30, "idle_ps": 25,
        "barrier_ps": 0, "compute_ps": 30, "stall_ps": 0, "waits_ps": {}, "stalls": [], "duty_cycle": 30 / 55,
        "duty_cycle_xprof": 30 / 55, "modules": 1, "ops": 3,
        "duty": {
            "ops": {"span_ps": 55, "busy_ps": 30, "stall_ps": 0},
            "modules": {"span_ps": 55, "busy_ps": 55, "stall_ps": 0},
            "capture": {"span_ps": 100, "busy_ps": 30, "stall_ps": 0},
        },
    }  # fmt: skip


def test_without_ops_runs_are_busy_time() -> None:
    trace = capture(HOST, Core(modules=[("jit_f(1)", 10, 20), ("jit_f(1)", 40, 10)]))
    assert (summary_of_device(trace)["busy_ps"], summary_of_device(trace)["span_ps"]) == (30, 40)


@pytest.mark.parametrize("category", ["infeed", "outfeed", "host send", "megacore fusion"])
def test_categories_in_which_a_core_does_nothing_itself_are_not_busy(category: str) -> None:
    excluded = ("op.1", 10, 20, {"hlo_category": category})
    trace = capture(HOST, Core(ops=[excluded, ("fusion.2", 30, 10, {"hlo_category": "loop fusion"})]))
    assert (summary_of_device(trace)["busy_ps"], summary_of_device(trace)["span_ps"]) == (10, 30)


def test_without_a_category_the_name_decides() -> None:
    trace = capture(HOST, Core(ops=[("%infeed.3 = f32[] infeed()", 0, 10), ("infeed_fusion.2", 30, 10)]))
    assert summary_of_device(trace)["busy_ps"] == 10


def test_ops_inside_a_busy_op_are_busy() -> None:
    trace = capture(HOST, Core(ops=[("while.1", 0, 20), ("outfeed.1", 5, 5, {"hlo_category": "outfeed"})]))
    assert summary_of_device(trace)["busy_ps"] == 20


def test_ops_that_overlap_on_several_streams_count_once() -> None:
    streams = {"Stream #1(Compute)": [("k1", 0, 10), ("k2", 30, 5)], "Stream #2(Compute)": [("k3", 5, 10)]}
    trace = capture(HOST, Core(name="GPU:0", lines=streams))
    assert summary_of_device(trace)["busy_ps"] == 20


def test_a_stall_is_the_own_time_of_ops_that_wait() -> None:
    ops = [
        ("copy-start.1", 0, 2),
        ("copy-done.1", 2, 30),
        ("while.1", 40, 20),
        ("all-reduce-done", 45, 5),
        ("dot", 70, 5),
    ]
    trace = capture(HOST, Core(ops=ops))
    assert instants(stalls(trace, trace.devices[0])) == set(range(2, 32)) | set(range(45, 50))
    assert summary_of_device(trace)["stall_ps"] == 35
    assert summary_of_device(trace)["stalls"] == [
        {"op": "copy-done.1", "engine": "other", "count": 1, "duration_ps": 30},
        {"op": "all-reduce-done", "engine": "interconnect", "count": 1, "duration_ps": 5},
    ]
    assert summary_of_device(trace)["busy_ps"] == 57


def test_a_stall_ends_when_another_stream_works() -> None:
    streams = {"Stream #1": [("all-reduce-done", 0, 20)], "Stream #2": [("dot", 5, 5)]}
    trace = capture(HOST, Core(name="GPU:0", lines=streams))
    assert summary_of_device(trace)["stall_ps"] == 15
    assert summary_of_device(trace)["stalls"] == [
        {"op": "all-reduce-done", "engine": "interconnect", "count": 1, "duration_ps": 15}
    ]


def test_a_stall_is_part_of_busy() -> None:
    ops = [("infeed", 0, 9, {"hlo_category": "infeed"}), ("copy-done", 2, 5), ("dot", 20, 5)]
    trace = capture(HOST, Core(ops=ops))
    assert (summary_of_device(trace)["stall_ps"], summary_of_device(trace)["busy_ps"]) == (0, 5)


@pytest.mark.parametrize("category", ["copy-done", "async-done", "host recv-done", "host send done"])
def test_every_done_op_is_a_stall_whatever_it_waits_for(category: str) -> None:
    """xprof excludes some of these categories from the duty cycle."""
    ops = [("gather.3.call-done", 0, 9, {"hlo_category": category}), ("dot", 20, 5)]
    trace = capture(HOST, Core(ops=ops))
    assert (summary_of_device(trace)["stall_ps"], summary_of_device(trace)["busy_ps"]) == (9, 14)


@pytest.mark.parametrize("name", ["async_mix", "barrier", "sc_bound", "sc_dependent", "sc_late", "sc_partly"])
def test_waits_for_other_engines_add_up_to_the_simulated_ones(name: str, shared_traces: Path) -> None:
    folder = shared_traces / "engines" / name
    trace = real_trace(folder)
    cores = json.loads((folder / "truth.json").read_text())["cores"].values()
    assert [(busy(trace, device).total_ps, stalls(trace, device).total_ps) for device in trace.devices] == [
        (core["busy_ps"], core["stall_ps"]) for core in cores
    ]


def test_the_duty_cycle_by_each_definition() -> None:
    trace = capture(HOST, Core(ops=[("dot", 20, 10)], modules=[("jit_f(1)", 10, 30)]))
    times = {
        name: (row["busy_ps"], row["span_ps"] - row["busy_ps"])
        for name, row in summary_of_device(trace)["duty"].items()
    }
    assert times == {"ops": (10, 20), "modules": (30, 0), "capture": (10, 90)}


def test_a_device_with_only_excluded_ops_is_idle() -> None:
    trace = capture(HOST, Core(ops=[("infeed.1", 10, 20, {"hlo_category": "infeed"})]))
    assert (
        summary_of_device(trace)["span_ps"],
        summary_of_device(trace)["busy_ps"],
        summary_of_device(trace)["duty_cycle"],
    ) == (20, 0, 0.0)


intervals = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=8)


def as_union(intervals: list[tuple[int, int]]) -> tuple[Intervals, set[int]]:
    """The union of intervals, given as (start, duration), and the instants in it."""
    starts, lengths = np.array(intervals, np.int64).reshape(-1, 2).T.copy()
    return union(starts, starts + lengths), {
        instant for start, length in intervals for instant in range(start, start + length)
    }


@settings(deadline=None)
@given(intervals, intervals, st.integers(0, 40), st.integers(0, 40))
def test_operations_on_intervals_are_those_on_sets_of_instants(
    a: list[tuple[int, int]], b: list[tuple[int, int]], low: int, high: int
) -> None:
    (union, first), (other_union, second) = as_union(a), as_union(b)
    assert instants(union) == first
    assert union.total_ps == len(first)
    assert all(union.end_ps[:-1] < union.start_ps[1:]), "the intervals of a union do not touch"
    assert instants(union.without(other_union)) == first - second
    assert instants(union.clipped(low, high)) == first & set(range(low, high))
    assert instants(union.gaps(low, high)) == set(range(low, high)) - first


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), max_size=7))
def test_own_time_excludes_children(intervals: list[tuple[int, int]]) -> None:
    trace = capture(HOST, Core(ops=[(f"op{i}", *interval) for i, interval in enumerate(intervals)]))
    if not trace.devices:
        return
    ops = trace.devices[0].ops
    own_instants: dict[int, set[int]] = {i: set() for i in range(len(ops))}
    for i, start, end in zip(*own_time_intervals(ops.start_ps, ops.end_ps, ops.parent), strict=True):
        assert not own_instants[int(i)] & set(range(int(start), int(end)))
        own_instants[int(i)] |= set(range(int(start), int(end)))
    for i in range(len(ops)):
        remaining = set(range(int(ops.start_ps[i]), int(ops.end_ps[i])))
        for child in range(len(ops)):
            if ops.parent[child] == i:
                remaining -= set(range(int(ops.start_ps[child]), int(ops.end_ps[child])))
        assert own_instants[i] == remaining
        assert ops.own_ps[i] == len(remaining)


def test_a_real_tpu_capture_looks_busy_but_mostly_waits(shared_traces: Path) -> None:
    """86.5 % over its four cores; of core 0's 79 s, 76 s are copy-done."""
    cores = device_summaries(real_trace(shared_traces / "public/tpu_v6e_jax"))
    busy_ps, span_ps = sum(core["busy_ps"] for core in cores), sum(core["span_ps"] for core in cores)
    assert (len(cores), round(busy_ps / span_ps, 3)) == (4, 0.865)
    assert (round(cores[0]["busy_ps"] / 1e12), round(cores[0]["stall_ps"] / 1e12)) == (79, 76)
    assert all(core["busy_ps"] + core["idle_ps"] == core["span_ps"] for core in cores)


@pytest.mark.parametrize(
    "folder", ["torch_xla/tiny_baseline", "torch_xla/spmd_fsdp_debug", "public/gpu_v100_tf"]
)
def test_sums_of_real_captures_hold(shared_traces: Path, folder: str) -> None:
    trace = real_trace(shared_traces / folder)
    for device, summary in zip(trace.devices, device_summaries(trace), strict=True):
        assert summary["busy_ps"] + summary["idle_ps"] == summary["span_ps"]
        assert idle(trace, device).total_ps == summary["idle_ps"]
        assert summary["stall_ps"] <= summary["busy_ps"]
