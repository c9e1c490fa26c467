"""What is cut or damaged: nothing that is whole is lost, and what is lost is told, with its place."""

from __future__ import annotations

import gzip
import os
import random
import re
from pathlib import Path

import numpy as np
import pytest
from build import MemorySource
from captures import CATALOG
from independent import Line, Plane, of_space
from synthetic.hlo import Computation, HloModule, Instruction
from synthetic.wire import block, integer, varint
from synthetic.writer import Ref, Space

from tb_xla_insights.errors import InputError
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.read import read_trace
from tb_xla_insights.xplane import events
from tb_xla_insights.xplane.hlo import program_places
from tb_xla_insights.xplane.read import XSpace, read_space
from tb_xla_insights.xplane.source import Bytes, open_source

NEVER_ENDS = b"\xff" * 10 + b"\x01"
"""A varint of eleven bytes."""


def small() -> bytes:
    """A file with all that a file has: threads, a device, a program, a clock, names."""
    space = Space(hostnames=["vm"])
    host = space.plane("/host:CPU")
    epoch = 1_700_000_000_000_000_000
    python = host.line("python", id=-3, timestamp_ns=epoch)
    python.event("Training_Step", 0, 90, _r=1, step_num=3)
    python.event("ThreadpoolListener::Record", 10, 1, _pt=15, _p=7)
    client = host.line("tf_XLAPjRtCpuClient/8", id=8, timestamp_ns=epoch + 1)
    client.event("ThreadpoolListener::StartRegion", 0, 0, _ct=15, _c=7)
    client.event("dot.1", 20, 30, hlo_op=Ref("dot.1"), hlo_module=Ref("m"), program_id=5)
    client.event("ThunkExecutor::Execute (wait for completion)", 60, 1)
    device = space.plane("/device:TPU:0", stats={"peak": 1.5})
    device.line("XLA Ops", timestamp_ns=epoch).event(
        device.event_metadata("fusion", display_name="f", stats={"tf_op": "a/b"}), 5, 50, run_id="12"
    )
    program = HloModule("m", 5, [Computation(1, "main", [Instruction(1, "dot.1", "dot")])]).to_bytes()
    space.plane("/host:metadata").event_metadata("m", id=5, stats={"Hlo Proto": program})
    space.plane("Task Environment", stats={"profile_start_time": epoch})
    return space.to_bytes()


def read(data: bytes) -> XSpace:
    return read_space(MemorySource(data))


def survived(data: bytes) -> XSpace | None:
    """What can be read of a file, or None where it is refused in one line."""
    try:
        return read(data)
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    return None


def trace_of(data: bytes) -> Trace:
    return read_trace(MemorySource(data), CATALOG, host="vm")


def ids(space: XSpace) -> list[str]:
    return [diagnostic.id for diagnostic in space.diagnostics]


def lines_of(data: bytes) -> list[tuple[int, int, Line]]:
    """Where each line of a whole file begins and ends, and what it holds."""
    space = read(data)
    lines = [line for plane in space.planes for line in plane.lines]
    held = [line for plane in of_space(space) for line in plane.lines]
    return [(line.start, line.end, content) for line, content in zip(lines, held, strict=True)]


def nameless(line: Line) -> tuple[object, ...]:
    """A line without the names that its plane tells behind it."""
    return line.id, line.name, line.timestamp_ns, [(e.kind, e.offset_ps, e.duration_ps) for e in line.events]


def test_a_file_cut_at_any_byte_keeps_every_whole_line() -> None:
    data = small()
    whole = lines_of(data)
    planes = _top_ends(data)
    assert len(whole) == 3
    for end in range(1, len(data)):
        space = survived(data[:end])
        if space is None:
            assert end < whole[0][1], f"cut at {end}"
            continue
        read_lines = [nameless(line) for plane in of_space(space) for line in plane.lines]
        assert read_lines == [nameless(line) for _, last, line in whole if last <= end], f"cut at {end}"
        if end in planes:  # a file that happens to end between two fields of its own is whole
            assert ids(space) == []
        else:
            assert ids(space) == ["truncated_file"], f"cut at {end}"
            assert f"byte {end}" in space.diagnostics[0].message
        if end % 7 == 0:
            trace_of(data[:end])


