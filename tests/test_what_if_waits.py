"""Simulated loops with reads and waits, and without: the findings of the former predict the latter's step time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from launching import US, Tpu
from loops import findings
from simulated import DEVICE, HOST, STEPS, SYNC, Simulation, few_examples, mean_step, simulate

from tb_xla_insights.analysis.replay.what_if import Fix, step_without
from tb_xla_insights.text.units import brief_time

WAIT_EVENT, READ_EVENT = "$api.py:9 block_until_ready", "PjRtComputationClient::TransferFromDevice"


@given(HOST, DEVICE, DEVICE)
@few_examples
def test_a_read_in_the_middle_of_a_step(host: int, device: int, first: int) -> None:
    """The graph recorded so far runs for the value, and again in the step's own graph. The wait for the value also kept
    the host from running ahead."""
    first = min(first, device)

    def step(simulation: Simulation, reads: bool) -> None:
        simulation.host("forward", host)
        if reads:
            simulation.launch(first)
            simulation.wait(READ_EVENT)
        simulation.host("backward", 200)
        simulation.launch(device, marker=True)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    assert findings(trace)["early_sync"].step_if_fixed_ps == mean_step(without)


@given(HOST, DEVICE)
@few_examples
def test_a_read_of_the_loss_in_every_step(host: int, device: int) -> None:
    def step(simulation: Simulation, reads: bool) -> None:
        simulation.host("forward", host)
        simulation.launch(device, marker=True)
        if reads:
            simulation.wait(READ_EVENT)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    assert findings(trace)["sync_every_step"].step_if_fixed_ps == mean_step(without)


def step_with_wait(simulation: Simulation, host: int, device: int, wait: str | None) -> None:
    """A step that waits for its launch, in an event of the name `wait`; None: it does not wait."""
    simulation.host("forward", host)
    simulation.launch(device, marker=True)
    if wait:
        simulation.wait(wait)


@given(HOST, DEVICE, st.sampled_from([WAIT_EVENT, READ_EVENT]))
@few_examples
def test_a_read_or_a_wait_in_part_of_the_steps(host: int, device: int, name: str) -> None:
    """Logging every third step: the host launches nothing while it waits."""
    trace, total_ps = simulate(
        STEPS,
        lambda simulation, number: step_with_wait(
            simulation, host, device, name if number in (1, 4) else None
        ),
    )
    _, without = simulate(STEPS, lambda simulation, _: step_with_wait(simulation, host, device, None))
    by_id = findings(trace)
    gain = (total_ps - without) / total_ps
    assert ("sync_some_steps" in by_id) == (gain >= 0.03)
    if finding := by_id.get("sync_some_steps"):
        assert finding.step_if_fixed_ps == mean_step(without)
        assert finding.title.endswith("the device in steps 6 and 9")
        assert finding.evidence["steps"] == [6, 9]
    assert "sync_every_step" not in by_id


def test_a_read_while_the_device_works_only_delays_the_next_launch() -> None:
    def step(simulation: Simulation, number: int) -> None:
        simulation.host("forward", 400)
        simulation.launch(300, marker=True)
        simulation.host("loss", 20)
        simulation.host(READ_EVENT, 200 * (number == 3))
        simulation.host("loss", 20)

    finding = findings(simulate(STEPS, step)[0])["sync_some_steps"]
    assert finding.detail.endswith(
        "blocks the host for 0.200\u202fms in step 8. The host launches nothing meanwhile: that delays the next launch."
    )


@given(HOST, DEVICE, st.sampled_from([WAIT_EVENT, "PjRtFuture::Await"]))
@few_examples
def test_a_wait_for_the_device_in_every_step(host: int, device: int, name: str) -> None:
    trace, _ = simulate(STEPS, lambda simulation, _: step_with_wait(simulation, host, device, name))
    _, without = simulate(STEPS, lambda simulation, _: step_with_wait(simulation, host, device, None))
    finding = findings(trace)["sync_every_step"]
    assert finding.title == "Every step waits for the device"
    assert finding.step_if_fixed_ps == mean_step(without)


@given(HOST, DEVICE)
@few_examples
def test_a_wait_and_a_read_in_every_step(host: int, device: int) -> None:
    """Either alone blocks the host: the fix removes both."""

    def step(simulation: Simulation, waits: bool) -> None:
        simulation.host("forward", host)
        simulation.launch(device, marker=True)
        if waits:
            simulation.wait(WAIT_EVENT)
            simulation.host(READ_EVENT, 50)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation, True))
    _, without = simulate(STEPS, lambda simulation, _: step(simulation, False))
    finding = findings(trace)["sync_every_step"]
    assert finding.title == "Every step reads from the device and waits for it"
    assert finding.step_if_fixed_ps == mean_step(without)


def step_with_late_wait(
    simulation: Simulation, host: int, device: int, delay: int, waits: str | None
) -> None:
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
    st.sampled_from([WAIT_EVENT, READ_EVENT]),
)
@few_examples
def test_a_wait_that_returns_late(host: int, device: int, delay: int, name: str) -> None:
    """At best the fix removes the delay with the wait; at worst the host is delayed by as much without it."""
    trace, total_ps = simulate(
        STEPS, lambda simulation, _: step_with_late_wait(simulation, host, device, delay, name)
    )
    _, without = simulate(STEPS, lambda simulation, _: step_with_late_wait(simulation, host, device, 0, None))
    _, held_up = simulate(
        STEPS, lambda simulation, _: step_with_late_wait(simulation, host, device, delay, None)
    )
    finding = findings(trace)["sync_every_step"]
    assert finding.step_if_fixed_ps == mean_step(without)
    assert finding.step_if_fixed_at_worst_ps == mean_step(held_up)
    # Once another fix removes the wait, none of it is left for this one.
    fix = Fix(("from_device", "wait"), all_reads=True, blocking_waits=True)
    assert step_without(trace, fix, at_worst=[fix]) == mean_step(without)
    sentence = f"They return {brief_time(delay * US)} a step after the ends of the runs"
    assert (sentence in finding.detail) == (delay * US * STEPS >= 0.1 * total_ps)


@given(st.integers(100, 900), st.integers(60, 2000))
@few_examples
def test_a_wait_for_a_run_that_has_ended_before_it(device: int, delay: int) -> None:
    """The whole wait is delay. A read takes time of its own, which the fix removes."""

    def step(simulation: Simulation, name: str, duration: int) -> None:
        simulation.launch(device, marker=True)
        simulation.host("forward", 1000)
        simulation.host(name, duration)

    _, without = simulate(STEPS, lambda simulation, _: step(simulation, "forward", 0))
    _, held_up = simulate(STEPS, lambda simulation, _: step(simulation, "forward", delay))
    waits, _ = simulate(STEPS, lambda simulation, _: step(simulation, WAIT_EVENT, delay))
    reads, _ = simulate(STEPS, lambda simulation, _: step(simulation, READ_EVENT, delay))
    finding = findings(waits)["sync_every_step"]
    assert (finding.step_if_fixed_ps, finding.step_if_fixed_at_worst_ps) == (
        mean_step(without),
        mean_step(held_up),
    )
    finding = findings(reads)["sync_every_step"]
    assert (finding.step_if_fixed_ps, finding.step_if_fixed_at_worst_ps) == (
        mean_step(without),
        mean_step(without),
    )


def test_a_loader_comes_before_a_longer_wait_that_returns_late() -> None:
    """Without the wait the host may be delayed by as much, and nothing is gained."""

    def step(simulation: Simulation) -> None:
        simulation.host("next_batch", 450)
        step_with_late_wait(simulation, 100, 100, 400, WAIT_EVENT)

    trace, _ = simulate(STEPS, lambda simulation, _: step(simulation))
    by_id = findings(trace)
    loader, wait = by_id["input_bound"], by_id["sync_every_step"]
    assert loader.gain is not None
    assert wait.gain is not None
    assert wait.gain > loader.gain
    assert list(by_id).index("input_bound") < list(by_id).index("sync_every_step")


def test_waiting_between_steps_for_their_work_is_part_of_them() -> None:
    """Steps of 300 us, and between them a read until the device is done, which works for 500."""
    simulation = Simulation()
    for number in range(STEPS):
        with simulation.step(number):
            simulation.host("forward", 300 - SYNC)
            simulation.launch(500)
        simulation.wait(READ_EVENT, delay_us=0)
    trace = simulation.tpu.trace()
    # From the launch's enqueuing, 1 us before the annotation's end, to the end of the read: 7 us, then 500. The last
    # step lasts as long as its annotation.
    period = 300 - 1 + 7 + 500
    assert step_without(trace) == mean_step(((STEPS - 1) * period + 300) * US)
    assert step_without(trace, Fix(("from_device",), all_reads=True)) == 500 * US


def test_a_late_first_run_is_no_gain_of_waiting_less() -> None:
    """While another host compiles in the first step, the run that this host launched and waits for does not begin."""

    def gain(late_us: int) -> int:
        tpu, now = Tpu(), 0
        for number in range(STEPS):
            begin = now
            tpu.on_main("forward", now, 300)
            start = now + 310 + (0 if number else late_us)
            tpu.launch(now + 300, (now + 302, 1), (start, 900), enqueue=now + 303)
            tpu.on_main("PjRtFuture::Await", now + 304, start + 910 - (now + 304))
            now = start + 910
            tpu.step(begin, now - begin, number)
        trace = tpu.trace()
        without, step = findings(trace)["sync_every_step"].step_if_fixed_ps, step_without(trace)
        assert without is not None
        assert step == mean_step(now * US)
        return step - without

    assert gain(50_000) == pytest.approx(gain(0), abs=2)
