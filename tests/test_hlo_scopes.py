"""The scopes of instructions: from their own names, the instructions in them, or their neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from programs import Step, module, training
from synthetic.hlo import Instruction

from tb_xla_insights.analysis.propagation.hlo_scopes import STATES, Origin, ProgramOrigins
from tb_xla_insights.analysis.propagation.lost import op_source, op_stack
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.source import Frames
from tb_xla_insights.catalog.frames import Frame
from tb_xla_insights.xplane.proto.hlo_pb2 import HloProto, StackFrameIndex

A, B = "step.1/a.1/aten__mm", "step.1/b.2/aten__mm"


def program(
    entry: Sequence[Instruction], bodies: Mapping[int, Sequence[Instruction]] | None = None
) -> ProgramOrigins:
    return ProgramOrigins(HloProto.FromString(module(entry, bodies)).hlo_module)


def state_and_parts(origin: Origin) -> tuple[str, dict[str, int]]:
    return STATES[origin.state], dict(origin.parts)


def ops(*op_names: str, opcode: str = "add") -> list[Instruction]:
    return [
        Instruction(900 + n, f"{opcode}.{id(op_names)}.{n}", opcode, op_name)
        for n, op_name in enumerate(op_names)
    ]


def test_own_names() -> None:
    hlo = program(
        [
            Instruction(1, "dot.1", "dot", A),
            Instruction(2, "dot.2", "dot", "aten__mm"),
            Instruction(3, "dot.3", "dot"),
        ]
    )
    assert state_and_parts(hlo.origin("dot.1")) == ("direct", {"step.1/a.1": 1})
    assert state_and_parts(hlo.origin("dot.2")) == ("bare", {})
    assert state_and_parts(hlo.origin("dot.3")) == ("none", {})
    assert state_and_parts(hlo.origin("dot.4")) == ("none", {})
    assert hlo.origin("dot.3").in_program
    assert not hlo.origin("dot.4").in_program


def test_a_fusion_without_a_name_has_the_scope_of_its_instructions() -> None:
    hlo = program([Instruction(1, "fusion", "fusion", calls=[5])], {5: ops(A)})
    assert state_and_parts(hlo.origin("fusion")) == ("recovered", {"step.1/a.1": 1})


def test_only_scope_paths_are_recovered() -> None:
    hlo = program([Instruction(1, "fusion", "fusion", calls=[5])], {5: ops("aten__add")})
    assert state_and_parts(hlo.origin("fusion")) == ("bare", {})


def test_a_fusion_with_a_bare_name_stays_bare() -> None:
    hlo = program([Instruction(1, "fusion", "fusion", "aten__threshold_backward", calls=[5])], {5: ops(A)})
    assert state_and_parts(hlo.origin("fusion")) == ("bare", {})


def test_a_mixed_fusion_belongs_to_the_scopes_of_all_its_instructions() -> None:
    body = [*ops(A, A, A, B, "aten__sum"), *ops(B, opcode="bitcast"), *ops("", opcode="parameter")]
    for op_name, state in ((A, "direct"), ("", "recovered")):
        origin = program([Instruction(1, "fusion", "fusion", op_name, calls=[5])], {5: body}).origin("fusion")
        assert state_and_parts(origin) == (state, {"step.1/a.1": 3, "step.1/b.2": 1})
        assert len(origin.parts) > 1
        assert origin.unscoped_share == 1 / 5


def test_a_fusions_own_scope_is_added_to_those_of_its_instructions() -> None:
    hlo = program([Instruction(1, "fusion", "fusion", B, calls=[5])], {5: ops(A, A)})
    assert state_and_parts(hlo.origin("fusion")) == ("direct", {"step.1/a.1": 2, "step.1/b.2": 1})


def test_instructions_of_nested_fusions_count() -> None:
    bodies = {5: [*ops(B), Instruction(2, "inner", "fusion", "aten__add", calls=[6])], 6: ops(A, A)}
    hlo = program([Instruction(1, "call", "call", calls=[5])], bodies)
    assert state_and_parts(hlo.origin("call")) == ("recovered", {"step.1/a.1": 2, "step.1/b.2": 1})


def test_a_container_keeps_its_own_scope() -> None:
    hlo = program([Instruction(1, "while", "while", A, calls=[5])], {5: ops(B)})
    assert state_and_parts(hlo.origin("while")) == ("direct", {"step.1/a.1": 1})


@pytest.mark.parametrize("opcode", ["all-reduce", "reduce", "scatter", "sort"])
def test_what_combines_two_values_is_no_part_of_an_op(opcode: str) -> None:
    """Several ops may share the called computation, whose op name is that of the first of them."""
    combining = Instruction(1, "op", opcode, A, calls=[5])
    hlo = program([combining], {5: [*ops(B), Instruction(8, "add", "add", "aten__add")]})
    assert state_and_parts(hlo.origin("op")) == ("direct", {"step.1/a.1": 1})
    assert hlo.origin("op").unscoped_share == 0
    fusion = program([Instruction(2, "fusion", "fusion", calls=[4])], {4: [combining], 5: ops(B)})
    assert state_and_parts(fusion.origin("fusion")) == ("recovered", {"step.1/a.1": 1})
    without_name = program([Instruction(1, "op", opcode, calls=[5])], {5: ops(B)})
    assert state_and_parts(without_name.origin("op")) == ("recovered", {"step.1/b.2": 1})


@pytest.mark.parametrize(
    "neighbours",
    [
        [Instruction(1, "dot", "dot", A), Instruction(2, "copy", "copy", operands=[1])],
        [Instruction(2, "copy", "copy"), Instruction(3, "dot", "dot", A, operands=[2])],
        [Instruction(2, "copy", "copy"), Instruction(3, "copy-start", "copy-start", operands=[2]),
         Instruction(4, "copy-done", "copy-done", operands=[3]), Instruction(5, "dot", "dot", A, operands=[4])],
        [Instruction(2, "copy", "copy"), Instruction(3, "dot", "dot", A, operands=[2]),
         Instruction(4, "dot.2", "dot", B, operands=[3])],
    ],
)  # fmt: skip
def test_a_copy_has_the_scope_of_its_nearest_neighbour(neighbours: list[Instruction]) -> None:
    assert state_and_parts(program(neighbours).origin("copy")) == ("recovered", {"step.1/a.1": 1})


def test_producers_come_before_users() -> None:
    entry = [Instruction(1, "dot", "dot", A), Instruction(2, "copy", "copy", operands=[1]),
             Instruction(3, "dot.2", "dot", B, operands=[2])]  # fmt: skip
    assert state_and_parts(program(entry).origin("copy")) == ("recovered", {"step.1/a.1": 1})


@pytest.mark.parametrize(("others", "state"), [(100, "recovered"), (1000, "none")])
def test_a_search_among_neighbours_ends_in_a_wide_tuple(others: int, state: str) -> None:
    """From a copy through the tuple that uses it to the tuple's last operand."""
    sorts = [Instruction(10 + n, f"sort.{n}", "sort") for n in range(others)]
    operands = [2, *(sort.id for sort in sorts), 1]
    entry = [Instruction(1, "dot", "dot", A), Instruction(2, "copy", "copy"), *sorts,
             Instruction(3, "tuple", "tuple", operands=operands)]  # fmt: skip
    assert STATES[program(entry).origin("copy").state] == state


