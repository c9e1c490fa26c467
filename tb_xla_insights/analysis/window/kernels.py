"""Sums by name, compiled. Input arrays come first, output arrays last; the caller allocates all of them."""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tb_xla_insights.arrays import Bools, Int8, Int32, Int64, OutInt32, OutInt64, OutTable64


def events_by_name(
    start: Int64, duration: Int64, name: Int32, start_ps: int64_t, end_ps: int64_t,
    index_of_name: OutInt32, names: OutInt32, count: OutInt64, total: OutInt64, longest: OutInt32,
) -> int:  # fmt: skip
    """Sums the events (sorted by start) that touch a window by name, as in `name_times.NameTimes`. `index_of_name`: the
    row of each name; -1 for all on entry. Returns the number of names."""
    name_count: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(start)):
            until = start[i] + duration[i]
            if start[i] >= end_ps:
                break
            if until <= start_ps and start[i] < start_ps:
                continue
            row = index_of_name[name[i]]
            if row < 0:
                row = name_count
                index_of_name[name[i]], names[row], longest[row] = row, name[i], i
                count[row] = total[row] = 0
                name_count += 1
            count[row] += 1
            total[row] += min(until, end_ps) - max(start[i], start_ps)
            if duration[i] > duration[longest[row]]:
                longest[row] = i
    return name_count


def sums_by_name(
    name: Int32, time: Int64, index_of_name: OutInt32, names: OutInt32, count: OutInt64, total: OutInt64
) -> int:
    """Counts ops and sums their time by name. `index_of_name`: the row of each name; -1 for all on entry. Returns
    the number of names."""
    name_count: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(name)):
            row = index_of_name[name[i]]
            if row < 0:
                row = name_count
                index_of_name[name[i]], names[row] = row, name[i]
                count[row] = total[row] = 0
                name_count += 1
            count[row] += 1
            total[row] += time[i]
    return name_count


def segments_by_name(
    start: Int64, end: Int64, class_index: Int8, row: Int32, first: int64_t, name: Int32, is_op: Bools,
    start_ps: int64_t, end_ps: int64_t, index_of_name: Int32, own_ps: OutTable64,
) -> None:  # fmt: skip
    """Adds the time of segments in a window to `own_ps`: a row per name of the segment's event (`index_of_name`), a
    column per class. Segments without a class go to the last column if their event is an op, else to the second to
    last. `row`: rows of events in the trace; `name` and `is_op` begin at row `first`."""
    no_class: cython.Py_ssize_t = own_ps.shape[1] - 2
    with cython.nogil:
        for i in range(len(start)):
            time = min(end[i], end_ps) - max(start[i], start_ps)
            if time <= 0:
                continue
            event = row[i] - first
            column: cython.Py_ssize_t = class_index[i]
            if column < 0:
                column = no_class + 1 if is_op[event] else no_class
            own_ps[index_of_name[name[event]], column] += time
