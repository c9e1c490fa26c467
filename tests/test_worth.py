"""The gain of findings: measured on the usual step if a finding recurs, on the mean step if it occurs once. Mistakes
come before limits unless their gain is small, and one replay gives the cost of all mistakes together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import Core, capture, real_trace, session
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import US, Tpu, event
from loops import STEP, loop, us
from simulated import MARKER, Simulation

from tb_xla_insights.analysis.findings import explained_findings, find_findings
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import LIMITS, Finding
from tb_xla_insights.analysis.findings.worth import (
    GROUPS,
    group_of,
    has_nothing_to_fix,
    sort_findings,
    sort_rows,
)
from tb_xla_insights.analysis.sidecar_contents import NO_SIDECARS
from tb_xla_insights.trace.model import SessionTrace

BUILD_US, LOAD_US, COMPILE_US = 200, 100, 1000
STEPS = 12


def training(load: bool = True, compile_at: int | None = 6, device: float = 500) -> SessionTrace:
    """Steps that load for 100 us, build graphs for 200 us, launch for 20 us, and wait for the device, which works for
    500 us. One step also compiles for 1000 us before it launches. Without loading and compiling a step takes 721 us."""
    tpu, at, device_free = Tpu(), 0.0, 0.0
    for number in range(STEPS):
        begin = at
        if load:
            tpu.on_main("data_loading", at, LOAD_US)
            at += LOAD_US
        tpu.on_main("forward", at, BUILD_US)
        at += BUILD_US
        if number == compile_at:
            tpu.on_main("XLAGraphExecutor::Compile", at, COMPILE_US)
            at += COMPILE_US
        run = max(at + 20, device_free)
        tpu.launch(at, (at + 6, 10), (run, device), by="marker")
        device_free = run + device
        at += 20
        tpu.on_main("DeviceBarrier", at, device_free - at + 1)
        at = device_free + 1
        tpu.step(begin, at - begin, 10 + number)
    return session(tpu.trace())


def test_recurring_findings_are_measured_on_the_usual_step_and_single_ones_on_the_mean() -> None:
    by_id = {finding.id: finding for finding in find_findings(training().traces[0])}
    usual = LOAD_US + BUILD_US + 20 + 500 + 1
    mean = usual + COMPILE_US / STEPS
    loader, compiled = by_id["input_bound"], by_id["recompilation"]
    assert (loader.recurs, compiled.recurs) == ("every_step", "once")
    assert loader.gain is not None
    assert abs(loader.gain - LOAD_US / usual) < 1e-5
    assert compiled.gain is not None
    assert abs(compiled.gain - COMPILE_US / STEPS / mean) < 1e-5
    # Both times that a user reads are means, whatever the gain is measured on.
    assert us(loader.step_if_fixed_ps) == round((mean - LOAD_US) * 10**6) / 10**6


def test_one_replay_without_all_mistakes_and_one_without_the_largest_limit() -> None:
    findings, _ = explained_findings(training().traces[0])
    mistakes, rows = findings.mistakes, findings.as_json()["findings"]
    usual = LOAD_US + BUILD_US + 521
    assert [row["id"] for row in rows if row["id"] != "dispatch_overhead"] == [
        "input_bound", "tracing_bound", "annotations_not_propagated", "recompilation",
    ]  # fmt: skip
    assert mistakes["count"] == 2
    assert us(mistakes["step_ps"]) == round((usual + COMPILE_US / STEPS) * 10**6) / 10**6
    assert us(mistakes["usual_step_ps"]) == usual
    assert us(mistakes["step_if_fixed_ps"]) == usual - LOAD_US
    # The rest is the device's work, and its launch.
    assert 500 <= (us(mistakes["step_without_limit_ps"]) or 0) <= usual - LOAD_US - BUILD_US
    assert {row["step_ps"] for row in rows} == {mistakes["step_ps"]}


def test_a_fix_of_one_step_changes_only_that_step() -> None:
    trace = loop(steps=5).trace()
    facts = Facts(trace, NO_SIDECARS)
    fix = facts.fix_removing({2}, "input", "to_device")
    assert fix.windows is not None
    assert fix.windows.start_ps.tolist() == [2 * STEP * US]
    assert fix.windows.end_ps.tolist() == [3 * STEP * US]
    assert facts.fix_removing({1, 2, 4}, "input").windows is None


def test_a_finding_without_idle_time_states_no_time() -> None:
    facts = Facts(loop(steps=2).trace(), NO_SIDECARS)
    assert facts.idle_text(np.zeros(len(facts.ledger), np.int64), "every_step") == "no device idles"


def test_findings_outside_of_steps_have_no_recurrence() -> None:
    """The device runs something, and waits for data, before the first step."""
    tpu = Tpu()
    tpu.launch(0, (10, 20), (50, 100), by="marker")
    tpu.on_main("data_loading", 200, 700)
    for i in range(1, 6):
        tpu.step(i * STEP, STEP, i)
        tpu.launch(i * STEP + 20, (i * STEP + 26, 10), (i * STEP + 50, 900), by="marker")
    facts = Facts(tpu.trace(), NO_SIDECARS)
    taken = facts.ledger.take(("input",))
    assert taken.sum() == 700 * US
    steps = facts.affected_steps(taken)
    assert (steps, facts.frequency_of(steps)) == (set(), None)


def test_idle_time_after_the_last_step_is_stated_in_total() -> None:
    """The only step launches a run that begins after it, at the end of a gap of 740 us."""
    tpu = Tpu()
    tpu.step(1000, 100, 5)
    tpu.launch(500, (510, 5), (520, 700), by="marker")
    tpu.launch(1050, (1500, 400), (1960, 500), by="marker", enqueue=1900)
    by_id = {finding.id: finding for finding in find_findings(tpu.trace())}
    assert by_id["dispatch_overhead"].detail.startswith(
        "The device idles 0.400\u202fms while the host launches."
    )
    assert (
        by_id["host_code"].detail
        == "The device idles 0.340\u202fms while the capture shows nothing of the host."
    )
    assert by_id["dispatch_overhead"].recurs is None


def test_the_step_at_worst_is_no_shorter_than_at_best() -> None:
    """Steps that the host hands over; the first one reads. The replay's time is the same with and without the device
    work that only remains at worst, but the device idles less with it."""
    tpu = Tpu()
    for number, (at, device) in enumerate(((0, 400), (2000, 600))):
        tpu.step(at, 1000, 5 + 2 * number)
        tpu.launch(at + 700, (at + 710, 20), (at + 750, device), by="marker")
    tpu.launch(1190, (1200, 10), (1220, 200))
    tpu.on_main("PjRtComputationClient::TransferFromDevice", 1415, 10)
    tpu.launch(1700, (1710, 20), (1750, 400), by="marker")
    (early,) = (finding for finding in find_findings(tpu.trace()) if finding.id == "early_sync")
    assert early.step_if_fixed_ps == early.step_if_fixed_at_worst_ps == 1600 * US


def test_without_mistakes_nothing_changes() -> None:
    mistakes = explained_findings(training(load=False, compile_at=None).traces[0])[0].mistakes
    assert (mistakes["count"], mistakes["gain"]) == (0, 0.0)
    assert mistakes["step_ps"] == mistakes["usual_step_ps"] == mistakes["step_if_fixed_ps"]


def test_without_a_replay_the_gain_is_a_share_of_the_span() -> None:
    """One run without a known call: 100 of 700 us are a collective."""
    ops = [event("all-reduce.1", 0, 100), event("fusion.1", 600, 100)]
    report = explained_findings(capture(Core(ops, [event("train(7)", 0, 700)])))[0].as_json()
    finding = {row["id"]: row for row in report["findings"]}["device_waits"]
    assert (finding["gain"], finding["severity"]) == (1 / 7, "warning")
    assert (finding["step_ps"], finding["step_if_fixed_ps"]) == (None, None)
    assert report["mistakes"]["gain"] is None


def test_steps_at_the_captures_edges_do_not_count_against_recurrence() -> None:
    """The first step's loading is before the first run, so its idle time is unknown."""
    tpu = loop(steps=6)
    for i in range(1, 6):
        tpu.on_main("data_loading", i * STEP + 200, 400)
    input_bound = {finding.id: finding for finding in find_findings(tpu.trace())}["input_bound"]
    assert input_bound.recurs == "every_step"


