"""The pyramid's loops over events, compiled: merging narrow neighbours, grouping them by pixels, and counting.

Arrays are those of one lane or one row, sorted by start.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t, uint64_t
from cython.cimports.tb_xla_insights.arrays import (
    Int8,
    Int32,
    Int64,
    OutDouble,
    OutInt8,
    OutInt32,
    OutInt64,
    OutTable64,
)
from numpy.typing import NDArray

from tb_xla_insights.arrays import empty_columns, trim_columns


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _separating_bits(start: Int64, end: Int64, i: cython.Py_ssize_t) -> int64_t:
    """Bits that separate event i from the event before: shifted right by a level, the result is 0 if both are in one
    slice of that level, that is if both are shorter than its buckets and start in the same bucket."""
    return (end[i - 1] - start[i - 1]) | (end[i] - start[i]) | (start[i - 1] ^ start[i])


def slices_per_level(start: Int64, end: Int64) -> NDArray[np.int64]:
    """The number of slices of a lane at each level from 0 to 63."""
    # Per level, the number of events that are first merged with the event before at that level.
    merges = np.zeros(65, np.int64)
    count: OutInt64 = merges
    with cython.nogil:
        for i in range(1, len(start)):
            bits = cython.cast(uint64_t, _separating_bits(start, end, i))
            level: cython.int = 0
            width: cython.int = 32
            while width:  # as `bit_length`
                if bits >> width:
                    bits >>= width
                    level += width
                width >>= 1
            count[level + (bits > 0)] += 1
    return len(start) - merges[:64].cumsum()


def merge_slices(
    start: Int64, end: Int64, latest_end: Int64, name: Int32, class_index: Int8, event: Int32,
    first: int64_t, stop: int64_t, level: cython.int, name_count: int64_t,
) -> tuple[NDArray[Any], ...]:  # fmt: skip
    """The slices of a level that contain events `first` to `stop - 1`.

    `latest_end` is the latest end of each event and those before it; name ids are below `name_count`. Returns the
    columns start, end, name, class, count, busy, event, and the total time of the slice's events with that name.

        level     |       |       |       |     buckets of 2^level picoseconds
        events    ├─┤├┤ ├───────────┤ ├┤ ├┤
        slices    ├───┤ ├───────────┤ ├───┤     neighbours that start in one bucket, and are shorter than it, are merged
    """
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        while 0 < first < stop and _separating_bits(start, end, first) >> level == 0:
            first -= 1
        while 0 < stop < len(start) and first < stop and _separating_bits(start, end, stop) >> level == 0:
            stop += 1
        for i in range(first, stop):
            if i == first or _separating_bits(start, end, i) >> level:
                count += 1
    columns = empty_columns(count, "i8", "i8", "i4", "i1", "i4", "i8", "i4", "i8")
    _merge_slices(start, end, latest_end, name, class_index, event, first, stop, level, name_count, *columns)
    return columns


def _merge_slices(
    start: Int64, end: Int64, latest_end: Int64, name: Int32, class_index: Int8, event: Int32,
    first: int64_t, stop: int64_t, level: cython.int, name_count: int64_t,
    out_start: OutInt64, out_end: OutInt64, out_name: OutInt32, out_class: OutInt8, out_count: OutInt32,
    out_busy: OutInt64, out_event: OutInt32, out_time: OutInt64,
) -> None:  # fmt: skip
    name_time: OutInt64 = np.zeros(name_count + 1, np.int64)  # -1, no name, is the last entry
    class_time: OutInt64 = np.zeros(128, np.int64)
    i: cython.Py_ssize_t = first
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        while i < stop:
            next_first = i + 1
            while next_first < stop and _separating_bits(start, end, next_first) >> level == 0:
                next_first += 1
            out_start[size], out_end[size], out_name[size], out_class[size] = (
                start[i],
                end[i],
                name[i],
                class_index[i],
            )
            out_count[size], out_event[size], out_busy[size] = next_first - i, event[i], 0
            for member in range(i, next_first):
                previous_end = latest_end[member - 1] if member > 0 else start[member]
                out_busy[size] += max(0, end[member] - max(start[member], previous_end))
                out_end[size] = max(out_end[size], end[member])
                name_time[name[member]] += end[member] - start[member]
                class_time[class_index[member]] += end[member] - start[member]
            for member in range(i, next_first):  # the first one if times are equal
                if name_time[name[member]] > name_time[out_name[size]]:
                    out_name[size] = name[member]
                if class_time[class_index[member]] > class_time[out_class[size]]:
                    out_class[size] = class_index[member]
            out_time[size] = name_time[out_name[size]]
            for member in range(i, next_first):
                name_time[name[member]] = 0
                class_time[class_index[member]] = 0
            i = next_first
            size += 1


def group_slices(
    start: Int64, end: Int64, name: Int32, class_index: Int8, count: Int32, busy: Int64, event: Int32, time: Int64,
    first: int64_t, stop: int64_t, window_start: int64_t, level: cython.int, name_count: int64_t,
) -> tuple[NDArray[Any], ...]:  # fmt: skip
    """Groups slices `first` to `stop - 1`, except those that end before `window_start`: merges short slices of one
    class with short pauses between them.

    Returns the columns start, end, name, class, count, busy, event.
    """
    columns = empty_columns(stop - first, "i8", "i8", "i4", "i1", "i4", "i8", "i4")
    size = _group_slices(
        start,
        end,
        name,
        class_index,
        count,
        busy,
        event,
        time,
        first,
        stop,
        window_start,
        level,
        name_count,
        *columns,
    )
    return trim_columns(size, *columns)


def _group_slices(
    start: Int64, end: Int64, name: Int32, class_index: Int8, count: Int32, busy: Int64, event: Int32, time: Int64,
    first: int64_t, stop: int64_t, window_start: int64_t, level: cython.int, name_count: int64_t,
    out_start: OutInt64, out_end: OutInt64, out_name: OutInt32, out_class: OutInt8, out_count: OutInt32,
    out_busy: OutInt64, out_event: OutInt32,
) -> int:  # fmt: skip
    name_time: OutInt64 = np.zeros(name_count + 1, np.int64)
    group: cython.Py_ssize_t = -1
    group_first: cython.Py_ssize_t = first
    is_group_short: cython.bint = False
    with cython.nogil:
        for i in range(first, stop):
            if end[i] < window_start:
                continue
            is_short: cython.bint = count[i] > 1 or (end[i] - start[i]) >> level == 0
            if (
                is_group_short
                and is_short
                and class_index[i] == out_class[group]
                and max(0, start[i] - out_end[group]) >> level == 0
            ):
                out_end[group] = max(out_end[group], end[i])
                out_count[group] += count[i]
                out_busy[group] += busy[i]
                name_time[name[i]] += time[i]
                if name_time[name[i]] > name_time[out_name[group]]:
                    out_name[group] = name[i]
                continue
            if group >= 0:
                for member in range(group_first, i):
                    name_time[name[member]] = 0
            group += 1
            group_first, is_group_short = i, is_short
            out_start[group], out_end[group], out_name[group], out_class[group] = (
                start[i],
                end[i],
                name[i],
                class_index[i],
            )
            out_count[group], out_busy[group], out_event[group] = count[i], busy[i], event[i]
            name_time[name[i]] += time[i]
        group += 1
        for member in range(group):
            if out_count[member] == 1:
                out_busy[member] = 0
    return group


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _last_bucket(start: int64_t, end: int64_t, level: cython.int) -> int64_t:
    """The bucket of the last instant of an interval."""
    return (end - 1 if end > start else start) >> level


def group_fills(
    start: Int64, end: Int64, count: Int32, busy: Int64, first: int64_t, stop: int64_t, window_start: int64_t,
    level: cython.int, group_start: Int64, group_end: Int64, group_count: Int32,
) -> NDArray[np.int8]:  # fmt: skip
    """How busy each bucket is, from 0 (idle) to 15 (busy throughout), for each group with several events, concatenated.
    The groups are those that `group_slices` returns for slices `first` to `stop - 1`."""
    buckets: cython.Py_ssize_t = 0
    for group in range(len(group_start)):
        if group_count[group] > 1:
            buckets += (
                _last_bucket(group_start[group], group_end[group], level) - (group_start[group] >> level) + 1
            )
    result = np.empty(buckets, np.int8)
    if not buckets:
        return result
    _group_fills(start, end, count, busy, first, stop, window_start, level, group_start, group_end, group_count, result,
          np.zeros(buckets, np.float64))  # fmt: skip
    return result


def _group_fills(
    start: Int64, end: Int64, count: Int32, busy: Int64, first: int64_t, stop: int64_t, window_start: int64_t,
    level: cython.int, group_start: Int64, group_end: Int64, group_count: Int32, digits: OutInt8, time: OutDouble,
) -> None:  # fmt: skip
    width: int64_t = cython.cast(int64_t, 1) << level
    i: cython.Py_ssize_t = first
    fill: cython.Py_ssize_t = 0
    bucket: int64_t
    with cython.nogil:
        for group in range(len(group_start)):
            events_left: int64_t = group_count[group]
            first_bucket = group_start[group] >> level
            group_stop = group_end[group]
            while events_left > 0 and i < stop:
                if end[i] >= window_start:
                    events_left -= count[i]
                    if group_count[group] > 1 and end[i] > start[i]:
                        busy_share = cython.cast(cython.double, busy[i]) / (end[i] - start[i])
                        for bucket in range(start[i] >> level, ((end[i] - 1) >> level) + 1):
                            low, high = bucket * width, (bucket + 1) * width
                            time[fill + bucket - first_bucket] += busy_share * (
                                min(high, end[i]) - max(low, start[i])
                            )
                i += 1
            if group_count[group] == 1:
                continue
            for bucket in range(first_bucket, _last_bucket(group_start[group], group_stop, level) + 1):
                low, high = max(bucket * width, group_start[group]), min((bucket + 1) * width, group_stop)
                # Any work and any pause stays visible.
                share = time[fill] / (high - low) if high > low else 0.0
                digit: cython.int = cython.cast(cython.int, 15 * share + 0.5)
                if share > 0:
                    digit = max(1, digit)
                digits[fill] = min(15 if share > 0.999999 else 14, digit)
                fill += 1


def class_times(
    start: Int64, end: Int64, class_index: Int8, class_count: int64_t, duration: int64_t, buckets: int64_t
) -> NDArray[np.int64]:
    """The time of each of `class_count` classes in each bucket; bucket i starts at `duration * i // buckets`."""
    result = np.zeros((class_count, buckets), np.int64)
    time: OutTable64 = result
    first: int64_t = 0
    first_bucket_end: int64_t = duration // buckets  # of the first bucket that the event touches
    with cython.nogil:
        for i in range(len(start)):
            while first_bucket_end <= start[i] and first < buckets - 1:
                first += 1
                first_bucket_end = duration * (first + 1) // buckets
            bucket, begin, bucket_end = first, start[i], first_bucket_end
            while bucket_end < end[i] and bucket < buckets - 1:
                time[class_index[i], bucket] += max(0, bucket_end - begin)
                bucket, begin = bucket + 1, max(begin, bucket_end)
                bucket_end = duration * (bucket + 1) // buckets
            time[class_index[i], bucket] += max(0, min(bucket_end, end[i]) - begin)
    return result
