"""Time, FLOPs and bytes of each step's ops, on all devices of a host or on one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.device_work.amounts import find_amounts
from tb_xla_insights.device_work.codes import IS_WORK
from tb_xla_insights.device_work.kernels import add_step_sums
from tb_xla_insights.device_work.op_kinds import starts_execution
from tb_xla_insights.trace.model import Trace

COLUMNS = (
    "self_ps",
    "work_ps",
    "flops_known_ps",
    "bytes_known_ps",
    "flops",
    "model_flops",
    "bytes",
    "hbm_bytes",
)
"""Sums of a step, as `schema.device_work` defines them: its `StepWork` has these keys."""


def step_sums(trace: Trace, device: int | None = None) -> list[dict[str, Any]]:
    """Returns one row per step, in the order of the host's steps: `index`, `duration_ps`, `cores` (the number of the
    host's devices, or 1 with a `device`, an index), and COLUMNS. These are sums over the ops that the step launched:
    times in picoseconds, then FLOPs and bytes of work, None if no op has a count."""
    steps, ops, amounts = find_steps(trace), find_ops(trace), find_amounts(trace)
    if not steps:
        return []
    sums = np.zeros((len(steps), len(COLUMNS)), np.int64)
    step_of_run = np.ascontiguousarray(find_launches(trace).step_of_run)
    is_work = (amounts.flags & IS_WORK) != 0
    flags = amounts.flags * is_work
    flops, model_flops = amounts.flops * is_work, amounts.model_flops * is_work
    nbytes, hbm_bytes = amounts.bytes * is_work, amounts.hbm_bytes * is_work
    devices = range(len(ops.devices)) if device is None else [device]
    for device_index in devices:
        device_ops, starts = ops.devices[device_index], starts_execution(trace, device_index)
        add_step_sums(
            step_of_run, device_ops.run, device_ops.key, device_ops.own_ps, starts, flags,
            flops, model_flops, nbytes, hbm_bytes, sums,
        )  # fmt: skip
    return [
        {"index": index, "duration_ps": step.duration_ps, "cores": len(devices)} | _row(values)
        for index, (step, values) in enumerate(zip(steps, sums.tolist(), strict=True))
    ]


def _row(values: list[int]) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(COLUMNS, values, strict=True))
    if not row["flops_known_ps"]:
        row |= {"flops": None, "model_flops": None}
    if not row["bytes_known_ps"]:
        row |= {"bytes": None, "hbm_bytes": None}
    return row
