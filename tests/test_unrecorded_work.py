"""Launches whose runs the devices did not record."""

from __future__ import annotations

from typing import Any

import pytest
from captures import session
from launching import US, Tpu
from loops import STEP, findings, loop
from simulated import Simulation

from tb_xla_insights.analysis.completeness.diagnostics import diagnose
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import find_unrecorded_work
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.steps.partial_steps import partial_diagnostics
from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import Trace

UNRECORDED = {"device_record_begins", "device_record_ends", "device_records_differ", "work_not_recorded"}


def with_record_of(tpu: Tpu, *spans_us: tuple[float, float]) -> Trace:
    """The capture of devices that record only what begins and ends within one of some spans."""
    for events_by_core in (tpu.ops, tpu.runs):
        for core, events in events_by_core.items():
            events_by_core[core] = [
                event
                for event in events
                if any(start * US <= event[1] and event[1] + event[2] <= end * US for start, end in spans_us)
            ]
    return tpu.trace()


def without_runs_after(tpu: Tpu, until_us: float) -> Trace:
    return with_record_of(tpu, (0, until_us))


def messages(trace: Trace) -> dict[str, str]:
    rows = [*diagnose(trace), *partial_diagnostics(trace)]
    return {row.id: row.message for row in rows}


@pytest.mark.parametrize("device", [500, 950])
def test_steps_after_the_end_of_the_devices_record_are_not_counted(device: int) -> None:
    """The device records 4 of 12 steps: their work and the gain are those of a capture of these steps."""
    trace, short = without_runs_after(loop(12, device), 4 * STEP + 800), loop(4, device).trace()
    assert [step.number for step in find_steps(trace)] == [5, 6, 7, 8]
    assert find_launches(trace).step.tolist() == [0, 1, 2, 3] + [-1] * 8
    reports: list[Any] = [session_report(session(capture)) for capture in (trace, short)]
    idle, short_idle = (report["step_idle"] for report in reports)
    assert [idle[key] for key in ("steps", "step_ps", "work_ps")] == [4, STEP * US, short_idle["work_ps"]]
    gain, short_gain = (findings(capture)["tracing_bound"].gain for capture in (trace, short))
    assert gain == pytest.approx(short_gain)


def test_diagnostic_and_verdict_state_that_the_record_ends() -> None:
    trace = without_runs_after(loop(12), 4 * STEP + 800)
    assert messages(trace)["device_record_ends"] == (
        "The record of the device ends 7.75\N{NARROW NO-BREAK SPACE}ms before the host's, which has 8 launches "
        "without a recorded run: a buffer was probably full. 8 steps without recorded work are not counted. Capture a "
        "shorter time."
    )
    assert "partial_steps" not in messages(trace)
    assert session_report(session(trace))["verdict"]["details"].endswith(
        " of the capture is after the last recorded run, as the device's record ends early."
    )


def test_a_run_that_the_capture_cuts_is_no_early_end() -> None:
    trace = without_runs_after(loop(4), 4 * STEP)
    assert [step.number for step in find_steps(trace)] == [5, 6, 7]
    assert messages(trace).keys() & {*UNRECORDED, "partial_steps"} == {"partial_steps"}


def test_launches_before_the_profiler_stops_are_no_early_end() -> None:
    """The host hands eight steps over and stops the profiler, which takes longer than the devices' work."""
    simulation = Simulation()
    for number in range(8):
        with simulation.step(number):
            simulation.launch(500, marker=True)
    simulation.tpu.on_main("$profiler.py:235 stop_trace", simulation.now, 100_000)
    trace = without_runs_after(simulation.tpu, 600)
    assert not messages(trace).keys() & UNRECORDED
    edge = find_unrecorded_work(trace).after
    assert edge is not None
    assert (edge.launches, edge.duration_ps) == (7, 0)


def test_launches_that_are_queued_at_the_captures_end_are_not_missed() -> None:
    """The host is four steps ahead when the capture ends, so the last steps have no recorded run."""
    simulation, count = Simulation(), 13
    for number in range(count):
        with simulation.step(number):
            simulation.host("forward", 50)
            if number >= 4:
                simulation.tpu.on_main(
                    "wait", simulation.now, max(simulation.ends[number - 4] - simulation.now, 1)
                )
                simulation.now = max(simulation.ends[number - 4], simulation.now + 1)
            simulation.launch(500, marker=True)
    trace = without_runs_after(simulation.tpu, simulation.now)
    recorded = sum(end <= simulation.now for end in simulation.ends)
    assert recorded < count - 2
    assert not messages(trace).keys() & UNRECORDED
    assert [step.number for step in find_steps(trace)] == [number + 5 for number in range(recorded)]


def test_loading_before_launches_without_recorded_runs_stays_the_cause() -> None:
    """The host loads for 100 ms, then hands two steps over whose runs the device does not record."""
    simulation = Simulation()
    simulation.host("next_batch", 100_000)
    for number in range(12):
        with simulation.step(number):
            simulation.host("forward", 994)
            simulation.launch(300, marker=True)
    trace = with_record_of(simulation.tpu, (102_500, 999_000))
    assert messages(trace)["device_record_begins"].startswith(
        "The record of the device begins 2.01\N{NARROW NO-BREAK SPACE}ms after the first of 2 launches without a "
        "recorded run: "
    )
    text = session_report(session(trace))["verdict"]["text"]
    assert " of the capture is before the first run. " in text
    assert text.endswith("Before the first run the host waits for data.")


