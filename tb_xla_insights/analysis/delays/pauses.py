"""Pauses: what holds the driving thread up for long, but not in most steps: a garbage collection, a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.delays.early_executions import last_steps_before
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.host.script_frames import code_within, frame_around
from tb_xla_insights.analysis.host.templates import annotation_name
from tb_xla_insights.analysis.idle.busy import busy_on_any_device
from tb_xla_insights.analysis.idle.no_requests import no_requests
from tb_xla_insights.analysis.launches.step_sources import recorded_times
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag, number_distinct
from tb_xla_insights.analysis.time.class_times import class_times
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals, union
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import CLASS_INDEX
from tb_xla_insights.catalog.frames import parse_frame
from tb_xla_insights.trace.annotations import step_annotation_rows
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing, outermost_rows

_SCRIPT_CLASSES = [
    CLASS_INDEX[name] for name in ("tracing", "python", "input", "wait", "other", "unrecorded")
]
"""Classes of what the script does where the runtime records nothing of its own."""

_TRANSFERS = [CLASS_INDEX[name] for name in ("from_device", "to_device")]
"""Classes of what a script may do in between, as a checkpoint does, without launching anything."""

_MIN_EXCESS = 1.5
"""Of the median step: how much longer than usual the script must stay in an annotation or function. On a loaded
machine, some steps take twice as long as others for no reason of the script's."""

_COMPILING = [CLASS_INDEX[name] for name in ("compile", "dynamo", "program_load")]
"""Classes that findings about compilations explain."""

_MIN_STEPS = 2
"""The fewest steps of which one can be said to differ from most."""

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Pause:
    """One pause. `name`: of its annotation or function; empty if nothing is recorded. `step`: the index of the last
    step that began before it. `usual_ps`: how long the script usually stays there without a launch, of the
    steps in which it does; 0 if these are fewer than half."""

    name: str
    start_ps: int
    end_ps: int
    step: int
    usual_ps: int = 0

    @property
    def duration_ps(self) -> int:
        return self.end_ps - self.start_ps

    @property
    def kind(self) -> str:
        """Its name without numbers: these differ from event to event."""
        return _NUMBER.sub("", self.name)


@memoised
def find_pauses(trace: Trace) -> list[Pause]:
    """Returns the pauses of one host in order of time: what holds the driving thread up for longer than the median step
    takes.

    A pause is an annotation, or a Python frame, of a kind that fewer than half of the steps have (the outermost one, if
    it contains no step); or a stretch in which the thread launches nothing and stays in no annotation or function of
    the script, or in one for longer than usual (_MIN_EXCESS). Waits for the device and what mostly compiles are no
    pauses; nor is a stretch in which nothing is recorded while devices mostly work, as the host may wait for them.
    """
    steps, lines = find_steps(trace), trace.lines_with("driving")
    starts = recorded_times(trace)[0][: len(steps)]
    if len(steps) < _MIN_STEPS or not lines:
        return []
    min_ps = int(np.median([step.duration_ps for step in steps]))
    events = _rare_events(trace, lines[0], starts, min_ps)
    pauses = [
        Pause(_name(trace, row, start, end), start, end, index, usual)
        for row, start, end, index, usual in _long_stretches(trace, events, starts, min_ps)
    ]
    for row, index in zip(events.tolist(), last_steps_before(trace, events).tolist(), strict=True):
        start, end = int(trace.start_ps[row]), int(trace.end_ps[row])
        pauses.append(Pause(_name(trace, row, start, end), start, end, index))
    return sorted(
        (
            pause
            for pause in pauses
            if pause.step >= 0
            and not _mostly_compiles(trace, pause)
            and not _lacks_requests(trace, pause)
            and not _may_wait(trace, pause)
        ),
        key=lambda pause: pause.start_ps,
    )


def _lacks_requests(trace: Trace, pause: Pause) -> bool:
    """Whether a server has no request for most of a pause."""
    idle = no_requests(trace).clipped(pause.start_ps, pause.end_ps)
    return 2 * idle.total_ps > pause.duration_ps


def _may_wait(trace: Trace, pause: Pause) -> bool:
    """Whether nothing says what the host does in a pause, and a device works for most of it."""
    if pause.name or not trace.devices:
        return False
    works = busy_on_any_device(trace).clipped(pause.start_ps, pause.end_ps)
    return 2 * works.total_ps > pause.duration_ps


def _mostly_compiles(trace: Trace, pause: Pause) -> bool:
    window = np.array([pause.start_ps]), np.array([pause.end_ps])
    times = class_times(host_class_segments(trace), *window)[0]
    return 2 * int(times[_COMPILING].sum()) > pause.duration_ps


@memoised
def pause_times(trace: Trace) -> Intervals:
    """Returns when the pauses are."""
    return times_of(find_pauses(trace))


def times_of(pauses: Sequence[Pause]) -> Intervals:
    """Returns when some pauses are, each without the time that is usual."""
    return union(
        np.array([pause.start_ps + pause.usual_ps for pause in pauses], np.int64),
        np.array([pause.end_ps for pause in pauses], np.int64),
    )


