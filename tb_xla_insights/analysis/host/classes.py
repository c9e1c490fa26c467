"""The class of the host's activity at each instant of the capture."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from tb_xla_insights.analysis.codes import DISPATCH_THEN_WAIT, INHERIT, WAIT_FOLLOWS
from tb_xla_insights.analysis.host.annotation_classes import (
    annotation_classes,
    frames_inside,
    launching_frames,
    loading_frames,
)
from tb_xla_insights.analysis.host.extractions import find_extractions
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag, is_loading_annotation
from tb_xla_insights.analysis.time.interval_index import block_ends, first_ending_after
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals, union
from tb_xla_insights.analysis.time.segments import (
    NO_SEGMENTS,
    Ranked,
    Segments,
    innermost_segments,
    overlay,
    overlay_first,
)
from tb_xla_insights.arrays import Int8, Int64
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
    TO_DEVICE,
    TRACING,
    UNRECORDED,
    WAIT,
)
from tb_xla_insights.trace.metadata_events import values_of_events
from tb_xla_insights.trace.model import Role, Trace
from tb_xla_insights.trace.nesting import outermost_rows
from tb_xla_insights.trace.threads import OPERATOR_ID

HELPER_ROLES: tuple[Role, ...] = ("autograd", "executor", "client", "compiler", "transfer")
"""Roles of threads that work for the driving thread. Loaders are no helpers: they work ahead of it."""

_DRIVING_RANK, _BACKWARD_RANK, _ENCLOSING_RANK = 0, 1, 2
"""Ranks in `_with_backward_passes`, the lowest first: events of the driving thread; events of its backward passes;
annotations and Python frames of the driving thread, which may only enclose the work."""
_WAITING_DRIVER_RANK, _WAITING_HELPER_RANK, _LAUNCHING_DRIVER_RANK = (
    len(HELPER_WORK) + offset for offset in (1, 2, 3)
)
"""Ranks in `host_class_segments` behind the helpers' work, which has ranks from 1 on."""

_GENERIC_CLASSES = (TRACING, PYTHON, INPUT)
"""Classes of annotations' own time and of Python frames. During an extraction by torch.compile they become `dynamo`."""


@memoised
def event_classes(trace: Trace) -> tuple[Int8, Int8]:
    """Returns each event's own class and its flags for `innermost_segments`.

    An annotation's class is that of `annotation_classes`, a runtime event's comes from the catalogue; -1: none. What a
    device does on a host thread is not a class of the host's.
    """
    classes = values_of_events(trace.metadata.class_index, trace.metadata_index)
    classes[trace.annotations] = annotation_classes(trace)
    classes[loading_frames(trace)] = INPUT
    classes[launching_frames(trace)] = DISPATCH
    classes[frames_inside(trace, "read")] = FROM_DEVICE
    classes[frames_inside(trace, "compile_call")] = COMPILE
    if len(find_extractions(trace).line):
        classes[find_extractions(trace).is_bridge_event(trace) & (classes == SYNC_PREPARE)] = DYNAMO
    flags = (
        INHERIT * has_tag(trace, "device_work", "plumbing")
        + DISPATCH_THEN_WAIT * has_tag(trace, "dispatch_then_wait")
        + WAIT_FOLLOWS * has_tag(trace, "ends_dispatch")
    )
    flags = values_of_events(flags.astype(np.int8), trace.metadata_index)
    if "hlo_op" in trace.stats:
        is_op = np.zeros(len(trace), np.bool_)
        is_op[trace.stats["hlo_op"].rows] = True
        flags |= np.int8(INHERIT) * (is_op & (classes < 0))
    return classes, flags


def thread_segments(
    trace: Trace,
    line: int,
    start_ps: int | None = None,
    end_ps: int | None = None,
    with_unclassified: bool = True,
) -> Segments:
    """Returns one thread's timeline by its innermost event, of a window if one is given. Where nothing is recorded
    there is no segment.

    An event without a class takes that of its nearest ancestor that has one, else `other`. A device op on a host
    thread, and what is below it, has no class (-1) unless a runtime event encloses it; segments of class -1 are
    returned only `with_unclassified`.
    """
    rows = trace.lines[line].rows
    if start_ps is not None and end_ps is not None:
        rows = rows_overlapping(trace, line, start_ps, end_ps)
    classes, flags = event_classes(trace)
    columns = trace.start_ps[rows], trace.end_ps[rows], trace.parent[rows], classes[rows], flags[rows]
    segments = innermost_segments(*columns, rows.start, with_unclassified)
    segments = _reclassified(segments, _sending_times(trace, line), (INPUT,), TO_DEVICE)
    segments = _reclassified(segments, find_extractions(trace).times(line), _GENERIC_CLASSES, DYNAMO)
    return segments if start_ps is None or end_ps is None else segments.clipped(start_ps, end_ps)


