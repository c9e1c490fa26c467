"""The findings about the script's own code and about pauses."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import real_trace
from launching import US, Tpu, event
from loops import STEP, findings, loop
from simulated import LATENCY, Simulation, simulate

from tb_xla_insights.analysis.delays.pauses import find_pauses
from tb_xla_insights.analysis.findings import Finding
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.host_pause import host_pause
from tb_xla_insights.analysis.replay.what_if import step_without
from tb_xla_insights.analysis.sidecar_contents import NO_SIDECARS


def jax_loop(function: str, duration: float, steps: int = 6) -> Tpu:
    """Steps that each launch once, under JAX, in which the script runs a function before the launch."""
    tpu = loop(steps, device=200)
    tpu.on_main("trace_to_jaxpr", 0, 1)
    for i in range(steps):
        tpu.on_main(function, i * STEP + 100, duration)
    return tpu


def test_the_function_of_the_script_is_named_with_its_place() -> None:
    finding = findings(jax_loop("$train.py:12 augment", 500).trace())["host_code"]
    assert finding.title == "The device waits while the script runs augment (train.py:12)"
    (code,) = finding.code
    assert (code.name, code.frame.place, code.count) == ("augment", "train.py:12", 5)
    assert code.own_ps == 5 * 500 * US
    assert "augment (train.py:12) has " in finding.detail
    # A larger batch would not help: the script's code often grows with it.
    assert finding.advice == (
        "Make augment (train.py:12) faster, or run it in another thread or process while the device works."
    )


def test_a_blocking_call_is_a_wait_in_the_function_that_calls_it() -> None:
    tpu = jax_loop("$train.py:12 throttle", 500)
    for i in range(6):
        tpu.on_main("$time sleep", i * STEP + 101, 498)
    finding = findings(tpu.trace())["host_code"]
    assert finding.title == "The device waits while the script waits in throttle"
    assert finding.code[0].frame.file == "train.py"
    assert finding.step_if_fixed_ps == (1000 - 498) * US


def test_a_steps_own_time_outside_its_phases_is_no_building() -> None:
    """Without phases, building and the script's other code look alike, and the sentence says so."""
    tpu = loop(6, device=200)
    undivided = findings(tpu.trace())["tracing_bound"]
    assert undivided.title == "The device waits while the host builds, or runs Python"
    assert "look alike" in undivided.detail
    assert undivided.advice.startswith("Annotate the phases of the step (xp.Trace('name'))")
    for i in range(6):
        tpu.on_main("forward", i * STEP + 500, 40)
    found = findings(tpu.trace())
    assert found["host_code"].title == "The device waits for code outside the step's phases"
    assert "Training_Step outside its phases has " in found["host_code"].detail
    assert "builds" not in found["host_code"].detail


def with_pauses(name: str | None, pauses: dict[int, int], steps: int = 12) -> Simulation:
    """A loop whose host pauses after some steps, for a duration in us; in an annotation, or without any event."""
    simulation = Simulation()
    for number in range(steps):
        with simulation.step(number):
            simulation.host("forward", 100)
            simulation.launch(300, marker=True)
            simulation.wait("TensorCollectionBarrier")
        if number in pauses and name:
            simulation.host(name, pauses[number])
        else:
            simulation.now += pauses.get(number, 0)
    return simulation


def pause_of(simulation: Simulation) -> Finding | None:
    return findings(simulation.tpu.trace()).get("host_pause")


def test_a_pause_is_told_once_with_its_step_its_name_and_its_length() -> None:
    finding = pause_of(with_pauses("save_checkpoint", {4: 3000}))
    assert finding is not None
    assert finding.title == "A pause of 3.00\u202fms after step 9: save_checkpoint"
    assert finding.recurs == "once"
    assert " a step" not in finding.detail
    assert "save_checkpoint" in finding.advice
    assert abs(finding.cost_ps - 3000 * US) < 100 * US


def test_pauses_of_one_kind_are_told_together() -> None:
    """Nothing is recorded in them, so the advice says how to see what happens there."""
    finding = pause_of(with_pauses(None, {2: 3000, 5: 3200, 8: 3100}))
    assert finding is not None
    assert finding.title == "3 pauses of 3.00 to 3.20\u202fms after steps 7, 10 and 13"
    assert finding.recurs == "some_steps"
    assert "while the capture shows nothing of the host for 3.00 to 3.20" in finding.detail
    assert str(finding.waits_for) == "something that the capture does not show"
    assert "xp.Trace('name')" in finding.advice


