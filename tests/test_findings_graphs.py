"""Findings about graphs that reads and markers cut, reads in every step, and operators that run on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import real_trace
from launching import Tpu, demo
from loops import LAUNCH, STEP, findings, loop, us

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.waiting_calls import waiting_call
from tb_xla_insights.analysis.graph_break import GraphBreak
from tb_xla_insights.analysis.sidecar_contents import (
    NO_SIDECARS,
    DebugLogBlock,
    GraphBreaks,
    Metrics,
    Sidecars,
)
from tb_xla_insights.catalog.frames import Frame


def cut(read: bool = True) -> Tpu:
    """Step 6 of the loop launches within `forward`, and reads a value, after which the device idles for 330 us."""
    tpu = loop(device=400)
    tpu.on_main("forward", STEP + 180, 450)
    tpu.launch(STEP + 190, (STEP + 200, 10), (STEP + 220, 200), program="part(9)")
    if read:
        tpu.on_main("PjRtComputationClient::TransferFromDevice", STEP + 415, 10)
    return tpu


class TestEarlySync:
    def test_a_debug_log_names_the_line(self) -> None:
        """Five executions in order; the second, an early one, has a different graph and frame."""
        frames = ["sync (train.py:1)", "step (train.py:72)", *["sync (train.py:1)"] * 3]
        graphs = ["a", "b", "a", "a", "a"]
        log = [
            DebugLogBlock(graph, "x", (frame,), "e", 1) for graph, frame in zip(graphs, frames, strict=True)
        ]
        finding = findings(cut().trace(), Sidecars(executions=log))["early_sync"]
        assert finding.evidence["frame"] == "step (train.py:72)"
        assert "at step (train.py:72)" in finding.advice

    def test_a_sync_that_is_followed_by_a_read_costs_the_gap_after_it(self) -> None:
        finding = findings(cut().trace())["early_sync"]
        assert us(finding.cost_ps) == 1750 - 1420
        assert finding.title == "A read inside forward in step 6 splits the step"
        assert finding.evidence["annotation"] == "Training_Step/forward"
        assert ".item()" in finding.advice

    def test_without_the_read_there_is_no_early_sync(self) -> None:
        assert "early_sync" not in findings(cut(read=False).trace())

    def test_idle_time_of_an_early_sync_is_not_counted_as_graph_building(self) -> None:
        costs = [
            sum(found[id_].cost_ps for id_ in ("tracing_bound", "host_code") if id_ in found)
            for found in (findings(cut().trace()), findings(cut(read=False).trace()))
        ]
        assert costs[1] - costs[0] > 300 * 10**6

    def test_a_cut_directly_in_the_step_is_lower_case_within_a_sentence(self) -> None:
        tpu = loop()
        for i in range(2):
            tpu.launch(i * STEP + 280, (i * STEP + 285, 5), (i * STEP + 300, 50))
            tpu.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + 285, 100)
        finding = findings(tpu.trace())["early_sync"]
        assert finding.title == "A read inside the step in steps 5 and 6 splits it"
        assert finding.brief == "a read inside the step in steps 5 and 6"

    @pytest.mark.parametrize(
        ("cuts", "title"),
        [
            (1, "A read outside of steps splits graphs"),
            (2, "2 reads outside of steps split graphs"),
        ],
    )
    def test_cuts_after_the_last_step_are_in_no_step(self, cuts: int, title: str) -> None:
        tpu = loop()
        for at in range(4 * STEP + 300, 4 * STEP + 300 + 200 * cuts, 200):
            tpu.launch(at, (at + 10, 5), (at + 20, 50))
            tpu.on_main("PjRtComputationClient::TransferFromDevice", at + 20, 100)
        tpu.launch(4 * STEP + 800, (4 * STEP + 810, 5), (4 * STEP + 820, 50), by="marker")
        assert findings(tpu.trace())["early_sync"].title == title

    @pytest.mark.parametrize(
        ("steps", "title"),
        [
            (4, "2 reads inside every step split it"),
            (1, "2 reads inside the step in step 5 split it"),
        ],
    )
    def test_cuts_outside_of_steps_are_not_counted_with_those_in_steps(self, steps: int, title: str) -> None:
        """Two cuts in each of the first steps, and four after the last step."""
        tpu = loop()
        in_steps = [i * STEP + at for i in range(steps) for at in (280, 480)]
        for at in (*in_steps, *range(4 * STEP + 300, 4 * STEP + 1100, 200)):
            tpu.launch(at, (at + 5, 5), (at + 20, 50))
            tpu.on_main("PjRtComputationClient::TransferFromDevice", at + 5, 100)
        tpu.launch(4 * STEP + 1100, (4 * STEP + 1110, 5), (4 * STEP + 1120, 50), by="marker")
        finding = findings(tpu.trace())["early_sync"]
        assert (finding.title, finding.evidence["early_syncs"]) == (title, 2 * steps + 4)

    def test_a_step_marker_inside_an_annotation(self) -> None:
        tpu = loop(device=400)
        tpu.on_main("forward", STEP + 180, 450)
        tpu.launch(STEP + 190, (STEP + 200, 10), (STEP + 220, 200), program="part(9)", by="marker")
        finding = findings(tpu.trace())["early_sync"]
        assert finding.title == "A StepMarker inside forward in step 6 splits the step"
        assert "mark_step()" in finding.advice

    def test_advice_for_a_marker_on_the_backward_thread(self) -> None:
        tpu = loop(device=400)
        tpu.on_main("backward", STEP + 180, 450)
        tpu.launch(
            STEP + 190, (STEP + 200, 10), (STEP + 220, 200), program="part(9)", by="marker", autograd=True
        )
        finding = findings(tpu.trace())["early_sync"]
        assert finding.title.startswith("A StepMarker inside backward")
        assert "Remove the mark_step()" not in finding.advice
        assert "hooks" in finding.advice

    def test_launches_of_graph_extraction_are_not_early_syncs(self) -> None:
        assert "early_sync" not in findings(demo("torch_xla_dynamo_graph_break"))

    def test_all_places_are_named(self) -> None:
        tpu = cut()
        tpu.on_main("loss", 2 * STEP + 300, 350)
        tpu.launch(2 * STEP + 320, (2 * STEP + 330, 10), (2 * STEP + 340, 30), program="part(9)")
        tpu.on_main("PjRtComputationClient::TransferFromDevice", 2 * STEP + 345, 40)
        finding = findings(tpu.trace())["early_sync"]
        assert finding.title == "A read inside forward and loss splits the step"
        assert "out of Training_Step/forward and Training_Step/loss, " in finding.advice


def with_reads(steps: int) -> Tpu:
    """Reads after the marker in the first steps of the loop: no early executions."""
    tpu = loop()
    for i in range(steps):
        tpu.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + LAUNCH + 20, 80)
    return tpu


def loop_with_a_read_in_its_only_step() -> Tpu:
    tpu = loop(steps=1)
    tpu.on_main("PjRtComputationClient::TransferFromDevice", LAUNCH + 20, 40)
    return tpu


class TestSyncEveryStep:
    def test_reads_in_half_of_the_steps(self) -> None:
        finding = findings(with_reads(2).trace())["sync_every_step"]
        assert (finding.severity, finding.evidence["steps_with_reads"]) == ("info", 2)
        assert "early_sync" not in findings(with_reads(4).trace())

    def test_reads_and_waits_that_differ_in_number_are_counted_separately(self) -> None:
        """Two of four steps read, all wait: the title and the verdict state what every step does."""
        tpu = with_reads(2)
        for i in range(4):
            tpu.on_main("PjRtFuture::Await", i * STEP + LAUNCH + 110, 40)
        finding = findings(tpu.trace())["sync_every_step"]
        assert finding.title == "Every step waits for the device, 50.0\u202f% read from it"
        assert finding.brief.startswith("a wait for the device in every step")

    def test_only_reads_that_wait_are_told_if_most_find_their_result_ready(self) -> None:
        """Of three reads in each step, the first waits for the run. The device idles for 20 us until that read returns,
        and for 100 us in the others, which is not the first one's time."""
        tpu = loop(device=200)
        for i in range(4):
            for at, duration in ((60, 210), (280, 50), (340, 50)):
                tpu.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + LAUNCH + at, duration)
        finding = findings(tpu.trace())["sync_every_step"]
        assert finding.detail.startswith(
            "4 of all 12 reads, in 4 of 4 steps, block the host for 0.210\u202fms each; "
        )
        assert us(finding.cost_ps) == 3 * 20

    def test_item_of_torch_tpu_is_a_read_only_if_it_copies_from_the_device(self) -> None:
        """An optimizer also calls .item() of numbers on the host."""
        on_host, on_device = loop(), loop()
        for tpu in (on_host, on_device):
            for i in range(4):
                tpu.on_main("aten::item", i * STEP + LAUNCH + 20, 40)
        for i in range(4):
            on_device.on_main("AtenLocalScalarDense", i * STEP + LAUNCH + 21, 38)
            on_device.on_main("CopyTpuToCpu", i * STEP + LAUNCH + 22, 36)
        assert "sync_every_step" not in findings(on_host.trace())
        finding = findings(on_device.trace())["sync_every_step"]
        assert (finding.evidence["reads"], us(finding.evidence["duration_ps"])) == (4, 4 * 38)

    def test_a_single_read_is_singular(self) -> None:
        finding = findings(loop_with_a_read_in_its_only_step().trace())["sync_every_step"]
        assert finding.detail.startswith("1 read in 1 of 1 step blocks the host for 40.0\u202fµs; ")
        assert " in it" in finding.detail

    def test_reads_that_delay_the_next_launch_cost_no_idle_time(self) -> None:
        tpu = loop()
        for i in range(4):
            tpu.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + LAUNCH + 100, 40)
        finding = findings(tpu.trace())["sync_every_step"]
        assert finding.detail.endswith("; no device idles in them.")
        assert finding.advice.startswith(
            "Read in another thread, or each value one step later: the device has its next work"
        )

    def test_reads_while_the_device_works_on_the_next_step_are_information_only(self) -> None:
        """The device is the bottleneck, and the host reads long before it has to launch again."""
        tpu = loop(device=1000)
        for i in range(4):
            tpu.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + 200, 100)
        finding = findings(tpu.trace())["sync_every_step"]
        assert (finding.severity, finding.gain, finding.cost_ps) == ("info", 0, 0)

    def test_a_read_in_the_middle_of_a_step_is_not_logging(self) -> None:
        """No execution belongs to the read, so it cuts no graph; the step launches more after it."""
        tpu = loop()
        for i in range(4):
            tpu.on_main("forward", i * STEP + 400, 200)
            tpu.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + 500, 60)
        advice = findings(tpu.trace())["sync_every_step"].advice
        assert advice.startswith("Keep the value on the device: take .item(), print or a comparison out of ")
        assert "out of Training_Step/forward (" in advice
        reason = GraphBreak("Unsupported Tensor.item() call", Frame("forward", "train.py", 9))
        sidecars = Sidecars(breaks=GraphBreaks("d.txt", 2, 1, [reason]))
        advice = findings(tpu.trace(), sidecars)["sync_every_step"].advice
        assert "out of Training_Step/forward at train.py:9 (" in advice

    def test_advice_on_reads_holds_for_training_and_inference(self) -> None:
        """A result that each step returns cannot be read less often, but later. The read ends with the run."""
        tpu = loop(device=200)
        for i in range(4):
            tpu.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + LAUNCH + 100, 155)
        assert findings(tpu.trace())["sync_every_step"].advice == (
            "Read a result that each step needs after the next step's launch, so that the device works meanwhile, or "
            "in xm.add_step_closure(…, run_async=True); read what is only logged every tenth step."
        )

    def test_round_trips_of_a_step_are_to_become_one(self) -> None:
        """Reads between which nothing is launched are one round trip."""
        advices = []
        for has_launch_between in (False, True):
            tpu = loop(device=150)
            for i in range(4):
                at = i * STEP + LAUNCH + 60
                tpu.on_main("PjRtComputationClient::TransferFromDevice", at, 50)
                if has_launch_between:
                    tpu.launch(at + 60, (at + 65, 10), (at + 75, 5), program="other(9)", by="marker")
                tpu.on_main("PjRtComputationClient::TransferFromDevice", at + 90, 50)
            advices.append(findings(tpu.trace())["sync_every_step"].advice)
        assert advices[0].startswith("Read a result that each step needs")
        assert advices[1] == (
            "Fetch what a step reads in 2 round trips at once (torch.stack, then one .cpu()), after the next step's "
            "launch, so that the device works meanwhile, or in xm.add_step_closure(…, run_async=True); read what is "
            "only logged every tenth step."
        )
        assert len(advices[1]) <= 240

    def test_idle_time_of_early_syncs_is_attributed_to_them(self) -> None:
        """Each step reads once, 10 us, inside the gap after its early execution."""
        tpu = loop(device=400)
        for i in range(4):
            at = i * STEP
            tpu.on_main("forward", at + 180, 450)
            tpu.launch(at + 190, (at + 200, 10), (at + 220, 200), program="part(9)")
            tpu.on_main("PjRtComputationClient::TransferFromDevice", at + 422, 10)
        finding = findings(tpu.trace())["sync_every_step"]
        assert (finding.cost_ps, finding.fix) == (0, None)
        assert finding.detail.endswith("; the idle time in them counts with the early syncs.")
        assert finding.advice == "First fix the early syncs, which these reads are part of."

    def test_reads_in_fewer_steps_are_not_reported(self) -> None:
        assert "sync_every_step" not in findings(with_reads(1).trace())

    @pytest.mark.parametrize(
        ("call", "is_named"), [(None, True), ("ExecuteComputation", False), ("DeviceBarrier", False)]
    )
    def test_waits_inside_runtime_calls_are_not_the_programs(self, call: str | None, is_named: bool) -> None:
        tpu = loop()
        for i in range(4):
            if call:
                tpu.on_main(call, i * STEP + LAUNCH + 100, 150)
            tpu.on_main("$train.py:7 step", i * STEP + LAUNCH + 110, 130)
            tpu.on_main("CommonPjRtBuffer::Await", i * STEP + LAUNCH + 120, 100)
        by_id = findings(tpu.trace())
        assert ("sync_every_step" in by_id) == is_named
        if is_named:
            assert by_id["sync_every_step"].evidence["steps_with_waits"] == 4
            assert "xm.wait_device_ops()" in by_id["sync_every_step"].advice

    @pytest.mark.parametrize(
        ("frames", "call"),
        [
            ([], "what waits for the device (jax.block_until_ready, np.asarray() or .item())"),
            (["$train.py:7 step"], ".block_until_ready() (step at train.py:7)"),
            (
                ["$train.py:7 step", "$api.py:9 block_until_ready"],
                "jax.block_until_ready (step at train.py:7)",
            ),
            (["$train.py:7 step", "$numpy asarray"], "np.asarray() (step at train.py:7)"),
            (
                ["$train.py:7 step", "$array_methods.py:2 _item", "$core.py:3 concrete", "$numpy asarray"],
                ".item() (step at train.py:7)",
            ),
            (["$api.py:9 block_until_ready"], "jax.block_until_ready"),
            (
                ["$train.py:7 step", "$model.py:2 <lambda>", "$numeric.py:9 isclose", "$numpy asarray"],
                "np.asarray() (<lambda> at model.py:2)",
            ),
        ],
    )
    def test_the_call_that_waits_is_named_as_far_as_it_is_recorded(
        self, frames: list[str], call: str
    ) -> None:
        tpu = loop()
        for i in range(4):
            at = i * STEP + LAUNCH + 100
            for depth, frame in enumerate(frames):
                tpu.on_main(frame, at + depth, 150 - 2 * depth)
            tpu.on_main("CommonPjRtBuffer::Await", at + 20, 100)
        facts = Facts(tpu.trace(), NO_SIDECARS)
        facts.framework = "jax"
        assert waiting_call(facts) == call

    def test_of_reads_that_mostly_find_their_result_ready_only_those_that_wait_count(self) -> None:
        """The result of a step is read after the next step's launch: of seven reads, two still have to wait."""
        tpu = Tpu()
        for i in range(8):
            at = i * STEP + 100
            tpu.step(i * STEP, STEP, 5 + i)
            tpu.launch(at, (at + 10, 20), (at + 50, 400), by="marker")
            if i:
                tpu.on_main("PjRtComputationClient::TransferFromDevice", at + 60, 420 if i in (3, 5) else 20)
        by_id = findings(tpu.trace())
        assert "sync_every_step" not in by_id
        finding = by_id["sync_some_steps"]
        assert (finding.evidence["steps"], finding.evidence["reads"]) == ([8, 10], 2)
        assert finding.title == "The host waits in reads from the device in steps 8 and 10"
        assert finding.detail.startswith(
            "2 of all 7 reads block the host for 0.420\u202fms each, in steps 8 and 10; most find their result ready. "
        )
        assert finding.advice.startswith("Read each value one step later")

    @pytest.mark.parametrize(
        ("calls_us", "markers_us", "is_wanted"),
        [
            ([2, 2, 30, 2], [250, 250, 250, 250], True),
            (
                [1, 1, 1, 1],
                [250, 250, 250, 250],
                False,
            ),  # every launch was done with its synchronisation
            ([2, 30, 30, 2], [250, 250, 6, 250], False),  # one marker did not wait for its launch
        ],
    )
    def test_a_step_marker_waits_if_the_program_lets_it(
        self, calls_us: list[int], markers_us: list[int], is_wanted: bool
    ) -> None:
        """`torch_xla.sync(wait=True)` waits until the launch is done. On a CPU, the runtime itself waits in a marker
        for arguments of the run, but only if the launch is done when the marker gets there."""
        tpu = Tpu()
        for i, (call_us, marker_us) in enumerate(zip(calls_us, markers_us, strict=True)):
            at = i * STEP + LAUNCH
            tpu.step(i * STEP, STEP, 5 + i)
            tpu.launch(at, (at + 2.5, call_us), (at + 40, 200), by="marker", marker=marker_us)
            if marker_us > 100:
                tpu.on_main("Wait for donation holds", at + 35, 210)
        by_id = findings(tpu.trace())
        assert ("sync_every_step" in by_id) == is_wanted
        if is_wanted:
            finding = by_id["sync_every_step"]
            assert (finding.title, finding.evidence["waits"]) == ("Every step waits for the device", 4)
            assert finding.detail.startswith(
                "4 waits for the device in 4 of 4 steps block the host for 0.210\u202fms each"
            )
            assert finding.advice.startswith(
                "Take wait=True (torch_xla.sync or xm.mark_step) out of the step, so that the host builds and launches "
                "the next step meanwhile; "
            )

    def test_a_call_that_returns_at_once_waits_for_nothing(self) -> None:
        tpu = loop()
        for i in range(4):
            tpu.on_main("$api.py:9 block_until_ready", i * STEP + LAUNCH + 120, 5)
        assert "sync_every_step" not in findings(tpu.trace())


