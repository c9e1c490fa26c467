"""How the events of a line nest: depth, parent, and the time that no child covers."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.compiled import kernel
from tb_xla_insights.trace.model import Int16, Int32, Int64, Trace


@kernel("void(int64[::1], int64[::1], int64, int64, int16[::1], int32[::1], int32[::1], int64[::1])")
def _nest(start, duration, first, count, depth, parent, stack, ends):  # type: ignore[no-untyped-def]
    """Nests the rows `first` to `first + count - 1`, which are sorted by start, the longer first.

    `stack` holds the open rows, `ends` where they end.
    """
    open_rows = 0
    for row in range(first, first + count):
        begin = start[row]
        finish = begin + duration[row]
        while (
            open_rows > 0
            and ends[open_rows - 1] <= begin
            and (finish > begin or ends[open_rows - 1] < begin or start[stack[open_rows - 1]] == begin)
        ):
            open_rows -= 1
        # Only an event that lies wholly inside another is its child; one that merely overlaps it stands
        # beside it.
        level = open_rows - 1
        while level >= 0 and ends[level] < finish:
            level -= 1
        parent[row] = stack[level] if level >= 0 else -1
        # Overlapping events stay open as well, so that what is drawn by depth never covers another.
        depth[row] = open_rows
        if open_rows == len(stack):
            open_rows -= 1  # deeper than any call stack: the deepest ones share a depth
        stack[open_rows], ends[open_rows] = row, finish
        open_rows += 1


DEEPEST = 1024


def in_order(start_ps: Int64, duration_ps: Int64) -> bool:
    """Whether events are sorted by start, the longer first."""
    return bool(_in_order(start_ps, duration_ps))


@kernel("int64(int64[::1], int64[::1])")
def _in_order(start, duration):  # type: ignore[no-untyped-def]
    for row in range(1, len(start)):
        if start[row] < start[row - 1] or (
            start[row] == start[row - 1] and duration[row] > duration[row - 1]
        ):
            return 0
    return 1


def nest(start_ps: Int64, duration_ps: Int64, ranges: list[tuple[int, int]]) -> tuple[Int16, Int32]:
    """Depth and parent (-1: none) of events, line by line; `ranges` gives each line's (first, count).

    Rows of a line are sorted by start, the longer first. A parent is the innermost event that wholly
    encloses the child.
    """
    n = len(start_ps)
    depth, parent = np.empty(n, np.int16), np.empty(n, np.int32)
    stack, ends = np.empty(DEEPEST, np.int32), np.empty(DEEPEST, np.int64)
    for first, count in ranges:
        _nest(start_ps, duration_ps, first, count, depth, parent, stack, ends)
    return depth, parent


def climb(parent: Int32, at: Int32, rows: Int32) -> Int32:
    """For each event of `at` (-1: none) itself or its nearest ancestor, whichever is one of `rows`; -1: neither is."""
    member = np.zeros(len(parent), np.bool_)
    member[rows] = True
    while (goes_on := (at >= 0) & ~member[at]).any():
        at = np.where(goes_on, parent[at], at)
    return at


def nearest(parent: Int32, rows: Int32) -> Int32:
    """For each of the given events its nearest ancestor that is one of them, -1: none."""
    return climb(parent, parent[rows], rows)


def outermost(parent: Int32, rows: Int32) -> Int32:
    """Those of the given events that lie in no other one of them."""
    return rows[nearest(parent, rows) < 0]


def self_times(start_ps: Int64, duration_ps: Int64, parent: Int32, first: int) -> Int64:
    """Durations less the union of an event's children, of events sorted by start; the first of them is row `first`."""
    own = duration_ps.copy()
    _self_times(start_ps, duration_ps, parent, first, own, start_ps.copy())
    return own


@kernel("void(int64[::1], int64[::1], int32[::1], int64, int64[::1], int64[::1])")
def _self_times(start, duration, parent, first, own, covered):  # type: ignore[no-untyped-def]
    """Takes the children off `own`; they are covered up to `covered`, at first the events' starts."""
    for i in range(len(start)):
        above = parent[i] - first
        end = start[i] + duration[i]
        if above >= 0 and end > covered[above]:
            own[above] -= end - max(start[i], covered[above])
            covered[above] = end


def self_ps(trace: Trace, row: int) -> int:
    """The part of an event's duration that no child covers."""
    line, end = trace.line_of(row), trace.end_ps[row]
    inside = int(np.searchsorted(trace.start_ps[row : line.rows.stop], end))
    rows = slice(row, row + max(inside, 1))
    return int(self_times(trace.start_ps[rows], trace.duration_ps[rows], trace.parent[rows], row)[0])
