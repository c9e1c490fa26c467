"""Compiled loops over intervals and over segments of threads.

All arrays belong to the caller. Arrays that a kernel only reads come first, arrays that it fills or changes come last.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import INT64_MAX, INT64_MIN, int8_t, int64_t
from cython.cimports.tb_xla_insights.arrays import (
    Bools,
    Int8,
    Int32,
    Int64,
    OutBools,
    OutInt8,
    OutInt32,
    OutInt64,
    OutTable64,
)

cython.declare(INHERIT=cython.int, DISPATCH_THEN_WAIT=cython.int, WAIT_FOLLOWS=cython.int)
from tb_xla_insights.analysis.codes import DISPATCH_THEN_WAIT, INHERIT, WAIT_FOLLOWS  # noqa: E402


def are_chosen_and_separate(start: Int64, end: Int64, chosen: Bools) -> bool:
    """Whether all intervals, sorted by start, are chosen, none is empty, and there is time between neighbours."""
    separate: cython.bint = True
    with cython.nogil:
        for i in range(len(start)):
            if not chosen[i] or end[i] <= start[i] or (i > 0 and start[i] <= end[i - 1]):
                separate = False
                break
    return separate


def merge(start: Int64, end: Int64, chosen: Bools, out_start: OutInt64, out_end: OutInt64) -> int:
    """Fills in the union of the chosen intervals, which are sorted by start. Returns its number of intervals."""
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(start)):
            if end[i] <= start[i] or not chosen[i]:
                continue
            if count and start[i] <= out_end[count - 1]:
                out_end[count - 1] = max(out_end[count - 1], end[i])
            else:
                out_start[count], out_end[count] = start[i], end[i]
                count += 1
    return count


def union_of_two(
    a_start: Int64, a_end: Int64, b_start: Int64, b_end: Int64, out_start: OutInt64, out_end: OutInt64
) -> int:
    """Fills in the instants that are in `a` or in `b`, both as in Intervals. Returns the number of intervals."""
    count: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    with cython.nogil:
        while i < len(a_start) or j < len(b_start):
            if j == len(b_start) or (i < len(a_start) and a_start[i] <= b_start[j]):
                start, end = a_start[i], a_end[i]
                i += 1
            else:
                start, end = b_start[j], b_end[j]
                j += 1
            if count and start <= out_end[count - 1]:
                out_end[count - 1] = max(out_end[count - 1], end)
            else:
                out_start[count], out_end[count] = start, end
                count += 1
    return count


def difference(
    a_start: Int64, a_end: Int64, b_start: Int64, b_end: Int64, out_start: OutInt64, out_end: OutInt64
) -> int:
    """Fills in the instants of `a` that are not in `b`, both as in Intervals. Returns the number of intervals."""
    count: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(a_start)):
            covered = a_start[i]
            while j < len(b_start) and b_end[j] <= covered:
                j += 1
            k = j
            while k < len(b_start) and b_start[k] < a_end[i]:
                if b_start[k] > covered:
                    out_start[count], out_end[count] = covered, b_start[k]
                    count += 1
                covered = max(covered, b_end[k])
                k += 1
            j = max(j, k - 1)
            if covered < a_end[i]:
                out_start[count], out_end[count] = covered, a_end[i]
                count += 1
    return count


def own_time(
    starts: Int64, ends: Int64, parents: Int32, covered: OutInt64,
    out_span: OutInt64, out_start: OutInt64, out_end: OutInt64,
) -> int:  # fmt: skip
    """Fills in the parts of each span that its children do not cover, as in `intervals.own_time_intervals`. `covered`:
    the instant up to which each span is done, initially its start. Returns the number of parts.

        parent   ├──────────────────────┤
        children     ├────┤  ├──┤
        parts    ├──┤      ├┤    ├──────┤   one before each child, the last one when all children are done
    """
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(starts)):
            parent = parents[i]
            if parent >= 0 and ends[i] > covered[parent]:
                if starts[i] > covered[parent]:
                    out_span[count], out_start[count], out_end[count] = parent, covered[parent], starts[i]
                    count += 1
                covered[parent] = ends[i]
        for i in range(len(starts)):
            if covered[i] < ends[i]:
                out_span[count], out_start[count], out_end[count] = i, covered[i], ends[i]
                count += 1
    return count


def time_before(start: Int64, end: Int64, instants: Int64, order: Int64, out: OutInt64) -> None:
    """Fills in how much of sorted, disjoint intervals is before each instant; `order` sorts the instants."""
    interval: cython.Py_ssize_t = 0
    passed: int64_t = 0
    with cython.nogil:
        for i in range(len(order)):
            instant = instants[order[i]]
            while interval < len(start) and end[interval] <= instant:
                passed += end[interval] - start[interval]
                interval += 1
            out[order[i]] = passed
            if interval < len(start) and start[interval] < instant:
                out[order[i]] += instant - start[interval]


def add_class_times(
    segment_start: Int64, segment_end: Int64, segment_class: Int8, start: Int64, end: Int64, first: Int64,
    out: OutTable64,
) -> None:  # fmt: skip
    """Adds each window's time by class to `out`; `first`: per window, the first segment that ends after its start."""
    with cython.nogil:
        for i in range(len(start)):
            segment = first[i]
            while segment < len(segment_start) and segment_start[segment] < end[i]:
                if segment_class[segment] >= 0:
                    low, high = max(segment_start[segment], start[i]), min(segment_end[segment], end[i])
                    out[i, segment_class[segment]] += high - low
                segment += 1


