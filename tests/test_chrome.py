"""The trace for Perfetto: complete, ordered and nested, with times that add up to those of the session."""

from __future__ import annotations

import io
import json
import re
from decimal import Decimal
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import Core, capture, real_trace, session, thread
from hypothesis import given
from hypothesis import strategies as st
from launching import demo

from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.export.chrome import _durations, _format_times, _gap_events, _merge_lanes, write_chrome
from tb_xla_insights.timeline.pyramid.pyramid import Lane
from tb_xla_insights.trace.model import SessionTrace

PS_PER_US = Decimal(10**6)


class Chrome:
    """An exported trace: events by track, which is (process, thread), with times in picoseconds."""

    def __init__(self, traced: SessionTrace) -> None:
        file = io.BytesIO()
        self.count = write_chrome(traced, file)
        document = json.loads(file.getvalue(), parse_float=Decimal)
        self.other_data = document["otherData"]
        assert document["displayTimeUnit"] == "ms"
        names: dict[tuple[int, int], str] = {}
        self.tracks: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for event in document["traceEvents"]:
            track = event["pid"], event["tid"]
            if event["ph"] == "M":
                if event["name"].endswith("_name"):
                    names[track] = event["args"]["name"]
                    if event["tid"]:
                        self.tracks[names[event["pid"], 0], names[track]] = []
                continue
            assert event["ph"] == "X"
            start, duration = event["ts"] * PS_PER_US, event["dur"] * PS_PER_US
            self.tracks[names[event["pid"], 0], names[track]].append(
                {**event, "start_ps": int(start), "duration_ps": int(duration)}
            )

    def __getitem__(self, names: tuple[str, str]) -> list[dict[str, Any]]:
        return self.tracks[names]

    def total_ps(self, process: str, thread: str) -> int:
        return sum(event["duration_ps"] for event in self.tracks[process, thread])


@pytest.fixture(scope="module", params=["torch_xla_dynamo", "synthetic_case_study_8_tpu_cores"])
def traced(request: pytest.FixtureRequest) -> SessionTrace:
    return session(demo(request.param))


@pytest.fixture(scope="module")
def chrome(traced: SessionTrace) -> Chrome:
    return Chrome(traced)


def test_events_are_ordered_by_start_and_nest(chrome: Chrome) -> None:
    assert_ordered_and_complete(chrome)
    assert chrome.count > 1000


def assert_ordered_and_complete(chrome: Chrome) -> None:
    """Asserts that the events of each track begin in order and nest, and that all written events are in a track."""
    for name, events in chrome.tracks.items():
        open_until: list[int] = []
        last = 0
        for event in events:
            start, end = event["start_ps"], event["start_ps"] + event["duration_ps"]
            assert last <= start, name
            last = start
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], (name, event)
            open_until.append(end)
    assert sum(map(len, chrome.tracks.values())) == chrome.count


def test_overlapping_events_nest_in_written_and_in_parsed_times(chrome: Chrome) -> None:
    for name, events in chrome.tracks.items():
        assert_nests(events, name)


def assert_nests(events: list[dict[str, Any]], name: object = "") -> None:
    """Asserts nesting of the exact decimals, and of floats rounded to picoseconds, whose sums have rounding errors."""
    for parse in (lambda time: time, lambda time: round(float(time) * 1e6)):
        open_until: list[Any] = []
        for event in events:
            start, end = parse(event["ts"]), parse(event["ts"]) + parse(event["dur"])
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], (name, event)
            open_until.append(end)


def test_gaps_are_those_of_the_session(traced: SessionTrace, chrome: Chrome) -> None:
    report = gaps_report(traced.traces[0], all_gaps=True)
    assert sum(chrome.total_ps(*name) for name in chrome.tracks if name[1] == "gaps") == report["listed_ps"]
    for device in traced.devices:
        gaps_in_export = sorted(
            (gap["start_ps"], gap["duration_ps"], gap["cause"])
            for gap in report["items"]
            if gap["device"] == device.id
        )
        events = chrome[f"{device.name} of {device.host}", "gaps"]
        assert [
            (event["start_ps"], event["duration_ps"], event["args"]["cause"]) for event in events
        ] == gaps_in_export


