"""Collectives: how long cores exchange data, and how much of that no computation hides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.intervals import own_time, union
from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.opcodes import COLLECTIVES, collective, contains, instruction, waits
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.shares import covered
from tb_xla_insights.trace.model import Int32, Int64, SessionTrace, Spans, Trace


@dataclass(frozen=True)
class Collectives:
    """Per collective op of one device: its place in the device's ops, its kind (index into COLLECTIVES), its self
    time and how much of that no other op's computing hides."""

    op: Int32
    kind: NDArray[np.int8]
    duration_ps: Int64
    exposed_ps: Int64


@kept
def find_collectives(trace: Trace, device: int) -> Collectives:
    """The collectives of one device (an index into the trace's devices).

    A collective is hidden while another op of the same core computes: on another stream of a GPU, on another
    thread of a CPU, or, for the asynchronous ones of a TPU, between start and done, where it takes no time of
    its own. Ops that only wait for something compute nothing, and a loop or call only where none of its
    recorded parts runs. All other ops have no parts: one that lies within another's time runs beside it.
    """
    ops = trace.devices[device].ops
    kinds, computes, holds = _facts(trace, ops)
    chosen = np.flatnonzero(kinds >= 0)
    start, end = ops.start_ps[chosen], ops.end_ps[chosen]
    none = np.zeros(0, np.int64)
    if not chosen.size:
        return Collectives(chosen.astype(np.int32), kinds[chosen], none, none)
    own_start, own_end = none, none
    if holds.any():
        op, own_start, own_end = own_time(ops.start_ps, ops.end_ps, ops.parent)
        own_start, own_end = own_start[holds[op]], own_end[holds[op]]
    at_work = union(
        np.concatenate((ops.start_ps[computes], own_start)), np.concatenate((ops.end_ps[computes], own_end))
    )
    hidden = covered(at_work.start_ps, at_work.end_ps, start, end)
    # Ops that run side by side (on streams, on threads) do not nest, whatever their times.
    own = find_ops(trace).devices[device].own_ps if trace.devices[device].made else ops.self_ps
    time = own[chosen]
    return Collectives(chosen.astype(np.int32), kinds[chosen], time, np.minimum(time, end - start - hidden))


def _facts(trace: Trace, ops: Spans) -> tuple[NDArray[np.int8], NDArray[np.bool_], NDArray[np.bool_]]:
    """Per op its kind, -1 for none; whether it computes; whether it has parts. Each name is looked at once."""
    found = trace.told(ops.name, _kind)
    categories = trace.metadata.text.get("hlo_category")
    if categories is not None:  # fusions around a collective are told by their category alone
        of_meta = trace.told(categories, _kind)
        if (of_meta >= 0).any():
            found = np.where(found < 0, of_meta[trace.meta[ops.row]], found)
    if not (found >= 0).any():
        return found, found[:0] > 0, found[:0] > 0
    done, holds = trace.told(ops.name, waits) > 0, trace.told(ops.name, contains) > 0
    return found, (found < 0) & ~(done | holds), holds


def _kind(name: str) -> int:
    kind = collective(name)
    return -1 if kind is None else COLLECTIVES.index(kind)


def collectives_report(session: SessionTrace) -> list[dict[str, Any]]:
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
                key = instruction(trace.strings[name]), COLLECTIVES[found.kind[mine][0]]
                total = rows.setdefault(key, [0, 0, 0])
                sums = mine.sum(), found.duration_ps[mine].sum(), found.exposed_ps[mine].sum()
                for place, value in enumerate(sums):
                    total[place] += int(value)
    listed: list[dict[str, Any]] = [
        {"op": op, "kind": kind, "count": count, "duration_ps": time, "exposed_ps": exposed}
        for (op, kind), (count, time, exposed) in rows.items()
    ]
    return sorted(listed, key=lambda row: (-row["duration_ps"], row["op"]))
