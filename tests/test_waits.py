"""Waits recorded as two instants last from the first instant to the second."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from captures import Event, capture, real_trace, thread

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.trace.model import Trace

AWAIT = "CommonPjRtBuffer::Await"


def wait_start(at: int, flow: int = 1, name: str = AWAIT) -> Event:
    return (name, at, 2, {"_pt": 12, "_p": flow})


def wait_end(at: int, flow: int = 1, name: str = AWAIT, flow_type: int = 12) -> Event:
    return (name, at, 2, {"_ct": flow_type, "_c": flow})


def capture_driver(*events: Event) -> Trace:
    return capture(thread("python", ("train", 0, 100, {"_r": 1, "step_num": 4}), *events, role="driving"))


def wait_durations(trace: Trace) -> list[int]:
    rows = np.flatnonzero(has_tag(trace, "blocks")[trace.metadata_index])
    return [int(length) for length in trace.duration_ps[rows]]


def test_wait_lasts_from_its_first_instant_to_its_second() -> None:
    trace = capture_driver(
        ("forward", 5, 20), wait_start(30), wait_end(80), wait_start(90, 2), wait_end(95, 2)
    )
    assert wait_durations(trace) == [50, 2, 5, 2]
    waits = host_class_segments(trace).select(host_class_segments(trace).class_index == CLASSES.index("wait"))
    assert int((waits.end_ps - waits.start_ps).sum()) == 52 + 7
    assert trace.depth.tolist() == [0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "events",
    [
        [wait_start(30), wait_end(80, 2)],  # another flow
        [wait_start(30), wait_end(80, flow_type=13)],  # a flow of another type
        [wait_start(30), wait_end(80, name="TfrtCpuBuffer::Await")],
        [wait_start(30), ("forward", 50, 5), wait_end(80)],  # the thread did not wait
        [("forward", 25, 20), wait_start(30), wait_end(80)],  # they are inside different events
        [wait_end(30), wait_start(80)],
        [(AWAIT, 30, 2), (AWAIT, 80, 2)],  # no flow
    ],
)
def test_unrelated_instants_are_no_wait(events: list[Event]) -> None:
    assert wait_durations(capture_driver(*events)) == [2, 2]


def test_instants_inside_a_read_are_no_wait() -> None:
    trace = capture_driver(("np.asarray(jax.Array)", 20, 70), wait_start(30), wait_end(80))
    assert wait_durations(trace) == [2, 2]


def test_instants_of_two_threads_are_no_wait() -> None:
    driving, second = thread("python", ("main", 0, 20), wait_start(30)), thread("other", wait_end(80))
    assert wait_durations(capture(driving, second)) == [2, 2]


def test_real_waits_last_until_their_run_ends(shared_traces: Path) -> None:
    """`jax.block_until_ready` in each of 20 steps, in a program that computes for nearly all of them."""
    trace = real_trace(shared_traces / "other/jax0.9.2_block")
    rows = np.flatnonzero(has_tag(trace, "blocks")[trace.metadata_index])
    waits = rows[trace.duration_ps[rows] >= 10**9]
    assert len(waits) >= 20
    run_ends = trace.devices[0].runs.end_ps
    delays_ps = trace.end_ps[waits] - run_ends[np.searchsorted(run_ends, trace.end_ps[waits]) - 1]
    assert int(np.median(delays_ps)) < 10**9
