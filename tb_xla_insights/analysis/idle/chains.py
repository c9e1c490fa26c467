"""The chain of each gap: consecutive pieces of work from the gap's start until the device worked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import DISPATCH_END, ENQUEUE
from tb_xla_insights.analysis.host.classes import event_classes, host_class_segments, thread_segments
from tb_xla_insights.analysis.idle.barriers import barrier_segments, find_barriers
from tb_xla_insights.analysis.idle.gap_segments import ENQUEUED, HOST, RUN, find_gap_segments, waiting_line
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.analysis.launches.causality import metadata_flags
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import rows_of_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.class_times import overlapping_pairs
from tb_xla_insights.analysis.time.segments import Segments, overlay_first
from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.catalog.classes import CLASSES, OTHER, PYTHON, UNRECORDED, WAIT, ClassName
from tb_xla_insights.catalog.classes import label as class_label
from tb_xla_insights.text.name_limit import shorten_name
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.threads import thread_labels

if TYPE_CHECKING:
    from tb_xla_insights.schema.gaps import Link, Meanwhile

_MIN_PIECE_DIVISOR = 1000
"""A piece of a chain is at least as long as its gap divided by this."""

_NO_EVENT = -1
"""The event of a piece in which nothing is recorded."""

HANDED_OVER = "handed over, not taken up"
NOT_BEGUN = "enqueued, not begun"
"""Names of pieces in which no thread works on the launch: it waits for the next thread, or for its run to begin."""

BARRIER = "barrier-cores, waits for {}"
"""The name of a piece in which the run has begun and waits for another device."""


def find_chains(trace: Trace, gap_indices: NDArray[np.int64]) -> list[list[Link]]:
    """For each gap of `gap_indices` (into `find_gaps`), consecutive pieces that add up to it:
    `{name, class, thread, start_ps, duration_ps, event, meanwhile}`; `event` is the row of the event that names the
    piece, or None.

    The first pieces are what the driving thread did until it handed the work over (see `classes.host_class_segments`).
    The following pieces are what the threads that carried the launch did, one after the other, until the run began (see
    `find_gap_segments`). While the next thread has not taken up the work and records nothing, the piece is HANDED_OVER,
    with that thread's name; between launching and the run it is NOT_BEGUN, with the device's name. Both are of class
    `wait`, and their `meanwhile` lists what the driving thread did at the same time without delaying the launch:
    `{name, class, duration_ps}`, the longest first, which adds up to the piece; in other pieces it is empty. If another
    thread recorded nothing, the piece is `unrecorded`. In a queued gap, or one whose enqueuing is unknown, the whole
    chain is what the driving thread did.

    A piece is named after the outermost event of its class around it, below the step: `forward`, not the events inside
    it; the launch itself keeps its own name. Pieces below a thousandth of the gap are merged into the piece before.
    """
    segments = find_gap_segments(trace, gap_indices)
    pieces = [
        _pieces_of_source(
            trace,
            source,
            *(
                column[segments.source == source]
                for column in (segments.gap, segments.start_ps, segments.end_ps)
            ),
        )
        for source in np.unique(segments.source).tolist()
    ]
    if not pieces:
        return [[] for _ in gap_indices]
    all_pieces = _with_barriers(trace, gap_indices, _concatenate(pieces))
    order = np.lexsort((all_pieces.start_ps, all_pieces.gap))
    return _links(trace, gap_indices, _select(all_pieces, order))


class _Pieces(NamedTuple):
    """Pieces of chains as columns: `gap` (index into the requested gaps), start and end, class, and `event` (a row).
    Pieces without an event have RUN, the source that the launch waits for, or _NO_EVENT instead."""

    gap: Int32
    start_ps: Int64
    end_ps: Int64
    class_index: Int8
    event: Int32


def _concatenate(pieces: list[_Pieces]) -> _Pieces:
    columns: list[Any] = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    return _Pieces(*columns)


def _select(pieces: _Pieces, chosen: NDArray[Any]) -> _Pieces:
    columns: list[Any] = [column[chosen] for column in pieces]
    return _Pieces(*columns)


def _with_barriers(trace: Trace, gap_indices: NDArray[np.int64], pieces: _Pieces) -> _Pieces:
    """The pieces, with the barriers of each gap's device in place of what else happened meanwhile."""
    gaps = find_gaps(trace)
    with_barrier = np.flatnonzero(gaps.barrier_ps[gap_indices])
    parts = [_select(pieces, ~np.isin(pieces.gap, with_barrier))]
    for position in with_barrier.tolist():
        gap = gap_indices[position]
        own = np.flatnonzero(pieces.gap == position)
        own = own[np.argsort(pieces.start_ps[own])]
        segments = Segments(
            pieces.start_ps[own], pieces.end_ps[own], pieces.class_index[own], pieces.event[own]
        )
        waits = barrier_segments(trace, int(gaps.device[gap]))
        waits = waits.clipped(int(gaps.start_ps[gap]), int(gaps.end_ps[gap]))
        merged = overlay_first(waits, segments)
        columns = merged.start_ps, merged.end_ps, merged.class_index, merged.row
        parts.append(_Pieces(np.full(len(merged), position, np.int32), *columns))
    return _concatenate(parts)


