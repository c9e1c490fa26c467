"""Captures of trainings that compile: each step compiles a graph and runs it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from captures import session
from programs import read
from synthetic.writer import Space

from tb_xla_insights.trace.model import SessionTrace
from tb_xla_insights.xplane.proto.hlo_pb2 import HloInstruction, HloModule, HloProto, Shape

STEP_PS = 10**9
FIRST_STEP = 5

_TYPES = {"pred": 1, "s64": 5, "f16": 10, "f32": 11, "bf16": 16}
_SHAPE = re.compile(r"(\w+)\[([\d,-]*)\]")

Framework = Literal["torch_xla", "dynamo", "jax"]

_CALLS: dict[Framework, tuple[str, ...]] = {
    "torch_xla": ("XLAGraphExecutor::Compile", "PjRtComputationClient::ExecuteComputation"),
    "dynamo": (
        "XLAGraphExecutor::Compile", "ExecuteComputationWithBarrier", "PjRtComputationClient::ExecuteComputation",
    ),
    "jax": ("backend_compile_and_load", "PjitFunction(f)", "ExecuteReplicated.__call__"),
}  # fmt: skip
"""The call that compiles, then the calls that launch, the outermost first."""


@dataclass(frozen=True)
class Graph:
    """A program: the shapes of its parameters, and the opcodes of its instructions; a number is a constant of that
    value, `slice 3` a slice from 3 to 4, and `tanh @1` an instruction whose value is placed on device 1."""

    parameters: Sequence[str]
    code: Sequence[str | int] = ("dot",)
    module: str = "graph.1"


def compiling(
    tmp_path: Path,
    graphs: Sequence[Graph],
    before: Sequence[Graph] = (),
    framework: Framework = "torch_xla",
    hlo: bool = True,
) -> SessionTrace:
    """A session whose step FIRST_STEP + i compiles graph i for a tenth of the step and runs it. The graphs `before`
    were compiled before the capture. Program ids count up. `hlo`: whether the file has the HLO of all graphs."""
    space = Space()
    metadata = space.plane("/host:metadata")
    for id_, graph in enumerate([*before, *graphs], 1):
        stats = {"Hlo Proto": proto(graph, id_)} if hlo else {}
        metadata.event_metadata(f"{graph.module}({id_})", id_, stats=stats)
    host = space.plane("/host:CPU").line("python", id=1)
    device = space.plane("/device:TPU:0").line("XLA Modules")
    call, *launches = _CALLS[framework]
    for number, graph in enumerate(graphs):
        at, id_ = number * STEP_PS, len(before) + number + 1
        host.event("Training_Step", at, STEP_PS, _r=1, step_num=FIRST_STEP + number)
        host.event(call, at + STEP_PS // 10, STEP_PS // 10)
        for depth, launch in enumerate(launches):
            host.event(launch, at + STEP_PS // 2 + depth, STEP_PS // 10 - 2 * depth)
        host.event("DoEnqueueProgram", at + STEP_PS // 2 + 10, 20, _pt=12, _p=id_)
        device.event(f"{graph.module}({id_})", at + STEP_PS * 7 // 10, STEP_PS // 5, _ct=12, _c=id_)
    return session(read(space, tmp_path))


def proto(graph: Graph, number: int) -> bytes:
    """The HLO of a graph. Ids, and names except the module's, count up from `number`, as the compiler's do."""
    module = HloModule(name=graph.module, id=number, entry_computation_id=number)
    computation = module.computations.add(name=f"main.{number}", id=number)
    for index, opcode in enumerate(graph.code):
        instruction = computation.instructions.add(name=f"{opcode}.{number + index}", id=100 * number + index)
        _fill(instruction, opcode)
        instruction.metadata.op_name = f"step.{number}"
        if index:
            instruction.operand_ids.append(100 * number + index - 1)
        computation.root_id = instruction.id
    module.host_program_shape.parameters.extend(map(shape, graph.parameters))
    return HloProto(hlo_module=module).SerializeToString()


def _fill(instruction: HloInstruction, opcode: str | int) -> None:
    if isinstance(opcode, int):
        instruction.opcode, instruction.literal = "constant", bytes([opcode])
        return
    instruction.opcode, _, argument = opcode.partition(" ")
    if argument.startswith("@"):
        instruction.sharding = argument.encode()
    elif argument:
        instruction.slice_dimensions.add(start=int(argument), limit=int(argument) + 1, stride=1)


def shape(text: str) -> Shape:
    match = _SHAPE.fullmatch(text)
    assert match
    return Shape(
        element_type=_TYPES[match[1]], dimensions=[int(size) for size in match[2].split(",") if size]
    )
