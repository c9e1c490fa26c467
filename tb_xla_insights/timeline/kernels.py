"""The loops over events behind a timeline: placing them in lanes, merging narrow neighbours, counting.

Arrays are one lane's, or one track's, sorted by start. Nothing here knows where events come from.
"""

from __future__ import annotations

import numpy as np
from numba import njit

MOST_LANES = 128
"""A row is at most this deep: what nests or overlaps deeper shares the last lane."""


@njit("int16[::1](int64[::1], int64[::1], int32[::1])", cache=True, nogil=True)
def pack(start, end, parent):  # type: ignore[no-untyped-def]
    """A lane for each event: the first one below its parent's in which everything before it has ended.

    For events that nest this is their depth. `parent` are indices of the same arrays, -1 for none; parents come first.
    """
    free_at = np.full(MOST_LANES, np.int64(-(2**62)))
    lane = np.empty(len(start), np.int16)
    for i in range(len(start)):
        at = lane[parent[i]] + 1 if parent[i] >= 0 else 0
        while at < MOST_LANES - 1 and free_at[at] > start[i]:
            at += 1
        at = min(at, MOST_LANES - 1)
        free_at[at] = max(free_at[at], end[i])
        lane[i] = at
    return lane


@njit("int8[::1](int8[::1], boolean[::1], int32[::1], int8)", cache=True, nogil=True)
def inherit(own, disowned, parent, missing):  # type: ignore[no-untyped-def]
    """The class of each event: its own, else its parent's, else `missing`. Parents come first.

    A disowned event and all below it have their parent's, whatever they are themselves.
    """
    below = disowned.copy()
    result = np.full(len(own), np.int8(-1))
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
    return result


@njit("int32[::1](int32[::1], boolean[::1], int64, int64, int64)", cache=True, nogil=True)
def kept_parents(parent, keep, first, count, kept):  # type: ignore[no-untyped-def]
    """For the kept events of a line: the place, among them, of the nearest ancestor that is kept, or -1."""
    place = np.empty(count, np.int32)  # of an event if kept, else of its nearest kept ancestor
    result = np.empty(kept, np.int32)
    at = 0
    for i in range(count):
        row = first + i
        above = np.int32(-1) if parent[row] < first else place[parent[row] - first]
        if keep[i]:
            result[at] = above
            place[i] = at
            at += 1
        else:
            place[i] = above
    return result


@njit("int64(int64)", cache=True, nogil=True, forceinline=True)
def _bits(value):  # type: ignore[no-untyped-def]
    """Bit length."""
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if value >> step:
            bits += step
            value >>= step
    return bits + (1 if value else 0)


@njit("int64[::1](int64[::1], int64[::1])", cache=True, nogil=True)
def sizes(start, end):  # type: ignore[no-untyped-def]
    """How many slices a lane has at each rung 0 to 63."""
    joins = np.zeros(64, np.int64)
    for i in range(1, len(start)):
        joins[_bits((end[i - 1] - start[i - 1]) | (end[i] - start[i]) | (start[i - 1] ^ start[i]))] += 1
    left = np.full(64, len(start), np.int64)
    total = 0
    for rung in range(64):
        total += joins[rung]
        left[rung] -= total
    return left


@njit("boolean(int64[::1], int64[::1], int64, int64)", cache=True, nogil=True, forceinline=True)
def _joined(start, end, i, rung):  # type: ignore[no-untyped-def]
    """Whether event i lies in one slice with the one before: both short, both in one bucket."""
    bits = (end[i - 1] - start[i - 1]) | (end[i] - start[i]) | (start[i - 1] ^ start[i])
    return bits >> rung == 0


_SLICES = (
    "Tuple((int64[::1], int64[::1], int32[::1], int8[::1], int32[::1], int64[::1], int32[::1], int64[::1]))"
)


