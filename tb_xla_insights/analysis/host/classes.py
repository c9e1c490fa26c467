"""What the host does at each instant: one class, for the whole capture."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from tb_xla_insights.analysis.codes import DISPATCH_THEN_WAIT, ENDS_DISPATCH, INHERIT
from tb_xla_insights.analysis.host.annotation_classes import (
    annotation_classes,
    frames_inside,
    frames_that_load,
)
from tb_xla_insights.analysis.host.extractions import find_extractions
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.time.interval_index import block_ends, first_ending_after
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.analysis.time.segments import NO_SEGMENTS, Ranked, Segments, innermost_segments, overlay
from tb_xla_insights.catalog.classes import (
    COMPILE,
    DISPATCH,
    DYNAMO,
    FROM_DEVICE,
    HELPER_WORK,
    INPUT,
    OTHER,
    PYTHON,
    SYNC_PREPARE,
    TRACING,
    UNRECORDED,
    WAIT,
)
from tb_xla_insights.trace.annotations import annotated
from tb_xla_insights.trace.metadata_events import values_of_events
from tb_xla_insights.trace.model import Int8, Int64, Role, Trace

HELPERS: tuple[Role, ...] = ("autograd", "executor", "client", "compiler", "transfer")
"""Roles whose threads work for the driving thread. Loaders work ahead of it."""

_DRIVES, _HANDED_OVER, _BUILDS = 0, 1, 2
_WAITING_DRIVER, _WAITING_HELPER, _LAUNCHING_DRIVER = (len(HELPER_WORK) + more for more in (1, 2, 3))

_UNNAMED = (TRACING, PYTHON, INPUT)
"""Classes of annotations' own time and of Python frames: what torch.compile does in them has another one."""


@memoised
def event_classes(trace: Trace) -> tuple[Int8, Int8]:
    """Returns each event's own class and its flags for `innermost_segments`.

    An annotation's class comes from what it encloses or is named, a runtime event's from the catalogue; -1: none. What
    a device does on a host thread is no class of the host's.
    """
    kinds = values_of_events(trace.metadata.class_index, trace.meta)
    kinds[trace.annotations] = annotation_classes(trace)
    kinds[frames_that_load(trace)] = INPUT
    kinds[frames_inside(trace, "read")] = FROM_DEVICE
    kinds[frames_inside(trace, "compile_call")] = COMPILE
    if len(find_extractions(trace).line):
        kinds[find_extractions(trace).recorded(trace) & (kinds == SYNC_PREPARE)] = DYNAMO
    flags = (
        INHERIT * has_tag(trace, "device_work", "plumbing")
        + DISPATCH_THEN_WAIT * has_tag(trace, "dispatch_then_wait")
        + ENDS_DISPATCH * has_tag(trace, "ends_dispatch")
    )
    flags = values_of_events(flags.astype(np.int8), trace.meta)
    if "hlo_op" in trace.stats:
        is_op = np.zeros(len(trace), np.bool_)
        is_op[trace.stats["hlo_op"].rows] = True
        flags |= np.int8(INHERIT) * (is_op & (kinds < 0))
    return kinds, flags


def thread_segments(
    trace: Trace, line: int, start_ps: int | None = None, end_ps: int | None = None, bare: bool = True
) -> Segments:
    """One thread's timeline by its innermost event, of a window if one is given; where nothing is recorded there is no
    stretch.

    An event without a class has that of its nearest ancestor that has one, and `other` where there is none; a device op
    on a host thread, and what lies below it, has none at all (-1) unless a runtime event encloses it, and no stretch
    either without `bare`.
    """
    rows = trace.lines[line].rows
    if start_ps is not None and end_ps is not None:
        rows = rows_touching(trace, line, start_ps, end_ps)
    kinds, flags = event_classes(trace)
    columns = trace.start_ps[rows], trace.end_ps[rows], trace.parent[rows], kinds[rows], flags[rows]
    segments = innermost_segments(*columns, rows.start, bare)
    segments = _extracting(segments, find_extractions(trace).times(line))
    return segments if start_ps is None or end_ps is None else segments.clipped(start_ps, end_ps)


def rows_touching(trace: Trace, line: int, start_ps: int, end_ps: int) -> slice:
    """The shortest run of a line's events that holds all that touch the window."""
    rows = trace.lines[line].rows
    starts = trace.start_ps[rows]

    def ends(run: slice) -> Int64:
        return trace.end_ps[rows.start + run.start : min(rows.start + run.stop, rows.stop)]

    reaching = first_ending_after(_reached(trace, line), ends, start_ps)
    # An instant's event at the window's start touches it although it ends there.
    first = min(reaching, int(np.searchsorted(starts, start_ps, "left")))
    last = max(first, int(np.searchsorted(starts, end_ps, "left")))
    return slice(rows.start + first, rows.start + last)


@memoised
def _reached(trace: Trace, line: int) -> Int64:
    return block_ends(trace.end_ps[trace.lines[line].rows])


