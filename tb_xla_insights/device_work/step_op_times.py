"""The own time of each op in each step, on all cores of a host."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.programs import module_names
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.device_work.kernels import add_parts_by_step
from tb_xla_insights.trace.model import Int64, Trace

CELLS = 200_000
"""So many times of an op in a step are told of a host: 1.6 MB."""

Key = tuple[str, str, str | None]
"""Program, op and annotation (None: none), as rows of ops have them."""


class OpTimes(NamedTuple):
    """`ops`: times of one op, per step; where there are more than CELLS, of those with most time. `rest`: times of all
    others, by annotation. All add up to the own time of the ops that steps launched. `cores` are the host's."""

    cores: int
    ops: dict[Key, Int64]
    rest: dict[str | None, Int64]


def op_times(trace: Trace, cells: int = CELLS) -> OpTimes:
    """Of one host; a step's ops are those that it launched."""
    steps, ops, nodes = len(steps_of(trace)), find_ops(trace), find_nodes(trace)
    step_of_run = np.ascontiguousarray(find_launches(trace).step_of_run)
    time = ops.sums(ops.of_runs(step_of_run >= 0))[0]
    longest = np.argsort(-time, kind="stable")[: cells // max(1, steps)]
    told = longest[time[longest] > 0]
    # Behind those that are told one by one: a row per annotation, and the last one for no annotation.
    place = np.where(nodes.of_part >= 0, nodes.of_part, len(nodes.path)).astype(np.int32) + np.int32(
        len(told)
    )
    place[told] = np.arange(len(told), dtype=np.int32)
    sums = np.zeros((len(told) + len(nodes.path) + 1, steps), np.int64)
    for its in ops.devices:
        add_parts_by_step(step_of_run, its.run, its.key, its.own_ps, ops.first, ops.upto, place, sums)
    modules = module_names(trace)
    op_of_part = np.repeat(np.arange(len(ops.name)), np.diff(ops.first))
    found: dict[Key, Int64] = {}
    for row, part in enumerate(told.tolist()):
        k, node = int(op_of_part[part]), int(nodes.of_part[part])
        program = modules.get(ops.program[k]) or ops.program[k]
        key = program, ops.name[k], nodes.path[node] if node >= 0 else None
        found[key] = found[key] + sums[row] if key in found else sums[row]
    paths: list[str | None] = [*nodes.path, None]
    rest = {path: row for path, row in zip(paths, sums[len(told) :], strict=True) if row.any()}
    return OpTimes(len(trace.devices), found, rest)
