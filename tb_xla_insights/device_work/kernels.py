"""Loops over the ops of a device, compiled."""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import int32_t, int64_t
from cython.cimports.tb_xla_insights.arrays import Bools, Bytes, Int32, Int64, OutTable64

cython.declare(WORKS=cython.int, COUNTED=cython.int, SIZED=cython.int)
from tb_xla_insights.device_work.codes import COUNTED, SIZED, WORKS  # noqa: E402


def add_by_step(
    step: Int32, run: Int32, key: Int32, own: Int64, begins: Bools,
    known: Bytes, flops: Int64, model_flops: Int64, nbytes: Int64, hbm_bytes: Int64, sums: OutTable64,
) -> None:  # fmt: skip
    """Adds ops to `sums`, a row per step, with the columns `steps.COLUMNS`. Per run its `step` (-1: none); per op its
    run (-1: none), which distinct op it is, its own time, and whether an execution begins with it; per distinct op the
    bits `WORKS`, `COUNTED` and `SIZED`, and what one execution takes."""
    i: cython.Py_ssize_t
    s: int32_t
    k: int32_t
    with cython.nogil:
        for i in range(len(key)):
            s = step[run[i]] if run[i] >= 0 else -1
            if s < 0:
                continue
            k = key[i]
            sums[s, 0] += own[i]
            if known[k] & WORKS:
                sums[s, 1] += own[i]
            if known[k] & COUNTED:
                sums[s, 2] += own[i]
            if known[k] & SIZED:
                sums[s, 3] += own[i]
            if begins[i]:
                sums[s, 4] += flops[k]
                sums[s, 5] += model_flops[k]
                sums[s, 6] += nbytes[k]
                sums[s, 7] += hbm_bytes[k]


def add_parts_by_step(
    step: Int32, run: Int32, key: Int32, own: Int64, first: Int32, upto: Int64, place: Int32, sums: OutTable64
) -> None:
    """Adds the own times of ops to `sums`, a row per place and a column per step. Per run its `step` (-1: none); per op
    its run (-1: none), which distinct op it is, and its time, which is divided among the parts of that one as
    `propagation.kernels.tally` divides it; per part its `place`."""
    i: cython.Py_ssize_t
    part: cython.Py_ssize_t
    s: int32_t
    k: int32_t
    whole: int64_t
    before: int64_t
    now: int64_t
    with cython.nogil:
        for i in range(len(key)):
            s = step[run[i]] if run[i] >= 0 else -1
            if s < 0:
                continue
            k = key[i]
            whole = upto[first[k + 1] - 1]
            before = 0
            for part in range(first[k], first[k + 1]):
                now = own[i] * upto[part] // whole
                sums[place[part], s] += now - before
                before = now
