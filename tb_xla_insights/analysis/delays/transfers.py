"""Transfers to and from the devices: their number, time and bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.delays.early_executions import last_steps_before
from tb_xla_insights.analysis.launches.causality import causal_paths
from tb_xla_insights.analysis.launches.step_times import find_steps, steps_at
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.catalog.classes import CLASS_INDEX, CLASSES
from tb_xla_insights.trace.model import Role, Trace
from tb_xla_insights.trace.nesting import outermost_rows
from tb_xla_insights.trace.threads import host_planes

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import Transfers as TransferSums
    from tb_xla_insights.schema.feeding import TransfersByDirection

DIRECTIONS = ("to_device", "from_device")
TO_DEVICE, FROM_DEVICE = range(2)
_SIZE_STATS = ("total_size", "size")
_DETAILS_STAT, _SIZE_IN_DETAILS = "memcpy_details", re.compile(r"\bsize:(\d{1,18})\b")
"""A stat in which tracers of GPUs describe a copy, such as `size:112 dest:4 async:0`, and the size in it."""
_CARRIER_ROLES: tuple[Role, ...] = ("client", "transfer", "op_pool", "compiler")
"""Roles of threads that carry out what another thread requests."""


@dataclass(frozen=True)
class Transfers:
    """Transfers of one host by row: the outermost events of their direction on each thread.

    `direction`: index into DIRECTIONS. `bytes`: -1 if none are recorded. `step`: index into the trace's steps, -1:
    outside of them; for a read, the last step that began before it.
    """

    row: Int32
    direction: Int8
    bytes: Int64
    step: Int32

    def __len__(self) -> int:
        return len(self.row)

    def per_step(self, trace: Trace, direction: int) -> Int64:
        """Returns the number of transfers in each step."""
        is_counted = (self.direction == direction) & (self.step >= 0)
        return np.bincount(self.step[is_counted], minlength=len(find_steps(trace))).astype(np.int64)

    def bytes_in_steps(self, direction: int) -> tuple[int, int]:
        """Returns the bytes of the transfers in steps, and the number of these transfers that record their size."""
        sizes = self.bytes[(self.direction == direction) & (self.step >= 0) & (self.bytes >= 0)]
        return int(sizes.sum()), len(sizes)


@memoised
def find_transfers(trace: Trace) -> Transfers:
    """Finds the transfers of one host.

    One thread requests a transfer, and often another one carries it out, a client's or a pool's. Such a thread counts
    only if no requesting thread recorded a transfer of that direction, so that no transfer counts twice.
    """
    classes = np.where(_on_host(trace), trace.metadata.class_index, -1)
    direction_of = np.full(len(CLASSES) + 1, -1, np.int8)  # the last value: no class
    for direction_index, name in enumerate(DIRECTIONS):
        direction_of[CLASS_INDEX[name]] = direction_index
    directions = direction_of[classes]
    rows = trace.rows_with_metadata(directions >= 0)
    rows = rows[~trace.annotation_mask[rows]]
    direction = directions[trace.metadata_index[rows]]
    carriers = trace.lines_with(*_CARRIER_ROLES)
    rows_by_direction = []
    for direction_index in range(len(DIRECTIONS)):
        of_direction = outermost_rows(trace.parent, rows[direction == direction_index])
        is_request = ~trace.is_on_lines(of_direction, carriers)
        rows_by_direction.append(of_direction[is_request] if is_request.any() else of_direction)
    row = np.sort(np.concatenate(rows_by_direction))
    direction = directions[trace.metadata_index[row]]
    return Transfers(row, direction, _bytes(trace, row, rows), _steps(trace, row, direction))


def _steps(trace: Trace, row: Int32, direction: Int8) -> Int32:
    """Returns the step that requested each transfer. For a read, that is the last step that began before it, because
    what a step computes is often read after the step."""
    origin = causal_paths(trace, row).origin
    has_origin = np.flatnonzero(origin >= 0)
    is_read = direction[has_origin] == FROM_DEVICE
    step = np.full(len(row), -1, np.int32)
    step[has_origin] = np.where(
        is_read,
        last_steps_before(trace, origin[has_origin]),
        steps_at(trace, trace.start_ps[origin[has_origin]]),
    )
    return step


def _on_host(trace: Trace) -> NDArray[np.bool_]:
    return np.isin(trace.metadata.plane, list(host_planes(trace)))


def _bytes(trace: Trace, row: Int32, candidates: Int32) -> Int64:
    """Returns the size that each transfer, or the outermost events of its kind inside it, record; -1: none."""
    sizes = np.full(len(candidates), -1, np.int64)
    for name in _SIZE_STATS:
        if name in trace.stats:
            sizes = np.where(sizes < 0, trace.stats[name].at(candidates, -1), sizes)
    if _DETAILS_STAT in trace.stats:
        texts, index = np.unique(trace.stats[_DETAILS_STAT].at(candidates, -1), return_inverse=True)
        sizes_by_text = np.array(
            [_size_in(trace.strings[text_index]) if text_index >= 0 else -1 for text_index in texts.tolist()],
            np.int64,
        )
        sizes = np.where(sizes < 0, sizes_by_text[index], sizes)
    sized = outermost_rows(trace.parent, candidates[sizes >= 0])
    sizes = sizes[np.searchsorted(candidates, sized)]
    bytes_of_row = np.full(len(row), -1, np.int64)
    if not sized.size:
        return bytes_of_row
    transfer = np.searchsorted(row, sized, "right") - 1
    is_inside = (transfer >= 0) & (trace.end_ps[sized] <= trace.end_ps[row[transfer]])
    is_inside &= trace.lines_of(sized) == trace.lines_of(row[transfer])
    np.maximum.at(bytes_of_row, transfer[is_inside], 0)
    np.add.at(bytes_of_row, transfer[is_inside], sizes[is_inside])
    return bytes_of_row


def _size_in(details: str) -> int:
    """Returns the bytes that a description of a copy names, -1: none."""
    size = _SIZE_IN_DETAILS.search(details)
    return int(size[1]) if size else -1


def transfers_report(trace: Trace) -> TransfersByDirection:
    """The report's `transfers`, per direction: `count`, `duration_ps`, `bytes` (None if none are recorded) and
    `known_size_count`, the number of transfers that record their size. Of the transfers in steps: their number
    (`in_steps`), their bytes (`bytes_in_steps`, None if none of them records its size), and both per step: `per_step`
    (None without steps) and `bytes_per_step`."""
    to_device, from_device = (_direction_sums(trace, direction) for direction in (TO_DEVICE, FROM_DEVICE))
    return {"to_device": to_device, "from_device": from_device}


def _direction_sums(trace: Trace, direction: int) -> TransferSums:
    transfers, steps = find_transfers(trace), len(find_steps(trace))
    of_direction = transfers.direction == direction
    sizes = transfers.bytes[of_direction]
    known_size_count = int((sizes >= 0).sum())
    in_steps = int(transfers.per_step(trace, direction).sum())
    step_bytes, step_sized = transfers.bytes_in_steps(direction)
    return {
        "count": int(of_direction.sum()),
        "duration_ps": int(trace.duration_ps[transfers.row[of_direction]].sum()),
        "bytes": int(sizes[sizes >= 0].sum()) if known_size_count else None,
        "known_size_count": known_size_count,
        "in_steps": in_steps,
        "bytes_in_steps": step_bytes if step_sized else None,
        "per_step": in_steps / steps if steps else None,
        "bytes_per_step": round(step_bytes / steps) if step_sized else None,
    }
