"""OpSelection ops of a host as rows: one per program, op and annotation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tb_xla_insights.analysis.propagation.lost import op_source
from tb_xla_insights.analysis.propagation.ops import Ops, OpSelection, find_ops
from tb_xla_insights.analysis.propagation.programs import module_names
from tb_xla_insights.analysis.propagation.tree import Nodes, find_nodes
from tb_xla_insights.device_work.activity import categories, executions, kinds, metadata_of
from tb_xla_insights.device_work.amounts import find_amounts
from tb_xla_insights.device_work.codes import COUNTED, SIZED, WORKS
from tb_xla_insights.device_work.joined_rows import OpRows
from tb_xla_insights.trace.model import Int64, Trace

Row = dict[str, Any]


def op_rows(trace: Trace, chosen: OpSelection, in_steps: OpSelection | None = None) -> list[Row]:
    """OpSelection ops, those with most time first; `in_steps` are those of them that steps launched.

    `program`, `op`, `category`, `annotation` (None: none), `source` (None: not recorded), `shape` of what it makes
    (with its layout, where the capture tells that), `product`: shapes of the largest matrix product or convolution in
    it (None: none is known), `kind` (activity.KINDS), `counted` (where the FLOPs come from), `count` of ops and their
    `executions`, `self_ps`, of it `in_steps_ps` in steps, `work_ps` where it is work, `counted_ps` and `sized_ps` of
    that with known FLOPs and bytes, and of all executions `flops`, `model_flops`, `bytes`, `hbm_bytes` (None: not
    known).

    Programs of one name are one; where their ops differ, what takes most time is told. An op of several annotations is
    a row of each: its time, FLOPs and bytes are divided, exactly, `count` and `executions` are not.
    (docs/definitions.md, "Ops")
    """
    ops, nodes, amounts = find_ops(trace), find_nodes(trace), find_amounts(trace)
    time, _, count = ops.sums(chosen)
    stepped = ops.sums(in_steps)[0] if in_steps is not None else np.zeros_like(time)
    ran = executions(trace, chosen)
    modules, category, kind = module_names(trace), categories(trace), kinds(trace)
    entries = metadata_of(trace)
    rows = OpRows()
    columns = (amounts.flops, amounts.model_flops, amounts.bytes, amounts.hbm_bytes)
    for k in np.flatnonzero(count).tolist():
        known = int(amounts.known[k])
        totals = [int(column[k]) * int(ran[k]) for column in columns]
        row = {
            "program": modules.get(ops.program[k]) or ops.program[k],
            "op": ops.name[k],
            "category": category[k],
            "annotation": None,
            "source": op_source(ops, k) or _text(trace, entries[k], "source") or None,
            "shape": _text(trace, entries[k], "shape_with_layout") or ops.origin[k].shape or None,
            "product": ops.origin[k].amounts.product or None,
            "kind": kind[k],
            "counted": amounts.counted[k],
            "count": int(count[k]),
            "executions": int(ran[k]),
        }
        for path, self_ps, step_ps, flops, model_flops, nbytes, hbm in _by_path(
            ops, nodes, k, time, stepped, totals
        ):
            rows.add(
                row
                | {
                    "annotation": path,
                    "self_ps": self_ps,
                    "in_steps_ps": step_ps,
                    "work_ps": self_ps if known & WORKS else 0,
                    "counted_ps": self_ps if known & WORKS and known & COUNTED else 0,
                    "sized_ps": self_ps if known & WORKS and known & SIZED else 0,
                    "flops": flops if known & COUNTED else None,
                    "model_flops": model_flops if known & COUNTED else None,
                    "bytes": nbytes if known & SIZED else None,
                    "hbm_bytes": hbm if known & SIZED else None,
                }
            )
    return rows.rows()


def _by_path(
    ops: Ops, nodes: Nodes, k: int, time: Int64, stepped: Int64, totals: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    """An op's annotations, each with its part of the op's times and totals."""
    parts = slice(int(ops.first[k]), int(ops.first[k + 1]))
    columns = [
        time[parts].tolist(),
        stepped[parts].tolist(),
        *(divided(it, ops.upto[parts]) for it in totals),
    ]
    found: dict[int, list[int]] = {}
    for node, *values in zip(nodes.of_part[parts].tolist(), *columns, strict=True):
        known = found.setdefault(node, [0] * len(values))
        found[node] = [one + other for one, other in zip(known, values, strict=True)]
    for node, values in found.items():
        yield nodes.path[node] if node >= 0 else None, *values


def _text(trace: Trace, entry: int, name: str) -> str:
    value = trace.metadata.stats[entry].get(name)
    return value if isinstance(value, str) else ""


def divided(total: int, upto: Int64) -> list[int]:
    """A total by weights that are added up, exactly."""
    whole, found, before = int(upto[-1]), [], 0
    for weight in upto.tolist():
        now = total * weight // whole
        found.append(now - before)
        before = now
    return found
