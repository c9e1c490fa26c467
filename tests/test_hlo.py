"""Compiled programs in a capture."""

from __future__ import annotations

from pathlib import Path

import pytest
from build import MemorySource
from captures import real_trace
from synthetic.hlo import Computation, HloModule, Instruction
from synthetic.wire import block, integer
from synthetic.writer import Space

from tb_xla_insights.analysis.propagation import propagation_report
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.open import open_source
from tb_xla_insights.xplane.hlo import program_ranges, read_module
from tb_xla_insights.xplane.metadata import LARGE_METADATA_BYTES
from tb_xla_insights.xplane.read_xspace import read_space

DOT = Instruction(3, "dot.1", "dot", "Step.1/forward.2/aten__mm", "aten__mm", "train.py", 12, operands=[1, 2])
CALL = Instruction(4, "call.2", "call", calls=[1])


def program(size: int = 0) -> bytes:
    """A module of two computations, with `size` bytes in fields that are not read."""
    module = HloModule("graph", 5, [Computation(1, "body", [DOT]), Computation(2, "main", [CALL])])
    return module.to_bytes() + block(3, b"x" * size)


def capture(**programs: bytes) -> MemorySource:
    space = Space()
    plane = space.plane("/host:metadata")
    for number, (name, data) in enumerate(programs.items()):
        plane.event_metadata(name, id=number - 1, stats={"Hlo Proto": data, "other": 7})
    space.plane("/host:CPU").event_metadata("no program", id=9, stats={"Hlo Proto": b"data"})
    return MemorySource(space.to_bytes())


@pytest.mark.parametrize("size", [0, 1000, LARGE_METADATA_BYTES, 3 * LARGE_METADATA_BYTES])
def test_a_program_of_any_size(size: int) -> None:
    source = capture(negative=program(), graph=program(size), other=program())
    ranges = program_ranges(read_space(source))
    assert list(ranges) == [2**64 - 1, 0, 1]
    module = read_module(source, ranges[0])
    assert (module.name, module.id, module.entry_computation_id) == ("graph", 5, 2)
    body, main = module.computations
    (dot,), (call,) = body.instructions, main.instructions
    assert (body.id, body.name, body.root_id, dot.name, dot.opcode) == (1, "body", 3, "dot.1", "dot")
    assert list(dot.operand_ids) == [1, 2]
    metadata = dot.metadata
    assert (metadata.op_name, metadata.op_type) == ("Step.1/forward.2/aten__mm", "aten__mm")
    assert (metadata.source_file, metadata.source_line) == ("train.py", 12)
    assert list(call.called_computation_ids) == [1]


def test_the_program_id_is_the_stat_program_id_if_present() -> None:
    """From JAX 0.9 on, the ids of event metadata only count the entries."""
    space = Space()
    plane = space.plane("/host:metadata")
    stats: tuple[dict[str, int], ...] = ({"program_id": 2**63 + 5}, {"program_id": 2}, {})
    for number, entry_stats in enumerate(stats, 1):
        plane.event_metadata(f"graph {number}", id=number, stats=entry_stats | {"Hlo Proto": program(number)})
    assert list(program_ranges(read_space(MemorySource(space.to_bytes())))) == [2**63 + 5, 2, 3]


def test_programs_of_a_newer_jax_are_those_that_ran(shared_traces: Path) -> None:
    """The id of one entry is the program id of another: program 7 is `jit_multiply`."""
    trace = real_trace(shared_traces / "other/jax0.9.2_block")
    assert sorted(trace.programs) == [1, 3, 5, 7, 9, 11, 13]
    with open_source(trace.path) as source:
        assert read_module(source, trace.programs[13]).name == "jit_train"
        assert read_module(source, trace.programs[7]).name == "jit_multiply"
    coverage = propagation_report(trace)["propagation"]
    assert coverage["direct_ps"] > 0.99 * coverage["device_ps"]
    assert coverage["none_ps"] == 0


def test_a_program_that_is_cut_or_foreign_is_refused_in_one_line() -> None:
    whole = program()
    for data in (whole[:-3], whole[:40], b"\xff" * 50, b"MODULE graph", block(1, integer(1, 5)[:-1])):
        source = capture(graph=data)
        (byte_range,) = program_ranges(read_space(source)).values()
        with pytest.raises(InputError, match=rf"^memory\.xplane\.pb: byte {byte_range[0]}: ") as raised:
            read_module(source, byte_range)
        assert "\n" not in str(raised.value)


def test_a_program_beyond_the_end_of_the_file_or_too_large_is_refused() -> None:
    source = capture(graph=program())
    (byte_range,) = program_ranges(read_space(source)).values()
    for invalid in (
        (byte_range[0], source.size),
        (source.size, 5),
        (byte_range[0], -1),
        (byte_range[0], 1 << 31),
    ):
        with pytest.raises(InputError, match="cannot be read"):
            read_module(source, invalid)


def test_programs_of_a_real_capture(shared_traces: Path) -> None:
    path = next((shared_traces / "torch_xla" / "baseline_session_debug").rglob("*.xplane.pb"))
    with open_source(str(path)) as source:
        space = read_space(source)
        ranges = program_ranges(space)
        ids = space.stats["program_id"].values
        assert {int(id_) % 2**64 for id_ in ids} <= set(ranges)
        modules = {id_: read_module(source, byte_range) for id_, byte_range in ranges.items()}
    assert all(module.name.startswith("SyncTensorsGraph.") for module in modules.values())
    instructions = [
        instruction
        for module in modules.values()
        for computation in module.computations
        for instruction in computation.instructions
    ]
    names = {instruction.name for instruction in instructions}
    op_names = [instruction.metadata.op_name for instruction in instructions]
    assert any(name.startswith("Training_Step.") for name in op_names)
    recorded = space.stats["hlo_op"].values
    assert {space.strings.texts[index] for index in recorded} <= names
