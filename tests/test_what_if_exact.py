"""Simulated loops with a cause and without it: of the one, the findings tell exactly how long the other's steps are."""

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
"""Either may be the limit."""

examples = settings(max_examples=15, deadline=None)


def mean(together_ps: int) -> int:
    return round(together_ps / STEPS)


@given(HOST, DEVICE, DEVICE)
@examples
def test_a_read_in_the_middle_of_a_step(host: int, device: int, first: int) -> None:
    """The graph so far runs for the value, and again in the step's own graph. Waiting for it also kept the host from
    running ahead."""
    first = min(first, device)

    def step(made: Simulation, reads: bool) -> None:
        made.host("forward", host)
        if reads:
            made.launch(first)
            made.wait("PjRtComputationClient::TransferFromDevice")
        made.host("backward", 200)
        made.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda made, _: step(made, True))
    _, without = simulate(STEPS, lambda made, _: step(made, False))
    assert findings(trace)["early_sync"].step_if_fixed_ps == mean(without)


@given(HOST, DEVICE)
@examples
def test_a_read_of_the_loss_in_every_step(host: int, device: int) -> None:
    def step(made: Simulation, reads: bool) -> None:
        made.host("forward", host)
        made.launch(device, marker=True)
        if reads:
            made.wait("PjRtComputationClient::TransferFromDevice")

    trace, _ = simulate(STEPS, lambda made, _: step(made, True))
    _, without = simulate(STEPS, lambda made, _: step(made, False))
    assert findings(trace)["sync_every_step"].step_if_fixed_ps == mean(without)


@given(HOST, DEVICE, st.sampled_from(["$api.py:9 block_until_ready", "PjRtFuture::Await"]))
@examples
def test_a_wait_for_the_device_in_every_step(host: int, device: int, name: str) -> None:
    def step(made: Simulation, waits: bool) -> None:
        made.host("forward", host)
        made.launch(device, marker=True)
        if waits:
            made.wait(name)

    trace, _ = simulate(STEPS, lambda made, _: step(made, True))
    _, without = simulate(STEPS, lambda made, _: step(made, False))
    found = findings(trace)["sync_every_step"]
    assert found.title == "Every step waits for the device"
    assert found.step_if_fixed_ps == mean(without)


@given(HOST, DEVICE)
@examples
def test_a_wait_and_a_read_in_every_step(host: int, device: int) -> None:
    """Either alone keeps the host: both go."""

    def step(made: Simulation, waits: bool) -> None:
        made.host("forward", host)
        made.launch(device, marker=True)
        if waits:
            made.wait("$api.py:9 block_until_ready")
            made.host("PjRtComputationClient::TransferFromDevice", 50)

    trace, _ = simulate(STEPS, lambda made, _: step(made, True))
    _, without = simulate(STEPS, lambda made, _: step(made, False))
    found = findings(trace)["sync_every_step"]
    assert found.title == "Every step reads from the device and waits for it"
    assert found.step_if_fixed_ps == mean(without)


BLOCKS, READS = "$api.py:9 block_until_ready", "PjRtComputationClient::TransferFromDevice"


def returning_late(made: Simulation, host: int, device: int, late: int, waits: str | None) -> None:
    """A step that waits for what it launches and goes on late; or that does not wait, and is held up for as long."""
    made.host("forward", host)
    made.launch(device, marker=True)
    if waits:
        made.wait(waits, late)
    else:
        made.host("forward", late)


