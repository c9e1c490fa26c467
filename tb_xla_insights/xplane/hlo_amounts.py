"""FLOPs and bytes of a compiled program's instructions, from their shapes.

A multiplication and the addition of its product are two FLOPs. As in XLA's HloCostAnalysis, window positions in padding
or between dilated values do not count. Bytes are those of an instruction's operands and result, each counted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from tb_xla_insights.files.texts import parse_json
from tb_xla_insights.xplane.hlo import shape_text
from tb_xla_insights.xplane.proto.hlo_pb2 import HloComputation, HloInstruction, HloModule, Shape, Window

_MAX_CALL_DEPTH = 32
"""The limit of nested calls: a damaged module may nest without end."""

_RUNS_ONCE = frozenset(("fusion", "call", "async-start"))
"""Instructions that call computations and run each of them once. Loops are excluded: the program does not contain their
trip counts."""

_UNKNOWN_WORK = frozenset(("while", "conditional"))

_COUNTED = frozenset(("dot", "convolution", "custom-call"))

_MAY_HAVE_PRODUCTS = _COUNTED | _RUNS_ONCE | _UNKNOWN_WORK

_SLICES = frozenset(("dynamic-slice", "dynamic-update-slice", "gather", "scatter", "slice"))
"""Instructions that read or write parts of their operands."""

_MOVES = _SLICES - {"scatter"} | frozenset(
    (
        "bitcast", "bitcast-convert", "broadcast", "concatenate", "constant", "copy", "get-tuple-element", "iota",
        "pad", "parameter", "reshape", "reverse", "transpose", "tuple",
    )
)  # fmt: skip
"""Instructions that compute nothing."""

_READ_WHOLE = frozenset(
    (
        "abs", "add", "and", "atan2", "bitcast-convert", "broadcast", "cbrt", "ceil", "clamp", "compare", "concatenate",
        "convert", "convolution", "copy", "cosine", "divide", "dot", "erf", "exponential", "exponential-minus-one",
        "floor", "fusion", "iota", "is-finite", "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply",
        "negate", "not", "or", "pad", "power", "reduce", "reduce-precision", "reduce-window", "remainder", "reverse",
        "round-nearest-afz", "round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic",
        "shift-right-logical", "sign", "sine", "sort", "sqrt", "subtract", "tan", "tanh", "transpose", "xor",
    )
)  # fmt: skip
"""Instructions that read their whole operands, provided that the computations they call do."""

ELEMENT_BYTES = {
    1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 2, 8: 4, 9: 8, 10: 2, 11: 4, 12: 8, 15: 8, 16: 2, 18: 16, 19: 1, 20: 1,
    23: 1, 24: 1, 25: 1, 28: 1, 29: 1, 33: 1,
}  # fmt: skip
"""The size of an element by XLA's PrimitiveType. Types below a byte are left out: their storage differs."""

MAX_AMOUNT = 1 << 56
"""More FLOPs or bytes than any device handles in one execution: a minute at a PFLOP/s. Damaged sizes exceed it."""

_MAX_WINDOW_SIZE = 1 << 31
_MAX_POSITIONS = 1 << 26
"""The most window positions that `count_window_pairs` computes one by one; it derives the others from these."""

_BLAS = "__cublas$"
_BACKWARD_INPUT, _BACKWARD_FILTER = "__cudnn$convBackwardInput", "__cudnn$convBackwardFilter"
_CONVOLUTIONS = (
    "__cudnn$convForward",
    "__cudnn$convBiasActivationForward",
    _BACKWARD_INPUT,
    _BACKWARD_FILTER,
)
"""Custom calls that XLA emits for convolutions on GPUs. All have the dimension numbers and window of the forward
convolution."""

_DAMAGE_ERRORS = (DecodeError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)


class InstructionAmounts(NamedTuple):
    """The amounts of one execution: `flops` and `bytes` (None: unknown), and `product`, the shapes of its largest
    matrix product or convolution (`bf16[128,96] × bf16[96,160] = f32[128,160]`; empty: none)."""

    flops: int | None
    product: str
    bytes: int | None


UNKNOWN_AMOUNTS = InstructionAmounts(None, "", None)


class _Content(NamedTuple):
    """The content of an instruction or computation: the FLOPs of its products (None: unknown), those of the largest
    product with its instruction and computation, whether it only moves data, and whether it reads or writes parts of
    operands, or may do so."""

    flops: int | None = 0
    largest_flops: int = 0
    largest: tuple[HloInstruction, int] | None = None
    only_moves: bool = True
    has_slices: bool = False


_UNKNOWN = _Content(None)
_UNKNOWN_BODY = _Content(None, has_slices=True)
_WITHOUT_PRODUCTS = {
    (only_moves, has_slices): _Content(only_moves=only_moves, has_slices=has_slices)
    for only_moves in (False, True)
    for has_slices in (False, True)
}
"""The content of computations without products, by `only_moves` and `has_slices`."""


