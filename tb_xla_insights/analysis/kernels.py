"""Compiled loops of the analysis over events, intervals and segments.

All arrays belong to the caller. Arrays that a kernel only reads come first, arrays that it fills or changes come last.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import INT64_MAX, INT64_MIN, int8_t, int32_t, int64_t
from cython.cimports.tb_xla_insights.arrays import (
    Bools,
    Int8,
    Int16,
    Int32,
    Int64,
    OutBools,
    OutInt8,
    OutInt32,
    OutInt64,
    OutTable32,
    OutTable64,
)

cython.declare(INHERIT=cython.int, DISPATCH_THEN_WAIT=cython.int, WAIT_FOLLOWS=cython.int)
cython.declare(LAUNCH=cython.int, RUN_START=cython.int, SYNC=cython.int, MARKER=cython.int)
cython.declare(DYNAMO=cython.int, DYNAMO_PART=cython.int)
from tb_xla_insights.analysis.codes import (  # noqa: E402
    DISPATCH_THEN_WAIT,
    DYNAMO,
    DYNAMO_PART,
    INHERIT,
    LAUNCH,
    MARKER,
    RUN_START,
    SYNC,
    WAIT_FOLLOWS,
)


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


def replay(
    work: Int64, waits_for: Int32, delay: Int64, first: Int64, order: Int32, ready: Int64, pause: Int64,
    device_ps: Int64, device: Int32, free: OutInt64, first_start: OutInt64, ends: OutInt64,
) -> int:  # fmt: skip
    """Replays the host's segments and the runs, and returns when the host is done.

    `order` sorts the runs by the segment that launches them; `first` holds the start of each segment's runs in it.
    Filled in are `ends` of runs, when each device becomes free (`free`) and when its first run starts (`first_start`).
    """
    host_time: int64_t = 0
    with cython.nogil:
        for segment in range(len(work)):
            host_time += work[segment]
            if waits_for[segment] >= 0:
                host_time = max(host_time, ends[waits_for[segment]] + delay[segment])
            for index in range(first[segment], first[segment + 1]):
                run = order[index]
                start = max(host_time + ready[run], free[device[run]] + pause[run])
                ends[run] = start + device_ps[run]
                first_start[device[run]] = min(first_start[device[run]], start)
                free[device[run]] = max(free[device[run]], ends[run])
    return host_time


def open_tasks(boundaries: Int64, begins: Bools, lines: Int32, stack: OutInt32, open_after: OutInt32) -> None:
    """Fills in the task open on its line after each boundary (an event that begins or ends a task); -1: none."""
    depth: cython.Py_ssize_t = 0
    line: int32_t = -1
    with cython.nogil:
        for i in range(len(boundaries)):
            if lines[i] != line:
                depth, line = 0, lines[i]
            if begins[i]:
                stack[depth] = boundaries[i]
                depth += 1
            elif depth > 0:
                depth -= 1
            open_after[i] = stack[depth - 1] if depth > 0 else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_up_to(values: Int64, value: int64_t) -> cython.Py_ssize_t:
    """Returns how many of ascending values are at most `value`."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = len(values)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _index_of(values: Int32, value: int32_t) -> cython.Py_ssize_t:
    """Returns the index of a value among ascending ones, -1 if it is not there."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = len(values)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < len(values) and values[low] == value else -1


_MAX_PATH_EVENTS = cython.declare(cython.int, 10_000)
"""The limit of events on a causal path: the flows of a damaged file may form a circle."""


def fill_causal_paths(
    events: Int32, flags: Int16, metadata_index: Int32, parent: Int32, consumer: Int32, producer: Int32,
    boundaries: Int64, open_after: Int32, first_row: Int64, is_driving: Bools, is_host: Bools, runs: Int32,
    path: OutTable32, dynamo: OutBools, hops: OutTable32,
) -> None:  # fmt: skip
    """Fills in the causal paths of events, as in `causality.causal_paths`. `path[0]` to `path[4]` are launch,
    run_start, origin, sync and marker, as in CausalPaths."""
    with cython.nogil:
        for i in range(len(events)):
            row = events[i]
            steps = hop = 0
            while row >= 0 and steps < _MAX_PATH_EVENTS:
                steps += 1
                flag = flags[metadata_index[row]]
                line = _count_up_to(first_row, row) - 1
                if flag & LAUNCH:
                    path[0, i] = row
                if flag & RUN_START and path[1, i] < 0:
                    path[1, i] = row
                if flag & (DYNAMO | DYNAMO_PART):
                    dynamo[i] = True
                cause: int32_t = -1
                if is_driving[line] or not is_host[line]:
                    if path[2, i] < 0 and is_driving[line]:
                        path[2, i] = row
                    if flag & (SYNC | DYNAMO) and path[3, i] < 0:
                        path[3, i] = row
                    if flag & MARKER:
                        path[4, i] = row
                    cause = parent[row]
                else:
                    flow = _index_of(consumer, row)
                    if flow >= 0:
                        cause = producer[flow]
                        if hop < hops.shape[1]:
                            hops[i, hop] = row
                            hop += 1
                    else:
                        cause = parent[row]
                        boundary = _count_up_to(boundaries, row) - 1
                        if boundary >= 0 and boundaries[boundary] >= first_row[line]:
                            task = open_after[boundary]
                            if task > cause and task != row:
                                cause = task
                if cause >= 0 and cause != events[i] and _index_of(runs, cause) >= 0:
                    cause = -1
                row = cause
