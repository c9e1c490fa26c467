"""The chain of each gap: consecutive pieces of work from the gap's begin until the device worked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import DISPATCH_END, ENQUEUE
from tb_xla_insights.analysis.host.classes import event_classes, host_class_segments, thread_segments
from tb_xla_insights.analysis.idle.gap_segments import ENQUEUED, HOST, RUN, find_gap_segments, waiting_line
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.analysis.launches.causality import metadata_flags
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.step_times import annotated_steps
from tb_xla_insights.analysis.time.class_times import overlapping_pairs
from tb_xla_insights.analysis.time.segments import Segments
from tb_xla_insights.catalog.classes import CLASSES, OTHER, PYTHON, UNRECORDED, WAIT
from tb_xla_insights.catalog.classes import label as class_label
from tb_xla_insights.name_limit import shorten_name
from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.threads import thread_labels

if TYPE_CHECKING:
    from tb_xla_insights.schema.gaps import Link

_MIN_PIECE_FRACTION = 1000
"""A piece of a chain takes at least one part in this many of its gap."""

_NO_EVENT = -1
"""The event of a piece in which nothing is recorded."""

HANDED_OVER = "handed over, not taken up"
NOT_BEGUN = "enqueued, not begun"
"""Names of pieces in which no thread works on the launch: it waits for the next thread, or for its run to begin."""


def find_chains(trace: Trace, gap_indices: NDArray[np.int64]) -> list[list[Link]]:
    """For each gap of `gap_indices` (into `find_gaps`), consecutive pieces that add up to it:
    `{name, class, thread, start_ps, duration_ps, event, meanwhile}`; `event` is the row of the event that names the
    piece, or None.

    The first pieces are what the driving thread did until it handed the work over (see
    `classes.host_class_segments`). The following pieces are what the threads did that carried the launch, one after
    the other, until the run began (see `find_gap_segments`). While the next thread has not taken up the work and
    records nothing, the piece is HANDED_OVER, with that thread's name; between launching and the run it is NOT_BEGUN,
    with the device's name. Both are of class `wait`, and their `meanwhile` lists what the driving thread did at the
    same time without delaying the launch: `{name, class, duration_ps}`, the longest first, which adds up to the piece;
    in other pieces it is empty. If another thread recorded nothing, the piece is `unrecorded`. In a queued gap, or one
    that no known run ended, the whole chain is what the driving thread did.

    A piece is named after the outermost event of its class around it, below the step: `forward`, not the events inside
    it; the launch itself keeps its own name. Pieces below a thousandth of the gap are merged into the piece before.
    """
    segments = find_gap_segments(trace, gap_indices)
    pieces = [
        _pieces_of_source(
            trace,
            int(source),
            *(
                column[segments.source == source]
                for column in (segments.gap, segments.start_ps, segments.end_ps)
            ),
        )
        for source in np.unique(segments.source)
    ]
    if not pieces:
        return [[] for _ in gap_indices]
    gap, begin, finish, class_index, row = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.lexsort((begin, gap))
    gap, begin, finish, class_index, row = (
        column[order] for column in (gap, begin, finish, class_index, row)
    )
    return _links(
        trace, gap_indices, gap, begin, finish, class_index, _naming_events(trace, class_index, row)
    )


_Pieces = tuple[Int32, Int64, Int64, NDArray[np.int8], Int32]
"""Columns of pieces: gap, start, end, class (index into CLASSES) and event."""


def _pieces_of_source(trace: Trace, source: int, gap: Int32, start: Int64, end: Int64) -> _Pieces:
    """The pieces of segments of one source (see `GapSegments`), without holes. Pieces without an event have RUN, the
    source that the launch waits for, or _NO_EVENT as event."""
    waits_for = waiting_line(source)
    if source in (RUN, ENQUEUED):
        class_index = np.full(len(gap), OTHER if source == RUN else WAIT, np.int8)
        return gap, start, end, class_index, np.full(len(gap), source, np.int32)
    hole_event, hole_class = (_NO_EVENT, UNRECORDED) if waits_for < 0 else (source, WAIT)
    line = source if waits_for < 0 else waits_for
    segments = host_class_segments(trace) if source == HOST else thread_timeline(trace, line)
    at, segment = overlapping_pairs(segments.start_ps, segments.end_ps, start, end)
    begin = np.maximum(segments.start_ps[segment], start[at])
    finish = np.minimum(segments.end_ps[segment], end[at])
    # Holes: before each piece, from the end of the piece before, and after the last piece of each segment.
    previous_end = np.append(np.int64(0), finish[:-1])
    is_first = np.append(True, at[1:] != at[:-1]) if len(at) else np.zeros(0, np.bool_)
    previous_end = np.where(is_first, start[at], previous_end)
    last_end = start.copy()
    last_end[at] = finish  # of repeated indices, numpy keeps the last value
    hole_gap = np.concatenate((gap[at], gap))
    hole_start = np.concatenate((previous_end, last_end))
    hole_end = np.concatenate((begin, end))
    hole = hole_end > hole_start
    holes = int(hole.sum())
    class_index = np.where(segments.class_index[segment] < 0, np.int8(OTHER), segments.class_index[segment])
    row = np.where(segments.row[segment] < 0, np.int32(hole_event), segments.row[segment])
    return (
        np.concatenate((gap[at], hole_gap[hole])),
        np.concatenate((begin, hole_start[hole])),
        np.concatenate((finish, hole_end[hole])),
        np.concatenate((class_index, np.full(holes, hole_class, np.int8))),
        np.concatenate((row, np.full(holes, hole_event, np.int32))),
    )


@memoised
def thread_timeline(trace: Trace, line: int) -> Segments:
    """One thread's whole timeline; memoised, because many gaps use it."""
    return thread_segments(trace, line)


