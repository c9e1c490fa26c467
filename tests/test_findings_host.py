"""Findings about the host: idle time by what the host did, from the share on that is worth one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from captures import session
from launching import US, Tpu, demo
from loops import LAUNCH, STEP, findings, loop, us
from simulated import Simulation

from tb_xla_insights.analysis.findings import find_findings, findings_report
from tb_xla_insights.analysis.idle.idle_time import STARVED, find_gaps
from tb_xla_insights.analysis.steps.idle import step_idle_report
from tb_xla_insights.analysis.steps.table import steps_report
from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import SessionTrace
from tb_xla_insights.units import brief_time


def with_work(name: str, duration: float, device: float = 500) -> Tpu:
    """The loop with some work of `duration` in each gap of 1000 - device."""
    made = loop(device=device)
    for i in range(1, 4):
        made.on_main(name, i * STEP + LAUNCH - 10 - duration, duration)
    return made


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("data_loading", "input_bound"),
        ("PjRtComputationClient::TransferToDevice", "transfer_bound"),
        ("RunPostOrder", "dispatch_overhead"),
        ("LoadProgram", "dispatch_overhead"),
    ],
)
def test_a_class_of_idle_time_is_found_from_a_tenth_of_the_span_on(name: str, id_: str) -> None:
    """The span is 3.5 steps long; three gaps of 500 us lie in it. Without the work, three of four steps are 400 us
    shorter."""
    trace = with_work(name, 400).trace()
    found = findings(trace)[id_]
    # Of the marker, 6 us in each gap prepare and launch as well.
    assert us(found.cost_ps) == 3 * (400 + 6 * (id_ == "dispatch_overhead"))
    assert (found.recurs, found.severity) == ("every_step", "critical")
    assert us(found.step_if_fixed_ps) == 1000 - 3 * 400 / 4 - 6 * (id_ == "dispatch_overhead")
    assert found.gain == (300 + 6 * (id_ == "dispatch_overhead")) / STEP
    assert findings(with_work(name, 140).trace())[id_].severity == "warning"
    quiet = findings(with_work(name, 20).trace())
    assert id_ not in quiet


def test_some_loading_on_the_driving_thread_is_no_finding() -> None:
    """A twentieth of the span: other classes would be told as info."""
    assert "input_bound" not in findings(with_work("data_loading", 60).trace())
    assert findings(with_work("RunPostOrder", 60).trace())["dispatch_overhead"].severity == "info"


def test_graph_building_is_found_where_nothing_else_fills_the_gaps() -> None:
    made = loop()
    for i in range(4):
        made.on_main("forward", i * STEP + 300, 380)
        made.on_main("loss", i * STEP + 100, 100)
    found = findings(made.trace())["tracing_bound"]
    assert found.severity == "critical"
    assert found.evidence["phases"][0] == {"name": "forward", "host_ps": 4 * 380 * 10**6}
    assert "forward" in found.detail
    assert "tracing_bound" not in findings(loop(device=990).trace())


def test_where_the_host_records_nothing_that_is_said() -> None:
    """Steps that are handed over, and between them nothing for longer than the device works."""
    made = Simulation()
    for number in range(8):
        begin = made.now
        made.host("forward", 100)
        made.launch(300, marker=True)
        made.made.step(begin, made.now - begin, number + 5)
        made.now += 900
    found = findings(made.made.trace())["tracing_bound"]
    assert found.title == "The device waits while the host records nothing"
    assert found.advice.startswith(
        "Find out what the host does there: annotate the code around the steps (with xp.Trace("
    )
    assert us(found.evidence["unrecorded_ps"]) == pytest.approx(found.cost_ps / 10**6, rel=0.2)
    assert (found.step_if_fixed_ps or 0) in range(1, 400 * 10**6)


def test_time_a_step_is_that_of_one_core() -> None:
    alone, both = (findings(loop(cores=cores).trace())["tracing_bound"] for cores in ((0,), (0, 1)))
    assert both.cost_ps == 2 * alone.cost_ps
    assert both.evidence["per_step_ps"] == alone.evidence["per_step_ps"] == alone.cost_ps // 4
    tell = "The device idles ", "Each core idles "
    assert alone.detail.startswith(tell[0])
    assert both.detail == alone.detail.replace(*tell)


def test_idle_time_of_other_findings_and_before_the_first_run_is_told_beside() -> None:
    """The host builds in each of four gaps and for 600 us before the first run. Together that is the idle time by
    cause."""
    made = loop(5)
    for number in range(1, 5):
        made.on_main("forward", number * STEP + 300, 200)
    made.on_main("forward", 0, 600)
    trace = made.trace()
    found, idle = findings(trace)["tracing_bound"], step_idle_report(session(trace))["by_class_ps"]
    assert idle is not None
    assert found.idle_ps == idle["tracing"]
    told = re.search(r"idles ([\d.]+).*, besides ([\d.]+)\u202fms before or after all runs[.;]", found.detail)
    assert told
    assert float(told[2]) >= 600 / 5 / 1000
    assert float(told[1]) + float(told[2]) == pytest.approx(idle["tracing"] / US / 1000, abs=0.001)


def test_what_torch_compile_made_is_not_advised_to_be_compiled() -> None:
    made = loop()
    for i in range(4):
        made.on_main("forward", i * STEP + 300, 380)
    assert "Build less in forward (torch.compile," in findings(made.trace())["tracing_bound"].advice
    for i in range(4):
        made.launch(
            i * STEP + 400, (i * STEP + 405, 10), (i * STEP + 420, 10), by="dynamo", program="graph(9)"
        )
    assert "the graphs of torch.compile in forward" in findings(made.trace())["tracing_bound"].advice


@pytest.mark.parametrize(
    ("python", "tracing", "title"),
    [(200, 100, "runs Python code"), (60, 350, "builds the graph")],
)
def test_python_and_building_are_told_apart_with_the_phases_of_both(
    python: int, tracing: int, title: str
) -> None:
    """In each gap of 500 us both, the one inside the graphs of torch.compile."""
    made = loop()
    for i in range(4):
        made.on_main("forward", i * STEP + 270, python)
        made.launch(
            i * STEP + 270 + python - 10,
            (i * STEP + 270 + python, 4),
            (i * STEP + 270 + python + 2, 3),
            by="dynamo",
        )
        made.on_main("loss", i * STEP + 680 - tracing, tracing)
    found = findings(made.trace())["tracing_bound"]
    assert found.title == f"The device waits while the host {title}"
    assert found.cost_ps == found.evidence["python_ps"] + found.evidence["tracing_ps"]
    does = re.search(r"while the host (.*) \((.*)\u202fms\) and (.*) \((.*)\u202fms\)[.,;] ", found.detail)
    assert does
    assert (does[1], {does[1], does[3]}) == (title, {"runs Python code", "builds the graph"})
    assert re.search(r"[Pp]ython takes \S+\sms a step in forward\b", found.detail)
    assert re.search(r"[Bb]uilding takes \S+\sms a step in loss\b", found.detail)


def test_what_launching_costs_is_told_without_first_runs() -> None:
    """The first run begins 500 us after its call, as its program is loaded; the others 30 us after theirs."""
    made = Tpu()
    for i in range(5):
        at = i * STEP
        made.step(at, STEP, 5 + i)
        made.on_main("RunPostOrder", at + 150, 240)
        made.launch(at + 400, (at + 420, 20), (at + (450 if i else 920), 70), by="marker")
    found = findings(made.trace())["dispatch_overhead"]
    assert (found.evidence["runs"], found.evidence["median_overhead_ps"]) == (4, 30 * US)
    assert f"The usual execution has {brief_time(30 * US)} of overhead." in found.detail


def test_programs_that_are_loaded_once_are_start_up() -> None:
    made = loop(steps=6, device=100)
    made.on_main("LoadProgram", STEP + 10, 600)
    found = findings(made.trace())["dispatch_overhead"]
    assert found.title == "The device waits while the host loads programs"
    assert " while the host loads programs. " in found.detail
    assert "Capture later" in found.advice


def test_queued_gaps_cost_the_host_nothing() -> None:
    """The next run was enqueued while the device still worked: what the host did then is not why the device waited."""
    made = Tpu()
    for i in range(4):
        at = i * STEP
        made.step(at, STEP, 5 + i)
        made.launch(at + 100, (at + 110, 20), (at + 1000, 500), by="marker")
    trace = made.trace()
    assert (find_gaps(trace).kind != STARVED).all()
    assert set(findings(trace)) == {"annotations_not_propagated"}


def test_costs_of_host_findings_never_count_twice() -> None:
    for made in (with_work("data_loading", 300), with_work("RunPostOrder", 100), loop()):
        trace = made.trace()
        gaps = find_gaps(trace)
        costs = sum(it.cost_ps for it in find_findings(session(trace)))
        assert costs <= gaps.duration_ps[gaps.kind == STARVED].sum()


def several(each: int, device: float, pause: float = 60) -> Tpu:
    """Steps of `each` markers, each run after a pause."""
    made = Tpu()
    for i in range(3):
        made.step(i * STEP, STEP, 5 + i)
        for k in range(each):
            at = i * STEP + 10 + k * (device + pause)
            made.launch(at, (at + 6, 10), (at + pause - 5, device), by="marker", program=f"part{k}({k + 1})")
    return made


def test_many_small_executions() -> None:
    found = findings(several(4, 20).trace())["many_small_executions"]
    assert found.title == "4 executions a step, most of them small"
    assert found.evidence["executions"] == 12
    assert found.evidence["step_markers_per_step"] == 4
    assert " than the idle time before them or their launch. " in found.detail
    assert found.advice == (
        "Sync once a step, not at 4 StepMarkers: remove the mark_step() or torch_xla.sync() in between."
    )


@pytest.mark.parametrize(
    ("phases", "advice"),
    [
        (
            ("update",),
            "remove the mark_step() or torch_xla.sync() behind each Training_Step/update, but for the last one.",
        ),
        (("forward", "backward"), "accumulate gradients without mark_step() or torch_xla.sync() in between."),
    ],
)
def test_what_lies_between_the_markers_tells_how_to_sync_once(phases: tuple[str, ...], advice: str) -> None:
    made = several(4, 20)
    for i in range(3):
        made.on_main("loss", i * STEP + 1, 2)
        for k in range(4):
            for number, phase in enumerate(phases):
                made.on_main(phase, i * STEP + 17 + k * 80 + number * 20, 15)
    told = findings(made.trace())["many_small_executions"].advice
    assert told == f"Sync once a step, not at 4 StepMarkers: {advice}"


def test_executions_that_dynamo_makes_for_pending_inputs_are_counted() -> None:
    made = Tpu()
    for i in range(3):
        at = i * STEP
        made.step(at, STEP, 5 + i)
        for k, by in enumerate(("dynamo", "sync", "dynamo", "marker")):
            made.launch(
                at + 10 + 80 * k, (at + 16 + 80 * k, 10), (at + 60 + 80 * k, 20), by=by, program=f"{by}({k})"
            )
    found = findings(made.trace())["many_small_executions"]
    assert (found.evidence["input_syncs"], found.evidence["executions"]) == (3, 12)
    assert found.detail.endswith("; 1 a step only brings pending inputs up to date.")


def test_idle_time_before_small_executions_is_not_told_where_there_is_none() -> None:
    """9.9 us between two of them are too short to be listed; their calls take 14 us."""
    made = Tpu()
    for i in range(3):
        made.step(i * STEP, STEP, 5 + i)
        for k in range(62):
            at = i * STEP + k * STEP / 62
            made.launch(at, (at + 1, 14), (at + 6, 6.2), by="sync")
    found = findings(made.trace())["many_small_executions"]
    assert found.evidence["small_idle_ps"] == 0
    assert "on average) than their launch. " in found.detail


@pytest.mark.parametrize(("each", "device"), [(2, 20.0), (3, 200.0)])
def test_two_executions_a_step_or_large_ones_are_usual(each: int, device: float) -> None:
    assert "many_small_executions" not in findings(several(each, device).trace())


def test_windows_show_the_gaps_that_cost_most() -> None:
    found = findings(with_work("data_loading", 400).trace())["input_bound"]
    assert len(found.windows) == 3
    assert {window.device for window in found.windows} == {"vm/TPU:0"}
    assert all(us(it.end_ps - it.start_ps) == 500 for it in found.windows)


def test_without_the_cost_a_step_is_shorter_by_it_and_never_shorter_than_the_devices_work() -> None:
    fixed = findings(with_work("data_loading", 400).trace())["input_bound"].step_if_fixed_ps
    # Three of four steps lose 400 us.
    assert us(fixed) == pytest.approx(1000 - 3 * 400 / 4)
    fixed = findings(with_work("data_loading", 290, device=700).trace())["input_bound"].step_if_fixed_ps
    assert us(fixed) == pytest.approx(1000 - 3 * 290 / 4)
    trace = loop(device=900).trace()
    assert us(findings(trace)["tracing_bound"].step_if_fixed_ps) == 900


def two_hosts() -> SessionTrace:
    """Four steps of 1000 us and three of 3000 us, on hosts that run different scripts and load before each step but the
    first."""
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
    both = two_hosts()
    steps = steps_report(both)
    found = {it["id"]: it for it in session_report(both)["findings"]}["input_bound"]
    assert found["step_ps"] == round(sum(step["duration_ps"] for step in steps) / len(steps))
    alone: list[Any] = [
        {it["id"]: it for it in findings_report(session(trace))["findings"]}["input_bound"][
            "step_if_fixed_ps"
        ]
        for trace in both.traces
    ]
    assert found["step_if_fixed_ps"] == pytest.approx((4 * alone[0] + 3 * alone[1]) / 7, abs=1)


def test_batches_are_told_with_how_long_one_takes() -> None:
    told = findings(with_work("data_loading", 400).trace())["input_bound"].detail.replace("\u202f", " ")
    assert "a batch (0.400 ms each)." in told


class TestLaunchingLess:
    """What is advised follows the trace: launches a step, reads, waiting."""

    def test_one_launch_a_step_gets_more_to_do(self) -> None:
        advice = findings(with_work("TPUExecute", 300).trace())["dispatch_overhead"].advice
        assert advice == ("Give each execution more to do: a larger batch, several steps in one graph.")

    def test_several_launches_are_counted(self) -> None:
        made = several(2, 20, 400)
        for i in range(3):
            made.on_main("TPUExecute", i * STEP + 100, 300)
        assert findings(made.trace())["dispatch_overhead"].advice == (
            "Launch one graph a step in place of 2."
        )

    @pytest.mark.parametrize(
        ("by", "advice"),
        [
            ("", "Make the graph smaller (layers repeated in a scan)."),
            ("sync", "Make the graph smaller (layers repeated in a scan), and sync once a step."),
            ("dynamo", "Leave nothing lazy between the graphs of torch.compile: each step prepares"),
        ],
    )
    def test_preparing_less_depends_on_who_else_launches(self, by: str, advice: str) -> None:
        made = with_work("RunPostOrder", 300)
        for i in range(4 if by else 0):
            at = i * STEP + LAUNCH + 550
            made.launch(at, (at + 5, 10), (at + 20, 20), by=by, program="other(9)")
        told = findings(made.trace())["dispatch_overhead"].advice
        assert told == advice if advice.endswith(".") else told.startswith(advice)


class TestWaiting:
    """Idle time in which the host waits, by whether a launched program is in flight."""

    def test_where_nothing_is_queued_it_is_told_with_its_place(self) -> None:
        made = with_work("TPUExecute", 150)
        for i in range(1, 4):
            made.on_main("Wait for usage holds", i * STEP + 260, 250)
        found = findings(made.trace())["dispatch_overhead"]
        assert (us(found.evidence["wait_ps"]), found.evidence["in_flight_ps"]) == (3 * 250, 0)
        assert us(found.cost_ps) == 3 * (250 + 150 + 6)
        assert found.title == "Nothing is queued while the host waits between launches"
        assert (
            " while nothing is queued and the host waits (mostly in Wait for usage holds), and "
            in found.detail
        )
        assert found.advice == (
            "Do not wait for results between launches (Wait for usage holds), so that the host runs ahead."
        )
        assert (
            "nothing is queued"
            not in findings(with_work("TPUExecute", 150).trace())["dispatch_overhead"].detail
        )

    @staticmethod
    def without_ops_at_the_end(cores: tuple[int, ...] = (0,)) -> Tpu:
        """Runs of 500 us that have an op for 300 us; the host waits for 190 us of the rest, then 5 and 40 us."""
        made = loop(cores=cores)
        for core in cores:
            made.ops[core] = [(name, start, 300 * US, stats) for name, start, _, stats in made.ops[core]]
        for i in range(1, 4):
            made.on_main("Wait for donation holds", i * STEP + 60, 195)
            made.on_main("Wait for usage holds", i * STEP + 260, 40)
        return made

    @pytest.mark.parametrize("cores", [(0,), (0, 1)])
    def test_with_a_program_in_flight_that_is_said(self, cores: tuple[int, ...]) -> None:
        found = findings(self.without_ops_at_the_end(cores).trace())["dispatch_overhead"]
        waits = found.evidence["in_flight_ps"], found.evidence["wait_ps"]
        assert tuple(map(us, waits)) == (3 * 190 * len(cores), 3 * 45 * len(cores))
        assert found.title == "A launched program is in flight, but no op of it runs"
        assert " and the host waits (mostly in Wait for donation holds)" in found.detail
        assert " nothing is queued and the host waits (mostly in Wait for usage holds)" in found.detail
        assert found.advice.startswith("Find out what launched programs wait for before their ops run")

    def test_a_fix_of_that_makes_runs_shorter_and_leaves_the_waits(self) -> None:
        """Each step loses the 6 us of its marker, three of four 190 us of the run that they wait for."""
        fixed = findings(self.without_ops_at_the_end().trace())["dispatch_overhead"].step_if_fixed_ps
        assert us(fixed) == 1000 - 6 - 3 * 190 / 4


def test_idle_time_after_an_early_execution_on_several_cores_is_that_of_each() -> None:
    found = findings(demo("synthetic_case_study_8_tpu_cores"))["early_sync"]
    assert found.detail.endswith(f"; each core idles {brief_time(found.cost_ps // 8)} after it.")
