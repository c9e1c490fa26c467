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
from tb_xla_insights.xplane.hlo import read_module
from tb_xla_insights.xplane.program_digests import digest_program
from tb_xla_insights.xplane.proto.hlo_pb2 import HloModule


def make_program(pick: Random) -> bytes:
    program = pick.choice(seeds.fields(real=True)["HloProto"])
    data = encode(change_message(pick, root("HloProto", program.fields or ()), seeds.fields(real=True)))
    return damage_bytes(pick, data) if pick.random() < 0.1 else data


def _module(data: bytes) -> HloModule:
    return read_module(MemorySource(data), (0, len(data)))


@checks_input(_module)
def check_program(module: HloModule, _: Random) -> Iterator[str]:
    """Checks that the origin and the amounts of every instruction are known or reported as unknown."""
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


TARGETS = [
    Target("program", make_program, check_program, Limits(0.2, 5e-5, 16_000_000, 2000), 0.03, "HloProto")
]
