"""Loops over the ops of a device, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from tb_xla_insights.trace.model import Int32, Int64


@njit("int64(int64, int64)", cache=True, nogil=True)
def _slot(value, size):  # type: ignore[no-untyped-def]
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(3)) & (size - 1)


def distinct(values: Int64) -> tuple[Int32, Int32]:
    """Where each different value occurs first, in order of occurrence, and the number of each value among them."""
    number = np.empty(len(values), np.int32)
    first, room, at, made = np.zeros(0, np.int32), 512, 0, 0
    while True:
        # The table of values grows between the kernel's calls: arrays that change inside of a loop make it slow.
        first = np.append(first, np.zeros(room - len(first), np.int32))
        at, made = _number(values, at, made, first, number)
        if at == len(values):
            return first[:made], number
        room *= 4


@njit("Tuple((int64, int64))(int64[::1], int64, int64, int32[::1], int32[::1])", cache=True, nogil=True)
def _number(values, begin, made, first, number):  # type: ignore[no-untyped-def]
    """Goes on from value `begin` until `first` is full; how far that was, and how many values are known.

    Values that follow each other in the same way again and again, as the ops of a program do, are not looked up: what
    came after a value last time is tried first.
    """
    room = len(first)
    size = 4 * room
    slots = np.full(size, -1, np.int32)
    known, after = np.empty(room, np.int64), np.zeros(room, np.int32)
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
                if made == room:
                    return i, made
                slots[at], first[made], known[made] = made, i, value
                made += 1
            found = slots[at]
            if last >= 0:
                after[last] = found
        number[i] = found
        last = found
    return len(values), made


@njit(
    "int64[::1](int64[::1], int64[::1], int64[::1], int32[::1], int32[::1], boolean[::1])",
    cache=True,
    nogil=True,
)
def own_times(start, end, nested, key, caller, known):  # type: ignore[no-untyped-def]
    """Each op's time without its recorded parts, on a device that runs ops side by side.

    Ops come sorted by start. Per distinct op, `caller` is the one whose called computations hold it (-1: none) and
    `known` says whether its program tells so; other ops keep `nested`, the time that no op inside of theirs covers.
    """
    own = np.empty(len(start), np.int64)
    covered = start.copy()
    latest = np.full(len(caller), -1, np.int32)
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
    return own


@njit(
    "void(int32[::1], int64[::1], int32[::1], int64[::1], int64[::1], int64[::1])",
    cache=True,
    nogil=True,
)
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


@njit(
    "Tuple((int32[::1], int32[::1], int64[::1], int64[::1], int64[::1], int32[::1], boolean[::1]))"
    "(int32[::1], int64[::1], int64[::1], int64[::1], int32[::1], int32[::1], int64[::1], int32[::1])",
    cache=True,
    nogil=True,
)
def stretches(key, own, start, end, run, first, upto, phase):  # type: ignore[no-untyped-def]
    """Ops of one device in order, joined while run and phase stay the same: run, phase, time, start, end, ops, and
    whether a later phase had begun in that run before. `first`, `upto` as in `tally`; `phase` per part, -1: none. The
    parts of one op lie side by side."""
    made, now, before_phase = 0, np.int32(-1), np.int32(-2)
    for i in range(len(key)):
        if own[i] > 0 and run[i] >= 0:
            for part in range(first[key[i]], first[key[i] + 1]):
                made += run[i] != now or phase[part] != before_phase
                now, before_phase = run[i], phase[part]
    out_run, out_phase = np.empty(made, np.int32), np.empty(made, np.int32)
    out_time, out_start, out_end = (
        np.empty(made, np.int64),
        np.empty(made, np.int64),
        np.empty(made, np.int64),
    )
    out_ops, out_inverted = np.empty(made, np.int32), np.empty(made, np.bool_)
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
    return out_run, out_phase, out_time, out_start, out_end, out_ops, out_inverted
