"""FLOPs of matrix products and convolutions, from the shapes in a compiled program.

A multiplication and the addition of its product are two FLOPs. Counted is what the program defines, as XLA's own
HloCostAnalysis does: places of a window that lie in padding or between dilated values take none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import prod
from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from tb_xla_insights.xplane.hlo import shape_text
from tb_xla_insights.xplane.proto.hlo_pb2 import HloInstruction, HloModule, Shape, Window

_DEEPEST = 32
"""How deep computations call each other at most: a damaged module may nest without end."""

_HOLDS_WORK = frozenset(("fusion", "call", "async-start"))
"""Instructions that run the computations they call, once each. How often a loop runs is not in the program."""

_UNTOLD = frozenset(("while", "conditional"))

_COUNTED = frozenset(("dot", "convolution", "custom-call"))

_BACKWARD_INPUT, _BACKWARD_FILTER = "__cudnn$convBackwardInput", "__cudnn$convBackwardFilter"
_CONVOLUTIONS = (
    "__cudnn$convForward",
    "__cudnn$convBiasActivationForward",
    _BACKWARD_INPUT,
    _BACKWARD_FILTER,
)
"""Custom calls that XLA makes of convolutions for GPUs. Dimension numbers and window of all are those of the forward
convolution."""


def instruction_shape(it: HloInstruction) -> str:
    """The shape of what an instruction makes, as text; empty where it cannot be read."""
    try:
        return shape_text(Shape.FromString(it.shape)) if it.shape else ""
    except DecodeError:
        return ""


class Products(NamedTuple):
    """The products in an instruction: FLOPs of one execution (None: not known), those of the largest one, and which
    instruction of which computation that is."""

    flops: int | None = 0
    most: int = 0
    largest: tuple[HloInstruction, int] | None = None


class ProgramFlops:
    """Counts the FLOPs of one program's instructions, reading each shape and each computation once."""

    def __init__(self, module: HloModule) -> None:
        self._computations = {it.id: it for it in module.computations}
        self._instructions: dict[int, HloInstruction] = {}
        self._indexed: set[int] = set()
        self._sums: dict[int, Products] = {}

    def of(self, instruction: HloInstruction, computation: int) -> tuple[int | None, str]:
        """FLOPs of one execution of an instruction of a computation (its id), and the shapes of its largest product:
        `bf16[128,96] × bf16[96,160] = f32[128,160]`. None and an empty text where it holds no matrix product and no
        convolution; None where it also holds something whose work cannot be told: a loop, a branch, a foreign call."""
        found = self._of(instruction, computation, 0)
        return found.flops or None, self._shapes(*found.largest) if found.largest else ""

    def _of(self, it: HloInstruction, computation: int, depth: int) -> Products:
        if it.opcode in _HOLDS_WORK:
            return _sum(self._inside(called, depth) for called in it.called_computation_ids)
        if it.opcode in _UNTOLD:
            return Products(None)
        if it.opcode not in _COUNTED:
            return Products()
        try:
            flops = self._product(it, computation)
        except (DecodeError, ValueError, KeyError, IndexError, TypeError, AttributeError):
            return Products(None)  # of a damaged module
        return Products(None) if flops is None else Products(flops, flops, (it, computation))

    def _inside(self, computation: int, depth: int) -> Products:
        if computation not in self._sums:
            self._sums[computation] = Products(None)  # also for one that calls itself
            body = self._computations.get(computation)
            if body is not None and depth < _DEEPEST:
                self._sums[computation] = _sum(
                    self._of(it, computation, depth + 1)
                    for it in body.instructions
                    if it.opcode in _COUNTED or it.called_computation_ids
                )
        return self._sums[computation]

    def _product(self, it: HloInstruction, computation: int) -> int | None:
        result = list(_result(it).dimensions)
        operands = [list(shape.dimensions) for shape in self._operands(it, computation)]
        if it.opcode == "dot":
            return _dot(operands[0], it.dot_dimension_numbers.lhs_contracting_dimensions, result)
        if it.opcode == "convolution":
            return _convolution(it, operands[0], operands[1], result)
        target = it.custom_call_target
        if target.startswith("__cublas$"):
            dimensions = json.loads(it.backend_config)["gemm_backend_config"]["dot_dimension_numbers"]
            return _dot(operands[0], map(int, dimensions["lhs_contracting_dimensions"]), result)
        if target == _BACKWARD_INPUT:
            return _convolution(it, result, operands[1], operands[0])
        if target == _BACKWARD_FILTER:
            return _convolution(it, operands[0], result, operands[1])
        if target in _CONVOLUTIONS:
            return _convolution(it, operands[0], operands[1], result)
        return None

    def _shapes(self, it: HloInstruction, computation: int) -> str:
        operands = " × ".join(map(shape_text, self._operands(it, computation)))
        return f"{operands} = {shape_text(_result(it))}"

    def _operands(self, it: HloInstruction, computation: int) -> list[Shape]:
        """The shapes of the first two."""
        if computation not in self._indexed:
            self._indexed.add(computation)
            self._instructions.update((its.id, its) for its in self._computations[computation].instructions)
        return [_result(self._instructions[id_]) for id_ in it.operand_ids[:2]]


def _sum(parts: Iterable[Products]) -> Products:
    """Of several: unknown where one is."""
    flops: int | None = 0
    largest = Products()
    for part in parts:
        flops = None if flops is None or part.flops is None else flops + part.flops
        largest = max(largest, part, key=lambda it: it.most)
    return largest._replace(flops=flops)


def _result(it: HloInstruction) -> Shape:
    """What an instruction makes; of several things, the first: a library's call also returns the memory that it worked
    in."""
    shape = Shape.FromString(it.shape)
    return shape.tuple_shapes[0] if shape.tuple_shapes else shape


def _dot(left: list[int], contracted: Iterable[int], made: list[int]) -> int:
    return 2 * prod(made) * prod(left[dimension] for dimension in contracted)


def _convolution(it: HloInstruction, given: list[int], kernel: list[int], made: list[int]) -> int:
    """Of a convolution of `given` with `kernel` to `made`, each a list of dimensions."""
    numbers = it.convolution_dimension_numbers
    places = prod(
        _places(made[output], given[input_], window)
        for output, input_, window in zip(
            numbers.output_spatial_dimensions,
            numbers.input_spatial_dimensions,
            it.window.dimensions,
            strict=True,
        )
    )
    features = given[numbers.input_feature_dimension] // max(1, it.feature_group_count)
    batch = given[numbers.input_batch_dimension] // max(1, it.batch_group_count)
    return 2 * features * kernel[numbers.kernel_output_feature_dimension] * batch * places


def _places(outputs: int, inputs: int, window: Window.Dimension) -> int:
    """How many pairs of an output and a place of the window have a value of the input: neither padding nor, where the
    input is dilated, the zeros between its values."""
    dilation, step = max(1, window.base_dilation), max(1, window.window_dilation)
    total = 0
    for first in range(
        min(dilation, window.size)
    ):  # every `dilation`-th place of the window, from `first` on
        at = np.arange(outputs) * max(1, window.stride) - window.padding_low + first * step
        at = at[at % dilation == 0]
        stride = dilation * step
        least = np.maximum(0, -(at // stride))
        most = np.minimum((window.size - 1 - first) // dilation, ((inputs - 1) * dilation - at) // stride)
        total += int(np.maximum(0, most - least + 1).sum())
    return total
