"""The finding about graphs that are compiled again."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Core, capture, real_trace, session, thread
from graphs import Framework, Graph, compiling
from launching import Tpu, demo
from loops import LAUNCH, STEP, findings, loop, us

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.findings import Finding, find_findings
from tb_xla_insights.analysis.findings.compile_advice import advise_unknown_change, location_text
from tb_xla_insights.analysis.findings.compile_places import compiling_function
from tb_xla_insights.analysis.sidecar_contents import DebugLogBlock, Sidecars
from tb_xla_insights.report.compile_views import compiles
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.trace.model import SessionTrace

WEIGHTS = ("f32[64,64]", "f32[64]", "f32[8]")
BASE = Graph(WEIGHTS, ["dot", 1])


def with_compile(step: int, first: int = 5) -> Tpu:
    """The loop with 400 us of compiling before the launch of one step: in a gap, unless it is the first step."""
    tpu = loop(first=first)
    tpu.on_main(
        "XLAGraphExecutor::Compile", (step - first) * STEP + LAUNCH - 410, 400, graph_hash=f"{step:08x}"
    )
    return tpu


class TestRecompilation:
    def test_a_compilation_after_warm_up_costs_the_idle_time_in_it(self) -> None:
        finding = findings(with_compile(6).trace())["recompilation"]
        assert us(finding.cost_ps) == 400
        assert finding.severity == "warning"
        assert finding.title == "A graph is compiled in step 6"
        assert (finding.evidence["graphs"], finding.evidence["steps"]) == (["00000006"], [6])
        assert us(finding.step_if_fixed_ps) == 1000 - 400 / 4
        [window] = finding.windows
        assert (us(window.start_ps), us(window.end_ps)) == (1290, 1690)

    def test_a_step_that_compiles_twice_is_named_once(self) -> None:
        tpu = with_compile(6)
        tpu.on_main("XLAGraphExecutor::Compile", STEP + LAUNCH - 600, 100, graph_hash="0000000a")
        finding = findings(tpu.trace())["recompilation"]
        assert finding.title == "2 compilations after warm-up in step 6"
        assert finding.evidence["steps"] == [6]

    def test_the_advice_names_a_step_only_if_all_compilations_are_in_it(self) -> None:
        tpu = with_compile(6)
        for at in (-700, 4 * STEP + 100):
            tpu.on_main("XLAGraphExecutor::Compile", at, 100, graph_hash=f"{at:08x}")
        finding = findings(tpu.trace())["recompilation"]
        assert "in step 6 and outside of whole steps" in finding.detail
        assert finding.advice.startswith("Find what is new in the graph (a last batch")

    def test_warm_up_is_not_reported(self) -> None:
        """The same compilation, in step 1."""
        assert "recompilation" not in findings(with_compile(1, first=0).trace())

    def test_the_cause_from_a_sidecar_file_is_reported(self) -> None:
        sidecars = Sidecars(
            compilations=[DebugLogBlock("00000006", "most things", ("train (train.py:9)",), "log.txt", 1)]
        )
        finding = findings(with_compile(6).trace(), sidecars)["recompilation"]
        assert "train (train.py:9)" in finding.advice
        assert finding.evidence["cause"] == "most things"

    def test_a_compilation_before_the_first_run_has_a_gain_but_no_idle_time(self) -> None:
        """400 us of a mean step of 1,000 in one of four steps."""
        finding = findings(with_compile(5).trace())["recompilation"]
        assert (finding.cost_ps, finding.gain, finding.severity) == (0, 0.1, "warning")

    def test_a_single_compilation_is_never_critical(self) -> None:
        """Two together can be."""
        tpu = loop()
        tpu.on_main("XLAGraphExecutor::Compile", 2 * STEP + 10, 600)
        tpu.step(4 * STEP, 9 * STEP, 9)  # a long step without a run
        tpu.on_main("XLAGraphExecutor::Compile", 4 * STEP + 10, 8900)
        finding = findings(tpu.trace())["recompilation"]
        assert (finding.recurs, finding.severity) == ("some_steps", "critical")
        tpu = loop(steps=2)
        tpu.on_main("XLAGraphExecutor::Compile", STEP + 5, LAUNCH - 5)
        finding = findings(tpu.trace())["recompilation"]
        assert (finding.recurs, finding.gain, finding.severity) == ("once", 0.3475, "warning")

    def test_several_compilations_without_steps_have_no_recurrence(self) -> None:
        """Each program runs once, so that nothing shows steps."""
        tpu = Tpu()
        for i in range(6):
            tpu.on_main("PjRtComputationClient::Compile", i * STEP + 200, 400)
            program = f"train({i + 7})" if i % 2 else f"other_{i}(1)"
            tpu.launch(i * STEP + 700, (i * STEP + 710, 5), (i * STEP + 720, 400), program=program)
        finding = findings(tpu.trace())["recompilation"]
        assert finding.title == "2 compilations after warm-up outside of steps"
        assert finding.recurs is None

    def test_steps_of_several_epochs_may_have_one_number(self) -> None:
        """The steps 7, 8, 7 and 8; all but the first compile."""
        tpu = loop()
        for name, _, _, stats in tpu.main:
            if name == "Training_Step":
                stats["step_num"] = 7 + (stats["step_num"] - 5) % 2
        for i in range(1, 4):
            tpu.on_main("XLAGraphExecutor::Compile", i * STEP + LAUNCH - 410, 400, graph_hash=f"{i:08x}")
        finding = findings(tpu.trace())["recompilation"]
        assert (finding.brief, finding.evidence["steps"]) == ("a compilation in steps 7, 8 and 8", [7, 8, 8])


def recompilation_of(compiled: SessionTrace) -> Finding:
    return next(finding for finding in find_findings(compiled.traces[0]) if finding.id == "recompilation")


CHANGES = {
    "same_hlo": Graph(WEIGHTS, ["dot", 1]),
    "constants": Graph(WEIGHTS, ["dot", 2]),
    "code": Graph(WEIGHTS, ["sort", 1]),
    "placement": Graph(WEIGHTS, ["dot @1", 1]),
    "grows": Graph(["f32[64,64]", "f32[64]", "f32[9]"]),
    "shrinks": Graph(["f32[64,64]", "f32[64]", "f32[7]"]),
    "shape": Graph(["f32[64,64]", "f32[64]", "f32[2,4]"]),
    "dtype": Graph(["f32[64,64]", "f32[64]", "bf16[8]"]),
    "parameters": Graph([*WEIGHTS, "f32[]"]),
    "fewer_parameters": Graph(WEIGHTS[:2]),
    "other_graph": Graph(["s64[3]"] * 9),
}
"""Graphs by their difference from BASE."""

WORDS = {
    "same_hlo": "the same",
    "placement": "in the same way in all steps",
    "constants": "constant of the graph",
    "code": "condition in Python",
    "grows": "buckets",
    "shrinks": "last batch",
    "shape": "buckets",
    "dtype": "(f32 became bf16)",
    "parameters": "before the first step",
    "fewer_parameters": "each mode of the step",
    "other_graph": "an evaluation, a branch",
}
"""Words that the advice must contain, by change."""

WORDS_OF_OTHER_FRAMEWORKS = {
    "jax": ("torch", "XLA_", "mark_", "drop_last", "train()"),
    "torch_xla": ("jax", "jit", "torch.compile", "mark_dynamic"),
    "dynamo": ("jax", "jit", "lazy"),
}
"""Words that the advice must not contain, by framework."""


class TestChangedGraphs:
    @pytest.mark.parametrize("framework", WORDS_OF_OTHER_FRAMEWORKS)
    @pytest.mark.parametrize("change", CHANGES)
    def test_the_change_decides_the_advice_for_the_captures_framework(
        self, tmp_path: Path, change: str, framework: Framework
    ) -> None:
        finding = recompilation_of(compiling(tmp_path, [CHANGES[change]], [BASE], framework))
        assert finding.evidence["changes"] == {change: 1}
        assert WORDS[change] in finding.advice
        assert not [word for word in WORDS_OF_OTHER_FRAMEWORKS[framework] if word in finding.advice]
        assert ". " not in finding.advice
        assert finding.detail.count(". ") == 1

    def test_each_index_is_a_graph_so_no_advice_runs_all_of_them_before_the_loop(
        self, tmp_path: Path
    ) -> None:
        before, *graphs = (Graph(WEIGHTS, ["dot", f"slice {index}"]) for index in (26, 27, 28))
        for framework in ("torch_xla", "dynamo"):
            finding = recompilation_of(compiling(tmp_path, graphs, [before], framework))
            assert finding.evidence["changes"] == {"slices": 2}
            assert (
                " In all of them only bounds of slices differ from an earlier program: in the longest, [26:27] became "
                "[27:28]."
            ) in finding.detail
            assert finding.advice.startswith("Index with a tensor")
            assert "before the loop" not in finding.advice

    def test_what_compiles_in_every_step_has_no_variants_to_run_before_the_loop(self, tmp_path: Path) -> None:
        before, *graphs = (Graph(WEIGHTS, [code]) for code in ("dot", "sort", "tanh"))
        assert recompilation_of(compiling(tmp_path, graphs, [before])).advice.startswith(
            "Take out what makes each step another graph: a condition in Python"
        )
        assert recompilation_of(compiling(tmp_path, graphs[:1], [before])).advice.startswith(
            "Run every variant"
        )

    def test_equal_programs_name_what_jax_may_not_know_and_the_call_that_tells(self, tmp_path: Path) -> None:
        advice = recompilation_of(compiling(tmp_path, [BASE], [BASE], "jax")).advice
        assert "another tree of arguments" in advice
        assert "created again" in advice
        assert "jax_explain_cache_misses" in advice

    def test_a_dimension_that_changes_can_be_marked_only_under_torch_compile(self, tmp_path: Path) -> None:
        for framework in ("torch_xla", "dynamo", "jax"):
            finding = recompilation_of(compiling(tmp_path, [CHANGES["grows"]], [BASE], framework))
            assert ("mark_dynamic" in finding.advice) == (framework == "dynamo")

    def test_the_change_is_in_the_detail_and_the_compared_graph_in_the_evidence(self, tmp_path: Path) -> None:
        finding = recompilation_of(compiling(tmp_path, [CHANGES["grows"]], [BASE]))
        sentence = "f32[8] became f32[9] (parameter 2)"
        assert finding.detail.endswith(f" A parameter has grown: {sentence}.")
        assert finding.evidence["difference"] == f"{sentence}, 1 of 3 parameters differs from graph.1(1)"

    def test_the_change_with_most_time_is_reported(self, tmp_path: Path) -> None:
        """Every graph but the last has grown."""
        graphs = [Graph([*WEIGHTS, f"s64[{size}]"]) for size in (2, 3, 4)]
        finding = recompilation_of(
            compiling(tmp_path, [*graphs, Graph([*WEIGHTS, "s64[4]"])], [Graph([*WEIGHTS, "s64[1]"])])
        )
        assert finding.evidence["changes"] == {"grows": 3, "same_hlo": 1}
        assert (
            "In 3 of them a parameter has grown: in the longest, s64[1] became s64[2] (parameter 3)."
            in finding.detail
        )

    def test_without_hlo_no_change_is_reported(self, tmp_path: Path) -> None:
        finding = recompilation_of(compiling(tmp_path, [BASE], hlo=False))
        assert finding.evidence["changes"] == {}
        assert finding.advice.startswith("Find what is new in the graph of step 5")

    def test_the_view_gives_the_same_advice_on_graphs_that_share_a_name(self, tmp_path: Path) -> None:
        capture_session = compiling(tmp_path, [BASE, Graph([*WEIGHTS, "s64[2]"])], hlo=False)
        advice = recompilation_of(capture_session).advice
        assert advice.startswith("Find what is new each time: ")
        for row in compiles(SessionView(capture_session))["compiles"]:
            assert row["advice"] == advice.replace("new", "new in Training_Step", 1)

    def test_the_place_follows_the_graph(self) -> None:
        advice = advise_unknown_change(location_text(None, None, "Training_Step"), "", variants=1)
        assert advice.startswith(
            "Find what is new in the graph (a last batch of another size, an evaluation, a branch) in Training_Step,"
        )


class TestCompilingFunction:
    def function_of(self, *names: str) -> str | None:
        """The text of the compiling function of a compilation in events of these names, the outermost first."""
        tpu = Tpu()
        tpu.step(0, 900, 5)
        for depth, name in enumerate(names):
            tpu.on_main(name, 10 + depth, 500 - 2 * depth)
        tpu.on_main("backend_compile_and_load", 100, 100)
        tpu.launch(700, (710, 20), (750, 100), by="marker")
        trace = tpu.trace()
        [row] = find_compilations(trace).row.tolist()
        frame = compiling_function(trace, row)
        return frame and frame.text

    def test_without_python_functions(self) -> None:
        assert self.function_of("PjitFunction(f)") is None

    def test_the_function_around_the_jitted_call(self) -> None:
        inner = ("PjitFunction(f)", "$pjit.py:9 cache_miss", "$compiler.py:1 compile")
        assert self.function_of("$train.py:7 step", *inner) == "step at train.py:7"
        assert self.function_of("$train.py:7 step", "forward", *inner) == "step at train.py:7"

    def test_the_first_function_of_a_library_in_the_annotation(self) -> None:
        names = (
            "$checkpointer.py:5 save",
            "$slicing.py:6 slice",
            "PjitFunction(slice)",
            "$pjit.py:9 cache_miss",
        )
        assert self.function_of(*names) == "save at checkpointer.py:5"


class TestCutByTheCapture:
    def session_with(self, *parts: tuple[int, int]) -> SessionTrace:
        """Two steps with parts of a compilation (start and length in ps) on a compiler's thread."""
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

    def test_an_unfinished_compilation_counts_and_is_marked(self) -> None:
        finding = recompilation_of(self.session_with((420, 10), (440, 10), (490, 10)))
        assert finding.title == "A graph is compiled at the capture's end"
        assert finding.brief == "a compilation at the capture's end"
        assert finding.detail.startswith("Compiling takes ")
        assert " (unfinished); no device idles" in finding.detail
        assert (finding.evidence["compile_ps"], finding.evidence["unfinished"]) == (80, 1)
        assert finding.advice.startswith("Capture from before it begins until it ends")
        [window] = finding.windows
        assert (window.start_ps, window.end_ps) == (220, 300)  # the capture begins at 200

    def test_a_compilation_that_began_before_the_capture(self) -> None:
        finding = recompilation_of(self.session_with((0, 10), (40, 10), (90, 10)))
        assert finding.title == "A graph is compiled at the capture's start"
        assert " (begun before the capture); " in finding.detail
        assert (finding.evidence["compile_ps"], finding.evidence["begun_before"]) == (100, 1)

    def test_at_both_ends(self) -> None:
        finding = recompilation_of(self.session_with((0, 10), (40, 10), (490, 10)))
        assert finding.title == "2 compilations after warm-up"
        assert finding.detail.startswith(
            "2 compilations at the capture's start and at the capture's end take "
        )
        assert " (1 begun before the capture, 1 unfinished); " in finding.detail


