"""Selected ops of a host as rows: one per program, op and annotation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tb_xla_insights.analysis.propagation.lost import op_source
from tb_xla_insights.analysis.propagation.ops import Ops, OpSelection, find_ops
from tb_xla_insights.analysis.propagation.programs import module_names
from tb_xla_insights.analysis.propagation.tree import Nodes, find_nodes
from tb_xla_insights.arrays import Int64
from tb_xla_insights.device_work.amounts import find_amounts
from tb_xla_insights.device_work.codes import HAS_BYTES, HAS_FLOPS, IS_WORK
from tb_xla_insights.device_work.merged_rows import OpRows
from tb_xla_insights.device_work.op_kinds import execution_counts, op_categories, op_kinds, op_metadata
from tb_xla_insights.trace.model import Trace

Row = dict[str, Any]


def op_rows(trace: Trace, selection: OpSelection, in_steps: OpSelection | None = None) -> list[Row]:
    """Returns rows of selected ops, those with most time first; `in_steps`: the selected ops that steps launched.

    `program`, `op`, `category`, `body` (the first op with the same instructions, if recorded, else the op),
    `annotation` (None: none), `source` (None: not recorded). `shape`: of the result, with
    its layout if the capture has it. `product`: shapes of the largest matrix product or convolution in it (None: none
    is known). `kind`: one of op_kinds.KINDS. `flops_source`: see Amounts. `count`: number of its events;
    `executions`: number of its executions. `self_ps`, `in_steps_ps` (the part in steps), `work_ps` (if it is work),
    `flops_known_ps` and `bytes_known_ps` (work with known FLOPs, and with known bytes). Of all executions: `flops`,
    `model_flops`, `bytes`, `hbm_bytes` (None: not known).

    Programs of the same name are merged; if their ops differ, the properties with most time count. An op of several
    annotations has a row for each: its time, FLOPs and bytes are divided exactly, `count` and `executions` are not.
    (docs/definitions.md, "Ops")
    """
    ops, nodes, amounts = find_ops(trace), find_nodes(trace), find_amounts(trace)
    part_times, _, op_counts = ops.sums(selection)
    step_times = ops.sums(in_steps).part_ps if in_steps is not None else np.zeros_like(part_times)
    executions = execution_counts(trace, selection)
    modules, categories, kinds = module_names(trace), op_categories(trace), op_kinds(trace)
    metadata = op_metadata(trace)
    rows = OpRows()
    columns = (amounts.flops, amounts.model_flops, amounts.bytes, amounts.hbm_bytes)
    for op in np.flatnonzero(op_counts).tolist():
        flags = int(amounts.flags[op])
        is_work, has_flops, has_bytes = flags & IS_WORK, flags & HAS_FLOPS, flags & HAS_BYTES
        totals = [int(column[op]) * int(executions[op]) for column in columns]
        properties = {
            "program": modules.get(ops.program[op]) or ops.program[op],
            "op": ops.name[op],
            "category": categories[op],
            "body": _text_stat(trace, metadata[op], "deduplicated_name") or ops.name[op],
            "source": op_source(ops, op) or _text_stat(trace, metadata[op], "source") or None,
            "shape": _text_stat(trace, metadata[op], "shape_with_layout") or ops.origin[op].shape or None,
            "product": ops.origin[op].amounts.product or None,
            "kind": kinds[op],
            "flops_source": amounts.flops_source[op],
            "count": int(op_counts[op]),
            "executions": int(executions[op]),
        }
        for path, self_ps, in_steps_ps, flops, model_flops, nbytes, hbm_bytes in _by_annotation(
            ops, nodes, op, part_times, step_times, totals
        ):
            rows.add(
                properties
                | {
                    "annotation": path,
                    "self_ps": self_ps,
                    "in_steps_ps": in_steps_ps,
                    "work_ps": self_ps if is_work else 0,
                    "flops_known_ps": self_ps if is_work and has_flops else 0,
                    "bytes_known_ps": self_ps if is_work and has_bytes else 0,
                    "flops": flops if has_flops else None,
                    "model_flops": model_flops if has_flops else None,
                    "bytes": nbytes if has_bytes else None,
                    "hbm_bytes": hbm_bytes if has_bytes else None,
                }
            )
    return rows.rows()


def _by_annotation(
    ops: Ops, nodes: Nodes, op: int, part_times: Int64, step_times: Int64, totals: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    """Yields an op's annotations, each with its part of the op's times and totals."""
    parts = slice(int(ops.first_part[op]), int(ops.first_part[op + 1]))
    columns = [
        part_times[parts].tolist(),
        step_times[parts].tolist(),
        *(divide_by_weights(total, ops.cumulative_weights[parts]) for total in totals),
    ]
    values_of_node: dict[int, list[int]] = {}
    for node, *values in zip(nodes.of_part[parts].tolist(), *columns, strict=True):
        sums = values_of_node.setdefault(node, [0] * len(values))
        values_of_node[node] = [total + value for total, value in zip(sums, values, strict=True)]
    for node, values in values_of_node.items():
        yield nodes.path[node] if node >= 0 else None, *values


def _text_stat(trace: Trace, metadata: int, name: str) -> str:
    value = trace.metadata.stats[metadata].get(name)
    return value if isinstance(value, str) else ""


def divide_by_weights(total: int, cumulative_weights: Int64) -> list[int]:
    """Divides a total exactly, in proportion to weights that are given as cumulative sums."""
    total_weight, parts, before = int(cumulative_weights[-1]), [], 0
    for weight in cumulative_weights.tolist():
        until = total * weight // total_weight
        parts.append(until - before)
        before = until
    return parts
