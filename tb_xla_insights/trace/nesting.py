"""Nesting of the events of a line: depth, parent, and own time."""

from __future__ import annotations

from functools import partial

import numpy as np

from tb_xla_insights.arrays import Int16, Int32, Int64
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.trace import kernels
from tb_xla_insights.trace.model import Trace

MAX_DEPTH = 1024

_MAX_LEVELS = 64
"""Levels that are searched event by event; for deeper searches one pass over all events is cheaper."""


def is_sorted_by_start(start_ps: Int64, duration_ps: Int64) -> bool:
    """Whether events are sorted by start, the longer first."""
    return bool(kernels.in_order(start_ps, duration_ps))


def nest_events(start_ps: Int64, duration_ps: Int64, ranges: list[tuple[int, int]]) -> tuple[Int16, Int32]:
    """Depth and parent (-1: none) of events, line by line; `ranges` gives each line's (first, count).

    Rows of a line are sorted by start, the longer first. A parent is the innermost event that wholly encloses its
    child.
    """
    total = len(start_ps)
    depth, parent = np.empty(total, np.int16), np.empty(total, np.int32)

    def nest_line(first: int, count: int) -> None:
        stack, ends = np.empty(MAX_DEPTH, np.int32), np.empty(MAX_DEPTH, np.int64)
        kernels.nest(start_ps, duration_ps, first, count, depth, parent, stack, ends)

    run_parallel([partial(nest_line, *line) for line in ranges])
    return depth, parent


def nearest_enclosing(parent: Int32, origin: Int32, rows: Int32) -> Int32:
    """For each event of `origin` (-1: none): the event itself if it is one of `rows`, else its nearest ancestor that
    is; -1: none."""
    if not len(rows):  # as of Python frames, without the Python tracer
        return np.full(len(origin), -1, np.int32)
    is_candidate = np.zeros(len(parent), np.bool_)
    is_candidate[rows] = True
    result = np.array(origin, np.int32)
    pending = np.flatnonzero((result >= 0) & ~is_candidate[result])
    for _ in range(_MAX_LEVELS):
        if not pending.size:
            return result
        result[pending] = parent[result[pending]]
        pending = pending[(result[pending] >= 0) & ~is_candidate[result[pending]]]
    if pending.size:
        nearest_of = np.empty(len(parent), np.int32)
        kernels.find_nearest_members(parent, is_candidate, nearest_of)
        result[pending] = nearest_of[result[pending]]
    return result


def nearest_ancestor(parent: Int32, rows: Int32) -> Int32:
    """The nearest ancestor of each event that is one of these events as well, -1: none."""
    return nearest_enclosing(parent, parent[rows], rows)


def outermost_rows(parent: Int32, rows: Int32) -> Int32:
    """The events that are inside none of the others."""
    return rows[nearest_ancestor(parent, rows) < 0]


def own_times(start_ps: Int64, duration_ps: Int64, parent: Int32, first: int) -> Int64:
    """Each event's duration minus the union of its children, for events sorted by start; the first event is row
    `first`."""
    own_ps = duration_ps.copy()
    kernels.own_times(start_ps, duration_ps, parent, first, own_ps, start_ps.copy())
    return own_ps


def own_time_ps(trace: Trace, row: int) -> int:
    """An event's own time: the part of its duration that no child covers."""
    line, end = trace.line_of(row), trace.end_ps[row]
    event_count = int(np.searchsorted(trace.start_ps[row : line.rows.stop], end))
    rows = slice(row, row + max(event_count, 1))
    return int(own_times(trace.start_ps[rows], trace.duration_ps[rows], trace.parent[rows], row)[0])
