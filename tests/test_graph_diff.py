"""The difference between a compiled graph and the nearest earlier graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import real_trace, session
from graphs import Graph, compiling, proto
from hypothesis import given
from hypothesis import strategies as st
from launching import demo

from tb_xla_insights.analysis.compiles.compilations import idle_time_per_compilation
from tb_xla_insights.analysis.compiles.compile_table import compiles_report
from tb_xla_insights.analysis.compiles.graph_diff import GraphDiff, find_graph_diffs
from tb_xla_insights.analysis.compiles.graph_words import difference_text, types_text
from tb_xla_insights.analysis.compiles.parameter_diff import ParameterDifference, differences_of
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report import compile_views
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.xplane.hlo import shape_text
from tb_xla_insights.xplane.program_digests import ProgramDigests, digest_program
from tb_xla_insights.xplane.proto.hlo_pb2 import HloProto, Shape

WEIGHTS = ("f32[64,64]", "f32[64]", "f32[8]")


def diffs(tmp_path: Path, *graphs: Graph, before: tuple[Graph, ...] = ()) -> list[GraphDiff]:
    [trace] = compiling(tmp_path, graphs, before).traces
    return find_graph_diffs(trace)


def change(tmp_path: Path, before: Graph, after: Graph) -> str | None:
    [diff] = diffs(tmp_path, after, before=(before,))
    return diff.change


class TestChange:
    def test_names_numbered_by_tensorflow(self, tmp_path: Path) -> None:
        first, second = (f"a_inference__train_{number}__XlaMustCompile_true.5" for number in (173, 264))
        before, after = Graph([*WEIGHTS, "f32[8]"], module=first), Graph([*WEIGHTS, "f32[9]"], module=second)
        assert change(tmp_path, before, after) == "grows"

    @pytest.mark.parametrize(
        ("before", "after", "expected"),
        [
            (["s64[4,16]"], ["s64[4,24]"], "grows"),
            (["s64[4,16]"], ["s64[3,16]"], "shrinks"),
            (["s64[4,16]"], ["s64[8,8]"], "shape"),
            (["s64[4,16]"], ["s64[64]"], "shape"),
            (["f32[4,16]"], ["bf16[4,16]"], "dtype"),
            (["f32[4,16]"], ["bf16[8,16]"], "shape"),
            # Damaged sizes: an ambiguous pattern would backtrack without end.
            (["f32[8,8,8]"], [f"f32[{(1 << 63) - 1},{(1 << 63) - 1},-1]"], "shape"),
            ([], ["f32[]"], "parameters"),
            (["f32[]"], [], "fewer_parameters"),
            (["f32[]"], ["f32[8]", "f32[]"], "parameters"),
            (["s64[4]"], ["s64[4]"], "same_hlo"),
        ],
    )
    def test_parameters(self, tmp_path: Path, before: list[str], after: list[str], expected: str) -> None:
        assert change(tmp_path, Graph([*WEIGHTS, *before]), Graph([*WEIGHTS, *after])) == expected

    @pytest.mark.parametrize(
        ("before", "after", "expected"),
        [
            (["dot", 1, "add"], ["dot", 1, "add"], "same_hlo"),
            (["dot", 1, "add"], ["dot", 2, "add"], "constants"),
            (["dot", 1, "add"], ["dot", 1, "multiply"], "code"),
            (["dot"], ["dot", "dot"], "code"),
            (["dot", "tanh"], ["dot", "tanh @1"], "placement"),
            (["dot @1", 1], ["dot @2", 2], "constants"),
            (["dot", "slice 3"], ["dot", "slice 4"], "slices"),
            (["slice 3", 1], ["slice 4", 2], "slices"),
        ],
    )
    def test_code(
        self, tmp_path: Path, before: list[str | int], after: list[str | int], expected: str
    ) -> None:
        assert change(tmp_path, Graph(WEIGHTS, before), Graph(WEIGHTS, after)) == expected

    def test_graphs_with_less_than_half_of_the_parameters_in_common(self, tmp_path: Path) -> None:
        two, four = ["s64[2]", "s64[3]"], ["s64[2]", "s64[3]", "s64[4]", "s64[5]"]
        assert change(tmp_path, Graph(WEIGHTS), Graph([*WEIGHTS, *two], ["sort"])) == "parameters"
        assert change(tmp_path, Graph(WEIGHTS), Graph([*WEIGHTS, *four], ["sort"])) == "other_graph"

    def test_graphs_of_one_parameter_are_near_only_if_their_code_is_equal(self, tmp_path: Path) -> None:
        assert change(tmp_path, Graph(["s64[4]"], ["dot"]), Graph(["s64[8]"], ["dot"])) == "grows"
        assert change(tmp_path, Graph(["s64[4]"], ["dot"]), Graph(["s64[8]"], ["sort"])) == "other_graph"

    def test_graphs_of_other_names_are_never_near(self, tmp_path: Path) -> None:
        assert (
            change(tmp_path, Graph(WEIGHTS, module="jit_f"), Graph(WEIGHTS, module="jit_g")) == "other_graph"
        )
        assert (
            change(tmp_path, Graph(WEIGHTS, module="sync.12"), Graph(WEIGHTS, module="sync.9")) == "same_hlo"
        )


class TestNearest:
    def test_nearest_graph_is_an_earlier_one(self, tmp_path: Path) -> None:
        """The second graph is nearer to the third than to the first, but the third is compiled later."""
        lengths = ([*WEIGHTS, f"s64[{length}]", f"s64[{length // 2}]"] for length in (8, 17, 16))
        first, second, third = diffs(tmp_path, *map(Graph, lengths))
        assert first == GraphDiff("other_graph")
        assert second.nearest is not None
        assert (second.nearest.program_id, len(second.nearest.differences)) == (1, 2)
        assert third.nearest is not None
        assert (third.nearest.program_id, third.nearest.differences) == (
            2,
            [ParameterDifference(3, "s64[17]", "s64[16]")],
        )

    def test_ties_are_broken_by_code_then_by_time(self, tmp_path: Path) -> None:
        *_, last = diffs(
            tmp_path, Graph([*WEIGHTS, "s64[1]"]), Graph([*WEIGHTS, "s64[2]"]), Graph([*WEIGHTS, "s64[3]"])
        )
        assert last.nearest is not None
        assert last.nearest.program_id == 2
        *_, last = diffs(tmp_path, Graph(WEIGHTS, ["dot"]), Graph(WEIGHTS, ["sort"]), Graph(WEIGHTS, ["dot"]))
        assert last.nearest is not None
        assert (last.nearest.program_id, last.change) == (1, "same_hlo")

    def test_no_difference_without_hlo(self, tmp_path: Path) -> None:
        [trace] = compiling(tmp_path, [Graph(WEIGHTS), Graph(WEIGHTS)], hlo=False).traces
        assert find_graph_diffs(trace) == [GraphDiff(), GraphDiff()]
        assert [difference_text(diff) for diff in find_graph_diffs(trace)] == [None, None]

    def test_no_difference_if_the_file_changed(self, tmp_path: Path) -> None:
        [trace] = compiling(tmp_path, [Graph(WEIGHTS), Graph(WEIGHTS)]).traces
        Path(trace.path).write_bytes(b"x")
        assert find_graph_diffs(trace) == [GraphDiff(), GraphDiff()]


class TestDifferences:
    def test_equal_numbers_of_parameters_correspond_by_position(self) -> None:
        assert differences_of(["a", "b", "c"], ["b", "c", "c"]) == [
            ParameterDifference(0, "a", "b"),
            ParameterDifference(1, "b", "c"),
        ]

    def test_missing_parameters_shift_no_others(self) -> None:
        assert differences_of(["a", "b", "c"], ["x", "a", "b", "c"]) == [ParameterDifference(0, None, "x")]
        assert differences_of(["x", "a", "b"], ["a", "b"]) == [ParameterDifference(0, "x", None)]

    @given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
    def test_parameters_without_difference_are_equal(self, before: list[str], after: list[str]) -> None:
        differences = differences_of(before, after)
        assert len(before) - sum(difference.before is not None for difference in differences) == (
            len(after) - sum(difference.after is not None for difference in differences)
        )
        assert bool(differences) == (before != after)
        assert all(
            difference.after is None or after[difference.index] == difference.after
            for difference in differences
        )
        assert all(
            difference.after is not None or before[difference.index] == difference.before
            for difference in differences
        )


class TestCode:
    def code(self, *instructions: str | int, number: int = 1) -> ProgramDigests:
        return digest_program(HloProto.FromString(proto(Graph((), instructions), number)).hlo_module)

    def test_names_and_ids_that_count_up_are_not_a_difference(self) -> None:
        assert self.code("dot", 1, "add", number=1) == self.code("dot", 1, "add", number=7)

    def test_constants_change_neither_formula_nor_structure(self) -> None:
        first, second = self.code("dot", 1), self.code("dot", 2)
        assert first.whole != second.whole
        assert (first.formula, first.structure) == (second.formula, second.structure)

    def test_each_digest_leaves_out_more_than_the_one_before(self) -> None:
        base = self.code("dot @1", 1, "slice 3")
        placed, constant, sliced = (
            self.code(*code)
            for code in (("dot @2", 1, "slice 3"), ("dot @2", 2, "slice 3"), ("dot @2", 2, "slice 4"))
        )
        assert (placed.whole != base.whole, placed.unplaced) == (True, base.unplaced)
        assert (constant.unplaced != base.unplaced, constant.without_constants) == (
            True,
            base.without_constants,
        )
        assert (sliced.without_constants != base.without_constants, sliced.formula) == (True, base.formula)
        assert (base.slices, sliced.slices) == (("[3:4]",), ("[4:5]",))

    def test_unread_fields_change_the_formula_but_not_the_structure(self) -> None:
        protos = [HloProto.FromString(proto(Graph((), ["dot"]), 1)) for _ in range(2)]
        instruction = protos[1].hlo_module.computations[0].instructions[0]
        instruction.MergeFromString(b"\x1a\x02\x10\x05")  # field 3, its shape
        first, second = (digest_program(hlo.hlo_module) for hlo in protos)
        assert first.formula != second.formula
        assert first.structure == second.structure

    def test_operands_are_part_of_the_code(self) -> None:
        protos = [HloProto.FromString(proto(Graph((), ["a", "b", "c"]), 1)) for _ in range(2)]
        protos[1].hlo_module.computations[0].instructions[2].operand_ids[0] -= 1
        assert digest_program(protos[0].hlo_module) != digest_program(protos[1].hlo_module)


class TestWords:
    def test_equal_changes_are_named_once_with_their_positions(self, tmp_path: Path) -> None:
        weights = [*WEIGHTS, *["f32[9]"] * 5]
        before, after = ([f"s64[{size}]", *[f"f32[{size}]"] * 4, f"f32[{size + 1}]"] for size in (16, 24))
        [diff] = diffs(tmp_path, Graph([*weights, *after]), before=(Graph([*weights, *before]),))
        assert difference_text(diff) == (
            "f32[16] became f32[24] (4 parameters), s64[16] became s64[24] (parameter 8), and 1 more, "
            "6 of 14 parameters differ from graph.1(1)"
        )

    def test_new_and_missing_parameters(self, tmp_path: Path) -> None:
        [diff] = diffs(tmp_path, Graph([*WEIGHTS, "s64[1]", "s64[1]"]), before=(Graph(WEIGHTS),))
        assert difference_text(diff) == (
            "s64[1] is new (parameters 3 and 4), 2 of 5 parameters differ from graph.1(1)"
        )
        [diff] = diffs(tmp_path, Graph(WEIGHTS), before=(Graph([*WEIGHTS, "s64[1]"]),))
        assert (
            difference_text(diff) == "s64[1] is gone (parameter 3), 1 of 4 parameters differs from graph.1(1)"
        )

    def test_types(self) -> None:
        assert types_text([(None, "f32[]"), ("f32[4]", "f32[8]"), ("f32[4]", "bf16[4]")]) == "f32 became bf16"
        assert types_text([("f32[4]", "f32[8]")]) == ""

    def test_slices_and_placement(self, tmp_path: Path) -> None:
        before = Graph(WEIGHTS, ["dot", "slice 3", "slice 9"])
        [diff] = diffs(tmp_path, Graph(WEIGHTS, ["dot", "slice 4", "slice 8"]), before=(before,))
        assert difference_text(diff) == (
            "only bounds of slices differ from graph.1(1): [3:4] became [4:5], and 1 more"
        )
        [diff] = diffs(tmp_path, Graph(WEIGHTS, ["dot @1"]), before=(Graph(WEIGHTS, ["dot"]),))
        assert difference_text(diff) == "only the placement of arrays differs from graph.1(1)"


def test_shapes_read_as_in_hlo() -> None:
    inner = Shape(element_type=16, dimensions=[8])
    assert shape_text(inner) == "bf16[8]"
    assert shape_text(Shape(element_type=11)) == "f32[]"
    assert shape_text(Shape(element_type=13)) == "()"
    assert shape_text(
        Shape(element_type=13, tuple_shapes=[inner, Shape(element_type=99, dimensions=[2, 3])])
    ) == ("(bf16[8], ?[2,3])")


def test_batch_of_another_length_compiles_another_graph() -> None:
    """The demo pads its batches to 16 and, later, to 24 tokens."""
    view = compile_views.compiles(SessionView(session(demo("torch_xla_dynamic_shapes"))))
    [row] = view["compiles"]
    change = {"before": "s64[4,16]", "after": "s64[4,24]"}
    assert row["nearest"] == {
        "graph": "SyncTensorsGraph.603", "module": "SyncTensorsGraph.603", "program_id": "0",
        "parameters": [{"index": 12, **change}, {"index": 17, **change}], "different_count": 2, "same_count": 18,
    }  # fmt: skip
    assert (row["change"], row["same_hlo"]) == ("grows", False)
    assert row["nearest"]["graph"] in [graph["graph"] for graph in view["graphs"]]


@pytest.mark.parametrize(
    ("folder", "lengths", "rows", "equal_count"),
    [("tiny_dynamic", range(16, 20), 4, 17), ("dynamic_server", range(32, 37), 8, 58)],
)
def test_shapes_that_grow_step_by_step(
    shared_traces: Path, folder: str, lengths: range, rows: int, equal_count: int
) -> None:
    """The graph before the first compilation did not run in the capture."""
    compiled: Any = compiles_report(real_trace(shared_traces / "torch_xla" / folder))[: len(lengths) - 1]
    assert [row["change"] for row in compiled] == ["grows"] * len(compiled)
    assert [
        (parameter["before"], parameter["after"])
        for row in compiled
        for parameter in row["nearest"]["parameters"]
    ] == [(f"s64[{rows},{length}]", f"s64[{rows},{length + 1}]") for length in lengths[:-1] for _ in range(2)]
    assert {row["nearest"]["same_count"] for row in compiled} == {equal_count}


def test_no_difference_for_a_synthetic_capture_without_shapes() -> None:
    [row] = compiles_report(demo("synthetic_case_study_8_tpu_cores"))
    assert [row[key] for key in ("change", "difference", "nearest", "same_hlo")] == [None] * 4


@pytest.mark.parametrize("name", ["torch_xla_dynamic_shapes", "synthetic_case_study_8_tpu_cores"])
def test_idle_time_per_compilation_adds_up_to_the_gaps(name: str) -> None:
    """All time of class `compile` in gaps belongs to some compilation."""
    trace = demo(name)
    gaps = find_gaps(trace)
    compile_ps = gaps.by_class_ps[:, CLASSES.index("compile")]
    for device, time in enumerate(idle_time_per_compilation(trace).sum(axis=0).tolist()):
        assert 0 < time == compile_ps[gaps.device == device].sum()
