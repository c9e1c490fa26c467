"""Loops over the ops of a device, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit("int64(int64, int64)", cache=True, nogil=True)
def _slot(value, size):  # type: ignore[no-untyped-def]
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(3)) & (size - 1)


@njit("Tuple((int32[::1], int32[::1]))(int64[::1])", cache=True, nogil=True)
def distinct(values):  # type: ignore[no-untyped-def]
    """Where each different value occurs first, in order of occurrence, and the number of each value among them."""
    size = 1024
    slots = np.full(size, -1, np.int32)
    first = np.empty(size // 2, np.int32)
    number = np.empty(len(values), np.int32)
    made = 0
    for i in range(len(values)):
        at = _slot(values[i], size)
        while slots[at] >= 0 and values[first[slots[at]]] != values[i]:
            at = (at + 1) & (size - 1)
        if slots[at] < 0:
            if made == len(first):  # half full: twice the room
                size *= 2
                slots = np.full(size, -1, np.int32)
                more = np.empty(size // 2, np.int32)
                more[:made] = first
                first = more
                for known in range(made):
                    at = _slot(values[first[known]], size)
                    while slots[at] >= 0:
                        at = (at + 1) & (size - 1)
                    slots[at] = known
                at = _slot(values[i], size)
                while slots[at] >= 0:
                    at = (at + 1) & (size - 1)
            slots[at] = made
            first[made] = i
            made += 1
        number[i] = slots[at]
    return first[:made].copy(), number


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
    room = 0
    for i in range(len(key)):
        if own[i] > 0 and run[i] >= 0:
            room += first[key[i] + 1] - first[key[i]]
    out_run, out_phase = np.empty(room, np.int32), np.empty(room, np.int32)
    out_time, out_start, out_end = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    out_ops, out_inverted = np.empty(room, np.int32), np.empty(room, np.bool_)
    made, now, latest = 0, np.int32(-1), np.int32(-1)
    for i in range(len(key)):
        if own[i] <= 0 or run[i] < 0:
            continue
        if run[i] != now:
            now, latest = run[i], np.int32(-1)
        low, high = first[key[i]], first[key[i] + 1]
        whole, before, reached = upto[high - 1], np.int64(0), np.int64(0)
        for part in range(low, high):
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
    return (
        out_run[:made].copy(), out_phase[:made].copy(), out_time[:made].copy(), out_start[:made].copy(),
        out_end[:made].copy(), out_ops[:made].copy(), out_inverted[:made].copy(),
    )  # fmt: skip
