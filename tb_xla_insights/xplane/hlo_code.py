"""What a compiled program computes, told apart from what it is called: two programs compare equal although the
compiler numbered their instructions, computations and channels on."""

from __future__ import annotations

from dataclasses import dataclass

from tb_xla_insights.xplane.proto.hlo_pb2 import HloInstruction, HloModule

_COUNTED_UP = (
    "name", "metadata", "channel_id", "id", "operand_ids", "control_predecessor_ids", "called_computation_ids",
    "statistics_viz", "original_value",
)  # fmt: skip
"""Fields of an instruction that name or number it, or say where it comes from."""


@dataclass(frozen=True)
class ProgramDigests:
    """Digests of what a program computes: of all of it (`whole`), of all but the values of its constants (`formula`),
    and of its opcodes and what they read and call (`structure`), which other sizes leave as they are."""

    whole: bytes
    formula: bytes
    structure: bytes


def digest_program(module: HloModule) -> ProgramDigests:
    """What a program computes. Instructions and computations are told by their position; fields that the parser does
    not know count as they are. Takes the names and ids away from `module`."""
    import hashlib  # few captures have programs to compare

    whole, formula, structure = (hashlib.sha256() for _ in range(3))
    place = {computation.id: number for number, computation in enumerate(module.computations)}
    for computation in module.computations:
        inside = {instruction.id: number for number, instruction in enumerate(computation.instructions)}
        head = f"{len(computation.instructions)} {inside.get(computation.root_id)};".encode()
        for digest in (whole, formula, structure):
            digest.update(head)
        for instruction in computation.instructions:
            reads = _references(instruction, inside, place)
            structure.update(reads + instruction.opcode.encode())
            for field in _COUNTED_UP:
                instruction.ClearField(field)
            whole.update(reads + _message(instruction))
            instruction.ClearField("literal")
            formula.update(reads + _message(instruction))
    return ProgramDigests(whole.digest(), formula.digest(), structure.digest())


def _references(instruction: HloInstruction, inside: dict[int, int], place: dict[int, int]) -> bytes:
    operands = [inside.get(id_) for id_ in instruction.operand_ids]
    before = [inside.get(id_) for id_ in instruction.control_predecessor_ids]
    calls = [place.get(id_) for id_ in instruction.called_computation_ids]
    return f"{operands}{before}{calls}".encode()


def _message(instruction: HloInstruction) -> bytes:
    data = instruction.SerializeToString(deterministic=True)
    return len(data).to_bytes(8, "little") + data
