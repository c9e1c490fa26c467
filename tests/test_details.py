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
from tb_xla_insights.files.source import open_source
from tb_xla_insights.trace.details import event_stats
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.read import read_trace

STATS: dict[str, Stat] = {
    "run_id": 7, "program_id": Uint(2**64 - 1), "share": 0.5, "hlo_op": "dot.1", "data": b"\xff\0",
    "long_name": Ref("a text"), "empty": "", "negative": -3,
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    space = Space()
    plane = space.plane("/host:CPU")
    kind = plane.event_metadata("op", stats={"flops": 12, "tf_op": Ref("a/b")})
    line = plane.line("python")
    line.event(kind, 50, 9)
    line.event(kind, 10, 5, stats=STATS)  # before the other one in time, after it in the file
    return space.write(tmp_path / "vm.xplane.pb")


def trace_at(path: Path) -> Trace:
    with open_source(str(path)) as source:
        return read_trace(source, CATALOG, host="vm")


def test_the_stats_of_an_event_and_of_its_metadata(path: Path) -> None:
    trace = trace_at(path)
    stats = event_stats(trace, 0)
    assert {s.name: s.value for s in stats if not s.from_metadata} == STATS
    assert {s.name: s.value for s in stats if s.from_metadata} == {"flops": 12, "tf_op": "a/b"}
    assert {s.name: s.kind for s in stats} == {
        "run_id": "int", "program_id": "int", "share": "float", "hlo_op": "text", "data": "bytes", "long_name": "text",
        "empty": "text", "negative": "int", "flops": "int", "tf_op": "text",
    }  # fmt: skip
    assert [s.name for s in event_stats(trace, 1)] == ["flops", "tf_op"]


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
        place = trace.event_offsets.find(source, 0)
    good = path.read_bytes()
    for where, wrong, offset in ((place + 1, b"\xff", place), (place, b"\xff\xff", place - 1)):
        path.write_bytes(good[:where] + wrong + good[where + len(wrong) :])
        with open_source(str(path)) as source:
            trace.fingerprint = source.fingerprint  # by a disk that forgets, not by a writer
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
        theirs = plane.lines[
            line.index - next(i for i, sibling in enumerate(trace.lines) if sibling.plane == line.plane)
        ]
        assert len(theirs.events) == line.count
        # Rows are sorted as the trace sorts them, so that the n-th event is the same one.
        events = sorted(theirs.events, key=lambda event: (event.offset_ps, -event.duration_ps))
        for number in pick.sample(range(line.count), min(line.count, 10)):
            stats = event_stats(trace, line.first + number)
            assert {s.name: s.value for s in stats if not s.from_metadata} == events[number].stats
            assert {s.name: s.value for s in stats if s.from_metadata} == plane.kinds[events[number].kind][2]
