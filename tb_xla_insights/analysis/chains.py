"""The chain of events that ended a gap: what was done in it, piece by piece, until the device worked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.classes import event_classes, partition, thread_segments
from tb_xla_insights.analysis.codes import ENQUEUE, TURNS
from tb_xla_insights.analysis.idle import QUEUED, find_gaps
from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.reach import event_flags, ways_back
from tb_xla_insights.analysis.segments import Segments
from tb_xla_insights.analysis.shares import overlaps
from tb_xla_insights.analysis.steps import annotated_steps
from tb_xla_insights.catalog.classes import CLASSES, OTHER, PYTHON, UNRECORDED
from tb_xla_insights.catalog.classes import label as class_label
from tb_xla_insights.long_names import listed
from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.threads import thread_labels

if TYPE_CHECKING:
    from tb_xla_insights.schema.gaps import Link

_SHORTEST = 1000
"""Parts of a gap that a piece of its chain is at least one of."""

_HOST, _NOTHING, _RUN = -1, -2, -3
"""Where a stretch of a gap is read from, beside lines: the partition, nowhere, the run that has begun."""


def find_chains(trace: Trace, which: NDArray[np.int64]) -> list[list[Link]]:
    """For each of some gaps (indices into `find_gaps`), consecutive pieces that add up to it:
    `{name, class, thread, start_ps, duration_ps, event}`, the latter the row of the event that names it, or None.

    Until the work was handed over, what the driving thread did (the class at an instant, `classes.partition`); from
    then on what the threads did that carried the launch from one to the next, until the run began; at last the run
    itself, if its first op came later. Where those threads recorded nothing, the piece is `unrecorded`. In a queued
    gap, or one that no known run ended, there is nothing to follow: the whole chain is what the driving thread did.

    A piece has the name of the outermost event of its class around it, below the step: `forward`, not what it calls;
    the launching itself keeps its own name. What takes less than a thousandth of the gap counts with the piece before.
    """
    window, start, end, source = _windows(trace, which)
    pieces = [_read(trace, int(line), window, start, end, source) for line in np.unique(source)]
    if not pieces:
        return [[] for _ in which]
    gap, begin, finish, kind, row = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.lexsort((begin, gap))
    gap, begin, finish, kind, row = gap[order], begin[order], finish[order], kind[order], row[order]
    return _documents(trace, which, gap, begin, finish, kind, _named(trace, kind, row))


def _windows(trace: Trace, which: NDArray[np.int64]) -> tuple[Int32, Int64, Int64, Int32]:
    """Stretches that make up each gap in order: gap (index into `which`), start, end, and where each is read from."""
    gaps, launches = find_gaps(trace), find_launches(trace)
    start, end, run = gaps.start_ps[which], gaps.end_ps[which], gaps.run[which]
    enqueue = gaps.enqueue_row[which]
    followed = (run >= 0) & (enqueue >= 0) & (gaps.kind[which] != QUEUED)
    hops = ways_back(trace, np.where(followed, enqueue, -1).astype(np.int32)).hops[:, ::-1]
    lines = trace.lines_of(hops)
    times = np.where(hops >= 0, trace.start_ps[hops], np.iinfo(np.int64).min)
    # Without a thread that took over, the driving thread launched the work itself.
    own = followed & (hops < 0).all(axis=1)
    lines[own, -1] = trace.lines_of(enqueue[own])
    times[own, -1] = trace.start_ps[enqueue[own]]
    begun = np.where(gaps.inside[which], end, np.append(launches.runs.start_ps, 0)[run])
    carried = np.where(followed, np.minimum(np.maximum(_done(trace, enqueue), start), end), end)
    cuts = np.where(followed[:, None], np.maximum.accumulate(times, axis=1), end[:, None])
    # The driving thread's part lasts until the first take-over; a cut that no take-over stands for is that one.
    first = np.where(cuts == np.iinfo(np.int64).min, np.iinfo(np.int64).max, cuts).min(axis=1)
    cuts = np.where(cuts == np.iinfo(np.int64).min, first[:, None], cuts)
    begun = np.where(followed, begun, end)
    bounds = np.column_stack((start, cuts, np.minimum(carried, begun), begun, end))
    bounds = np.minimum(np.maximum(np.maximum.accumulate(bounds, axis=1), start[:, None]), end[:, None])
    count, width = len(which), bounds.shape[1] - 1
    kinds = [np.full((count, 1), _HOST), lines, np.full((count, 1), _NOTHING), np.full((count, 1), _RUN)]
    source = np.concatenate(kinds, axis=1).astype(np.int32)
    window = np.repeat(np.arange(count, dtype=np.int32), width)
    some = (bounds[:, 1:] > bounds[:, :-1]).ravel()
    return (
        window[some], bounds[:, :-1].ravel()[some], bounds[:, 1:].ravel()[some], source.ravel()[some],
    )  # fmt: skip


def _done(trace: Trace, rows: Int32) -> Int64:
    """Until when the outermost event around each of some events lasts."""
    while (inside := (rows >= 0) & (trace.parent[rows] >= 0)).any():
        rows = np.where(inside, trace.parent[rows], rows)
    return trace.end_ps[rows]


_Pieces = tuple[Int32, Int64, Int64, NDArray[np.int8], Int32]


def _read(trace: Trace, line: int, window: Int32, start: Int64, end: Int64, source: Int32) -> _Pieces:
    """What one source tells about its stretches: gap, start, end, class and event of each piece, without holes."""
    mine = source == line
    gap, start, end = window[mine], start[mine], end[mine]
    kind: NDArray[np.int8]
    if line in (_NOTHING, _RUN):
        kind = np.full(len(gap), UNRECORDED if line == _NOTHING else OTHER, np.int8)
        return gap, start, end, kind, np.full(len(gap), line, np.int32)
    segments = partition(trace) if line == _HOST else thread_timeline(trace, line)
    at, stretch = overlaps(segments.start_ps, segments.end_ps, start, end)
    begin = np.maximum(segments.start_ps[stretch], start[at])
    finish = np.minimum(segments.end_ps[stretch], end[at])
    # Holes: before each piece from where the one before it ended, and after the last one of each stretch.
    before = np.append(np.int64(0), finish[:-1])
    opens = np.append(True, at[1:] != at[:-1]) if len(at) else np.zeros(0, np.bool_)
    before = np.where(opens, start[at], before)
    reached = start.copy()
    reached[at] = finish  # the last one stays
    hole_gap = np.concatenate((gap[at], gap))
    hole_start = np.concatenate((before, reached))
    hole_end = np.concatenate((begin, end))
    hole = hole_end > hole_start
    holes = int(hole.sum())
    kind = np.where(segments.kind[stretch] < 0, np.int8(OTHER), segments.kind[stretch])
    row = np.where(segments.row[stretch] < 0, np.int32(_NOTHING), segments.row[stretch])
    return (
        np.concatenate((gap[at], hole_gap[hole])),
        np.concatenate((begin, hole_start[hole])),
        np.concatenate((finish, hole_end[hole])),
        np.concatenate((kind, np.full(holes, UNRECORDED, np.int8))),
        np.concatenate((row, np.full(holes, _NOTHING, np.int32))),
    )


@kept
def thread_timeline(trace: Trace, line: int) -> Segments:
    """One thread's whole timeline. Many gaps ask for it."""
    return thread_segments(trace, line)


