"""Ops behind the propagation view: those without an annotation, those of several, and the lines that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.lost import group_unexplained, op_kind, op_source
from tb_xla_insights.analysis.propagation.ops import Chosen, find_ops
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.parts import ScopedOps

Rows = list[dict[str, Any]]


def unexplained_ops(trace: Trace, chosen: Chosen) -> Rows:
    """Time of chosen ops without an annotation by kind of op, line and state: `op`, `source`, `state`, `device_ps`,
    `count`; the longest first."""
    ops = find_ops(trace)
    _, time, count = ops.sums(chosen)
    return [vars(it) for it in group_unexplained(ops, time, count)]


def mixed_ops(trace: Trace, chosen: Chosen) -> Rows:
    """Chosen ops whose parts have several annotations: `op`, `name`, `source`, `device_ps`, `parts` (path and share of
    the op's time), `unscoped_share` (of its parts, that have none); the longest first."""
    ops, paths = find_ops(trace), host_annotations(trace).paths
    _, time, count = ops.sums(chosen)
    found = []
    for k in np.flatnonzero((np.diff(ops.first) > 1) & (count > 0)).tolist():
        origin = ops.origin[k]
        whole = sum(weight for _, weight in origin.parts)
        shares: dict[str, float] = {}
        for scope, weight in origin.parts:
            path = paths.path_of(scope)
            shares[path] = shares.get(path, 0.0) + weight / whole
        if len(shares) > 1:
            found.append(
                {
                    "op": op_kind(ops, k),
                    "name": ops.name[k],
                    "source": op_source(ops, k),
                    "device_ps": int(time[k]),
                    "parts": [{"path": path, "share": it} for path, it in shares.items()],
                    "unscoped_share": origin.unscoped,
                }
            )
    return sorted(found, key=lambda it: (-it["device_ps"], it["name"]))


def source_lines(trace: Trace, chosen: Chosen) -> Rows:
    """Time of chosen ops by the line of Python that made them and the annotation it went to: `source` (empty where
    none is recorded), `path` (None: no annotation), `device_ps`, `ops`; the longest first. A mixed op is divided by its
    parts' share, so the rows add up to the ops' own time; it counts once for each path."""
    ops, nodes = find_ops(trace), find_nodes(trace)
    time, _, count = ops.sums(chosen)
    sums: dict[tuple[str, str | None], list[int]] = {}
    for k in np.flatnonzero(count).tolist():
        source = op_source(ops, k)
        parts: dict[str | None, int] = {}
        for part in range(int(ops.first[k]), int(ops.first[k + 1])):
            node = int(nodes.of_part[part])
            path = nodes.path[node] if node >= 0 else None
            parts[path] = parts.get(path, 0) + int(time[part])
        for path, its in parts.items():
            total = sums.setdefault((source, path), [0, 0])
            total[0] += its
            total[1] += int(count[k])
    rows = [
        {"source": source, "path": path, "device_ps": time, "ops": ops_}
        for (source, path), (time, ops_) in sums.items()
    ]
    return sorted(rows, key=lambda it: (-it["device_ps"], it["source"], it["path"] or ""))


def session_ops(session: SessionTrace) -> ScopedOps:
    """The keys `unexplained`, `mixed` and `lines` of the report's `propagation`: the same of all ops of all hosts."""
    found: dict[str, Any] = {"unexplained": [], "mixed": [], "lines": []}
    for trace in session.traces:
        chosen = find_ops(trace).whole
        found["unexplained"] += unexplained_ops(trace, chosen)
        found["mixed"] += mixed_ops(trace, chosen)
        found["lines"] += source_lines(trace, chosen)
    return {
        "unexplained": _merged(found["unexplained"], "op", "source", "state"),
        "mixed": sorted(found["mixed"], key=lambda it: (-it["device_ps"], it["name"])),
        "lines": _merged(found["lines"], "source", "path"),
    }


def _merged(rows: Rows, *keys: str) -> Any:
    """Rows that agree in some keys as one, with the sums of the others; the longest first."""
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        known = merged.setdefault(
            tuple(row[key] for key in keys), dict.fromkeys(row, 0) | {key: row[key] for key in keys}
        )
        for name in row.keys() - set(keys):
            known[name] += row[name]
    return sorted(merged.values(), key=lambda it: (-it["device_ps"], *(it[key] or "" for key in keys)))
