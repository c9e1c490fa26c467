"""How the events of a line nest: depth, parent, and the time that no child covers."""

from __future__ import annotations

from functools import partial

import numpy as np

from tb_xla_insights.parallel import run_parallel
from tb_xla_insights.trace import kernels
from tb_xla_insights.trace.model import Int16, Int32, Int64, Trace

DEEPEST = 1024

_SHORT_WAY = 64
"""So many levels up, each event is followed by itself; beyond, looking at all events once costs less."""


def is_sorted_by_start(start_ps: Int64, duration_ps: Int64) -> bool:
    """Whether events are sorted by start, the longer first."""
    return bool(kernels.in_order(start_ps, duration_ps))


def nest_events(start_ps: Int64, duration_ps: Int64, ranges: list[tuple[int, int]]) -> tuple[Int16, Int32]:
    """Depth and parent (-1: none) of events, line by line; `ranges` gives each line's (first, count).

    Rows of a line are sorted by start, the longer first. A parent is the innermost event that wholly
    encloses the child.
    """
    n = len(start_ps)
    depth, parent = np.empty(n, np.int16), np.empty(n, np.int32)

    def nest_line(first: int, count: int) -> None:
        stack, ends = np.empty(DEEPEST, np.int32), np.empty(DEEPEST, np.int64)
        kernels.nest(start_ps, duration_ps, first, count, depth, parent, stack, ends)

    run_parallel([partial(nest_line, *line) for line in ranges])
    return depth, parent


def nearest_enclosing(parent: Int32, at: Int32, rows: Int32) -> Int32:
    """For each event of `at` (-1: none) itself or its nearest ancestor, whichever is one of `rows`; -1: neither is."""
    member = np.zeros(len(parent), np.bool_)
    member[rows] = True
    found = np.array(at, np.int32)
    going = np.flatnonzero((found >= 0) & ~member[found])
    for _ in range(_SHORT_WAY):
        if not going.size:
            return found
        found[going] = parent[found[going]]
        going = going[(found[going] >= 0) & ~member[found[going]]]
    if going.size:
        nearest_of = np.empty(len(parent), np.int32)
        kernels.climb(parent, member, nearest_of)
        found[going] = nearest_of[found[going]]
    return found


def nearest_ancestor(parent: Int32, rows: Int32) -> Int32:
    """For each of the given events its nearest ancestor that is one of them, -1: none."""
    return nearest_enclosing(parent, parent[rows], rows)


def outermost_rows(parent: Int32, rows: Int32) -> Int32:
    """Those of the given events that lie in no other one of them."""
    return rows[nearest_ancestor(parent, rows) < 0]


def self_times(start_ps: Int64, duration_ps: Int64, parent: Int32, first: int) -> Int64:
    """Durations less the union of an event's children, of events sorted by start; the first of them is row `first`."""
    own = duration_ps.copy()
    kernels.self_times(start_ps, duration_ps, parent, first, own, start_ps.copy())
    return own


def self_ps(trace: Trace, row: int) -> int:
    """The part of an event's duration that no child covers."""
    line, end = trace.line_of(row), trace.end_ps[row]
    inside = int(np.searchsorted(trace.start_ps[row : line.rows.stop], end))
    rows = slice(row, row + max(inside, 1))
    return int(self_times(trace.start_ps[rows], trace.duration_ps[rows], trace.parent[rows], row)[0])