def rows_overlapping(trace: Trace, line: int, start_ps: int, end_ps: int) -> slice:
    """Returns the shortest range of a line's events that holds all events that overlap the window."""
    rows = trace.lines[line].rows
    starts = trace.start_ps[rows]

    def ends(chunk: slice) -> Int64:
        return trace.end_ps[rows.start + chunk.start : min(rows.start + chunk.stop, rows.stop)]

    first_reaching = first_ending_after(_line_block_ends(trace, line), ends, start_ps)
    # An event without duration at the window's start overlaps it although it ends there.
    first = min(first_reaching, int(np.searchsorted(starts, start_ps, "left")))
    last = max(first, int(np.searchsorted(starts, end_ps, "left")))
    return slice(rows.start + first, rows.start + last)


def _launching(trace: Trace) -> Segments:
    """Returns when a thread launches what the driving thread hands over, or waits for a program's compilation before
    it can."""
    launching = NO_SEGMENTS
    for line in trace.lines_with("executor"):
        timeline = thread_segments(trace, line)
        waiting = timeline.select(timeline.class_index == WAIT)
        waits = union(waiting.start_ps, waiting.end_ps)
        for compiler in trace.lines_with("compiler"):
            compiling = thread_segments(trace, compiler)
            compiling = compiling.select(compiling.class_index == COMPILE)
            parts = compiling.cut(np.concatenate((waits.start_ps, waits.end_ps)))
            last = np.searchsorted(waits.start_ps, parts.start_ps, "right") - 1
            is_awaited = (last >= 0) & (parts.start_ps < np.append(waits.end_ps, 0)[last])
            launching = overlay_first(launching, parts.select(is_awaited))
        launching = overlay_first(launching, timeline.select(timeline.class_index == DISPATCH))
    return launching


@memoised
def _line_block_ends(trace: Trace, line: int) -> Int64:
    """Returns `block_ends` of a line's events."""
    return block_ends(trace.end_ps[trace.lines[line].rows])


@memoised
def host_class_segments(trace: Trace) -> Segments:
    """Returns the class at every instant of the trace's span, without holes, and the event that decides it.

    The innermost event on the driving thread decides. If that is an annotation, a Python frame or nothing at all, a
    runtime event on a `pt_autograd_*` thread decides instead, else an extraction by torch.compile (row -1 if no event
    encloses it). If the driving thread waits, records nothing, or is inside a call of class `dispatch` that records
    nothing more, the following decide, in this order: the most specific work of its helpers, waiting of the driving
    thread or of a helper, that call. The rest is `unrecorded`. Where the driving thread only hands PyTorch's operators
    over, the thread that launches them decides first. (docs/definitions.md, "Class at an instant")
    """
    start, end = trace.span_ps
    if end <= start:
        return NO_SEGMENTS
    driving_lines = trace.lines_with("driving")
    driving = thread_segments(trace, driving_lines[0]) if driving_lines else NO_SEGMENTS
    autograd = [thread_segments(trace, line) for line in trace.lines_with("autograd")]
    driving = _with_extractions(trace, _with_backward_passes(trace, driving, autograd))
    helpers = trace.lines_with(*HELPER_ROLES)
    helper_work = _merge_timelines([_ranked(trace, line) for line in helpers])
    rank = np.zeros(UNRECORDED, np.int8)
    rank[[WAIT, DISPATCH]] = _WAITING_DRIVER_RANK, _LAUNCHING_DRIVER_RANK
    merged = overlay((driving, rank[driving.class_index]), helper_work)[0]
    if OPERATOR_ID in trace.stats:
        merged = overlay_first(_launching(trace), merged)
    classes = np.where(merged.class_index < 0, np.int8(OTHER), merged.class_index)
    return _fill_holes(Segments(merged.start_ps, merged.end_ps, classes, merged.row), start, end)


def _with_backward_passes(trace: Trace, driving: Segments, autograd: list[Segments]) -> Segments:
    """Returns the driving thread's timeline with its backward passes merged in."""
    is_annotation = trace.annotation_mask
    is_frame = has_tag(trace, "python_tracer")[trace.metadata_index[driving.row]]
    is_enclosing = is_annotation[driving.row] | (driving.class_index == PYTHON)
    is_enclosing |= is_frame & np.isin(driving.class_index, (INPUT, WAIT))
    ranked = driving, np.where(is_enclosing, _ENCLOSING_RANK, _DRIVING_RANK).astype(np.int8)
    for timeline in autograd:
        work = timeline.select((timeline.class_index >= 0) & ~is_annotation[timeline.row])
        ranked = overlay(ranked, (work, np.full(len(work), _BACKWARD_RANK, np.int8)))
    return ranked[0]


