"""Op lists of the propagation view: ops without an annotation, ops with several, and ops by source line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.lost import group_unannotated, op_source, operation_of
from tb_xla_insights.analysis.propagation.ops import OpSelection, find_ops
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import SharedOp, SourceLine, UnannotatedOp
    from tb_xla_insights.schema.parts import ScopedOps

Rows = list[dict[str, Any]]


def find_unannotated_ops(trace: Trace, selection: OpSelection) -> list[UnannotatedOp]:
    """Time of selected ops without an annotation by operation, line and state: `op`, `source`, `state`, `device_ps`,
    `count`; the longest first."""
    ops = find_ops(trace)
    sums = ops.sums(selection)
    return [
        {
            "op": row.operation,
            "source": row.source,
            "state": row.state,
            "device_ps": row.device_ps,
            "count": row.count,
        }
        for row in group_unannotated(ops, sums.op_ps, sums.op_count)
    ]


def find_shared_ops(trace: Trace, selection: OpSelection) -> list[SharedOp]:
    """Selected ops whose parts have several annotations: `op`, `name`, `source`, `device_ps`, `parts` (path and share
    of the op's time), `unscoped_share` (the share of its instructions without a scope); the longest first."""
    ops, paths = find_ops(trace), host_annotations(trace).paths
    sums = ops.sums(selection)
    rows: list[SharedOp] = []
    for key in np.flatnonzero((np.diff(ops.first_part) > 1) & (sums.op_count > 0)).tolist():
        origin = ops.origin[key]
        total = sum(weight for _, weight in origin.parts)
        shares: dict[str, float] = {}
        for scope, weight in origin.parts:
            path = paths.path_of(scope)
            shares[path] = shares.get(path, 0.0) + weight / total
        if len(shares) > 1:
            rows.append(
                {
                    "op": operation_of(ops, key),
                    "name": ops.name[key],
                    "source": op_source(ops, key),
                    "device_ps": int(sums.op_ps[key]),
                    "parts": [{"path": path, "share": share} for path, share in shares.items()],
                    "unscoped_share": origin.unscoped_share,
                }
            )
    return sorted(rows, key=lambda row: (-row["device_ps"], row["name"]))


def source_lines(trace: Trace, selection: OpSelection) -> list[SourceLine]:
    """Time of selected ops by the line of Python that created them and by annotation: `source` (empty if not recorded),
    `path` (None: no annotation), `device_ps`, `ops`; the longest first. A mixed op's time is divided by its parts'
    shares, so that the rows add up to the ops' own time; the op counts once for each path."""
    ops, nodes = find_ops(trace), find_nodes(trace)
    part_ps, _, count = ops.sums(selection)
    sums: dict[tuple[str, str | None], list[int]] = {}
    for key in np.flatnonzero(count).tolist():
        source = op_source(ops, key)
        times: dict[str | None, int] = {}
        for part in range(int(ops.first_part[key]), int(ops.first_part[key + 1])):
            node = int(nodes.of_part[part])
            path = nodes.path[node] if node >= 0 else None
            times[path] = times.get(path, 0) + int(part_ps[part])
        for path, path_ps in times.items():
            total = sums.setdefault((source, path), [0, 0])
            total[0] += path_ps
            total[1] += int(count[key])
    rows: list[SourceLine] = [
        {"source": source, "path": path, "device_ps": time, "ops": op_count}
        for (source, path), (time, op_count) in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row["device_ps"], row["source"], row["path"] or ""))


def scoped_ops(trace: Trace) -> ScopedOps:
    """The keys `unannotated_ops`, `shared_ops` and `lines` of the report's `propagation`, for all ops."""
    selection = find_ops(trace).all_ops
    return {
        "unannotated_ops": find_unannotated_ops(trace, selection),
        "shared_ops": find_shared_ops(trace, selection),
        "lines": source_lines(trace, selection),
    }
