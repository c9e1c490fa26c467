"""Waits of the program itself, recorded as one event or by their two ends."""

from __future__ import annotations

import pytest
from captures import Event, capture, session, thread

from tb_xla_insights.analysis.blocking import blocks_report
from tb_xla_insights.analysis.classes import partition
from tb_xla_insights.analysis.waits import find_waits
from tb_xla_insights.catalog.classes import FROM_DEVICE, PYTHON, WAIT
from tb_xla_insights.trace.model import Trace

US = 1_000_000
AWAIT = "CommonPjRtBuffer::Await"


def steps(*inside: Event) -> Trace:
    """A step of JAX with events in it; times in picoseconds."""
    jax = ("PjitFunction(f)", 2 * US, 3 * US)
    train = ("train", 0, 100 * US, {"_r": 1, "step_num": 4})
    return capture(thread("python", train, jax, *inside, role="driving"))


def ends(start: int, end: int, flow: int = 5) -> tuple[Event, Event]:
    return (AWAIT, start * US, US, {"_pt": 1, "_p": flow}), (AWAIT, end * US - US, US, {"_ct": 1, "_c": flow})


def waits(trace: Trace) -> list[tuple[int, int]]:
    found = find_waits(trace)
    return [(a // US, b // US) for a, b in zip(found.start_ps.tolist(), found.end_ps.tolist(), strict=True)]


def class_at(trace: Trace, at: int) -> int:
    segments = partition(trace)
    return int(segments.kind[(segments.start_ps <= at * US) & (at * US < segments.end_ps)][0])


def test_two_ends_are_one_wait() -> None:
    trace = steps(*ends(20, 80))
    assert waits(trace) == [(20, 80)]
    assert [class_at(trace, at) for at in (10, 20, 50, 79, 90)] == [PYTHON, WAIT, WAIT, WAIT, PYTHON]
    report = blocks_report(session(trace))
    assert (report["waits"], report["duration_ps"], report["every_step"]) == (1, 60 * US, True)


def test_ends_that_no_flow_ties_are_two_waits() -> None:
    """Of two arrays that were ready, say: what lies between is the program's own."""
    (first, second) = ends(20, 80)
    trace = steps(first[:3], second[:3])
    assert waits(trace) == [(20, 21), (79, 80)]
    assert class_at(trace, 50) == PYTHON
    assert not blocks_report(session(trace))["every_step"]


@pytest.mark.parametrize("call", ["np.asarray(jax.Array)"])
def test_what_a_read_waits_for_is_the_reads(call: str) -> None:
    trace = steps((call, 15 * US, 70 * US), *ends(20, 80))
    assert waits(trace) == []
    assert class_at(trace, 50) == FROM_DEVICE
