"""The loops over events behind a timeline, compiled: placing them in lanes, merging narrow neighbours, counting; and
which op a device shows at each instant.

Arrays are one lane's, or one track's, sorted by start. Nothing here knows where events come from.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.stdint import INT64_MAX, int8_t, int32_t, int64_t, uint64_t
from cython.cimports.tb_xla_insights.arrays import (
    Bools,
    Int8,
    Int16,
    Int32,
    Int64,
    OutBools,
    OutDouble,
    OutInt8,
    OutInt16,
    OutInt32,
    OutInt64,
    OutTable64,
)
from numpy.typing import NDArray

from tb_xla_insights.arrays import empty_columns, trim_columns

_DEEPEST = cython.declare(cython.int, 127)
"""A row's last lane: what nests or overlaps deeper shares it."""


def pack(start: Int64, end: Int64, parent: Int32) -> NDArray[np.int16]:
    """A lane for each event: the first one below its parent's in which everything before it has ended.

    For events that nest this is their depth. `parent` are indices of the same arrays, -1 for none; parents come first.
    """
    result = np.empty(len(start), np.int16)
    lane: OutInt16 = result
    free_at: OutInt64 = np.full(_DEEPEST + 1, -(2**62))
    with cython.nogil:
        for i in range(len(start)):
            at: cython.int = lane[parent[i]] + 1 if parent[i] >= 0 else 0
            while at < _DEEPEST and free_at[at] > start[i]:
                at += 1
            at = min(at, _DEEPEST)
            free_at[at] = max(free_at[at], end[i])
            lane[i] = at
    return result


def inherit(own: Int8, disowned: Bools, parent: Int32, missing: int8_t) -> NDArray[np.int8]:
    """The class of each event: its own, else its parent's, else `missing`. Parents come first.

    A disowned event and all below it have their parent's, whatever they are themselves.
    """
    result = np.full(len(own), -1, np.int8)
    kind: OutInt8 = result
    below: OutBools = np.array(disowned)
    with cython.nogil:
        for i in range(len(own)):
            above = parent[i]
            if above >= 0 and below[above]:
                below[i] = True
            if own[i] >= 0 and not below[i]:
                kind[i] = own[i]
            elif above >= 0:
                kind[i] = kind[above]
        for i in range(len(own)):
            if kind[i] < 0:
                kind[i] = missing
    return result


def kept_parents(parent: Int32, keep: Bools, first: int64_t, kept: int64_t) -> NDArray[np.int32]:
    """For the kept events of a line: the place, among them, of the nearest ancestor that is kept, or -1."""
    result = np.empty(kept, np.int32)
    found: OutInt32 = result
    place: OutInt32 = np.empty(len(keep), np.int32)  # of an event if kept, else of its nearest kept ancestor
    at: int32_t = 0
    with cython.nogil:
        for i in range(len(keep)):
            row = first + i
            above: int32_t = -1 if parent[row] < first else place[parent[row] - first]
            if keep[i]:
                found[at] = above
                place[i] = at
                at += 1
            else:
                place[i] = above
    return result


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _apart(start: Int64, end: Int64, i: cython.Py_ssize_t) -> int64_t:
    """Has a bit from a rung's bit on unless event i lies in one slice with the one before there: both are shorter than
    the rung's buckets, and begin in one bucket."""
    return (end[i - 1] - start[i - 1]) | (end[i] - start[i]) | (start[i - 1] ^ start[i])


def sizes(start: Int64, end: Int64) -> NDArray[np.int64]:
    """How many slices a lane has at each rung 0 to 63."""
    joins = np.zeros(
        65, np.int64
    )  # events that lie in one slice with the one before, by the rung from which on they do
    count: OutInt64 = joins
    with cython.nogil:
        for i in range(1, len(start)):
            bits = cython.cast(uint64_t, _apart(start, end, i))
            rung: cython.int = 0
            width: cython.int = 32
            while width:  # as `bit_length`
                if bits >> width:
                    bits >>= width
                    rung += width
                width >>= 1
            count[rung + (bits > 0)] += 1
    return len(start) - joins[:64].cumsum()