@pytest.mark.parametrize(
    ("folder", "change", "difference", "advice"),
    [
        ("pairs/jx_committed_bad", "placement", "only the placement of arrays differs from", "Place the arguments"),
        ("pairs/jx_pytree_bad", "same_hlo", "the HLO is that of", "Find out what is new to jax.jit"),
        ("pairs/tx_table_index_bad", "slices", "only bounds of slices differ from", "Index with a tensor"),
        ("pairs/tx_train_eval_bad", "fewer_parameters", "f32[] is gone (parameter 3), ", "Run each mode of the step"),
        ("other/jax0.10.2_orbax_save", "slices", "only bounds of slices differ from", "Run it once before the loop"),
    ],
)  # fmt: skip
def test_what_differs_in_real_captures(
    shared_traces: Path, folder: str, change: str, difference: str, advice: str
) -> None:
    finding = recompilation_of(session(real_trace(shared_traces / folder)))
    assert change in finding.evidence["changes"]
    assert finding.evidence["difference"].startswith(difference)
    assert finding.advice.startswith(advice)


def test_a_real_capture_of_shapes_that_grow_cut_while_it_compiles(shared_traces: Path) -> None:
    finding = recompilation_of(session(real_trace(shared_traces / "torch_xla/dynamic_server")))
    assert (finding.evidence["compiles"], finding.evidence["unfinished"], finding.evidence["changes"]) == (
        5,
        1,
        {"grows": 4},
    )
    assert finding.recurs == "some_steps"
    assert finding.detail.startswith(
        "5 compilations in steps 6, 9 and 12, outside of whole steps and at the capture's end take "
    )
    assert "s64[8,35] became s64[8,36] (parameters 0 and 29)" in finding.detail
    assert finding.advice.startswith("Pad the parameter that grows to a few fixed lengths (buckets)")


def test_the_demo_with_a_batch_of_another_length() -> None:
    finding = recompilation_of(session(demo("torch_xla_dynamic_shapes")))
    assert finding.detail.endswith(
        " A parameter has grown: s64[4,16] became s64[4,24] (parameters 12 and 17)."
    )
    assert "buckets" in finding.advice


def test_the_case_study_without_hlo_names_the_graphs_to_compare() -> None:
    finding = recompilation_of(session(demo("synthetic_case_study_8_tpu_cores")))
    assert (finding.title, finding.evidence["changes"]) == (
        "SyncTensorsGraph.42210 is compiled in step 1209",
        {},
    )
    assert "Find what is new in the graph of step 1209" in finding.advice