def finding_with_gain(name: str, best: float | None, worst: float | None) -> Finding:
    return Finding(name, "", "", (), "", 0, {}, recurs="every_step", gain=best, gain_at_worst=worst)


def test_findings_are_in_the_order_of_the_verdicts_sentences() -> None:
    """Fixes that gain at least 3 %, by gain; what sets the pace, by gain; smaller fixes; what costs no device time;
    what happened once. A certain gain precedes one that may vanish."""
    ordered = [
        finding_with_gain("input_bound", 0.35, 0.35),
        finding_with_gain("early_sync", 0.4, 0.01),
        finding_with_gain("cpu_fallback", 0.03, None),
        finding_with_gain("device_bound", None, None),
        finding_with_gain("tracing_bound", 0.793, None),
        finding_with_gain("dispatch_overhead", 0.0, None),
        finding_with_gain("sync_every_step", 0.029, None),
        finding_with_gain("transfer_bound", 0.0, None),
        finding_with_gain("annotations_not_propagated", None, None),
        replace(finding_with_gain("recompilation", 0.9, None), recurs="once"),
        replace(finding_with_gain("host_pause", 0.1, None), recurs="once"),
    ]
    assert [finding.id for finding in sort_findings(ordered[::-1])] == [finding.id for finding in ordered]
    rows = [finding.as_json(None) for finding in ordered]
    assert sort_rows(rows[::-1]) == rows
    groups = [group_of(row["kind"], row["recurs"], row["gain"]) for row in rows]
    assert [*dict.fromkeys(groups)] == [*GROUPS]