@given(
    HOST,
    DEVICE,
    st.integers(20, 2000),
    st.sampled_from([BLOCKS, READS]),
)
@examples
def test_a_wait_that_returns_late(host: int, device: int, late: int, name: str) -> None:
    """At best that goes with the wait, at worst something holds the host up for as long without it."""
    trace, now = simulate(STEPS, lambda made, _: returning_late(made, host, device, late, name))
    _, without = simulate(STEPS, lambda made, _: returning_late(made, host, device, 0, None))
    _, held_up = simulate(STEPS, lambda made, _: returning_late(made, host, device, late, None))
    found = findings(trace)["sync_every_step"]
    assert found.step_if_fixed_ps == mean(without)
    assert found.step_if_fixed_most_ps == mean(held_up)
    # Once another fix takes the wait away, this one leaves nothing of it.
    fix = Fix(("from_device", "wait"), reads=True, blocks=True)
    assert step_without(trace, fix, at_worst=[fix]) == mean(without)
    told = f"They return {brief_time(late * US)} a step after the runs"
    assert (told in found.detail) == (late * US * STEPS >= 0.1 * now)


@given(st.integers(100, 900), st.integers(20, 2000))
@examples
def test_a_wait_for_a_run_that_has_ended_before_it(device: int, late: int) -> None:
    """All of it is late. A read then takes its own time, which goes with it."""

    def step(made: Simulation, name: str, duration: int) -> None:
        made.launch(device, marker=True)
        made.host("forward", 1000)
        made.host(name, duration)

    _, without = simulate(STEPS, lambda made, _: step(made, "forward", 0))
    _, held_up = simulate(STEPS, lambda made, _: step(made, "forward", late))
    waits, _ = simulate(STEPS, lambda made, _: step(made, BLOCKS, late))
    reads, _ = simulate(STEPS, lambda made, _: step(made, READS, late))
    found = findings(waits)["sync_every_step"]
    assert (found.step_if_fixed_ps, found.step_if_fixed_most_ps) == (mean(without), mean(held_up))
    found = findings(reads)["sync_every_step"]
    assert (found.step_if_fixed_ps, found.step_if_fixed_most_ps) == (mean(without), mean(without))


def test_a_loader_comes_before_a_longer_wait_that_returns_late() -> None:
    """Without the wait the host may be held up for as long, and nothing is gained."""

    def step(made: Simulation) -> None:
        made.host("next_batch", 450)
        returning_late(made, 100, 100, 400, BLOCKS)

    trace, _ = simulate(STEPS, lambda made, _: step(made))
    found = findings(trace)
    loader, wait = found["input_bound"], found["sync_every_step"]
    assert loader.gain is not None
    assert wait.gain is not None
    assert wait.gain > loader.gain
    assert list(found).index("input_bound") < list(found).index("sync_every_step")
    assert wait.brief == "a wait for the device in every step (returns 0.4\u202fms late)"


@given(HOST, DEVICE, st.integers(900, 3000))
@examples
def test_slow_input(host: int, device: int, load: int) -> None:
    """At best another thread has loaded before; at worst steps wait for that thread."""

    def step(made: Simulation, loads: bool) -> None:
        made.host("next_batch", load if loads else 0)
        made.host("forward", host)
        made.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda made, _: step(made, True))
    _, without = simulate(STEPS, lambda made, _: step(made, False))
    found = findings(trace)["input_bound"]
    assert found.step_if_fixed_ps == mean(without)
    assert found.step_if_fixed_most_ps == max(mean(without), load * US)


@given(HOST, DEVICE, st.integers(900, 3000))
@examples
def test_at_worst_only_of_one_fix(host: int, device: int, load: int) -> None:
    """Once another thread loads, which is taken to be fast enough, less building of graphs gains all of it; not where
    that thread is taken to be as slow as the one before."""

    def step(made: Simulation, loads: bool, builds: bool) -> None:
        made.host("next_batch", load if loads else 0)
        made.host("forward", host if builds else 0)
        made.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda made, _: step(made, True, True))
    _, without = simulate(STEPS, lambda made, _: step(made, False, False))
    loads, builds = Fix(("input",), aside=True), Fix(("tracing",))
    assert step_without(trace, loads, at_worst=[builds]) == mean(without)
    assert step_without(trace, builds, at_worst=[loads]) == max(mean(without), load * US)


