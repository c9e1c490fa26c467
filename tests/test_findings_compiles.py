"""The finding about graphs that are compiled again."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Core, capture, real_trace, session, thread
from graphs import Framework, Graph, compiling
from launching import Tpu, demo
from loops import LAUNCH, STEP, findings, loop, us

from tb_xla_insights.analysis.findings import Finding, find_findings
from tb_xla_insights.analysis.sidecars import DebugLogBlock, Sidecars
from tb_xla_insights.trace.model import SessionTrace

WEIGHTS = ("f32[64,64]", "f32[64]", "f32[8]")
BASE = Graph(WEIGHTS, ["dot", 1])


def with_compile(step: int, first: int = 5) -> Tpu:
    """The loop with 400 us of compiling before the launch of one step, in one of its gaps."""
    made = loop(first=first)
    made.on_main(
        "XLAGraphExecutor::Compile", (step - first) * STEP + LAUNCH - 410, 400, graph_hash=f"{step:08x}"
    )
    return made


class TestRecompilation:
    def test_a_compilation_after_warm_up_costs_the_idle_time_in_it(self) -> None:
        found = findings(with_compile(6).trace())["recompilation"]
        assert us(found.cost_ps) == 400
        assert found.severity == "warning"
        assert found.title == "A graph is compiled in step 6"
        assert (found.evidence["graphs"], found.evidence["steps"]) == (["00000006"], [6])
        assert us(found.step_if_fixed_ps) == 1000 - 400 / 4
        [window] = found.windows
        assert (us(window.start_ps), us(window.end_ps)) == (1290, 1690)

    def test_a_step_that_compiles_twice_is_named_once(self) -> None:
        made = with_compile(6)
        made.on_main("XLAGraphExecutor::Compile", STEP + LAUNCH - 600, 100, graph_hash="0000000a")
        found = findings(made.trace())["recompilation"]
        assert found.title == "2 compilations after warm-up in step 6"
        assert found.evidence["steps"] == [6]

    def test_warm_up_is_none(self) -> None:
        """The same, in step 1."""
        assert "recompilation" not in findings(with_compile(1, first=0).trace())

    def test_a_cause_beside_the_capture_is_told(self) -> None:
        beside = Sidecars(
            compilations=[DebugLogBlock("00000006", "most things", ("train (train.py:9)",), "log.txt", 1)]
        )
        found = findings(with_compile(6).trace(), beside)["recompilation"]
        assert "train (train.py:9)" in found.advice
        assert found.evidence["cause"] == "most things"

    def test_a_compilation_that_no_run_came_before_costs_steps_though_no_idle_time(self) -> None:
        """400 us of a mean step of 1,000 in one of four steps."""
        found = findings(with_compile(5).trace())["recompilation"]
        assert (found.cost_ps, found.gain, found.severity) == (0, 0.1, "warning")

    def test_what_happened_once_is_never_critical(self) -> None:
        made = loop()
        made.on_main("XLAGraphExecutor::Compile", 2 * STEP + 10, 600)
        made.step(4 * STEP, 9 * STEP, 9)  # a long step without a run of its own
        made.on_main("XLAGraphExecutor::Compile", 4 * STEP + 10, 8900)
        found = findings(made.trace())["recompilation"]
        assert (found.recurs, found.severity) == ("some_steps", "critical")
        made = loop(steps=2)
        made.on_main("XLAGraphExecutor::Compile", STEP + 5, LAUNCH - 5)
        found = findings(made.trace())["recompilation"]
        assert (found.recurs, found.gain, found.severity) == ("once", 0.3475, "warning")


def finding(of: SessionTrace) -> Finding:
    return next(it for it in find_findings(of) if it.id == "recompilation")


CHANGES = {
    "same_hlo": Graph(WEIGHTS, ["dot", 1]),
    "constants": Graph(WEIGHTS, ["dot", 2]),
    "code": Graph(WEIGHTS, ["sort", 1]),
    "grows": Graph(["f32[64,64]", "f32[64]", "f32[9]"]),
    "shrinks": Graph(["f32[64,64]", "f32[64]", "f32[7]"]),
    "shape": Graph(["f32[64,64]", "f32[64]", "f32[2,4]"]),
    "dtype": Graph(["f32[64,64]", "f32[64]", "bf16[8]"]),
    "parameters": Graph([*WEIGHTS, "f32[]"]),
    "other_graph": Graph(["s64[3]"] * 9),
}
"""Graphs by what is new in them against BASE."""

WORDS = {
    "same_hlo": "outside of the loop",
    "constants": "constant of the graph",
    "code": "condition in Python",
    "grows": "buckets",
    "shrinks": "last batch",
    "shape": "buckets",
    "dtype": "(f32 became bf16)",
    "parameters": "before the first step",
    "other_graph": "an evaluation, a branch",
}
"""What the advice must have, by change."""

OTHERS = {
    "jax": ("torch", "XLA_", "mark_", "drop_last", "train()"),
    "torch_xla": ("jax", "jit", "torch.compile", "mark_dynamic"),
    "dynamo": ("jax", "jit", "lazy"),
}
"""Words of other frameworks."""


class TestWhatIsNew:
    @pytest.mark.parametrize("framework", OTHERS)
    @pytest.mark.parametrize("change", CHANGES)
    def test_it_chooses_the_advice_in_the_words_of_the_captures_own_framework(
        self, tmp_path: Path, change: str, framework: Framework
    ) -> None:
        found = finding(compiling(tmp_path, [CHANGES[change]], [BASE], framework))
        assert found.evidence["changes"] == {change: 1}
        assert WORDS[change] in found.advice
        assert not [word for word in OTHERS[framework] if word in found.advice]
        assert ". " not in found.advice
        assert found.detail.count(". ") == 1

    def test_a_dimension_that_changes_can_be_marked_only_under_torch_compile(self, tmp_path: Path) -> None:
        for framework in ("torch_xla", "dynamo", "jax"):
            found = finding(compiling(tmp_path, [CHANGES["grows"]], [BASE], framework))
            assert ("mark_dynamic" in found.advice) == (framework == "dynamo")

    def test_what_is_new_is_in_the_detail_and_against_which_graph_in_the_evidence(
        self, tmp_path: Path
    ) -> None:
        found = finding(compiling(tmp_path, [CHANGES["grows"]], [BASE]))
        told = "f32[8] became f32[9] (parameter 2)"
        assert found.detail.endswith(f" A parameter has grown: {told}.")
        assert found.evidence["difference"] == f"{told}, 1 of 3 parameters differs from graph.1(1)"

    def test_of_several_what_takes_most_time_counts(self, tmp_path: Path) -> None:
        """Every graph but the last has grown."""
        graphs = [Graph([*WEIGHTS, f"s64[{size}]"]) for size in (2, 3, 4)]
        found = finding(
            compiling(tmp_path, [*graphs, Graph([*WEIGHTS, "s64[4]"])], [Graph([*WEIGHTS, "s64[1]"])])
        )
        assert found.evidence["changes"] == {"grows": 3, "same_hlo": 1}
        assert (
            "In 3 of them a parameter has grown: in the longest, s64[1] became s64[2] (parameter 3);"
            in found.detail
        )

    def test_nothing_is_guessed_where_nothing_is_known(self, tmp_path: Path) -> None:
        found = finding(compiling(tmp_path, [BASE], hlo=False))
        assert found.evidence["changes"] == {}
        assert found.advice.startswith("Find what is new in the graph of step 5")


class TestCutByTheCapture:
    def loop(self, *parts: tuple[int, int]) -> SessionTrace:
        """Two steps with parts of a compilation (start, length) on the compiler's threads."""
        steps = [
            ("Training_Step", start, 100, {"_r": 1, "step_num": 5 + start // 100}) for start in (200, 300)
        ]
        return session(
            capture(
                thread("python", *steps, role="driving"),
                thread(
                    "tf_xla-cpu-codegen/1",
                    *(("FusionCompiler::Compile", *part) for part in parts),
                    role="compiler",
                ),
                Core([("dot", 220, 50), ("dot", 320, 50)]),
            )
        )

    def test_an_unfinished_one_is_one_and_said_to_be_unfinished(self) -> None:
        found = finding(self.loop((420, 10), (440, 10), (490, 10)))
        assert found.title == "A graph is compiled at the capture's end"
        assert found.brief == "a compile at the capture's end"
        assert found.detail.startswith("Compiling takes ")
        assert " (unfinished); no device waits" in found.detail
        assert (found.evidence["compile_ps"], found.evidence["unfinished"]) == (80, 1)
        assert found.advice.startswith("Capture from before it begins until it is over")
        [window] = found.windows
        assert (window.start_ps, window.end_ps) == (220, 300)  # the capture begins at 200

    def test_one_that_had_begun_before(self) -> None:
        found = finding(self.loop((0, 10), (40, 10), (90, 10)))
        assert found.title == "A graph is compiled at the capture's start"
        assert " (begun before the capture); " in found.detail
        assert (found.evidence["compile_ps"], found.evidence["begun_before"]) == (100, 1)

    def test_at_both_ends(self) -> None:
        found = finding(self.loop((0, 10), (40, 10), (490, 10)))
        assert found.title == "2 compilations after warm-up"
        assert found.detail.startswith("2 compilations at the capture's start and at the capture's end take ")
        assert " (1 begun before the capture, 1 unfinished); " in found.detail


def test_a_real_capture_of_shapes_that_grow_cut_while_it_compiles(shared_traces: Path) -> None:
    found = finding(session(real_trace(shared_traces / "torch_xla/dynamic_server")))
    assert (found.evidence["compiles"], found.evidence["unfinished"], found.evidence["changes"]) == (
        5,
        1,
        {"grows": 4},
    )
    assert found.recurs == "some_steps"
    assert found.detail.startswith(
        "5 compilations in steps 6, 9 and 12, outside of whole steps and at the capture's end take "
    )
    assert "s64[8,35] became s64[8,36] (parameters 0 and 29)" in found.detail
    assert found.advice.startswith("Pad the parameter that grows to a few fixed lengths (buckets)")


def test_the_demo_with_a_batch_of_another_length() -> None:
    found = finding(session(demo("torch_xla_dynamic_shapes")))
    assert found.detail.endswith(" A parameter has grown: s64[4,16] became s64[4,24] (parameters 12 and 17).")
    assert "buckets" in found.advice


def test_the_case_study_without_hlo_says_where_to_look() -> None:
    found = finding(session(demo("synthetic_case_study_8_tpu_cores")))
    assert (found.title, found.evidence["changes"]) == ("SyncTensorsGraph.42210 is compiled in step 1209", {})
    assert "Find what is new in the graph of step 1209" in found.advice
