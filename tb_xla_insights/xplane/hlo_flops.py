"""FLOPs of matrix products and convolutions, from the shapes in a compiled program.

A multiplication and the addition of its product are two FLOPs. Counted is what the program defines, as XLA's own
HloCostAnalysis does: places of a window that lie in padding or between dilated values take none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import prod

import numpy as np
from google.protobuf.message import DecodeError

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


class ProgramFlops:
    """Counts the FLOPs of one program's instructions, reading each shape and each computation once."""

    def __init__(self, module: HloModule) -> None:
        self._computations = {it.id: it for it in module.computations}
        self._instructions: dict[int, HloInstruction] = {}
        self._indexed: set[int] = set()
        self._sums: dict[int, int | None] = {}

    def of(self, instruction: HloInstruction, computation: int) -> int | None:
        """FLOPs of one execution of an instruction of a computation (its id). None where it holds no matrix product and
        no convolution, or also something whose work cannot be told: a loop, a branch, a foreign call."""
        return self._of(instruction, computation, 0) or None

    def _of(self, it: HloInstruction, computation: int, depth: int) -> int | None:
        """0 for what holds none."""
        if it.opcode in _HOLDS_WORK:
            return _sum(self._inside(called, depth) for called in it.called_computation_ids)
        if it.opcode in _UNTOLD:
            return None
        if it.opcode not in _COUNTED:
            return 0
        try:
            return self._product(it, computation)
        except (DecodeError, ValueError, KeyError, IndexError, TypeError, AttributeError):
            return None  # of a damaged module

    def _inside(self, computation: int, depth: int) -> int | None:
        if computation not in self._sums:
            self._sums[computation] = None  # also for one that calls itself
            body = self._computations.get(computation)
            if body is not None and depth < _DEEPEST:
                self._sums[computation] = _sum(
                    self._of(it, computation, depth + 1)
                    for it in body.instructions
                    if it.opcode in _COUNTED or it.called_computation_ids
                )
        return self._sums[computation]

    def _product(self, it: HloInstruction, computation: int) -> int | None:
        result = _result(it)
        operands = [self._shape(id_, computation) for id_ in it.operand_ids[:2]]
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

    def _shape(self, id_: int, computation: int) -> list[int]:
        if computation not in self._indexed:
            self._indexed.add(computation)
            self._instructions.update((it.id, it) for it in self._computations[computation].instructions)
        return _result(self._instructions[id_])


def _sum(values: Iterable[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _result(it: HloInstruction) -> list[int]:
    """The dimensions of what an instruction makes; of several things, the first: a library's call also returns the
    memory that it worked in."""
    shape = Shape.FromString(it.shape)
    return list((shape.tuple_shapes[0] if shape.tuple_shapes else shape).dimensions)


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
