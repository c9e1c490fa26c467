"""Waits that the runtime records as two instants last from the first to the second."""

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


def begins(at: int, flow: int = 1, name: str = AWAIT) -> Event:
    return (name, at, 2, {"_pt": 12, "_p": flow})


def goes_on(at: int, flow: int = 1, name: str = AWAIT, kind: int = 12) -> Event:
    return (name, at, 2, {"_ct": kind, "_c": flow})


def traced(*events: Event) -> Trace:
    return capture(thread("python", ("train", 0, 100, {"_r": 1, "step_num": 4}), *events, role="driving"))


def lengths(trace: Trace) -> list[int]:
    its = np.flatnonzero(has_tag(trace, "blocks")[trace.meta])
    return [int(it) for it in trace.duration_ps[its]]


def test_the_first_instant_lasts_until_the_second() -> None:
    trace = traced(("forward", 5, 20), begins(30), goes_on(80), begins(90, 2), goes_on(95, 2))
    assert lengths(trace) == [50, 2, 5, 2]
    waits = host_class_segments(trace).where(host_class_segments(trace).class_index == CLASSES.index("wait"))
    assert int((waits.end_ps - waits.start_ps).sum()) == 52 + 7
    assert trace.depth.tolist() == [0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "events",
    [
        [begins(30), goes_on(80, 2)],  # another flow
        [begins(30), goes_on(80, kind=13)],  # a flow of another kind
        [begins(30), goes_on(80, name="TfrtCpuBuffer::Await")],
        [begins(30), ("forward", 50, 5), goes_on(80)],  # the thread did not wait
        [("forward", 25, 20), begins(30), goes_on(80)],  # they lie in different events
        [goes_on(30), begins(80)],
        [(AWAIT, 30, 2), (AWAIT, 80, 2)],  # no flow
    ],
)
def test_what_does_not_belong_together_stays_apart(events: list[Event]) -> None:
    assert lengths(traced(*events)) == [2, 2]


def test_a_read_waits_for_its_value_itself() -> None:
    trace = traced(("np.asarray(jax.Array)", 20, 70), begins(30), goes_on(80))
    assert lengths(trace) == [2, 2]


def test_instants_of_two_threads_stay_apart() -> None:
    one, other = thread("python", ("main", 0, 20), begins(30)), thread("other", goes_on(80))
    assert lengths(capture(one, other)) == [2, 2]


def test_a_real_wait_lasts_until_the_run_is_over(shared_traces: Path) -> None:
    """`jax.block_until_ready` in each of 20 steps, in a program that computes for nearly all of them."""
    trace = real_trace(shared_traces / "other/jax0.9.2_block")
    rows = np.flatnonzero(has_tag(trace, "blocks")[trace.meta])
    joined = rows[trace.duration_ps[rows] >= 10**9]
    assert len(joined) >= 20
    run_ends = trace.devices[0].modules.end_ps
    after = trace.end_ps[joined] - run_ends[np.searchsorted(run_ends, trace.end_ps[joined]) - 1]
    assert int(np.median(after)) < 10**9
