"""How the events of a line nest: depth, parent, and the time that no child covers."""

from __future__ import annotations

import numpy as np
from numba import njit

from tb_xla_insights.trace.model import Int16, Int32, Int64


@njit(
    "void(int64[::1], int64[::1], int64, int64, int16[::1], int32[::1], int64[::1], int32[::1], int64[::1])",
    cache=True,
    nogil=True,
)
def _nest(start, end, first, count, depth, parent, self_ps, stack, covered):  # type: ignore[no-untyped-def]
    """Nests the rows `first` to `first + count - 1`, which are sorted by start, the longer first.

    `stack` holds the open rows, `covered[i]` how far the children of `stack[i]` cover it so far.
    """
    open_rows = 0
    for row in range(first, first + count):
        begin, finish = start[row], end[row]
        while (
            open_rows > 0
            and end[stack[open_rows - 1]] <= begin
            and (finish > begin or end[stack[open_rows - 1]] < begin or start[stack[open_rows - 1]] == begin)
        ):
            open_rows -= 1
        self_ps[row] = finish - begin
        # Only an event that lies wholly inside another is its child; one that merely overlaps it stands
        # beside it.
        level = open_rows - 1
        while level >= 0 and end[stack[level]] < finish:
            level -= 1
        if level >= 0:
            above = stack[level]
            parent[row] = above
            if finish > covered[level]:
                self_ps[above] -= finish - max(begin, covered[level])
                covered[level] = finish
        else:
            parent[row] = -1
        # Overlapping events stay open as well, so that what is drawn by depth never covers another.
        place = open_rows
        depth[row] = place
        if open_rows == len(stack):
            open_rows -= 1  # deeper than any call stack: the deepest ones share a depth
        stack[open_rows] = row
        covered[open_rows] = begin
        open_rows += 1


DEEPEST = 1024


def nest(start_ps: Int64, end_ps: Int64, ranges: list[tuple[int, int]]) -> tuple[Int16, Int32, Int64]:
    """Depth, parent (-1: none) and self time of events, line by line; `ranges` gives each line's (first,
    count).

    Rows of a line are sorted by start, the longer first. A parent is the innermost event that wholly
    encloses the child; self time is an event's duration less the union of its children.
    """
    n = len(start_ps)
    depth, parent, self_ps = np.zeros(n, np.int16), np.full(n, -1, np.int32), np.zeros(n, np.int64)
    stack, covered = np.empty(DEEPEST, np.int32), np.empty(DEEPEST, np.int64)
    for first, count in ranges:
        _nest(start_ps, end_ps, first, count, depth, parent, self_ps, stack, covered)
    return depth, parent, self_ps
