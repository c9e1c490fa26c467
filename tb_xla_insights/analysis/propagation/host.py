"""The annotations that a host recorded, as paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.launches import steps_at
from tb_xla_insights.analysis.propagation.scopes import HostPaths
from tb_xla_insights.trace.annotations import annotated
from tb_xla_insights.trace.model import Int32, Int64, Trace


@dataclass(frozen=True)
class HostAnnotations:
    """Annotations in row order: `row`, the annotation around each (`up`, index, -1: none), its path (index into
    `names`) and its step (index, -1: outside). `above` is the path around each path, -1 at the top."""

    row: Int32
    up: Int32
    path: Int32
    step: Int32
    names: list[str]
    above: list[int]
    paths: HostPaths

    def times(self, trace: Trace, step: int | None = None) -> tuple[Int64, Int64]:
        """Per path: time and number of its annotations, of one step or of all."""
        mine = slice(None) if step is None else self.step == step
        duration = trace.duration_ps[self.row[mine]]
        time = np.zeros(len(self.names), np.int64)
        np.add.at(time, self.path[mine], duration)
        return time, np.bincount(self.path[mine], minlength=len(self.names))


@kept
def host_annotations(trace: Trace) -> HostAnnotations:
    """The annotations of one host with their paths: names from the outermost one in, on the same thread."""
    row = trace.annotations
    up = _up(trace, row)
    text = trace.metadata.name[trace.meta[row]]
    path = np.full(len(row), -1, np.int32)
    names: list[str] = []
    above: list[int] = []
    number: dict[str, int] = {}
    level = np.flatnonzero(up < 0)
    order = np.argsort(up, kind="stable")
    while level.size:
        around = np.where(up[level] >= 0, path[up[level]], -1)
        pairs, inverse = np.unique(
            np.stack((around, text[level].astype(np.int32)), 1), axis=0, return_inverse=True
        )
        made = []
        for outer, name in pairs.tolist():
            segment = trace.strings[name].split("#", 1)[0]
            full = f"{names[outer]}/{segment}" if outer >= 0 else segment
            if full not in number:
                number[full] = len(names)
                names.append(full)
                above.append(outer)
            made.append(number[full])
        path[level] = np.array(made, np.int32)[inverse.reshape(-1)]
        low, high = np.searchsorted(up[order], level), np.searchsorted(up[order], level, "right")
        level = np.concatenate([order[a:b] for a, b in zip(low, high, strict=True) if b > a] or [level[:0]])
    step = steps_at(trace, trace.start_ps[row]) if len(row) else np.zeros(0, np.int32)
    return HostAnnotations(row, up, path, step, names, above, HostPaths(names))


def _up(trace: Trace, row: Int32) -> Int32:
    """The annotation around each annotation."""
    mine = annotated(trace)
    above = trace.parent[row].copy()
    while (between := (above >= 0) & ~np.append(mine, False)[above]).any():
        above[between] = trace.parent[above[between]]
    return np.where(above >= 0, np.searchsorted(row, above), -1).astype(np.int32)
