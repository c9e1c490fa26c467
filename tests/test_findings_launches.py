"""Findings about launches: many small executions a step, calls that take long, and waits between launches."""

from __future__ import annotations

import pytest
from captures import Core, Event, capture, thread
from launching import US, Tpu, event
from loops import LAUNCH, STEP, findings, loop, us, with_work

from tb_xla_insights.analysis.findings import dispatch
from tb_xla_insights.analysis.findings.facts import Mean
from tb_xla_insights.analysis.replay.what_if import step_without
from tb_xla_insights.trace.model import Trace


def with_launches(per_step: int, device: float, pause: float = 60) -> Tpu:
    """Three steps of `per_step` markers, whose runs last `device` us and begin `pause` us after the previous one."""
    tpu = Tpu()
    for i in range(3):
        tpu.step(i * STEP, STEP, 5 + i)
        for k in range(per_step):
            at = i * STEP + 10 + k * (device + pause)
            tpu.launch(at, (at + 6, 10), (at + pause - 5, device), by="marker", program=f"part{k}({k + 1})")
    return tpu


def test_many_small_executions() -> None:
    finding = findings(with_launches(4, 20).trace())["many_small_executions"]
    assert finding.title == "4 executions a step, most of them small"
    assert finding.evidence["executions"] == 12
    assert finding.evidence["step_markers_per_step"] == 4
    assert " than the idle time before them or their launch. " in finding.detail
    assert finding.advice == (
        "Sync once a step, not at 4 StepMarkers: remove the mark_step() or torch_xla.sync() in between."
    )


def test_what_one_step_launches_is_not_spread_over_all() -> None:
    """A checkpoint in the last of five steps launches 20 small programs more: the usual step launches one."""
    tpu = with_work("TPUExecute", 300)
    at = 4 * STEP
    tpu.step(at, STEP, 9)
    for k in range(21):
        tpu.launch(
            at + 10 + 40 * k, (at + 16 + 40 * k, 2), (at + 30 + 40 * k, 5), by="sync", program="slice(9)"
        )
    found = findings(tpu.trace())
    assert "many_small_executions" not in found
    assert found["dispatch_overhead"].advice.startswith("Give each execution more to do")


@pytest.mark.parametrize(
    ("phases", "advice"),
    [
        (
            ("update",),
            "remove the mark_step() or torch_xla.sync() after each Training_Step/update, except the last one.",
        ),
        (("forward", "backward"), "remove the mark_step() or torch_xla.sync() between micro-batches."),
    ],
)
def test_advice_on_syncs_depends_on_the_annotations_between_markers(
    phases: tuple[str, ...], advice: str
) -> None:
    tpu = with_launches(4, 20)
    for i in range(3):
        tpu.on_main("loss", i * STEP + 1, 2)
        for k in range(4):
            for number, phase in enumerate(phases):
                tpu.on_main(phase, i * STEP + 17 + k * 80 + number * 20, 15)
    text = findings(tpu.trace())["many_small_executions"].advice
    assert text == f"Sync once a step, not at 4 StepMarkers: {advice}"


@pytest.mark.parametrize("more", [0, 1])
def test_executions_of_pending_inputs_before_dynamo_are_counted(more: int) -> None:
    """One in each step, and in the first step possibly one more, which rounding hides."""
    tpu = Tpu()
    for i in range(25):
        at = i * STEP
        tpu.step(at, STEP, 5 + i)
        inputs = ("sync", "dynamo") * (1 + more * (i == 0))
        for k, by in enumerate(("dynamo", *inputs, "marker")):
            tpu.launch(
                at + 10 + 80 * k, (at + 16 + 80 * k, 10), (at + 60 + 80 * k, 20), by=by, program=f"{by}({k})"
            )
    finding = findings(tpu.trace())["many_small_executions"]
    assert (finding.evidence["input_syncs"], finding.evidence["executions"]) == (25 + more, 100 + 2 * more)
    assert finding.detail.endswith("; 1 a step only computes pending inputs.")


@pytest.mark.parametrize("cores", [[(0,)], [(0,), (1,)], [(0, 1)]])
def test_the_work_of_small_executions_is_the_mean_of_their_runs(cores: list[tuple[int, ...]]) -> None:
    """Executions on one core, alternately on two cores, and on both."""
    tpu = Tpu()
    for i in range(3):
        tpu.step(i * STEP, STEP, 5 + i)
        for k in range(8):
            at = i * STEP + 100 + 100 * k
            tpu.launch(at, (at + 10, 40), (at + 60, 8), cores=cores[k % len(cores)], program=f"p{k}({k})")
    assert (
        " take less time (8.00\u202fµs on average) than "
        in findings(tpu.trace())["many_small_executions"].detail
    )