def _rare_events(trace: Trace, line: int, starts: Int64, min_ps: int) -> Int32:
    """The outermost annotations and frames of at least `min_ps` that fewer than half of the steps have."""
    is_frame = has_tag(trace, "python_tracer") & ~has_tag(trace, "blocks", "profiler")
    rows = np.arange(trace.lines[line].rows.start, trace.lines[line].rows.stop, dtype=np.int32)
    rows = rows[trace.annotation_mask[rows] | is_frame[trace.metadata_index[rows]]]
    step = np.searchsorted(starts, trace.start_ps[rows], "right")
    contains_step = np.searchsorted(starts, trace.end_ps[rows]) > step
    is_long = (
        (trace.duration_ps[rows] >= min_ps) & ~contains_step & ~np.isin(rows, step_annotation_rows(trace))
    )
    kind = _kind_of_metadata(trace)[trace.metadata_index[rows]]
    long_kinds = np.unique(kind[is_long])
    steps_with = [len(np.unique(step[kind == long_kind])) for long_kind in long_kinds.tolist()]
    rare = long_kinds[2 * np.array(steps_with, np.int64) < len(starts)]
    return outermost_rows(trace.parent, rows[is_long & np.isin(kind, rare)])


@memoised
def _kind_of_metadata(trace: Trace) -> Int32:
    """Numbers the kinds of events, per event metadata: their names without numbers."""
    return number_distinct(_NUMBER.sub("", trace.strings[name]) for name in trace.metadata.name.tolist())


def _long_stretches(
    trace: Trace, events: Int32, starts: Int64, min_ps: int
) -> Iterator[tuple[int, int, int, int, int]]:
    """The stretches outside of some events in which the driving thread stays in one annotation or function of the
    script for longer than usual, or records nothing for at least `min_ps`: row (-1: nothing is recorded), start, end,
    step and usual length."""
    row, start_ps, end_ps, script_ps = _stretches(trace, events)
    step = np.searchsorted(starts, start_ps, "right") - 1
    kind = np.where(row >= 0, _kind_of_metadata(trace)[trace.metadata_index[row]], -1)
    for chosen in np.unique(kind[script_ps >= min_ps]).tolist():
        of_kind = np.flatnonzero((kind == chosen) & (step >= 0))
        is_recorded = chosen >= 0
        longest_ps = np.zeros(len(starts), np.int64)
        np.maximum.at(longest_ps, step[of_kind], script_ps[of_kind])
        usual_ps = _usual_length(longest_ps) if is_recorded else 0
        limit_ps = usual_ps + _MIN_EXCESS * min_ps if is_recorded else min_ps
        for index in of_kind[script_ps[of_kind] >= limit_ps].tolist():
            yield int(row[index]), int(start_ps[index]), int(end_ps[index]), int(step[index]), usual_ps


def _usual_length(longest_ps: Int64) -> int:
    """The median over the steps that have a stretch; 0 if fewer than half do. `longest_ps`: per step; 0: none."""
    with_stretch = longest_ps[longest_ps > 0]
    return int(np.median(with_stretch)) if 2 * len(with_stretch) >= len(longest_ps) else 0


def _stretches(trace: Trace, events: Int32) -> tuple[Int32, Int64, Int64, Int64]:
    """The stretches outside of some events in which the driving thread stays in one annotation or function of the
    script and launches nothing: its row (-1: nothing is recorded), start, end, and its time without transfers."""
    segments = host_class_segments(trace)
    is_recorded = segments.row >= 0
    is_script = np.isin(segments.class_index, _SCRIPT_CLASSES)
    is_own = is_script | np.isin(segments.class_index, _TRANSFERS)
    metadata = trace.metadata_index[segments.row]
    is_own &= ~(is_recorded & has_tag(trace, "blocks")[metadata])
    # The script waits in its annotations and functions; in its own events the runtime waits for devices.
    waits_in_runtime = segments.class_index == CLASS_INDEX["wait"]
    waits_in_runtime &= ~trace.annotation_mask[segments.row] & ~has_tag(trace, "python_tracer")[metadata]
    is_own &= ~(is_recorded & waits_in_runtime)
    is_own &= ~is_recorded | trace.is_on_lines(segments.row, trace.lines_with("driving"))
    own = np.flatnonzero(is_own)
    own = own[nearest_enclosing(trace.parent, segments.row[own], events) < 0]
    frame = frame_around(trace, segments.row[own])
    row = np.full(len(segments), -2, np.int32)
    row[own] = np.maximum(frame, nearest_enclosing(trace.parent, segments.row[own], trace.annotations))
    first = np.flatnonzero(np.append(True, row[1:] != row[:-1]))[: len(row)]
    start_ps = segments.start_ps[first]
    end_ps = segments.end_ps[np.append(first[1:], len(row))[: len(first)] - 1]
    script_ps = np.add.reduceat(np.where(is_script, segments.end_ps - segments.start_ps, 0), first)
    is_own_stretch = row[first] > -2
    return (
        row[first][is_own_stretch],
        start_ps[is_own_stretch],
        end_ps[is_own_stretch],
        script_ps[is_own_stretch],
    )


def _name(trace: Trace, row: int, start_ps: int, end_ps: int) -> str:
    if row < 0:
        return ""
    if (frame := parse_frame(trace.name(row))) is None:
        return annotation_name(trace, row)
    code = code_within(trace, span_intervals(start_ps, end_ps))
    return next((row.place for row in code if row.frame == frame), frame.name)
