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


@dataclass(frozen=True)
class ProgramDigests:
    """Digests of a program: of everything that it computes (`whole`), of that without the values of its constants
    (`formula`), and of its opcodes with their operands and calls (`structure`), which does not depend on shapes."""

    whole: bytes
    formula: bytes
    structure: bytes


def digest_program(module: HloModule) -> ProgramDigests:
    """Digests a program. Instructions and computations are identified by their position; fields that the parser does
    not know are included as they are. Removes names, ids and the values of constants from `module`."""
    import hashlib  # few captures have programs to compare

    whole, formula, structure = (hashlib.sha256() for _ in range(3))
    computation_index = {computation.id: number for number, computation in enumerate(module.computations)}
    for computation in module.computations:
        instruction_index = {
            instruction.id: number for number, instruction in enumerate(computation.instructions)
        }
        head = f"{len(computation.instructions)} {instruction_index.get(computation.root_id)};".encode()
        for digest in (whole, formula, structure):
            digest.update(head)
        for instruction in computation.instructions:
            references = _references(instruction, instruction_index, computation_index)
            structure.update(references + instruction.opcode.encode())
            for field in _IDENTITY_FIELDS:
                instruction.ClearField(field)
            whole.update(references + _message(instruction))
            instruction.ClearField("literal")
            formula.update(references + _message(instruction))
    return ProgramDigests(whole.digest(), formula.digest(), structure.digest())


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