def _named(trace: Trace, kind: NDArray[np.int8], row: Int32) -> Int32:
    """The event that gives each piece its name."""
    classes, flags = event_classes(trace)[0], event_flags(trace)
    is_step = np.zeros(len(trace), np.bool_)
    is_step[[step.row for step in annotated_steps(trace)]] = True
    named = row.copy()
    climbs = np.flatnonzero((row >= 0) & (kind != PYTHON))
    climbs = climbs[flags[trace.meta[row[climbs]]] & (ENQUEUE | TURNS) == 0]
    at = trace.parent[row[climbs]]
    while climbs.size:
        same = classes[at]
        goes_on = (at >= 0) & ~is_step[at] & ((same == kind[climbs]) | (same < 0))
        climbs, at, same = climbs[goes_on], at[goes_on], same[goes_on]
        of_its_class = same == kind[climbs]
        named[climbs[of_its_class]] = at[of_its_class]
        at = trace.parent[at]
    return named


def _documents(
    trace: Trace,
    which: NDArray[np.int64],
    gap: Int32,
    begin: Int64,
    finish: Int64,
    kind: NDArray[np.int8],
    row: Int32,
) -> list[list[Link]]:
    gaps = find_gaps(trace)
    line = trace.lines_of(row)
    name = np.where(row >= 0, trace.metadata.name[trace.meta[np.maximum(row, 0)]], row)
    keys = gap, name, kind, line
    keep = _changes(*keys)
    length = finish[np.append(keep[1:], len(finish)) - 1] - begin[keep]
    shortest = gaps.duration_ps[which][gap[keep]] // _SHORTEST
    keep = keep[_firsts(gap[keep]) | (length >= shortest)]
    keep = keep[_changes(*(key[keep] for key in keys))]
    gap, begin = gap[keep], begin[keep]
    last = np.append(gap[1:] != gap[:-1], True)
    until = np.where(last, gaps.end_ps[which][gap], np.append(begin[1:], 0))
    chains: list[list[Link]] = [[] for _ in which]
    labels = thread_labels(trace)
    columns = (gap, name[keep], kind[keep], line[keep], begin, until - begin, row[keep])
    for number, text, class_, thread, start, duration, event in zip(
        *(it.tolist() for it in columns), strict=True
    ):
        if text >= 0:
            label, place = listed(trace.strings[text]), listed(labels[thread])
        elif text == _RUN:
            label, place = _run(trace, int(which[number]))
        else:
            label, place = class_label(CLASSES[class_]), ""
        chains[number].append(
            {
                "name": label,
                "class": CLASSES[class_],
                "thread": place,
                "start_ps": start,
                "duration_ps": duration,
                "event": event if event >= 0 else None,
            }
        )
    return chains


def _changes(*keys: NDArray[Any]) -> NDArray[np.intp]:
    """Where one of the columns differs from the entry before."""
    differs = np.zeros(len(keys[0]), np.bool_)
    for key in keys:
        differs |= _firsts(key)
    return np.flatnonzero(differs)


def _firsts(key: NDArray[Any]) -> NDArray[np.bool_]:
    return np.append(np.ones(min(1, len(key)), np.bool_), key[1:] != key[:-1])


def _run(trace: Trace, gap: int) -> tuple[str, str]:
    """The program and the device of the run that ended a gap."""
    gaps = find_gaps(trace)
    return listed(find_launches(trace).programs[gaps.after[gap]][0]), trace.devices[gaps.device[gap]].name
