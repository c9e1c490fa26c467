"""All stats of one event, read from the file on request."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from captures import CATALOG, real_trace
from independent import parse
from synthetic.writer import Ref, Space, Stat, Uint

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.open import open_source
from tb_xla_insights.trace.details import event_stats
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.read_trace import read_trace

STATS: dict[str, Stat] = {
    "run_id": 7, "program_id": Uint(2**64 - 1), "share": 0.5, "hlo_op": "dot.1", "data": b"\xff\0",
    "long_name": Ref("a text"), "empty": "", "negative": -3,
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    space = Space()
    plane = space.plane("/host:CPU")
    metadata = plane.event_metadata("op", stats={"flops": 12, "tf_op": Ref("a/b")})
    line = plane.line("python")
    line.event(metadata, 50, 9)
    line.event(metadata, 10, 5, stats=STATS)  # before the other one in time, after it in the file
    return space.write(tmp_path / "vm.xplane.pb")


def trace_at(path: Path) -> Trace:
    with open_source(str(path)) as source:
        return read_trace(source, CATALOG, host="vm")


def test_the_stats_of_an_event_and_of_its_metadata(path: Path) -> None:
    trace = trace_at(path)
    stats = event_stats(trace, 0)
    assert {stat.name: stat.value for stat in stats if not stat.from_metadata} == STATS
    assert {stat.name: stat.value for stat in stats if stat.from_metadata} == {"flops": 12, "tf_op": "a/b"}
    assert {stat.name: stat.kind for stat in stats} == {
        "run_id": "int", "program_id": "int", "share": "float", "hlo_op": "text", "data": "bytes", "long_name": "text",
        "empty": "text", "negative": "int", "flops": "int", "tf_op": "text",
    }  # fmt: skip
    assert [stat.name for stat in event_stats(trace, 1)] == ["flops", "tf_op"]


def test_a_file_that_changed_is_refused_in_one_line(path: Path) -> None:
    trace = trace_at(path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(InputError, match=r"the file has changed since it was read; reload") as raised:
        event_stats(trace, 0)
    assert str(raised.value).startswith(f"{path}: ")
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        event_stats(trace, 0)


def test_invalid_event_bytes_are_a_one_line_error(path: Path) -> None:
    trace = trace_at(path)
    with open_source(str(path)) as source:
        event_at = trace.event_offsets.find(source, 0)
    content = path.read_bytes()
    for at, invalid, offset in (
        (event_at + 1, b"\xff", event_at),
        (event_at, b"\xff\xff", event_at - 1),
    ):
        path.write_bytes(content[:at] + invalid + content[at + len(invalid) :])
        with open_source(str(path)) as source:
            trace.fingerprint = source.fingerprint  # damage on the disk leaves the fingerprint as it was
        with pytest.raises(InputError, match=f"byte {offset}: the event cannot be read") as raised:
            event_stats(trace, 0)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("folder", ["torch_xla/tiny_baseline", "public/tpu_v6e_jax", "public/gpu_mi300_jax"])
def test_events_of_real_captures(shared_traces: Path, folder: str) -> None:
    trace = real_trace(shared_traces / folder)
    planes = parse(Path(trace.path).read_bytes())
    pick = random.Random(folder)
    for line in trace.lines:
        plane = planes[line.plane]
        parsed_line = plane.lines[
            line.index - next(i for i, sibling in enumerate(trace.lines) if sibling.plane == line.plane)
        ]
        assert len(parsed_line.events) == line.count
        # In the order of the trace's rows.
        events = sorted(parsed_line.events, key=lambda event: (event.offset_ps, -event.duration_ps))
        for number in pick.sample(range(line.count), min(line.count, 10)):
            stats = event_stats(trace, line.first + number)
            assert {stat.name: stat.value for stat in stats if not stat.from_metadata} == events[number].stats
            assert {stat.name: stat.value for stat in stats if stat.from_metadata} == plane.event_metadata[
                events[number].metadata_id
            ][2]
