"""Loops over the ops of a device, compiled."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.stdint import int32_t, int64_t, uint64_t
from cython.cimports.tb_xla_insights.arrays import (
    Bools,
    Int32,
    Int64,
    OutBools,
    OutInt32,
    OutInt64,
)
from numpy.typing import NDArray

from tb_xla_insights.arrays import empty_columns


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _slot(value: int64_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The preferred slot of a value in a hash table of 2^n slots."""
    odd: int64_t = -7046029254386353131  # spreads consecutive values over the table
    mixed: uint64_t = cython.cast(uint64_t, value * odd)
    return cython.cast(cython.Py_ssize_t, (mixed ^ (mixed >> 29)) >> 3) & (size - 1)


def find_distinct(values: Int64) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The index of the first occurrence of each distinct value, in order of occurrence, and per value, the number of
    its distinct value."""
    number = np.empty(len(values), np.int32)
    first, capacity, begin, count = np.zeros(0, np.int32), 512, 0, 0
    while True:
        first = np.append(first, np.zeros(capacity - len(first), np.int32))
        slots, distinct_values = np.full(4 * capacity, -1, np.int32), np.empty(capacity, np.int64)
        successors = np.zeros(capacity, np.int32)
        begin, count = _number_values(values, begin, count, first, number, slots, distinct_values, successors)
        if begin == len(values):
            return first[:count], number
        capacity *= 4


def _number_values(
    values: Int64, begin: int64_t, count: int32_t,
    first: OutInt32, number: OutInt32, slots: OutInt32, distinct_values: OutInt64, successors: OutInt32,
) -> tuple[int, int]:  # fmt: skip
    """Numbers the values from index `begin` on until `first` is full. Returns the index of the first value not
    numbered, and the number of distinct values, `count` of which were known on entry.

    The ops of a program repeat in the same order. The successor of a value at its last occurrence is therefore tried
    before the hash table. `slots`: the hash table, all -1 on entry; `distinct_values` and `successors`: per distinct
    value, the value and the number of the value that followed it last.
    """
    size: cython.Py_ssize_t = len(slots)
    end: cython.Py_ssize_t = len(values)
    with cython.nogil:
        for index in range(count):
            distinct_values[index] = values[first[index]]
            slot = _slot(distinct_values[index], size)
            while slots[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            slots[slot] = index
        last: int32_t = number[begin - 1] if begin else -1
        for i in range(begin, len(values)):
            value = values[i]
            candidate: int32_t = successors[last] if last >= 0 else -1
            if candidate < 0 or distinct_values[candidate] != value:
                slot = _slot(value, size)
                while slots[slot] >= 0 and distinct_values[slots[slot]] != value:
                    slot = (slot + 1) & (size - 1)
                if slots[slot] < 0:
                    if count == len(first):
                        end = i
                        break
                    slots[slot], first[count], distinct_values[count] = count, i, value
                    count += 1
                candidate = slots[slot]
                if last >= 0:
                    successors[last] = candidate
            number[i] = candidate
            last = candidate
    return end, count


def own_times(
    start_ps: Int64, end_ps: Int64, own_by_nesting_ps: Int64, key: Int32, caller: Int32, in_program: Bools
) -> NDArray[np.int64]:
    """Each op's time without its inner ops, on a device that runs ops side by side.

    Ops are sorted by start. Per distinct op, `caller` is the distinct op whose called computations contain it (-1:
    none), and `in_program` whether its program is known to have it. Ops not found in a program keep
    `own_by_nesting_ps`, their time without the ops nested in them.
    """
    result = np.empty(len(start_ps), np.int64)
    own_ps: OutInt64 = result
    latest: OutInt32 = np.full(len(caller), -1, np.int32)  # the last op of each distinct op
    covered_until: OutInt64 = np.array(start_ps)  # the latest end of each op's inner ops so far
    with cython.nogil:
        for i in range(len(start_ps)):
            k = key[i]
            own_ps[i] = end_ps[i] - start_ps[i] if in_program[k] else own_by_nesting_ps[i]
            latest[k] = i
            parent: int32_t = latest[caller[k]] if caller[k] >= 0 else -1
            if parent >= 0 and end_ps[parent] > start_ps[i]:
                until = min(end_ps[i], end_ps[parent])
                if until > covered_until[parent]:
                    own_ps[parent] -= until - max(start_ps[i], covered_until[parent])
                    covered_until[parent] = until
    return result


def sum_by_part(
    key: Int32, own_ps: Int64, first_part: Int32, cumulative_weights: Int64, time: OutInt64, count: OutInt64
) -> None:
    """Sums ops: adds own time to `time` per part of each distinct op, and the number of ops to `count` per distinct op.

    The parts of distinct op k are `first_part[k]` to `first_part[k + 1] - 1`. `cumulative_weights`, per part: the sum
    of the weights from the op's first part up to this one. Each op's time is divided exactly, so that the times of the
    parts of any ops add up to the time of these ops.
    """
    with cython.nogil:
        for i in range(len(key)):
            k = key[i]
            count[k] += 1
            low, high = first_part[k], first_part[k + 1]
            if high - low == 1:
                time[low] += own_ps[i]
                continue
            total = cumulative_weights[high - 1]
            previous: int64_t = 0
            for part in range(low, high):
                accumulated = own_ps[i] * cumulative_weights[part] // total
                time[part] += accumulated - previous
                previous = accumulated


def phase_segments(
    key: Int32,
    own_ps: Int64,
    start_ps: Int64,
    end_ps: Int64,
    run: Int32,
    first_part: Int32,
    cumulative_weights: Int64,
    phase: Int32,
) -> tuple[NDArray[Any], ...]:
    """Consecutive ops of one device, merged while run and phase stay the same: run, phase, time, start, end, number of
    ops, and whether a later phase had already begun in that run. `first_part` and `cumulative_weights` as in
    `sum_by_part`; `phase` per part, -1: none. The parts of one op follow each other in time."""
    columns = empty_columns(
        _count_segments(key, own_ps, run, first_part, phase), "i4", "i4", "i8", "i8", "i8", "i4", "?"
    )
    _fill_segments(key, own_ps, start_ps, end_ps, run, first_part, cumulative_weights, phase, *columns)
    return columns


def _count_segments(key: Int32, own_ps: Int64, run: Int32, first_part: Int32, phase: Int32) -> int:
    count: cython.Py_ssize_t = 0
    current_run: int32_t = -1
    current_phase: int32_t = -2
    with cython.nogil:
        for i in range(len(key)):
            if own_ps[i] > 0 and run[i] >= 0:
                for part in range(first_part[key[i]], first_part[key[i] + 1]):
                    count += run[i] != current_run or phase[part] != current_phase
                    current_run, current_phase = run[i], phase[part]
    return count


def _fill_segments(
    key: Int32, own_ps: Int64, start: Int64, end: Int64, run: Int32,
    first_part: Int32, cumulative_weights: Int64, phase: Int32,
    out_run: OutInt32, out_phase: OutInt32, out_time: OutInt64, out_start: OutInt64, out_end: OutInt64,
    out_ops: OutInt32, out_inverted: OutBools,
) -> None:  # fmt: skip
    count: cython.Py_ssize_t = 0
    current_run: int32_t = -1
    latest_phase: int32_t = -1
    with cython.nogil:
        for i in range(len(key)):
            if own_ps[i] <= 0 or run[i] < 0:
                continue
            if run[i] != current_run:
                current_run, latest_phase = run[i], -1
            low, high = first_part[key[i]], first_part[key[i] + 1]
            total = cumulative_weights[high - 1]
            previous: int64_t = 0
            weight_before: int64_t = 0
            for part in range(low, high):
                begin, until, accumulated = start[i], end[i], own_ps[i]
                if high - low > 1:
                    accumulated = own_ps[i] * cumulative_weights[part] // total
                    begin = start[i] + (end[i] - start[i]) * weight_before // total
                    weight_before = cumulative_weights[part]
                    until = start[i] + (end[i] - start[i]) * weight_before // total
                if count and out_run[count - 1] == current_run and out_phase[count - 1] == phase[part]:
                    out_time[count - 1] += accumulated - previous
                    out_end[count - 1] = max(out_end[count - 1], until)
                    if part == low:  # an op counts once in a segment, with its first part there
                        out_ops[count - 1] += 1
                else:
                    out_run[count], out_phase[count] = current_run, phase[part]
                    out_time[count] = accumulated - previous
                    out_start[count], out_end[count], out_ops[count] = begin, until, 1
                    out_inverted[count] = 0 <= phase[part] < latest_phase
                    count += 1
                latest_phase = max(latest_phase, phase[part])
                previous = accumulated