@memoised
def host_class_segments(trace: Trace) -> Segments:
    """The class at every instant of the trace's span, without holes, with the event that decides it.

    The innermost event on the driving thread decides. Where that is an annotation, a Python frame or nothing at all, a
    `pt_autograd_*` thread that has a runtime event takes its place, and else an extraction of torch.compile (without
    an event, where none encloses it). Where the thread that drives waits, records nothing, or is inside a call of class
    `dispatch` that records nothing more, the most specific work of its helpers decides, then waiting, there or on a
    helper, then that call; what remains is `unrecorded`. (docs/definitions.md, "Class at an instant")
    """
    start, end = trace.span_ps
    if end <= start:
        return NO_SEGMENTS
    drives = trace.lines_with("driving")
    driving = thread_segments(trace, drives[0]) if drives else NO_SEGMENTS
    autograd = [thread_segments(trace, line) for line in trace.lines_with("autograd")]
    driving = _with_extractions(trace, _hand_over(trace, driving, autograd))
    helpers = trace.lines_with(*HELPERS)
    helping = _fold([_ranked(thread_segments(trace, line, bare=False)) for line in helpers])
    rank = np.zeros(UNRECORDED, np.int8)
    rank[[WAIT, DISPATCH]] = _WAITING_DRIVER, _LAUNCHING_DRIVER
    both = overlay((driving, rank[driving.class_index]), helping)[0]
    known = np.where(both.class_index < 0, np.int8(OTHER), both.class_index)
    return _filled(Segments(both.start_ps, both.end_ps, known, both.row), start, end)


def _hand_over(trace: Trace, driving: Segments, autograd: list[Segments]) -> Segments:
    """The driving thread with its backward passes handed over."""
    annotations = annotated(trace)
    loads = (driving.class_index == INPUT) & has_tag(trace, "python_tracer")[trace.meta[driving.row]]
    builds = annotations[driving.row] | (driving.class_index == PYTHON) | loads
    ranked = driving, np.where(builds, _BUILDS, _DRIVES).astype(np.int8)
    for timeline in autograd:
        works = timeline.where((timeline.class_index >= 0) & ~annotations[timeline.row])
        ranked = overlay(ranked, (works, np.full(len(works), _HANDED_OVER, np.int8)))
    return ranked[0]


def _with_extractions(trace: Trace, driving: Segments) -> Segments:
    """The driving thread with what torch.compile does on it and in its backward passes."""
    when = find_extractions(trace).times()
    if not len(when):
        return driving
    count = len(when)
    nobody = np.full(count, DYNAMO, np.int8), np.full(count, -1, np.int32)
    ranked = Segments(when.start_ps, when.end_ps, *nobody), np.ones(count, np.int8)
    driving = _extracting(driving, when)
    return overlay((driving, np.zeros(len(driving), np.int8)), ranked)[0]


def _extracting(segments: Segments, when: Intervals) -> Segments:
    """The stretches, cut at the edges of extractions; what the host did inside without a name is `dynamo`."""
    if not len(when):
        return segments
    cut = segments.cut(np.concatenate((when.start_ps, when.end_ps)))
    last = np.searchsorted(when.start_ps, cut.start_ps, "right") - 1
    inside = (last >= 0) & (cut.start_ps < when.end_ps[last])
    kind = np.where(inside & np.isin(cut.class_index, _UNNAMED), np.int8(DYNAMO), cut.class_index)
    return Segments(cut.start_ps, cut.end_ps, kind, cut.row)


def _ranked(timeline: Segments) -> Ranked:
    """A helper's work and waiting, ranked: the most specific work first, waiting last."""
    ranks = np.full(UNRECORDED + 2, -1, np.int8)  # the last one is that of class -1
    ranks[list(HELPER_WORK)] = np.arange(1, _WAITING_DRIVER)
    ranks[WAIT] = _WAITING_HELPER
    rank = ranks[timeline.class_index]
    return timeline.where(rank >= 0), rank[rank >= 0]


def _fold(timelines: list[Ranked]) -> Ranked:
    """Many ranked timelines in one, short ones first, so that no long one is walked often."""
    heap = sorted((len(segments), number) for number, (segments, _) in enumerate(timelines))
    by_number = dict(enumerate(timelines))
    while len(heap) > 1:
        one, other = sorted((heappop(heap)[1], heappop(heap)[1]))
        by_number[one] = overlay(by_number[one], by_number.pop(other))
        heappush(heap, (len(by_number[one][0]), one))
    return by_number[heap[0][1]] if heap else (NO_SEGMENTS, np.zeros(0, np.int8))


def _filled(segments: Segments, start_ps: int, end_ps: int) -> Segments:
    """The stretches with `unrecorded` between them, from start_ps to end_ps."""
    ends = np.append(np.int64(start_ps), segments.end_ps)
    starts = np.append(segments.start_ps, np.int64(end_ps))
    holes = np.flatnonzero(starts > ends)
    return Segments(
        np.insert(segments.start_ps, holes, ends[holes]),
        np.insert(segments.end_ps, holes, starts[holes]),
        np.insert(segments.class_index, holes, UNRECORDED),
        np.insert(segments.row, holes, -1),
    )
