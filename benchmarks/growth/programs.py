"""Captures whose compiled program has n instructions, computations or scopes."""

from __future__ import annotations

from synthetic.hlo import Computation, Instruction
from synthetic.writer import Space

from benchmarks.growth.training import US, Training, axis, module
from tb_xla_insights.xplane.proto.hlo_pb2 import BufferAssignment, HeapTrace, HloInstruction, HloProto, Shape


@axis
def hlo_chain(n: int) -> Space:
    """Copies that each read the one before, none with an op name."""
    chain = [Instruction(i + 1, f"copy.{i}", "copy", operands=[i] if i else []) for i in range(n)]
    return _space_of(module(chain), [f"copy.{i}" for i in range(n)])


@axis
def hlo_star(n: int) -> Space:
    """Copies that all read one instruction without an op name, and a tuple that reads all copies."""
    star = [
        Instruction(1, "bitcast.0", "bitcast"),
        *(Instruction(i + 2, f"copy.{i}", "copy", operands=[1]) for i in range(n)),
    ]
    star.append(Instruction(n + 2, "tuple.1", "tuple", operands=[instruction.id for instruction in star]))
    return _space_of(module(star), [f"copy.{i}" for i in range(n)])


@axis
def hlo_calls(n: int) -> Space:
    """Computations that each call the next one, with a scope of their own in each; all of them ran."""
    bodies = [
        Computation(i, f"b{i}", [
            Instruction(3 * i + 10, f"dot.{i}", "dot", f"step.1/part{i}.1/aten__mm"),
            Instruction(3 * i + 11, f"call.{i}", "call", calls=[i + 1] if i < n else []),
        ]) for i in range(1, n + 1)
    ]  # fmt: skip
    return _space_of(
        module([Instruction(5, "call.0", "call", calls=[1])], bodies), [f"call.{i}" for i in range(n)]
    )


@axis
def hlo_whiles(n: int) -> Space:
    """Loops inside each other."""
    bodies = [
        Computation(
            i, f"b{i}", [Instruction(3 * i + 11, f"while.{i}", "while", calls=[i + 1] if i < n else [])]
        )
        for i in range(1, n + 1)
    ]
    return _space_of(
        module([Instruction(5, "while.0", "while", calls=[1])], bodies), [f"while.{i}" for i in range(n)]
    )


@axis
def hlo_doubling(n: int) -> Space:
    """Computations that each call the next one twice: 2^n instructions in all."""
    bodies = [
        Computation(i, f"b{i}", [
            Instruction(3 * i + 10, f"x.{i}", "call", calls=[i + 1]),
            Instruction(3 * i + 11, f"y.{i}", "call", calls=[i + 1]),
            Instruction(3 * i + 12, f"dot.{i}", "dot", f"step.1/part{i % 3}.1/aten__mm"),
        ]) for i in range(1, n + 1)
    ]  # fmt: skip
    bodies.append(Computation(n + 1, "last", [Instruction(1, "dot.0", "dot", "step.1/part9.1/aten__mm")]))
    return _space_of(module([Instruction(5, "fusion.1", "fusion", calls=[1])], bodies), ["fusion.1"])


@axis
def hlo_shared(n: int) -> Space:
    """n fusions that all call one computation of n scopes."""
    body = Computation(1, "b", [
        Instruction(i + 10, f"add.{i}", "add", f"step.1/part{i}.1/aten__add") for i in range(n)
    ])  # fmt: skip
    entry = [Instruction(10**5 + i, f"fusion.{i}", "fusion", calls=[1]) for i in range(n)]
    return _space_of(module(entry, [body]), [f"fusion.{i}" for i in range(n)])


@axis
def hlo_scopes(n: int) -> Space:
    """Instructions, each in a scope of its own."""
    entry = [Instruction(i + 1, f"dot.{i}", "dot", f"step.1/part{i}.1/aten__mm", source_file=f"f{i}.py", source_line=i)
             for i in range(n)]  # fmt: skip
    return _space_of(module(entry), [f"dot.{i}" for i in range(n)])


@axis
def hlo_deep_scope(n: int) -> Space:
    """A scope of n levels in a program."""
    return _space_of(
        module([Instruction(1, "dot.1", "dot", "/".join(f"s{i}.1" for i in range(n)) + "/aten__mm")]),
        ["dot.1"],
    )


@axis
def hlo_lowerings(n: int) -> Space:
    """An op name of n nested lowerings."""
    return _space_of(module([Instruction(1, "dot.1", "dot", "aten__add.1/" * n + "aten__add")]), ["dot.1"])


@axis
def hlo_buffers(n: int) -> Space:
    """Buffers that are all alive at the peak, each in a scope of its own."""
    entry = [Instruction(i + 1, f"dot.{i}", "dot", f"step.1/part{i}.1/aten__mm") for i in range(n)]
    events = [HeapTrace.Event(kind=HeapTrace.Event.ALLOC, buffer_id=i + 1) for i in range(n)]
    return _space_of(module(entry) + _buffers(n, events), ["dot.0"])


@axis
def hlo_shared_buffers(n: int) -> Space:
    """Buffers that each share the one before, and are freed in this order."""
    entry = [Instruction(i + 1, f"dot.{i}", "dot") for i in range(n)]
    share, free = HeapTrace.Event.SHARE_WITH, HeapTrace.Event.FREE
    events = [
        HeapTrace.Event(kind=HeapTrace.Event.ALLOC, buffer_id=1),
        *(HeapTrace.Event(kind=share, buffer_id=i + 1, share_with_canonical_id=i) for i in range(1, n)),
        *(HeapTrace.Event(kind=free, buffer_id=i + 1) for i in range(n)),
    ]
    return _space_of(module(entry) + _buffers(n, events), ["dot.0"])


@axis
def hlo_tuple_buffers(n: int) -> Space:
    """Buffers that are the parts of one tuple."""
    part = Shape(element_type=11, dimensions=[2])
    tuple_shape = Shape(element_type=13, tuple_shapes=[part] * n).SerializeToString()
    entry = HloInstruction(id=1, name="dot.0", opcode="dot", shape=tuple_shape)
    proto = HloProto.FromString(module([]))
    proto.hlo_module.computations[0].instructions.append(entry)
    events = [HeapTrace.Event(kind=HeapTrace.Event.ALLOC, buffer_id=i + 1) for i in range(n)]
    return _space_of(proto.SerializeToString() + _buffers(n, events, of_one=True), ["dot.0"])


def _buffers(n: int, events: list[HeapTrace.Event], of_one: bool = False) -> bytes:
    """The assignment of n buffers of 8 bytes in one allocation. `of_one`: all are parts of the first instruction."""
    assignment = BufferAssignment(heap_simulator_traces=[HeapTrace(events=events)])
    assignment.buffer_allocations.add(size=8 * n)
    for i in range(n):
        buffer = assignment.logical_buffers.add(id=i + 1, size=8)
        buffer.defined_at.instruction_id = 1 if of_one else i + 1
        buffer.defined_at.shape_index.extend([i] if of_one else [])
    return HloProto(buffer_assignment=assignment.SerializeToString()).SerializeToString()


def _space_of(program: bytes, ops: list[str]) -> Space:
    """A capture in which these ops of a program ran."""
    training = Training(3, program, ops=False)
    for i, name in enumerate(ops):
        training.op(name, 740 * US + i * 10_000, 8_000)
    return training.space
