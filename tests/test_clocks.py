"""Contradictions between host and device clocks: a run before it was enqueued, or after the host knew of its end, and
recordings that are far apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Core, capture, real_trace, thread
from launching import TO_DEVICE, demo, event
from synthetic.__main__ import LOGDIR

from tb_xla_insights.analysis.clocks import describe_clock_contradiction
from tb_xla_insights.trace.model import Trace

FLOW = {"_pt": TO_DEVICE, "_p": 1}
CONSUMED_FLOW = {"_ct": TO_DEVICE, "_c": 1}


def with_callback(offset: float) -> Trace:
    """A run of 100 us whose end a callback reports to the host. The device's clock is off by `offset` us."""
    calls = thread(
        "python",
        event("DoEnqueueProgram", 0, 10, **FLOW),
        event("CompleteCallbacks", 130, 5, **CONSUMED_FLOW),
        event("StepMarker", 2000, 5),
    )
    run = event("train(7)", 20 + offset, 100, **CONSUMED_FLOW)
    return capture(calls, Core([event("fusion.1", 20 + offset, 100)], [run]))


def with_blocking_call(offset: float) -> Trace:
    """The same run on XRT, where the call around the launch lasts until the run ends."""
    calls = thread(
        "python",
        event("RunExecutable", 0, 125),
        event("TPUExecute", 5, 10),
        event("DoEnqueueProgram", 6, 5, **FLOW),
        event("StepMarker", 2000, 5),
    )
    run = event("train(7)", 20 + offset, 100, **CONSUMED_FLOW)
    return capture(calls, Core([event("fusion.1", 20 + offset, 100)], [run]))


@pytest.mark.parametrize("offset", [0, 8])
def test_clocks_within_some_microseconds_agree(offset: float) -> None:
    assert describe_clock_contradiction(with_callback(offset)) is None
    assert describe_clock_contradiction(with_blocking_call(offset)) is None


def test_run_begins_after_its_completion_callback() -> None:
    # The callback may run early, after the first output.
    assert describe_clock_contradiction(with_callback(100)) is None
    contradiction = describe_clock_contradiction(with_callback(1000))
    assert (
        contradiction
        == "Runs begin after the host was notified of their end (1 of 1), by up to 0.890\u202fms"
    )


def test_run_ends_after_the_call_that_waits_for_it() -> None:
    contradiction = describe_clock_contradiction(with_blocking_call(100))
    assert (
        contradiction == "Runs end after the call that waited for their end (1 of 1), by up to 95.0\u202fµs"
    )


def test_run_begins_before_it_was_enqueued() -> None:
    contradiction = describe_clock_contradiction(with_callback(-1000))
    assert contradiction == "Runs begin before they were enqueued (1 of 1), by up to 0.980\u202fms"


def test_completion_callback_of_a_run_that_was_matched_by_order() -> None:
    # The first launch's run is not recorded, so the order gives its enqueuing to the second run.
    calls = [
        call
        for number, start in enumerate((0, 200), 1)
        for call in (
            event("DoEnqueueProgram", start, 10, _pt=TO_DEVICE, _p=number),
            event("CompleteCallbacks", start + 130, 5, _ct=TO_DEVICE, _c=number),
        )
    ]
    run = event("train(7)", 220, 100)
    trace = capture(thread("python", *calls), Core([event("fusion.1", 220, 100)], [run]))
    assert describe_clock_contradiction(trace) is None


@pytest.mark.parametrize("offset_s", [1.5, -1.5])
def test_distant_recordings_of_host_and_device(offset_s: float) -> None:
    run = event("train(7)", offset_s * 1e6, 100_000)
    trace = capture(thread("python", event("forward", 0, 10_000)), Core([run], [run]))
    assert describe_clock_contradiction(trace) == (
        f"The events of the host and those of the devices are {'1.49' if offset_s > 0 else '1.40'}\u202fs apart"
    )
    assert describe_clock_contradiction(trace, whole=False) is None, "the events between may be cut off"
    near = event("train(7)", 0.5e6, 100)
    assert (
        describe_clock_contradiction(capture(thread("python", event("forward", 0, 10)), Core([near], [near])))
        is None
    )


def test_clocks_of_demo_captures_agree() -> None:
    for folder in sorted(Path(LOGDIR).iterdir()):
        if (folder / "plugins").is_dir():
            assert describe_clock_contradiction(demo(folder.name)) is None, folder.name


@pytest.mark.parametrize("folder", ["gpu_mi300_jax", "gpu_v100_tf", "tpu_v6e_jax"])
def test_clocks_of_real_captures_agree(shared_traces: Path, folder: str) -> None:
    assert describe_clock_contradiction(real_trace(shared_traces / "public" / folder)) is None
