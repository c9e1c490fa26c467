"""Compiled programs, with the fields that readers of profiles use.

The host's metadata plane contains each program as an `HloProto`. Readers take from it the source line and scope of each
instruction, its operands, the instructions of a fusion, and the groups of cores of a collective; the rest of HLO is
left out. Field numbers are XLA's.
"""

from dataclasses import dataclass, field

from synthetic.wire import block, integer, optional_block, optional_integer, packed


@dataclass
class Instruction:
    """One instruction; `calls` are ids of the computations it runs, `operands` ids of instructions it reads, `groups`
    the cores that take part in it together."""

    id: int
    name: str
    opcode: str
    op_name: str = ""
    op_type: str = ""
    source_file: str = ""
    source_line: int = 0
    operands: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    groups: list[list[int]] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        metadata = optional_block(1, self.op_type) + optional_block(2, self.op_name)
        metadata += optional_block(3, self.source_file) + optional_integer(4, self.source_line)
        head = block(1, self.name) + block(2, self.opcode) + optional_block(7, metadata)
        return (
            head
            + integer(35, self.id)
            + packed(36, self.operands)
            + packed(38, self.calls)
            + b"".join(block(49, packed(1, group)) for group in self.groups)
        )


@dataclass
class Computation:
    """A body of instructions; the last one is its root."""

    id: int
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        body = b"".join(block(2, instruction.to_bytes()) for instruction in self.instructions)
        root = integer(6, self.instructions[-1].id) if self.instructions else b""
        return block(1, self.name) + body + integer(5, self.id) + root


@dataclass
class HloModule:
    """One program; the last computation is its entry, as XLA writes them."""

    name: str
    id: int
    computations: list[Computation] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        """The bytes of the `HloProto` around the module."""
        entry = self.computations[-1]
        body = block(1, self.name) + block(2, entry.name)
        body += b"".join(block(3, computation.to_bytes()) for computation in self.computations)
        return block(1, body + integer(5, self.id) + integer(6, entry.id))
