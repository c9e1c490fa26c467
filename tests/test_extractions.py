"""When torch.compile extracts graphs, and the host's classes during extractions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import Event, capture, real_trace, thread
from extracting import bridge, extractions_by_definition
from host_classes import times_by_class
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import demo

from tb_xla_insights.analysis.delays.early_executions import early_executions_report
from tb_xla_insights.analysis.host.classes import event_classes, host_class_segments, thread_segments
from tb_xla_insights.analysis.host.extractions import find_extractions
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.trace.model import Trace

STEP: Event = ("Training_Step", 0, 1000, {"_r": 1})


def extractions_of(trace: Trace) -> list[tuple[int, int, int, int, int]]:
    extractions = find_extractions(trace)
    columns = (
        extractions.line,
        extractions.start_ps,
        extractions.end_ps,
        extractions.first,
        extractions.last,
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def times(trace: Trace) -> list[tuple[int, int]]:
    intervals = find_extractions(trace).times()
    return list(zip(intervals.start_ps.tolist(), intervals.end_ps.tolist(), strict=True))


def test_extraction_lasts_from_the_previous_event_to_the_graphs_launch() -> None:
    trace = capture(
        thread("python", STEP, ("forward", 100, 800), ("PjRtComputationClient::TransferFromDevice", 120, 10),
               *bridge(500), ("ExecuteComputationWithBarrier", 640, 20), role="driving")
    )  # fmt: skip
    assert times(trace) == [(130, 640)]
    assert times_by_class(trace) == {"from_device": 10, "dynamo": 510, "dispatch": 20, "python": 460}


def test_extraction_ends_with_the_annotation_around_it() -> None:
    trace = capture(
        thread("python", STEP, ("loss", 10, 80), ("forward", 100, 700), *bridge(500), role="driving")
    )
    assert times(trace) == [(100, 800)]
    assert times_by_class(trace) == {"tracing": 80, "python": 220, "dynamo": 700}


def test_compilation_of_the_extracted_graph_is_compile() -> None:
    trace = capture(
        thread("python", STEP, ("forward", 100, 800), *bridge(500, compile_ps=100), role="driving")
    )
    assert times(trace) == [(100, 900)]
    assert times_by_class(trace)["compile"] == 100
    assert times_by_class(trace)["dynamo"] == 700


def test_extraction_without_annotations_lasts_from_event_to_event() -> None:
    trace = capture(
        thread("python", ("StepMarker", 0, 20), *bridge(500), ("ExecuteComputationWithBarrier", 640, 20),
               role="driving")
    )  # fmt: skip
    assert times(trace) == [(20, 640)]
    segments = host_class_segments(trace)
    assert times_by_class(trace) == {"sync_prepare": 20, "dynamo": 620, "dispatch": 20}
    without_event = (segments.row == -1) & (segments.class_index == CLASSES.index("dynamo"))
    assert without_event.any(), "segments between events have no row"


def test_driving_threads_annotation_bounds_extraction_in_a_backward_pass() -> None:
    trace = capture(
        thread("python", STEP, ("backward", 300, 500), role="driving"),
        thread("pt_autograd_0", *bridge(500), ("ExecuteComputationWithBarrier", 640, 20), role="autograd"),
    )
    assert times(trace) == [(300, 640)]
    assert times_by_class(trace) == {"dynamo": 340, "dispatch": 20, "python": 640}
    assert thread_segments(trace, 0).sums(len(CLASSES))[CLASSES.index("dynamo")] == 0, (
        "another thread's extraction is not in the driving thread's timeline"
    )


def test_operators_tried_on_the_cpu_are_between_the_bridges_markers() -> None:
    read: Event = ("PjRtComputationClient::TransferFromDevice", 525, 10)
    trace = capture(
        thread("python", STEP, *sorted([*bridge(500), read], key=lambda event: event[1]), role="driving")
    )
    assert times(trace) == [(0, 1000)]


def test_synchronisation_cut_by_the_capture_is_no_extraction() -> None:
    trace = capture(thread("python", ("RunPostOrder", 0, 5), ("SyncTensorsGraph", 10, 5), role="driving"))
    assert extractions_of(trace) == []


def test_known_graph_with_new_numbers_has_one_marker() -> None:
    before: Event = ("ExecuteComputationWithBarrier", 450, 20)
    trace = capture(thread("python", STEP, before, *bridge(500, markers=1), role="driving"))
    assert times(trace) == [(470, 1000)]


def test_python_frames_do_not_bound_an_extraction() -> None:
    frames: list[Event] = [("$train.py:3 step", 5, 990), ("$convert_frame.py:9 f", 150, 300)]
    events = sorted([STEP, *frames, *bridge(500)], key=lambda event: (event[1], -event[2]))
    trace = capture(thread("python", *events, role="driving"))
    assert times(trace) == [(0, 1000)]
    assert times_by_class(trace) == {"dynamo": 1000}


def test_step_markers_of_the_bridge_are_no_steps() -> None:
    markers: list[Event] = [("StepMarker", at, 20) for at in (0, 1000, 2000)]
    data: Event = ("PjRtComputationClient::TransferToDevice", 30, 5)
    events = sorted(
        [*markers, data, ("ExecuteComputationWithBarrier", 40, 9), *bridge(500)], key=lambda event: event[1]
    )
    steps = find_steps(capture(thread("python", *events, role="driving")))
    assert [(step.start_ps, step.end_ps) for step in steps] == [(20, 1020), (1020, 2020)]


NAMES = (
    "StepMarker", "RunPostOrder", "SyncTensorsGraph", "ExecuteComputationWithBarrier", "$f.py:1 f", "forward",
    "PjRtComputationClient::TransferFromDevice", "CollectSyncTensors",
)  # fmt: skip


@st.composite
def event_lists(draw: Any) -> list[Event]:
    """Events one after the other, some of them inside the previous one."""
    events: list[Event] = []
    start_ps = draw(st.integers(0, 5))
    for _ in range(draw(st.integers(0, 14))):
        name = draw(st.sampled_from(NAMES))
        length = draw(st.integers(1, 30))
        events.append((name, start_ps, length))
        start_ps += draw(st.integers(0, 2)) if length > 12 else length + draw(st.integers(0, 3))
    ends = [start + length for _, start, length in events]
    # Events may nest but not overlap: an event ends no later than the events around it.
    for i, (name, start, length) in enumerate(events):
        earlier = zip(events[:i], ends[:i], strict=True)
        outer_ends = [end for (_, outer_start, _), end in earlier if outer_start <= start < end]
        ends[i] = min([start + length, *outer_ends])
        events[i] = (name, start, ends[i] - start)
    return [event for event in events if event[2] > 0]


@settings(max_examples=150, deadline=None)
@given(event_lists(), event_lists())
def test_search_agrees_with_the_definition(main: list[Event], backward: list[Event]) -> None:
    trace = capture(
        thread("python", *main, role="driving"), thread("pt_autograd_0", *backward, role="autograd")
    )
    assert extractions_of(trace) == extractions_by_definition(trace)


def test_real_capture_with_a_graph_break() -> None:
    """Each step compiles forward and backward again, except the last one, as the recompilation limit is reached."""
    trace = demo("torch_xla_dynamo_graph_break")
    extractions = find_extractions(trace)
    assert len(extractions) == 10
    assert times_by_class(trace)["dynamo"] == 1_315_945_753_000
    assert extractions_of(trace) == extractions_by_definition(trace)
    assert early_executions_report(trace) == []
    markers = [row for row in range(len(trace)) if trace.name(row) == "StepMarker"]
    classes = event_classes(trace)[0][markers].tolist()
    assert classes.count(CLASSES.index("dynamo")) == 20
    assert classes.count(CLASSES.index("sync_prepare")) == 6


@pytest.mark.parametrize(
    "scenario", ["tiny_dynamo_train", "dynamo_full_step", "tiny_early_item", "tiny_dynamic"]
)
def test_real_captures_without_extractions(shared_traces: Path, scenario: str) -> None:
    assert extractions_of(real_trace(shared_traces / "torch_xla" / scenario)) == []


def test_extractions_contain_dynamos_own_record() -> None:
    """All of Dynamo's time, as `demo_logs/capture/dynamo_times.py graph_break` recorded it, is `dynamo`. The rest of
    `dynamo` is the bridge, and the model's work before and after it."""
    folder = Path(__file__).parent / "recorded/dynamo_graph_break"
    trace = real_trace(folder)
    phases = json.loads((folder / "dynamo_times.json").read_text())["phases_ns"]
    start, end = (np.array(phases, np.int64).T - trace.base_unix_ns) * 1000
    truth = union(start.copy(), end.copy())
    segments = host_class_segments(trace)
    dynamo = union(segments.start_ps, segments.end_ps, segments.class_index == CLASSES.index("dynamo"))
    extractions = find_extractions(trace)
    bridge_times = union(trace.start_ps[extractions.first], trace.end_ps[extractions.last])
    assert len(extractions) == 12
    assert truth.without(dynamo).total_ps == 0
    rest = dynamo.without(truth).without(bridge_times).total_ps
    assert rest < 0.1 * dynamo.total_ps
    assert bridge_times.within(truth).total_ps == 0