def merge(
    start: Int64, end: Int64, reach: Int64, name: Int32, kind: Int8, event: Int32,
    first: int64_t, stop: int64_t, rung: cython.int, names: int64_t,
) -> tuple[NDArray[Any], ...]:  # fmt: skip
    """The slices of a rung that events `first` to `stop - 1` belong to.

    `reach` is the latest end so far; names lie below `names`. Returns columns start, end, name, class, count, busy,
    event, time of the name.

        rung      |       |       |       |     buckets of 2^rung picoseconds
        events    ├─┤├┤ ├───────────┤ ├┤ ├┤
        slices    ├───┤ ├───────────┤ ├───┤     neighbours that begin in one bucket, and are shorter than one, are one
    """
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        while 0 < first < stop and _apart(start, end, first) >> rung == 0:
            first -= 1
        while 0 < stop < len(start) and first < stop and _apart(start, end, stop) >> rung == 0:
            stop += 1
        for i in range(first, stop):
            if i == first or _apart(start, end, i) >> rung:
                count += 1
    columns = empty_columns(count, "i8", "i8", "i4", "i1", "i4", "i8", "i4", "i8")
    _merge(start, end, reach, name, kind, event, first, stop, rung, names, *columns)
    return columns


def _merge(
    start: Int64, end: Int64, reach: Int64, name: Int32, kind: Int8, event: Int32,
    first: int64_t, stop: int64_t, rung: cython.int, names: int64_t, s: OutInt64, e: OutInt64, n: OutInt32,
    c: OutInt8, k: OutInt32, b: OutInt64, ev: OutInt32, t: OutInt64,
) -> None:  # fmt: skip
    name_time: OutInt64 = np.zeros(names + 1, np.int64)  # -1, no name, is the last entry
    kind_time: OutInt64 = np.zeros(128, np.int64)
    i: cython.Py_ssize_t = first
    at: cython.Py_ssize_t = 0
    with cython.nogil:
        while i < stop:
            j = i + 1
            while j < stop and _apart(start, end, j) >> rung == 0:
                j += 1
            s[at], e[at], n[at], c[at] = start[i], end[i], name[i], kind[i]
            k[at], ev[at], b[at] = j - i, event[i], 0
            for x in range(i, j):
                before = reach[x - 1] if x > 0 else start[x]
                b[at] += max(0, end[x] - max(start[x], before))
                e[at] = max(e[at], end[x])
                name_time[name[x]] += end[x] - start[x]
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
    first: int64_t, stop: int64_t, since: int64_t, rung: cython.int, names: int64_t,
) -> tuple[NDArray[Any], ...]:  # fmt: skip
    """Slices `first` to `stop - 1` that reach to `since`, short ones of a class joined where pauses are short too.

    Returns columns start, end, name, class, count, busy, event.
    """
    columns = empty_columns(stop - first, "i8", "i8", "i4", "i1", "i4", "i8", "i4")
    made = _comb(start, end, name, kind, count, busy, event, time, first, stop, since, rung, names, *columns)
    return trim_columns(made, *columns)


def _comb(
    start: Int64, end: Int64, name: Int32, kind: Int8, count: Int32, busy: Int64, event: Int32, time: Int64,
    first: int64_t, stop: int64_t, since: int64_t, rung: cython.int, names: int64_t, s: OutInt64, e: OutInt64,
    n: OutInt32, c: OutInt8, k: OutInt32, b: OutInt64, ev: OutInt32,
) -> int:  # fmt: skip
    name_time: OutInt64 = np.zeros(names + 1, np.int64)
    at: cython.Py_ssize_t = -1
    opened: cython.Py_ssize_t = first
    open_short: cython.bint = False
    with cython.nogil:
        for i in range(first, stop):
            if end[i] < since:
                continue
            short: cython.bint = count[i] > 1 or (end[i] - start[i]) >> rung == 0
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


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _last_bucket(start: int64_t, end: int64_t, rung: cython.int) -> int64_t:
    return (end - 1 if end > start else start) >> rung


