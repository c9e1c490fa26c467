"""The replay: without changes it reproduces the capture's times; a fix moves only dependent work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from captures import real_trace
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import US, Tpu, demo, event
from loops import STEP, findings, loop, us

from tb_xla_insights.analysis.idle.busy import stalls
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.replay.what_if import Fix, step_without
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import span_intervals
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.trace.model import Trace


def mean_step(trace: Trace) -> int:
    steps = find_steps(trace)
    return round(sum(step.duration_ps for step in steps) / len(steps))


DURATIONS = st.integers(5, 400)


@given(st.lists(st.tuples(DURATIONS, DURATIONS, DURATIONS), min_size=1, max_size=5))
@settings(max_examples=50)
def test_a_replay_without_changes_reproduces_the_step(steps: list[tuple[int, int, int]]) -> None:
    """Whatever the host does, however long the device works, whatever waits for what. A step is no shorter than the
    device's work for it."""
    tpu, at, device_free = Tpu(), 0.0, 0.0
    for number, (work, device, wait) in enumerate(steps):
        begin = at
        tpu.on_main("forward", at + 1, work)
        at += work + 2
        run = max(at + 30, device_free)
        tpu.launch(at, (at + 6, 10), (run, device), by="marker")
        device_free = run + device
        at += 8
        barrier = max(wait, device_free - at if number % 2 else 0)
        tpu.on_main("DeviceBarrier", at, barrier)
        at += barrier + 1
        tpu.step(begin, at - begin, number + 2)
        at += 1
    trace = tpu.trace()
    device_mean = round(sum(device for _, device, _ in steps) * US / len(steps))
    assert step_without(trace, Fix()) == max(mean_step(trace), device_mean)


def test_removed_host_time_shortens_steps_until_the_device_is_the_limit() -> None:
    trace = loop(device=600).trace()
    assert us(step_without(trace, Fix(("sync_prepare",)))) == 1000 - 6
    # Graph building takes nearly all of a step; the device works for 600 us of it.
    assert us(step_without(trace, Fix(("tracing",)))) == 600


def test_a_fix_may_cover_only_the_time_before_some_launches_or_in_windows() -> None:
    trace = loop().trace()
    second = np.array([1])
    assert us(step_without(trace, Fix(("tracing",), before_launches=second))) == pytest.approx(
        1000 - (1000 - 6) / 4, abs=3
    )
    windows = span_intervals(1200 * US, 1500 * US)
    assert us(step_without(trace, Fix(("tracing",), windows=windows))) == 1000 - 300 / 4


def waiting_loop() -> Trace:
    """Steps of 100 us of work, a launch, and a wait for its run, which takes 500 us."""
    tpu = Tpu()
    for i in range(4):
        at = i * STEP
        tpu.step(at, STEP, 5 + i)
        tpu.launch(at + 100, (at + 110, 20), (at + 150, 500), by="marker")
        tpu.on_main("DeviceBarrier", at + 130, 530)
    return tpu.trace()


def test_work_after_a_wait_moves_with_the_run() -> None:
    trace = waiting_loop()
    runs = np.full(4, 200 * US)
    assert us(step_without(trace, Fix(device_ps=runs))) == 1000 - 200
    # Without the waits of 530 us, the device's 500 us of work are the limit.
    assert us(step_without(trace, Fix(merged_launches=np.arange(4)))) == 500
    # Left are the marker, 30 us until the run begins, the run, and 10 us until the host notices.
    assert us(step_without(trace, Fix(("tracing",)))) == 6 + 30 + 500 + 10


def test_time_between_steps_is_part_of_them() -> None:
    """A pause of 100 us between two steps remains, one of 49 ms in which the host compiles does not."""
    tpu = Tpu()
    for i, at in enumerate([0, 1000, 51_000, 52_000]):
        tpu.step(at, 900, 5 + i)
        tpu.launch(at + 600, (at + 610, 20), (at + 650, 200), by="marker")
    tpu.on_main("XLAGraphExecutor::Compile", 1950, 49_000)
    assert us(step_without(tpu.trace())) == (52_000 + 900) / 4
    assert us(step_without(tpu.trace(), Fix(("compile",)))) == (52_000 + 900 - 49_000) / 4


def test_runs_that_overlap_bound_a_step_once() -> None:
    """Two runs of 400 and 500 us, which keep their core busy for 510 us."""
    tpu = Tpu()
    for i in range(3):
        at = i * STEP
        tpu.step(at, STEP, 5 + i)
        tpu.launch(at + 100, (at + 105, 5), (at + 150, 400))
        tpu.launch(at + 200, (at + 205, 5), (at + 160, 500), program="other(8)", by="marker")
    assert us(step_without(tpu.trace(), Fix(CLASSES))) == 510


def test_runs_whose_launch_is_not_known_bound_a_step_too() -> None:
    """In each of six steps the host launches a run of 200 us; in one, something else ran for 600 us on the core."""
    tpu = Tpu()
    for i in range(6):
        at = i * STEP
        tpu.step(at, STEP, 5 + i)
        tpu.launch(at + 100, (at + 105, 5), (at + 150, 200))
    tpu.runs[0].append(event("rollout(9)", STEP + 350, 600))
    tpu.ops[0].append(event("fusion.9", STEP + 350, 600))
    assert us(step_without(tpu.trace(), Fix(CLASSES))) == 200 + 600 / 6