class ProgramAmounts:
    """The amounts of one program's instructions; each computation is read once. `opcodes` are those of each
    computation, by id."""

    def __init__(self, module: HloModule, opcodes: Mapping[int, Sequence[str]]) -> None:
        self._computations = {computation.id: computation for computation in module.computations}
        self._opcodes = opcodes
        self._instructions: dict[int, dict[int, HloInstruction]] = {}
        self._contents: dict[int, _Content] = {}

    def of_instruction(
        self, instruction: HloInstruction, opcode: str, computation: int, with_bytes: bool = True
    ) -> InstructionAmounts:
        """The amounts of an instruction with an opcode, in a computation (id). FLOPs are known for instructions that
        compute matrix products or convolutions, or nothing, unless they contain a loop, a branch or a custom call of
        unknown work; bytes, with `with_bytes`, for instructions that read their whole operands."""
        content = self._instruction_content(instruction, opcode, computation, 0)
        product = self._shapes(*content.largest) if content.largest else ""
        flops = content.flops or (0 if content.flops is not None and content.only_moves else None)
        flops = flops if flops is None or flops < MAX_AMOUNT else None
        nbytes = self._bytes(instruction, opcode, computation, content) if with_bytes else None
        return InstructionAmounts(flops, product, nbytes)

    def _instruction_content(
        self, instruction: HloInstruction, opcode: str, computation: int, depth: int
    ) -> _Content:
        if opcode in _RUNS_ONCE:
            called = instruction.called_computation_ids
            if not called:  # a file without the bodies of its fusions
                return _UNKNOWN_BODY
            if len(called) == 1:
                return self._computation_content(called[0], depth)
            return _merge_contents(self._computation_content(id_, depth) for id_ in called)
        if opcode in _UNKNOWN_WORK:
            return _UNKNOWN
        if opcode not in _COUNTED:
            return _WITHOUT_PRODUCTS[opcode in _MOVES, opcode in _SLICES]
        try:
            flops = self._flops(instruction, computation)
        except _DAMAGE_ERRORS:
            flops = None
        if flops is None or not 0 <= flops < MAX_AMOUNT:
            return _UNKNOWN
        return _Content(flops, flops, (instruction, computation), only_moves=False)

    def _computation_content(self, computation: int, depth: int) -> _Content:
        if computation not in self._contents:
            # Ends the recursion of a computation that calls itself.
            self._contents[computation] = _UNKNOWN_BODY
            body = self._computations.get(computation)
            if body is not None and depth < _MAX_CALL_DEPTH:
                self._contents[computation] = self._body_content(body, depth)
        return self._contents[computation]

    def _body_content(self, body: HloComputation, depth: int) -> _Content:
        opcodes = self._opcodes[body.id]
        distinct_opcodes = set(opcodes)
        has_slices = not distinct_opcodes.isdisjoint(_SLICES)
        if distinct_opcodes.isdisjoint(_MAY_HAVE_PRODUCTS):  # the usual fusion
            return _WITHOUT_PRODUCTS[distinct_opcodes <= _MOVES, has_slices]
        parts = (
            self._instruction_content(body.instructions[index], opcode, body.id, depth + 1)
            for index, opcode in enumerate(opcodes)
            if opcode in _MAY_HAVE_PRODUCTS
        )
        content = _merge_contents(parts)
        only_moves = content.only_moves and distinct_opcodes <= _MOVES | _RUNS_ONCE
        return content._replace(only_moves=only_moves, has_slices=content.has_slices or has_slices)

    def _flops(self, instruction: HloInstruction, computation: int) -> int | None:
        result_dims = list(_result(instruction).dimensions)
        operand_dims = [list(shape.dimensions) for shape in self._operands(instruction, computation)[:2]]
        if instruction.opcode == "dot":
            return _dot(
                operand_dims[0], instruction.dot_dimension_numbers.lhs_contracting_dimensions, result_dims
            )
        if instruction.opcode == "convolution":
            return _convolution(instruction, operand_dims[0], operand_dims[1], result_dims)
        target = instruction.custom_call_target
        if target.startswith(_BLAS):
            dimensions = parse_json(instruction.backend_config)["gemm_backend_config"][
                "dot_dimension_numbers"
            ]
            return _dot(operand_dims[0], map(int, dimensions["lhs_contracting_dimensions"]), result_dims)
        if target == _BACKWARD_INPUT:
            return _convolution(instruction, result_dims, operand_dims[1], operand_dims[0])
        if target == _BACKWARD_FILTER:
            return _convolution(instruction, operand_dims[0], result_dims, operand_dims[1])
        if target in _CONVOLUTIONS:
            return _convolution(instruction, operand_dims[0], operand_dims[1], result_dims)
        return None

    def _bytes(
        self, instruction: HloInstruction, opcode: str, computation: int, content: _Content
    ) -> int | None:
        is_product_call = opcode == "custom-call" and content.flops is not None
        if content.has_slices or not (is_product_call or opcode in _READ_WHOLE):
            return None
        try:
            result = _result(instruction) if is_product_call else _read_shape(instruction.shape)
            nbytes = sum(_size(shape) for shape in (result, *self._operands(instruction, computation)))
        except _DAMAGE_ERRORS:
            return None
        return nbytes if 0 <= nbytes < MAX_AMOUNT else None

    def _shapes(self, instruction: HloInstruction, computation: int) -> str:
        operands = " × ".join(map(shape_text, self._operands(instruction, computation)[:2]))
        return f"{operands} = {shape_text(_result(instruction))}"

    def _operands(self, instruction: HloInstruction, computation: int) -> list[Shape]:
        if computation not in self._instructions:
            body = self._computations[computation]
            self._instructions[computation] = {operand.id: operand for operand in body.instructions}
        instructions = self._instructions[computation]
        return [_read_shape(instructions[id_].shape) for id_ in instruction.operand_ids]


