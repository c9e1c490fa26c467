"""The own time of each op in each step, on all devices of a host."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.programs import module_names
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.arrays import Int64
from tb_xla_insights.device_work.kernels import add_step_times
from tb_xla_insights.trace.model import Trace

MAX_CELLS = 200_000
"""The maximum number of values, each the time of an op in a step, that one host reports by op: 1.6 MB."""

Key = tuple[str, str, str | None]
"""Program, op and annotation (None: none), as in the rows of ops."""


class OpTimes(NamedTuple):
    """`ops`: times of each op, per step; beyond MAX_CELLS only of the ops with most time. `rest`: times of all other
    ops, by annotation. Together they are the own time of all ops that steps launched. `device_count`: the number of
    the host's devices."""

    device_count: int
    ops: dict[Key, Int64]
    rest: dict[str | None, Int64]


def op_times(trace: Trace, max_cells: int = MAX_CELLS) -> OpTimes:
    """Returns the times of one host; a step's ops are those that it launched."""
    step_count, ops, nodes = len(find_steps(trace)), find_ops(trace), find_nodes(trace)
    step_of_run = np.ascontiguousarray(find_launches(trace).step_of_run)
    part_times = ops.sums(ops.of_runs(step_of_run >= 0)).part_ps
    longest = np.argsort(-part_times, kind="stable")[: max_cells // max(1, step_count)]
    listed_parts = longest[part_times[longest] > 0]
    # Rows of `sums`: the listed parts, then one per annotation, then one for no annotation.
    row = np.where(nodes.of_part >= 0, nodes.of_part, len(nodes.path)).astype(np.int32)
    row += np.int32(len(listed_parts))
    row[listed_parts] = np.arange(len(listed_parts), dtype=np.int32)
    sums = np.zeros((len(listed_parts) + len(nodes.path) + 1, step_count), np.int64)
    for device in ops.devices:
        add_step_times(
            step_of_run,
            device.run,
            device.key,
            device.own_ps,
            ops.first_part,
            ops.cumulative_weights,
            row,
            sums,
        )
    modules = module_names(trace)
    op_of_part = np.repeat(np.arange(len(ops.name)), np.diff(ops.first_part))
    times: dict[Key, Int64] = {}
    for part, part_sums in zip(listed_parts.tolist(), sums, strict=False):
        op, node = int(op_of_part[part]), int(nodes.of_part[part])
        program = modules.get(ops.program[op]) or ops.program[op]
        key = program, ops.name[op], nodes.path[node] if node >= 0 else None
        times[key] = times[key] + part_sums if key in times else part_sums
    paths: list[str | None] = [*nodes.path, None]
    rest = {
        path: path_sums
        for path, path_sums in zip(paths, sums[len(listed_parts) :], strict=True)
        if path_sums.any()
    }
    return OpTimes(len(trace.devices), times, rest)
