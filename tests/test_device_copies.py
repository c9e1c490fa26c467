"""Copies of arguments that are not donated: in programs, and as a finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Core, capture, real_trace
from launching import event
from loops import findings, us

from tb_xla_insights.xplane.hlo_copies import undonated_copies
from tb_xla_insights.xplane.proto.hlo_pb2 import HloComputation, HloInstruction, HloModule, Shape

RECORDED = Path(__file__).parent / "recorded"
F32 = 11


def shape(*dimensions: int) -> Shape:
    return Shape(element_type=F32, dimensions=dimensions)


CACHE, TOKEN = shape(4, 8), shape(8)


def instruction(id_: int, opcode: str, of: Shape, *operands: int, number: int = 0) -> HloInstruction:
    result = HloInstruction(
        id=id_, name=f"{opcode}.{id_}", opcode=opcode, shape=of.SerializeToString(), parameter_number=number
    )
    result.operand_ids.extend(operands)
    if opcode == "parameter":
        result.metadata.op_name = f"argument_{number}"
    return result


def program(*instructions: HloInstruction, aliases: dict[int, int] | None = None) -> HloModule:
    """A program whose last instruction is its output. `aliases`: outputs that overwrite a parameter, by its number."""
    entry = HloComputation(id=1, root_id=instructions[-1].id, instructions=instructions)
    module = HloModule(entry_computation_id=1, computations=[entry])
    for parameter, output in (aliases or {}).items():
        alias = module.input_output_alias.entries.add(parameter_number=parameter)
        alias.output_shape_index.append(output)
    return module


def decode(aliases: dict[int, int] | None = None, copied: Shape = CACHE) -> HloModule:
    """Writes a token into a cache, and returns both."""
    outputs = Shape(tuple_shapes=[CACHE, TOKEN])
    return program(
        instruction(1, "parameter", CACHE),
        instruction(2, "parameter", TOKEN, number=1),
        instruction(3, "copy", copied, 1),
        instruction(4, "dynamic-update-slice", CACHE, 3, 2),
        instruction(5, "tuple", outputs, 4, 2),
        aliases=aliases,
    )


def test_the_copy_of_a_parameter_that_the_program_could_overwrite() -> None:
    assert undonated_copies(decode()) == {"copy.3": (0, "argument_0", "f32[4,8]")}
    assert undonated_copies(decode({1: 1})) == {"copy.3": (0, "argument_0", "f32[4,8]")}


def test_a_donated_parameter_and_an_output_in_another_parameter() -> None:
    """PyTorch/XLA overwrites the weights, and copies them before because it needs their old values."""
    assert undonated_copies(decode({0: 0})) == {}
    assert undonated_copies(decode({1: 0})) == {}


def test_a_change_of_layout_is_no_copy_of_what_is_not_donated() -> None:
    other = Shape.FromString(CACHE.SerializeToString() + b"\x2a\x03\x0a\x01\x00")  # with a layout
    assert undonated_copies(decode(copied=other)) == {}


def test_a_copy_that_leads_to_no_output() -> None:
    instructions = [
        instruction(1, "parameter", CACHE),
        instruction(2, "copy", CACHE, 1),
        instruction(3, "reduce", TOKEN, 2),
        instruction(4, "broadcast", CACHE, 3),
    ]
    assert undonated_copies(program(*instructions)) == {}


def test_a_copy_that_the_caller_requested() -> None:
    """As jax.numpy.asarray and jax.numpy.copy do."""
    parameter, copy = instruction(1, "parameter", CACHE), instruction(2, "copy", CACHE, 1)
    assert undonated_copies(program(parameter, copy)) == {}
    outputs = instruction(3, "tuple", Shape(tuple_shapes=[CACHE, CACHE]), 2, 2)
    assert undonated_copies(program(parameter, copy, outputs)) == {}


def test_a_copy_for_a_loop() -> None:
    state = Shape(tuple_shapes=[TOKEN, CACHE])
    instructions = [
        instruction(1, "parameter", CACHE),
        instruction(2, "parameter", TOKEN, number=1),
        instruction(3, "copy", CACHE, 1),
        instruction(4, "tuple", state, 2, 3),
        instruction(5, "while", state, 4),
        instruction(6, "get-tuple-element", CACHE, 5),
    ]
    assert list(undonated_copies(program(*instructions))) == ["copy.3"]


def test_a_program_without_an_entry() -> None:
    assert undonated_copies(HloModule()) == {}


def test_a_cache_that_is_not_donated() -> None:
    finding = findings(real_trace(RECORDED / "donation/undonated"))["device_copies"]
    assert finding.title == "jit_decode copies cache, which is not donated"
    assert (finding.severity, finding.recurs) == ("critical", "every_step")
    assert "copies cache (f32[4,8,2048,64]) for " in finding.detail
    assert "shorter too" not in finding.detail
    assert "Donate cache (donate_argnums or donate_argnames of jax.jit)" in finding.advice
    assert finding.evidence["has_hlo"]
    (copy,) = finding.evidence["copies"]
    assert (copy["op"], copy["argument"], copy["shape"]) == ("copy.4", "cache", "f32[4,8,2048,64]")
    assert finding.cost_ps == copy["duration_ps"]
    assert len(finding.windows) == 6


def test_the_same_program_with_a_donated_cache() -> None:
    assert "device_copies" not in findings(real_trace(RECORDED / "donation/donated"))


@pytest.mark.parametrize("name", ["tiny_nodebug", "tiny_baseline", "lazy_train_session", "tiny_dynamo_train"])
def test_copies_of_tensors_that_are_updated_in_place_are_no_mistake(name: str, shared_traces: Path) -> None:
    """Up to 40 % of the time of these programs; their parameters are overwritten."""
    assert "device_copies" not in findings(real_trace(shared_traces / "torch_xla" / name))


@pytest.mark.parametrize(("copy_us", "is_reported"), [(80, False), (120, True)])
def test_without_the_program_the_reason_of_copies_is_not_known(copy_us: int, is_reported: bool) -> None:
    ops = [event("fusion.1", 0, 1000 - copy_us), event("copy.4", 1000 - copy_us, copy_us)]
    finding = findings(capture(Core(ops, [event("train(7)", 0, 1000)]))).get("device_copies")
    assert (finding is not None) == is_reported
    if finding:
        assert (finding.title, finding.severity) == ("Copies take 12.0\u202f% of train", "info")
        assert (us(finding.cost_ps), finding.gain, finding.evidence["has_hlo"]) == (0, None, False)
        assert "copy.4 take 0.120\u202fms of 1.00\u202fms in train" in finding.detail
        assert (
            "does not show whether they copy arguments that are not donated, or change a layout"
            in finding.detail
        )
        assert finding.advice.startswith("Capture again with the programs")