@pytest.mark.parametrize(("works_us", "is_pause"), [(1400, True), (1600, False)])
def test_a_time_without_events_may_be_a_wait_if_the_device_mostly_works(
    works_us: int, is_pause: bool
) -> None:
    """The host records nothing for 3 ms, and what it launched before runs for some of that time."""
    simulation = with_pauses(None, {5: 3000})
    (pause,) = find_pauses(simulation.tpu.trace())
    start = pause.start_ps // US
    simulation.tpu.runs[0].append(event("eval(9)", start + 300, works_us))
    simulation.tpu.ops[0].append(event("fusion.9", start + 300, works_us))
    assert bool(find_pauses(simulation.tpu.trace())) == is_pause


def test_what_most_steps_have_is_no_pause() -> None:
    assert not find_pauses(with_pauses("save", dict.fromkeys(range(0, 12, 2), 3000)).tpu.trace())
    assert not find_pauses(with_pauses("save", {4: 300}).tpu.trace())


def with_phases(slow: dict[int, tuple[str, int]], latency: int = LATENCY) -> Simulation:
    """Steps with a forward of 100 us and an update of 200 us, of which one takes longer in some steps; in these, the
    run begins at a latency."""
    simulation = Simulation()
    for number in range(12):
        name, duration = slow.get(number, ("", 0))
        with simulation.step(number):
            simulation.host("forward", duration if name == "forward" else 100)
            simulation.launch(300, marker=True, latency=latency if name else LATENCY)
            simulation.host("update", duration if name == "update" else 200)
            simulation.wait("TensorCollectionBarrier")
    return simulation


def test_a_phase_of_each_step_that_once_takes_long_is_not_to_be_taken_out() -> None:
    """Only what it takes more than usual is explained; the step without that is the usual one."""
    usual, simulation = with_phases({}), with_phases({4: ("forward", 3000)})
    finding = pause_of(simulation)
    assert finding is not None
    assert finding.title == "A pause of 3.00\u202fms in forward in step 9, usually 0.100\u202fms"
    assert finding.brief == "a pause in forward in step 9"
    assert finding.evidence["pauses"][0]["usual_ps"] == 100 * US
    assert finding.advice.startswith(
        "Find out what held the host up there (annotate the code with xp.Trace('name'))"
    )
    assert finding.cost_ps == 2900 * US
    assert finding.step_if_fixed_ps == step_without(usual.tpu.trace())


def test_advice_on_a_slow_phase_is_short_where_python_calls_can_be_recorded() -> None:
    facts = Facts(with_phases({4: ("forward", 3000)}).tpu.trace(), NO_SIDECARS)
    facts.framework = "jax"
    finding = host_pause(facts)
    assert finding is not None
    assert finding.advice == (
        "Find out what held the host up there (record Python calls with python=True in tb_xla_insights.record, or "
        "annotate the code): a part of the code, a garbage collection (gc.freeze() before the loop shortens it) or "
        "other processes."
    )
    assert len(finding.advice) <= 240


def test_pauses_of_several_kinds_are_counted_together() -> None:
    finding = pause_of(with_phases({2: ("forward", 3000), 4: ("update", 2000), 7: ("update", 4000)}))
    assert finding is not None
    assert finding.title == "3 pauses of 2.00 to 4.00\u202fms in update and others"
    assert finding.brief == "pauses in update and others in steps 7, 9 and 12"
    assert (
        "the host stays in update for 2.00 to 4.00\u202fms each in steps 9 and 12 without a launch (usually "
        "0.200\u202fms) and 1 other event holds the host up." in finding.detail
    )


def test_a_wait_of_the_runtime_is_no_pause() -> None:
    """Before a launch, the runtime waits for the run of the step before, which took longer once."""

    def step(simulation: Simulation, number: int) -> None:
        simulation.host("forward", 100)
        simulation.host("TensorCollectionBarrier", 3000 if number == 4 else 50)
        simulation.launch(300, marker=True)

    trace, _ = simulate(8, step)
    assert "Training_Step" not in [pause.name for pause in find_pauses(trace)]


def test_a_name_is_not_that_of_all_pauses() -> None:
    """In the longest ones nothing is recorded: the title names none of them."""
    simulation = with_pauses("save_checkpoint", {8: 2000})
    assert (finding := pause_of(with_pauses(None, {4: 3000})))
    assert finding.brief == "a pause (the capture shows nothing of the host) after step 9"
    assert finding.title == "A pause of 3.00\u202fms after step 9: nothing is recorded"
    simulation.now += 3000
    for number in range(12, 14):
        with simulation.step(number):
            simulation.launch(300, marker=True)
            simulation.wait("TensorCollectionBarrier")
    finding = pause_of(simulation)
    assert finding is not None
    assert (finding.title, finding.brief) == (
        "2 pauses of 2.00 to 3.00\u202fms after steps 13 and 16",
        "pauses after steps 13 and 16",
    )


