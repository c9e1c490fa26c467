"""Compiled loops over the ops of a device."""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import int32_t, int64_t
from cython.cimports.tb_xla_insights.arrays import Bools, Bytes, Int32, Int64, OutTable64

cython.declare(IS_WORK=cython.int, HAS_FLOPS=cython.int, HAS_BYTES=cython.int)
from tb_xla_insights.device_work.codes import HAS_BYTES, HAS_FLOPS, IS_WORK  # noqa: E402


def add_step_sums(
    step: Int32, run: Int32, key: Int32, own_ps: Int64, starts_execution: Bools,
    flags: Bytes, flops: Int64, model_flops: Int64, nbytes: Int64, hbm_bytes: Int64, sums: OutTable64,
) -> None:  # fmt: skip
    """Adds ops to `sums`, a row per step with the columns `step_sums.COLUMNS`.

    Per run: its `step` (-1: none). Per op: its `run` (-1: none), `key` (its distinct op), its own time, and whether an
    execution starts with it. Per distinct op: `flags` of `codes`, and the FLOPs and bytes of one execution.
    """
    i: cython.Py_ssize_t
    s: int32_t
    k: int32_t
    with cython.nogil:
        for i in range(len(key)):
            s = step[run[i]] if run[i] >= 0 else -1
            if s < 0:
                continue
            k = key[i]
            sums[s, 0] += own_ps[i]
            if flags[k] & IS_WORK:
                sums[s, 1] += own_ps[i]
            if flags[k] & HAS_FLOPS:
                sums[s, 2] += own_ps[i]
            if flags[k] & HAS_BYTES:
                sums[s, 3] += own_ps[i]
            if starts_execution[i]:
                sums[s, 4] += flops[k]
                sums[s, 5] += model_flops[k]
                sums[s, 6] += nbytes[k]
                sums[s, 7] += hbm_bytes[k]


def add_step_times(
    step: Int32, run: Int32, key: Int32, own_ps: Int64, first_part: Int32, weights: Int64, row: Int32,
    sums: OutTable64,
) -> None:  # fmt: skip
    """Adds the own times of ops to `sums`, which has a column per step.

    Per run: its `step` (-1: none). Per op: its `run` (-1: none), `key` (its distinct op), and its own time, which is
    divided among the parts of the distinct op as in `propagation.kernels.sum_by_part`. Per distinct op: `first_part`.
    Per part: its cumulative weight within the distinct op (`weights`), and its `row` in `sums`.
    """
    i: cython.Py_ssize_t
    part: cython.Py_ssize_t
    s: int32_t
    k: int32_t
    total_weight: int64_t
    before: int64_t
    until: int64_t
    with cython.nogil:
        for i in range(len(key)):
            s = step[run[i]] if run[i] >= 0 else -1
            if s < 0:
                continue
            k = key[i]
            total_weight = weights[first_part[k + 1] - 1]
            before = 0
            for part in range(first_part[k], first_part[k + 1]):
                until = own_ps[i] * weights[part] // total_weight
                sums[row[part], s] += until - before
                before = until
