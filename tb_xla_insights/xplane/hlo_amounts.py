"""What instructions of a compiled program compute and move, from the shapes in it.

A multiplication and the addition of its product are two FLOPs. Counted is what the program defines, as XLA's own
HloCostAnalysis does: places of a window that lie in padding or between dilated values take none. Bytes are those of
what an instruction reads and makes, each once.
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

_DEEPEST = 32
"""How deep computations call each other at most: a damaged module may nest without end."""

_HOLDS_WORK = frozenset(("fusion", "call", "async-start"))
"""Instructions that run the computations they call, once each. How often a loop runs is not in the program."""

_UNTOLD = frozenset(("while", "conditional"))

_COUNTED = frozenset(("dot", "convolution", "custom-call"))

_HOLDS_MORE = _COUNTED | _HOLDS_WORK | _UNTOLD

_SLICES = frozenset(("dynamic-slice", "dynamic-update-slice", "gather", "scatter", "slice"))
"""Instructions that read or write parts of something."""

_MOVES = _SLICES - {"scatter"} | frozenset(
    (
        "bitcast", "bitcast-convert", "broadcast", "concatenate", "constant", "copy", "get-tuple-element", "iota",
        "pad", "parameter", "reshape", "reverse", "transpose", "tuple",
    )
)  # fmt: skip
"""Instructions that compute nothing."""

_READ_WHOLE = frozenset(
    (
        "add", "and", "broadcast", "clamp", "compare", "concatenate", "convert", "convolution", "copy", "cosine",
        "divide", "dot", "exponential", "fusion", "iota", "log", "maximum", "minimum", "multiply", "negate", "or",
        "pad", "power", "reduce", "reduce-window", "reverse", "rsqrt", "select", "sine", "sort", "sqrt", "subtract",
        "tanh", "transpose",
    )
)  # fmt: skip
"""Instructions that read all of their operands, if what they hold does."""

_BYTES = {
    1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 2, 8: 4, 9: 8, 10: 2, 11: 4, 12: 8, 15: 8, 16: 2, 18: 16, 19: 1, 20: 1,
    23: 1, 24: 1, 25: 1, 28: 1, 29: 1,
}  # fmt: skip
"""Of an element of XLA's PrimitiveType; those of less than a byte are stored in more than one way."""

MOST = 1 << 56
"""More FLOPs or bytes than any device has in one execution: a minute of a PFLOP/s. Sizes that are none lead there."""

_LARGEST = 1 << 31
_MOST_PLACES = 1 << 26

_BLAS = "__cublas$"
_BACKWARD_INPUT, _BACKWARD_FILTER = "__cudnn$convBackwardInput", "__cudnn$convBackwardFilter"
_CONVOLUTIONS = (
    "__cudnn$convForward",
    "__cudnn$convBiasActivationForward",
    _BACKWARD_INPUT,
    _BACKWARD_FILTER,
)
"""Custom calls that XLA makes of convolutions for GPUs. Dimension numbers and window of all are those of the forward
convolution."""

_DAMAGED = (DecodeError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)


class InstructionAmounts(NamedTuple):
    """What one execution takes: `flops` (None: not known), `product`, the shapes of its largest matrix product or
    convolution (`bf16[128,96] × bf16[96,160] = f32[128,160]`; empty: it holds none), and `bytes` (None: not known)."""

    flops: int | None
    product: str
    bytes: int | None


NOTHING_KNOWN = InstructionAmounts(None, "", None)


class _Held(NamedTuple):
    """What an instruction holds: FLOPs of its products (None: not known), those of the largest one and which
    instruction of which computation that is, and whether it computes nothing, and reads parts of something."""

    flops: int | None = 0
    most: int = 0
    largest: tuple[HloInstruction, int] | None = None
    moves: bool = True
    slices: bool = False


_UNKNOWN = _Held(None)
_PLAIN = {
    (moves, slices): _Held(moves=moves, slices=slices) for moves in (False, True) for slices in (False, True)
}


