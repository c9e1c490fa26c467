"""A fuzzing target whose inputs are compiled programs, which a capture contains as the compiler wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from build import MemorySource
from fuzz import seeds
from fuzz.change import change_message, damage_bytes
from fuzz.target import Limits, Target, checks_input
from fuzz.tree import encode, root

from tb_xla_insights.analysis.propagation.hlo_scopes import ProgramOrigins
from tb_xla_insights.xplane.hlo import read_program
from tb_xla_insights.xplane.hlo_memory import DamagedBuffersError, ProgramMemory, program_memory
from tb_xla_insights.xplane.program_digests import digest_program
from tb_xla_insights.xplane.proto.hlo_pb2 import HloProto


def make_program(pick: Random) -> bytes:
    program = pick.choice(seeds.fields(real=True)["HloProto"])
    data = encode(change_message(pick, root("HloProto", program.fields or ()), seeds.fields(real=True)))
    return damage_bytes(pick, data) if pick.random() < 0.1 else data


def _program(data: bytes) -> HloProto:
    return read_program(MemorySource(data), (0, len(data)))


@checks_input(_program)
def check_program(proto: HloProto, _: Random) -> Iterator[str]:
    """Checks that the origin and the amounts of every instruction, and the program's memory, are known or reported as
    unknown."""
    module = proto.hlo_module
    program = ProgramOrigins(module, frozenset(("forward", "a")))
    assert "" not in program.working_scopes()
    for computation in module.computations:
        for instruction in computation.instructions:
            origin = program.origin(instruction.name)
            assert origin.amounts.flops is None or origin.amounts.flops >= 0
            assert origin.amounts.bytes is None or origin.amounts.bytes >= 0
            yield f"{origin.state} {origin.opcode} {origin.amounts.flops is None} {origin.amounts.bytes is None}"
    digest_program(module)
    yield f"damaged {program.damaged}"
    yield _check_memory(proto)


def _check_memory(proto: HloProto) -> str:
    try:
        memory = program_memory(proto.buffer_assignment, proto.hlo_module)
    except DamagedBuffersError as error:
        return f"memory damaged: {error}"
    if memory is None or memory.peak_bytes is None:
        return f"memory unknown: {memory and memory.damaged}"
    _check_sums(memory, memory.peak_bytes)
    return f"memory {bool(memory.peak_at)} {len(memory.live)}"


def _check_sums(memory: ProgramMemory, peak_bytes: int) -> None:
    assert memory.parameters_bytes <= memory.lasting_bytes <= peak_bytes <= memory.total_bytes
    assert sum(buffer.bytes for buffer in memory.live) == peak_bytes
    assert all(0 <= buffer.padding_bytes <= buffer.bytes for buffer in memory.live)


TARGETS = [
    Target("program", make_program, check_program, Limits(0.2, 5e-5, 16_000_000, 2000), 0.03, "HloProto")
]
