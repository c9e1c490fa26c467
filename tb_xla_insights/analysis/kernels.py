"""The loops of the analysis over events, intervals and stretches, compiled.

Arrays are the caller's: those that a kernel only reads come first, those that it fills, or changes, come last.
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

cython.declare(INHERIT=cython.int, DISPATCH_THEN_WAIT=cython.int, ENDS_DISPATCH=cython.int)
cython.declare(LAUNCH=cython.int, HELPER=cython.int, SYNC=cython.int, MARKER=cython.int)
cython.declare(DYNAMO=cython.int, DYNAMO_PART=cython.int)
from tb_xla_insights.analysis.codes import (  # noqa: E402
    DISPATCH_THEN_WAIT,
    DYNAMO,
    DYNAMO_PART,
    ENDS_DISPATCH,
    HELPER,
    INHERIT,
    LAUNCH,
    MARKER,
    SYNC,
)


def apart(start: Int64, end: Int64, chosen: Bools) -> bool:
    """Whether all intervals, which are sorted by start, are chosen, none is empty, and time lies between each two."""
    all_: cython.bint = True
    with cython.nogil:
        for i in range(len(start)):
            if not chosen[i] or end[i] <= start[i] or (i > 0 and start[i] <= end[i - 1]):
                all_ = False
                break
    return all_


def merge(start: Int64, end: Int64, chosen: Bools, out_start: OutInt64, out_end: OutInt64) -> int:
    """The union of those intervals, sorted by start, that are chosen. Returns how many it has."""
    made: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(start)):
            if end[i] <= start[i] or not chosen[i]:
                continue
            if made and start[i] <= out_end[made - 1]:
                out_end[made - 1] = max(out_end[made - 1], end[i])
            else:
                out_start[made], out_end[made] = start[i], end[i]
                made += 1
    return made


def join(
    a_start: Int64, a_end: Int64, b_start: Int64, b_end: Int64, out_start: OutInt64, out_end: OutInt64
) -> int:
    """What is in `a` or in `b`, both of them intervals as in Intervals. Returns how many that are."""
    made: cython.Py_ssize_t = 0
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
            if made and start <= out_end[made - 1]:
                out_end[made - 1] = max(out_end[made - 1], end)
            else:
                out_start[made], out_end[made] = start, end
                made += 1
    return made


def difference(
    a_start: Int64, a_end: Int64, b_start: Int64, b_end: Int64, out_start: OutInt64, out_end: OutInt64
) -> int:
    """What of `a` is not in `b`, both of them intervals as in Intervals. Returns how many that are."""
    made: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(a_start)):
            now = a_start[i]
            while j < len(b_start) and b_end[j] <= now:
                j += 1
            at = j
            while at < len(b_start) and b_start[at] < a_end[i]:
                if b_start[at] > now:
                    out_start[made], out_end[made] = now, b_start[at]
                    made += 1
                now = max(now, b_end[at])
                at += 1
            j = max(j, at - 1)
            if now < a_end[i]:
                out_start[made], out_end[made] = now, a_end[i]
                made += 1
    return made


def own_time(
    starts: Int64, ends: Int64, parents: Int32, now: OutInt64,
    out: OutInt64, out_start: OutInt64, out_end: OutInt64,
) -> int:  # fmt: skip
    """The stretches of each span that its children leave, as `intervals.own_time`. `now`: up to where each span was
    told, at first its start. Returns how many stretches there are.

        parent   ├──────────────────────┤
        children     ├────┤  ├──┤
        told     ├──┤      ├┤    ├──────┤   a stretch before each child, the last one when all children are through
    """
    made: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(starts)):
            parent = parents[i]
            if parent >= 0 and ends[i] > now[parent]:
                if starts[i] > now[parent]:
                    out[made], out_start[made], out_end[made] = parent, now[parent], starts[i]
                    made += 1
                now[parent] = ends[i]
        for i in range(len(starts)):
            if now[i] < ends[i]:
                out[made], out_start[made], out_end[made] = i, now[i], ends[i]
                made += 1
    return made


def time_before(start: Int64, end: Int64, instants: Int64, order: Int64, found: OutInt64) -> None:
    """How much of sorted intervals that lie apart is before each of some instants; `order` sorts these."""
    at: cython.Py_ssize_t = 0
    whole: int64_t = 0
    with cython.nogil:
        for i in range(len(order)):
            when = instants[order[i]]
            while at < len(start) and end[at] <= when:
                whole += end[at] - start[at]
                at += 1
            found[order[i]] = whole
            if at < len(start) and start[at] < when:
                found[order[i]] += when - start[at]


def add_shares(
    seg_start: Int64, seg_end: Int64, seg_kind: Int8, start: Int64, end: Int64, first: Int64, out: OutTable64
) -> None:
    """Adds each window's time to `out`, by window and class; `first` is the first stretch that ends inside of it, or
    behind it."""
    with cython.nogil:
        for i in range(len(start)):
            at = first[i]
            while at < len(seg_start) and seg_start[at] < end[i]:
                if seg_kind[at] >= 0:
                    out[i, seg_kind[at]] += min(seg_end[at], end[i]) - max(seg_start[at], start[i])
                at += 1


def innermost(
    starts: Int64, ends: Int64, parents: Int32, flags: Int8, first: int64_t, bare: cython.bint, wait: int8_t,
    other: int8_t, own: OutInt8, nobodys: OutBools, stack: OutInt32,
    out_start: OutInt64, out_end: OutInt64, out_kind: OutInt8, out_row: OutInt32,
) -> int:  # fmt: skip
    """A line's timeline by its innermost event, as `segments.innermost`. `own`: the classes, which change; `nobodys`:
    what inherits; `stack`: the open events. Returns how many stretches there are.

        open events  ├─ a ──────────────────────┤
                          ├─ b ────┤   ├─ c ┤
        stretches    ├ a ─┤─ b ────┤ a ┤─ c ┤ a ┤    from each begin and end to the next: the last one that is open
    """
    count: cython.Py_ssize_t = len(starts)
    made: cython.Py_ssize_t = 0
    top: cython.Py_ssize_t = 0
    now: int64_t = 0
    with cython.nogil:
        for i in range(count + 1):
            until = starts[i] if i < count else INT64_MAX
            while top:
                event = stack[top - 1]
                if ends[event] <= now:
                    top -= 1
                    if flags[event] & ENDS_DISPATCH:
                        above = parents[event] - first
                        while above >= 0 and not flags[above] & DISPATCH_THEN_WAIT:
                            above = parents[above] - first
                        if above >= 0 and not nobodys[above]:
                            own[above] = wait
                    continue
                if now >= until:
                    break
                end = min(ends[event], until)
                kind = own[event]
                above = event
                while kind < 0 and parents[above] >= first:
                    above = parents[above] - first
                    kind = own[above]
                if kind < 0 and not nobodys[event]:
                    kind = other
                if kind < 0 and not bare:
                    now = end
                    continue
                if (
                    made
                    and out_row[made - 1] == event + first
                    and out_kind[made - 1] == kind
                    and out_end[made - 1] == now
                ):
                    out_end[made - 1] = end
                else:
                    out_start[made], out_end[made] = now, end
                    out_kind[made], out_row[made] = kind, event + first
                    made += 1
                now = end
            if i == count:
                break
            now = max(now, starts[i])
            nobodys[i] = flags[i] & INHERIT != 0 or (parents[i] >= first and nobodys[parents[i] - first] != 0)
            if nobodys[i]:
                own[i] = -1
            stack[top] = i
            top += 1
    return made


def overlay(
    a_start: Int64, a_end: Int64, a_kind: Int8, a_row: Int32, a_rank: Int8,
    b_start: Int64, b_end: Int64, b_kind: Int8, b_row: Int32, b_rank: Int8,
    out_start: OutInt64, out_end: OutInt64, out_kind: OutInt8, out_row: OutInt32, out_rank: OutInt8,
) -> int:  # fmt: skip
    """Two timelines become one: at each instant the stretch of the lower rank, `a`'s where they are equal. Returns how
    many stretches there are."""
    made: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    now: int64_t = INT64_MIN
    with cython.nogil:
        while i < len(a_start) or j < len(b_start):
            a_from = max(a_start[i], now) if i < len(a_start) else INT64_MAX
            b_from = max(b_start[j], now) if j < len(b_start) else INT64_MAX
            now = min(a_from, b_from)
            if a_from == now and (b_from > now or a_rank[i] <= b_rank[j]):
                kind, row, rank = a_kind[i], a_row[i], a_rank[i]
            else:
                kind, row, rank = b_kind[j], b_row[j], b_rank[j]
            end = min(a_end[i] if a_from == now else a_from, b_end[j] if b_from == now else b_from)
            last = made - 1
            if (
                made
                and out_end[last] == now
                and out_row[last] == row
                and out_kind[last] == kind
                and out_rank[last] == rank
            ):
                out_end[last] = end
            else:
                out_start[made], out_end[made] = now, end
                out_kind[made], out_row[made], out_rank[made] = kind, row, rank
                made += 1
            now = end
            while i < len(a_start) and a_end[i] <= now:
                i += 1
            while j < len(b_start) and b_end[j] <= now:
                j += 1
    return made


def replay(
    work: Int64, waits_for: Int32, late: Int64, first: Int64, order: Int32, ready: Int64, pause: Int64,
    device: Int64, core: Int32, free: OutInt64, begun: OutInt64, ends: OutInt64,
) -> int:  # fmt: skip
    """When the host is done. `order` has the runs by the stretch that launches them, `first` where those of each begin.
    Filled in are `ends` of runs, and of cores until when they are busy (`free`) and when they began (`begun`)."""
    now: int64_t = 0
    with cython.nogil:
        for stretch in range(len(work)):
            now += work[stretch]
            if waits_for[stretch] >= 0:
                now = max(now, ends[waits_for[stretch]] + late[stretch])
            for number in range(first[stretch], first[stretch + 1]):
                run = order[number]
                start = max(now + ready[run], free[core[run]] + pause[run])
                ends[run] = start + device[run]
                begun[core[run]] = min(begun[core[run]], start)
                free[core[run]] = max(free[core[run]], ends[run])
    return now


def open_tasks(marks: Int64, begins: Bools, line: Int32, stack: OutInt32, open_after: OutInt32) -> None:
    """The task that is open after each of the events that begin or end one, by line; -1: none."""
    depth: cython.Py_ssize_t = 0
    now: int32_t = -1
    with cython.nogil:
        for i in range(len(marks)):
            if line[i] != now:
                depth, now = 0, line[i]
            if begins[i]:
                stack[depth] = marks[i]
                depth += 1
            elif depth > 0:
                depth -= 1
            open_after[i] = stack[depth - 1] if depth > 0 else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _upto64(values: Int64, value: int64_t) -> cython.Py_ssize_t:
    """How many of ascending values are `value` at most."""
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
def _place(values: Int32, value: int32_t) -> cython.Py_ssize_t:
    """Where a value stands among ascending ones; -1: nowhere."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = len(values)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < len(values) and values[low] == value else -1