def test_device_bound_requires_that_nothing_gains_much() -> None:
    assert has_nothing_to_fix([])
    assert has_nothing_to_fix(
        [finding_with_gain("early_sync", 0.029, 0.0), finding_with_gain("tracing_bound", 0.09, 0.09)]
    )
    assert has_nothing_to_fix([finding_with_gain("early_sync", 0.09, 0.0)])
    assert not has_nothing_to_fix([finding_with_gain("early_sync", 0.1, 0.0)])
    assert not has_nothing_to_fix([finding_with_gain("straggler", 0.03, 0.0)])
    assert not has_nothing_to_fix([finding_with_gain("tracing_bound", 0.1, 0.0)])


@given(st.integers(20, 900), st.integers(20, 900), st.integers(20, 900), st.integers(0, STEPS - 1))
@settings(max_examples=15, deadline=None)
def test_together_mistakes_gain_no_less_than_each_and_no_more_than_all(
    load_us: int, build_us: int, compile_us: int, compile_at: int
) -> None:
    tpu, now = Tpu(), 0.0
    for number in range(STEPS):
        begin = now
        tpu.on_main("data_loading", now, load_us)
        tpu.on_main("forward", now + load_us, build_us)
        now += load_us + build_us
        if number == compile_at:
            tpu.on_main("XLAGraphExecutor::Compile", now, compile_us)
            now += compile_us
        tpu.launch(now, (now + 6, 10), (now + 20, 100), by="marker")
        now += 30
        tpu.step(begin, now - begin, 10 + number)
    report: Any = explained_findings(tpu.trace())[0].as_json()
    mistakes = report["mistakes"]
    separate_gains = [
        mistakes["step_ps"] - row["step_if_fixed_ps"]
        for row in report["findings"]
        if row["kind"] == "mistake" and row["step_if_fixed_ps"] is not None
    ]
    gained = mistakes["step_ps"] - mistakes["step_if_fixed_ps"]
    assert max(separate_gains, default=0) <= gained <= sum(separate_gains) + len(separate_gains)


def test_a_finding_that_another_one_hides_gains_nothing_yet() -> None:
    """The host builds graphs for 700 us a step, and meanwhile the device waits for a copy for 400 us."""
    simulation = Simulation()
    for number in range(STEPS):
        begin = simulation.now
        simulation.host("forward", 700)
        simulation.launch(400, marker=True, op="copy-done.1")
        simulation.tpu.step(begin, simulation.now - begin, 10 + number)
    by_id = {finding.id: finding for finding in find_findings(simulation.tpu.trace())}
    building, stalls = by_id["tracing_bound"], by_id["device_waits"]
    assert (stalls.gain, stalls.after) == (0, "tracing_bound")
    assert building.after is None
    assert building.gain == pytest.approx(1 - 400 / (700 + MARKER), abs=0.02)


def test_a_limit_does_not_count_if_its_idle_time_is_a_mistakes(shared_traces: Path) -> None:
    """Each step compiles a new function; after the fix the device works all the time. The Python before each
    compilation is idle time only because the host compiles."""
    findings = find_findings(real_trace(shared_traces / "pairs/jx_scan_loop_bad"))
    assert "recompilation" in {finding.id for finding in findings}
    assert not LIMITS & {finding.id for finding in findings}


@pytest.mark.parametrize("times", [1, 3])
def test_the_usual_step_has_no_evaluation_that_happened_once(times: int) -> None:
    """The host evaluates between two annotations, and waits for the result. If it recurs, it is part of the usual
    step."""
    simulation = Simulation()
    for number in range(STEPS):
        if number and number % 3 == 0 and number // 3 <= times:
            simulation.host("load_validation_set", 2000)
            simulation.launch(9000, program="evaluate(9)")
            simulation.wait("PjRtComputationClient::TransferFromDevice")
        begin = simulation.now
        simulation.host("forward", 700)
        simulation.launch(400, marker=True)
        simulation.tpu.step(begin, simulation.now - begin, 10 + number)
    mistakes = explained_findings(simulation.tpu.trace())[0].mistakes
    assert mistakes["step_ps"] == pytest.approx(simulation.now * US / STEPS, rel=1e-6)
    if times == 1:
        assert us(mistakes["usual_step_ps"]) == pytest.approx(700 + MARKER, abs=2)
    else:
        assert mistakes["usual_step_ps"] == mistakes["step_ps"]
