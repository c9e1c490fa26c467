"""Compilations: their graph, step and annotation, and whether they are warm-up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import capture, real_trace, thread
from launching import Tpu, demo
from synthetic import case_study

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.compile_table import compiles_report
from tb_xla_insights.analysis.sidecar_contents import Sidecars
from tb_xla_insights.report.compile_views import counted_metrics
from tb_xla_insights.report.debug_text import parse_debug
from tb_xla_insights.report.metrics_text import parse_metrics

COMPILE = "XLAGraphExecutor::Compile"


def test_nested_events_and_helpers_within_count_once() -> None:
    trace = capture(
        thread("python", (COMPILE, 10, 80, {"graph_hash": "aa"}), ("PjRtComputationClient::Compile", 12, 70),
               (COMPILE, 200, 50, {"graph_hash": "bb"}), role="driving"),
        thread("tf_xla-cpu-codegen/1", ("JitCompiler::Compile", 20, 30), ("JitCompiler::Compile", 60, 29),
               role="compiler"),
    )  # fmt: skip
    compiles = find_compilations(trace)
    assert compiles.graph_hash == ["aa", "bb"]
    assert trace.duration_ps[compiles.row].tolist() == [80, 50]


def test_module_and_program_are_those_of_the_requested_launch() -> None:
    loop = Tpu()
    loop.step(0, 1000, 7)
    loop.on_main("forward", 20, 300)
    loop.main.append(("SyncTensorsGraphInternal", 40 * 10**6, 200 * 10**6, {}))
    loop.on_main(COMPILE, 50, 150, graph_hash="cc")
    loop.launch(210, (260, 10), (300, 50), program="part(18446744073709551615)")
    [row] = compiles_report(loop.trace())
    assert (row["module"], row["program_id"], row["graph"]) == ("part", "18446744073709551615", "cc")
    assert (row["step"], row["step_number"], row["annotation"]) == (0, 7, "Training_Step/forward")


def test_compilation_in_a_backward_pass_belongs_to_the_open_annotation() -> None:
    trace = capture(
        thread("python", ("Training_Step", 0, 100, {"_r": 1, "step_num": 4}), ("loss", 5, 5), ("backward", 20, 60),
               role="driving"),
        thread("pt_autograd_0", (COMPILE, 30, 40), role="autograd"),
    )  # fmt: skip
    [row] = compiles_report(trace)
    assert row["annotation"] == "Training_Step/backward"


class TestWarmUp:
    @pytest.mark.parametrize(("number", "warm"), [(0, True), (1, True), (2, False)])
    def test_steps_below_two(self, number: int, warm: bool) -> None:
        trace = capture(
            thread("python", ("Training_Step", 0, 100, {"_r": 1, "step_num": number}), (COMPILE, 5, 50))
        )
        assert find_compilations(trace).warm_up.tolist() == [warm]

    def test_without_step_numbers_the_first_compilation_of_each_module_is_warm_up(self) -> None:
        loop = Tpu()
        for at, module in ((0, "a"), (1000, "b"), (2000, "a")):
            loop.main.append(("SyncTensorsGraphInternal", at * 10**6, 300 * 10**6, {}))
            loop.on_main(COMPILE, at + 10, 200, graph_hash=f"{at}")
            loop.launch(at + 220, (at + 310, 10), (at + 330, 50), program=f"{module}({at + 1})")
        compiles = find_compilations(loop.trace())
        assert compiles.module == ["a", "b", "a"]
        assert compiles.warm_up.tolist() == [True, True, False]


def test_case_study() -> None:
    truth = case_study.truth()
    [row] = compiles_report(demo("synthetic_case_study_8_tpu_cores"))
    assert (row["start_ps"], row["duration_ps"]) == (truth.compile_start_ps, truth.compile_ps)
    assert (row["step_number"], row["warm_up"]) == (truth.recompiled_step, False)
    assert (row["graph_hash"], row["module"]) == (truth.graph_hash, truth.recompiled_module)


def test_variants_of_a_graph_are_related_and_causes_come_from_the_log(shared_traces: Path) -> None:
    folder = shared_traces / "torch_xla/tiny_dynamic"
    log = parse_debug((folder / "stderr.txt").read_text())
    rows = compiles_report(real_trace(folder), Sidecars(compilations=log.compilations).causes)
    assert [row["step_number"] for row in rows] == [3, 6, 9]
    assert {row["module"] for row in rows} == {"SyncTensorsGraph.290"}
    hashes = {row["graph_hash"] for row in rows}
    assert all(set(row["graphs_of_same_name"]) == hashes - {row["graph_hash"]} for row in rows)
    assert {row["cause"] for row in rows} == {"torch_xla.sync when exiting a profiler StepTrace region"}
    assert all((row["frame"] or "").startswith("run_step (") for row in rows)
    assert not any(row["warm_up"] for row in rows)


def test_counts_agree_with_the_metrics_report(shared_traces: Path) -> None:
    """The capture has every step from the first on."""
    folder = shared_traces / "torch_xla/tiny_coldstart"
    metrics = parse_metrics((folder / "metrics_report.txt").read_text())
    compiles = find_compilations(real_trace(folder))
    assert metrics
    assert len(compiles) == metrics.counters["UncachedCompile"] == metrics.metrics["CompileTime"]["samples"]
    assert compiles.warm_up.all()


@pytest.mark.parametrize(
    ("compiled", "cached", "fallbacks", "text"),
    [
        (
            3,
            1200,
            {"special_i1": 12, "nms": 1},
            "3 graphs compiled, 1 200 taken from the cache. Operators on the CPU: special_i1 12×, nms 1×.",
        ),
        (1, None, {}, "1 graph compiled. No operator ran on the CPU."),
        (None, None, None, ""),
    ],
)
def test_counts_of_a_metrics_report_in_words(
    compiled: int | None, cached: int | None, fallbacks: dict[str, int] | None, text: str
) -> None:
    fallback_calls = None if fallbacks is None else sum(fallbacks.values())
    figures = {"uncached_compiles": compiled, "cached_compiles": cached, "fallback_calls": fallback_calls}
    row = {"operation": "to_device", "metrics": 1, "since_earlier_report": None, "trace": 2, "agrees": False}
    metrics: Any = {
        "file": "m.txt",
        "figures": {**figures, "to_device_ps": 5},
        "fallbacks": fallbacks or {},
        "against_trace": [row],
    }
    counted = counted_metrics(metrics)
    assert counted is not None
    assert counted["text"].replace("\u202f", " ") == text
    assert counted["rows"] == [
        {**row, "time_ps": 5, "label": "Transfers to the device", "agreement": "disagree"}
    ]
