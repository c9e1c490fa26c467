"""Findings about graphs: compiled again, cut, run on the CPU, broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import real_trace
from launching import Tpu, demo
from loops import LAUNCH, STEP, findings, loop, us

from tb_xla_insights.analysis.beside import Beside, Block, GraphBreaks, Metrics


def cut(read: bool = True) -> Tpu:
    """Step 6 of the loop launches within `forward`, and reads a value, after which the device idles for 330 us."""
    made = loop(device=400)
    made.on_main("forward", STEP + 180, 450)
    made.launch(STEP + 190, (STEP + 200, 10), (STEP + 220, 200), program="part(9)")
    if read:
        made.on_main("PjRtComputationClient::TransferFromDevice", STEP + 415, 10)
    return made


class TestEarlySync:
    def test_a_debug_log_names_the_line(self) -> None:
        """Five executions in order; the second, the early one, has a graph and a frame of its own."""
        frames = ["sync (train.py:1)", "step (train.py:72)", *["sync (train.py:1)"] * 3]
        graphs = ["a", "b", "a", "a", "a"]
        log = [Block(graph, "x", (frame,), "e", 1) for graph, frame in zip(graphs, frames, strict=True)]
        found = findings(cut().trace(), Beside(executions=log))["early_sync"]
        assert found.evidence["frame"] == "step (train.py:72)"
        assert "at step (train.py:72)" in found.advice

    def test_a_sync_that_is_followed_by_a_read_costs_the_gap_after_it(self) -> None:
        found = findings(cut().trace())["early_sync"]
        assert us(found.cost_ps) == 1750 - 1420
        assert found.title == "forward is cut by a read in step 6"
        assert found.evidence["annotation"] == "Training_Step/forward"
        assert ".item()" in found.advice

    def test_without_the_read_nothing_is_accused(self) -> None:
        assert "early_sync" not in findings(cut(read=False).trace())

    def test_its_idle_time_is_not_counted_as_graph_building_too(self) -> None:
        early, usual = findings(cut().trace()), findings(cut(read=False).trace())
        assert usual["tracing_bound"].cost_ps - early["tracing_bound"].cost_ps > 300 * 10**6

    def test_a_step_marker_inside_an_annotation(self) -> None:
        made = loop(device=400)
        made.on_main("forward", STEP + 180, 450)
        made.launch(STEP + 190, (STEP + 200, 10), (STEP + 220, 200), program="part(9)", by="marker")
        found = findings(made.trace())["early_sync"]
        assert found.title == "forward is cut by a StepMarker in step 6"
        assert "mark_step()" in found.advice

    def test_a_marker_on_the_backward_pass_s_thread_is_none_of_the_training_loop(self) -> None:
        """Graphs of torch.compile run there in this session."""
        found = findings(demo("torch_xla_dynamo_graph_break"))["early_sync"]
        assert found.title.startswith("backward is cut by a StepMarker")
        assert "Remove the mark_step()" not in found.advice
        assert "torch.compile" in found.advice

    def test_all_places_are_named(self) -> None:
        made = cut()
        made.on_main("loss", 2 * STEP + 300, 350)
        made.launch(2 * STEP + 320, (2 * STEP + 330, 10), (2 * STEP + 340, 30), program="part(9)")
        made.on_main("PjRtComputationClient::TransferFromDevice", 2 * STEP + 345, 40)
        found = findings(made.trace())["early_sync"]
        assert found.title == "forward and loss are cut by a read in steps 6 and 7"
        assert "out of Training_Step/forward and Training_Step/loss, " in found.advice


def with_reads(steps: int) -> Tpu:
    """Reads after the marker in the first steps of the loop: no early executions."""
    made = loop()
    for i in range(steps):
        made.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + LAUNCH + 20, 40)
    return made


class TestSyncEveryStep:
    def test_reads_in_half_of_the_steps(self) -> None:
        found = findings(with_reads(2).trace())["sync_every_step"]
        assert (found.severity, found.evidence["steps_with_reads"]) == ("info", 2)
        assert "early_sync" not in findings(with_reads(4).trace())

    def test_reads_while_the_device_works_cost_nothing(self) -> None:
        made = loop()
        for i in range(4):
            made.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + LAUNCH + 100, 40)
        assert "; no device idles in them, not" in findings(made.trace())["sync_every_step"].detail

    def test_reads_in_fewer_are_none(self) -> None:
        assert "sync_every_step" not in findings(with_reads(1).trace())


def fallback(back: bool = True) -> Tpu:
    """An early execution whose value comes back to the device in the same annotation."""
    made = cut()
    if back:
        made.on_main("PjRtComputationClient::TransferToDevice", STEP + 500, 20)
    return made


class TestCpuFallback:
    def test_a_value_that_goes_to_the_host_and_back_is_suspected(self) -> None:
        found = findings(fallback().trace())["cpu_fallback"]
        assert found.title.startswith("Suspected")
        assert found.evidence["suspected"]
        assert (found.evidence["round_trips"], us(found.cost_ps)) == (1, 330)

    def test_a_read_alone_is_none(self) -> None:
        assert "cpu_fallback" not in findings(fallback(back=False).trace())

    def test_a_metrics_report_decides(self) -> None:
        counters = {"aten::_local_scalar_dense": 9, "xla::mm": 4}
        assert "cpu_fallback" not in findings(fallback().trace(), Beside(Metrics("m.txt", counters, {})))
        found = findings(loop().trace(), Beside(Metrics("m.txt", {"aten::special_i1": 3, **counters}, {})))
        assert found["cpu_fallback"].title == "aten::special_i1 runs on the CPU"
        assert found["cpu_fallback"].evidence["operators"] == {"special_i1": 3}
        # Nothing tells what the calls cost.
        assert (found["cpu_fallback"].severity, found["cpu_fallback"].gain) == ("info", None)
        assert "counts 3 calls since the script began of" in found["cpu_fallback"].detail

    def test_what_ran_before_the_capture_is_none_of_it(self) -> None:
        before, after = ({"aten::i0": 3, "aten::i1": number} for number in (1, 1))
        beside = Beside(metrics=Metrics("after.txt", after, {}), before=Metrics("before.txt", before, {}))
        assert "cpu_fallback" not in findings(fallback().trace(), beside)
        after.update({"aten::i0": 5, "aten::i1": 2})
        found = findings(fallback().trace(), beside)["cpu_fallback"]
        assert found.title == "aten::i0, aten::i1 run on the CPU"
        assert "counts 3 calls in the capture of" in found.detail
        advice = findings(fallback().trace(), beside)["early_sync"].advice
        assert advice.startswith(
            "Replace the operator that runs on the CPU, or keep the value on the device: "
        )
        assert found.evidence["operators"] == {"i0": 2, "i1": 1}


def compiled(graphs: int) -> Tpu:
    """Steps of several dynamo graphs, each launched once."""
    made = Tpu()
    for i in range(3):
        made.step(i * STEP, STEP, 5 + i)
        for k in range(graphs):
            at = i * STEP + 50 + k * 200
            made.launch(at, (at + 6, 10), (at + 30, 40 + 20 * k), by="dynamo", program=f"graph{k}({k + 1})")
    return made


class TestGraphBreaks:
    def test_more_graphs_than_forward_and_backward_are_suspected(self) -> None:
        found = findings(compiled(4).trace())["graph_breaks"]
        assert found.evidence["suspected"]
        assert found.evidence["graphs_per_step"] == 4
        # The two graphs with most device time are forward and backward; gaps before the other two count.
        assert found.cost_ps == sum(it.end_ps - it.start_ps for it in found.windows)
        assert len(found.windows) == 3 + 2

    def test_two_graphs_are_usual(self) -> None:
        assert "graph_breaks" not in findings(compiled(2).trace())

    def test_dynamos_explanation_decides(self) -> None:
        whole = Beside(breaks=GraphBreaks("dynamo_explain.txt", 1, 0))
        assert "graph_breaks" not in findings(compiled(4).trace(), whole)
        reason: dict[str, str | None] = {"reason": "Tensor.item()", "place": "train.py:9 in forward"}
        found = findings(compiled(2).trace(), Beside(breaks=GraphBreaks("d.txt", 2, 1, [reason])))[
            "graph_breaks"
        ]
        assert found.title == "torch.compile breaks the graph once"
        assert found.detail.endswith(" No more than two dynamo graphs run in a step of the capture.")
        assert "train.py:9" in found.advice
        assert found.step_if_fixed_ps is None


def test_the_case_study() -> None:
    found = findings(demo("synthetic_case_study_8_tpu_cores"))
    assert found["recompilation"].title == "SyncTensorsGraph.42210 is compiled in step 1209"
    assert us(found["recompilation"].evidence["compile_ps"]) == 318407
    assert found["early_sync"].title == "text_encoder is cut by a StepMarker in step 1211"
    assert found["early_sync"].evidence["annotation"] == "Training_Step/forward/text_encoder"
    assert "sync_every_step" not in found


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("tiny_dynamic", {"recompilation": "3 compilations after warm-up in steps 3, 6 and 9"}),
        ("tiny_early_item", {"early_sync": "forward is cut 12 times by a read in every step"}),
        ("tiny_coldstart", {}),
    ],
)
def test_graphs_of_real_captures(shared_traces: Path, folder: str, expected: dict[str, str]) -> None:
    found = findings(real_trace(shared_traces / "torch_xla" / folder))
    told = {
        id_: it.title for id_, it in found.items() if id_ in ("recompilation", "early_sync", "cpu_fallback")
    }
    assert told == expected
