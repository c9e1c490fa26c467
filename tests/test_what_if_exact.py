"""Simulated loops with and without a cause: the findings of the former predict the latter's step time exactly."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import findings
from simulated import SYNC, Simulation, simulate

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.replay.what_if import Fix, step_without
from tb_xla_insights.units import brief_time

STEPS = 6
US = 1_000_000
HOST = DEVICE = st.integers(100, 900)
"""Host time and device time: either may be the limit."""

examples = settings(max_examples=15, deadline=None)


def mean(all_cores_idle_ps: int) -> int:
    return round(all_cores_idle_ps / STEPS)


@given(HOST, DEVICE, DEVICE)
@examples
def test_a_read_in_the_middle_of_a_step(host: int, device: int, first: int) -> None:
    """The graph recorded so far runs for the value, and again in the step's own graph. The wait for the value also kept
    the host from running ahead."""
    first = min(first, device)

    def step(simulation: Simulation, reads: bool) -> None:
        simulation.host("forward", host)
        if reads:
            simulation.launch(first)
            simulation.wait("PjRtComputationClient::TransferFromDevice")
        simulation.host("backward", 200)
        simulation.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    assert findings(trace)["early_sync"].step_if_fixed_ps == mean(without)


@given(HOST, DEVICE)
@examples
def test_a_read_of_the_loss_in_every_step(host: int, device: int) -> None:
    def step(simulation: Simulation, reads: bool) -> None:
        simulation.host("forward", host)
        simulation.launch(device, marker=True)
        if reads:
            simulation.wait("PjRtComputationClient::TransferFromDevice")

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    assert findings(trace)["sync_every_step"].step_if_fixed_ps == mean(without)


@given(
    HOST,
    DEVICE,
    st.sampled_from(["$api.py:9 block_until_ready", "PjRtComputationClient::TransferFromDevice"]),
)
@examples
def test_a_read_or_a_wait_in_part_of_the_steps(host: int, device: int, name: str) -> None:
    """Logging every fourth step: the host launches nothing while it waits."""

    def step(simulation: Simulation, waits: bool) -> None:
        simulation.host("forward", host)
        simulation.launch(device, marker=True)
        if waits:
            simulation.wait(name)

    trace, now = simulate(STEPS, lambda simulation, number: step(simulation, number in (1, 4)))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    by_id = findings(trace)
    gain = (now - without) / now
    assert ("sync_some_steps" in by_id) == (gain >= 0.03)
    if finding := by_id.get("sync_some_steps"):
        assert finding.step_if_fixed_ps == mean(without)
        assert finding.title.endswith("the device in steps 6 and 9")
        assert finding.evidence["steps"] == [6, 9]
    assert "sync_every_step" not in by_id


@given(HOST, DEVICE, st.sampled_from(["$api.py:9 block_until_ready", "PjRtFuture::Await"]))
@examples
def test_a_wait_for_the_device_in_every_step(host: int, device: int, name: str) -> None:
    def step(simulation: Simulation, waits: bool) -> None:
        simulation.host("forward", host)
        simulation.launch(device, marker=True)
        if waits:
            simulation.wait(name)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    finding = findings(trace)["sync_every_step"]
    assert finding.title == "Every step waits for the device"
    assert finding.step_if_fixed_ps == mean(without)


@given(HOST, DEVICE)
@examples
def test_a_wait_and_a_read_in_every_step(host: int, device: int) -> None:
    """Either alone blocks the host: the fix removes both."""

    def step(simulation: Simulation, waits: bool) -> None:
        simulation.host("forward", host)
        simulation.launch(device, marker=True)
        if waits:
            simulation.wait("$api.py:9 block_until_ready")
            simulation.host("PjRtComputationClient::TransferFromDevice", 50)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    finding = findings(trace)["sync_every_step"]
    assert finding.title == "Every step reads from the device and waits for it"
    assert finding.step_if_fixed_ps == mean(without)


BLOCKS, READS = "$api.py:9 block_until_ready", "PjRtComputationClient::TransferFromDevice"


def returning_late(simulation: Simulation, host: int, device: int, delay: int, waits: str | None) -> None:
    """A step that waits for its launch and continues late, or one that does not wait but is delayed by as much."""
    simulation.host("forward", host)
    simulation.launch(device, marker=True)
    if waits:
        simulation.wait(waits, delay)
    else:
        simulation.host("forward", delay)


@given(
    HOST,
    DEVICE,
    st.integers(20, 2000),
    st.sampled_from([BLOCKS, READS]),
)
@examples
def test_a_wait_that_returns_late(host: int, device: int, delay: int, name: str) -> None:
    """At best the fix removes the delay with the wait; at worst the host is delayed by as much without it."""
    trace, now = simulate(STEPS, lambda simulation, _: returning_late(simulation, host, device, delay, name))
    _, without = simulate(STEPS, lambda simulation, _: returning_late(simulation, host, device, 0, None))
    _, held_up = simulate(STEPS, lambda simulation, _: returning_late(simulation, host, device, delay, None))
    finding = findings(trace)["sync_every_step"]
    assert finding.step_if_fixed_ps == mean(without)
    assert finding.step_if_fixed_at_worst_ps == mean(held_up)
    # Once another fix removes the wait, none of it is left for this one.
    fix = Fix(("from_device", "wait"), all_reads=True, blocking_waits=True)
    assert step_without(trace, fix, at_worst=[fix]) == mean(without)
    sentence = f"They return {brief_time(delay * US)} a step after the runs"
    assert (sentence in finding.detail) == (delay * US * STEPS >= 0.1 * now)


@given(st.integers(100, 900), st.integers(20, 2000))
@examples
def test_a_wait_for_a_run_that_has_ended_before_it(device: int, delay: int) -> None:
    """The whole wait is delay. A read takes time of its own, which the fix removes."""

    def step(simulation: Simulation, name: str, duration: int) -> None:
        simulation.launch(device, marker=True)
        simulation.host("forward", 1000)
        simulation.host(name, duration)

    _, without = simulate(STEPS, lambda simulation, _: step(simulation, "forward", 0))
    _, held_up = simulate(STEPS, lambda simulation, _: step(simulation, "forward", delay))
    waits, _ = simulate(STEPS, lambda simulation, _: step(simulation, BLOCKS, delay))
    reads, _ = simulate(STEPS, lambda simulation, _: step(simulation, READS, delay))
    finding = findings(waits)["sync_every_step"]
    assert (finding.step_if_fixed_ps, finding.step_if_fixed_at_worst_ps) == (mean(without), mean(held_up))
    finding = findings(reads)["sync_every_step"]
    assert (finding.step_if_fixed_ps, finding.step_if_fixed_at_worst_ps) == (mean(without), mean(without))


def test_a_loader_comes_before_a_longer_wait_that_returns_late() -> None:
    """Without the wait the host may be delayed by as much, and nothing is gained."""

    def step(simulation: Simulation) -> None:
        simulation.host("next_batch", 450)
        returning_late(simulation, 100, 100, 400, BLOCKS)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation))
    by_id = findings(trace)
    loader, wait = by_id["input_bound"], by_id["sync_every_step"]
    assert loader.gain is not None
    assert wait.gain is not None
    assert wait.gain > loader.gain
    assert list(by_id).index("input_bound") < list(by_id).index("sync_every_step")
    assert wait.brief == "a wait for the device in every step (returns 0.4\u202fms late)"


@given(HOST, DEVICE, st.integers(900, 3000))
@examples
def test_slow_input(host: int, device: int, load: int) -> None:
    """At best another thread has loaded before; at worst steps wait for that thread."""

    def step(simulation: Simulation, loads: bool) -> None:
        simulation.host("next_batch", load if loads else 0)
        simulation.host("forward", host)
        simulation.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    finding = findings(trace)["input_bound"]
    assert finding.step_if_fixed_ps == mean(without)
    assert finding.step_if_fixed_at_worst_ps == max(mean(without), load * US)
    loaders = -(-load * US // mean(without))
    assert (f", at least {loaders} batches at once: " in finding.advice) == (loaders > 1)


@given(HOST, DEVICE, st.integers(900, 3000))
@examples
def test_only_one_fix_is_at_worst(host: int, device: int, load: int) -> None:
    """If another thread loads, and is assumed to be fast enough, less graph building gains all of its time; not if that
    thread is assumed to be as slow as the previous loader."""

    def step(simulation: Simulation, loads: bool, builds: bool) -> None:
        simulation.host("next_batch", load if loads else 0)
        simulation.host("forward", host if builds else 0)
        simulation.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False, False))
    loads, builds = Fix(("input",), in_other_thread=True), Fix(("tracing",))
    assert step_without(trace, loads, at_worst=[builds]) == mean(without)
    assert step_without(trace, builds, at_worst=[loads]) == max(mean(without), load * US)


@given(HOST, DEVICE, st.sets(st.integers(1, STEPS - 1), min_size=1, max_size=3))
@examples
def test_compilations(host: int, device: int, when: set[int]) -> None:
    def step(simulation: Simulation, compiles: bool) -> None:
        simulation.host("forward", host)
        simulation.host("XLAGraphExecutor::Compile", 5000 if compiles else 0)
        simulation.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, number: step(simulation, number in when))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    assert findings(trace)["recompilation"].step_if_fixed_ps == mean(without)


@given(HOST, DEVICE, st.integers(1, 2000), st.sets(st.integers(1, STEPS - 1), min_size=1, max_size=2))
@examples
def test_a_call_that_traces_lowers_and_compiles(host: int, device: int, slow: int, when: set[int]) -> None:
    """As JAX does for a new function: the call's time before its launch is removed, and the program's first run is as
    fast as the others."""

    def step(simulation: Simulation, compiles: bool) -> None:
        simulation.host("forward", host)
        if compiles:
            simulation.tpu.on_main("PjitFunction(train)", simulation.now, 900)
            simulation.tpu.on_main("trace_to_jaxpr_dynamic", simulation.now + 10, 300)
            simulation.tpu.on_main("backend_compile_and_load", simulation.now + 400, 400)
            simulation.now += 900
        simulation.launch(device + slow if compiles else device, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, number: step(simulation, number in when))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    assert findings(trace)["recompilation"].step_if_fixed_ps == mean(without)


@given(HOST, DEVICE)
@examples
def test_compilations_of_programs_that_run_once(host: int, device: int) -> None:
    """The duration of later runs is unknown: between zero and unchanged."""

    def step(simulation: Simulation, compiles: bool, device: int) -> None:
        simulation.host("forward", host)
        simulation.host("XLAGraphExecutor::Compile", 5000 if compiles else 0)
        simulation.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True, device))
    _, usual = simulate(STEPS, lambda simulation, _: step(simulation, False, device))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False, 0))
    finding = findings(trace)["recompilation"]
    assert finding.step_if_fixed_ps == mean(without)
    assert finding.step_if_fixed_at_worst_ps == mean(usual)
    assert "the time of a later run is unknown" in finding.detail


@given(HOST, DEVICE, st.integers(100, 300))
@examples
def test_a_step_that_runs_op_by_op(host: int, device: int, device_us: int) -> None:
    """Six programs of one element-wise operation each, of two alternating kinds. The host's time to launch them is
    removed; at best one program fuses their work away, at worst all of it remains."""

    def step(simulation: Simulation, apart: bool, device_us: int) -> None:
        simulation.host("forward", host)
        simulation.launch(device + (0 if apart else 6 * device_us), marker=True)
        for _ in range(3 if apart else 0):
            simulation.launch(device_us, program="jit_add(8)", op="wrapped_add.1")
            simulation.launch(device_us, program="jit_tanh(9)", op="loop_multiply_tanh_fusion")

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True, device_us))
    _, fused = simulate(STEPS, lambda simulation, _: step(simulation, False, 0))
    _, apart = simulate(STEPS, lambda simulation, _: step(simulation, False, device_us))
    finding = findings(trace)["many_small_executions"]
    assert (finding.evidence["single_op"], finding.evidence["op_by_op"]) == (6 * STEPS, 6 * STEPS)
    assert finding.step_if_fixed_ps == mean(fused)
    assert finding.step_if_fixed_at_worst_ps is not None
    assert finding.step_if_fixed_at_worst_ps >= mean(apart)


@given(HOST, st.integers(10, 60), st.integers(4, 8), st.booleans())
@examples
def test_a_marker_for_every_micro_batch(host: int, device: int, batches: int, marker: bool) -> None:
    """One launch of all the work instead. The host's time to hand the graphs over is removed at best; at worst, the one
    graph takes as long to prepare as all of them."""

    def step(simulation: Simulation, every_batch: bool) -> None:
        for _ in range(batches):
            simulation.host("forward", host)
            if every_batch:
                simulation.launch(device, marker)
        simulation.host("update", 50)
        simulation.launch(device * (1 if every_batch else batches + 1), marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    launches = find_launches(trace)
    merged = np.flatnonzero(np.arange(len(launches)) % (batches + 1) < batches)
    classes, moved = ("sync_prepare", "dispatch", "wait"), ("sync_prepare",)
    fix = Fix(classes, before_launches=merged, merged_launches=merged, moved_classes=moved)
    assert step_without(trace, fix) == mean(without)
    most = step_without(trace, at_worst=[fix])
    assert most is not None
    assert most >= mean(without)


@given(HOST, DEVICE, st.integers(1, 90))
@examples
def test_stalls_and_exposed_collectives(host: int, device: int, waits: int) -> None:
    """Both are device time that the fix removes from every run."""

    def step(simulation: Simulation, stalls: int) -> None:
        simulation.host("forward", host)
        simulation.launch(device + stalls, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, waits))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, 0))
    assert step_without(trace, Fix(device_ps=np.full(STEPS, waits * US))) == mean(without)


@given(HOST, DEVICE, st.integers(1, 90))
@examples
def test_stalls_with_a_wait_in_every_step(host: int, device: int, waits: int) -> None:
    def step(simulation: Simulation, stalls: int) -> None:
        simulation.host("forward", host)
        simulation.launch(device + stalls, marker=True)
        simulation.wait("DeviceBarrier")

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, waits))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, 0))
    assert step_without(trace, Fix(device_ps=np.full(STEPS, waits * US))) == mean(without)


@given(HOST, DEVICE)
@examples
def test_two_mistakes_at_once(host: int, device: int) -> None:
    def step(simulation: Simulation, mistakes: bool) -> None:
        simulation.host("next_batch", 1500 if mistakes else 0)
        simulation.host("forward", host)
        simulation.launch(device, marker=True)
        if mistakes:
            simulation.wait("PjRtComputationClient::TransferFromDevice")

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    fixes = Fix(("input",)), Fix(("from_device",), all_reads=True)
    assert step_without(trace, *fixes) == mean(without)


def test_waiting_between_steps_for_their_work_is_part_of_them() -> None:
    """Steps of 300 us, and between them a read until the device is done, which works for 500."""
    simulation = Simulation()
    for number in range(STEPS):
        begin = simulation.now
        simulation.host("forward", 300 - SYNC)
        simulation.launch(500)
        simulation.tpu.step(begin, simulation.now - begin, number + 5)
        simulation.wait("PjRtComputationClient::TransferFromDevice", delay_us=0)
    trace = simulation.tpu.trace()
    # From the launch's enqueuing, 1 us before the annotation's end, to the end of the read: 7 us, then 500.
    assert step_without(trace) == (300 - 1 + 7 + 500) * US
    assert step_without(trace, Fix(("from_device",), all_reads=True)) == 500 * US


def test_loading_during_device_work_delays_the_step_too() -> None:
    """The device is busy while the host loads, and idle while it builds the graph, which it could have begun
    earlier."""

    def step(simulation: Simulation, loads: bool) -> None:
        simulation.host("next_batch", 400 if loads else 0)
        simulation.host("forward", 500)
        simulation.launch(450, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    finding = findings(trace)["input_bound"]
    assert finding.recurs == "every_step"
    assert finding.cost_ps < 400 * US  # that of the first step at most
    assert finding.step_if_fixed_ps == mean(without)
    assert "but delays the next launch" in finding.detail