def test_scopes_are_not_recovered_across_ops_that_compute() -> None:
    entry = [Instruction(1, "dot", "dot", A), Instruction(2, "add", "add", "aten__add", operands=[1]),
             Instruction(3, "copy", "copy", operands=[2]), Instruction(4, "sort", "sort", operands=[1])]  # fmt: skip
    hlo = program(entry)
    assert state_and_parts(hlo.origin("copy")) == ("none", {})
    assert state_and_parts(hlo.origin("sort")) == (
        "none",
        {},
    )  # only copies have the scopes of their neighbours


def test_the_container_of_an_op_is_its_innermost_recorded_caller() -> None:
    bodies = {5: [Instruction(2, "inner", "call", calls=[6])], 6: [Instruction(3, "add.1", "add")]}
    hlo = program([Instruction(1, "outer", "call", calls=[5])], bodies)
    assert hlo.containers(["outer", "inner", "add.1"]) == {"inner": "outer", "add.1": "inner"}
    assert hlo.containers(["outer", "add.1", "gone"]) == {"add.1": "outer"}


def test_call_cycles_and_missing_computations_mark_the_program_as_damaged() -> None:
    cycle = {
        5: [Instruction(2, "x", "call", calls=[6])],
        6: [Instruction(3, "y", "call", calls=[5]), *ops(A)],
    }
    hlo = program([Instruction(1, "call", "call", calls=[5])], cycle)
    assert state_and_parts(hlo.origin("call")) == ("recovered", {"step.1/a.1": 1})
    assert hlo.damaged
    hlo = program([Instruction(1, "call", "call", calls=[99])])
    assert state_and_parts(hlo.origin("call")) == ("none", {})
    assert hlo.damaged


