"""What went to the devices and came from them: how often, for how long, how many bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.classes import line_of_rows
from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.launches import steps_at
from tb_xla_insights.analysis.reach import steps_of, ways_back
from tb_xla_insights.catalog.classes import CLASS_INDEX, CLASSES
from tb_xla_insights.trace.annotations import annotated
from tb_xla_insights.trace.model import Int8, Int32, Int64, SessionTrace, Trace
from tb_xla_insights.trace.threads import host_planes

DIRECTIONS = ("to_device", "from_device")
_BYTES = ("total_size", "size")
_CARRIERS = ("client", "transfer", "op_pool", "compiler")
"""Roles of threads that carry out what another one asked for."""


@dataclass(frozen=True)
class Transfers:
    """Transfers of one host by row: the outermost events of their direction on each thread.

    `direction`: index into DIRECTIONS. `bytes`: -1 where none are recorded. `step`: index into the trace's
    steps, -1: outside of them.
    """

    row: Int32
    direction: Int8
    bytes: Int64
    step: Int32

    def __len__(self) -> int:
        return len(self.row)

    def per_step(self, trace: Trace, direction: int) -> Int64:
        """How many each step has."""
        mine = (self.direction == direction) & (self.step >= 0)
        return np.bincount(self.step[mine], minlength=len(steps_of(trace))).astype(np.int64)


@kept
def find_transfers(trace: Trace) -> Transfers:
    """The transfers of one host.

    A transfer is asked for on one thread and often carried out on another, by a client or a pool. Those
    threads count only where no thread that asks recorded a transfer of that direction, so that none counts
    twice.
    """
    kinds = np.where(_on_host(trace), trace.metadata.kind, -1)
    direction_of = np.full(len(CLASSES) + 1, -1, np.int8)  # the last one is that of no class
    for number, name in enumerate(DIRECTIONS):
        direction_of[CLASS_INDEX[name]] = number
    directions = direction_of[kinds]
    rows = np.flatnonzero((directions >= 0)[trace.meta]).astype(np.int32)
    rows = rows[~annotated(trace)[rows]]
    direction = directions[trace.meta[rows]]
    outer = outermost(trace, rows, direction)
    roles = np.array([_role(trace, line) in _CARRIERS for line in range(len(trace.lines))], np.bool_)
    carries = roles[line_of_rows(trace, rows)] if len(rows) else np.zeros(0, np.bool_)
    for number in range(len(DIRECTIONS)):
        if (outer & ~carries & (direction == number)).any():
            outer &= ~(carries & (direction == number))
    chosen = np.flatnonzero(outer)
    row, its = rows[chosen], direction[chosen]
    origin = ways_back(trace, row).origin
    when = np.where(origin >= 0, trace.start_ps[origin], -1) if len(row) else np.zeros(0, np.int64)
    return Transfers(row, its, _bytes(trace, row, rows), steps_at(trace, when))


def outermost(trace: Trace, rows: Int32, kind: Int8) -> NDArray[np.bool_]:
    """Which of some events, ascending, lie in no other one of them that is of the same kind."""
    of_row = np.full(len(trace) + 1, -1, np.int8)
    of_row[rows] = kind
    outer = np.ones(len(rows), np.bool_)
    above = trace.parent[rows]
    while (above >= 0).any():
        outer &= of_row[above] != kind
        above = np.where(above >= 0, trace.parent[above], -1)
    return outer


def _on_host(trace: Trace) -> NDArray[np.bool_]:
    return np.isin(trace.metadata.plane, list(host_planes(trace)))


def _role(trace: Trace, line: int) -> str:
    return next((thread.role for thread in trace.threads if thread.line == line), "")


def _bytes(trace: Trace, row: Int32, candidates: Int32) -> Int64:
    """What each transfer, or the outermost of the events of its kind in it, says about its size."""
    sizes = np.full(len(candidates), -1, np.int64)
    for name in _BYTES:
        if name in trace.stats:
            sizes = np.where(sizes < 0, trace.stats[name].at(candidates, -1), sizes)
    told = candidates[sizes >= 0]
    found = np.full(len(row), -1, np.int64)
    if not told.size:
        return found
    lone = outermost(trace, told, np.zeros(len(told), np.int8))
    told, sizes = told[lone], sizes[sizes >= 0][lone]
    at = np.searchsorted(row, told, "right") - 1
    within = (at >= 0) & (trace.end_ps[told] <= trace.end_ps[row[at]])
    within &= line_of_rows(trace, told) == line_of_rows(trace, row[at])
    np.maximum.at(found, at[within], 0)
    np.add.at(found, at[within], sizes[within])
    return found


def transfers_report(session: SessionTrace) -> dict[str, dict[str, Any]]:
    """The report's `transfers`: per direction `count`, `duration_ps`, `bytes` (None where none are recorded),
    `per_step` (mean count over the steps, None without steps) and `sized`, the transfers behind `bytes`."""
    out: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(DIRECTIONS):
        count = duration = total = sized = in_steps = steps = 0
        for trace in session.traces:
            transfers = find_transfers(trace)
            mine = transfers.direction == number
            sizes = transfers.bytes[mine]
            count += int(mine.sum())
            duration += int(trace.duration_ps[transfers.row[mine]].sum())
            total += int(sizes[sizes >= 0].sum())
            sized += int((sizes >= 0).sum())
            in_steps += int(transfers.per_step(trace, number).sum())
            steps += len(steps_of(trace))
        out[name] = {
            "count": count,
            "duration_ps": duration,
            "bytes": total if sized else None,
            "sized": sized,
            "per_step": in_steps / steps if steps else None,
        }
    return out