def walk(
    begin: Int32, flags: Int16, meta: Int32, parent: Int32, consumer: Int32, producer: Int32, marks: Int64,
    open_after: Int32, first: Int64, drives: Bools, on_host: Bools, runs: Int32,
    found: OutTable32, dynamo: OutBools, hops: OutTable32,
) -> None:  # fmt: skip
    """The ways back from events, as `reach.ways_back`. `found`: launch, helper, origin, sync, marker, as in Ways."""
    with cython.nogil:
        for i in range(len(begin)):
            at = begin[i]
            steps = hop = 0
            while at >= 0 and steps < 10_000:
                steps += 1
                flag = flags[meta[at]]
                line = _upto64(first, at) - 1
                if flag & LAUNCH:
                    found[0, i] = at
                if flag & HELPER and found[1, i] < 0:
                    found[1, i] = at
                if flag & (DYNAMO | DYNAMO_PART):
                    dynamo[i] = True
                before: int32_t = -1
                if drives[line] or not on_host[line]:
                    if found[2, i] < 0 and drives[line]:
                        found[2, i] = at
                    if flag & (SYNC | DYNAMO) and found[3, i] < 0:
                        found[3, i] = at
                    if flag & MARKER:
                        found[4, i] = at
                    before = parent[at]
                else:
                    flow = _place(consumer, at)
                    if flow >= 0:
                        before = producer[flow]
                        if hop < hops.shape[1]:
                            hops[i, hop] = at
                            hop += 1
                    else:
                        before = parent[at]
                        mark = _upto64(marks, at) - 1
                        if mark >= 0 and marks[mark] >= first[line]:
                            task = open_after[mark]
                            if task > before and task != at:
                                before = task
                if before >= 0 and before != begin[i] and _place(runs, before) >= 0:
                    before = -1
                at = before