def fill(
    start: Int64, end: Int64, count: Int32, busy: Int64, first: int64_t, stop: int64_t, since: int64_t,
    rung: cython.int, comb_start: Int64, comb_end: Int64, comb_count: Int32,
) -> NDArray[np.int8]:  # fmt: skip
    """How full each bucket of each comb is, from 0 to 15: combs of several events, as `comb` has made them of slices
    `first` to `stop - 1`, one after the other."""
    buckets: cython.Py_ssize_t = 0
    for x in range(len(comb_start)):
        if comb_count[x] > 1:
            buckets += _last_bucket(comb_start[x], comb_end[x], rung) - (comb_start[x] >> rung) + 1
    result = np.empty(buckets, np.int8)
    if not buckets:
        return result
    _fill(start, end, count, busy, first, stop, since, rung, comb_start, comb_end, comb_count, result,
          np.zeros(buckets, np.float64))  # fmt: skip
    return result


def _fill(
    start: Int64, end: Int64, count: Int32, busy: Int64, first: int64_t, stop: int64_t, since: int64_t,
    rung: cython.int, comb_start: Int64, comb_end: Int64, comb_count: Int32, digits: OutInt8, time: OutDouble,
) -> None:  # fmt: skip
    width: int64_t = cython.cast(int64_t, 1) << rung
    i: cython.Py_ssize_t = first
    at: cython.Py_ssize_t = 0
    bucket: int64_t
    with cython.nogil:
        for x in range(len(comb_start)):
            left: int64_t = comb_count[x]
            begin = comb_start[x] >> rung
            until = comb_end[x]
            while left > 0 and i < stop:
                if end[i] >= since:
                    left -= count[i]
                    if comb_count[x] > 1 and end[i] > start[i]:
                        part = cython.cast(cython.double, busy[i]) / (end[i] - start[i])
                        for bucket in range(start[i] >> rung, ((end[i] - 1) >> rung) + 1):
                            low, high = bucket * width, (bucket + 1) * width
                            time[at + bucket - begin] += part * (min(high, end[i]) - max(low, start[i]))
                i += 1
            if comb_count[x] == 1:
                continue
            for bucket in range(begin, _last_bucket(comb_start[x], until, rung) + 1):
                low, high = max(bucket * width, comb_start[x]), min((bucket + 1) * width, until)
                # Any work is seen, and so is any pause.
                share = time[at] / (high - low) if high > low else 0.0
                digit: cython.int = cython.cast(cython.int, 15 * share + 0.5)
                if share > 0:
                    digit = max(1, digit)
                digits[at] = min(15 if share > 0.999999 else 14, digit)
                at += 1


def spread(
    start: Int64, end: Int64, kind: Int8, kinds: int64_t, duration: int64_t, buckets: int64_t
) -> NDArray[np.int64]:
    """Time of each of `kinds` classes in each bucket; bucket i begins at `duration * i // buckets`."""
    result = np.zeros((kinds, buckets), np.int64)
    time: OutTable64 = result
    first: int64_t = 0
    border: int64_t = duration // buckets  # where the first bucket ends that the event reaches
    with cython.nogil:
        for i in range(len(start)):
            while border <= start[i] and first < buckets - 1:
                first += 1
                border = duration * (first + 1) // buckets
            at, begin, until = first, start[i], border
            while until < end[i] and at < buckets - 1:
                time[kind[i], at] += max(0, until - begin)
                at, begin = at + 1, max(begin, until)
                until = duration * (at + 1) // buckets
            time[kind[i], at] += max(0, min(until, end[i]) - begin)
    return result


def covered(start: Int64, end: Int64) -> int:
    """Length of the union of intervals sorted by start."""
    total: int64_t = 0
    reach: int64_t = -(1 << 62)
    with cython.nogil:
        for i in range(len(start)):
            total += max(0, end[i] - max(start[i], reach))
            reach = max(reach, end[i])
    return total


