"""Truncated and damaged files: undamaged parts are kept, and each loss is reported with its offset."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from build import MemorySource, trace_of
from damaged import NEVER_ENDS, ids, lines_of, read, read_or_none, small, without_metadata_names
from independent import Plane, of_space
from synthetic.wire import block, integer, varint
from synthetic.writer import Space

from tb_xla_insights.xplane import wire
from tb_xla_insights.xplane.hlo import program_ranges


def test_a_file_cut_at_any_byte_keeps_every_whole_line() -> None:
    data = small()
    whole = lines_of(data)
    field_ends = _field_ends(data)
    assert len(whole) == 3
    for end in range(1, len(data)):
        space = read_or_none(data[:end])
        if space is None:
            assert end < whole[0][1], f"cut at {end}"
            continue
        read_lines = [without_metadata_names(line) for plane in of_space(space) for line in plane.lines]
        assert read_lines == [without_metadata_names(line) for _, last, line in whole if last <= end], (
            f"cut at {end}"
        )
        if end in field_ends:  # a file that ends between two top-level fields is whole
            assert ids(space) == []
        else:
            assert ids(space) == ["truncated_file"], f"cut at {end}"
            assert f"byte {end}" in space.diagnostics[0].message
        if end % 7 == 0:
            trace_of(data[:end])


def test_a_number_that_the_files_end_cuts_is_not_continued_by_bytes_read_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The window was full of a Chinese text, whose bytes all continue a number."""
    monkeypatch.setattr(wire, "SCAN_WINDOW", 64)
    data = block(2, "中" * 20) + integer(1, -1)[:-1]
    with pytest.raises(wire.WireError, match="the file ends here") as raised:
        list(wire.fields(MemorySource(data), 0, len(data) + 40))
    assert raised.value.is_file_end


def _field_ends(data: bytes) -> set[int]:
    """The offsets at which the top-level fields of a file end."""
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
    first, whole = min(_field_ends(data)), of_space(read(data))
    for end in range(first, len(data), 9):
        assert of_space(read(data[:end]))[0] == whole[0]


def test_any_wrong_byte_is_handled_and_unreadable_parts_have_an_offset() -> None:
    data = small()
    for at in range(len(data)):
        broken = data[:at] + bytes([data[at] ^ (0x80, 0xFF, 0x01)[at % 3]]) + data[at + 1 :]
        space = read_or_none(broken)
        if space and at % 5 == 0:
            trace_of(broken)
        for diagnostic in space.diagnostics if space else ():
            # The field number of a plane may have become that of the profiler's errors.
            if diagnostic.id == "dropped_events":
                continue
            assert diagnostic.id in ("corrupt_file", "truncated_file"), f"byte {at}"
            (offset,) = re.findall(r"[Bb]yte (\d+)", diagnostic.message)
            assert 0 <= int(offset) <= len(data)


def test_many_wrong_bytes_are_handled() -> None:
    pick, data = random.Random(1), small()
    for _ in range(120):
        broken = bytearray(data)
        for _ in range(pick.randint(1, 9)):
            broken[pick.randrange(len(data))] = pick.choice([0, 0x7F, 0x80, 0xFF, pick.randrange(256)])
        if read_or_none(bytes(broken)):
            trace_of(bytes(broken))


