"""The reader's result equals that of protobuf, on real files and on random files of the format."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from build import MemorySource
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import decoded_twice, of_space
from synthetic.wire import block, double, integer, varint
from synthetic.writer import Ref, Space, Uint

from tb_xla_insights.xplane import events, wire
from tb_xla_insights.xplane.read_xspace import NUMBER_STATS, TEXT_STATS, read_space

DEMOS = Path(__file__).parents[1] / "demo_logs"

# Random files. Ids are few, so that events and names meet; they are sparse, negative and huge.
IDS = [1, 2, 3, -1, -77, 1 << 20, (1 << 33) + 1, (1 << 63) - 1, -(1 << 63)]
STAT_NAMES = [
    b"_p",
    b"program_id",
    b"step_num",
    b"hlo_op",
    b"graph_hash",
    b"bytes",
    b"12",
    b"-7",
    b"\xff\xfe",
    b"dot.1",
]
TEXTS = [b"", b"17", b"-3", b"1_000", b"x" * 19, b"9" * 19, "µ".encode(), b"\xff\x80", b"long " * 40]
NUMBERS = [0, 1, -1, 300, 1 << 40, (1 << 63) - 1, -(1 << 63)]
DOUBLES = [0.0, -1.5, 3e9, 1e19, -1e300]


class RandomFile:
    """A file of the format with fields in any order, left out, or unknown; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._pick = random.Random(seed)
        self.data = self._message(
            self._some(1, self._plane, 3) or block(1, self._plane()), self._some(4, self._text, 1)
        )

    def _message(self, *fields: bytes) -> bytes:
        parts = [*fields, self._unknown() if self._pick.random() < 0.2 else b""]
        self._pick.shuffle(parts)
        return b"".join(parts)

    def _unknown(self) -> bytes:
        number = self._pick.choice([13, 15, 16, 2047, 1 << 28])
        four = self._pick.randbytes(4)
        return self._pick.choice(
            [
                integer(number, self._number()),
                block(number, self._text()),
                double(number, 1.5),
                varint(number << 3 | 5) + four,
            ]
        )

    def _number(self) -> int:
        return self._pick.choice([*NUMBERS, self._pick.getrandbits(63), self._pick.randrange(-200, 200)])

    def _text(self) -> bytes:
        return self._pick.choice([*TEXTS, self._pick.randbytes(5)])

    def _maybe(self, field: bytes) -> bytes:
        return field if self._pick.random() < 0.8 else b""

    def _some(self, number: int, make: Callable[[], bytes], max_count: int) -> bytes:
        return b"".join(block(number, make()) for _ in range(self._pick.randint(0, max_count)))

    def _stat(self) -> bytes:
        fields = [
            integer(3, self._number() % 2**64),
            integer(4, self._number()),
            block(5, self._text()),
            block(6, self._text()),
        ]
        fields += [double(2, self._pick.choice(DOUBLES)), integer(7, self._pick.choice(IDS)), b""]
        return self._message(integer(1, self._pick.choice(IDS)), self._pick.choice(fields))

    def _event(self) -> bytes:
        offset_or_count = self._pick.choice([integer(2, self._number()), integer(5, 7), b""])
        metadata_id = self._maybe(integer(1, self._pick.choice([*IDS, 90, 91, 92])))
        duration = self._maybe(integer(3, self._number()))
        return self._message(metadata_id, offset_or_count, duration, self._some(4, self._stat, 5))

    def _line(self) -> bytes:
        head = [self._maybe(integer(1, self._number())), self._maybe(block(2, self._text()))]
        head += [self._maybe(integer(3, self._number())), self._maybe(block(11, self._text()))]
        return self._message(*head, self._some(4, self._event, 12))

    def _entries(self, number: int, make: Callable[[], bytes]) -> bytes:
        ids = self._pick.sample(IDS, self._pick.randint(0, len(IDS)))
        return b"".join(block(number, self._message(integer(1, id_), block(2, make()))) for id_ in ids)

    def _event_metadata(self) -> bytes:
        return self._message(
            block(2, self._text()), self._maybe(block(4, self._text())), self._some(5, self._stat, 2)
        )

    def _plane(self) -> bytes:
        names = self._entries(5, lambda: block(2, self._pick.choice(STAT_NAMES)))
        lines = self._some(3, self._line, 4)
        event_metadata = self._entries(4, self._event_metadata)
        stats = self._some(6, self._stat, 2)
        return self._message(block(2, self._text()), lines, event_metadata, names, stats)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.builds(RandomFile, st.integers(0, 2**32)))
