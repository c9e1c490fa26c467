"""The device memory that a compiled program needs, from the compiler's assignment of its buffers.

Of memory space 0, the device's main memory, allocations that last for the whole program (parameters, constants,
outputs) always count; all others hold buffers that come and go, in the order of the compiler's heap trace. The sums are
those of xprof's memory viewer. (docs/definitions.md, "Memory at the peak")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import NamedTuple

from google.protobuf.message import DecodeError

from tb_xla_insights.xplane.hlo_amounts import ELEMENT_BYTES
from tb_xla_insights.xplane.proto.hlo_pb2 import (
    BufferAllocation,
    BufferAssignment,
    HeapTrace,
    HloInstruction,
    HloModule,
    LogicalBuffer,
    Shape,
)

MAX_BYTES = 1 << 53
"""More memory than any device has, and the most that a double holds exactly. Damaged sizes exceed it."""

_MAIN_MEMORY = 0


class LiveBuffer(NamedTuple):
    """A buffer that is alive at the peak: the instruction whose value it holds (empty: unknown), its bytes, how many of
    them are padding (0 for allocations that last, as in xprof), and whether it is a parameter of the program."""

    instruction: str
    bytes: int
    padding_bytes: int
    is_parameter: bool


@dataclass(frozen=True)
class ProgramMemory:
    """The bytes of one program: `lasting_bytes` of allocations that last for the whole program, `parameters_bytes`
    among them, and `total_bytes` of all allocations. `peak_bytes`: the highest use; `peak_at`: the instruction there,
    empty if the use never changes; `live`: the buffers there, whose sizes add up to the peak. Without a usable heap
    trace, `peak_bytes` is None and the peak between `lasting_bytes` and `total_bytes`. `damaged`: why a trace could not
    be used, empty if the program has none."""

    lasting_bytes: int
    parameters_bytes: int
    total_bytes: int
    peak_bytes: int | None
    peak_at: str
    live: Sequence[LiveBuffer]
    damaged: str = ""


class DamagedBuffersError(Exception):
    """The text says what is damaged."""


def program_memory(assignment: bytes, module: HloModule) -> ProgramMemory | None:
    """The memory of a program; None if its file has no assignment of buffers. Raises DamagedBuffersError for one that
    cannot be read, or whose sizes no device has."""
    try:
        buffers = BufferAssignment.FromString(assignment)
    except DecodeError:
        raise DamagedBuffersError("cannot be read") from None
    allocations = [
        allocation
        for allocation in buffers.buffer_allocations
        if allocation.color == _MAIN_MEMORY and not allocation.is_thread_local
    ]
    if not allocations:
        return None
    lasting = [allocation for allocation in allocations if _lasts(allocation)]
    total_bytes, lasting_bytes = _sum(allocations), _sum(lasting)
    parameters_bytes = _sum(allocation for allocation in lasting if allocation.is_entry_computation_parameter)
    buffer_of = {
        buffer.id: buffer
        for buffer in buffers.logical_buffers
        if buffer.color == _MAIN_MEMORY and 0 <= buffer.size <= MAX_BYTES
    }
    damaged, peak = "", HeapPeak(0, "", ())
    if lasting_bytes < total_bytes:
        trace = _main_trace(buffers, buffer_of)
        if trace is None:
            return ProgramMemory(lasting_bytes, parameters_bytes, total_bytes, None, "", ())
        try:
            peak = replay(trace.events, {id_: buffer.size for id_, buffer in buffer_of.items()})
            if lasting_bytes + peak.bytes > total_bytes:
                raise DamagedBuffersError("need more than all allocations have")
        except DamagedBuffersError as error:
            damaged = str(error)
    if damaged:
        return ProgramMemory(lasting_bytes, parameters_bytes, total_bytes, None, "", (), damaged)
    live = _LiveBuffers(module, buffer_of)
    live.add_allocations(lasting)
    live.add_buffers(peak.live)
    return ProgramMemory(
        lasting_bytes, parameters_bytes, total_bytes, lasting_bytes + peak.bytes, peak.at, live.rows()
    )


def _lasts(allocation: BufferAllocation) -> bool:
    return allocation.is_entry_computation_parameter or allocation.is_constant or allocation.maybe_live_out


def _sum(allocations: Iterable[BufferAllocation]) -> int:
    sizes = [allocation.size for allocation in allocations]
    if min(sizes, default=0) < 0 or sum(sizes) > MAX_BYTES:
        raise DamagedBuffersError("have sizes that no device has")
    return sum(sizes)


def _main_trace(buffers: BufferAssignment, buffer_of: Mapping[int, LogicalBuffer]) -> HeapTrace | None:
    """The heap trace with most events of buffers in the main memory; None without one. A trace says itself of which
    allocation it is, but not reliably."""
    counts = [
        sum(event.buffer_id in buffer_of for event in trace.events) for trace in buffers.heap_simulator_traces
    ]
    largest = max(counts, default=0)
    return buffers.heap_simulator_traces[counts.index(largest)] if largest else None


class HeapPeak(NamedTuple):
    """The highest point of a heap trace: its bytes, the instruction at which it is first reached, and what is in use
    there: the buffer (its id) for which each memory was taken, and the size of that."""

    bytes: int
    at: str
    live: Sequence[tuple[int, int]]


def replay(events: Sequence[HeapTrace.Event], size_of: Mapping[int, int]) -> HeapPeak:
    """The first highest point of a heap trace. A buffer that shares another one's memory adds nothing unless that is
    free already; memory returns when its last sharer is freed. Raises DamagedBuffersError if an event does not fit
    those before it."""
    heap = _Heap(size_of)
    bytes_after = [heap.apply(event) for event in events]
    peak_bytes = max(bytes_after, default=0)
    if not peak_bytes:
        return HeapPeak(0, "", ())
    first, heap = bytes_after.index(peak_bytes), _Heap(size_of)
    for event in events[: first + 1]:
        heap.apply(event)
    return HeapPeak(peak_bytes, events[first].instruction_name, heap.live)


class _Heap:
    """The state of the heap after some events of a trace."""

    def __init__(self, size_of: Mapping[int, int]) -> None:
        self._size_of, self._bytes = size_of, 0
        self._memory_of: dict[int, int] = {}  # the buffer whose memory each buffer was given last
        self._alive: set[int] = set()
        self._sharers: dict[int, int] = {}  # the number of buffers alive in each memory
        self._owner: dict[int, int] = {}  # the buffer for which each memory in use was taken

    @property
    def live(self) -> list[tuple[int, int]]:
        return [(owner, self._size_of[memory]) for memory, owner in self._owner.items()]

    def apply(self, event: HeapTrace.Event) -> int:
        """Applies an event; the bytes in use after it."""
        id_, kind = event.buffer_id, event.kind
        if id_ not in self._size_of:
            raise DamagedBuffersError("use buffers that do not exist")
        if kind == HeapTrace.Event.FREE:
            self._free(id_)
        elif kind == HeapTrace.Event.ALLOC:
            self._take(id_, id_)
        elif kind == HeapTrace.Event.SHARE_WITH:
            canonical = event.share_with_canonical_id
            if canonical not in self._memory_of:
                raise DamagedBuffersError("share buffers that were never allocated")
            self._take(id_, self._memory_of[canonical])
        else:
            raise DamagedBuffersError("have events of unknown kinds")
        return self._bytes

    def _take(self, id_: int, memory: int) -> None:
        if id_ in self._alive:
            raise DamagedBuffersError("allocate buffers twice")
        self._alive.add(id_)
        self._memory_of[id_] = memory
        if memory not in self._owner:
            self._owner[memory] = id_
            self._bytes += self._size_of[memory]
        self._sharers[memory] = self._sharers.get(memory, 0) + 1

    def _free(self, id_: int) -> None:
        if id_ not in self._alive:
            raise DamagedBuffersError("free buffers that are not allocated")
        self._alive.remove(id_)
        memory = self._memory_of[id_]
        self._sharers[memory] -= 1
        if not self._sharers[memory]:
            del self._owner[memory]
            self._bytes -= self._size_of[memory]


class _LiveBuffers:
    """The buffers that are alive at the peak."""

    def __init__(self, module: HloModule, buffer_of: Mapping[int, LogicalBuffer]) -> None:
        self._module, self._buffer_of = module, buffer_of
        self._rows: list[tuple[list[LogicalBuffer], int, bool, bool]] = []

    def add_allocations(self, allocations: Iterable[BufferAllocation]) -> None:
        """Adds whole allocations. Each is named by its largest buffer; of several, by the parameter."""
        for allocation in allocations:
            buffers = [
                self._buffer_of[assigned.logical_buffer_id]
                for assigned in allocation.assigned
                if assigned.logical_buffer_id in self._buffer_of
            ]
            largest = max((buffer.size for buffer in buffers), default=0)
            candidates = [buffer for buffer in buffers if buffer.size == largest]
            is_parameter = allocation.is_entry_computation_parameter
            named = candidates if is_parameter else candidates[:1]
            self._rows.append((named, allocation.size, is_parameter, True))

    def add_buffers(self, sizes: Iterable[tuple[int, int]]) -> None:
        """Adds buffers by their ids, with their sizes."""
        self._rows += [([self._buffer_of[id_]], size, False, False) for id_, size in sizes]

    def rows(self) -> list[LiveBuffer]:
        instructions = self._instructions()

        @cache
        def shape_of(key: int | str) -> Shape:
            try:
                return Shape.FromString(instructions[key].shape)
            except DecodeError:
                return Shape()

        rows = []
        for candidates, size, is_parameter, lasts in self._rows:
            known = [buffer for buffer in candidates if _instruction_key(buffer) in instructions]
            if not known:
                rows.append(LiveBuffer("", size, 0, is_parameter))
                continue
            parameters = (
                buffer for buffer in known if instructions[_instruction_key(buffer)].opcode == "parameter"
            )
            buffer = next(parameters, known[0])
            key = _instruction_key(buffer)
            needed = _array_bytes(shape_of(key), buffer.defined_at.shape_index)
            padding = 0 if lasts or needed is None else max(0, size - needed)
            rows.append(LiveBuffer(instructions[key].name, size, padding, is_parameter))
        return rows

    def _instructions(self) -> dict[int | str, HloInstruction]:
        """The instructions that define the buffers, by what refers to them."""
        wanted = {_instruction_key(buffer) for buffers, *_ in self._rows for buffer in buffers}
        by_name = any(isinstance(key, str) for key in wanted)
        found: dict[int | str, HloInstruction] = {}
        for computation in self._module.computations:
            for instruction in computation.instructions:
                if instruction.id in wanted:
                    found[instruction.id] = instruction
                if by_name and instruction.name in wanted:
                    found[instruction.name] = instruction
        return found


def _instruction_key(buffer: LogicalBuffer) -> int | str:
    return buffer.defined_at.instruction_name or buffer.defined_at.instruction_id


def _array_bytes(shape: Shape, index: Iterable[int]) -> int | None:
    """The bytes of an array in a shape without padding; None for tuples, and for elements whose storage differs."""
    for position in index:
        if not 0 <= position < len(shape.tuple_shapes):
            return None
        shape = shape.tuple_shapes[position]
    element_bytes = ELEMENT_BYTES.get(shape.element_type)
    if shape.tuple_shapes or element_bytes is None or min(shape.dimensions, default=0) < 0:
        return None
    return element_bytes * prod(shape.dimensions)