def test_calls_may_nest_deeply() -> None:
    bodies = {n: [Instruction(n, f"call.{n}", "call", calls=[n + 1])] for n in range(2000, 6000)} | {
        6000: ops(A)
    }
    assert state_and_parts(
        program([Instruction(1, "call", "call", calls=[2000])], bodies).origin("call")
    ) == (
        "recovered",
        {"step.1/a.1": 1},
    )


RUN = [Step(runs=[(2_000_000, [("dot.1", 60, ""), ("dot.2", 40, "step.1/b.2/aten__mm:aten__mm")])])]
GOOD = module(
    [
        Instruction(1, "dot.1", "dot", A, source_file="train.py", source_line=12),
        Instruction(2, "dot.2", "dot"),
    ]
)


@pytest.mark.parametrize(
    ("hlo", "words"),
    [
        (GOOD[:-3], "truncated"),
        (b"\xff\xff\xff", "truncated"),
        (module([Instruction(1, "dot.1", "dot", A)], name="Other.1"), "belong to other programs"),
        (module([Instruction(1, "dot.1", "call", calls=[99])]), "do not exist"),
    ],
)
def test_ops_of_unreadable_programs_keep_their_own_scopes(tmp_path: Path, hlo: bytes, words: str) -> None:
    ops = find_ops(training(tmp_path, RUN, hlo).traces[0])
    assert [(name, *state_and_parts(origin)) for name, origin in zip(ops.name, ops.origin, strict=True)] == [
        ("dot.1", "none", {}),
        ("dot.2", "direct", {"step.1/b.2": 1}),
    ]
    assert [diagnostic.id for diagnostic in ops.diagnostics] == ["no_hlo_scopes"]
    assert words in ops.diagnostics[0].message
    assert "\n" not in ops.diagnostics[0].message


def test_a_program_with_another_id_is_not_used(tmp_path: Path) -> None:
    session = training(tmp_path, RUN, GOOD)
    trace = session.traces[0]
    trace.programs = {8: trace.programs[7]}
    ops = find_ops(trace)
    assert [STATES[state] for state in ops.state] == ["none", "direct"]
    assert "not in the file" in ops.diagnostics[0].message


def test_metadata_and_program_complete_each_other(tmp_path: Path) -> None:
    ops = find_ops(training(tmp_path, RUN, GOOD).traces[0])
    assert [state_and_parts(origin) for origin in ops.origin] == [
        ("direct", {"step.1/a.1": 1}),
        ("direct", {"step.1/b.2": 1}),
    ]
    assert [op_source(ops, k) for k in range(2)] == ["train.py:12", ""]
    assert ops.diagnostics == []