def test_random_files_are_read_like_protobuf_reads_them(file: RandomFile) -> None:
    decoded, expected = decoded_twice(file.data)
    assert decoded == expected


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.builds(RandomFile, st.integers(0, 2**32)), st.integers(24, 90), st.integers(1, 300))
def test_windows_and_pieces_may_end_anywhere(file: RandomFile, window: int, piece: int) -> None:
    whole = of_space(read_space(MemorySource(file.data)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "WINDOW_BYTES", window)
        patch.setattr(events, "PIECE_BYTES", piece)
        patch.setattr(wire, "SCAN_WINDOW", window)
        patch.setattr(wire, "SCAN_FIELDS", 3)
        assert of_space(read_space(MemorySource(file.data))) == whole


@pytest.mark.parametrize("demo", sorted({path.parts[-5] for path in DEMOS.rglob("*.xplane.pb")}))
def test_the_demo_logs(demo: str) -> None:
    """Every host of every demo."""
    for path in (DEMOS / demo).rglob("*.xplane.pb"):
        decoded, expected = decoded_twice(path.read_bytes())
        assert decoded == expected


def test_real_captures(shared_traces: Path) -> None:
    """Those that others published, and the smaller half of each set that one script or simulation wrote, at most
    three."""
    paths = []
    for folder in sorted(path for path in shared_traces.iterdir() if path.is_dir()):
        captures = sorted(folder.rglob("*.xplane.pb"), key=lambda path: path.stat().st_size)
        paths += captures if folder.name == "public" else captures[: len(captures) // 2 or 1][:3]
    assert len(paths) >= 15
    for path in paths:
        decoded, expected = decoded_twice(path.read_bytes())
        assert any(line.events for plane in decoded for line in plane.lines), path
        assert decoded == expected, path


def test_one_thread_and_several_read_the_same(shared_traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = next((shared_traces / "torch_xla" / "baseline_session_debug").rglob("*.xplane.pb"))
    data, results = path.read_bytes(), []
    for threads in (1, 2, 5):
        monkeypatch.setattr(
            "tb_xla_insights.xplane.read_xspace.os.cpu_count", lambda threads=threads: threads
        )
        results.append(of_space(read_space(MemorySource(data))))
    assert results[0] == results[1] == results[2]


def column_value(value: object, stat: str) -> object:
    """The value in the column of `stat` for an event that has the stat with `value`; None if the column has none."""
    space = Space()
    space.plane("p").line("l").event("e", 0, 1, {stat: value})  # type: ignore[dict-item]
    read = read_space(MemorySource(space.to_bytes()))
    if stat not in read.stats:
        return None
    rows, (number,) = read.stats[stat].rows, read.stats[stat].values
    assert rows.tolist() == [0]
    return read.strings.texts[number] if stat in TEXT_STATS else int(number)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, 7), (-7, -7), (Uint(2**64 - 1), -1), (2.9, 2), (-2.9, -2), ("17", 17), (b"-17", -17), (Ref("17"), 17),
        ("many", None), (Ref("many"), None), ("", None), (b"\xff", None), ("9" * 19, None), ("١", None),
        (str(2**63 - 1), 2**63 - 1), (str(-(2**63)), -(2**63)), (str(2**63), None),
        (1e300, None), (math.nan, None), (math.inf, None), (2.0**63, None), (-(2.0**63), -(2**63)),
    ],
)  # fmt: skip
def test_a_column_of_numbers_accepts_all_number_types(value: object, expected: int | None) -> None:
    assert column_value(value, "run_id") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("dot.1", "dot.1"), (Ref("dot.1"), "dot.1"), (b"dot.1", "dot.1"), (b"\xff", "\ufffd"), ("", ""), (Ref(""), ""),
        (5, "5"), (-5, "-5"), (Uint(2**64 - 1), "18446744073709551615"), (0.5, "0.5"),
    ],
)  # fmt: skip
def test_a_column_of_texts_accepts_all_types(value: object, expected: str) -> None:
    assert column_value(value, "hlo_op") == expected


