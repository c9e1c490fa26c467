"""Loops over the ops of a device, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.compiled import inlined, kernel, room
from tb_xla_insights.trace.model import Int32, Int64


@inlined
def _slot(value, size):  # type: ignore[no-untyped-def]
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(3)) & (size - 1)


def distinct(values: Int64) -> tuple[Int32, Int32]:
    """Where each different value occurs first, in order of occurrence, and the number of each value among them."""
    number = np.empty(len(values), np.int32)
    first, most, at, made = np.zeros(0, np.int32), 512, 0, 0
    while True:
        # The table of values grows between the kernel's calls: arrays that change inside of a loop make it slow.
        first = np.append(first, np.zeros(most - len(first), np.int32))
        slots, known = np.full(4 * most, -1, np.int32), np.empty(most, np.int64)
        at, made = _number(values, at, made, first, number, slots, known, np.zeros(most, np.int32))
        if at == len(values):
            return first[:made], number
        most *= 4


@kernel(
    "UniTuple(int64, 2)(int64[::1], int64, int64, int32[::1], int32[::1], int32[::1], int64[::1], int32[::1])"
)
def _number(values, begin, made, first, number, slots, known, after):  # type: ignore[no-untyped-def]
    """Goes on from value `begin` until `first` is full; how far that was, and how many values are known.

    Values that follow each other in the same way again and again, as the ops of a program do, are not looked up: what
    came after a value last time is tried first. `slots` is a hash table, all -1; `known` are the values, `after` what
    came after each.
    """
    most, size = len(first), len(slots)
    for old in range(made):
        known[old] = values[first[old]]
        at = _slot(known[old], size)
        while slots[at] >= 0:
            at = (at + 1) & (size - 1)
        slots[at] = old
    last = number[begin - 1] if begin else np.int32(-1)
    for i in range(begin, len(values)):
        value = values[i]
        found = after[last] if last >= 0 else np.int32(-1)
        if found < 0 or known[found] != value:
            at = _slot(value, size)
            while slots[at] >= 0 and known[slots[at]] != value:
                at = (at + 1) & (size - 1)
            if slots[at] < 0:
                if made == most:
                    return i, made
                slots[at], first[made], known[made] = made, i, value
                made += 1
            found = slots[at]
            if last >= 0:
                after[last] = found
        number[i] = found
        last = found
    return len(values), made


def own_times(
    start_ps: Int64, end_ps: Int64, nested_ps: Int64, key: Int32, caller: Int32, known: NDArray[np.bool_]
) -> Int64:
    """Each op's time without its recorded parts, on a device that runs ops side by side.

    Ops come sorted by start. Per distinct op, `caller` is the one whose called computations hold it (-1: none) and
    `known` says whether its program tells so; other ops keep `nested_ps`, the time that no op inside of theirs covers.
    """
    own, latest = np.empty_like(start_ps), np.full(len(caller), -1, np.int32)
    _own_times(start_ps, end_ps, nested_ps, key, caller, known, latest, own, start_ps.copy())
    return own


@kernel(
    "void(int64[::1], int64[::1], int64[::1], int32[::1], int32[::1], boolean[::1], int32[::1], int64[::1], int64[::1])"
)
def _own_times(start, end, nested, key, caller, known, latest, own, covered):  # type: ignore[no-untyped-def]
    """`latest`: the last op of each distinct one, at first -1; `covered`: up to where its parts cover each op, at first
    its start."""
    for i in range(len(start)):
        k = key[i]
        own[i] = end[i] - start[i] if known[k] else nested[i]
        latest[k] = i
        above = latest[caller[k]] if caller[k] >= 0 else -1
        if above >= 0 and end[above] > start[i]:
            until = min(end[i], end[above])
            if until > covered[above]:
                own[above] -= until - max(start[i], covered[above])
                covered[above] = until


@kernel("void(int32[::1], int64[::1], int32[::1], int64[::1], int64[::1], int64[::1])")
def tally(key, own, first, upto, time, count):  # type: ignore[no-untyped-def]
    """Adds up ops: `time` per part of each distinct op, `count` of ops per distinct op.

    The parts of op k are `first[k]` to `first[k + 1] - 1`; `upto` are their weights, added up from the op's first part
    on. Each op's time is divided exactly, so whatever ops are chosen, the parts add up to them.
    """
    for i in range(len(key)):
        k = key[i]
        count[k] += 1
        low, high = first[k], first[k + 1]
        if high - low == 1:
            time[low] += own[i]
            continue
        whole, before = upto[high - 1], np.int64(0)
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
    made = _count_stretches(key, own_ps, run, first, phase)
    columns = room(made, "i4", "i4", "i8", "i8", "i8", "i4", "?")
    _stretches(key, own_ps, start_ps, end_ps, run, first, upto, phase, *columns)
    return columns


@kernel("int64(int32[::1], int64[::1], int32[::1], int32[::1], int32[::1])")
def _count_stretches(key, own, run, first, phase):  # type: ignore[no-untyped-def]
    made, now, before_phase = 0, np.int32(-1), np.int32(-2)
    for i in range(len(key)):
        if own[i] > 0 and run[i] >= 0:
            for part in range(first[key[i]], first[key[i] + 1]):
                made += run[i] != now or phase[part] != before_phase
                now, before_phase = run[i], phase[part]
    return made


@kernel(
    "void(int32[::1], int64[::1], int64[::1], int64[::1], int32[::1], int32[::1], int64[::1], int32[::1], "
    "int32[::1], int32[::1], int64[::1], int64[::1], int64[::1], int32[::1], boolean[::1])"
)
def _stretches(  # type: ignore[no-untyped-def]
    key, own, start, end, run, first, upto, phase,
    out_run, out_phase, out_time, out_start, out_end, out_ops, out_inverted,
):  # fmt: skip
    made, now, latest = 0, np.int32(-1), np.int32(-1)
    for i in range(len(key)):
        if own[i] <= 0 or run[i] < 0:
            continue
        if run[i] != now:
            now, latest = run[i], np.int32(-1)
        low, high = first[key[i]], first[key[i] + 1]
        whole, before, reached = upto[high - 1], np.int64(0), np.int64(0)
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
