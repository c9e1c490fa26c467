"""Collectives: how long cores exchange data, and how much of that no computation hides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.device.opcodes import (
    COLLECTIVE_KINDS,
    collective_kind,
    instruction_name,
    is_container,
    is_wait,
)
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import own_time_intervals, union
from tb_xla_insights.trace.model import Int32, Int64, SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import Collective

_UNTOLD = -2


@dataclass(frozen=True)
class Collectives:
    """Per collective op of one device: its place in the device's ops, its kind (index into COLLECTIVES), its self
    time and how much of that no other op's computing hides."""

    op: Int32
    kind: NDArray[np.int8]
    duration_ps: Int64
    exposed_ps: Int64


@memoised
def find_collectives(trace: Trace, device: int) -> Collectives:
    """The collectives of one device (an index into the trace's devices).

    A collective is hidden while another op of the same core computes: on another stream of a GPU, on another
    thread of a CPU, or, for the asynchronous ones of a TPU, between start and done, where it takes no time of
    its own. Ops that only wait for something compute nothing, and a loop or call only where none of its
    recorded parts runs. All other ops have no parts: one that lies within another's time runs beside it.
    """
    ops, kinds = trace.devices[device].ops, collective_kinds(trace, device)
    computes, holds = _facts(trace, device, kinds)
    chosen = np.flatnonzero(kinds >= 0)
    start, end = ops.start_ps[chosen], ops.end_ps[chosen]
    none = np.zeros(0, np.int64)
    if not chosen.size:
        return Collectives(chosen.astype(np.int32), kinds[chosen], none, none)
    own_start, own_end = none, none
    if holds.any():
        op, own_start, own_end = own_time_intervals(ops.start_ps, ops.end_ps, ops.parent)
        own_start, own_end = own_start[holds[op]], own_end[holds[op]]
    at_work = union(
        np.concatenate((ops.start_ps[computes], own_start)), np.concatenate((ops.end_ps[computes], own_end))
    )
    hidden = covered_times(at_work.start_ps, at_work.end_ps, start, end)
    # Ops that run side by side (on streams, on threads) do not nest, whatever their times.
    own = find_ops(trace).devices[device].own_ps if trace.devices[device].from_host_events else ops.self_ps
    time = own[chosen]
    return Collectives(chosen.astype(np.int32), kinds[chosen], time, np.minimum(time, end - start - hidden))


@memoised
def collective_kinds(trace: Trace, device: int) -> NDArray[np.int8]:
    """Per op of a device (an index into the trace's devices) its kind (index into COLLECTIVES), -1 for none: by its
    name, by its category, and on a CPU, where ops have no category, by its opcode in the program. JAX names ops after
    its own primitives: `psum.7`."""
    ops = trace.devices[device].ops
    found = trace.map_texts(ops.name, _kind)
    categories = trace.metadata.text.get("hlo_category")
    if categories is not None:  # fusions around a collective are told by their category alone
        of_meta = trace.map_texts(categories, _kind)
        if (of_meta >= 0).any():
            found = np.where(found < 0, of_meta[trace.meta[ops.row]], found)
    if trace.devices[device].from_host_events:
        by_opcode = _of_opcodes(trace, device, _kind)
        found = np.where(by_opcode != _UNTOLD, by_opcode, found)
    return found


def _of_opcodes(trace: Trace, device: int, answer: Callable[[str], int]) -> NDArray[np.int8]:
    """What `answer` says of each op's opcode; _UNTOLD where no program tells that."""
    ops = find_ops(trace)
    told = [answer(origin.opcode) if origin.opcode else _UNTOLD for origin in ops.origin]
    return np.array(told, np.int8)[ops.devices[device].key]


def _facts(trace: Trace, device: int, kinds: NDArray[np.int8]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Per op whether it computes, and whether it has parts; `kinds` as `collective_kinds` tells. Each name is looked at
    once."""
    names = trace.devices[device].ops.name
    if not (kinds >= 0).any():
        return kinds[:0] > 0, kinds[:0] > 0
    done, holds = trace.map_texts(names, is_wait) > 0, trace.map_texts(names, is_container) > 0
    if trace.devices[device].from_host_events:
        by_opcode = _of_opcodes(trace, device, is_container)
        holds = np.where(by_opcode != _UNTOLD, by_opcode > 0, holds)
    return (kinds < 0) & ~(done | holds), holds


def _kind(name: str) -> int:
    kind = collective_kind(name)
    return -1 if kind is None else COLLECTIVE_KINDS.index(kind)


def collectives_report(session: SessionTrace) -> list[Collective]:
    """The report's `collectives`: a row per op name and kind, over all devices, those with most time first.
    Times are self times; `count` counts the two halves of an asynchronous collective apart, as they are two
    ops."""
    rows: dict[tuple[str, str], list[int]] = {}
    for trace in session.traces:
        for index, device in enumerate(trace.devices):
            found = find_collectives(trace, index)
            names = device.ops.name[found.op]
            for name in np.unique(names).tolist():
                mine = names == name
                key = instruction_name(trace.strings[name]), COLLECTIVE_KINDS[found.kind[mine][0]]
                total = rows.setdefault(key, [0, 0, 0])
                sums = mine.sum(), found.duration_ps[mine].sum(), found.exposed_ps[mine].sum()
                for place, value in enumerate(sums):
                    total[place] += int(value)
    listed: list[Collective] = [
        {"op": op, "kind": kind, "count": count, "duration_ps": time, "exposed_ps": exposed}
        for (op, kind), (count, time, exposed) in rows.items()
    ]
    return sorted(listed, key=lambda row: (-row["duration_ps"], row["op"]))