@given(HOST, DEVICE, st.sets(st.integers(1, STEPS - 1), min_size=1, max_size=3))
@examples
def test_compilations(host: int, device: int, when: set[int]) -> None:
    def step(made: Simulation, compiles: bool) -> None:
        made.host("forward", host)
        made.host("XLAGraphExecutor::Compile", 5000 if compiles else 0)
        made.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda made, number: step(made, number in when))
    _, without = simulate(STEPS, lambda made, _: step(made, False))
    assert findings(trace)["recompilation"].step_if_fixed_ps == mean(without)


@given(HOST, DEVICE, st.integers(1, 2000), st.sets(st.integers(1, STEPS - 1), min_size=1, max_size=2))
@examples
def test_a_call_that_traces_lowers_and_compiles(host: int, device: int, slow: int, when: set[int]) -> None:
    """As JAX does for a new function: all that the call does before it launches goes, and the program's first run is
    as fast as others."""

    def step(made: Simulation, compiles: bool) -> None:
        made.host("forward", host)
        if compiles:
            made.made.on_main("PjitFunction(train)", made.now, 900)
            made.made.on_main("trace_to_jaxpr_dynamic", made.now + 10, 300)
            made.made.on_main("backend_compile_and_load", made.now + 400, 400)
            made.now += 900
        made.launch(device + slow if compiles else device, marker=True)

    trace, _ = simulate(STEPS, lambda made, number: step(made, number in when))
    _, without = simulate(STEPS, lambda made, _: step(made, False))
    assert findings(trace)["recompilation"].step_if_fixed_ps == mean(without)


@given(HOST, DEVICE)
@examples
def test_compilations_of_programs_that_run_once(host: int, device: int) -> None:
    """No run tells how long a later one takes: at best nothing is left of them, at worst all."""

    def step(made: Simulation, compiles: bool, device: int) -> None:
        made.host("forward", host)
        made.host("XLAGraphExecutor::Compile", 5000 if compiles else 0)
        made.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda made, _: step(made, True, device))
    _, usual = simulate(STEPS, lambda made, _: step(made, False, device))
    _, without = simulate(STEPS, lambda made, _: step(made, False, 0))
    found = findings(trace)["recompilation"]
    assert found.step_if_fixed_ps == mean(without)
    assert found.step_if_fixed_most_ps == mean(usual)
    assert "how long a later run of it takes is not known" in found.detail


@given(HOST, DEVICE, st.integers(100, 300))
@examples
def test_a_step_that_runs_op_by_op(host: int, device: int, each: int) -> None:
    """Six programs of one element-wise operation each, by turns of two kinds: what the host spends in launching them
    goes; at best one program fuses their work away, at worst all of it stays."""

    def step(made: Simulation, apart: bool, each: int) -> None:
        made.host("forward", host)
        made.launch(device + (0 if apart else 6 * each), marker=True)
        for _ in range(3 if apart else 0):
            made.launch(each, program="jit_add(8)", op="wrapped_add.1")
            made.launch(each, program="jit_tanh(9)", op="loop_multiply_tanh_fusion")

    trace, _ = simulate(STEPS, lambda made, _: step(made, True, each))
    _, fused = simulate(STEPS, lambda made, _: step(made, False, 0))
    _, apart = simulate(STEPS, lambda made, _: step(made, False, each))
    found = findings(trace)["many_small_executions"]
    assert (found.evidence["single_op"], found.evidence["op_by_op"]) == (6 * STEPS, 6 * STEPS)
    assert found.step_if_fixed_ps == mean(fused)
    assert found.step_if_fixed_most_ps is not None
    assert found.step_if_fixed_most_ps >= mean(apart)