def innermost(
    starts: Int64, ends: Int64, parents: Int32, flags: Int8, first: int64_t, with_unclassified: cython.bint,
    wait_class: int8_t, other_class: int8_t, own_classes: OutInt8, inherits: OutBools, stack: OutInt32,
    out_start: OutInt64, out_end: OutInt64, out_class: OutInt8, out_row: OutInt32,
) -> int:  # fmt: skip
    """Fills in a line's timeline by its innermost event, as in `segments.innermost_segments`. `own_classes`: the
    events' classes, which change; `inherits`: whether an event or an ancestor has INHERIT; `stack`: the open events.
    Returns the number of segments.

        open events  ├─ a ──────────────────────┤
                          ├─ b ────┤   ├─ c ┤
        segments     ├ a ─┤─ b ────┤ a ┤─ c ┤ a ┤    from each begin and end to the next: the last event that is open
    """
    count: cython.Py_ssize_t = len(starts)
    written: cython.Py_ssize_t = 0
    top: cython.Py_ssize_t = 0
    position: int64_t = 0
    with cython.nogil:
        for i in range(count + 1):
            until = starts[i] if i < count else INT64_MAX
            while top:
                event = stack[top - 1]
                if ends[event] <= position:
                    top -= 1
                    if flags[event] & WAIT_FOLLOWS:
                        ancestor = parents[event] - first
                        while ancestor >= 0 and not flags[ancestor] & DISPATCH_THEN_WAIT:
                            ancestor = parents[ancestor] - first
                        if ancestor >= 0 and not inherits[ancestor]:
                            own_classes[ancestor] = wait_class
                    continue
                if position >= until:
                    break
                end = min(ends[event], until)
                class_index = own_classes[event]
                ancestor = event
                while class_index < 0 and parents[ancestor] >= first:
                    ancestor = parents[ancestor] - first
                    class_index = own_classes[ancestor]
                if class_index < 0 and not inherits[event]:
                    class_index = other_class
                if class_index < 0 and not with_unclassified:
                    position = end
                    continue
                if (
                    written
                    and out_row[written - 1] == event + first
                    and out_class[written - 1] == class_index
                    and out_end[written - 1] == position
                ):
                    out_end[written - 1] = end
                else:
                    out_start[written], out_end[written] = position, end
                    out_class[written], out_row[written] = class_index, event + first
                    written += 1
                position = end
            if i == count:
                break
            position = max(position, starts[i])
            parent = parents[i] - first
            inherits[i] = flags[i] & INHERIT != 0 or (parent >= 0 and inherits[parent] != 0)
            if inherits[i]:
                own_classes[i] = -1
            stack[top] = i
            top += 1
    return written


def overlay(
    a_start: Int64, a_end: Int64, a_class: Int8, a_row: Int32, a_rank: Int8,
    b_start: Int64, b_end: Int64, b_class: Int8, b_row: Int32, b_rank: Int8,
    out_start: OutInt64, out_end: OutInt64, out_class: OutInt8, out_row: OutInt32, out_rank: OutInt8,
) -> int:  # fmt: skip
    """Merges two timelines: at each instant the segment of the lower rank, `a`'s if the ranks are equal. Returns the
    number of segments."""
    written: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    position: int64_t = INT64_MIN
    with cython.nogil:
        while i < len(a_start) or j < len(b_start):
            a_next = max(a_start[i], position) if i < len(a_start) else INT64_MAX
            b_next = max(b_start[j], position) if j < len(b_start) else INT64_MAX
            position = min(a_next, b_next)
            if a_next == position and (b_next > position or a_rank[i] <= b_rank[j]):
                class_index, row, rank = a_class[i], a_row[i], a_rank[i]
            else:
                class_index, row, rank = b_class[j], b_row[j], b_rank[j]
            end = min(a_end[i] if a_next == position else a_next, b_end[j] if b_next == position else b_next)
            last = written - 1
            if (
                written
                and out_end[last] == position
                and out_row[last] == row
                and out_class[last] == class_index
                and out_rank[last] == rank
            ):
                out_end[last] = end
            else:
                out_start[written], out_end[written] = position, end
                out_class[written], out_row[written], out_rank[written] = class_index, row, rank
                written += 1
            position = end
            while i < len(a_start) and a_end[i] <= position:
                i += 1
            while j < len(b_start) and b_end[j] <= position:
                j += 1
    return written
