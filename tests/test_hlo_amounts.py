"""FLOPs and bytes of instructions by their shapes, compared with a count per product and with XLA's cost analysis."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from captures import real_trace
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.device_work import host_work
from tb_xla_insights.xplane.hlo_amounts import ProgramAmounts, count_window_pairs
from tb_xla_insights.xplane.proto.hlo_pb2 import HloInstruction, HloModule, Shape, Window

_F32, _BF16, _S8, _S4, _TUPLE, _F8E8M0FNU = 11, 16, 2, 21, 13, 33


def shape(*sizes: int, element_type: int = _F32) -> bytes:
    return Shape(element_type=element_type, dimensions=sizes).SerializeToString()


def instruction(
    id_: int, opcode: str, shape: bytes, operands: Sequence[int] = (), **fields: Any
) -> HloInstruction:
    return HloInstruction(
        id=id_, name=f"{opcode}.{id_}", opcode=opcode, shape=shape, operand_ids=operands, **fields
    )


def amounts(
    *body: HloInstruction, called: Sequence[Sequence[HloInstruction]] = ()
) -> tuple[int | None, str, int | None]:
    """FLOPs, product and bytes of the last instruction of a body. The computations that it can call have ids 1, 2, …"""
    module = HloModule()
    for id_, instructions in enumerate([body, *called]):
        module.computations.add(id=id_, instructions=instructions)
    opcodes = {
        computation.id: [instruction.opcode for instruction in computation.instructions]
        for computation in module.computations
    }
    return ProgramAmounts(module, opcodes).of_instruction(body[-1], body[-1].opcode, 0)


A = instruction(1, "parameter", shape(6, 8, 5, element_type=_BF16))
B = instruction(2, "parameter", shape(6, 5, 7, element_type=_BF16))
DOT = instruction(
    3, "dot", shape(6, 8, 7), [1, 2],
    dot_dimension_numbers={
        "lhs_contracting_dimensions": [2], "rhs_contracting_dimensions": [1], "lhs_batch_dimensions": [0],
        "rhs_batch_dimensions": [0],
    },
)  # fmt: skip
DOT_FLOPS = 2 * 6 * 8 * 5 * 7
PRODUCT = "bf16[6,8,5] × bf16[6,5,7] = f32[6,8,7]"


def test_a_batched_dot() -> None:
    assert amounts(A, B, DOT) == (DOT_FLOPS, PRODUCT, 2 * 6 * 8 * 5 + 2 * 6 * 5 * 7 + 4 * 6 * 8 * 7)


def test_a_fusion_has_the_sum_of_its_instructions() -> None:
    """Its bytes are its inputs and outputs, without those passed inside it."""
    fused = [A, B, DOT, instruction(4, "tanh", shape(6, 8, 7), [3])]
    fusion = instruction(3, "fusion", shape(6, 8, 7), [1, 2], called_computation_ids=[1])
    assert amounts(A, B, fusion, called=[fused]) == (DOT_FLOPS, PRODUCT, 480 + 420 + 1_344)


def test_ops_that_only_move_data_have_no_flops() -> None:
    transpose = instruction(2, "transpose", shape(5, 8, 6, element_type=_BF16), [1])
    assert amounts(A, transpose) == (0, "", 960)
    fusion = instruction(2, "fusion", shape(5, 8, 6, element_type=_BF16), [1], called_computation_ids=[1])
    assert amounts(A, fusion, called=[[A, transpose]]) == (0, "", 960)


@pytest.mark.parametrize("opcode", ["negate", "abs", "xor", "round-nearest-even", "exponential-minus-one"])
def test_element_wise_instructions_have_bytes(opcode: str) -> None:
    assert amounts(A, instruction(2, opcode, shape(6, 8, 5, element_type=_BF16), [1])) == (None, "", 960)


def test_unknown_amounts_are_none() -> None:
    add = instruction(2, "add", shape(6), [1, 1])
    sliced = [A, instruction(2, "dynamic-slice", shape(8), [1])]
    fusion = instruction(3, "fusion", shape(6), [1], called_computation_ids=[1])
    foreign = instruction(2, "custom-call", shape(6), [1], custom_call_target="mine")
    assert amounts(A, add)[0] is None  # element-wise
    assert amounts(A, fusion, called=[sliced]) == (0, "", None)
    assert amounts(A, foreign) == (None, "", None)
    assert amounts(A, fusion, called=[[A, B, DOT, foreign]])[0] is None
    without_body = instruction(2, "fusion", shape(6), [1])
    assert amounts(A, without_body) == (None, "", None)
    scales = instruction(1, "parameter", shape(6, element_type=_F8E8M0FNU))
    assert amounts(scales, instruction(2, "copy", shape(6, element_type=_F8E8M0FNU), [1])) == (0, "", 12)
    four_bits = instruction(1, "parameter", shape(6, element_type=_S4))
    assert amounts(four_bits, instruction(2, "copy", shape(6, element_type=_S4), [1])) == (0, "", None)


@pytest.mark.parametrize("opcode", ["while", "conditional"])
def test_loops_and_branches_have_no_amounts_besides_those_of_their_bodies(opcode: str) -> None:
    loop = instruction(3, opcode, shape(6), [1], called_computation_ids=[1])
    assert amounts(A, B, loop, called=[[A, B, DOT]]) == (None, "", None)


def test_a_call_of_cublas() -> None:
    """It also returns its working memory."""
    result_shape = Shape(
        element_type=_TUPLE,
        tuple_shapes=[Shape.FromString(shape(8, 7)), Shape.FromString(shape(999, element_type=_S8))],
    )
    config = {"gemm_backend_config": {"dot_dimension_numbers": {"lhs_contracting_dimensions": ["1"]}}}
    call = instruction(
        3, "custom-call", result_shape.SerializeToString(), [1, 2], custom_call_target="__cublas$gemm",
        backend_config=json.dumps(config).encode(),
    )  # fmt: skip
    left, right = (instruction(id_, "parameter", shape(*sizes)) for id_, sizes in ((1, (8, 5)), (2, (5, 7))))
    assert amounts(left, right, call) == (2 * 8 * 5 * 7, "f32[8,5] × f32[5,7] = f32[8,7]", 4 * (40 + 35 + 56))


IMAGES, KERNEL, OUTPUT = (2, 9, 9, 4), (3, 3, 4, 6), (2, 7, 7, 6)
CONVOLUTION: dict[str, Any] = {
    "window": {"dimensions": [{"size": 3, "stride": 1, "window_dilation": 1, "base_dilation": 1}] * 2},
    "convolution_dimension_numbers": {
        "input_batch_dimension": 0, "input_spatial_dimensions": [1, 2], "input_feature_dimension": 3,
        "kernel_spatial_dimensions": [0, 1], "kernel_input_feature_dimension": 2, "kernel_output_feature_dimension": 3,
        "output_batch_dimension": 0, "output_spatial_dimensions": [1, 2], "output_feature_dimension": 3,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("target", "operands", "result"),
    [
        ("", (IMAGES, KERNEL), OUTPUT),
        ("__cudnn$convForward", (IMAGES, KERNEL), OUTPUT),
        ("__cudnn$convBackwardInput", (OUTPUT, KERNEL), IMAGES),
        ("__cudnn$convBackwardFilter", (IMAGES, OUTPUT), KERNEL),
    ],
)
def test_a_convolution_and_its_gradients_have_the_same_flops(
    target: str, operands: Sequence[tuple[int, ...]], result: tuple[int, ...]
) -> None:
    inputs = [instruction(id_, "parameter", shape(*sizes)) for id_, sizes in enumerate(operands, 1)]
    opcode = "custom-call" if target else "convolution"
    convolution = instruction(3, opcode, shape(*result), [1, 2], custom_call_target=target, **CONVOLUTION)
    assert amounts(*inputs, convolution)[0] == 2 * (2 * 7 * 7 * 6) * (3 * 3 * 4)


@given(
    st.integers(1, 9), st.integers(1, 9), st.integers(1, 5), st.integers(1, 3), st.integers(-2, 6), st.integers(1, 3),
    st.integers(1, 3),
)  # fmt: skip
def test_window_pairs_are_the_window_positions_on_a_value(
    outputs: int, inputs: int, size: int, stride: int, padding: int, step: int, dilation: int
) -> None:
    window = Window.Dimension(
        size=size, stride=stride, padding_low=padding, window_dilation=step, base_dilation=dilation
    )
    values = {dilation * value for value in range(inputs)}
    pairs = sum(
        output * stride - padding + index * step in values
        for output in range(outputs)
        for index in range(size)
    )
    assert count_window_pairs(outputs, inputs, window) == pairs


def test_amounts_of_damaged_programs_are_unknown() -> None:
    calls_itself = instruction(3, "fusion", shape(6), [1], called_computation_ids=[0])
    assert amounts(A, calls_itself)[0] is None
    assert amounts(instruction(3, "dot", shape(6), [98, 99])) == (None, "", None)
    assert amounts(instruction(3, "dot", b"\xff", [])) == (None, "", None)
    assert amounts(A, instruction(3, "fusion", shape(6), [1], called_computation_ids=[77]))[0] is None


@pytest.mark.parametrize("size", [-1, 1 << 40, -(1 << 63), (1 << 63) - 1])
def test_invalid_sizes_are_not_counted(size: int) -> None:
    left, right = instruction(1, "parameter", shape(size, 8)), instruction(2, "parameter", shape(8, size))
    dot = instruction(
        3, "dot", shape(size, size), [1, 2], dot_dimension_numbers={"lhs_contracting_dimensions": [1]}
    )
    flops, _, nbytes = amounts(left, right, dot)
    assert (flops, nbytes) == (None, None)
    images, kernel = instruction(1, "parameter", shape(*IMAGES)), instruction(2, "parameter", shape(*KERNEL))
    result = (2, size, 7, 6)
    convolution = instruction(3, "convolution", shape(*result), [1, 2], **CONVOLUTION)
    assert amounts(images, kernel, convolution)[0] in (None, 0)


RECORDED = Path(__file__).parent / "recorded" / "cost_analysis"
COSTS = json.loads((RECORDED / "costs.json").read_text())


@pytest.fixture(scope="module")
def counted() -> dict[str, int]:
    """FLOPs of one run, by program."""
    totals: dict[str, int] = defaultdict(int)
    for row in host_work(real_trace(RECORDED), [])["ops"]:
        assert row["flops_source"] in (None, "shapes")
        totals[row["program"]] += row["flops"] or 0
    return {name: flops // COSTS["runs"] for name, flops in totals.items()}


@pytest.mark.parametrize("name", COSTS["programs"])
def test_flops_by_shapes_are_those_of_xlas_cost_analysis(name: str, counted: dict[str, int]) -> None:
    """The totals are compared only for programs of nothing but products: the cost analysis also counts other ops, and a
    loop's body once."""
    cost = COSTS["programs"][name]
    assert counted[f"jit_{name}"] == cost["products"]
    if cost["pure"]:
        assert counted[f"jit_{name}"] == cost["flops"]