def test_a_real_file_with_wrong_bytes_is_handled(shared_traces: Path) -> None:
    path = next((shared_traces / "torch_xla" / "tiny_baseline").rglob("*.xplane.pb"))
    pick, data = random.Random(2), path.read_bytes()
    for _ in range(25):
        broken = bytearray(data)
        broken[pick.randrange(len(data))] ^= 1 << pick.randrange(8)
        trace_of(bytes(broken))
        trace_of(data[: pick.randrange(len(data) // 2, len(data))])


def damage_line(line: bytes, event: bytes = b"", before: bytes = b"") -> tuple[bytes, int]:
    """A file whose middle line ends with `before` and then `line` or, if `event` is given, an event that ends with it;
    and the offset of that end."""
    names = block(5, integer(1, 3) + block(2, block(2, "run_id")))
    good = block(4, integer(1, 1) + integer(2, 5))
    inner = block(2, "bad") + good + before
    tail = block(4, integer(1, 1) + integer(2, 6) + event) if event else line
    first, last = block(3, block(2, "a") + good), block(3, block(2, "z") + good)
    plane = block(2, "p") + first + block(3, inner + tail) + last + names
    data = block(1, plane) + block(1, block(2, "next") + first)
    return data, data.index(block(2, "bad")) + len(inner)


@pytest.mark.parametrize(
    ("case", "line", "event"),
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
def test_impossible_values_are_reported_by_offset_and_the_rest_is_kept(
    case: str, line: bytes, event: bytes
) -> None:
    data, offset = damage_line(line, event)
    space = read(data)
    assert [len(decoded_line.events) for plane in of_space(space) for decoded_line in plane.lines] == [
        1,
        1,
        1,
        1,
    ], case
    assert [plane.name for plane in space.planes] == ["p", "next"]
    (diagnostic,) = space.diagnostics
    assert diagnostic.id == "corrupt_file"
    assert diagnostic.message.startswith(f"Byte {offset} in plane p, line bad ")
    assert "run_id" not in space.stats


def test_unused_stats_may_have_any_content() -> None:
    stat = block(4, integer(1, 99) + varint(5 << 3 | 2) + b"\x7f")
    for event_without_metadata in (b"", block(4, integer(1, 77))):
        space = read(damage_line(b"", stat, event_without_metadata)[0])
        assert ids(space) == []


def test_a_line_longer_than_its_plane_loses_only_the_rest_of_the_plane() -> None:
    good = block(3, block(2, "a") + block(4, integer(1, 1)))
    plane = block(2, "p") + good
    bad = varint(3 << 3 | 2) + varint(1 << 40)
    data = block(1, plane + bad) + block(1, block(2, "q") + good)
    space = read(data)
    assert [(plane.name, len(plane.lines)) for plane in space.planes] == [("p", 1), ("q", 1)]
    assert ids(space) == ["corrupt_file"]
    assert space.diagnostics[0].message.startswith(f"Byte {data.index(bad)} in plane 0 ")


def test_a_damaged_name_does_not_affect_the_others() -> None:
    def metadata_entry(number: int, name: bytes) -> bytes:
        return block(4, integer(1, number) + block(2, integer(1, number) + name))

    line = block(3, b"".join(block(4, integer(1, number)) for number in (1, 2, 3)))
    bad = metadata_entry(2, varint(2 << 3 | 2) + b"\x7f")
    one, three = metadata_entry(1, block(2, "one")), metadata_entry(3, block(2, "three"))
    data = block(1, block(2, "p") + line + one + bad + three)
    space = read(data)
    assert [event.name for event in of_space(space)[0].lines[0].events] == ["one", "event 2", "three"]
    assert ids(space) == ["corrupt_file"]
    assert f"Byte {data.index(bad) + 2} " in space.diagnostics[0].message


def test_a_damaged_program_does_not_affect_the_others() -> None:
    def program(number: int, tail: bytes) -> bytes:
        return block(4, integer(1, number) + block(2, integer(1, number) + block(2, "m") + tail))

    stat = block(5, integer(1, 1) + block(6, b"proto"))
    names = block(5, integer(1, 1) + block(2, block(2, "Hlo Proto")))
    bad = varint(5 << 3 | 2) + b"\x7f"
    data = block(
        1, block(2, "/host:metadata") + program(1, stat) + program(2, bad) + program(3, stat) + names
    )
    space = read(data)
    assert list(program_ranges(space)) == [1, 3]
    assert ids(space) == ["corrupt_file"]
    assert f"Byte {data.index(bad)} " in space.diagnostics[0].message


@pytest.mark.parametrize(
    ("start", "duration", "expected"),
    [(5, -3, (5, 0)), (5, 1 << 62, (5, 0)), (1 << 62, 3, (0, 3)), (-(1 << 62), 3, (0, 3))],
)  # fmt: skip
def test_an_impossible_time_counts_as_0(start: int, duration: int, expected: tuple[int, int]) -> None:
    space = Space()
    line = space.plane("p").line("l")
    line.event("good", 0, 9)
    line.event("e", start, duration)
    data = space.to_bytes()
    trace = trace_of(data)
    assert sorted(zip(trace.start_ps.tolist(), trace.duration_ps.tolist(), strict=True)) == sorted(
        [(0, 9), expected]
    )
    (diagnostic,) = trace.diagnostics
    assert diagnostic.id == "corrupt_file"
    quantity, substitute = ("duration", "0") if duration != 3 else ("start", "the line's start")
    assert f"1 event has an impossible {quantity}, at byte " in diagnostic.message
    assert diagnostic.message.endswith(f"; {substitute} is used instead.")


def test_an_impossible_time_stamp_of_a_line_does_not_change_the_times_of_others() -> None:
    for time in (1 << 62, -(1 << 63), (1 << 63) - 1, 10**16, -(10**16)):
        space = Space()
        plane = space.plane("/host:CPU")
        plane.line("good", timestamp_ns=1_700_000_000_000_000_000).event("a", 0, 10)
        plane.line("good", timestamp_ns=1_700_000_000_000_000_001).event("b", 0, 10)
        plane.line("bad", timestamp_ns=time).event("c", 0, 10)
        trace = trace_of(space.to_bytes())
        assert trace.start_ps[1] - trace.start_ps[0] == 1000
        assert trace.diagnostics


def test_holes_between_lines_close() -> None:
    """Events after a damaged line move up, with their stats."""
    space = Space()
    for name in "abc":
        line = space.plane(name).line(name)
        for number in range(4):
            line.event("e", number, 1, run_id=ord(name), hlo_op=name)
    data = bytearray(space.to_bytes())
    planes = of_space(read(bytes(data)))
    second = read(bytes(data)).planes[1].lines[0]
    offset = bytes(data).index(integer(2, 2), second.start)
    data[offset] = 7 << 3 | 4
    damaged = of_space(read(bytes(data)))
    assert [len(plane.lines[0].events) for plane in damaged] == [4, 2, 4]
    assert _events(damaged[1]) == _events(planes[1])[:2]
    assert (damaged[0], damaged[2]) == (planes[0], planes[2])


def _events(plane: Plane) -> list[object]:
    return list(plane.lines[0].events)