def _top_ends(data: bytes) -> set[int]:
    """Where the fields of the file itself end."""
    at, ends = 0, set()
    while at < len(data):
        at += 1
        length = shift = 0
        while True:
            byte = data[at]
            at, length, shift = at + 1, length | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                break
        at += length
        ends.add(at)
    return ends


def test_whole_planes_before_a_cut_keep_their_names() -> None:
    data = small()
    first, whole = min(_top_ends(data)), of_space(read(data))
    for end in range(first, len(data), 9):
        assert of_space(read(data[:end]))[0] == whole[0]


@pytest.mark.parametrize("change", [0x80, 0xFF], ids=["high bit", "all bits"])
def test_any_wrong_byte_is_survived_and_what_it_makes_unreadable_has_a_place(change: int) -> None:
    data = small()
    for at in range(len(data)):
        broken = data[:at] + bytes([data[at] ^ change]) + data[at + 1 :]
        space = survived(broken)
        if space and at % 5 == 0:
            trace_of(broken)
        for diagnostic in space.diagnostics if space else ():
            if diagnostic.id == "dropped_events":  # a plane that has become the profiler's own complaint
                continue
            assert diagnostic.id in ("corrupt_file", "truncated_file"), f"byte {at}"
            (place,) = re.findall(r"[Bb]yte (\d+)", diagnostic.message)
            assert 0 <= int(place) <= len(data)


def test_many_wrong_bytes_are_survived() -> None:
    pick, data = random.Random(1), small()
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(pick.randint(1, 9)):
            broken[pick.randrange(len(data))] = pick.choice([0, 0x7F, 0x80, 0xFF, pick.randrange(256)])
        if survived(bytes(broken)):
            trace_of(bytes(broken))