def test_usual_is_the_length_in_the_steps_that_have_it() -> None:
    """Every second step evaluates, for 100 us, and once for 3 ms; a phase that fewer steps have has no usual length."""
    for every, usual_us in ((2, 100), (3, 0)):
        simulation = Simulation()
        for number in range(12):
            with simulation.step(number):
                simulation.launch(300, marker=True)
                simulation.wait("TensorCollectionBarrier")
                if number % every == 0:
                    simulation.host("evaluate", 3000 if number == 6 else 100)
        (pause,) = find_pauses(simulation.tpu.trace())
        assert (pause.name, pause.usual_ps) == ("evaluate", usual_us * US)


def test_a_phase_around_a_launch_is_not_said_to_take_the_time_of_a_part() -> None:
    simulation = Simulation()
    for number in range(12):
        begin = simulation.now
        with simulation.step(number):
            simulation.launch(200, marker=True)
            simulation.now += 3000 if number == 6 else 200
            simulation.launch(100)
            simulation.tpu.on_main("forward", begin, simulation.now - begin)
            simulation.wait("TensorCollectionBarrier")
    finding = pause_of(simulation)
    assert finding is not None
    assert "while the host stays in forward for 3.00\u202fms in step 11 without a launch" in finding.detail


def test_what_is_a_little_longer_than_usual_is_no_pause() -> None:
    """A step takes 430 us; on a loaded machine some take twice as long."""
    assert not find_pauses(with_phases({4: ("forward", 100 + 600)}).tpu.trace())
    assert find_pauses(with_phases({4: ("forward", 100 + 700)}).tpu.trace())


def test_a_run_that_begins_only_after_a_pause_begins_sooner_without_it() -> None:
    """It was launched before: the pause held up the threads of the runtime as well."""
    usual = step_without(with_phases({}).tpu.trace())
    finding = pause_of(with_phases({4: ("update", 3000)}, latency=2900))
    assert finding is not None
    assert usual is not None
    assert finding.step_if_fixed_ps is not None
    assert abs(finding.step_if_fixed_ps - usual) < 50 * US


def test_other_findings_leave_the_time_of_pauses() -> None:
    """The mean step without the pause is the usual one, so that the script's own code gains no more than without it."""
    usual, paused = (with_pauses("save", pauses).tpu.trace() for pauses in ({}, {4: 3000}))
    cost, cost_with_pause = (findings(trace)["tracing_bound"].cost_ps for trace in (usual, paused))
    assert cost == cost_with_pause


@pytest.mark.parametrize(
    ("name", "id_", "title"),
    [
        ("pairs/jx_augment_bad", "host_code", "The device waits while the script runs augment"),
        ("pairs/tx_gc_bad", "host_code", "The device waits for code in train outside its phases"),
        ("other/jax0.10.2_gc_pause", "host_pause", "A pause of 707\u202fms in step 9: gc.collect"),
        ("other/jax0.10.2_loader_between_steps", "input_bound", "The device waits for data: examples_from_disk"),
        ("torchtpu/tt_compiled_checkpoint", "host_pause", "A pause of 25.0\u202fms in step 5: save_checkpoint"),
    ],
)  # fmt: skip
def test_real_captures(shared_traces: Path, name: str, id_: str, title: str) -> None:
    found = findings(real_trace(shared_traces / name))
    assert found[id_].title == title
    assert found[id_].gain is not None
    assert max(found.values(), key=lambda finding: finding.gain or 0.0).id in (id_, "device_waits")


def test_the_augmentation_of_a_real_script_is_named_by_file_and_line(shared_traces: Path) -> None:
    finding = findings(real_trace(shared_traces / "pairs/jx_augment_bad"))["host_code"]
    code = finding.code[0]
    assert (code.name, code.frame.place) == ("augment", "jaxalt.py:64")
    assert code.own_ps == pytest.approx(12e9 * 14, rel=0.05)


def test_three_checkpoints_of_a_real_script_are_pauses(shared_traces: Path) -> None:
    finding = findings(real_trace(shared_traces / "pairs/tx_ckpt_bad"))["host_pause"]
    assert finding.title == "3 pauses of 44.5 to 49.8\u202fms after steps 65, 70 and 75"
    assert finding.recurs == "some_steps"
    assert "host_pause" not in findings(real_trace(shared_traces / "pairs/tx_ckpt_good"))
