"""Copies in a compiled program that exist because the program must not overwrite a parameter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tb_xla_insights.xplane.hlo import shape_text
from tb_xla_insights.xplane.proto.hlo_pb2 import HloComputation, HloInstruction, HloModule, Shape


class ParameterCopy(NamedTuple):
    """A parameter that a program copies: its number, its name as the framework recorded it (empty: none), and its
    shape, such as `f32[4,128]`."""

    parameter: int
    name: str
    shape: str


def undonated_copies(module: HloModule) -> dict[str, ParameterCopy]:
    """The copies of whole parameters, by the name of the copying instruction, that would be superfluous if the program
    could write its output into the parameter: shape and layout are the same, the copy leads to an output of the same
    shape and layout, and neither that parameter nor that output shares its buffer (`input_output_alias`). A copy that
    is itself the output is what the caller requested."""
    entry = next(
        (computation for computation in module.computations if computation.id == module.entry_computation_id),
        None,
    )
    if entry is None:
        return {}
    by_id = {instruction.id: instruction for instruction in entry.instructions}
    overwritten = {alias.parameter_number for alias in module.input_output_alias.entries}
    copies: list[tuple[HloInstruction, HloInstruction]] = []
    for copy in entry.instructions:
        source = by_id.get(copy.operand_ids[0]) if copy.opcode == "copy" and copy.operand_ids else None
        is_of_parameter = source is not None and source.opcode == "parameter" and source.shape == copy.shape
        if source is not None and is_of_parameter and source.parameter_number not in overwritten:
            copies.append((copy, source))
    if not copies or entry.root_id not in by_id:
        return {}
    flow = _Flow(entry, by_id[entry.root_id], module)
    return {
        copy.name: ParameterCopy(
            source.parameter_number, source.metadata.op_name, shape_text(Shape.FromString(copy.shape))
        )
        for copy, source in copies
        if flow.leads_to_free_output(copy)
    }


class _Flow:
    """Where the values of an entry computation go."""

    def __init__(self, entry: HloComputation, root: HloInstruction, module: HloModule) -> None:
        self._root = root
        self._users: dict[int, list[HloInstruction]] = {}
        for instruction in entry.instructions:
            for id_ in set(instruction.operand_ids):
                self._users.setdefault(id_, []).append(instruction)
        written = {tuple(alias.output_shape_index) for alias in module.input_output_alias.entries}
        self._free_outputs: dict[bytes, set[tuple[int, ...]]] = {}
        for index, leaf in _leaves(root.shape):
            if index not in written:
                self._free_outputs.setdefault(leaf, set()).add(index)
        self._arrays: dict[bytes, frozenset[bytes]] = {}

    def leads_to_free_output(self, copy: HloInstruction) -> bool:
        """Whether values of the copy's shape lead from the copy to an output of that shape, other than the copy itself,
        that is written into no parameter's buffer. Of a value inside a tuple before the root, the place among the
        outputs is not followed."""
        shape = copy.shape
        free_outputs = self._free_outputs.get(shape, set())
        pending, seen = [copy] if free_outputs else [], {copy.id}
        while pending:
            instruction = pending.pop()
            if instruction.id == self._root.id:
                return instruction.id != copy.id
            for user in self._users.get(instruction.id, ()):
                if user.id == self._root.id and user.opcode == "tuple" and instruction.shape == shape:
                    places = (place for place, id_ in enumerate(user.operand_ids) if id_ == instruction.id)
                    if instruction.id != copy.id and any((place,) in free_outputs for place in places):
                        return True
                elif user.id not in seen and shape in self._arrays_in(user.shape):
                    seen.add(user.id)
                    pending.append(user)
        return False

    def _arrays_in(self, shape: bytes) -> frozenset[bytes]:
        if shape not in self._arrays:
            self._arrays[shape] = frozenset(leaf for _, leaf in _leaves(shape))
        return self._arrays[shape]


def _leaves(shape: bytes) -> Iterator[tuple[tuple[int, ...], bytes]]:
    """The arrays in a shape: their index in it, and their own shape."""
    pending: list[tuple[tuple[int, ...], bytes]] = [((), shape)]
    while pending:
        index, data = pending.pop()
        parts = Shape.FromString(data).tuple_shapes
        if not parts:
            yield index, data
        pending += [((*index, number), part.SerializeToString()) for number, part in enumerate(parts)]
