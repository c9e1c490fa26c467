"""Finds where selected ops ran: the longest event of each op, and the time from its first to its last event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.programs import module_names
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.device_work.selection import HostOps
from tb_xla_insights.trace.row_ids import RowId


@dataclass(frozen=True)
class Occurrence:
    """An op's longest event (`duration_ps`, `row` of the timeline, `start_ps`, `depth`), and the start of its first
    event (`first_ps`) and the end of its last one (`last_ps`) on all selected devices of the host."""

    duration_ps: int
    row: str
    start_ps: int
    depth: int
    first_ps: int
    last_ps: int


Key = tuple[str, str, str | None]
"""Program, op and annotation, as in the rows of `op_rows`."""


def find_occurrences(host_ops: HostOps) -> dict[Key, Occurrence]:
    """Returns the occurrence of every row of the selected ops of a host, by its key."""
    trace = host_ops.trace
    ops, nodes, modules = find_ops(trace), find_nodes(trace), module_names(trace)
    occurrences: dict[Key, Occurrence] = {}
    for index, mask in host_ops.ops:
        intervals = trace.devices[index].ops
        rows = np.arange(len(intervals))[mask]
        key, start, end = ops.devices[index].key[rows], intervals.start_ps[rows], intervals.end_ps[rows]
        order = np.lexsort((start, start - end, key))  # the longest event of each op first
        group_starts = np.flatnonzero(np.diff(key[order], prepend=-1))
        longest = order[group_starts]
        last_end = np.maximum.reduceat(end[order], group_starts) if len(longest) else end
        first_start = np.minimum.reduceat(start[order], group_starts) if len(longest) else start
        timeline_row = str(RowId(host_ops.host, "ops", index))
        columns = (
            key[longest], end[longest] - start[longest], start[longest], intervals.depth[rows[longest]],
            first_start, last_end,
        )  # fmt: skip
        for op, duration_ps, start_ps, depth, first_ps, last_ps in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            program = modules.get(ops.program[op]) or ops.program[op]
            occurrence = Occurrence(duration_ps, timeline_row, start_ps, depth, first_ps, last_ps)
            for node in set(nodes.of_part[ops.first_part[op] : ops.first_part[op + 1]].tolist()):
                row_key = program, ops.name[op], nodes.path[node] if node >= 0 else None
                occurrences[row_key] = _merge(occurrences.get(row_key), occurrence)
    return occurrences


def _merge(a: Occurrence | None, b: Occurrence) -> Occurrence:
    if a is None:
        return b
    longest = b if b.duration_ps > a.duration_ps else a
    first, last = min(a.first_ps, b.first_ps), max(a.last_ps, b.last_ps)
    return Occurrence(longest.duration_ps, longest.row, longest.start_ps, longest.depth, first, last)