def test_small_executions_without_idle_time_before_them() -> None:
    """The gaps of 9.9 us between them are too short to be listed; their calls take 14 us."""
    tpu = Tpu()
    for i in range(3):
        tpu.step(i * STEP, STEP, 5 + i)
        for k in range(62):
            at = i * STEP + k * STEP / 62
            tpu.launch(at, (at + 1, 14), (at + 6, 6.2), by="sync")
    finding = findings(tpu.trace())["many_small_executions"]
    assert finding.evidence["small_idle_ps"] == 0
    assert "on average) than their launch. " in finding.detail


def test_idle_time_between_small_executions_that_are_launched_already() -> None:
    """The host launches eight executions at the start of a step; the device idles for 80 us between them. Its span, of
    which a mean a step is, covers 2.72 of three steps."""
    tpu = Tpu()
    for i in range(3):
        tpu.step(i * STEP, STEP, 5 + i)
        for k in range(8):
            at = i * STEP + 12 * k
            tpu.launch(at, (at + 1, 10), (i * STEP + 100 * (k + 1), 20), by="marker", program=f"p{k}({k})")
    finding = findings(tpu.trace())["many_small_executions"]
    ms = 3 * 7 * 80 / 2.72 / 1000
    assert finding.detail.endswith(
        f" {ms:.3f}\u202fms a step between programs, though the next is launched already."
    )


def test_waiting_for_another_core_is_no_time_in_which_the_next_execution_is_launched() -> None:
    """The first core waits for the second for 14 of the 24 us between two ops: that gap is not counted. Of those of the
    second core, which itself waits for 3 us, 21 us are; of the one before its first op, 11."""
    tpu = Tpu()
    for i in range(3):
        tpu.step(i * STEP, STEP, 5 + i)
        for k in range(8):
            at, run = i * STEP + 12 * k, i * STEP + 200 + 30 * k
            tpu.launch(at, (at + 1, 10), (run, 20), by="marker", program=f"p{k}({k})", cores=(0, 1))
            for core, wait in ((0, 14), (1, 3)):
                tpu.ops[core][-1] = event("add.1", run + 14, 6)
                tpu.barriers.setdefault(core, []).append(event("barrier-cores", run + 14 - wait, wait))
    finding = findings(tpu.trace())["many_small_executions"]
    ms = (3 * 7 * 21 + 11) / 2 / 2.23 / 1000
    assert f", and {ms:.3f}\u202fms a step between programs, though" in finding.detail


@pytest.mark.parametrize(("per_step", "device"), [(2, 20.0), (3, 200.0)])
def test_two_executions_a_step_or_large_ones_are_usual(per_step: int, device: float) -> None:
    assert "many_small_executions" not in findings(with_launches(per_step, device).trace())


class TestDispatchAdvice:
    """The advice depends on the trace: launches per step, reads, waits."""

    def test_advice_for_one_launch_a_step_is_more_work(self) -> None:
        advice = findings(with_work("TPUExecute", 300).trace())["dispatch_overhead"].advice
        assert advice == "Give each execution more to do: a larger batch, several steps in one graph."

    def test_several_launches_are_counted(self) -> None:
        tpu = with_launches(2, 20, 400)
        for i in range(3):
            tpu.on_main("TPUExecute", i * STEP + 100, 300)
        assert findings(tpu.trace())["dispatch_overhead"].advice == "Launch one graph a step in place of 2."

    @pytest.mark.parametrize("wait", ["PjRtFuture::Await", "PjRtComputationClient::TransferFromDevice"])
    def test_a_loop_with_one_launch_that_waits_launches_too_late(self, wait: str) -> None:
        tpu = with_work("TPUExecute", 300)
        for i in range(4):
            tpu.on_main(wait, i * STEP + LAUNCH + 60, 190)
        advice = findings(tpu.trace())["dispatch_overhead"].advice
        assert advice.startswith("Launch the next step before waiting for this one or reading its result, ")

    @pytest.mark.parametrize(
        ("by", "advice"),
        [
            ("", "Make the graph smaller: fewer and larger ops, or torch.compile, which prepares it once."),
            (
                "sync",
                (
                    "Make the graph smaller: fewer and larger ops, or torch.compile, which prepares it once; and sync "
                    "once a step."
                ),
            ),
            ("dynamo", "Leave no lazy operations between the graphs of torch.compile: each step prepares"),
        ],
    )
    def test_advice_on_preparation_depends_on_the_other_launches(self, by: str, advice: str) -> None:
        tpu = with_work("RunPostOrder", 300)
        for i in range(4 if by else 0):
            at = i * STEP + LAUNCH + 550
            tpu.launch(at, (at + 5, 10), (at + 20, 20), by=by, program="other(9)")
        text = findings(tpu.trace())["dispatch_overhead"].advice
        assert text == advice if advice.endswith(".") else text.startswith(advice)