@given(HOST, st.integers(10, 60), st.integers(4, 8), st.booleans())
@examples
def test_a_marker_for_every_micro_batch(host: int, device: int, batches: int, marker: bool) -> None:
    """One launch of all their work instead. What the host spends in handing graphs over goes at best; at worst, the one
    graph takes as long to prepare as all of them."""

    def step(made: Simulation, each: bool) -> None:
        for _ in range(batches):
            made.host("forward", host)
            if each:
                made.launch(device, marker)
        made.host("update", 50)
        made.launch(device * (1 if each else batches + 1), marker=True)

    trace, _ = simulate(STEPS, lambda made, _: step(made, True))
    _, without = simulate(STEPS, lambda made, _: step(made, False))
    launches = find_launches(trace)
    merged = np.flatnonzero(np.arange(len(launches)) % (batches + 1) < batches)
    fix = Fix(("sync_prepare", "dispatch", "wait"), before=merged, merged=merged, moved=("sync_prepare",))
    assert step_without(trace, fix) == mean(without)
    most = step_without(trace, at_worst=[fix])
    assert most is not None
    assert most >= mean(without)


@given(HOST, DEVICE, st.integers(1, 90))
@examples
def test_stalls_and_exposed_collectives(host: int, device: int, waits: int) -> None:
    """Whatever they are: device time that goes, of every run."""

    def step(made: Simulation, stalls: int) -> None:
        made.host("forward", host)
        made.launch(device + stalls, marker=True)

    trace, _ = simulate(STEPS, lambda made, _: step(made, waits))
    _, without = simulate(STEPS, lambda made, _: step(made, 0))
    assert step_without(trace, Fix(device_ps=np.full(STEPS, waits * US))) == mean(without)


@given(HOST, DEVICE, st.integers(1, 90))
@examples
def test_stalls_where_the_host_waits_for_every_step(host: int, device: int, waits: int) -> None:
    def step(made: Simulation, stalls: int) -> None:
        made.host("forward", host)
        made.launch(device + stalls, marker=True)
        made.wait("DeviceBarrier")

    trace, _ = simulate(STEPS, lambda made, _: step(made, waits))
    _, without = simulate(STEPS, lambda made, _: step(made, 0))
    assert step_without(trace, Fix(device_ps=np.full(STEPS, waits * US))) == mean(without)


@given(HOST, DEVICE)
@examples
def test_two_mistakes_at_once(host: int, device: int) -> None:
    def step(made: Simulation, mistakes: bool) -> None:
        made.host("next_batch", 1500 if mistakes else 0)
        made.host("forward", host)
        made.launch(device, marker=True)
        if mistakes:
            made.wait("PjRtComputationClient::TransferFromDevice")

    trace, _ = simulate(STEPS, lambda made, _: step(made, True))
    _, without = simulate(STEPS, lambda made, _: step(made, False))
    fixes = Fix(("input",)), Fix(("from_device",), reads=True)
    assert step_without(trace, *fixes) == mean(without)


def test_waiting_between_steps_for_their_work_is_part_of_them() -> None:
    """Steps of 300 us, and between them a read until the device is done, which works for 500."""
    made = Simulation()
    for number in range(STEPS):
        begin = made.now
        made.host("forward", 300 - SYNC)
        made.launch(500)
        made.made.step(begin, made.now - begin, number + 5)
        made.wait("PjRtComputationClient::TransferFromDevice", late=0)
    trace = made.made.trace()
    # From the launch's enqueuing, 1 us before the annotation's end, to the end of the read: 7 us, then 500.
    assert step_without(trace) == (300 - 1 + 7 + 500) * US
    assert step_without(trace, Fix(("from_device",), reads=True)) == 500 * US


def test_loading_that_hides_behind_the_devices_work_delays_all_the_same() -> None:
    """The device is busy while the host loads and idle while it builds the graph, which it would have begun before."""

    def step(made: Simulation, loads: bool) -> None:
        made.host("next_batch", 400 if loads else 0)
        made.host("forward", 500)
        made.launch(450, marker=True)

    trace, _ = simulate(STEPS, lambda made, _: step(made, True))
    _, without = simulate(STEPS, lambda made, _: step(made, False))
    found = findings(trace)["input_bound"]
    assert found.recurs == "every_step"
    assert found.cost_ps < 400 * US  # that of the first step at most
    assert found.step_if_fixed_ps == mean(without)
    assert "but delays the next launch" in found.detail
