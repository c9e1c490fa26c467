"""Captures in Riegeli files: the reports of protocol buffers, and of cut and damaged files what is whole."""

from __future__ import annotations

import json
import resource
import shutil
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
import riegeli
from build import MemorySource
from helpers import small_space
from hypothesis import given
from hypothesis import strategies as st
from independent import SPACE
from synthetic.writer import Space

import tb_xla_insights as xi
from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.cli.main import main
from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.sessions import Root, find_sessions
from tb_xla_insights.tasks.host import read_host
from tb_xla_insights.trace.details import event_stats
from tb_xla_insights.trace.read_trace import read_trace
from tb_xla_insights.xplane.riegeli.chunks import SIGNATURE
from tb_xla_insights.xplane.riegeli.kernels import highway_hash
from tb_xla_insights.xplane.riegeli.source import RiegeliSource

DEMO = Path(__file__).parents[1] / "demo_logs"
KEY = b"Riegeli/records\n" * 2
RECORDS = [Random(number).randbytes(size) for number, size in enumerate((100, 70_000, 1, 150_000, 40))]


def brotli_compress(data: bytes) -> bytes:
    """Compresses at the level that profilers use."""
    brotli = pytest.importorskip("brotli", reason="Brotli is not installed")
    compressed: bytes = brotli.compress(data, quality=6)
    return compressed


def source_of(content: bytes) -> RiegeliSource:
    return RiegeliSource(MemorySource(content, "vm.xplane.riegeli"))


def content_of(source: RiegeliSource) -> bytes:
    return source.read(0, source.size).tobytes()


def written(records: list[bytes]) -> tuple[bytes, list[int]]:
    """A file, and where the data of its records end."""
    content = bytearray()
    riegeli.append_chunk(content, b"s")
    ends = []
    for record in records:
        before = len(content)
        riegeli.append_chunk(content, b"r", riegeli.simple(record), 1, len(record))
        assert len(content) > before
        ends.append(len(content))
    riegeli.pad(content)
    return bytes(content), ends


FILE, ENDS = written(RECORDS)


def write_logdir(root: Path, capture: Path, records: bytes | None = None) -> Path:
    """A logdir with a copy of a capture, or with a Riegeli file instead."""
    folder = root / "plugins/profile/s"
    folder.mkdir(parents=True)
    if records is None:
        shutil.copy(capture, folder / "vm.xplane.pb")
    else:
        (folder / "vm.xplane.riegeli").write_bytes(records)
    return root


def in_parts(capture: bytes, count: int) -> list[bytes]:
    """A capture as parts that follow each other in time; each has all planes, lines and metadata, under other ids."""
    return [_part(SPACE.FromString(capture), number, count) for number in range(count)]


