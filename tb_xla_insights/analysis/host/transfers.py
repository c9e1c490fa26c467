"""What went to the devices and came from them: how often, for how long, how many bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.causality import causal_paths
from tb_xla_insights.analysis.launches.early_executions import last_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.step_times import steps_at, steps_of
from tb_xla_insights.catalog.classes import CLASS_INDEX, CLASSES
from tb_xla_insights.trace.annotations import annotated
from tb_xla_insights.trace.model import Int8, Int32, Int64, Role, SessionTrace, Trace
from tb_xla_insights.trace.nesting import outermost_rows
from tb_xla_insights.trace.threads import host_planes

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import Transfers as TransferSums
    from tb_xla_insights.schema.feeding import TransfersByDirection

DIRECTIONS = ("to_device", "from_device")
_BYTES = ("total_size", "size")
_DETAILS, _SIZE = "memcpy_details", re.compile(r"\bsize:(\d{1,18})\b")
"""What the tracers of GPUs write about a copy: `size:112 dest:4 async:0`."""
_CARRIERS: tuple[Role, ...] = ("client", "transfer", "op_pool", "compiler")
"""Roles of threads that carry out what another one asked for."""


@dataclass(frozen=True)
class Transfers:
    """Transfers of one host by row: the outermost events of their direction on each thread.

    `direction`: index into DIRECTIONS. `bytes`: -1 where none are recorded. `step`: index into the trace's
    steps, -1: outside of them; of a read the last step that began before it.
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

    def bytes_in_steps(self, direction: int) -> tuple[int, int]:
        """The bytes of those in steps, and how many of them tell theirs."""
        sizes = self.bytes[(self.direction == direction) & (self.step >= 0) & (self.bytes >= 0)]
        return int(sizes.sum()), len(sizes)


@memoised
def find_transfers(trace: Trace) -> Transfers:
    """The transfers of one host.

    A transfer is asked for on one thread and often carried out on another, by a client or a pool. Those
    threads count only where no thread that asks recorded a transfer of that direction, so that none counts
    twice.
    """
    kinds = np.where(_on_host(trace), trace.metadata.class_index, -1)
    direction_of = np.full(len(CLASSES) + 1, -1, np.int8)  # the last one is that of no class
    for number, name in enumerate(DIRECTIONS):
        direction_of[CLASS_INDEX[name]] = number
    directions = direction_of[kinds]
    rows = trace.rows_with_metadata(directions >= 0)
    rows = rows[~annotated(trace)[rows]]
    direction = directions[trace.meta[rows]]
    carriers = trace.lines_with(*_CARRIERS)
    found = []
    for number in range(len(DIRECTIONS)):
        its = outermost_rows(trace.parent, rows[direction == number])
        asks = ~np.isin(trace.lines_of(its), carriers)
        found.append(its[asks] if asks.any() else its)
    row = np.sort(np.concatenate(found))
    direction = directions[trace.meta[row]]
    return Transfers(row, direction, _bytes(trace, row, rows), _steps(trace, row, direction))


def _steps(trace: Trace, row: Int32, direction: Int8) -> Int32:
    """The step that asked for each transfer; a read belongs to the last step that began before it, as what a step asked
    for is often read when it is over."""
    origin = causal_paths(trace, row).origin
    asked = np.flatnonzero(origin >= 0)
    read = direction[asked] == DIRECTIONS.index("from_device")
    step = np.full(len(row), -1, np.int32)
    step[asked] = np.where(
        read, last_steps(trace, origin[asked]), steps_at(trace, trace.start_ps[origin[asked]])
    )
    return step


def _on_host(trace: Trace) -> NDArray[np.bool_]:
    return np.isin(trace.metadata.plane, list(host_planes(trace)))


def _bytes(trace: Trace, row: Int32, candidates: Int32) -> Int64:
    """What each transfer, or the outermost of the events of its kind in it, says about its size."""
    sizes = np.full(len(candidates), -1, np.int64)
    for name in _BYTES:
        if name in trace.stats:
            sizes = np.where(sizes < 0, trace.stats[name].at(candidates, -1), sizes)
    if _DETAILS in trace.stats:
        text, which = np.unique(trace.stats[_DETAILS].at(candidates, -1), return_inverse=True)
        sizes_by_text = np.array(
            [_size_in(trace.strings[it]) if it >= 0 else -1 for it in text.tolist()], np.int64
        )
        sizes = np.where(sizes < 0, sizes_by_text[which], sizes)
    told = outermost_rows(trace.parent, candidates[sizes >= 0])
    sizes = sizes[np.searchsorted(candidates, told)]
    found = np.full(len(row), -1, np.int64)
    if not told.size:
        return found
    at = np.searchsorted(row, told, "right") - 1
    within = (at >= 0) & (trace.end_ps[told] <= trace.end_ps[row[at]])
    within &= trace.lines_of(told) == trace.lines_of(row[at])
    np.maximum.at(found, at[within], 0)
    np.add.at(found, at[within], sizes[within])
    return found


def _size_in(details: str) -> int:
    """The bytes that a text tells, -1: none."""
    size = _SIZE.search(details)
    return int(size[1]) if size else -1


def transfers_report(session: SessionTrace) -> TransfersByDirection:
    """The report's `transfers`: per direction `count`, `duration_ps`, `bytes` (None where none are recorded), `sized`,
    the transfers behind `bytes`; those `in_steps`, their bytes (`bytes_in_steps`, None where none of them tells its
    size), and the means of both over the steps: `per_step` (None without steps) and `bytes_per_step`."""
    to_device, from_device = (_in_direction(session, number) for number in range(len(DIRECTIONS)))
    return {"to_device": to_device, "from_device": from_device}


def _in_direction(session: SessionTrace, direction: int) -> TransferSums:
    count = duration = total = sized = in_steps = steps = step_bytes = step_sized = 0
    for trace in session.traces:
        transfers = find_transfers(trace)
        chosen = transfers.direction == direction
        sizes = transfers.bytes[chosen]
        count += int(chosen.sum())
        duration += int(trace.duration_ps[transfers.row[chosen]].sum())
        total += int(sizes[sizes >= 0].sum())
        sized += int((sizes >= 0).sum())
        in_steps += int(transfers.per_step(trace, direction).sum())
        steps += len(steps_of(trace))
        more_bytes, more_sized = transfers.bytes_in_steps(direction)
        step_bytes, step_sized = step_bytes + more_bytes, step_sized + more_sized
    return {
        "count": count,
        "duration_ps": duration,
        "bytes": total if sized else None,
        "sized": sized,
        "in_steps": in_steps,
        "bytes_in_steps": step_bytes if step_sized else None,
        "per_step": in_steps / steps if steps else None,
        "bytes_per_step": round(step_bytes / steps) if step_sized else None,
    }