def test_gaps_have_the_names_of_their_causes() -> None:
    kinds = (("wait", "queued"), ("wait", "starved"), ("to_device", "starved"))
    gaps: list[Any] = [
        {"start_ps": start, "duration_ps": 1, "cause": cause, "kind": kind}
        for start, (cause, kind) in enumerate(kinds)
    ]
    track = _gap_events(gaps)
    assert [track.heads[head] for head in track.head] == [
        ("idle: device waits", "wait"),
        ("idle: wait", "wait"),
        ("idle: transfer to device", "to_device"),
    ]


def test_classes_divide_the_host_s_time(traced: SessionTrace, chrome: Chrome) -> None:
    [trace] = traced.traces
    events = chrome[f"host {trace.host}", "Host, by class"]
    for before, after in pairwise(events):
        assert before["start_ps"] + before["duration_ps"] <= after["start_ps"]
    assert {event["cat"] for event in events} <= set(CLASSES)
    assert {event["cat"] for event in events} >= {"tracing", "dispatch"}


def test_annotations_steps_and_runs(traced: SessionTrace, chrome: Chrome) -> None:
    [trace] = traced.traces
    host = f"host {trace.host}"
    steps = find_steps(trace)
    assert [event["name"] for event in chrome[host, "Steps"]] == [str(step.number) for step in steps]
    assert chrome.total_ps(host, "Steps") == sum(step.duration_ps for step in steps)
    [driving] = [trace.lines[thread.line] for thread in trace.threads if thread.role == "driving"]
    rows = trace.annotations[np.isin(trace.annotations, np.arange(driving.first, driving.rows.stop))]
    assert chrome.total_ps(host, "Annotations") == int(trace.duration_ps[rows].sum()) > 0
    for device in trace.devices:
        events = chrome[f"{device.name} of {device.host}", "modules"]
        assert len(events) == len(device.runs)
        assert chrome.total_ps(f"{device.name} of {device.host}", "modules") == int(
            (device.runs.end_ps - device.runs.start_ps).sum()
        )
        ops = [name for name in chrome.tracks if re.fullmatch(r"ops( \d+)?", name[1])]
        ops_of_device = [name for name in ops if name[0] == f"{device.name} of {device.host}"]
        assert sum(len(chrome.tracks[name]) for name in ops_of_device) == len(device.ops)


def test_events_that_overlap_without_nesting_are_in_separate_tracks() -> None:
    traced = session(
        capture(thread("python", ("forward", 0, 90)), Core([("a", 0, 10), ("b", 5, 10), ("c", 20, 5)]))
    )
    chrome = Chrome(traced)
    assert [event["name"] for event in chrome["TPU:0 of vm", "ops"]] == ["a", "c"]
    assert [event["name"] for event in chrome["TPU:0 of vm", "ops 2"]] == ["b"]


def test_names_with_special_characters() -> None:
    name = 'a "quoted" \\ name\n\u2028 <é>'
    traced = session(capture(thread("python", (name, 0, 90)), Core([("op", 0, 10)])))
    assert name in {event["name"] for events in Chrome(traced).tracks.values() for event in events}
    assert Chrome(traced).other_data["session"] == "session"


def test_a_capture_without_devices_and_an_empty_one() -> None:
    assert [
        name
        for name in Chrome(session(capture(thread("python", ("forward", 0, 90))))).tracks
        if "of" in name[0]
    ] == []
    assert Chrome(session(capture())).tracks == {}


@given(st.lists(st.tuples(st.integers(0, 10**17), st.integers(0, 10**17)), min_size=1, max_size=20))
def test_times_keep_every_picosecond(pairs: list[tuple[int, int]]) -> None:
    start, duration = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    for text, (begin, length) in zip(
        _format_times(start, duration, extendable=np.ones(len(pairs), np.bool_)), pairs, strict=True
    ):
        event = json.loads(b'{"ts":' + text, parse_float=Decimal)
        assert (int(event["ts"] * PS_PER_US), int(event["dur"] * PS_PER_US)) == (begin, length)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=50))
