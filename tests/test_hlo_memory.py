"""The memory of one program, from the compiler's assignment of its buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from buffers import Allocation, assign, module_of, program
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.xplane.hlo_memory import (
    DamagedBuffersError,
    LiveBuffer,
    ProgramMemory,
    program_memory,
    replay,
)
from tb_xla_insights.xplane.proto.hlo_pb2 import BufferAssignment, HeapTrace, HloModule, HloProto

PARAMETER, OUTPUT = Allocation("parameter", {"p": 100}), Allocation("output", {"out": 50})
TEMPORARY = Allocation("temporary", {"a": 40, "b": 30, "c": 20}, size=80)


def memory(proto: HloProto) -> ProgramMemory:
    result = program_memory(proto.buffer_assignment, proto.hlo_module)
    assert result is not None
    return result


def live(proto: HloProto) -> dict[str, int]:
    return {buffer.instruction: buffer.bytes for buffer in memory(proto).live}


def test_a_program_without_an_assignment_has_no_memory() -> None:
    assert program_memory(b"", HloModule()) is None


def test_the_peak_is_what_lasts_and_the_highest_point_of_the_heap() -> None:
    found = memory(program(PARAMETER, OUTPUT, TEMPORARY, traces=["+a +b -a +c -b -c"]))
    assert (found.lasting_bytes, found.parameters_bytes, found.total_bytes) == (150, 100, 230)
    assert (found.peak_bytes, found.peak_at) == (150 + 40 + 30, "b")


def test_the_buffers_at_the_peak_add_up_to_it() -> None:
    assert live(program(PARAMETER, OUTPUT, TEMPORARY, traces=["+a -a +b +c -b -c"])) == {
        "p": 100, "out": 50, "b": 30, "c": 20,
    }  # fmt: skip


def test_the_first_of_equal_peaks_counts() -> None:
    assert memory(program(TEMPORARY, traces=["+a -a +b -b +a -a"])).peak_at == "a"


def test_a_constant_lasts_and_what_is_local_to_a_thread_does_not_count() -> None:
    found = memory(program(Allocation("constant", {"k": 8}), Allocation("thread", {"t": 1000})))
    assert (found.lasting_bytes, found.parameters_bytes, found.total_bytes) == (8, 0, 8)


@pytest.mark.parametrize("color", [1, 2, 5, 6])
def test_other_memory_spaces_do_not_count(color: int) -> None:
    elsewhere = Allocation("temporary", {"v": 1000}, color=color)
    found = memory(program(TEMPORARY, elsewhere, traces=["+v -v", "+a -a"]))
    assert (found.peak_bytes, found.total_bytes) == (40, 80)


class TestSharing:
    def test_a_buffer_that_shares_another_one_adds_nothing(self) -> None:
        assert memory(program(TEMPORARY, traces=["+a b=a -a +c -c -b"])).peak_bytes == 60

    def test_memory_returns_with_the_last_sharer(self) -> None:
        assert memory(program(TEMPORARY, traces=["+a b=a -a -b +c -c"])).peak_bytes == 40

    def test_a_buffer_that_shares_free_memory_takes_it_again_and_is_named(self) -> None:
        proto = program(TEMPORARY, traces=["+a -a +c b=a -b -c"])
        assert (memory(proto).peak_bytes, live(proto)) == (60, {"b": 40, "c": 20})

    def test_sharers_of_sharers_share_the_first_buffer(self) -> None:
        assert memory(program(TEMPORARY, traces=["+a b=a c=b -a -b -c"])).peak_bytes == 40


class TestPadding:
    def test_padding_is_what_exceeds_the_shape(self) -> None:
        proto = program(Allocation("temporary", {"a": 64}), traces=["+a -a"], elements={"a": 15})
        assert memory(proto).live == [LiveBuffer("a", 64, 4, False)]

    def test_that_of_allocations_that_last_does_not_count(self) -> None:
        proto = program(Allocation("parameter", {"p": 64}), elements={"p": 15})
        assert memory(proto).live == [LiveBuffer("p", 64, 0, True)]

    def test_a_part_of_a_tuple_has_its_own_shape(self) -> None:
        proto = program(Allocation("temporary", {"a": 64}), traces=["+a -a"])
        assignment = BufferAssignment.FromString(proto.buffer_assignment)
        assignment.logical_buffers[0].defined_at.shape_index.append(1)
        (instruction,) = proto.hlo_module.computations[0].instructions
        part = instruction.shape
        instruction.shape = b"\x08\x0d" + 2 * (b"\x22" + bytes([len(part)]) + part)
        found = program_memory(assignment.SerializeToString(), proto.hlo_module)
        assert found is not None
        assert found.live == [LiveBuffer("a", 64, 0, False)]


class TestNames:
    def test_an_allocation_that_lasts_is_named_by_its_largest_buffer(self) -> None:
        assert live(program(Allocation("output", {"a": 1, "b": 2}))) == {"b": 2}

    def test_that_of_a_parameter_by_the_parameter_if_a_result_is_written_into_it(self) -> None:
        assert live(program(Allocation("parameter", {"a": 8, "p": 8}))) == {"p": 8}

    def test_old_files_refer_to_instructions_by_name(self) -> None:
        assignment = assign(Allocation("output", {"a": 8}))
        module = module_of(assignment, ["a"])
        assignment.logical_buffers[0].defined_at.instruction_id = 0
        assignment.logical_buffers[0].defined_at.instruction_name = "a"
        found = program_memory(assignment.SerializeToString(), module)
        assert found is not None
        assert [buffer.instruction for buffer in found.live] == ["a"]


class TestWithoutAHeapTrace:
    def test_only_bounds_are_known(self) -> None:
        found = memory(program(PARAMETER, TEMPORARY))
        assert found == ProgramMemory(100, 100, 180, None, "", ())

    def test_a_program_without_temporary_memory_needs_none(self) -> None:
        found = memory(program(PARAMETER, OUTPUT))
        assert (found.peak_bytes, found.peak_at, len(found.live)) == (150, "", 2)


class TestDamage:
    @pytest.mark.parametrize(
        ("trace", "reason"),
        [
            ("+a -a -a", "free buffers that are not allocated"),
            ("-a", "free buffers that are not allocated"),
            ("+a +a", "allocate buffers twice"),
            ("+a x=a", "use buffers that do not exist"),
            ("b=a", "share buffers that were never allocated"),
            ("b=b", "share buffers that were never allocated"),
            ("+a b=x", "share buffers that were never allocated"),
            ("a=b b=a", "share buffers that were never allocated"),
            ("+a b=a a=b", "allocate buffers twice"),
            ("+a +b +c", "need more than all allocations have"),
        ],
    )
    def test_a_trace_that_contradicts_itself_is_not_used(self, trace: str, reason: str) -> None:
        found = memory(program(PARAMETER, TEMPORARY, traces=[trace]))
        assert found == ProgramMemory(100, 100, 180, None, "", (), reason)

    def test_an_unknown_kind_of_event(self) -> None:
        assignment = assign(TEMPORARY, traces=["+a"])
        assignment.heap_simulator_traces[0].events[0].kind = 7  # type: ignore[assignment]
        found = program_memory(assignment.SerializeToString(), HloModule())
        assert found is not None
        assert found.damaged == "have events of unknown kinds"

    @pytest.mark.parametrize("size", [-1, -(2**63), 2**63 - 1, 2**53 + 1])
    def test_sizes_that_no_device_has(self, size: int) -> None:
        proto = program(Allocation("output", {"a": 8}, size=size))
        with pytest.raises(DamagedBuffersError, match="have sizes that no device has"):
            program_memory(proto.buffer_assignment, proto.hlo_module)

    def test_sums_that_no_device_has(self) -> None:
        proto = program(*(Allocation("output", {name: 2**52}) for name in "abc"))
        with pytest.raises(DamagedBuffersError, match="have sizes that no device has"):
            program_memory(proto.buffer_assignment, proto.hlo_module)

    def test_a_buffer_of_such_a_size_does_not_exist(self) -> None:
        found = memory(program(Allocation("temporary", {"a": -8}, size=8), traces=["+a -a"]))
        assert (found.peak_bytes, found.total_bytes, found.damaged) == (None, 8, "")

    def test_an_assignment_that_cannot_be_read(self) -> None:
        with pytest.raises(DamagedBuffersError, match="cannot be read"):
            program_memory(b"\xff", HloModule())

    def test_buffers_without_an_instruction_have_no_name_and_no_padding(self) -> None:
        proto = program(PARAMETER, TEMPORARY, traces=["+a -a"])
        found = program_memory(proto.buffer_assignment, HloModule())
        assert found is not None
        assert found.live == [LiveBuffer("", 100, 0, True), LiveBuffer("", 40, 0, False)]

    def test_an_allocation_without_buffers_counts(self) -> None:
        assert memory(program(Allocation("output", {}, size=8))).live == [LiveBuffer("", 8, 0, False)]

    def test_an_index_outside_of_the_shape(self) -> None:
        proto = program(TEMPORARY, traces=["+a -a"])
        assignment = BufferAssignment.FromString(proto.buffer_assignment)
        assignment.logical_buffers[0].defined_at.shape_index.extend([7, -1])
        found = program_memory(assignment.SerializeToString(), proto.hlo_module)
        assert found is not None
        assert [buffer.padding_bytes for buffer in found.live] == [0]

    def test_a_long_chain_of_sharers(self) -> None:
        count = 20_000
        events = [HeapTrace.Event(buffer_id=0)]
        events += [
            HeapTrace.Event(kind=HeapTrace.Event.SHARE_WITH, buffer_id=i, share_with_canonical_id=i - 1)
            for i in range(1, count)
        ]
        events += [HeapTrace.Event(kind=HeapTrace.Event.FREE, buffer_id=i) for i in range(count)]
        assert replay(events, dict.fromkeys(range(count), 8)).bytes == 8


Events = Sequence[tuple[int, int, int]]


def brute_force_peak(events: Events, size_of: Mapping[int, int]) -> int:
    """The highest sum of memories in use: the memory of a buffer is that of the one it shares, and in use while any
    buffer that has it is alive."""
    memory_of: dict[int, int] = {}
    alive: set[int] = set()
    highest = 0
    for kind, buffer, canonical in events:
        if kind == HeapTrace.Event.FREE:
            alive.discard(buffer)
        else:
            memory_of[buffer] = memory_of[canonical] if kind == HeapTrace.Event.SHARE_WITH else buffer
            alive.add(buffer)
        highest = max(highest, sum(size_of[memory] for memory in {memory_of[each] for each in alive}))
    return highest


@st.composite
def valid_traces(draw: st.DrawFn) -> Events:
    """Traces of up to eight buffers that do not contradict themselves: each is alive at most once at a time."""
    events: list[tuple[int, int, int]] = []
    alive: set[int] = set()
    allocated: list[int] = []
    for _ in range(draw(st.integers(0, 30))):
        buffer = draw(st.integers(0, 7))
        if buffer in alive:
            alive.remove(buffer)
            events.append((HeapTrace.Event.FREE, buffer, 0))
            continue
        shares = [each for each in allocated if each != buffer]
        if bool(shares) and draw(st.booleans()):
            events.append((HeapTrace.Event.SHARE_WITH, buffer, draw(st.sampled_from(shares))))
        else:
            events.append((HeapTrace.Event.ALLOC, buffer, 0))
        alive.add(buffer)
        allocated.append(buffer)
    return events


@given(valid_traces(), st.lists(st.integers(0, 100), min_size=8, max_size=8))
def test_the_replay_finds_the_peak_that_brute_force_finds(trace: Events, sizes: list[int]) -> None:
    size_of = dict(enumerate(sizes))
    events = [
        HeapTrace.Event(kind=kind, buffer_id=buffer, share_with_canonical_id=canonical)  # type: ignore[arg-type]
        for kind, buffer, canonical in trace
    ]
    peak = replay(events, size_of)
    assert peak.bytes == brute_force_peak(trace, size_of) == sum(size for _, size in peak.live)
