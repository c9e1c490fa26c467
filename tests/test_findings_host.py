"""Findings about the host: classes of idle time whose share of the span is large enough."""

from __future__ import annotations

import re
from typing import Any

import pytest
from captures import session
from launching import US, Tpu, demo
from loops import LAUNCH, STEP, findings, loop, us, with_work
from simulated import Simulation, simulate

from tb_xla_insights.analysis.findings import find_findings
from tb_xla_insights.analysis.idle.idle_time import STARVED, find_gaps
from tb_xla_insights.analysis.steps.step_table import steps_report
from tb_xla_insights.report.document import session_report
from tb_xla_insights.text.units import brief_time
from tb_xla_insights.trace.model import SessionTrace


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("data_loading", "input_bound"),
        ("PjRtComputationClient::TransferToDevice", "transfer_bound"),
        ("RunPostOrder", "dispatch_overhead"),
        ("LoadProgram", "dispatch_overhead"),
    ],
)
def test_the_share_of_a_class_of_idle_time_decides_the_severity(name: str, id_: str) -> None:
    """The span is 3.5 steps long, with three gaps of 500 us. Without the work, three of four steps are 400 us
    shorter."""
    trace = with_work(name, 400).trace()
    finding = findings(trace)[id_]
    # The marker prepares and launches for 6 us in each gap.
    assert us(finding.cost_ps) == 3 * (400 + 6 * (id_ == "dispatch_overhead"))
    assert (finding.recurs, finding.severity) == ("every_step", "critical")
    assert us(finding.step_if_fixed_ps) == 1000 - 3 * 400 / 4 - 6 * (id_ == "dispatch_overhead")
    assert finding.gain == (300 + 6 * (id_ == "dispatch_overhead")) / STEP
    assert findings(with_work(name, 140).trace())[id_].severity == "warning"
    small = findings(with_work(name, 20).trace())
    assert id_ not in small


def test_a_little_loading_on_the_driving_thread_is_not_reported() -> None:
    """A twentieth of the span: other classes would be reported as info."""
    assert "input_bound" not in findings(with_work("data_loading", 60).trace())
    assert findings(with_work("RunPostOrder", 60).trace())["dispatch_overhead"].severity == "info"


def test_graph_building_is_the_finding_if_it_fills_the_gaps() -> None:
    tpu = loop(device=100)
    for i in range(4):
        tpu.on_main("forward", i * STEP + 300, 380)
        tpu.on_main("loss", i * STEP + 100, 100)
    finding = findings(tpu.trace())["tracing_bound"]
    assert finding.severity == "critical"
    assert finding.evidence["phases"][0] == {"name": "forward", "host_ps": 4 * 380 * 10**6}
    assert "forward" in finding.detail
    assert "tracing_bound" not in findings(loop(device=990).trace())


def test_unrecorded_host_time_is_reported() -> None:
    """Between steps that are handed over, nothing of the host is recorded for longer than the device works."""
    simulation = Simulation()
    for number in range(8):
        with simulation.step(number):
            simulation.host("forward", 100)
            simulation.launch(300, marker=True)
        simulation.now += 900
    finding = findings(simulation.tpu.trace())["host_code"]
    assert finding.title == "The device waits while the capture shows nothing of the host"
    assert finding.advice.startswith("Find out what the host does there: annotate the code with xp.Trace(")
    assert us(finding.evidence["unrecorded_ps"]) == pytest.approx(finding.cost_ps / 10**6, rel=0.2)
    assert (finding.step_if_fixed_ps or 0) in range(1, 400 * 10**6)


def test_time_per_step_is_a_mean_over_cores() -> None:
    one_core, two_cores = (findings(loop(cores=cores).trace())["tracing_bound"] for cores in ((0,), (0, 1)))
    assert two_cores.cost_ps == 2 * one_core.cost_ps
    assert two_cores.evidence["per_step_ps"] == one_core.evidence["per_step_ps"] == one_core.cost_ps // 4
    assert one_core.detail.startswith("The device idles ")
    assert two_cores.detail == one_core.detail.replace("The device idles ", "Each core idles ")


def test_a_step_before_the_first_run_does_not_lower_the_idle_time_of_a_step() -> None:
    """Five steps load for 900 us each, beside the run of 100 us of the step before; the first one before any run."""

    def step(simulation: Simulation, _: int) -> None:
        simulation.host("data_loading", 900)
        simulation.launch(100, marker=True)

    trace, _ = simulate(5, step)
    finding = findings(trace)["input_bound"]
    idle_us = re.search(r"idles ([\d.]+)\u202fms a step", finding.detail)
    assert idle_us is not None
    assert float(idle_us[1]) == pytest.approx(0.8, rel=0.02)


def test_waits_between_launches_are_idle_time_and_no_work_beside_the_device() -> None:
    """The runtime waits by itself after each launch."""

    def step(simulation: Simulation, _: int) -> None:
        simulation.host("forward", 50)
        simulation.launch(300, marker=True)
        simulation.host("TensorCollectionBarrier", 500)

    finding = findings(simulate(6, step)[0])["dispatch_overhead"]
    assert finding.title == "Nothing is queued while the host waits between launches"
    assert "more: host time while the device works" not in finding.detail


