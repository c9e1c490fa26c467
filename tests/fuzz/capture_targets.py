"""Fuzzing targets whose input is one capture: the decoder and the data model."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
from build import MemorySource
from captures import CATALOG
from fuzz import seeds
from fuzz.change import change_message, damage_bytes, grow_message
from fuzz.target import Limits, Target, check_refusal, checks_input, scratch
from fuzz.tree import Node, encode, root
from google.protobuf.message import DecodeError
from independent import SPACE, of_space, parse

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.files.open import open_source
from tb_xla_insights.trace.details import event_stats
from tb_xla_insights.trace.device import NestedIntervals
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import MAX_DEPTH
from tb_xla_insights.trace.read_trace import read_trace
from tb_xla_insights.xplane.read_xspace import XSpace, read_space

_SMALL_BYTES = 1200
"""The decoder is tested with captures up to this size and with smaller planes of larger ones, as twice as many of them
fit into the same time."""
_MAX_GROWN_BYTES = 300_000
"""The size up to which captures are grown."""
_MAX_DETAILS = 3


def make_small(pick: Random) -> bytes:
    """A small capture, or one or two small planes of a larger one."""
    spaces = seeds.cut_captures()
    space = pick.choice(spaces)
    if len(space.raw) > _SMALL_BYTES:
        planes = [
            field for field in space.fields or () if field.kind == "XPlane" and len(field.raw) < _SMALL_BYTES
        ]
        space = root("XSpace", pick.sample(planes, min(len(planes), pick.choice((1, 2)))))
    return _maybe_damaged(pick, change_message(pick, space, seeds.fields(real=True)), 0.4)


def make_capture(pick: Random) -> bytes:
    return _maybe_damaged(pick, changed_capture(pick), 0.1)


def changed_capture(pick: Random) -> Node:
    return change_message(pick, pick.choice(seeds.cut_captures()), seeds.fields(real=True))


def make_grown(pick: Random) -> bytes:
    """A capture in which one field is repeated hundreds or thousands of times."""
    space = changed_capture(pick) if pick.random() < 0.5 else pick.choice(seeds.cut_captures())
    return encode(grow_message(pick, space, _MAX_GROWN_BYTES)) if space.size > 1 else b""


def _maybe_damaged(pick: Random, space: Node, share: float) -> bytes:
    data = encode(space)
    return damage_bytes(pick, data) if pick.random() < share else data


def check_space(data: bytes) -> Iterator[str]:
    """Checks that the columns are consistent. A quarter of the undamaged files are also compared with the result of
    protobuf's parser."""
    try:
        space = read_space(MemorySource(data))
    except InputError as error:
        yield check_refusal(error)
        return
    _check_columns(space)
    yield from _ids(space.diagnostics)
    yield f"planes {min(len(space.planes), 4)}"
    yield from space.stats
    if not space.diagnostics and data[-1] % 4 == 0:
        _compare(space, data)


def _check_columns(space: XSpace) -> None:
    count = len(space.metadata)
    assert len(space.offset_ps) == len(space.duration_ps) == count
    lines = [line for plane in space.planes for line in plane.lines]
    assert sum(line.count for line in lines) == count
    assert [line.first for line in lines if line.count] == [
        sum(previous.count for previous in lines[:at]) for at, line in enumerate(lines) if line.count
    ]
    metadata_count = sum(len(plane.event_metadata) for plane in space.planes)
    assert not count or 0 <= space.metadata.min() <= space.metadata.max() < metadata_count
    for name, column in space.stats.items():
        assert len(column.rows) == len(column.values) > 0, name
        assert (np.diff(column.rows) > 0).all(), name
        assert 0 <= column.rows[0] <= column.rows[-1] < count, name
        assert not column.is_text or 0 <= column.values.min() <= column.values.max() < len(
            space.strings.texts
        ), name


def _ids(diagnostics: list[Diagnostic]) -> Iterator[str]:
    for diagnostic in diagnostics:
        assert "\n" not in diagnostic.message, diagnostic.message
        yield diagnostic.id


def _compare(space: XSpace, data: bytes) -> None:
    try:
        SPACE.FromString(data)
    except DecodeError:
        return
    for plane, expected in zip(of_space(space), parse(data), strict=True):
        assert (plane.name, len(plane.lines)) == (expected.name, len(expected.lines))
        for line, expected_line in zip(plane.lines, expected.lines, strict=True):
            # Offsets are not compared: an aggregate may have both an offset and a count of occurrences, of which
            # protobuf returns only the last one encoded.
            durations = [event.duration_ps for event in line.events]
            assert durations == [event.duration_ps for event in expected_line.events]


def _trace(data: bytes) -> Trace:
    path = scratch() / "vm.xplane.pb"
    path.write_bytes(data)
    with open_source(str(path)) as source:
        return read_trace(source, CATALOG, host="vm")


@checks_input(_trace)
def check_trace(trace: Trace, _: Random) -> Iterator[str]:
    """Checks that the events of each line ascend and nest, and that the stats of events can be read again."""
    yield from _ids(trace.diagnostics)
    yield from (f"role {thread.role}" for thread in trace.threads)
    yield from (f"device {device.kind} {device.from_host_events}" for device in trace.devices)
    _check_trace(trace)
    for row in np.linspace(0, len(trace) - 1, min(_MAX_DETAILS, len(trace))).astype(int).tolist():
        try:
            event_stats(trace, row)
        except InputError as error:  # the event's stats may be damaged
            check_refusal(error)


def _check_trace(trace: Trace) -> None:
    assert sum(line.count for line in trace.lines) == len(trace)
    for line in trace.lines:
        start = trace.start_ps[line.rows]
        assert (np.diff(start) >= 0).all(), line.name
        depth, parent = trace.depth[line.rows], trace.parent[line.rows]
        inner = np.flatnonzero(parent >= 0)
        outer = parent[inner] - line.first
        assert ((outer >= 0) & (outer < inner)).all(), line.name
        assert ((depth[inner] > depth[outer]) | (depth[inner] == MAX_DEPTH)).all(), line.name
        assert (depth >= 0).all(), line.name
    assert (trace.start_ps >= 0).all()
    assert (trace.duration_ps >= 0).all()
    for device in trace.devices:
        _check_intervals(device.runs)
        _check_intervals(device.ops)


def _check_intervals(intervals: NestedIntervals) -> None:
    assert (np.diff(intervals.start_ps) >= 0).all()
    assert (intervals.end_ps >= intervals.start_ps).all()
    assert (intervals.own_ps >= 0).all()


TARGETS = [
    Target("decode", make_small, check_space, Limits(0.2, 2e-5, 16_000_000, 400), 0.17, "XSpace"),
    Target("trace", make_capture, check_trace, Limits(0.4, 2e-5, 32_000_000, 1000), 0.04, "XSpace"),
    Target("grown", make_grown, check_trace, Limits(0.4, 2e-5, 32_000_000, 1000), 0.03, "XSpace"),
]