class ProgramAmounts:
    """Reckons for one program, reading each computation once; `opcodes` of its computations, by id."""

    def __init__(self, module: HloModule, opcodes: Mapping[int, Sequence[str]]) -> None:
        self._computations = {it.id: it for it in module.computations}
        self._opcodes = opcodes
        self._instructions: dict[int, dict[int, HloInstruction]] = {}
        self._held: dict[int, _Held] = {}

    def of(
        self, it: HloInstruction, opcode: str, computation: int, with_bytes: bool = True
    ) -> InstructionAmounts:
        """Of an instruction, by its opcode, of a computation (its id). FLOPs are known of what holds matrix products
        and convolutions or computes nothing, but where it also holds a loop, a branch or a foreign call; bytes, if
        they are asked for, of what reads all of its operands."""
        held = self._of(it, opcode, computation, 0)
        product = self._shapes(*held.largest) if held.largest else ""
        flops = held.flops or (0 if held.flops is not None and held.moves else None)
        flops = flops if flops is None or flops < MOST else None
        nbytes = self._bytes(it, opcode, computation, held) if with_bytes else None
        return InstructionAmounts(flops, product, nbytes)

    def _of(self, it: HloInstruction, opcode: str, computation: int, depth: int) -> _Held:
        if opcode in _HOLDS_WORK:
            called = it.called_computation_ids
            if not called:  # a file without the bodies of its fusions
                return _UNKNOWN
            if len(called) == 1:
                return self._inside(called[0], depth)
            return _together(self._inside(id_, depth) for id_ in called)
        if opcode in _UNTOLD:
            return _UNKNOWN
        if opcode not in _COUNTED:
            return _PLAIN[opcode in _MOVES, opcode in _SLICES]
        try:
            flops = self._flops(it, computation)
        except _DAMAGED:
            flops = None
        if flops is None or not 0 <= flops < MOST:
            return _UNKNOWN
        return _Held(flops, flops, (it, computation), moves=False)

    def _inside(self, computation: int, depth: int) -> _Held:
        if computation not in self._held:
            self._held[computation] = _UNKNOWN  # also for one that calls itself
            body = self._computations.get(computation)
            if body is not None and depth < _DEEPEST:
                self._held[computation] = self._of_body(body, depth)
        return self._held[computation]

    def _of_body(self, body: HloComputation, depth: int) -> _Held:
        opcodes = self._opcodes[body.id]
        different = set(opcodes)
        slices = not different.isdisjoint(_SLICES)
        if different.isdisjoint(_HOLDS_MORE):  # the usual fusion
            return _PLAIN[different <= _MOVES, slices]
        parts = (
            self._of(body.instructions[at], opcode, body.id, depth + 1)
            for at, opcode in enumerate(opcodes)
            if opcode in _HOLDS_MORE
        )
        held = _together(parts)
        moves = held.moves and different <= _MOVES | _HOLDS_WORK
        return held._replace(moves=moves, slices=held.slices or slices)

    def _flops(self, it: HloInstruction, computation: int) -> int | None:
        made = list(_result(it).dimensions)
        read = [list(shape.dimensions) for shape in self._operands(it, computation)[:2]]
        if it.opcode == "dot":
            return _dot(read[0], it.dot_dimension_numbers.lhs_contracting_dimensions, made)
        if it.opcode == "convolution":
            return _convolution(it, read[0], read[1], made)
        target = it.custom_call_target
        if target.startswith(_BLAS):
            dimensions = parse_json(it.backend_config)["gemm_backend_config"]["dot_dimension_numbers"]
            return _dot(read[0], map(int, dimensions["lhs_contracting_dimensions"]), made)
        if target == _BACKWARD_INPUT:
            return _convolution(it, made, read[1], read[0])
        if target == _BACKWARD_FILTER:
            return _convolution(it, read[0], made, read[1])
        if target in _CONVOLUTIONS:
            return _convolution(it, read[0], read[1], made)
        return None

    def _bytes(self, it: HloInstruction, opcode: str, computation: int, held: _Held) -> int | None:
        called = opcode == "custom-call" and held.flops is not None
        if held.slices or not (called or opcode in _READ_WHOLE):
            return None
        try:
            made = _result(it) if called else Shape.FromString(it.shape)
            found = sum(_size(shape) for shape in (made, *self._operands(it, computation)))
        except _DAMAGED:
            return None
        return found if 0 <= found < MOST else None

    def _shapes(self, it: HloInstruction, computation: int) -> str:
        operands = " × ".join(map(shape_text, self._operands(it, computation)[:2]))
        return f"{operands} = {shape_text(_result(it))}"

    def _operands(self, it: HloInstruction, computation: int) -> list[Shape]:
        if computation not in self._instructions:
            body = self._computations[computation]
            self._instructions[computation] = {its.id: its for its in body.instructions}
        known = self._instructions[computation]
        return [Shape.FromString(known[id_].shape) for id_ in it.operand_ids]