def _pieces_of_source(trace: Trace, source: int, gap: Int32, start: Int64, end: Int64) -> _Pieces:
    """The pieces of segments of one source (see `GapSegments`), without holes."""
    waits_for = waiting_line(source)
    if source in (RUN, ENQUEUED):
        class_index = np.full(len(gap), OTHER if source == RUN else WAIT, np.int8)
        return _Pieces(gap, start, end, class_index, np.full(len(gap), source, np.int32))
    hole_event, hole_class = (_NO_EVENT, UNRECORDED) if waits_for < 0 else (source, WAIT)
    line = source if waits_for < 0 else waits_for
    segments = host_class_segments(trace) if source == HOST else thread_timeline(trace, line)
    window, segment = overlapping_pairs(segments.start_ps, segments.end_ps, start, end)
    piece_start = np.maximum(segments.start_ps[segment], start[window])
    piece_end = np.minimum(segments.end_ps[segment], end[window])
    # Holes: before each piece, from the end of the piece before, and after the last piece of each window.
    previous_end = np.append(np.int64(0), piece_end[:-1])
    previous_end = np.where(_is_first(window), start[window], previous_end[: len(window)])
    last_end = start.copy()
    last_end[window] = piece_end  # of repeated indices, numpy keeps the last value
    hole_gap = np.concatenate((gap[window], gap))
    hole_start = np.concatenate((previous_end, last_end))
    hole_end = np.concatenate((piece_start, end))
    is_hole = hole_end > hole_start
    hole_count = int(is_hole.sum())
    class_index = np.where(segments.class_index[segment] < 0, np.int8(OTHER), segments.class_index[segment])
    event = np.where(segments.row[segment] < 0, np.int32(hole_event), segments.row[segment])
    return _Pieces(
        np.concatenate((gap[window], hole_gap[is_hole])),
        np.concatenate((piece_start, hole_start[is_hole])),
        np.concatenate((piece_end, hole_end[is_hole])),
        np.concatenate((class_index, np.full(hole_count, hole_class, np.int8))),
        np.concatenate((event, np.full(hole_count, hole_event, np.int32))),
    )


@memoised
def thread_timeline(trace: Trace, line: int) -> Segments:
    """One thread's whole timeline; memoised, because many gaps use it."""
    return thread_segments(trace, line)


def _naming_events(trace: Trace, pieces: _Pieces) -> Int32:
    """The row of the event that names each piece; pieces without an event keep its code."""
    row, class_index = pieces.event, pieces.class_index
    classes, flags = event_classes(trace)[0], metadata_flags(trace)
    is_step = np.zeros(len(trace), np.bool_)
    is_step[rows_of_steps(trace)] = True
    naming_row = row.copy()
    pending = np.flatnonzero((row >= 0) & (class_index != PYTHON))  # pieces that an ancestor may name
    pending = pending[flags[trace.metadata_index[row[pending]]] & (ENQUEUE | DISPATCH_END) == 0]
    ancestor = trace.parent[row[pending]]
    while pending.size:
        ancestor_class = classes[ancestor]
        continues = (ancestor_class == class_index[pending]) | (ancestor_class < 0)
        continues &= (ancestor >= 0) & ~is_step[ancestor]
        pending, ancestor, ancestor_class = pending[continues], ancestor[continues], ancestor_class[continues]
        same_class = ancestor_class == class_index[pending]
        naming_row[pending[same_class]] = ancestor[same_class]
        ancestor = trace.parent[ancestor]
    return naming_row