def test_the_first_value_of_a_repeated_stat_is_used() -> None:
    names = block(5, integer(1, 3) + block(2, block(2, "run_id")))
    twice = block(4, integer(1, 3) + integer(4, 10)) + block(4, integer(1, 3) + integer(4, 20))
    data = block(1, block(3, block(4, twice) * 2) + names)
    runs = read_space(MemorySource(data)).stats["run_id"]
    assert (runs.rows.tolist(), runs.values.tolist()) == ([0, 1], [10, 10])


def test_a_text_reference_without_metadata_is_labelled() -> None:
    names = block(5, integer(1, 3) + block(2, block(2, "hlo_op")))
    data = block(1, block(3, block(4, block(4, integer(1, 3) + integer(7, 99)))) + names)
    space = read_space(MemorySource(data))
    assert "missing" in space.strings.texts[space.stats["hlo_op"].values[0]]


def test_an_event_larger_than_the_window() -> None:
    space = Space()
    line = space.plane("p").line("l")
    for number in range(3):
        line.event("small", number, 1, run_id=number)
        line.event("large", number, 1, {"run_id": 100 + number, "text": "x" * (3 * events.WINDOW_BYTES)})
    decoded, expected = decoded_twice(space.to_bytes())
    assert decoded == expected


def test_more_values_of_unexpected_types_than_one_kernel_call_may_return() -> None:
    space = Space()
    line = space.plane("p").line("l")
    for number in range(3 * events.MAX_MISMATCHES):
        line.event("e", number, 1, run_id=str(number), step_num=f"not {number}", hlo_op=number)
    decoded, expected = decoded_twice(space.to_bytes())
    assert decoded == expected


def test_thousands_of_tiny_lines_and_unused_metadata() -> None:
    space = Space()
    plane = space.plane("p")
    for number in range(3000):
        plane.line(f"l{number}", id=-number).event("e", number, 1, run_id=number)
    plane.metadata.clear()
    for number, line in enumerate(plane.lines):
        line.events[0].metadata_id = number * 7919
    decoded, expected = decoded_twice(space.to_bytes())
    assert decoded == expected


def test_empty_planes_and_lines_are_kept() -> None:
    space = Space()
    space.plane("empty")
    space.plane("p").line("no events", id=-5, timestamp_ns=12)
    decoded, expected = decoded_twice(space.to_bytes())
    assert decoded == expected
    assert [(plane.name, len(plane.lines)) for plane in decoded] == [("empty", 0), ("p", 1)]


def test_a_line_without_a_name_shows_its_display_name() -> None:
    space = Space()
    space.plane("p").line("", display_name="shown").event("e", 0, 1)
    space.plane("q").line("name", display_name="shown").event("e", 0, 1)
    assert [plane.lines[0].name for plane in read_space(MemorySource(space.to_bytes())).planes] == [
        b"shown",
        b"name",
    ]


def test_offsets_lead_back_to_the_events() -> None:
    space = Space()
    line = space.plane("p").line("l")
    for number in range(100):
        line.event("e", number, 1, run_id=number)
    second_line = space.plane("q").line("m")
    second_line.event("f", 7, 1)
    source = MemorySource(space.to_bytes())
    offsets = read_space(source).event_offsets
    for row, (metadata_id, number) in enumerate([*((1, number) for number in range(100)), (1, 7)]):
        message = wire.message_at(source, offsets.find(source, row))
        assert message.startswith(integer(1, metadata_id) + integer(2, number))


def test_a_stat_is_a_number_or_a_text_never_both() -> None:
    assert not set(NUMBER_STATS) & set(TEXT_STATS)
    assert len(set(NUMBER_STATS)) == len(NUMBER_STATS)


def test_the_profilers_own_errors_and_warnings_are_reported() -> None:
    space = Space(hostnames=["vm"], errors=["lost\n2 events"], warnings=["slow"])
    space.plane("p")
    read = read_space(MemorySource(space.to_bytes()))
    assert (read.hostnames, read.warnings) == (["vm"], ["slow"])
    assert [(diagnostic.id, diagnostic.severity, diagnostic.message) for diagnostic in read.diagnostics] == [
        ("dropped_events", "warning", "The profiler recorded an error: lost 2 events"),
        ("profiler_warning", "info", "The profiler recorded a warning: slow"),
    ]