def instruction_shape(it: HloInstruction) -> str:
    """The shape of what an instruction makes, as text; empty where it cannot be read."""
    try:
        return shape_text(Shape.FromString(it.shape)) if it.shape else ""
    except DecodeError:
        return ""


def _together(parts: Iterable[_Held]) -> _Held:
    """Several as one: FLOPs are unknown where one's are."""
    flops: int | None = 0
    largest, moves, slices = _Held(), True, False
    for part in parts:
        flops = None if flops is None or part.flops is None else flops + part.flops
        largest = max(largest, part, key=lambda it: it.most)
        moves, slices = moves and part.moves, slices or part.slices
    return _Held(flops, largest.most, largest.largest, moves, slices)


def _result(it: HloInstruction) -> Shape:
    """What an instruction makes; of several things, the first: a library's call also returns the memory that it worked
    in."""
    shape = Shape.FromString(it.shape)
    return shape.tuple_shapes[0] if shape.tuple_shapes else shape


def _size(shape: Shape) -> int:
    """Bytes. Raises KeyError for elements of less than one, or of no size."""
    if shape.tuple_shapes:
        return sum(map(_size, shape.tuple_shapes))
    return _BYTES[shape.element_type] * prod(shape.dimensions)


def _dot(left: list[int], contracted: Iterable[int], made: list[int]) -> int:
    return 2 * prod(made) * prod(left[dimension] for dimension in contracted)


def _convolution(it: HloInstruction, given: list[int], kernel: list[int], made: list[int]) -> int:
    """Of a convolution of `given` with `kernel` to `made`, each a list of dimensions."""
    numbers = it.convolution_dimension_numbers
    places = prod(
        window_places(made[output], given[read], window)
        for output, read, window in zip(
            numbers.output_spatial_dimensions,
            numbers.input_spatial_dimensions,
            it.window.dimensions,
            strict=True,
        )
    )
    features = given[numbers.input_feature_dimension] // max(1, it.feature_group_count)
    batch = given[numbers.input_batch_dimension] // max(1, it.batch_group_count)
    return 2 * features * kernel[numbers.kernel_output_feature_dimension] * batch * places


def window_places(outputs: int, inputs: int, window: Window.Dimension) -> int:
    """How many pairs of an output and a place of the window have a value of the input: neither padding nor, where the
    input is dilated, the zeros between its values. Raises ValueError for sizes that no convolution has."""
    dilation, step = max(1, window.base_dilation), max(1, window.window_dilation)
    sizes = (inputs, window.size, window.stride, window.padding_low, step, dilation)
    if any(abs(size) >= _LARGEST for size in sizes) or outputs * min(dilation, window.size) > _MOST_PLACES:
        raise ValueError("no sizes of a convolution")
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