def _naming_events(trace: Trace, class_index: NDArray[np.int8], row: Int32) -> Int32:
    """The row of the event that names each piece."""
    classes, flags = event_classes(trace)[0], metadata_flags(trace)
    is_step = np.zeros(len(trace), np.bool_)
    is_step[[step.row for step in annotated_steps(trace)]] = True
    named = row.copy()
    climbs = np.flatnonzero((row >= 0) & (class_index != PYTHON))
    climbs = climbs[flags[trace.metadata_index[row[climbs]]] & (ENQUEUE | DISPATCH_END) == 0]
    ancestor = trace.parent[row[climbs]]
    while climbs.size:
        ancestor_class = classes[ancestor]
        continues = (ancestor_class == class_index[climbs]) | (ancestor_class < 0)
        continues &= (ancestor >= 0) & ~is_step[ancestor]
        climbs, ancestor, ancestor_class = climbs[continues], ancestor[continues], ancestor_class[continues]
        same_class = ancestor_class == class_index[climbs]
        named[climbs[same_class]] = ancestor[same_class]
        ancestor = trace.parent[ancestor]
    return named


def _links(
    trace: Trace,
    gap_indices: NDArray[np.int64],
    gap: Int32,
    begin: Int64,
    finish: Int64,
    class_index: NDArray[np.int8],
    row: Int32,
) -> list[list[Link]]:
    """The chains as in the report, with pieces of the same name merged and short ones left out."""
    gaps = find_gaps(trace)
    line = trace.lines_of(row)
    name = np.where(row >= 0, trace.metadata.name[trace.metadata_index[np.maximum(row, 0)]], row)
    keys = gap, name, class_index, line
    keep = _changes(*keys)
    length = finish[np.append(keep[1:], len(finish)) - 1] - begin[keep]
    min_length = gaps.duration_ps[gap_indices][gap[keep]] // _MIN_PIECE_FRACTION
    keep = keep[_is_first(gap[keep]) | (length >= min_length)]
    keep = keep[_changes(*(key[keep] for key in keys))]
    gap, begin = gap[keep], begin[keep]
    last = np.append(gap[1:] != gap[:-1], True)
    until = np.where(last, gaps.end_ps[gap_indices][gap], np.append(begin[1:], 0))
    name, class_index, line, row = name[keep], class_index[keep], line[keep], row[keep]
    meanwhile = _meanwhile(trace, np.flatnonzero(row <= ENQUEUED), begin, until)
    chains: list[list[Link]] = [[] for _ in gap_indices]
    labels = thread_labels(trace)
    columns = (gap, name, class_index, line, begin, until - begin, row)
    for piece, (number, text, class_, thread, start, duration, event) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        if text >= 0:
            label, place = shorten_name(trace.strings[text]), shorten_name(labels[thread])
        else:
            label, place = _label_without_event(
                trace, labels, text, CLASSES[class_], int(gap_indices[number])
            )
        chains[number].append(
            {
                "name": label,
                "class": CLASSES[class_],
                "thread": place,
                "start_ps": start,
                "duration_ps": duration,
                "event": event if event >= 0 else None,
                "meanwhile": meanwhile.get(piece, []),
            }
        )
    return chains


def _meanwhile(
    trace: Trace, pieces: NDArray[np.intp], begin: Int64, until: Int64
) -> dict[int, list[dict[str, Any]]]:
    """What the driving thread did during some pieces (indices), by piece."""
    sums: dict[int, dict[tuple[str, str], int]] = {piece: {} for piece in pieces.tolist()}
    piece_of_part, start, end, class_index, row = _pieces_of_source(
        trace, HOST, pieces.astype(np.int32), begin[pieces], until[pieces]
    )
    columns = (piece_of_part, class_index, _naming_events(trace, class_index, row), end - start)
    for piece, class_, event, ps in zip(*(column.tolist() for column in columns), strict=True):
        label = trace.name(event) if event >= 0 else class_label(CLASSES[class_])
        key = label, CLASSES[class_]
        sums[piece][key] = sums[piece].get(key, 0) + ps
    return {
        piece: [
            {"name": name, "class": class_, "duration_ps": ps}
            for (name, class_), ps in sorted(times.items(), key=lambda item: -item[1])
        ]
        for piece, times in sums.items()
    }


def _label_without_event(
    trace: Trace, labels: list[str], code: int, class_: str, gap: int
) -> tuple[str, str]:
    """The name of a piece without an event, and its thread or device."""
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
    """Whether each entry differs from the entry before."""
    return np.append(np.ones(min(1, len(key)), np.bool_), key[1:] != key[:-1])
