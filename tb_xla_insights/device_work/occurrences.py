"""Where chosen ops ran: the longest run of each op, and the span from its first to its last run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.programs import module_names
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.device_work.selection import Part
from tb_xla_insights.row_ids import RowId


@dataclass(frozen=True)
class Occurrence:
    """An op's longest run (`duration_ps`, `row` in the timeline, `start_ps`, `depth`), and the span from the begin of
    its first run (`first_ps`) to the end of its last one (`last_ps`) on all chosen devices of the host."""

    duration_ps: int
    row: str
    start_ps: int
    depth: int
    first_ps: int
    last_ps: int


Key = tuple[str, str, str | None]
"""Program, op and annotation, as in the rows of `op_rows`."""


def occurrences(part: Part) -> dict[Key, Occurrence]:
    """The occurrence of every row of ops, by its key."""
    ops, nodes, modules = find_ops(part.trace), find_nodes(part.trace), module_names(part.trace)
    found: dict[Key, Occurrence] = {}
    for number, which in part.ops:
        spans = part.trace.devices[number].ops
        at = np.arange(len(spans))[which]
        key, start, end = ops.devices[number].key[at], spans.start_ps[at], spans.end_ps[at]
        longest = np.lexsort((start, start - end, key))
        begins = np.flatnonzero(np.diff(key[longest], prepend=-1))
        top = longest[begins]
        last = np.maximum.reduceat(end[longest], begins) if len(top) else end
        first = np.minimum.reduceat(start[longest], begins) if len(top) else start
        row = str(RowId(part.place, "ops", number))
        columns = (key[top], end[top] - start[top], start[top], spans.depth[at[top]], first, last)
        for k, length, begin, depth, early, late in zip(*(it.tolist() for it in columns), strict=True):
            program, run = (
                modules.get(ops.program[k]) or ops.program[k],
                Occurrence(length, row, begin, depth, early, late),
            )
            for node in set(nodes.of_part[ops.first[k] : ops.first[k + 1]].tolist()):
                name = program, ops.name[k], nodes.path[node] if node >= 0 else None
                found[name] = _longer(found.get(name), run)
    return found


def _longer(one: Occurrence | None, other: Occurrence) -> Occurrence:
    if one is None:
        return other
    top = other if other.duration_ps > one.duration_ps else one
    first, last = min(one.first_ps, other.first_ps), max(one.last_ps, other.last_ps)
    return Occurrence(top.duration_ps, top.row, top.start_ps, top.depth, first, last)