def _part(space: Any, number: int, count: int) -> bytes:
    for plane in space.planes:
        # The ids of the compiled programs' plane mean something.
        event_shift = number if plane.name != b"/host:metadata" else 0
        for line in plane.lines:
            events = [event.SerializeToString() for event in line.events]
            del line.events[:]
            for event in events[len(events) * number // count : len(events) * (number + 1) // count]:
                line.events.add().ParseFromString(event)
        events_of_plane = [event for line in plane.lines for event in line.events]
        for event in events_of_plane:
            event.metadata_id += event_shift
        for entry in plane.event_metadata:
            entry.key += event_shift
            entry.value.id = entry.key
        for entry in plane.stat_metadata:
            entry.key += 1000 * number
            entry.value.id = entry.key
        owners = [plane, *events_of_plane, *(entry.value for entry in plane.event_metadata)]
        for stat in (stat for owner in owners for stat in owner.stats):
            stat.metadata_id += 1000 * number
            if stat.WhichOneof("value") == "ref_value":
                stat.ref_value += 1000 * number
    data: bytes = space.SerializeToString()
    return data


def report_of(logdir: Path) -> Any:
    """A session's report without what differs between a file and its copy in another format."""
    report = json.loads(json.dumps(xi.load(str(logdir)).report()))
    del report["session"]["path"]
    for host in report["session"]["hosts"]:
        del host["file"], host["bytes"]
    return report


def test_the_first_bytes_are_those_of_the_specification() -> None:
    assert riegeli.chunked([])[: len(SIGNATURE)] == SIGNATURE


def test_hashes_are_those_of_an_independent_implementation() -> None:
    for size in range(100):
        data = Random(size).randbytes(size)
        assert highway_hash(data, KEY) == riegeli.highway_hash(data), size


@pytest.mark.parametrize("name", ["torch_xla_baseline", "torch_xla_slow_input"])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_the_report_is_that_of_the_protocol_buffer(name: str, is_compressed: bool, tmp_path: Path) -> None:
    [capture] = (DEMO / name).rglob("*.xplane.pb")
    parts = riegeli.top_level_fields(capture.read_bytes())
    assert len(parts) > 2
    records = riegeli.chunked(parts, brotli_compress if is_compressed else None)
    expected = report_of(write_logdir(tmp_path / "pb", capture))
    assert report_of(write_logdir(tmp_path / "riegeli", capture, records)) == expected


def test_real_captures_have_the_same_report(shared_traces: Path, tmp_path: Path) -> None:
    for name in ("public/tpu_v6e_jax", "public/gpu_mi300_jax"):
        [capture] = (shared_traces / name).rglob("*.xplane.pb")
        parts = riegeli.top_level_fields(capture.read_bytes())
        expected = report_of(write_logdir(tmp_path / name / "pb", capture))
        again = write_logdir(tmp_path / name / "riegeli", capture, riegeli.chunked(parts, brotli_compress))
        assert report_of(again) == expected


@pytest.mark.parametrize("name", ["torch_xla_slow_input", "synthetic_dynamo_issue_dynamo"])
def test_parts_of_planes_and_lines_are_joined(name: str, tmp_path: Path) -> None:
    """Each snapshot of continuous profiling may have all planes again: one device is one device then."""
    [capture] = (DEMO / name).rglob("*.xplane.pb")
    records = riegeli.chunked(in_parts(capture.read_bytes(), 3))
    expected = report_of(write_logdir(tmp_path / "pb", capture))
    joined = write_logdir(tmp_path / "riegeli", capture, records)
    assert report_of(joined) == expected
    traces = [
        read_host(str(path), "vm", load_catalog()) for path in (capture, next(joined.rglob("*.riegeli")))
    ]
    rows = range(0, len(traces[0]), len(traces[0]) // 20)
    stats = [[event_stats(trace, row) for row in rows] for trace in traces]
    assert any(stats[0])
    assert stats[1] == stats[0]


def test_parts_of_a_real_capture_with_python_frames_are_joined(shared_traces: Path, tmp_path: Path) -> None:
    """A function has metadata in each part; the time in it is one sum."""
    [capture] = (shared_traces / "public/gpu_mi300_jax").rglob("*.xplane.pb")
    expected = report_of(write_logdir(tmp_path / "pb", capture))
    assert any(finding.get("code") for finding in expected["findings"])
    records = riegeli.chunked(in_parts(capture.read_bytes(), 3))
    assert report_of(write_logdir(tmp_path / "riegeli", capture, records)) == expected


def test_equal_lines_of_one_part_stay_apart() -> None:
    """The files of some profilers have several lines, or metadata, of equal ids and names."""
    space = Space()
    plane = space.plane("/host:CPU")
    for start in (0, 5):
        plane.line("worker", id=1).event("work", start, 2)
    data = riegeli.chunked([space.to_bytes()] * 2)
    trace = read_trace(source_of(data), load_catalog(), host="vm")
    assert [(line.name, line.count) for line in trace.lines] == [("worker", 2)] * 2


def test_the_stock_plugin_reads_these_files_alike(shared_traces: Path, tmp_path: Path) -> None:
    """Its reader is the format's own: it verifies every hash and distance of the files that these tests write."""
    stock = pytest.importorskip(
        "xprof.convert.raw_to_tool_data", reason="the stock profile plugin is missing"
    )
    [capture] = (shared_traces / "public/tpu_v6e_jax").rglob("*.xplane.pb")
    parts = riegeli.top_level_fields(capture.read_bytes())
    files = {"pb": shutil.copy(capture, tmp_path / "vm.xplane.pb")}
    for name, compress in (("plain", None), ("brotli", brotli_compress)):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "vm.xplane.riegeli"
        path.write_bytes(riegeli.chunked(parts, compress))
        files[name] = path
    answers = {
        name: stock.xspace_to_tool_data([str(path)], "hlo_stats", {})[0] for name, path in files.items()
    }
    assert len(json.loads(answers["pb"])["rows"]) > 5
    assert answers["plain"] == answers["brotli"] == answers["pb"]


def test_sessions_paths_and_details(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = riegeli.chunked(riegeli.top_level_fields(small_space().to_bytes()))
    logdir = write_logdir(tmp_path, tmp_path, records)
    path = logdir / "plugins/profile/s/vm.xplane.riegeli"
    small_space().write(path.with_name("other.xplane.pb"))
    [session] = find_sessions([Root(str(logdir))])
    assert [host.name for host in session.hosts] == ["other", "vm"]
    assert main(["report", "--json", str(path)]) == 0
    report = json.loads(capsys.readouterr().out)
    [host] = report["session"]["hosts"]
    assert (host["name"], host["bytes"], host["file"]) == ("vm", len(records), str(path))
    trace = read_host(str(path), "vm", load_catalog())
    rows = [row for row in range(len(trace)) if trace.name(row) == "Training_Step"]
    assert [stat.value for stat in event_stats(trace, rows[1]) if stat.name == "step_num"] == [3]


def test_captures_are_opened_in_one_place() -> None:
    """A capture that is opened as a plain file elsewhere would be read at the wrong bytes."""
    package = Path(xi.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "import open_source" in path.read_text() or ", open_source" in path.read_text()
    }
    assert users == {"xplane/open_capture.py", "report/sidecar_files.py"}


def test_an_output_is_not_named_like_a_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small_space().write(tmp_path / "vm.xplane.pb")
    with pytest.raises(SystemExit):
        main(["report", str(path), "--html", str(tmp_path / "x.xplane.riegeli")])
    assert "named like a capture, *.xplane.riegeli" in capsys.readouterr().err


def test_appended_files_are_read_as_one() -> None:
    """Each begins with a signature, at the start of a block."""
    source = source_of(riegeli.chunked(RECORDS[:2]) + riegeli.chunked(RECORDS[2:]))
    assert content_of(source) == b"".join(RECORDS)
    assert not source.diagnostics


def test_chunks_without_records_are_skipped() -> None:
    content = bytearray(FILE[:64])
    riegeli.append_chunk(content, b"m", b"\0metadata")
    riegeli.append_chunk(content, b"p", bytes(70_000))
    riegeli.append_chunk(content, b"r", riegeli.simple(b"record"), 1, 6)
    assert content_of(source_of(bytes(content))) == b"record"


def test_padding_leaves_a_byte_per_record() -> None:
    """A chunk has at least as many bytes as records, so that each has a position."""
    content = bytearray(FILE[:64])
    empty = b"\0" + riegeli.varint(70_000) + bytes(70_000)
    riegeli.append_chunk(content, b"r", empty, 70_000, 0)
    riegeli.append_chunk(content, b"r", b"b" + empty[1:50], 200_000, 10**6)  # what it holds does not matter
    riegeli.append_chunk(content, b"r", riegeli.simple(b"record"), 1, 6)
    assert len(content) > 200_000
    assert content_of(source_of(bytes(content))) == b"record"


@given(st.integers(0, len(FILE)))
def test_a_cut_file_has_the_records_before_the_cut(end: int) -> None:
    whole = [record for record, record_end in zip(RECORDS, ENDS, strict=True) if record_end <= end]
    if not whole and end:
        with pytest.raises(InputError) as raised:
            source_of(FILE[:end])
        assert "\n" not in str(raised.value)
        return
    source = source_of(FILE[:end])
    assert content_of(source) == b"".join(whole)
    # Files may end between two chunks, and within the padding at the end.
    is_whole = end in (0, 64, *ENDS, len(FILE))
    assert [diagnostic.id for diagnostic in source.diagnostics] == ["truncated_file"] * (not is_whole)


@given(st.integers(len(SIGNATURE), len(FILE) - 1), st.integers(1, 255))
def test_a_damaged_byte_costs_at_most_its_chunk(position: int, change: int) -> None:
    content = bytearray(FILE)
    content[position] ^= change
    source = source_of(bytes(content))
    number = sum(position >= end for end in ENDS)
    is_lost = content_of(source) != b"".join(RECORDS)
    if is_lost:
        rest = content_of(source)
        # A header's damage may hide the next chunks up to the next block.
        begins_in_block = [end for end in (64, *ENDS) if end // 65536 == position // 65536]
        lost = RECORDS[number : number + len(begins_in_block) + 1]
        for record in [*RECORDS[:number], *RECORDS[number + len(lost) :]]:
            assert record in rest
        assert [diagnostic.id for diagnostic in source.diagnostics] in (["corrupt_file"], ["truncated_file"])


def test_chunks_behind_a_damaged_header_are_found() -> None:
    content = bytearray(FILE)
    content[ENDS[0] + 9] ^= 1  # the size of the second record's data
    source = source_of(bytes(content))
    assert content_of(source) == b"".join([RECORDS[0], *RECORDS[2:]])
    [diagnostic] = source.diagnostics
    assert (
        diagnostic.message
        == f"Byte {ENDS[0]} is invalid: the records of the chunk there are lost; copy the file again, or capture again."
    )


def test_a_cut_capture_is_reported_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = riegeli.top_level_fields(small_space().to_bytes())
    content, ends = written(parts)
    path = tmp_path / "vm.xplane.riegeli"
    path.write_bytes(content[: ends[-1] - 1])
    assert main(["report", "--json", str(path)]) == 0
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning")]
    cut = f"File ends early, at byte {ends[-1] - 1}, in records that begin at byte {ends[-2]} and are lost"
    assert line == f"warning (vm): {cut}; copy it again if it was still being written."


def claim(data: bytes, size: int) -> bytes:
    """A file with one chunk that claims to decode to so many bytes."""
    content = bytearray(FILE[:64])
    riegeli.append_chunk(content, b"r", data, 1, size)
    return bytes(content)


def zeros(megabytes: int) -> bytes:
    """So many megabytes of zeros, compressed without holding them in memory."""
    brotli = pytest.importorskip("brotli", reason="Brotli is not installed")
    compressor = brotli.Compressor(quality=6)
    parts = [compressor.process(bytes(1 << 20)) for _ in range(megabytes)]
    return b"".join([*parts, compressor.finish()])


def test_claimed_sizes_reserve_no_memory() -> None:
    bomb = zeros(1024)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = riegeli.varint(1 << 30)
    cut = bytearray(claim(b"\0\0", 0))
    cut[64 + 8 : 64 + 16] = (1 << 60).to_bytes(8, "little")
    cut[64:72] = riegeli.highway_hash(bytes(cut[72:104])).to_bytes(8, "little")
    for content in (
        claim(b"b\0" + size + bomb, 1 << 30),  # a truthful bomb
        claim(b"b\0" + riegeli.varint(3000) + bomb, 3000),  # a lying one
        claim(b"b\0" + riegeli.varint(1 << 60) + bomb, 1 << 60),
        claim(b"\0\0", 1 << 60),
        claim(b"\0" + riegeli.varint(1 << 60), 5),
        claim(b"\0" + b"\xff" * 11, 5),
        claim(b"", 0),
        bytes(cut),
    ):
        with pytest.raises(InputError, match="nothing can be read") as raised:
            source_of(content)
        assert "\n" not in str(raised.value)
    unit = 1 if sys.platform == "darwin" else 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 100 << 20


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (claim(b"z\0\0", 5), "byte 64: records are compressed with Zstandard, which is not supported"),
        (claim(b"s\0\0", 5), "byte 64: records are compressed with Snappy, which is not supported"),
        (claim(b"?\0\0", 5), "byte 64: records are compressed with b'?', which is not supported"),
        (FILE[:64], "nothing can be read: no records; capture again"),
        (small_space().to_bytes(), "byte 0: not a Riegeli/records file; rename it to *.xplane.pb"),
        (b"\x1f\x8b" + bytes(100), "is compressed with gzip; uncompress it"),
    ],
)
def test_files_that_cannot_be_read(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as raised:
        source_of(content)
    assert f"vm.xplane.riegeli: {message}" in str(raised.value).replace("the file ", "")


@pytest.mark.parametrize(
    ("kind", "message"), [(b"t", "records are transposed"), (b"Q", "the unknown type b'Q'")]
)
def test_chunks_that_cannot_be_read(kind: bytes, message: str) -> None:
    content = bytearray(FILE[:64])
    riegeli.append_chunk(content, kind, b"\0\0", 1, 5)
    with pytest.raises(InputError, match=message):
        source_of(bytes(content))


def test_a_protocol_buffers_name_on_a_riegeli_file(tmp_path: Path) -> None:
    (tmp_path / "vm.xplane.pb").write_bytes(FILE)
    with pytest.raises(InputError, match=r"is a Riegeli/records file; rename it to \*.xplane.riegeli"):
        xi.load(str(tmp_path / "vm.xplane.pb"))


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "brotli", None)
    with pytest.raises(InputError, match=r"compressed with Brotli; run pip install 'brotli>=1.2'"):
        source_of(claim(b"b\0\5abc", 5))


def test_a_stopped_read_is_not_finished() -> None:
    with pytest.raises(InputError, match="reading was stopped"):
        RiegeliSource(MemorySource(FILE, "vm.xplane.riegeli"), lambda: True)