def test_a_real_file_with_wrong_bytes_is_survived(shared_traces: Path) -> None:
    path = next((shared_traces / "torch_xla" / "tiny_baseline").rglob("*.xplane.pb"))
    pick, data = random.Random(2), path.read_bytes()
    for _ in range(25):
        broken = bytearray(data)
        broken[pick.randrange(len(data))] ^= 1 << pick.randrange(8)
        trace_of(bytes(broken))
        trace_of(data[: pick.randrange(len(data) // 2, len(data))])


def with_line(line: bytes, event: bytes = b"", before: bytes = b"") -> tuple[bytes, int]:
    """A file whose middle line ends with `line`, or whose last event there ends with `event`; and where that begins."""
    names = block(5, integer(1, 3) + block(2, block(2, "run_id")))
    good = block(4, integer(1, 1) + integer(2, 5))
    inner = block(2, "bad") + good + before
    tail = block(4, integer(1, 1) + integer(2, 6) + event) if event else line
    first, last = block(3, block(2, "a") + good), block(3, block(2, "z") + good)
    plane = block(2, "p") + first + block(3, inner + tail) + last + names
    data = block(1, plane) + block(1, block(2, "next") + first)
    return data, data.index(block(2, "bad")) + len(inner)


@pytest.mark.parametrize(
    ("what", "line", "event"),
    [
        ("an event longer than its line", varint(4 << 3 | 2) + b"\x7f" + b"\x08", b""),
        ("a length of eleven bytes", varint(4 << 3 | 2) + NEVER_ENDS, b""),
        ("a negative length", varint(4 << 3 | 2) + varint(-5), b""),
        ("a number of eleven bytes", varint(1 << 3) + NEVER_ENDS, b""),
        ("a number that the line's end cuts", varint(1 << 3) + b"\xff", b""),
        ("a group", varint(7 << 3 | 3) + varint(7 << 3 | 4), b""),
        ("the end of a group", varint(7 << 3 | 4) + b"\0\0\0\0", b""),
        ("a wire type that does not exist", varint(7 << 3 | 6) + b"\0\0\0\0", b""),
        ("field zero", b"\x00\x01", b""),
        ("a name longer than its line", varint(2 << 3 | 2) + b"\x7f", b""),
        ("a stat longer than its event", b"", varint(4 << 3 | 2) + b"\x7f\x08\x03"),
        ("a group in an event", b"", varint(7 << 3 | 3) + varint(7 << 3 | 4)),
        ("a number of eleven bytes in an event", b"", varint(2 << 3) + NEVER_ENDS),
        ("a text longer than its stat", b"", block(4, integer(1, 3) + varint(5 << 3 | 2) + b"\x7f")),
        ("a stat cut in its value", b"", block(4, integer(1, 3) + varint(4 << 3) + b"\xff")),
        ("a double cut short", b"", block(4, integer(1, 3) + varint(2 << 3 | 1) + b"\0\0\0")),
        ("a group in a stat", b"", block(4, integer(1, 3) + varint(7 << 3 | 3))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_has_its_offset_and_the_rest_is_kept(what: str, line: bytes, event: bytes) -> None:
    data, place = with_line(line, event)
    space = read(data)
    assert [len(each.events) for plane in of_space(space) for each in plane.lines] == [1, 1, 1, 1], what
    assert [plane.name for plane in space.planes] == ["p", "next"]
    (diagnostic,) = space.diagnostics
    assert diagnostic.id == "corrupt_file"
    assert diagnostic.message.startswith(f"Byte {place} in plane p, line bad ")
    assert "run_id" not in space.stats


def test_a_stat_that_nobody_wants_may_hold_anything() -> None:
    stat = block(4, integer(1, 99) + varint(5 << 3 | 2) + b"\x7f")
    for known in (b"", block(4, integer(1, 77))):  # in an event of a kind that nothing names as well
        space = read(with_line(b"", stat, known)[0])
        assert ids(space) == []


def test_a_line_longer_than_its_plane_loses_only_what_follows_there() -> None:
    good = block(3, block(2, "a") + block(4, integer(1, 1)))
    plane = block(2, "p") + good
    bad = varint(3 << 3 | 2) + varint(1 << 40)
    data = block(1, plane + bad) + block(1, block(2, "q") + good)
    space = read(data)
    assert [(plane.name, len(plane.lines)) for plane in space.planes] == [("p", 1), ("q", 1)]
    assert ids(space) == ["corrupt_file"]
    assert space.diagnostics[0].message.startswith(f"Byte {data.index(bad)} in plane 0 ")


def test_one_damaged_name_costs_no_other() -> None:
    def kind(number: int, name: bytes) -> bytes:
        return block(4, integer(1, number) + block(2, integer(1, number) + name))

    line = block(3, b"".join(block(4, integer(1, number)) for number in (1, 2, 3)))
    bad = kind(2, varint(2 << 3 | 2) + b"\x7f")
    data = block(1, block(2, "p") + line + kind(1, block(2, "one")) + bad + kind(3, block(2, "three")))
    space = read(data)
    assert [event.name for event in of_space(space)[0].lines[0].events] == ["one", "event 2", "three"]
    assert ids(space) == ["corrupt_file"]
    assert f"Byte {data.index(bad) + 2} " in space.diagnostics[0].message


def test_a_damaged_program_costs_no_other() -> None:
    def program(number: int, tail: bytes) -> bytes:
        return block(4, integer(1, number) + block(2, integer(1, number) + block(2, "m") + tail))

    stat = block(5, integer(1, 1) + block(6, b"proto"))
    names = block(5, integer(1, 1) + block(2, block(2, "Hlo Proto")))
    bad = varint(5 << 3 | 2) + b"\x7f"
    data = block(
        1, block(2, "/host:metadata") + program(1, stat) + program(2, bad) + program(3, stat) + names
    )
    space = read(data)
    assert list(program_places(space)) == [1, 3]
    assert ids(space) == ["corrupt_file"]
    assert f"Byte {data.index(bad)} " in space.diagnostics[0].message


@pytest.mark.parametrize(
    ("start", "duration", "read"),
    [(5, -3, (5, 0)), (5, 1 << 62, (5, 0)), (1 << 62, 3, (0, 3)), (-(1 << 62), 3, (0, 3))],
)  # fmt: skip
def test_a_time_that_no_capture_has_counts_as_0(start: int, duration: int, read: tuple[int, int]) -> None:
    space = Space()
    line = space.plane("p").line("l")
    line.event("good", 0, 9)
    line.event("e", start, duration)
    data = space.to_bytes()
    trace = trace_of(data)
    assert sorted(zip(trace.start_ps.tolist(), trace.duration_ps.tolist(), strict=True)) == sorted(
        [(0, 9), read]
    )
    (diagnostic,) = trace.diagnostics
    assert diagnostic.id == "corrupt_file"
    assert (
        f"1 events {'end' if duration != 3 else 'begin'} where they cannot, the first at byte "
        in diagnostic.message
    )


def test_times_that_cannot_be_are_survived() -> None:
    """Whatever a damaged clock says, the other lines keep their times."""
    for time in (1 << 62, -(1 << 63), (1 << 63) - 1, 10**16, -(10**16)):
        space = Space()
        plane = space.plane("/host:CPU")
        plane.line("good", timestamp_ns=1_700_000_000_000_000_000).event("a", 0, 10)
        plane.line("good", timestamp_ns=1_700_000_000_000_000_001).event("b", 0, 10)
        plane.line("bad", timestamp_ns=time).event("c", 0, 10)
        trace = trace_of(space.to_bytes())
        assert trace.start_ps[1] - trace.start_ps[0] == 1000
        assert [d.id for d in trace.diagnostics] != []


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0", b"hello, this is a text file\n" * 9, gzip.compress(small()), random.Random(3).randbytes(5000),
        NEVER_ENDS, b"\xff" * 500, block(4, "vm"), b"<html></html>", b"{}",
    ],
)  # fmt: skip
def test_what_is_no_capture_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(InputError) as raised:
        read(data)
    assert str(raised.value).startswith("memory.xplane.pb: ")
    assert "\n" not in str(raised.value)


def test_what_is_no_file_is_refused_in_one_line(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.xplane.pb"):
        with pytest.raises(InputError, match=re.escape(str(path))) as raised:
            open_source(str(path))
        assert "\n" not in str(raised.value)


class Shrinking(MemorySource):
    """A file of which only so many bytes are there when it is read."""

    def __init__(self, data: bytes, there: int) -> None:
        super().__init__(data)
        self._data = self._data[:there]


def test_a_file_that_became_shorter_is_told() -> None:
    data = small()
    whole = lines_of(data)
    for there in range(len(data)):
        try:
            space = read_space(Shrinking(data, there))
        except InputError:
            continue
        assert "truncated_file" in ids(space) or there >= len(data), f"only {there} bytes there"
        read_lines = [nameless(line) for plane in of_space(space) for line in plane.lines]
        for _, end, line in whole:
            assert end > there or nameless(line) in read_lines


class Shrunk(MemorySource):
    """A file that loses its end after so many reads."""

    def __init__(self, data: bytes, reads: int, there: int) -> None:
        super().__init__(data)
        self._reads, self._there = reads, there

    def _count(self) -> None:
        self._reads -= 1
        if self._reads < 0:
            self._data = self._data[: self._there]

    def read_into(self, offset: int, buffer: Bytes) -> int:
        self._count()
        return super().read_into(offset, buffer)

    def read(self, offset: int, length: int) -> Bytes:
        self._count()
        return super().read(offset, length)


@pytest.mark.parametrize("there", [0, 40, 200])
def test_a_file_that_shrinks_while_it_is_read_is_told(there: int) -> None:
    data = small()
    for reads in range(1, 40):
        space = read_space(Shrunk(data, reads, there))
        assert set(ids(space)) <= {"truncated_file", "corrupt_file"}


class Rewritten(MemorySource):
    """A file whose line grows more events after they were counted."""

    def __init__(self, before: bytes, after: bytes, reads: int) -> None:
        super().__init__(before)
        self._after, self._reads = np.frombuffer(after, np.uint8), reads

    def read_into(self, offset: int, buffer: Bytes) -> int:
        self._reads -= 1
        if self._reads < 0:
            self._data = self._after
        return super().read_into(offset, buffer)


def test_a_file_that_is_rewritten_while_it_is_read_does_not_hold_the_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events, "WINDOW", 64)
    few = block(3, block(9, b"x" * 400))
    many = block(3, block(4, b"") * 200 + block(9, b"")[:0] + block(15, b"y"))
    assert len(few) == len(many)
    for reads in range(1, 9):
        space = read_space(Rewritten(block(1, few), block(1, many), reads))
        assert set(ids(space)) <= {"corrupt_file"}


def test_reading_that_is_stopped_keeps_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "WINDOW", 256)
    monkeypatch.setattr("tb_xla_insights.xplane.read.os.cpu_count", lambda: 1)
    space = Space()
    line = space.plane("p").line("l")
    for number in range(500):
        line.event("e", number, 1, run_id=number)
    space.plane("q").line("m").event("e", 0, 1)
    told: list[int] = []
    read = read_space(MemorySource(space.to_bytes()), progress=told.append, stop=lambda: len(told) >= 5)
    assert ids(read) == ["truncated_file"]
    assert 0 < len(read.metadata) < 500
    assert read.offset_ps.tolist() == list(range(len(read.metadata)))
    rows, values = read.stats["run_id"]
    assert rows.tolist() == values.tolist() == read.offset_ps.tolist()
    assert told == sorted(told)


def test_holes_between_lines_close() -> None:
    """Events behind a damaged line move up, with their stats."""
    space = Space()
    for name in "abc":
        line = space.plane(name).line(name)
        for number in range(4):
            line.event("e", number, 1, run_id=ord(name), hlo_op=name)
    data = bytearray(space.to_bytes())
    planes = of_space(read(bytes(data)))
    second = read(bytes(data)).planes[1].lines[0]
    place = bytes(data).index(integer(2, 2), second.start)
    data[place] = 7 << 3 | 4
    damaged = of_space(read(bytes(data)))
    assert [len(plane.lines[0].events) for plane in damaged] == [4, 2, 4]
    assert _events(damaged[1]) == _events(planes[1])[:2]
    assert (damaged[0], damaged[2]) == (planes[0], planes[2])


def _events(plane: Plane) -> list[object]:
    return list(plane.lines[0].events)


def test_a_file_above_2_gib(tmp_path: Path) -> None:
    """Only what is needed is read: the hole in the middle of this file is neither read nor kept."""
    size = (1 << 31) + (1 << 20)
    names = block(5, integer(1, 1) + block(2, block(2, "Hlo Proto")))
    stat = integer(1, 1) + varint(6 << 3 | 2) + varint(size)
    kind = integer(1, 7) + block(2, "huge") + varint(5 << 3 | 2) + varint(size + len(stat)) + stat
    entry = integer(1, 7) + varint(2 << 3 | 2) + varint(size + len(kind)) + kind
    plane = block(2, "/host:metadata") + names + varint(4 << 3 | 2) + varint(size + len(entry)) + entry
    head = varint(1 << 3 | 2) + varint(size + len(plane)) + plane
    path = tmp_path / "huge.xplane.pb"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
        file.seek(0, os.SEEK_END)
        file.write(small())
    if path.stat().st_blocks * 512 > 1 << 24:
        pytest.skip("this file system keeps no holes, so the file would need 2 GiB")
    with open_source(str(path)) as source:
        space = read_space(source)
    assert ids(space) == []
    assert program_places(space)[7] == (len(head), size)
    assert of_space(space)[1:] == of_space(read(small()))
