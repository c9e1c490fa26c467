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
    row: int32_t
    op: int32_t
    with cython.nogil:
        for i in range(len(key)):
            row = step[run[i]] if run[i] >= 0 else -1
            if row < 0:
                continue
            op = key[i]
            sums[row, 0] += own_ps[i]
            if flags[op] & IS_WORK:
                sums[row, 1] += own_ps[i]
            if flags[op] & HAS_FLOPS:
                sums[row, 2] += own_ps[i]
            if flags[op] & HAS_BYTES:
                sums[row, 3] += own_ps[i]
            if starts_execution[i]:
                sums[row, 4] += flops[op]
                sums[row, 5] += model_flops[op]
                sums[row, 6] += nbytes[op]
                sums[row, 7] += hbm_bytes[op]


def add_step_times(
    step: Int32, run: Int32, key: Int32, own_ps: Int64, first_part: Int32, cumulative_weights: Int64, row: Int32,
    sums: OutTable64,
) -> None:  # fmt: skip
    """Adds the own times of ops to `sums`, which has a column per step.

    Per run: its `step` (-1: none). Per op: its `run` (-1: none), `key` (its distinct op), and its own time, which is
    divided among the parts of the distinct op as in `propagation.kernels.sum_by_part`. Per distinct op: `first_part`.
    Per part: `cumulative_weights`, the sum of the weights from the op's first part up to this one, and `row` in `sums`.
    """
    i: cython.Py_ssize_t
    part: cython.Py_ssize_t
    column: int32_t
    op: int32_t
    total_weight: int64_t
    before: int64_t
    until: int64_t
    with cython.nogil:
        for i in range(len(key)):
            column = step[run[i]] if run[i] >= 0 else -1
            if column < 0:
                continue
            op = key[i]
            total_weight = cumulative_weights[first_part[op + 1] - 1]
            before = 0
            for part in range(first_part[op], first_part[op + 1]):
                until = own_ps[i] * cumulative_weights[part] // total_weight
                sums[row[part], column] += until - before
                before = until