@njit(
    f"{_SLICES}(int64[::1], int64[::1], int64[::1], int32[::1], int8[::1], int32[::1], int64, int64, int64, int64)",
    cache=True,
    nogil=True,
)
def merge(start, end, reach, name, kind, event, first, stop, rung, names):  # type: ignore[no-untyped-def]
    """The slices of a rung that events `first` to `stop - 1` belong to.

    `reach` is the latest end so far; names lie below `names`. Returns columns start, end, name, class, count, busy,
    event, time of the name.
    """
    while 0 < first < stop and _joined(start, end, first, rung):
        first -= 1
    while 0 < stop < len(start) and first < stop and _joined(start, end, stop, rung):
        stop += 1
    count = 0
    for i in range(first, stop):
        if i == first or not _joined(start, end, i, rung):
            count += 1
    s, e = np.empty(count, np.int64), np.empty(count, np.int64)
    n, c, k = np.empty(count, np.int32), np.empty(count, np.int8), np.empty(count, np.int32)
    b, ev, t = np.empty(count, np.int64), np.empty(count, np.int32), np.empty(count, np.int64)
    name_time, kind_time = np.zeros(names + 1, np.int64), np.zeros(128, np.int64)
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
    return s, e, n, c, k, b, ev, t


_COMBS = "Tuple((int64[::1], int64[::1], int32[::1], int8[::1], int32[::1], int64[::1], int32[::1]))"


@njit(
    f"{_COMBS}(int64[::1], int64[::1], int32[::1], int8[::1], int32[::1], int64[::1], int32[::1], int64[::1], "
    "int64, int64, int64, int64, int64)",
    cache=True,
    nogil=True,
)
def comb(start, end, name, kind, count, busy, event, time, first, stop, since, rung, names):  # type: ignore[no-untyped-def]
    """Slices `first` to `stop - 1` that reach to `since`, short ones of a class joined where pauses are short too.

    Returns columns start, end, name, class, count, busy, event.
    """
    s, e = np.empty(stop - first, np.int64), np.empty(stop - first, np.int64)
    n, c, k = (
        np.empty(stop - first, np.int32),
        np.empty(stop - first, np.int8),
        np.empty(stop - first, np.int32),
    )
    b, ev = np.empty(stop - first, np.int64), np.empty(stop - first, np.int32)
    name_time = np.zeros(names + 1, np.int64)
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
    return (
        s[:at].copy(),
        e[:at].copy(),
        n[:at].copy(),
        c[:at].copy(),
        k[:at].copy(),
        b[:at].copy(),
        ev[:at].copy(),
    )


@njit("int64[:, ::1](int64[::1], int64[::1], int8[::1], int64, int64, int64)", cache=True, nogil=True)
def spread(start, end, kind, kinds, duration, buckets):  # type: ignore[no-untyped-def]
    """Time of each of `kinds` classes in each bucket; bucket i begins at `duration * i // buckets`."""
    time = np.zeros((kinds, buckets), np.int64)
    for i in range(len(start)):
        at = min(buckets - 1, max(0, start[i]) * buckets // duration)
        while at < buckets:
            low, high = duration * at // buckets, duration * (at + 1) // buckets
            if low >= end[i]:
                break
            time[kind[i], at] += max(0, min(high, end[i]) - max(low, start[i]))
            at += 1
    return time


@njit("int64(int64[::1], int64[::1])", cache=True, nogil=True)
def covered(start, end):  # type: ignore[no-untyped-def]
    """Length of the union of intervals sorted by start."""
    total, reach = 0, np.int64(-(2**62))
    for i in range(len(start)):
        total += max(0, end[i] - max(start[i], reach))
        reach = max(reach, end[i])
    return total


@njit(
    "int64[::1](int32[::1], int64[::1], int64[::1], int32[::1], int8[::1], int32[::1], boolean[::1], boolean[::1], "
    "int16[::1], int64, int64, int64[::1], int64[::1], int8[::1])",
    cache=True,
    nogil=True,
)
def matches(  # type: ignore[no-untyped-def]
    event, start, end, name, kind, meta, names, entries, home, own, limit, count, total, first_kind
):
    """Places of the first `limit` events whose name or metadata entry is wanted (`names`, `entries`).

    Adds number and time of all of them to `count` and `total`, by name, and notes the class of each name's first one
    where that is -1. `meta` and `home` are by event of the trace; with `own` >= 0 only events at home there count.
    """
    found = np.empty(limit, np.int64)
    size = 0
    for i in range(len(event)):
        if (names[name[i]] or entries[meta[event[i]]]) and (own < 0 or home[event[i]] == own):
            count[name[i]] += 1
            total[name[i]] += end[i] - start[i]
            if first_kind[name[i]] < 0:
                first_kind[name[i]] = kind[i]
            if size < limit:
                found[size] = i
                size += 1
    return found[:size].copy()
