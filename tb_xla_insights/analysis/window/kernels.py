"""Sums by name, compiled. Arrays are the caller's: those that are only read come first, those that are filled last."""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tb_xla_insights.arrays import Bools, Int8, Int32, Int64, OutInt32, OutInt64, OutTable64


def events_by_name(
    start: Int64, duration: Int64, name: Int32, start_ps: int64_t, end_ps: int64_t,
    place: OutInt32, found: OutInt32, count: OutInt64, total: OutInt64, longest: OutInt32,
) -> int:  # fmt: skip
    """The events, sorted by start, that touch a window, by name, as `times.NameTimes`. `place`: which entry a name
    has, at first -1 for all. Returns how many names there are."""
    made: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(start)):
            until = start[i] + duration[i]
            if start[i] >= end_ps:
                break
            if until <= start_ps and start[i] < start_ps:
                continue
            at = place[name[i]]
            if at < 0:
                at = made
                place[name[i]], found[at], longest[at] = at, name[i], i
                count[at] = total[at] = 0
                made += 1
            count[at] += 1
            total[at] += min(until, end_ps) - max(start[i], start_ps)
            if duration[i] > duration[longest[at]]:
                longest[at] = i
    return made


def sums_by_name(
    name: Int32, time: Int64, place: OutInt32, found: OutInt32, count: OutInt64, total: OutInt64
) -> int:
    """How many there are of each name, and their time. `place`: which entry a name has, at first -1 for all. Returns
    how many names there are."""
    made: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(name)):
            at = place[name[i]]
            if at < 0:
                at = made
                place[name[i]], found[at] = at, name[i]
                count[at] = total[at] = 0
                made += 1
            count[at] += 1
            total[at] += time[i]
    return made


def stretches_by_name(
    start: Int64, end: Int64, kind: Int8, row: Int32, first: int64_t, name: Int32, is_op: Bools,
    start_ps: int64_t, end_ps: int64_t, place: Int32, own: OutTable64,
) -> None:  # fmt: skip
    """Adds the time of stretches in a window to `own`, by the place of their event's name and by class; the last two
    columns are of those without a class, of ops the very last. Rows of events count from `first`."""
    none: cython.Py_ssize_t = own.shape[1] - 2
    with cython.nogil:
        for i in range(len(start)):
            time = min(end[i], end_ps) - max(start[i], start_ps)
            if time <= 0:
                continue
            event = row[i] - first
            column: cython.Py_ssize_t = kind[i]
            if column < 0:
                column = none + 1 if is_op[event] else none
            own[place[name[event]], column] += time
