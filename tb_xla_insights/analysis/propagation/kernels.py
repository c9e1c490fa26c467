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
    """Where a value stands in a hash table of 2^n slots."""
    odd: int64_t = -7046029254386353131  # spreads neighbours over the table
    mixed: uint64_t = cython.cast(uint64_t, value * odd)
    return cython.cast(cython.Py_ssize_t, (mixed ^ (mixed >> 29)) >> 3) & (size - 1)


def distinct(values: Int64) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Where each different value occurs first, in order of occurrence, and the number of each value among them."""
    number = np.empty(len(values), np.int32)
    first, most, at, made = np.zeros(0, np.int32), 512, 0, 0
    while True:
        first = np.append(first, np.zeros(most - len(first), np.int32))
        slots, known = np.full(4 * most, -1, np.int32), np.empty(most, np.int64)
        at, made = _number(values, at, made, first, number, slots, known, np.zeros(most, np.int32))
        if at == len(values):
            return first[:made], number
        most *= 4


def _number(
    values: Int64, begin: int64_t, made: int32_t,
    first: OutInt32, number: OutInt32, slots: OutInt32, known: OutInt64, after: OutInt32,
) -> tuple[int, int]:  # fmt: skip
    """Goes on from value `begin` until `first` is full; how far that was, and how many values are known.

    Values that follow each other in the same way again and again, as the ops of a program do, are not looked up: what
    came after a value last time is tried first. `slots` is a hash table, all -1; `known` are the values, `after` what
    came after each.
    """
    size: cython.Py_ssize_t = len(slots)
    upto: cython.Py_ssize_t = len(values)
    with cython.nogil:
        for old in range(made):
            known[old] = values[first[old]]
            at = _slot(known[old], size)
            while slots[at] >= 0:
                at = (at + 1) & (size - 1)
            slots[at] = old
        last: int32_t = number[begin - 1] if begin else -1
        for i in range(begin, len(values)):
            value = values[i]
            found: int32_t = after[last] if last >= 0 else -1
            if found < 0 or known[found] != value:
                at = _slot(value, size)
                while slots[at] >= 0 and known[slots[at]] != value:
                    at = (at + 1) & (size - 1)
                if slots[at] < 0:
                    if made == len(first):
                        upto = i
                        break
                    slots[at], first[made], known[made] = made, i, value
                    made += 1
                found = slots[at]
                if last >= 0:
                    after[last] = found
            number[i] = found
            last = found
    return upto, made


def own_times(
    start_ps: Int64, end_ps: Int64, nested_ps: Int64, key: Int32, caller: Int32, known: Bools
) -> NDArray[np.int64]:
    """Each op's time without its recorded parts, on a device that runs ops side by side.

    Ops come sorted by start. Per distinct op, `caller` is the one whose called computations hold it (-1: none) and
    `known` says whether its program tells so; other ops keep `nested_ps`, the time that no op inside of theirs covers.
    """
    result = np.empty(len(start_ps), np.int64)
    own: OutInt64 = result
    latest: OutInt32 = np.full(len(caller), -1, np.int32)  # the last op of each distinct one
    covered: OutInt64 = np.array(start_ps)  # up to where each op's parts cover it
    with cython.nogil:
        for i in range(len(start_ps)):
            k = key[i]
            own[i] = end_ps[i] - start_ps[i] if known[k] else nested_ps[i]
            latest[k] = i
            above: int32_t = latest[caller[k]] if caller[k] >= 0 else -1
            if above >= 0 and end_ps[above] > start_ps[i]:
                until = min(end_ps[i], end_ps[above])
                if until > covered[above]:
                    own[above] -= until - max(start_ps[i], covered[above])
                    covered[above] = until
    return result


def tally(key: Int32, own: Int64, first: Int32, upto: Int64, time: OutInt64, count: OutInt64) -> None:
    """Adds up ops: `time` per part of each distinct op, `count` of ops per distinct op.

    The parts of op k are `first[k]` to `first[k + 1] - 1`; `upto` are their weights, added up from the op's first part
    on. Each op's time is divided exactly, so whatever ops are chosen, the parts add up to them.
    """
    with cython.nogil:
        for i in range(len(key)):
            k = key[i]
            count[k] += 1
            low, high = first[k], first[k + 1]
            if high - low == 1:
                time[low] += own[i]
                continue
            whole = upto[high - 1]
            before: int64_t = 0
            for part in range(low, high):
                now = own[i] * upto[part] // whole
                time[part] += now - before
                before = now


def stretches(
    key: Int32,
    own_ps: Int64,
    start_ps: Int64,
    end_ps: Int64,
    run: Int32,
    first: Int32,
    upto: Int64,
    phase: Int32,
) -> tuple[NDArray[Any], ...]:
    """Ops of one device in order, joined while run and phase stay the same: run, phase, time, start, end, ops, and
    whether a later phase had begun in that run before. `first`, `upto` as in `tally`; `phase` per part, -1: none. The
    parts of one op lie side by side."""
    columns = empty_columns(
        _count_stretches(key, own_ps, run, first, phase), "i4", "i4", "i8", "i8", "i8", "i4", "?"
    )
    _stretches(key, own_ps, start_ps, end_ps, run, first, upto, phase, *columns)
    return columns


def _count_stretches(key: Int32, own: Int64, run: Int32, first: Int32, phase: Int32) -> int:
    made: cython.Py_ssize_t = 0
    now: int32_t = -1
    before: int32_t = -2
    with cython.nogil:
        for i in range(len(key)):
            if own[i] > 0 and run[i] >= 0:
                for part in range(first[key[i]], first[key[i] + 1]):
                    made += run[i] != now or phase[part] != before
                    now, before = run[i], phase[part]
    return made


def _stretches(
    key: Int32, own: Int64, start: Int64, end: Int64, run: Int32, first: Int32, upto: Int64, phase: Int32,
    out_run: OutInt32, out_phase: OutInt32, out_time: OutInt64, out_start: OutInt64, out_end: OutInt64,
    out_ops: OutInt32, out_inverted: OutBools,
) -> None:  # fmt: skip
    made: cython.Py_ssize_t = 0
    now: int32_t = -1
    latest: int32_t = -1
    with cython.nogil:
        for i in range(len(key)):
            if own[i] <= 0 or run[i] < 0:
                continue
            if run[i] != now:
                now, latest = run[i], -1
            low, high = first[key[i]], first[key[i] + 1]
            whole = upto[high - 1]
            before: int64_t = 0
            reached: int64_t = 0
            for part in range(low, high):
                begin, until, after = start[i], end[i], own[i]
                if high - low > 1:
                    after = own[i] * upto[part] // whole
                    begin = start[i] + (end[i] - start[i]) * reached // whole
                    reached = upto[part]
                    until = start[i] + (end[i] - start[i]) * reached // whole
                if made and out_run[made - 1] == now and out_phase[made - 1] == phase[part]:
                    out_time[made - 1] += after - before
                    out_end[made - 1] = max(out_end[made - 1], until)
                    out_ops[made - 1] += 1
                else:
                    out_run[made], out_phase[made], out_time[made] = now, phase[part], after - before
                    out_start[made], out_end[made], out_ops[made] = begin, until, 1
                    out_inverted[made] = 0 <= phase[part] < latest
                    made += 1
                latest = max(latest, phase[part])
                before = after