def frames() -> Frames:
    index = StackFrameIndex(
        file_names=["/x/site-packages/torch/nn/linear.py", "train.py"],
        function_names=["forward", "step"],
        file_locations=[
            StackFrameIndex.FileLocation(file_name_id=1, function_name_id=1, line=134),
            StackFrameIndex.FileLocation(file_name_id=2, function_name_id=2, line=85),
        ],
        stack_frames=[
            StackFrameIndex.StackFrame(file_location_id=2),
            StackFrameIndex.StackFrame(file_location_id=1, parent_frame_id=1),
            StackFrameIndex.StackFrame(file_location_id=9, parent_frame_id=3),
        ],
    )
    return Frames(index)


def test_frames_count_from_one_and_lead_outward() -> None:
    inner, outer = Frame("forward", "/x/site-packages/torch/nn/linear.py", 134), Frame("step", "train.py", 85)
    assert frames().stack(2) == [inner, outer]
    assert frames().stack(1) == [outer]
    assert frames().user_frame(2) == outer
    for missing in (0, -1, 4):
        assert frames().stack(missing) == []
        assert frames().user_frame(missing) is None


@pytest.mark.parametrize(
    ("library", "user_file"),
    [
        ("/usr/local/lib/python3.12/dist-packages/flax/linear.py", "<ipython-input-5-0a1b2c>"),
        ("/usr/lib/python3.11/contextlib.py", "/home/me/train.py"),
        (r"C:\Python311\Lib\contextlib.py", r"C:\me\lib\train.py"),
        (r"C:\me\miniconda3\envs\jax\Lib\contextlib.py", r"C:\me\train.py"),
        (r"C:\venv\Lib\site-packages\flax\linear.py", r"C:\me\train.py"),
        ("<string>", "train.py"),
    ],
)
def test_the_frame_in_the_users_code_is_outside_of_packages_and_the_standard_library(
    library: str, user_file: str
) -> None:
    index = StackFrameIndex(
        file_names=[library, user_file],
        function_names=["f"],
        file_locations=[
            StackFrameIndex.FileLocation(file_name_id=file, function_name_id=1, line=1) for file in (1, 2)
        ],
        stack_frames=[
            StackFrameIndex.StackFrame(file_location_id=2),
            StackFrameIndex.StackFrame(file_location_id=1, parent_frame_id=1),
        ],
    )
    assert Frames(index).user_frame(2) == Frame("f", user_file, 1)


def test_a_damaged_index_ends_the_stack() -> None:
    assert frames().stack(3) == []  # it is its own parent, and its location does not exist


def test_an_op_without_frames_has_no_stack(tmp_path: Path) -> None:
    assert op_stack(find_ops(training(tmp_path, RUN, GOOD).traces[0]), 0) == []


def test_nested_computations_have_a_bounded_number_of_scopes() -> None:
    depth = 300
    bodies = {
        n: [*ops(f"step.1/part{n}.1/aten__mm"), Instruction(n, f"call.{n}", "call", calls=[n + 1])]
        for n in range(2000, 2000 + depth)
    }
    hlo = program([Instruction(1, "call", "call", calls=[2000])], bodies | {2000 + depth: ops(A)})
    assert len(hlo.origin("call").parts) == 64
    names = ["call", *(f"call.{n}" for n in bodies)]
    assert hlo.containers(names) == dict(zip(names[1:], names, strict=False))


def test_weights_of_exponentially_nested_calls_are_limited() -> None:
    bodies = {n: [Instruction(n, f"call.{n}", "call", calls=[n + 1, n + 1])] for n in range(2000, 2200)}
    hlo = program([Instruction(1, "call", "call", calls=[2000])], bodies | {2200: ops(A, B)})
    [(_, first), (_, second)] = hlo.origin("call").parts
    assert first == second <= 1 << 40