def fallback(sends_back: bool = True) -> Tpu:
    """An early execution whose value is sent back to the device in the same annotation."""
    tpu = cut()
    if sends_back:
        tpu.on_main("PjRtComputationClient::TransferToDevice", STEP + 500, 20)
    return tpu


class TestCpuFallback:
    def test_a_round_trip_to_the_host_is_suspected(self) -> None:
        finding = findings(fallback().trace())["cpu_fallback"]
        assert finding.title == "Values are read and sent back, as by an operator on the CPU"
        assert ".item() and .to(device) look the same" in finding.advice
        assert finding.evidence["suspected"]
        assert (finding.evidence["round_trips"], us(finding.cost_ps)) == (1, 330)

    def test_a_read_alone_is_not_a_round_trip(self) -> None:
        assert "cpu_fallback" not in findings(fallback(sends_back=False).trace())

    def test_a_read_that_the_script_asks_for_is_not_an_operators(self) -> None:
        """`print` and `.cpu()` synchronise in a call of their own."""
        tpu = fallback()
        tpu.on_main("SyncTensorsGraph", STEP + 189, 6)
        by_id = findings(tpu.trace())
        assert "cpu_fallback" not in by_id
        assert "take print or .cpu() out of Training_Step/forward" in by_id["early_sync"].advice

    @pytest.mark.parametrize(("distance", "is_operators"), [(300, True), (1300, False)])
    def test_a_constant_that_is_sent_later_is_not_an_operators_result(
        self, distance: int, is_operators: bool
    ) -> None:
        """As an optimizer sends its constants; only counters show that an operator may take longer."""
        tpu = Tpu()
        tpu.step(0, 5000, 5)
        tpu.launch(100, (110, 10), (130, 300), program="part(9)")
        tpu.on_main("PjRtComputationClient::TransferFromDevice", 110, 330)
        tpu.on_main("PjRtComputationClient::TransferToDevice", 440 + distance, 20)
        tpu.launch(4000, (4010, 20), (4050, 400), by="marker")
        assert ("cpu_fallback" in findings(tpu.trace())) == is_operators
        counted = findings(tpu.trace(), Sidecars(Metrics("m.txt", {"aten::svd": 3}, {})))["cpu_fallback"]
        assert counted.evidence["round_trips"] == 1

    def test_a_metrics_report_decides(self) -> None:
        counters = {"aten::_local_scalar_dense": 9, "xla::mm": 4}
        assert "cpu_fallback" not in findings(fallback().trace(), Sidecars(Metrics("m.txt", counters, {})))
        by_id = findings(loop().trace(), Sidecars(Metrics("m.txt", {"aten::special_i1": 3, **counters}, {})))
        assert by_id["cpu_fallback"].title == "aten::special_i1 runs on the CPU"
        assert by_id["cpu_fallback"].evidence["operators"] == {"special_i1": 3}
        # The cost of the calls is unknown.
        assert (by_id["cpu_fallback"].severity, by_id["cpu_fallback"].gain) == ("info", None)
        assert "counts 3 calls since the script began of" in by_id["cpu_fallback"].detail

    def test_counters_that_torch_compile_cleared_do_not_decide(self) -> None:
        cleared = {"DynamoExtractCompiledGraph": 2}
        assert findings(fallback().trace(), Sidecars(Metrics("m.txt", cleared, {})))["cpu_fallback"].evidence[
            "suspected"
        ]
        sidecars = Sidecars(Metrics("m.txt", {"aten::i0": 3, **cleared}, {}))
        finding = findings(loop().trace(), sidecars)["cpu_fallback"]
        assert "counts at least 3 calls" in finding.detail

    def test_operators_before_the_capture_do_not_count(self) -> None:
        before = {"aten::i0": 3, "aten::i1": 1}
        after = dict(before)
        sidecars = Sidecars(metrics=Metrics("after.txt", after, {}), before=Metrics("before.txt", before, {}))
        assert "cpu_fallback" not in findings(fallback().trace(), sidecars)
        after.update({"aten::i0": 5, "aten::i1": 2})
        finding = findings(fallback().trace(), sidecars)["cpu_fallback"]
        assert finding.title == "aten::i0, aten::i1 run on the CPU"
        assert "counts 3 calls in the capture of" in finding.detail
        assert finding.evidence["operators"] == {"i0": 2, "i1": 1}

    def test_cuts_of_an_operator_on_the_cpu_are_not_also_early_syncs(self) -> None:
        """Each mistake is reported once; a cut that sends nothing back remains an early sync."""
        assert "early_sync" not in findings(fallback().trace())
        tpu = fallback()
        tpu.on_main("loss", 2 * STEP + 300, 350)
        tpu.launch(2 * STEP + 320, (2 * STEP + 330, 10), (2 * STEP + 340, 30), program="part(9)")
        tpu.on_main("PjRtComputationClient::TransferFromDevice", 2 * STEP + 345, 40)
        by_id = findings(tpu.trace())
        assert (by_id["cpu_fallback"].evidence["round_trips"], us(by_id["cpu_fallback"].cost_ps)) == (1, 330)
        assert (by_id["early_sync"].evidence["early_syncs"], by_id["early_sync"].title) == (
            1,
            "A read inside loss in step 7 splits the step",
        )

    def test_cuts_without_a_round_trip_may_be_caused_by_operators_on_the_cpu(self) -> None:
        sidecars = Sidecars(Metrics("m.txt", {"aten::special_i1": 3}, {}))
        assert findings(cut().trace(), sidecars)["early_sync"].advice.startswith(
            "Replace the operator that runs on the CPU, or keep the value on the device: "
        )