def instruction_shape(instruction: HloInstruction) -> str:
    """The shape of an instruction's result, as text; empty if it cannot be read."""
    try:
        return shape_text(Shape.FromString(instruction.shape)) if instruction.shape else ""
    except DecodeError:
        return ""


def _merge_contents(parts: Iterable[_Content]) -> _Content:
    """Merges contents: FLOPs are unknown if those of any part are."""
    flops: int | None = 0
    largest, only_moves, has_slices = _Content(), True, False
    for part in parts:
        flops = None if flops is None or part.flops is None else flops + part.flops
        largest = max(largest, part, key=lambda content: content.largest_flops)
        only_moves, has_slices = only_moves and part.only_moves, has_slices or part.has_slices
    return _Content(flops, largest.largest_flops, largest.largest, only_moves, has_slices)


def _result(instruction: HloInstruction) -> Shape:
    """The shape of an instruction's result; of a tuple, the first element: a library call also returns its scratch
    memory."""
    shape = _read_shape(instruction.shape)
    return shape.tuple_shapes[0] if shape.tuple_shapes else shape


def _read_shape(data: bytes) -> Shape:
    """Raises ValueError for negative sizes: the product of two would look valid."""
    shape = Shape.FromString(data)
    for part in (shape, *shape.tuple_shapes):
        if min(part.dimensions, default=0) < 0:
            raise ValueError("a negative size")
    return shape


def _size(shape: Shape) -> int:
    """The bytes of a shape. Raises KeyError for elements of less than a byte, or without a size."""
    if shape.tuple_shapes:
        return sum(map(_size, shape.tuple_shapes))
    return ELEMENT_BYTES[shape.element_type] * prod(shape.dimensions)


def _dot(left_dims: list[int], contracting_dims: Iterable[int], result_dims: list[int]) -> int:
    return 2 * prod(result_dims) * prod(left_dims[dimension] for dimension in contracting_dims)


def _convolution(
    instruction: HloInstruction, input_dims: list[int], kernel_dims: list[int], result_dims: list[int]
) -> int:
    """The FLOPs of a convolution, from the dimensions of its operands and its result."""
    numbers = instruction.convolution_dimension_numbers
    pairs = prod(
        count_window_pairs(result_dims[output], input_dims[input_], window)
        for output, input_, window in zip(
            numbers.output_spatial_dimensions,
            numbers.input_spatial_dimensions,
            instruction.window.dimensions,
            strict=True,
        )
    )
    features = input_dims[numbers.input_feature_dimension] // max(1, instruction.feature_group_count)
    batch = input_dims[numbers.input_batch_dimension] // max(1, instruction.batch_group_count)
    return 2 * features * kernel_dims[numbers.kernel_output_feature_dimension] * batch * pairs


def count_window_pairs(outputs: int, inputs: int, window: Window.Dimension) -> int:
    """Counts the pairs of an output and a window position that read a value of the input: neither padding nor, in a
    dilated input, the zeros between its values. Raises ValueError for sizes that no convolution has."""
    input_dilation, window_dilation = max(1, window.base_dilation), max(1, window.window_dilation)
    sizes = (inputs, window.size, window.stride, window.padding_low, window_dilation, input_dilation)
    if (
        any(abs(size) >= _MAX_WINDOW_SIZE for size in sizes)
        or outputs * min(input_dilation, window.size) > _MAX_POSITIONS
    ):
        raise ValueError("not the sizes of a convolution")
    total = 0
    # Each round counts every `input_dilation`-th window position, from `first` on.
    for first in range(min(input_dilation, window.size)):
        position = np.arange(outputs) * max(1, window.stride) - window.padding_low + first * window_dilation
        position = position[position % input_dilation == 0]
        stride = input_dilation * window_dilation
        lowest = np.maximum(0, -(position // stride))
        highest = np.minimum(
            (window.size - 1 - first) // input_dilation, ((inputs - 1) * input_dilation - position) // stride
        )
        total += int(np.maximum(0, highest - lowest + 1).sum())
    return total