def test_waits_that_another_finding_counts_are_not_those_between_launches() -> None:
    """In each step the program waits for 0.6 ms, part of it after the last op of a run in flight, and the runtime for
    0.3 ms."""

    def step(simulation: Simulation, _: int) -> None:
        simulation.host("forward", 50)
        simulation.launch(100, marker=True)
        name, start, _, stats = simulation.tpu.ops[0].pop()
        simulation.tpu.ops[0].append((name, start, 40 * US, stats))
        simulation.host("BlockUntilReady", 600)
        simulation.host("TensorCollectionBarrier", 300)

    by_id = findings(simulate(6, step)[0])
    assert by_id["sync_every_step"].cost_ps
    limit = by_id["dispatch_overhead"]
    assert "while nothing is queued and the host waits (mostly in TensorCollectionBarrier)" in limit.detail
    assert "in flight" not in limit.detail
    assert "the runtime itself waits in TensorCollectionBarrier" in limit.advice


def test_a_transfer_in_one_step_is_not_one_of_each_step() -> None:
    tpu = loop()
    tpu.on_main("PjRtComputationClient::TransferToDevice", 2 * STEP + LAUNCH - 310, 300, total_size=10**6)
    by_id = findings(tpu.trace())
    finding = by_id["transfer_bound"]
    assert finding.brief == "sending data to the device"
    assert finding.detail == "The device idles 0.300\u202fms while the host sends to it."
    assert by_id["annotations_not_propagated"].detail.startswith(
        "The only annotation does not reach the device: "
    )


def test_sends_and_reads_are_both_named() -> None:
    """Another step has an early execution, so that no other finding counts the reads."""
    tpu = loop(steps=8)
    for i in range(8):
        tpu.on_main("PjRtComputationClient::TransferToDevice", i * STEP + 260, 240, total_size=10**6)
    for i in (2, 4):
        tpu.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + 510, 40, total_size=10**6)
    early = 5 * STEP + 510
    tpu.launch(early, (early + 2, 5), (early + 10, 10), program="early(8)")
    tpu.on_main("PjRtComputationClient::TransferFromDevice", early + 5, 20, total_size=10**6)
    by_id = findings(tpu.trace())
    assert by_id["early_sync"].cost_ps
    transfer = by_id["transfer_bound"]
    assert transfer.evidence["from_device_idle_ps"] > 0
    assert " a step while 1.0\u202fMB are sent (1 transfer) or the host reads from it" in transfer.detail


def test_transfers_between_annotations_belong_to_the_step_before() -> None:
    """The first one is before the first step."""
    tpu = Tpu()
    for i in range(4):
        tpu.step(i * STEP + 300, 600, 5 + i)
        tpu.on_main("PjRtComputationClient::TransferToDevice", i * STEP + 20, 250, total_size=10**6)
        tpu.launch(
            i * STEP + LAUNCH, (i * STEP + LAUNCH + 10, 20), (i * STEP + LAUNCH + 50, 270), by="marker"
        )
    finding = findings(tpu.trace())["transfer_bound"]
    assert finding.evidence["to_device"]["per_step"] == 0.75
    assert " a step while 750.0\u202fkB are sent (0.8 transfers)" in finding.detail


def test_the_usual_overhead_excludes_first_runs() -> None:
    """The first run begins 500 us after its call, as its program is loaded; the others 30 us after theirs."""
    tpu = Tpu()
    for i in range(5):
        at = i * STEP
        tpu.step(at, STEP, 5 + i)
        tpu.on_main("RunPostOrder", at + 150, 240)
        tpu.launch(at + 400, (at + 420, 20), (at + (450 if i else 920), 70), by="marker")
    finding = findings(tpu.trace())["dispatch_overhead"]
    assert (finding.evidence["runs"], finding.evidence["median_overhead_ps"]) == (4, 30 * US)
    assert f"The usual execution has {brief_time(30 * US)} of overhead." in finding.detail


@pytest.mark.parametrize(("length", "is_told"), [(400, True), (5, False)])
def test_defragmenting_device_memory_is_told(length: int, is_told: bool) -> None:
    """While the host loads a program for 600 us, another thread of the runtime moves buffers together."""
    tpu = loop(steps=6, device=100)
    tpu.on_main("LoadProgram", STEP + 10, 600)
    tpu.on_main("TfrtTpuClient::DefragmentMemory", STEP + 20, length)
    detail = findings(tpu.trace())["dispatch_overhead"].detail
    assert ("; meanwhile, the runtime defragments device memory for " in detail) == is_told


def test_programs_that_are_loaded_once_are_start_up() -> None:
    tpu = loop(steps=6, device=100)
    tpu.on_main("LoadProgram", STEP + 10, 600)
    finding = findings(tpu.trace())["dispatch_overhead"]
    assert finding.title == "The device waits while the host loads programs"
    assert " while the host loads programs. " in finding.detail
    assert "Capture later" in finding.advice