def test_the_case_study() -> None:
    by_id = findings(demo("synthetic_case_study_8_tpu_cores"))
    assert by_id["recompilation"].title == "SyncTensorsGraph.42210 is compiled in step 1209"
    assert us(by_id["recompilation"].evidence["compile_ps"]) == 318407
    assert by_id["early_sync"].title == "A StepMarker and a read inside text_encoder split the step"
    assert by_id["early_sync"].evidence["annotation"] == "Training_Step/forward/text_encoder"
    assert "sync_every_step" not in by_id


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("../pairs/tx_print_tensor_bad", {"early_sync": "A read inside every step splits it"}),
        ("../pairs/tx_infer_cpu_bad", {}),
        ("tiny_dynamic", {"recompilation": "3 compilations after warm-up in steps 3, 6 and 9"}),
        ("tiny_early_item", {"early_sync": "2 reads inside forward in every step split the step"}),
        ("tiny_coldstart", {}),
    ],
)
def test_graphs_of_real_captures(shared_traces: Path, folder: str, expected: dict[str, str]) -> None:
    by_id = findings(real_trace(shared_traces / "torch_xla" / folder))
    titles = {
        id_: finding.title
        for id_, finding in by_id.items()
        if id_ in ("recompilation", "early_sync", "cpu_fallback")
    }
    assert titles == expected
