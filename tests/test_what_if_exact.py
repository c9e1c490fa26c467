"""Simulated loops with and without a cause of idle time: the replay of the former with a fix predicts the latter's
step time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from launching import US
from loops import findings, us
from simulated import DEVICE, HOST, MARKER, STEPS, Simulation, few_examples, mean_step, simulate

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.replay.what_if import Fix, step_without
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.catalog.classes import CLASSES


@given(HOST, DEVICE, st.integers(900, 3000))
@few_examples
def test_slow_input(host: int, device: int, load: int) -> None:
    """At best another thread has loaded before; at worst steps wait for that thread."""

    def step(simulation: Simulation, loads: bool) -> None:
        simulation.host("next_batch", load if loads else 0)
        simulation.host("forward", host)
        simulation.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    finding = findings(trace)["input_bound"]
    assert finding.step_if_fixed_ps == mean_step(without)
    assert finding.step_if_fixed_at_worst_ps == max(mean_step(without), load * US)
    loaders = -(-load * US // mean_step(without))
    assert (f", at least {loaders} batches at once: " in finding.advice) == (loaders > 1)


@given(HOST, DEVICE, st.integers(900, 3000))
@few_examples
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
    assert step_without(trace, loads, at_worst=[builds]) == mean_step(without)
    assert step_without(trace, builds, at_worst=[loads]) == max(mean_step(without), load * US)


@given(HOST, DEVICE, st.sets(st.integers(1, STEPS - 1), min_size=1, max_size=3))
@few_examples
def test_compilations(host: int, device: int, compiled_steps: set[int]) -> None:
    def step(simulation: Simulation, compiles: bool) -> None:
        simulation.host("forward", host)
        simulation.host("XLAGraphExecutor::Compile", 5000 if compiles else 0)
        simulation.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, number: step(simulation, number in compiled_steps))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    assert findings(trace)["recompilation"].step_if_fixed_ps == mean_step(without)


@given(HOST, DEVICE, st.integers(1, 2000), st.sets(st.integers(1, STEPS - 1), min_size=1, max_size=2))
@few_examples
def test_a_call_that_traces_lowers_and_compiles(
    host: int, device: int, slow: int, compiled_steps: set[int]
) -> None:
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

    trace, _ = simulate(STEPS, lambda simulation, number: step(simulation, number in compiled_steps))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    assert findings(trace)["recompilation"].step_if_fixed_ps == mean_step(without)


@given(HOST, DEVICE)
@few_examples
def test_compilations_of_programs_that_run_once(host: int, device: int) -> None:
    """The duration of later runs is unknown; what is certain is that they take no longer."""

    def step(simulation: Simulation, compiles: bool) -> None:
        simulation.host("forward", host)
        simulation.host("XLAGraphExecutor::Compile", 5000 if compiles else 0)
        simulation.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, with_unchanged_runs = simulate(STEPS, lambda simulation, _: step(simulation, False))
    finding = findings(trace)["recompilation"]
    assert finding.step_if_fixed_ps == mean_step(with_unchanged_runs)
    assert ", and later runs may be shorter." in finding.detail


@given(HOST, st.integers(200, 900), st.integers(100, 300))
@few_examples
def test_a_step_that_runs_op_by_op(host: int, device: int, device_us: int) -> None:
    """Six programs of one element-wise operation each, of two alternating kinds. The host's time to launch them is
    removed; at best one program fuses their work away, at worst all of it remains. The step's own program runs for
    longer than the device idles before it, so it is not small."""

    def step(simulation: Simulation, op_by_op: bool, device_us: int) -> None:
        simulation.host("forward", host)
        simulation.launch(device + (0 if op_by_op else 6 * device_us), marker=True)
        for _ in range(3 if op_by_op else 0):
            simulation.launch(device_us, program="jit_add(8)", op="wrapped_add.1")
            simulation.launch(device_us, program="jit_tanh(9)", op="loop_multiply_tanh_fusion")

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True, device_us))
    _, fused = simulate(STEPS, lambda simulation, _: step(simulation, False, 0))
    _, not_fused = simulate(STEPS, lambda simulation, _: step(simulation, False, device_us))
    finding = findings(trace)["many_small_executions"]
    assert (finding.evidence["single_op"], finding.evidence["op_by_op"]) == (6 * STEPS, 6 * STEPS)
    assert finding.step_if_fixed_ps == mean_step(fused)
    assert finding.step_if_fixed_at_worst_ps is not None
    assert finding.step_if_fixed_at_worst_ps >= mean_step(not_fused)


@given(HOST, st.integers(10, 60), st.integers(4, 8), st.booleans())
@few_examples
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
    assert step_without(trace, fix) == mean_step(without)
    longest = step_without(trace, at_worst=[fix])
    assert longest is not None
    assert longest >= mean_step(without)


@given(HOST, DEVICE, st.integers(1, 90))
@few_examples
def test_waits_for_other_engines(host: int, device: int, waits: int) -> None:
    """They are device time that the fix removes from every run."""

    def step(simulation: Simulation, stalls: int) -> None:
        simulation.host("forward", host)
        simulation.launch(device + stalls, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, waits))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, 0))
    assert step_without(trace, Fix(device_ps=np.full(STEPS, waits * US))) == mean_step(without)


@given(HOST, DEVICE, st.integers(1, 90))
@few_examples
def test_stalls_with_a_wait_in_every_step(host: int, device: int, waits: int) -> None:
    def step(simulation: Simulation, stalls: int) -> None:
        simulation.host("forward", host)
        simulation.launch(device + stalls, marker=True)
        simulation.wait("DeviceBarrier")

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, waits))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, 0))
    assert step_without(trace, Fix(device_ps=np.full(STEPS, waits * US))) == mean_step(without)


@given(HOST, DEVICE)
@few_examples
def test_two_mistakes_together(host: int, device: int) -> None:
    def step(simulation: Simulation, mistakes: bool) -> None:
        simulation.host("next_batch", 1500 if mistakes else 0)
        simulation.host("forward", host)
        simulation.launch(device, marker=True)
        if mistakes:
            simulation.wait("PjRtComputationClient::TransferFromDevice")

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    fixes = Fix(("input",)), Fix(("from_device",), all_reads=True)
    assert step_without(trace, *fixes) == mean_step(without)


@given(HOST, DEVICE, st.integers(1200, 3000))
@few_examples
def test_a_loader_between_the_annotations(host: int, device: int, load: int) -> None:
    """It counts as one inside of them does. After the last annotation, nothing is loaded."""

    def step(simulation: Simulation, number: int, loads: bool) -> None:
        with simulation.step(number):
            simulation.host("forward", host)
            simulation.launch(device, marker=True)
        if loads and number < STEPS - 1:
            simulation.host("next_batch", load)

    loops = []
    for loads in (True, False):
        simulation = Simulation()
        for number in range(STEPS):
            step(simulation, number, loads)
        loops.append(simulation)
    trace = loops[0].tpu.trace()
    finding = findings(trace)["input_bound"]
    assert step_without(trace) == mean_step(loops[0].now * US)
    assert finding.step_if_fixed_ps == mean_step(loops[1].total_us * US)
    assert finding.recurs == "every_step"


@pytest.mark.parametrize("every", [3, 2 * STEPS])
def test_a_checkpoint_between_some_steps(every: int) -> None:
    """The host writes it while the device idles."""

    def saving_loop(saves: bool) -> Simulation:
        simulation = Simulation()
        for number in range(2 * STEPS):
            with simulation.step(number):
                simulation.host("forward", 300)
                simulation.launch(200, marker=True)
            if saves and number % every == 2:
                simulation.host("save_checkpoint", 4000)
        return simulation

    trace = saving_loop(True).tpu.trace()
    saved = len(range(2, 2 * STEPS - 1, every))
    step_us = 300 + MARKER
    assert us(step_without(trace)) == pytest.approx(step_us + 4000 * saved / (2 * STEPS), rel=1e-6)
    is_save = np.array([trace.name(row) == "save_checkpoint" for row in range(len(trace))])
    windows = union(trace.start_ps, trace.end_ps[:], is_save)
    assert us(step_without(trace, Fix(CLASSES, windows=windows))) == step_us


@pytest.mark.parametrize("waits", [False, True])
def test_an_evaluation_belongs_to_the_step_before_it(waits: bool) -> None:
    """A loader is slower than the device. Before the fourth step, the device also evaluates for as long as it works for
    a step, and the host waits for that, or goes on loading."""

    def evaluating_loop(loads: bool) -> Simulation:
        simulation = Simulation()
        for number in range(STEPS):
            if number == 3:
                simulation.launch(500, program="evaluate(9)")
                if waits:
                    simulation.wait("PjRtComputationClient::TransferFromDevice")
            with simulation.step(number):
                simulation.host("next_batch", 1500 if loads else 0)
                simulation.host("forward", 50)
                simulation.launch(500, marker=True)
        return simulation

    simulation = evaluating_loop(loads=True)
    trace = simulation.tpu.trace()
    finding = findings(trace)["input_bound"]
    assert step_without(trace) == mean_step(simulation.now * US)
    without = mean_step(evaluating_loop(loads=False).total_us * US)
    assert finding.step_if_fixed_ps == pytest.approx(without, rel=0.01)


@pytest.mark.parametrize("warm_up", [0, 1000, 20_000])
def test_a_run_before_the_first_step_adds_no_gain(warm_up: int) -> None:
    """The device pauses between the two runs of a step, then the host reads. A run before the steps is in no step."""
    simulation = Simulation()
    if warm_up:
        simulation.launch(warm_up, program="warm_up(9)")
        simulation.wait("PjRtComputationClient::TransferFromDevice")
    for number in range(2 * STEPS):
        with simulation.step(number):
            simulation.launch(200)
            simulation.ends.append(simulation.ends[-1] + 100)
            simulation.launch(200, marker=True)
            simulation.wait("PjRtComputationClient::TransferFromDevice")
    assert findings(simulation.tpu.trace())["sync_every_step"].step_if_fixed_ps == 500 * US


def test_an_evaluation_of_steps_that_are_handed_over() -> None:
    simulation = Simulation()
    for number in range(STEPS):
        if number == 3:
            simulation.launch(2500, program="evaluate(9)")
        with simulation.step(number):
            simulation.host("forward", 50)
            simulation.launch(500, marker=True)
    trace = simulation.tpu.trace()
    runs = find_launches(trace).runs
    stalls_ps = np.where(runs.duration_ps == 500 * US, 200 * US, 0)
    assert step_without(trace) == mean_step((STEPS * 500 + 2500) * US)
    assert step_without(trace, Fix(device_ps=stalls_ps)) == mean_step((STEPS * 300 + 2500) * US)


def test_a_pause_between_steps_that_are_handed_over_is_in_the_step_before_it() -> None:
    """Before the fourth step, the host saves a checkpoint for as long as 40 steps, and the device idles."""

    def saving_loop(pause: int) -> Simulation:
        simulation = Simulation()
        for number in range(STEPS):
            if number == 3:
                simulation.host("save_checkpoint", pause)
            with simulation.step(number):
                simulation.host("forward", 50)
                simulation.launch(500, marker=True)
        return simulation

    simulation = saving_loop(20_000)
    trace = simulation.tpu.trace()
    finding = findings(trace)["host_pause"]
    assert finding.recurs == "once"
    assert finding.brief == "a pause in save_checkpoint after step 7"
    assert finding.step_if_fixed_ps == 500 * US
    assert step_without(trace) == mean_step(simulation.total_us * US)


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
    assert finding.step_if_fixed_ps == mean_step(without)
    assert "but delays the next launch" in finding.detail
