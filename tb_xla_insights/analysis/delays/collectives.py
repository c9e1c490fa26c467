"""Collectives: how long devices exchange data, and how much of that is exposed (not hidden by computation)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.delays.callbacks import find_callbacks
from tb_xla_insights.analysis.launches.step_times import step_times
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import (
    COLLECTIVE_KINDS,
    collective_kind,
    instruction_name,
    is_container,
    is_host_transfer,
    is_wait,
)
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, own_time_intervals, union
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import Collective

_NO_OPCODE = -2
"""Stands for the classification of an op that is in no recorded program."""

_POINT_TO_POINT = [COLLECTIVE_KINDS.index("send"), COLLECTIVE_KINDS.index("recv")]
"""The kinds of ops that may also exchange data with the host."""


@dataclass(frozen=True)
class Collectives:
    """Per collective op of one device: its index in the device's ops, its kind (index into COLLECTIVE_KINDS), its own
    time, and its exposed time: the part that no other op's computation hides. `exposed_intervals`: when the device
    exchanges data and computes nothing; collectives that overlap count once."""

    op: Int32
    kind: NDArray[np.int8]
    duration_ps: Int64
    exposed_ps: Int64
    exposed_intervals: Intervals


@memoised
def find_collectives(trace: Trace, device: int) -> Collectives:
    """The collectives of one device (an index into the trace's devices).

    A collective is hidden while another op of the same device computes: on another stream of a GPU, on another thread
    of a CPU, or, for an asynchronous collective of a TPU, between its start and done ops; only the own time of these
    two is exposed. Ops that only wait do not compute. A container (a loop or call) computes only while none of its
    inner ops runs. All other ops have no inner ops: an op within the time of another one runs beside it.
    """
    ops, kinds = trace.devices[device].ops, collective_kinds(trace, device)
    computes, is_container_op = _compute_flags(trace, device, kinds)
    op_indices = np.flatnonzero(kinds >= 0)
    start, end = ops.start_ps[op_indices], ops.end_ps[op_indices]
    empty = np.zeros(0, np.int64)
    if not op_indices.size:
        return Collectives(
            op_indices.astype(np.int32), kinds[op_indices], empty, empty, Intervals(empty, empty)
        )
    own_start, own_end = empty, empty
    if is_container_op.any():
        op, own_start, own_end = own_time_intervals(ops.start_ps, ops.end_ps, ops.parent)
        own_start, own_end = own_start[is_container_op[op]], own_end[is_container_op[op]]
    computing = union(
        np.concatenate((ops.start_ps[computes], own_start)), np.concatenate((ops.end_ps[computes], own_end))
    )
    hidden = covered_times(computing.start_ps, computing.end_ps, start, end)
    # Ops that run side by side (on streams, on threads) are not nested, even if their times are.
    own_ps = find_ops(trace).devices[device].own_ps if trace.devices[device].from_host_events else ops.own_ps
    duration_ps = own_ps[op_indices]
    exposed_ps = np.minimum(duration_ps, end - start - hidden)
    exposed = union(start, end).without(computing)
    return Collectives(op_indices.astype(np.int32), kinds[op_indices], duration_ps, exposed_ps, exposed)


@memoised
def collective_kinds(trace: Trace, device: int) -> NDArray[np.int8]:
    """Per op of a device (an index into the trace's devices), its kind (index into COLLECTIVE_KINDS); -1 if it is no
    collective. Its name or category decides; on a CPU, where ops have no category, its opcode in the program does,
    because JAX names ops after its own primitives: `psum.7`. A send or receive that exchanges data with the host, by
    its category or as part of a callback, is no collective."""
    ops = trace.devices[device].ops
    kinds = trace.map_texts(ops.name, _kind_index)
    categories = trace.metadata.text.get("hlo_category")
    if categories is not None:  # only its category identifies a fusion around a collective
        by_category = trace.map_texts(categories, _kind_index)
        if (by_category >= 0).any():
            kinds = np.where(kinds < 0, by_category[trace.metadata_index[ops.row]], kinds)
    if trace.devices[device].from_host_events:
        by_opcode = _classify_opcodes(trace, device, _kind_index)
        kinds = np.where(by_opcode != _NO_OPCODE, by_opcode, kinds)
    is_point_to_point = np.isin(kinds, _POINT_TO_POINT)
    if is_point_to_point.any():
        kinds = kinds.copy()
        if categories is not None:
            with_host = trace.map_texts(categories, is_host_transfer) > 0
            kinds[is_point_to_point & with_host[trace.metadata_index[ops.row]]] = -1
        kinds[find_callbacks(trace, device).op] = -1
    return kinds


def _classify_opcodes(trace: Trace, device: int, classify: Callable[[str], int]) -> NDArray[np.int8]:
    """The result of `classify` for each op's opcode; _NO_OPCODE if no recorded program has the op."""
    ops = find_ops(trace)
    results = [classify(origin.opcode) if origin.opcode else _NO_OPCODE for origin in ops.origin]
    return np.array(results, np.int8)[ops.devices[device].key]


def _compute_flags(
    trace: Trace, device: int, kinds: NDArray[np.int8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Per op, whether it computes, and whether it is a container; `kinds` as returned by `collective_kinds`. Empty
    arrays if there are no collectives."""
    names = trace.devices[device].ops.name
    if not (kinds >= 0).any():
        return kinds[:0] > 0, kinds[:0] > 0
    waits, containers = trace.map_texts(names, is_wait) > 0, trace.map_texts(names, is_container) > 0
    if trace.devices[device].from_host_events:
        by_opcode = _classify_opcodes(trace, device, is_container)
        containers = np.where(by_opcode != _NO_OPCODE, by_opcode > 0, containers)
    else:  # sends to the host compute nothing either
        waits |= np.isin(trace.map_texts(names, _kind_index), _POINT_TO_POINT)
    return (kinds < 0) & ~(waits | containers), containers


def _kind_index(name: str) -> int:
    kind = collective_kind(name)
    return -1 if kind is None else COLLECTIVE_KINDS.index(kind)


def collectives_report(trace: Trace) -> list[Collective]:
    """The report's `collectives`: a row per op name and kind, summed over all devices, most time first. Times are own
    times; `count` counts the start and done ops of an asynchronous collective separately."""
    sums: dict[tuple[str, str], list[int]] = {}
    for index, device in enumerate(trace.devices):
        collectives = find_collectives(trace, index)
        names = device.ops.name[collectives.op]
        row_of_op = names.astype(np.int64) * len(COLLECTIVE_KINDS) + collectives.kind
        row_keys, row, counts = np.unique(row_of_op, return_inverse=True, return_counts=True)
        times = np.zeros((3, len(row_keys)), np.int64)
        np.add.at(times[0], row, collectives.duration_ps)
        np.add.at(times[1], row, collectives.exposed_ps)
        in_steps = _is_in_steps(trace, device.ops.start_ps[collectives.op])
        np.add.at(times[2], row[in_steps], collectives.exposed_ps[in_steps])
        for row_key, *row_sums in zip(row_keys.tolist(), counts.tolist(), *times.tolist(), strict=True):
            name, kind = divmod(row_key, len(COLLECTIVE_KINDS))
            total = sums.setdefault(
                (instruction_name(trace.strings[name]), COLLECTIVE_KINDS[kind]), [0, 0, 0, 0]
            )
            total[:] = map(sum, zip(total, row_sums, strict=True))
    rows: list[Collective] = [
        {
            "op": op,
            "kind": kind,
            "count": count,
            "duration_ps": time,
            "exposed_ps": exposed,
            "exposed_in_steps_ps": in_steps,
        }
        for (op, kind), (count, time, exposed, in_steps) in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row["duration_ps"], row["op"], row["kind"]))


def _is_in_steps(trace: Trace, instants: Int64) -> NDArray[np.bool_]:
    """Whether a whole step takes place at each of some instants."""
    start, end = step_times(trace)
    step = np.searchsorted(start, instants, "right") - 1
    inside: NDArray[np.bool_] = (step >= 0) & (instants < np.append(end, 0)[step])
    return inside