def _links(trace: Trace, gap_indices: NDArray[np.int64], pieces: _Pieces) -> list[list[Link]]:
    """The chains as in the report: consecutive pieces of the same name are merged, and short ones with the piece
    before."""
    gaps = find_gaps(trace)
    row = _naming_events(trace, pieces)
    line = trace.lines_of(row)
    name = np.where(row >= 0, trace.metadata.name[trace.metadata_index[np.maximum(row, 0)]], row)
    keys = pieces.gap, name, pieces.class_index, line
    first = _changes(*keys)  # the first piece of each link
    length = pieces.end_ps[np.append(first[1:], len(row)) - 1] - pieces.start_ps[first]
    min_length = gaps.duration_ps[gap_indices][pieces.gap[first]] // _MIN_PIECE_DIVISOR
    first = first[_is_first(pieces.gap[first]) | (length >= min_length)]
    first = first[_changes(*(key[first] for key in keys))]
    gap, start = pieces.gap[first], pieces.start_ps[first]
    is_last = np.append(gap[1:] != gap[:-1], True)
    end = np.where(is_last, gaps.end_ps[gap_indices][gap], np.append(start[1:], 0))
    name, class_index, line, row = name[first], pieces.class_index[first], line[first], row[first]
    is_waiting = row <= ENQUEUED  # the launch waits for its run, or for the thread of `waiting_line`
    meanwhile = _meanwhile(trace, np.flatnonzero(is_waiting), start, end)
    chains: list[list[Link]] = [[] for _ in gap_indices]
    labels, barriers = thread_labels(trace), _barrier_labels(trace, row)
    columns = (gap, name, class_index, line, start, end - start, row)
    for link, (position, text_index, class_, thread, start_ps, duration_ps, event) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        if event in barriers:
            label, thread_label = barriers[event]
        elif text_index >= 0:
            label, thread_label = shorten_name(trace.strings[text_index]), shorten_name(labels[thread])
        else:
            label, thread_label = _label_without_event(
                trace, labels, text_index, CLASSES[class_], int(gap_indices[position])
            )
        chains[position].append(
            {
                "name": label,
                "class": CLASSES[class_],
                "thread": thread_label,
                "start_ps": start_ps,
                "duration_ps": duration_ps,
                "event": event if event >= 0 else None,
                "meanwhile": meanwhile.get(link, []),
            }
        )
    return chains


def _meanwhile(trace: Trace, links: NDArray[np.intp], start: Int64, end: Int64) -> dict[int, list[Meanwhile]]:
    """What the driving thread did during some links (indices), by link."""
    return dict(zip(links.tolist(), find_activities(trace, start[links], end[links]), strict=True))


def find_activities(trace: Trace, start_ps: Int64, end_ps: Int64) -> list[list[Meanwhile]]:
    """What the driving thread did in some windows: per window the events, named as in a chain, with their time, the
    longest first; the times add up to the window."""
    sums: list[dict[tuple[str, ClassName], int]] = [{} for _ in start_ps]
    windows = np.arange(len(start_ps), dtype=np.int32)
    pieces = _pieces_of_source(trace, HOST, windows, start_ps, end_ps)
    columns = (
        pieces.gap,
        pieces.class_index,
        _naming_events(trace, pieces),
        pieces.end_ps - pieces.start_ps,
    )
    for window, class_, event, ps in zip(*(column.tolist() for column in columns), strict=True):
        label = shorten_name(trace.name(event)) if event >= 0 else class_label(CLASSES[class_])
        key = label, CLASSES[class_]
        sums[window][key] = sums[window].get(key, 0) + ps
    return [
        [
            {"name": name, "class": class_, "duration_ps": ps}
            for (name, class_), ps in sorted(times.items(), key=lambda item: -item[1])
        ]
        for times in sums
    ]


def _barrier_labels(trace: Trace, rows: Int32) -> dict[int, tuple[str, str]]:
    """The names of the links of barriers, with the device waited for, and their devices, by event."""
    barriers = find_barriers(trace)
    of_rows = np.flatnonzero(np.isin(barriers.row, rows))
    columns = (barriers.row, barriers.device, barriers.late_device)
    return {
        row: (
            BARRIER.format(trace.devices[late].name) if late >= 0 else trace.name(row),
            trace.devices[device].name,
        )
        for row, device, late in zip(*(column[of_rows].tolist() for column in columns), strict=True)
    }


def _label_without_event(
    trace: Trace, labels: list[str], code: int, class_: str, gap: int
) -> tuple[str, str]:
    """The name of a link without an event, and its thread or device. `code`: its source, or _NO_EVENT."""
    gaps = find_gaps(trace)
    device = trace.devices[gaps.device[gap]].name
    if code == RUN:
        return shorten_name(find_launches(trace).programs[gaps.after[gap]].name), device
    if code == ENQUEUED:
        return NOT_BEGUN, device
    if code == _NO_EVENT:
        return class_label(class_), ""
    return HANDED_OVER, shorten_name(labels[waiting_line(code)])


def _changes(*keys: NDArray[Any]) -> NDArray[np.intp]:
    """The indices of rows that differ from the row before in one of the columns."""
    differs = np.zeros(len(keys[0]), np.bool_)
    for key in keys:
        differs |= _is_first(key)
    return np.flatnonzero(differs)


def _is_first(key: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value differs from the value before."""
    return np.append(np.ones(min(1, len(key)), np.bool_), key[1:] != key[:-1])
