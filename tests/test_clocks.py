"""Contradictions between host and device clocks: a run before it was enqueued, or after the host knew of its end, and
recordings that are far apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from captures import Core, Event, capture, real_trace, thread
from launching import TO_DEVICE, US, demo, event
from synthetic.__main__ import LOGDIR

from tb_xla_insights.analysis.completeness.clocks import describe_clock_contradiction, describe_clock_shift
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
    """Without the time of its enqueuing, the device cannot be placed."""
    for offset in (-1000, 100, 1000):  # 10 us before the run, and 10 us after it
        trace = with_callback(offset)
        assert trace.device_clock is not None
        assert trace.device_clock.shift_ps == -offset * US
        assert describe_clock_contradiction(trace) is None


def test_run_ends_after_the_call_that_waits_for_it() -> None:
    contradiction = describe_clock_contradiction(with_blocking_call(100))
    assert contradiction is not None
    assert contradiction.message.startswith(
        "Runs end after the call that waited for their end (1 of 1), by up to 95.0\u202fµs: "
    )


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
    contradiction = describe_clock_contradiction(trace)
    assert contradiction is not None
    assert contradiction.message.startswith(
        f"The events of the host and those of the devices are {'1.49' if offset_s > 0 else '1.40'}\u202fs apart: "
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


def skewed(offset_us: float, completion: str = "CompleteCallbacks", late_us: float = 30) -> Trace:
    """Five runs of 100 us, each 50 us after its enqueuing; the device's clock is ahead of the host's by `offset_us`.
    Two follow each other directly, and the end of the first of them is recorded `late_us` late."""
    calls: list[Event] = []
    ends: list[Event] = []
    runs: list[Event] = []
    for number, (enqueued, start, end) in enumerate(
        ((1000, 1050, 1150), (3000, 3050, 3180), (3010, 3180, 3250), (5000, 5050, 5150), (7000, 7050, 7150)),
        1,
    ):
        calls.append(event("DoEnqueueProgram", enqueued - 10, 10, _pt=TO_DEVICE, _p=number))
        flow = {"_ct": TO_DEVICE, "_c": number}
        done = end - (late_us if end == 3180 else 0) + 130
        ends.append(event(completion, done, 5, **(flow if completion == "CompleteCallbacks" else {})))
        runs.append(event("train(7)", start + offset_us, end - start, **flow))
    return capture(
        thread("python", event("StepMarker", 0, 9), *calls, event("StepMarker", 9000, 9)),
        thread("futex-default-SDomainT/9", *ends),
        Core([event("fusion.1", row[1] / 1e6, row[2] / 1e6) for row in runs], runs),
    )


@pytest.mark.parametrize("completion", ["CompleteCallbacks", "tpu::System::Execute=>Done"])
@pytest.mark.parametrize("offset_us", [-700, 700])
def test_the_devices_are_placed_by_both_bounds(offset_us: float, completion: str) -> None:
    trace = skewed(offset_us, completion)
    assert trace.device_clock is not None
    clock = trace.device_clock
    assert (clock.lowest_ps + offset_us * US, clock.highest_ps) == (-50 * US, (130 - offset_us) * US)
    assert clock.shift_ps == -offset_us * US
    (run,) = trace.devices[0].runs.row[:1]
    enqueue = trace.flows.producers(np.array([run], np.int32))[0]
    assert trace.start_ps[run] - trace.end_ps[enqueue] == 50 * US
    assert describe_clock_contradiction(trace) is None
    shift = describe_clock_shift(trace)
    assert shift is not None
    assert f"0.700\u202fms {'behind' if offset_us < 0 else 'ahead of'} the host's" in shift.message
    assert "may differ by 0.130\u202fms" in shift.message


def test_clocks_that_agree_remain() -> None:
    assert skewed(0).device_clock is None
    assert skewed(-55).device_clock is None, "a device that begins 5 µs before the enqueuing's end"


def test_a_late_recorded_end_is_no_bound() -> None:
    """Of runs that follow each other directly, the recorded end of the first one may be late."""
    assert skewed(-700, late_us=100_000).device_clock is not None


def test_a_device_whose_runs_all_waited() -> None:
    """Only the end of the last run says something, and only if nothing was enqueued after it."""
    calls = [event("DoEnqueueProgram", number, 1, _pt=TO_DEVICE, _p=number) for number in range(1, 5)]
    flows = [{"_ct": TO_DEVICE, "_c": number} for number in range(1, 5)]
    runs = [event("train(7)", 50_000 + 100 * number, 100, **flow) for number, flow in enumerate(flows)]
    ends = [event("CompleteCallbacks", 49_530 + 100 * number, 5, **flow) for number, flow in enumerate(flows)]
    for enqueued, shift in ((4, -700), (5, None)):
        more = [event("DoEnqueueProgram", 9, 1, _pt=TO_DEVICE, _p=5)][: enqueued - 4]
        clock = capture(thread("python", *calls, *more, *ends), Core(runs, runs)).device_clock
        assert (clock and clock.shift_ps) == (shift and shift * US)


def test_bounds_that_contradict_each_other_shift_nothing() -> None:
    calls = (
        event("DoEnqueueProgram", 0, 10, **FLOW),
        event("DoEnqueueProgram", 5000, 10, _pt=TO_DEVICE, _p=2),
    )
    runs = [event("train(7)", 2000, 100, **CONSUMED_FLOW), event("train(7)", 3000, 100, _ct=TO_DEVICE, _c=2)]
    trace = capture(
        thread("python", *calls, event("CompleteCallbacks", 130, 5, **CONSUMED_FLOW)), Core(runs, runs)
    )
    assert trace.device_clock is None
    contradiction = describe_clock_contradiction(trace)
    assert contradiction is not None
    assert contradiction.message.startswith(
        "Runs begin before they were enqueued (1 of 2), by up to 2.00\u202fms: "
    )


def test_parts_of_a_device_are_shifted_with_it() -> None:
    run = event("train(7)", 20, 100, **CONSUMED_FLOW)
    trace = capture(
        thread("python", event("DoEnqueueProgram", 1000, 10, **FLOW)),
        Core([run], [run]),
        Core(name="TPU:0 SparseCore 1", lines={"Sparse Core Ops": [event("gather", 25, 9)]}),
        Core(name="CUSTOM:Megascale Trace", lines={"network": [event("NetworkSend END", 30, 9)]}),
    )
    starts = {trace.name(row): int(trace.start_ps[row]) // US for row in range(len(trace))}
    assert starts["gather"] - starts["train(7)"] == 5
    assert starts["train(7)"] - starts["DoEnqueueProgram"] == 60
    assert starts["DoEnqueueProgram"] - starts["NetworkSend END"] == 970


def test_real_tpu_hosts(shared_traces: Path) -> None:
    clock = real_trace(shared_traces / "tpu/vllm_qwen3_step").device_clock
    assert clock is not None
    assert 600 * US < clock.shift_ps < 850 * US
    assert real_trace(shared_traces / "public/tpu_v6e_jax").device_clock is None
