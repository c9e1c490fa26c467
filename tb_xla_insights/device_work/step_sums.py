"""What each step's ops took, on all cores of a host."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.device_work.activity import begins
from tb_xla_insights.device_work.amounts import find_amounts
from tb_xla_insights.device_work.codes import WORKS
from tb_xla_insights.device_work.kernels import add_by_step
from tb_xla_insights.trace.model import Trace

COLUMNS = ("self_ps", "work_ps", "counted_ps", "sized_ps", "flops", "model_flops", "bytes", "hbm_bytes")


def step_sums(trace: Trace, device: int | None = None) -> list[dict[str, Any]]:
    """One row per step, in the order of the host's steps: `index`, `duration_ps`, `cores` (all of the host's, or 1 with
    a `device`, an index) and COLUMNS, sums over the ops that the step launched: times in picoseconds, then FLOPs and
    bytes of work, None where no op has a count."""
    steps, ops, amounts = steps_of(trace), find_ops(trace), find_amounts(trace)
    if not steps:
        return []
    sums = np.zeros((len(steps), len(COLUMNS)), np.int64)
    step_of_run = np.ascontiguousarray(find_launches(trace).step_of_run)
    works = (amounts.known & WORKS).astype(np.int64)
    known = amounts.known * works.astype(np.uint8)
    flops, model_flops = amounts.flops * works, amounts.model_flops * works
    nbytes, hbm_bytes = amounts.bytes * works, amounts.hbm_bytes * works
    chosen = range(len(ops.devices)) if device is None else [device]
    for number in chosen:
        its = ops.devices[number]
        add_by_step(
            step_of_run, its.run, its.key, its.own_ps, begins(trace, number), known,
            flops, model_flops, nbytes, hbm_bytes, sums,
        )  # fmt: skip
    return [
        {"index": index, "duration_ps": step.duration_ps, "cores": len(chosen)} | _row(values)
        for index, (step, values) in enumerate(zip(steps, sums.tolist(), strict=True))
    ]


def _row(values: list[int]) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(COLUMNS, values, strict=True))
    if not row["counted_ps"]:
        row |= {"flops": None, "model_flops": None}
    if not row["sized_ps"]:
        row |= {"bytes": None, "hbm_bytes": None}
    return row
