"""Compiled loops over the tasks of threads and the flows between them.

All arrays belong to the caller. Arrays that a kernel only reads come first, arrays that it fills or changes come last.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import int32_t, int64_t
from cython.cimports.tb_xla_insights.arrays import Bools, Int16, Int32, Int64, OutBools, OutInt32, OutTable32

cython.declare(LAUNCH=cython.int, RUN_START=cython.int, SYNC=cython.int, MARKER=cython.int)
cython.declare(DYNAMO=cython.int, DYNAMO_PART=cython.int)
from tb_xla_insights.analysis.codes import DYNAMO, DYNAMO_PART, LAUNCH, MARKER, RUN_START, SYNC  # noqa: E402


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
