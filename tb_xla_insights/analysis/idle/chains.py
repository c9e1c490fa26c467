"""The chain of events that ended a gap: what was done in it, piece by piece, until the device worked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import DISPATCH_END, ENQUEUE
from tb_xla_insights.analysis.host.classes import event_classes, host_class_segments, thread_segments
from tb_xla_insights.analysis.idle.gap_segments import ENQUEUED, HOST, RUN, find_gap_segments, waiting_line
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.analysis.launches.causality import event_flags
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.step_times import annotated_steps
from tb_xla_insights.analysis.time.class_times import overlaps
from tb_xla_insights.analysis.time.segments import Segments
from tb_xla_insights.catalog.classes import CLASSES, OTHER, PYTHON, UNRECORDED, WAIT
from tb_xla_insights.catalog.classes import label as class_label
from tb_xla_insights.name_limit import shorten_name
from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.threads import thread_labels

if TYPE_CHECKING:
    from tb_xla_insights.schema.gaps import Link

_SHORTEST = 1000
"""Parts of a gap that a piece of its chain is at least one of."""

_NOTHING = -1
"""In the place of the event that names a piece, where nothing is recorded."""

HANDED_OVER = "handed over, not taken up"
NOT_BEGUN = "enqueued, not begun"
"""Names of what a launch does that no thread works for: it waits for the next thread, or for its run."""


def find_chains(trace: Trace, which: NDArray[np.int64]) -> list[list[Link]]:
    """For each of some gaps (indices into `find_gaps`), consecutive pieces that add up to it:
    `{name, class, thread, start_ps, duration_ps, event, meanwhile}`, `event` the row of the event that names it, or
    None.

    Until it handed the work over, what the driving thread did (the class at an instant, `classes.partition`); from then
    on what the threads did that carried the launch from one to the next, until the run began (see `find_gap_segments`).
    Where the thread that takes the work up next records nothing before, the piece is HANDED_OVER, with its name; behind
    the launching it is NOT_BEGUN, with the device's. Both are of class `wait`, and `meanwhile` tells what the driving
    thread did, which held nobody up: `{name, class, duration_ps}`, the most first, adding up to the piece; of other
    pieces it is empty. Where another thread recorded nothing, the piece is `unrecorded`. In a queued gap, or one that
    no known run ended, there is nothing to follow: the whole chain is what the driving thread did.

    A piece has the name of the outermost event of its class around it, below the step: `forward`, not what it calls;
    the launching itself keeps its own name. What takes less than a thousandth of the gap counts with the piece before.
    """
    its = find_gap_segments(trace, which)
    pieces = [
        _read(
            trace,
            int(source),
            *(column[its.source == source] for column in (its.gap, its.start_ps, its.end_ps)),
        )
        for source in np.unique(its.source)
    ]
    if not pieces:
        return [[] for _ in which]
    gap, begin, finish, kind, row = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.lexsort((begin, gap))
    gap, begin, finish, kind, row = gap[order], begin[order], finish[order], kind[order], row[order]
    return _documents(trace, which, gap, begin, finish, kind, _named(trace, kind, row))


_Pieces = tuple[Int32, Int64, Int64, NDArray[np.int8], Int32]


def _read(trace: Trace, source: int, gap: Int32, start: Int64, end: Int64) -> _Pieces:
    """What a source (see `Stretches`) tells about stretches: gap, start, end, class and event of each piece, without
    holes. Where there is no event, RUN, or what the launch waits for, or _NOTHING stands in its place."""
    waits_for = waiting_line(source)
    if source in (RUN, ENQUEUED):
        kind = np.full(len(gap), OTHER if source == RUN else WAIT, np.int8)
        return gap, start, end, kind, np.full(len(gap), source, np.int32)
    empty, hole_kind = (_NOTHING, UNRECORDED) if waits_for < 0 else (source, WAIT)
    line = source if waits_for < 0 else waits_for
    segments = host_class_segments(trace) if source == HOST else thread_timeline(trace, line)
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
    kind = np.where(segments.class_index[stretch] < 0, np.int8(OTHER), segments.class_index[stretch])
    row = np.where(segments.row[stretch] < 0, np.int32(empty), segments.row[stretch])
    return (
        np.concatenate((gap[at], hole_gap[hole])),
        np.concatenate((begin, hole_start[hole])),
        np.concatenate((finish, hole_end[hole])),
        np.concatenate((kind, np.full(holes, hole_kind, np.int8))),
        np.concatenate((row, np.full(holes, empty, np.int32))),
    )


@memoised
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
    climbs = climbs[flags[trace.meta[row[climbs]]] & (ENQUEUE | DISPATCH_END) == 0]
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
    name, kind, line, row = name[keep], kind[keep], line[keep], row[keep]
    meanwhile = _meanwhile(trace, np.flatnonzero(row <= ENQUEUED), begin, until)
    chains: list[list[Link]] = [[] for _ in which]
    labels = thread_labels(trace)
    columns = (gap, name, kind, line, begin, until - begin, row)
    for place, (number, text, class_, thread, start, duration, event) in enumerate(
        zip(*(it.tolist() for it in columns), strict=True)
    ):
        if text >= 0:
            label, where = shorten_name(trace.strings[text]), shorten_name(labels[thread])
        else:
            label, where = _nameless(trace, labels, text, CLASSES[class_], int(which[number]))
        chains[number].append(
            {
                "name": label,
                "class": CLASSES[class_],
                "thread": where,
                "start_ps": start,
                "duration_ps": duration,
                "event": event if event >= 0 else None,
                "meanwhile": meanwhile.get(place, []),
            }
        )
    return chains


def _meanwhile(
    trace: Trace, which: NDArray[np.intp], begin: Int64, until: Int64
) -> dict[int, list[dict[str, Any]]]:
    """What the driving thread did in some pieces, by their place."""
    sums: dict[int, dict[tuple[str, str], int]] = {place: {} for place in which.tolist()}
    at, start, end, kind, row = _read(trace, HOST, which.astype(np.int32), begin[which], until[which])
    named = _named(trace, kind, row)
    for place, class_, event, ps in zip(*(it.tolist() for it in (at, kind, named, end - start)), strict=True):
        label = trace.name(event) if event >= 0 else class_label(CLASSES[class_])
        key = label, CLASSES[class_]
        sums[place][key] = sums[place].get(key, 0) + ps
    return {
        place: [
            {"name": name, "class": class_, "duration_ps": ps}
            for (name, class_), ps in sorted(its.items(), key=lambda it: -it[1])
        ]
        for place, its in sums.items()
    }


def _nameless(trace: Trace, labels: list[str], code: int, class_: str, gap: int) -> tuple[str, str]:
    """What a piece without an event is called, and where it is."""
    gaps = find_gaps(trace)
    device = trace.devices[gaps.device[gap]].name
    if code == RUN:
        return shorten_name(find_launches(trace).programs[gaps.after[gap]][0]), device
    if code == ENQUEUED:
        return NOT_BEGUN, device
    if code == _NOTHING:
        return class_label(class_), ""
    return HANDED_OVER, shorten_name(labels[waiting_line(code)])


def _changes(*keys: NDArray[Any]) -> NDArray[np.intp]:
    """Where one of the columns differs from the entry before."""
    differs = np.zeros(len(keys[0]), np.bool_)
    for key in keys:
        differs |= _firsts(key)
    return np.flatnonzero(differs)


def _firsts(key: NDArray[Any]) -> NDArray[np.bool_]:
    return np.append(np.ones(min(1, len(key)), np.bool_), key[1:] != key[:-1])
