"""Digests of what a compiled program computes, independent of names and numbers: two programs compare equal although
the compiler numbered their instructions, computations and channels differently."""

from __future__ import annotations

from dataclasses import dataclass

from tb_xla_insights.xplane.proto.hlo_pb2 import HloInstruction, HloModule

_IDENTITY_FIELDS = (
    "name", "metadata", "channel_id", "id", "operand_ids", "control_predecessor_ids", "called_computation_ids",
    "statistics_viz", "original_value",
)  # fmt: skip
"""Fields of an instruction with its names, ids and origin."""

_OMITTED_FIELDS = {
    "whole": _IDENTITY_FIELDS,
    "unplaced": ("sharding",),
    "without_constants": ("literal",),
    "formula": ("slice_dimensions",),
}
"""The fields that each digest leaves out, in addition to those that the digests before it leave out."""


@dataclass(frozen=True)
class ProgramDigests:
    """Digests of a program, each of less than the one before it: everything that it computes (`whole`); that without
    the placement of its values (`unplaced`); also without the values of constants (`without_constants`); also without
    the bounds of slices (`formula`); and only its opcodes with their operands and calls, which do not depend on shapes
    (`structure`). `slices`: the bounds of all slices, in order, as `[0:8,26:27]`."""

    whole: bytes
    unplaced: bytes
    without_constants: bytes
    formula: bytes
    structure: bytes
    slices: tuple[str, ...]


NO_DIGESTS = ProgramDigests(b"", b"", b"", b"", b"", ())
"""The digests of a program that cannot be read."""


def digest_program(module: HloModule) -> ProgramDigests:
    """Digests a program. Instructions and computations are identified by their position; fields that the parser does
    not know are included as they are. Removes the fields that digests omit from `module`."""
    import hashlib  # few captures have programs to compare

    digests = {name: hashlib.sha256() for name in (*_OMITTED_FIELDS, "structure")}
    slices: list[str] = []
    computation_index = {computation.id: number for number, computation in enumerate(module.computations)}
    for computation in module.computations:
        instruction_index = {
            instruction.id: number for number, instruction in enumerate(computation.instructions)
        }
        head = f"{len(computation.instructions)} {instruction_index.get(computation.root_id)};".encode()
        for digest in digests.values():
            digest.update(head)
        for instruction in computation.instructions:
            references = _references(instruction, instruction_index, computation_index)
            digests["structure"].update(references + instruction.opcode.encode())
            if instruction.slice_dimensions:
                slices.append(_slice_text(instruction))
            data = b""
            for name, fields in _OMITTED_FIELDS.items():
                if not data or any(getattr(instruction, field) for field in fields):
                    for field in fields:
                        instruction.ClearField(field)
                    data = references + _message(instruction)
                digests[name].update(data)
    return ProgramDigests(**{name: digest.digest() for name, digest in digests.items()}, slices=tuple(slices))


def _slice_text(instruction: HloInstruction) -> str:
    bounds = (
        f"{dimension.start}:{dimension.limit}" + (f":{dimension.stride}" if dimension.stride > 1 else "")
        for dimension in instruction.slice_dimensions
    )
    return f"[{','.join(bounds)}]"


def _references(
    instruction: HloInstruction, instruction_index: dict[int, int], computation_index: dict[int, int]
) -> bytes:
    operands = [instruction_index.get(id_) for id_ in instruction.operand_ids]
    predecessors = [instruction_index.get(id_) for id_ in instruction.control_predecessor_ids]
    calls = [computation_index.get(id_) for id_ in instruction.called_computation_ids]
    return f"{operands}{predecessors}{calls}".encode()


def _message(instruction: HloInstruction) -> bytes:
    data = instruction.SerializeToString(deterministic=True)
    return len(data).to_bytes(8, "little") + data
