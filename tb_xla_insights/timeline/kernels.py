"""The loops over events behind a timeline: placing them in lanes, merging narrow neighbours, counting.

Arrays are one lane's, or one track's, sorted by start. Nothing here knows where events come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.compiled import cut, inlined, kernel, room
from tb_xla_insights.trace.model import Int8, Int16, Int32, Int64

MOST_LANES = 128
"""A row is at most this deep: what nests or overlaps deeper shares the last lane."""


def pack(start: Int64, end: Int64, parent: Int32) -> Int16:
    """A lane for each event: the first one below its parent's in which everything before it has ended.

    For events that nest this is their depth. `parent` are indices of the same arrays, -1 for none; parents come first.
    """
    lane = np.empty(len(start), np.int16)
    _pack(start, end, parent, np.full(MOST_LANES, -(2**62)), lane)
    return lane


@kernel("void(int64[::1], int64[::1], int32[::1], int64[::1], int16[::1])")
def _pack(start, end, parent, free_at, lane):  # type: ignore[no-untyped-def]
    for i in range(len(start)):
        at = lane[parent[i]] + 1 if parent[i] >= 0 else 0
        while at < MOST_LANES - 1 and free_at[at] > start[i]:
            at += 1
        at = min(at, MOST_LANES - 1)
        free_at[at] = max(free_at[at], end[i])
        lane[i] = at


def inherit(own: Int8, disowned: NDArray[np.bool_], parent: Int32, missing: int) -> Int8:
    """The class of each event: its own, else its parent's, else `missing`. Parents come first.

    A disowned event and all below it have their parent's, whatever they are themselves.
    """
    result = np.full(len(own), -1, np.int8)
    _inherit(own, disowned.copy(), parent, missing, result)
    return result


@kernel("void(int8[::1], boolean[::1], int32[::1], int8, int8[::1])")
def _inherit(own, below, parent, missing, result):  # type: ignore[no-untyped-def]
    for i in range(len(own)):
        above = parent[i]
        below[i] |= above >= 0 and below[above]
        if own[i] >= 0 and not below[i]:
            result[i] = own[i]
        elif above >= 0:
            result[i] = result[above]
    for i in range(len(own)):
        if result[i] < 0:
            result[i] = missing


def kept_parents(parent: Int32, keep: NDArray[np.bool_], first: int, kept: int) -> Int32:
    """For the kept events of a line: the place, among them, of the nearest ancestor that is kept, or -1."""
    result = np.empty(kept, np.int32)
    _kept_parents(parent, keep, first, np.empty(len(keep), np.int32), result)
    return result


@kernel("void(int32[::1], boolean[::1], int64, int32[::1], int32[::1])")
def _kept_parents(parent, keep, first, place, result):  # type: ignore[no-untyped-def]
    """`place`: of an event if kept, else of its nearest kept ancestor."""
    at = 0
    for i in range(len(keep)):
        row = first + i
        above = np.int32(-1) if parent[row] < first else place[parent[row] - first]
        if keep[i]:
            result[at] = above
            place[i] = at
            at += 1
        else:
            place[i] = above


@inlined
def _bits(value):  # type: ignore[no-untyped-def]
    """Bit length."""
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if value >> step:
            bits += step
            value >>= step
    return bits + (1 if value else 0)


def sizes(start: Int64, end: Int64) -> Int64:
    """How many slices a lane has at each rung 0 to 63."""
    joins = np.zeros(65, np.int64)
    _joins(start, end, joins)
    left: Int64 = len(start) - joins[:64].cumsum()
    return left


@kernel("void(int64[::1], int64[::1], int64[::1])")
def _joins(start, end, joins):  # type: ignore[no-untyped-def]
    """Counts, by the rung from which on they do, the events that lie in one slice with the one before."""
    for i in range(1, len(start)):
        joins[_bits((end[i - 1] - start[i - 1]) | (end[i] - start[i]) | (start[i - 1] ^ start[i]))] += 1


@inlined
def _joined(start, end, i, rung):  # type: ignore[no-untyped-def]
    """Whether event i lies in one slice with the one before: both short, both in one bucket."""
    bits = (end[i - 1] - start[i - 1]) | (end[i] - start[i]) | (start[i - 1] ^ start[i])
    return bits >> rung == 0


def merge(
    start: Int64, end: Int64, reach: Int64, name: Int32, kind: Int8, event: Int32,
    first: int, stop: int, rung: int, names: int,
) -> tuple[NDArray[Any], ...]:  # fmt: skip
    """The slices of a rung that events `first` to `stop - 1` belong to.

    `reach` is the latest end so far; names lie below `names`. Returns columns start, end, name, class, count, busy,
    event, time of the name.
    """
    first, stop, count = _slices(start, end, first, stop, rung)
    columns = room(count, "i8", "i8", "i4", "i1", "i4", "i8", "i4", "i8")
    times = np.zeros(names + 1, np.int64), np.zeros(128, np.int64)
    _merge(start, end, reach, name, kind, event, first, stop, rung, *times, *columns)
    return columns


@kernel("UniTuple(int64, 3)(int64[::1], int64[::1], int64, int64, int64)")
def _slices(start, end, first, stop, rung):  # type: ignore[no-untyped-def]
    """The whole slices that some events belong to: their first event, where the last one ends, and how many."""
    while 0 < first < stop and _joined(start, end, first, rung):
        first -= 1
    while 0 < stop < len(start) and first < stop and _joined(start, end, stop, rung):
        stop += 1
    count = 0
    for i in range(first, stop):
        if i == first or not _joined(start, end, i, rung):
            count += 1
    return first, stop, count


@kernel(
    "void(int64[::1], int64[::1], int64[::1], int32[::1], int8[::1], int32[::1], int64, int64, int64, "
    "int64[::1], int64[::1], "
    "int64[::1], int64[::1], int32[::1], int8[::1], int32[::1], int64[::1], int32[::1], int64[::1])"
)
def _merge(  # type: ignore[no-untyped-def]
    start, end, reach, name, kind, event, first, stop, rung, name_time, kind_time, s, e, n, c, k, b, ev, t
):
    i, at = first, 0
    while i < stop:
        j = i + 1
        while j < stop and _joined(start, end, j, rung):
            j += 1
        s[at], e[at], n[at], c[at] = start[i], end[i], name[i], kind[i]
        k[at], ev[at], b[at], t[at] = j - i, event[i], 0, 0
        for x in range(i, j):
            before = reach[x - 1] if x > 0 else start[x]
            b[at] += max(0, end[x] - max(start[x], before))
            e[at] = max(e[at], end[x])
            name_time[name[x]] += end[x] - start[x]  # -1, no name, is the last entry
            kind_time[kind[x]] += end[x] - start[x]
        for x in range(i, j):  # the first one wins where times are equal
            if name_time[name[x]] > name_time[n[at]]:
                n[at] = name[x]
            if kind_time[kind[x]] > kind_time[c[at]]:
                c[at] = kind[x]
        t[at] = name_time[n[at]]
        for x in range(i, j):
            name_time[name[x]] = 0
            kind_time[kind[x]] = 0
        i = j
        at += 1


def comb(
    start: Int64, end: Int64, name: Int32, kind: Int8, count: Int32, busy: Int64, event: Int32, time: Int64,
    first: int, stop: int, since: int, rung: int, names: int,
) -> tuple[NDArray[Any], ...]:  # fmt: skip
    """Slices `first` to `stop - 1` that reach to `since`, short ones of a class joined where pauses are short too.

    Returns columns start, end, name, class, count, busy, event.
    """
    level = start, end, name, kind, count, busy, event, time
    columns = room(stop - first, "i8", "i8", "i4", "i1", "i4", "i8", "i4")
    return cut(_comb(*level, first, stop, since, rung, np.zeros(names + 1, np.int64), *columns), *columns)


@kernel(
    "int64(int64[::1], int64[::1], int32[::1], int8[::1], int32[::1], int64[::1], int32[::1], int64[::1], "
    "int64, int64, int64, int64, int64[::1], "
    "int64[::1], int64[::1], int32[::1], int8[::1], int32[::1], int64[::1], int32[::1])"
)
def _comb(  # type: ignore[no-untyped-def]
    start,
    end,
    name,
    kind,
    count,
    busy,
    event,
    time,
    first,
    stop,
    since,
    rung,
    name_time,
    s,
    e,
    n,
    c,
    k,
    b,
    ev,
):
    at, opened, open_short = -1, first, False
    for i in range(first, stop):
        if end[i] < since:
            continue
        short = count[i] > 1 or (end[i] - start[i]) >> rung == 0
        if open_short and short and kind[i] == c[at] and max(0, start[i] - e[at]) >> rung == 0:
            e[at] = max(e[at], end[i])
            k[at] += count[i]
            b[at] += busy[i]
            name_time[name[i]] += time[i]
            if name_time[name[i]] > name_time[n[at]]:
                n[at] = name[i]
            continue
        if at >= 0:
            for x in range(opened, i):
                name_time[name[x]] = 0
        at += 1
        opened, open_short = i, short
        s[at], e[at], n[at], c[at] = start[i], end[i], name[i], kind[i]
        k[at], b[at], ev[at] = count[i], busy[i], event[i]
        name_time[name[i]] += time[i]
    at += 1
    for x in range(at):
        if k[x] == 1:
            b[x] = 0
    return at


def spread(start: Int64, end: Int64, kind: Int8, kinds: int, duration: int, buckets: int) -> Int64:
    """Time of each of `kinds` classes in each bucket; bucket i begins at `duration * i // buckets`."""
    time = np.zeros((kinds, buckets), np.int64)
    _spread(start, end, kind, duration, time)
    return time


@kernel("void(int64[::1], int64[::1], int8[::1], int64, int64[:, ::1])")
def _spread(start, end, kind, duration, time):  # type: ignore[no-untyped-def]
    buckets = time.shape[1]
    for i in range(len(start)):
        at = min(buckets - 1, max(0, start[i]) * buckets // duration)
        while at < buckets:
            low, high = duration * at // buckets, duration * (at + 1) // buckets
            if low >= end[i]:
                break
            time[kind[i], at] += max(0, min(high, end[i]) - max(low, start[i]))
            at += 1


@kernel("int64(int64[::1], int64[::1])")
def covered(start, end):  # type: ignore[no-untyped-def]
    """Length of the union of intervals sorted by start."""
    total, reach = 0, np.int64(-(2**62))
    for i in range(len(start)):
        total += max(0, end[i] - max(start[i], reach))
        reach = max(reach, end[i])
    return total


def matches(
    event: Int32, start: Int64, end: Int64, name: Int32, kind: Int8, meta: Int32,
    names: NDArray[np.bool_], entries: NDArray[np.bool_], home: Int16, own: int, limit: int,
    count: Int64, total: Int64, first_kind: Int8,
) -> Int64:  # fmt: skip
    """Places of the first `limit` events whose name or metadata entry is wanted (`names`, `entries`).

    Adds number and time of all of them to `count` and `total`, by name, and notes the class of each name's first one
    where that is -1. `meta` and `home` are by event of the trace; with `own` >= 0 only events at home there count.
    """
    found = np.empty(limit, np.int64)
    columns = event, start, end, name, kind, meta, names, entries, home
    cut(_matches(*columns, own, count, total, first_kind, found), found)
    return found


@kernel(
    "int64(int32[::1], int64[::1], int64[::1], int32[::1], int8[::1], int32[::1], boolean[::1], boolean[::1], "
    "int16[::1], int64, int64[::1], int64[::1], int8[::1], int64[::1])"
)
def _matches(  # type: ignore[no-untyped-def]
    event, start, end, name, kind, meta, names, entries, home, own, count, total, first_kind, found
):
    size = 0
    for i in range(len(event)):
        if (names[name[i]] or entries[meta[event[i]]]) and (own < 0 or home[event[i]] == own):
            count[name[i]] += 1
            total[name[i]] += end[i] - start[i]
            if first_kind[name[i]] < 0:
                first_kind[name[i]] = kind[i]
            if size < len(found):
                found[size] = i
                size += 1
    return size
