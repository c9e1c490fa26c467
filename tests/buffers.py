"""Programs with an assignment of buffers, each named like the instruction that defines it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tb_xla_insights.xplane.proto.hlo_pb2 import BufferAssignment, HeapTrace, HloModule, HloProto, Shape

F32 = 11

Kind = str
"""`parameter`, `constant`, `output`, `temporary` or `thread`, which is local to a thread."""

_FLAGS: dict[Kind, dict[str, bool]] = {
    "parameter": {"is_entry_computation_parameter": True},
    "constant": {"is_constant": True},
    "output": {"maybe_live_out": True},
    "thread": {"is_thread_local": True},
    "temporary": {},
}
_EVENTS = {"+": HeapTrace.Event.ALLOC, "-": HeapTrace.Event.FREE}


class Allocation(NamedTuple):
    """An allocation with the sizes of its buffers by name; `size`: by default that of the largest. `color` is the
    memory space of all."""

    kind: Kind
    buffers: Mapping[str, int]
    size: int | None = None
    color: int = 0


def assign(*allocations: Allocation, traces: Sequence[str] = ()) -> BufferAssignment:
    """The assignment. A trace is a text: `+a -a` allocates and frees a, `b=a` lets b share a."""
    result = BufferAssignment()
    ids: dict[str, int] = {}
    for allocation in allocations:
        size = max(allocation.buffers.values(), default=0) if allocation.size is None else allocation.size
        row = result.buffer_allocations.add(size=size, color=allocation.color, **_FLAGS[allocation.kind])
        for name, buffer_size in allocation.buffers.items():
            ids[name] = len(ids) + 1
            row.assigned.add(logical_buffer_id=ids[name], size=buffer_size)
            buffer = result.logical_buffers.add(id=ids[name], size=buffer_size, color=allocation.color)
            buffer.defined_at.instruction_id = ids[name]
    for trace in traces:
        events = result.heap_simulator_traces.add().events
        for text in trace.split():
            name, _, canonical = text.lstrip("+-").partition("=")
            event: Any = events.add(
                kind=_EVENTS.get(text[0], HeapTrace.Event.SHARE_WITH),
                buffer_id=ids.get(name, 99),
                instruction_name=name,
            )
            event.share_with_canonical_id = ids.get(canonical, 99) if canonical else 0
    return result


def module_of(
    assignment: BufferAssignment,
    names: Sequence[str],
    op_names: Mapping[str, str] | None = None,
    elements: Mapping[str, int] | None = None,
) -> HloModule:
    """A module with an instruction for each buffer, in their order: `op_names` and numbers of float32 `elements` by
    name. An instruction whose name begins with `p` is a parameter."""
    module = HloModule(name="SyncTensorsGraph.1", id=1, entry_computation_id=1)
    computation = module.computations.add(name="main", id=1)
    for buffer, name in zip(assignment.logical_buffers, names, strict=True):
        count = (elements or {}).get(name, buffer.size // 4)
        instruction = computation.instructions.add(
            id=buffer.id,
            name=name,
            opcode="parameter" if name.startswith("p") else "dot",
            shape=Shape(element_type=F32, dimensions=[count]).SerializeToString(),
        )
        instruction.metadata.op_name = (op_names or {}).get(name, "")
    return module


def program(
    *allocations: Allocation,
    traces: Sequence[str] = (),
    op_names: Mapping[str, str] | None = None,
    elements: Mapping[str, int] | None = None,
) -> HloProto:
    """A program with these allocations."""
    assignment = assign(*allocations, traces=traces)
    names = [name for allocation in allocations for name in allocation.buffers]
    return HloProto(
        hlo_module=module_of(assignment, names, op_names, elements),
        buffer_assignment=assignment.SerializeToString(),
    )