def matches(
    event: Int32, start: Int64, end: Int64, name: Int32, kind: Int8, meta: Int32, names: Bools, entries: Bools,
    home: Int16, own: int64_t, limit: int64_t, count: OutInt64, total: OutInt64, first_metadata: OutInt8,
) -> NDArray[np.int64]:  # fmt: skip
    """Places of the first `limit` events whose name or metadata entry is wanted (`names`, `entries`).

    Adds number and time of all of them to `count` and `total`, by name, and notes the class of each name's first one
    where that is -1. `meta` and `home` are by event of the trace; with `own` >= 0 only events at home there count.
    """
    found = np.empty(limit, np.int64)
    places: OutInt64 = found
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(event)):
            wanted = names[name[i]] or entries[meta[event[i]]]
            if wanted and (own < 0 or home[event[i]] == own):
                count[name[i]] += 1
                total[name[i]] += end[i] - start[i]
                if first_metadata[name[i]] < 0:
                    first_metadata[name[i]] = kind[i]
                if size < limit:
                    places[size] = i
                    size += 1
    return found[:size]


def pieces(
    start: Int64, end: Int64, key: Int32, run: Int32, first: Int32, upto: Int64
) -> tuple[NDArray[Any], ...]:
    """The ops of one device, sorted by start, as stretches that do not overlap: start, end, part, run.

    At each instant the op that began last among those that run is shown. The parts of op k are `first[k]` to
    `first[k + 1] - 1`; they divide the op's length by their weights, which are added up in `upto`, in their order.
    """
    most = len(start) + 1 + int(np.diff(first)[key].sum())
    columns = empty_columns(most, np.int64, np.int64, np.int32, np.int32)
    return trim_columns(_pieces(start, end, key, run, first, upto, *columns), *columns)


def _pieces(
    start: Int64, end: Int64, key: Int32, run: Int32, first: Int32, upto: Int64,
    out_start: OutInt64, out_end: OutInt64, out_part: OutInt32, out_run: OutInt32,
) -> int:  # fmt: skip
    running: OutInt64 = np.empty(len(start), np.int64)  # ops, the one that began last on top
    made: cython.Py_ssize_t = 0
    top: cython.Py_ssize_t = 0
    now: int64_t = 0
    with cython.nogil:
        for i in range(len(start) + 1):
            until = start[i] if i < len(start) else INT64_MAX
            while top > 0:
                op = running[top - 1]
                stop = min(end[op], until)
                if stop > now:
                    low, high = first[key[op]], first[key[op] + 1]
                    begin, whole, length = start[op], upto[high - 1], end[op] - start[op]
                    for part in range(low, high):
                        after = start[op] + length * upto[part] // whole
                        if min(after, stop) > max(begin, now):
                            out_start[made], out_end[made] = max(begin, now), min(after, stop)
                            out_part[made], out_run[made] = part, run[op]
                            made += 1
                        begin = after
                    now = stop
                if end[op] > until:
                    break
                top -= 1
            if i < len(start):
                now = max(now, start[i])
                running[top] = i
                top += 1
    return made


def joined(
    start: Int64, end: Int64, part: Int32, run: Int32, label: Int32
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Pieces joined while run and label stay the same: start, end, label. `label` is per part: -1 stands for no scope,
    -2 for nothing to show. A pause within a run joins; without a run it parts."""
    columns = empty_columns(len(start), np.int64, np.int64, np.int32)
    return trim_columns(_joined(start, end, part, run, label, *columns), *columns)


def _joined(
    start: Int64, end: Int64, part: Int32, run: Int32, label: Int32,
    out_start: OutInt64, out_end: OutInt64, out_label: OutInt32,
) -> int:  # fmt: skip
    made: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(start)):
            now = label[part[i]]
            if now == -2:
                continue
            same: cython.bint = i > 0 and made > 0 and label[part[i - 1]] == now and run[i - 1] == run[i]
            if same and (run[i] >= 0 or end[i - 1] == start[i]):
                out_end[made - 1] = end[i]
                continue
            out_start[made], out_end[made], out_label[made] = start[i], end[i], now
            made += 1
    return made