@pytest.mark.parametrize("phase", [None, "data_loading"])
@pytest.mark.parametrize(("sends", "is_packed"), [(4, False), (32, True)])
def test_many_transfers_are_to_be_packed(phase: str | None, sends: int, is_packed: bool) -> None:
    tpu = loop()
    for i in range(1, 4):
        at = i * STEP + LAUNCH - 450
        if phase:
            tpu.on_main(phase, at, 400)
        for number in range(sends):
            tpu.on_main("PjRtComputationClient::TransferToDevice", at + 5 + number * 390 / sends, 200 / sends)
    finding = findings(tpu.trace())["transfer_bound"]
    assert finding.advice.startswith(
        f"Pack the {sends * 3 // 4} transfers of a step" if is_packed else "Send "
    )
    assert finding.brief == (
        f"sending data in {sends * 3 // 4} transfers a step" if is_packed else "sending data to the device"
    )


def test_queued_gaps_cost_the_host_nothing() -> None:
    """The next run was enqueued while the device still worked, so the host is not the reason for the wait."""
    tpu = Tpu()
    for i in range(4):
        at = i * STEP
        tpu.step(at, STEP, 5 + i)
        tpu.launch(at + 100, (at + 110, 20), (at + 1000, 500), by="marker")
    trace = tpu.trace()
    assert (find_gaps(trace).kind != STARVED).all()
    assert set(findings(trace)) == {"annotations_not_propagated"}


def test_costs_of_host_findings_never_count_twice() -> None:
    for tpu in (with_work("data_loading", 300), with_work("RunPostOrder", 100), loop()):
        trace = tpu.trace()
        gaps = find_gaps(trace)
        costs = sum(finding.cost_ps for finding in find_findings(trace))
        assert costs <= gaps.duration_ps[gaps.kind == STARVED].sum()


def test_each_gap_has_a_window() -> None:
    finding = findings(with_work("data_loading", 400).trace())["input_bound"]
    assert len(finding.windows) == 3
    assert {window.device for window in finding.windows} == {"vm/TPU:0"}
    assert all(us(window.end_ps - window.start_ps) == 500 for window in finding.windows)


def test_a_fixed_step_is_never_shorter_than_the_devices_work() -> None:
    fixed = findings(with_work("data_loading", 400).trace())["input_bound"].step_if_fixed_ps
    # Three of four steps lose 400 us.
    assert us(fixed) == pytest.approx(1000 - 3 * 400 / 4)
    fixed = findings(with_work("data_loading", 290, device=700).trace())["input_bound"].step_if_fixed_ps
    assert us(fixed) == pytest.approx(1000 - 3 * 290 / 4)
    trace = loop(device=900).trace()
    assert us(findings(trace)["tracing_bound"].step_if_fixed_ps) == 900


def two_hosts() -> SessionTrace:
    """Four steps of 1000 us and three of 3000 us, on hosts that run different scripts. The first host loads in every
    step but the first one, the other in every step."""
    slow = Tpu()
    for i in range(3):
        slow.step(i * 3000, 3000, 5 + i)
        slow.launch(i * 3000 + 2700, (i * 3000 + 2710, 20), (i * 3000 + 2750, 500), by="marker")
        slow.on_main("data_loading", i * 3000 + 600, 2000)
    traces = with_work("data_loading", 400).trace(), slow.trace()
    for name, trace in zip("ab", traces, strict=True):
        trace.host = name
    return session(*traces)


def test_of_several_hosts_the_mean_step_is_that_of_the_reports_steps() -> None:
    trained = two_hosts()
    steps = [step for trace in trained.traces for step in steps_report(trace)]
    finding = {finding["id"]: finding for finding in session_report(trained)["findings"]}["input_bound"]
    assert finding["step_ps"] == round(sum(step["duration_ps"] for step in steps) / len(steps))
    steps_if_fixed: list[Any] = [
        {finding.id: finding for finding in find_findings(trace)}["input_bound"].step_if_fixed_ps
        for trace in trained.traces
    ]
    assert finding["step_if_fixed_ps"] == pytest.approx(
        (4 * steps_if_fixed[0] + 3 * steps_if_fixed[1]) / 7, abs=1
    )


def test_the_detail_has_the_time_of_a_batch() -> None:
    detail = findings(with_work("data_loading", 400).trace())["input_bound"].detail.replace("\u202f", " ")
    assert "a batch (0.400 ms each)." in detail


def test_loads_of_unlike_length_have_no_common_time() -> None:
    """Each step polls three times for 1 us before it waits for its batch."""
    tpu = with_work("data_loading", 400)
    for step in range(4):
        for poll in range(3):
            tpu.on_main("data_loading", step * STEP + 20 + 3 * poll, 1)
    assert " each)" not in findings(tpu.trace())["input_bound"].detail


def test_idle_time_after_an_early_execution_on_several_cores_is_that_of_each() -> None:
    finding = findings(demo("synthetic_case_study_8_tpu_cores"))["early_sync"]
    assert finding.detail.endswith(f"; each core idles {brief_time(finding.cost_ps // 8)} after it.")