def _with_extractions(trace: Trace, driving: Segments) -> Segments:
    """Returns the driving thread's timeline with torch.compile's extractions on it and in its backward passes."""
    extracting = find_extractions(trace).times()
    if not len(extracting):
        return driving
    count = len(extracting)
    class_index, row = np.full(count, DYNAMO, np.int8), np.full(count, -1, np.int32)
    without_event = (
        Segments(extracting.start_ps, extracting.end_ps, class_index, row),
        np.ones(count, np.int8),
    )
    driving = _reclassified(driving, extracting, _GENERIC_CLASSES, DYNAMO)
    return overlay((driving, np.zeros(len(driving), np.int8)), without_event)[0]


def _reclassified(
    segments: Segments, times: Intervals, old_classes: Sequence[int], new_class: int
) -> Segments:
    """Returns the segments, cut at the edges of some intervals; inside these, some classes become another one."""
    if not len(times):
        return segments
    cut = segments.cut(np.concatenate((times.start_ps, times.end_ps)))
    last = np.searchsorted(times.start_ps, cut.start_ps, "right") - 1
    inside = (last >= 0) & (cut.start_ps < times.end_ps[last])
    class_index = np.where(
        inside & np.isin(cut.class_index, old_classes), np.int8(new_class), cut.class_index
    )
    return Segments(cut.start_ps, cut.end_ps, class_index, cut.row)


@memoised
def _sending_times(trace: Trace, line: int) -> Intervals:
    """Returns when a thread sends data to the device inside loading annotations, transfer by transfer: from the first
    to the last transfer of those annotations that consist mostly of that time."""
    rows, annotations = trace.lines[line].rows, trace.annotations
    is_loading = is_loading_annotation(trace)[trace.metadata_index[annotations]]
    loading = annotations[is_loading & (annotations >= rows.start) & (annotations < rows.stop)]
    if not loading.size:  # as on most threads
        return span_intervals(0, 0)
    loading = outermost_rows(trace.parent, loading)
    sends = rows.start + np.flatnonzero(event_classes(trace)[0][rows] == TO_DEVICE)
    first = np.searchsorted(trace.start_ps[sends], trace.start_ps[loading])
    last = np.searchsorted(trace.start_ps[sends], trace.end_ps[loading]) - 1
    has_several = last > first
    start_ps, end_ps = trace.start_ps[sends[first[has_several]]], trace.end_ps[sends[last[has_several]]]
    return union(start_ps, end_ps, 2 * (end_ps - start_ps) > trace.duration_ps[loading[has_several]])


def _ranked(trace: Trace, line: int) -> Ranked:
    """Returns a helper's work and waiting with ranks: the most specific work first, waiting last. Python frames in
    which it waits are left out: a thread of the program may wait for work all the time."""
    timeline = thread_segments(trace, line, with_unclassified=False)
    ranks = np.full(UNRECORDED + 2, -1, np.int8)  # the last rank: class -1
    ranks[list(HELPER_WORK)] = np.arange(1, _WAITING_DRIVER_RANK)
    ranks[WAIT] = _WAITING_HELPER_RANK
    rank = ranks[timeline.class_index]
    rank[has_tag(trace, "blocking_call")[trace.metadata_index[timeline.row]]] = -1
    return timeline.select(rank >= 0), rank[rank >= 0]


def _merge_timelines(timelines: list[Ranked]) -> Ranked:
    """Merges ranked timelines into one, the shortest first, so that long ones are merged few times."""
    heap = sorted((len(segments), index) for index, (segments, _) in enumerate(timelines))
    by_index = dict(enumerate(timelines))
    while len(heap) > 1:
        first, second = sorted((heappop(heap)[1], heappop(heap)[1]))
        by_index[first] = overlay(by_index[first], by_index.pop(second))
        heappush(heap, (len(by_index[first][0]), first))
    return by_index[heap[0][1]] if heap else (NO_SEGMENTS, np.zeros(0, np.int8))


def _fill_holes(segments: Segments, start_ps: int, end_ps: int) -> Segments:
    """Returns the segments from `start_ps` to `end_ps`, with `unrecorded` segments in the holes."""
    ends = np.append(np.int64(start_ps), segments.end_ps)
    starts = np.append(segments.start_ps, np.int64(end_ps))
    holes = np.flatnonzero(starts > ends)
    return Segments(
        np.insert(segments.start_ps, holes, ends[holes]),
        np.insert(segments.end_ps, holes, starts[holes]),
        np.insert(segments.class_index, holes, UNRECORDED),
        np.insert(segments.row, holes, -1),
    )