def test_a_run_that_was_enqueued_before_the_first_step_is_part_of_it() -> None:
    """Where steps come from runs, the first run was enqueued before its step began."""
    tpu = Tpu()
    for i in range(4):
        tpu.launch(i * 20, (i * 20 + 5, 10), (i * 500 + 50, 500))
    trace = tpu.trace()
    assert len(find_steps(trace)) == 3  # the end of the last one is unknown
    assert us(step_without(trace, Fix(device_ps=np.full(4, 300 * US)))) == 500 - 300


def test_without_steps_or_launches_there_is_no_answer() -> None:
    tpu = Tpu()
    tpu.on_main("forward", 0, 100)
    assert step_without(tpu.trace(), Fix()) is None


def test_without_a_run_that_the_steps_launched_there_is_no_answer() -> None:
    """The only step begins with the second run of a call whose first run was before the step."""
    tpu = Tpu()
    tpu.launch(0, (5, 10), (50, 10), program="prepare(1)")
    _, _, _, stats = tpu.runs[0][0]
    tpu.runs[0].append(event("train(7)", 60, 400, **stats))
    tpu.launch(200, (205, 10), (500, 400))
    trace = tpu.trace()
    assert len(find_steps(trace)) == 1
    assert step_without(trace, Fix()) is None


FOLDERS = [
    "torch_xla/tiny_baseline",
    "torch_xla/dynamo_train_session",
    "torch_xla/spmd_fsdp_debug",
    "public/tpu_v6e_jax",
]


@pytest.mark.parametrize("folder", FOLDERS)
def test_real_captures(shared_traces: Path, folder: str) -> None:
    trace = real_trace(shared_traces / folder)
    assert step_without(trace, Fix()) == mean_step(trace)
    for name in CLASSES:
        fixed = step_without(trace, Fix((name,)))
        assert fixed is not None
        assert 0 < fixed <= mean_step(trace)


def test_the_dynamo_issue_is_bounded_by_the_devices_work() -> None:
    """By its 23.199 ms of work, and by the pauses between runs that were queued already."""
    everything = Fix(CLASSES)
    assert step_without(demo("synthetic_dynamo_issue_dynamo"), everything) == 23_615_584_000


def test_each_wait_follows_the_run_that_ended_it() -> None:
    """Two runs a step, both launched at its start; the host waits for one, works, waits for the other, works."""
    tpu = Tpu()
    for i in range(4):
        at = i * STEP
        tpu.step(at, STEP, 5 + i)
        tpu.launch(at + 10, (at + 15, 10), (at + 50, 300), by="marker", program="a(1)")
        tpu.launch(at + 30, (at + 35, 10), (at + 350, 300), by="marker", program="b(2)")
        tpu.on_main("DeviceBarrier", at + 100, 250)
        tpu.on_main("forward", at + 360, 90)
        tpu.on_main("DeviceBarrier", at + 460, 190)
    trace = tpu.trace()
    half = np.full(8, 150 * US)
    assert step_without(trace, Fix()) == STEP * US
    assert us(step_without(trace, Fix(device_ps=half))) == STEP - 300
    first = np.where(np.arange(8) % 2, 0, 150 * US)
    assert us(step_without(trace, Fix(device_ps=first))) == STEP - 150


def test_a_call_that_blocks_waits_for_the_runs_before_it(shared_traces: Path) -> None:
    """On a real TPU every execute call waits until all cores have a place in their queues. Without the cores' stalls
    (768 of 784 ms a step), the host follows: a step is hardly more than the other work of the busiest core, 30.2 ms."""
    trace = real_trace(shared_traces / "public/tpu_v6e_jax")
    runs = find_launches(trace).runs
    work = np.zeros(len(trace.devices), np.int64)
    stalled = np.zeros(len(runs), np.int64)
    for number, device in enumerate(trace.devices):
        rows, waits = runs.of_device(number), stalls(trace, device)
        stalled[rows] = covered_times(waits.start_ps, waits.end_ps, runs.start_ps[rows], runs.end_ps[rows])
        work[number] = (runs.duration_ps[rows] - stalled[rows]).sum()
    step_ps = step_without(trace, Fix(device_ps=stalled))
    assert step_ps is not None
    assert work.max() / len(find_steps(trace)) < step_ps < 45 * 10**9


@pytest.mark.parametrize(
    ("name", "id_", "gain"),
    [
        ("jx_debug_print", "host_callback", 0.26),
        ("tx_gc", "host_code", 0.97),
        ("jx_augment", "host_code", 0.84),
        ("tx_table_index", "recompilation", 0.99),
        ("tx_train_eval", "recompilation", 0.93),
    ],
)
def test_gains_are_near_those_measured_without_the_mistake(
    shared_traces: Path, name: str, id_: str, gain: float
) -> None:
    """`gain`: the share of the step that the same script without the mistake saves, by its own clock."""
    by_id = findings(real_trace(shared_traces / "pairs" / f"{name}_bad"))
    assert by_id[id_].gain == pytest.approx(gain, rel=0.2)