def test_whole_nanoseconds_are_parsed_exactly(nanoseconds: list[int]) -> None:
    ps = np.array(nanoseconds, np.int64) * 1000
    for text, ns in zip(
        _format_times(ps, ps, extendable=np.ones(len(ps), np.bool_)), nanoseconds, strict=True
    ):
        event = json.loads(b'{"ts":' + text)
        assert (perfetto_ns(event["ts"]), perfetto_ns(event["dur"])) == (ns, ns)


def perfetto_ns(microseconds: float) -> int:
    """Nanoseconds as Perfetto's importer computes them (`CoerceToTs`)."""
    return int(microseconds * 1000.0)


def test_perfetto_reads_every_event(chrome: Chrome) -> None:
    for name, events in chrome.tracks.items():
        assert_perfetto_keeps(events, name)


def assert_perfetto_keeps(events: list[dict[str, Any]], name: object = "") -> None:
    """Asserts that Perfetto's importer keeps the events: it drops one that begins within another and ends after it."""
    open_until: list[int] = []
    for event in events:
        start, duration = (perfetto_ns(float(event[key])) for key in ("ts", "dur"))
        assert start == int(event["ts"] * PS_PER_US) // 1000, (name, event)
        while open_until and open_until[-1] <= start:
            open_until.pop()
        assert all(start + duration <= until for until in open_until), (name, event)
        open_until.append(start + duration)


def test_an_inner_event_ends_within_the_outer_one_in_whole_nanoseconds_too() -> None:
    nested = ("a", 900, 11_100), ("b", 1_000, 11_000), ("c", 2_000, 10_000)
    events = ("first", 0, 100), *nested, ("d", 12_000, 50)
    chrome = Chrome(session(capture(thread("python", *events))))
    assert_ordered_and_complete(chrome)
    test_perfetto_reads_every_event(chrome)
    tracks = [{event["name"]: event["duration_ps"] for event in track} for track in chrome.tracks.values()]
    assert {"first": 100, "a": 11_100, "b": 10_999, "c": 9_999, "d": 50} in tracks


LENGTHS = st.sampled_from([1, 999, 1_000, 35_000, 1_003_500, 4_035_000]) | st.integers(1, 10**7)


@given(st.lists(st.tuples(LENGTHS, st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_events_end_to_end_nest(parts: list[tuple[int, bool, bool]]) -> None:
    """Three levels: one event, events that divide it, and events that divide those; some of the last are missing. A
    part is the length of an event of the third level, whether the event around it ends with it, and whether it is
    recorded."""
    edges = [0, *accumulate(length for length, _, _ in parts)]
    inner = [pair for pair, (_, _, is_recorded) in zip(pairwise(edges), parts, strict=True) if is_recorded]
    ends = [edge for edge, (_, is_end, _) in zip(edges[1:-1], parts, strict=False) if is_end]
    levels = [[(0, edges[-1])], [*pairwise([0, *ends, edges[-1]])], inner]
    nest = _merge_lanes([lane_of(level) for level in levels if level]).times
    times = _format_times(nest.start_ps, *_durations(nest))
    events = [json.loads(b'{"ts":' + text, parse_float=Decimal) for text in times]
    assert len(events) == sum(map(len, levels))
    assert_nests(events)
    assert_perfetto_keeps(events)


def lane_of(spans: list[tuple[int, int]]) -> Lane:
    start, end = np.array(spans, np.int64).T
    zeros = np.zeros(len(spans), np.int32)
    return Lane(start, end, zeros, zeros.astype(np.int8), zeros, 1)


def test_real_captures_nest_too(shared_traces: Path) -> None:
    for name in ("torch_xla/spmd_fsdp_debug", "public/tpu_v6e_jax", "public/gpu_mi300_jax"):
        chrome = Chrome(session(real_trace(shared_traces / name)))
        test_events_are_ordered_by_start_and_nest(chrome)
        test_overlapping_events_nest_in_written_and_in_parsed_times(chrome)
        test_perfetto_reads_every_event(chrome)