def test_the_only_step_stays_even_without_a_recorded_run() -> None:
    """Runs before the first step, and none in it: the step stays, as no other step shows what its work is."""
    tpu = Tpu()
    tpu.launch(0, (10, 5), (20, 100), program="warm_up(1)")
    tpu.step(200, STEP, 5)
    tpu.launch(300, (310, 5), (400, 100))
    assert len(find_steps(without_runs_after(tpu, 150))) == 1


@pytest.mark.parametrize("device", [500, 950])
def test_steps_before_the_beginning_of_the_devices_record_are_not_counted(device: int) -> None:
    """The device records the last 7 of 12 steps: the gain is that of a capture of these steps."""
    trace, short = with_record_of(loop(12, device), (4 * STEP + 800, 99 * STEP)), loop(7, device).trace()
    assert [step.number for step in find_steps(trace)] == list(range(10, 17))
    assert find_launches(trace).step.tolist() == [-1] * 5 + list(range(7))
    assert findings(trace)["tracing_bound"].gain == pytest.approx(findings(short)["tracing_bound"].gain)
    assert messages(trace)["device_record_begins"].endswith(
        "5 steps without recorded work are not counted. Capture a longer time."
    )
    assert (
        "before the first recorded run, as the device's record begins late."
        in (session_report(session(trace))["verdict"]["text"])
    )


def test_a_gap_with_launches_without_recorded_runs_is_unknown() -> None:
    """The device lost the runs of four launches: the gap of 4.5 ms may be work, so no finding claims it."""
    trace = with_record_of(loop(12), (0, 4.5 * STEP), (8.6 * STEP, 99 * STEP))
    gaps = session_report(session(trace), all_gaps=True)["gaps"]["items"]
    assert [(gap["duration_ps"] // US, gap["kind"]) for gap in gaps if gap["kind"] != "starved"] == [
        (4500, "unknown")
    ]
    assert findings(trace)["tracing_bound"].cost_ps < 6 * 500 * US
    assert messages(trace)["work_not_recorded"].startswith("The device recorded no run of 4 launches between")


def test_the_duty_cycle_is_a_lower_bound_if_runs_are_missing() -> None:
    """The verdict does not say what the host does in idle time, most of which may be work. A few runs change little."""
    trace = with_record_of(loop(12), (0, 4.5 * STEP), (8.6 * STEP, 99 * STEP))
    report = session_report(session(trace))
    text = report["verdict"]["text"].replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert text.startswith("The TPU core works at least 35 % of the time; ")
    assert text.endswith(" Not all runs are recorded.")
    report = session_report(session(with_record_of(loop(60), (0, 4.5 * STEP), (8.6 * STEP, 99 * STEP))))
    assert "work_not_recorded" in {row["id"] for row in report["diagnostics"]}
    assert " at least " not in report["verdict"]["text"]


def test_launches_on_the_cpu_are_not_missed() -> None:
    """Calls of which no run is recorded at all run elsewhere, as those of JAX's CPU client beside a TPU."""
    tpu = loop(8)
    for step in range(8):
        tpu.on_main("TfrtCpuExecutable::Execute", step * STEP + 10, 5)
    trace = tpu.trace()
    assert len(find_steps(trace)) == 8
    assert not messages(trace).keys() & UNRECORDED
    assert {gap["kind"] for gap in session_report(session(trace))["gaps"]["items"]} == {"starved"}


def with_short_record_of_tpu_1(tpu: Tpu, start_us: float, end_us: float) -> Trace:
    for events_by_core in (tpu.ops, tpu.runs):
        events_by_core[1] = [
            event for event in events_by_core[1] if start_us * US <= event[1] <= end_us * US - event[2]
        ]
    return tpu.trace()


@pytest.mark.parametrize(
    ("span_us", "text"),
    [
        (
            (0, 5 * STEP),
            "ends 8.00\N{NARROW NO-BREAK SPACE}ms before those of the other devices, which ran 8 ",
        ),
        (
            (5 * STEP, 99 * STEP),
            "begins 5.00\N{NARROW NO-BREAK SPACE}ms after those of the other devices, which ran 5 ",
        ),
        ((STEP, 12 * STEP), None),
    ],
)
def test_a_core_whose_record_is_shorter_than_that_of_the_others_is_named(
    span_us: tuple[float, float], text: str | None
) -> None:
    """More than two runs that the edge may cut. The record of all devices together is whole."""
    found = messages(with_short_record_of_tpu_1(loop(12, cores=(0, 1, 2)), *span_us))
    assert found.keys() & UNRECORDED == ({"device_records_differ"} if text else set())
    assert text is None or found["device_records_differ"].startswith(
        f"The record of TPU:1 {text}launches meanwhile; "
    )


def test_programs_that_do_not_run_on_each_core_each_time_are_not_missed() -> None:
    """All cores run `train`; TPU:0 alone evaluates after the last step, with a program that all ran once."""
    tpu = loop(4, cores=(0, 1))
    for i in range(8):
        tpu.launch((4 + i) * STEP, ((4 + i) * STEP + 10, 5), ((4 + i) * STEP + 20, 100), program="eval(9)")
    tpu.launch(500, (510, 5), (520, 100), program="eval(9)", cores=(0, 1))
    assert not messages(tpu.trace()).keys() & UNRECORDED