class TestWaiting:
    """Idle time in which the host waits, by whether a launched program is in flight."""

    def test_waits_with_nothing_queued_are_reported_with_their_place(self) -> None:
        tpu = with_work("TPUExecute", 150)
        for i in range(1, 4):
            tpu.on_main("Wait for usage holds", i * STEP + 260, 250)
        finding = findings(tpu.trace())["dispatch_overhead"]
        assert (us(finding.evidence["wait_ps"]), finding.evidence["in_flight_ps"]) == (3 * 250, 0)
        assert us(finding.cost_ps) == 3 * (250 + 150 + 6)
        assert finding.title == "Nothing is queued while the host waits between launches"
        assert (
            " while nothing is queued and the host waits (mostly in Wait for usage holds), and "
            in finding.detail
        )
        assert finding.advice == (  # the program does not ask for this wait
            "Give each execution more to do, so that launching takes less of a step: the runtime itself waits in Wait "
            "for usage holds until it has carried out the launch before."
        )
        assert (
            "nothing is queued"
            not in findings(with_work("TPUExecute", 150).trace())["dispatch_overhead"].detail
        )

    @staticmethod
    def without_ops_at_the_end(cores: tuple[int, ...] = (0,)) -> Tpu:
        """Runs of 500 us that have an op for 300 us; the host waits for 190 us of the rest, and after the run
        for 5 and for 40 us."""
        tpu = loop(cores=cores)
        for core in cores:
            tpu.ops[core] = [(name, start, 300 * US, stats) for name, start, _, stats in tpu.ops[core]]
        for i in range(1, 4):
            tpu.on_main("Wait for donation holds", i * STEP + 60, 195)
            tpu.on_main("Wait for usage holds", i * STEP + 260, 40)
        return tpu

    @pytest.mark.parametrize("cores", [(0,), (0, 1)])
    def test_waits_with_a_program_in_flight_are_reported_as_such(self, cores: tuple[int, ...]) -> None:
        finding = findings(self.without_ops_at_the_end(cores).trace())["dispatch_overhead"]
        waits = finding.evidence["in_flight_ps"], finding.evidence["wait_ps"]
        assert tuple(map(us, waits)) == (3 * 190 * len(cores), 3 * 45 * len(cores))
        assert finding.title == "A launched program is in flight, but none of its ops runs"
        assert " and the host waits (mostly in Wait for donation holds)" in finding.detail
        assert " nothing is queued and the host waits (mostly in Wait for usage holds)" in finding.detail
        assert finding.advice.startswith("Find out what launched programs wait for before their ops run")

    def test_idle_time_outside_of_whole_steps_has_no_clause(self) -> None:
        clauses = [(Mean(0, " a step"), "while the host "), (Mean(3 * US, " a step"), "while the host waits")]
        assert dispatch._idle_text(clauses) == "3.00\u202fµs a step while the host waits"

    def test_a_fix_of_waits_in_flight_shortens_runs_and_leaves_the_other_waits(self) -> None:
        """Each step loses the 6 us of its marker, three of four 190 us of the run that they wait for."""
        fixed = findings(self.without_ops_at_the_end().trace())["dispatch_overhead"].step_if_fixed_ps
        assert us(fixed) == 1000 - 6 - 3 * 190 / 4


def jax_calls(python: float, dispatch: float, device: float, calls: int = 4, steps: int = 4) -> Trace:
    """Steps in which JAX calls functions: before each, the host runs Python for `python` us, then launches for
    `dispatch` us. For each call the device works for `device` us. After the last call the step waits for the device."""
    events: list[Event] = []
    runs: list[Event] = []
    now = free = 0.0
    for i in range(steps):
        begin = now
        for k in range(calls):
            key = {"run_id": i * calls + k + 1}
            now += python
            events.append(event(f"PjitFunction(f{k})", now, dispatch))
            events.append(event("TfrtTpuLoadedExecutable::Execute", now, dispatch, **key))
            now += dispatch
            start = max(now + 10, free)
            runs.append(event(f"jit_f{k}({k})", start, device, **key))
            free = start + device
        events.append(event("CommonPjRtBuffer::Await", now, free + 10 - now))
        now = free + 10
        events.append(event("train", begin, now - begin, _r=1, step_num=5 + i))
    events.sort(key=lambda item: (item[1], -item[2]))
    ops = [("fusion.1", *run[1:3]) for run in runs]
    return capture(thread("python", *events, role="driving"), Core(ops, runs))


def test_launching_is_a_cost_of_executions_that_only_the_idle_time_makes_small() -> None:
    """Each call launches for 200 us and the device works for 250, after 350 us or more without work. In one function
    the calls launch once; the Python before them may remain, as it may be the reason for the idle time."""
    trace = jax_calls(python=400, dispatch=200, device=250)
    by_id = findings(trace)
    finding = by_id["many_small_executions"]
    assert (finding.evidence["small"], finding.evidence["executions"]) == (15, 16)
    step = 4 * 600 + 10 + 250 + 10
    assert us(step_without(trace)) == step
    # The waits for merged runs go as well; the first launch of the capture is not small.
    assert us(finding.step_if_fixed_ps) == pytest.approx(4 * 400 + 200 / 4, abs=2)
