"""Which event led to which: producers and consumers of one flow id, joined by a hash table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.compiled import cut, inlined, kernel, room
from tb_xla_insights.parallel import side_by_side
from tb_xla_insights.trace.model import Flows, Int32, Int64
from tb_xla_insights.xplane.columns import StatColumn

_SPREAD = -7046029254386353131
_STEP = 17
"""Odd, so that it leads to every slot; neighbours stay neighbours."""


@inlined
def _slot(id_, kind):  # type: ignore[no-untyped-def]
    """Where a flow stands in the hash table. Writers count ids up: sixteen neighbours share a line of the
    processor's cache."""
    spread = ((id_ >> 4) * 31 + np.int64(kind)) * np.int64(_SPREAD)
    return spread >> 32 & ~15 | (id_ ^ spread >> 28) & 15


@kernel("int64(int32[::1], int64[::1], int32[::1], int32[::1])")
def _enter(kind, id_, head, slots):  # type: ignore[no-untyped-def]
    """Enters producers into a table of slots, a power of two of them, all -1. `head[i]`: the first producer with the
    flow of producer i (i itself for most). Returns how many are not the first one."""
    mask, again = len(slots) - 1, 0
    for index in range(len(id_)):
        slot = _slot(id_[index], kind[index]) & mask
        while slots[slot] >= 0 and (id_[slots[slot]] != id_[index] or kind[slots[slot]] != kind[index]):
            slot = (slot + _STEP) & mask
        if slots[slot] < 0:
            slots[slot] = index
        else:
            again += 1
        head[index] = slots[slot]
    return again


@kernel("void(int32[::1], int64[::1], int32[::1], int32[::1], int64[::1], int32[::1])")
def _find(made_kind, made_id, slots, kind, id_, found):  # type: ignore[no-untyped-def]
    """`found[i]`: the first producer with the flow of consumer i, -1 where there is none."""
    mask = len(slots) - 1
    for index in range(len(id_)):
        slot = _slot(id_[index], kind[index]) & mask
        while slots[slot] >= 0 and (
            made_id[slots[slot]] != id_[index] or made_kind[slots[slot]] != kind[index]
        ):
            slot = (slot + _STEP) & mask
        found[index] = slots[slot]


@kernel("int64(int32[::1], int32[::1], int32[::1], int32[::1])")
def _rows(found, made_row, used_row, consumer):  # type: ignore[no-untyped-def]
    """The rows of both ends of the flows that have two, and lead to another event; `found` becomes those of the
    producers. Returns how many they are."""
    made = 0
    for index in range(len(found)):
        if found[index] >= 0 and made_row[found[index]] != used_row[index]:
            found[made], consumer[made] = made_row[found[index]], used_row[index]
            made += 1
    return made


def _columns(stats: Mapping[str, StatColumn], kind: str, id_: str) -> tuple[Int32, Int64, Int32]:
    """Kind (of TSL's `ContextType`, an int), id and row of the events that carry a flow id; one without a kind has the
    generic kind 0."""
    if id_ not in stats:
        return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32)
    ids = stats[id_]
    values = ids.values.astype(np.int64, copy=False)
    if kind not in stats:
        return np.zeros(len(values), np.int32), values, ids.rows
    kinds = stats[kind]
    same = kinds.rows is ids.rows or np.array_equal(kinds.rows, ids.rows)
    told = kinds.values if same else kinds.at(ids.rows, 0)
    if told.dtype == np.int64:  # no kind that anybody writes: all those are one
        told = np.clip(told, np.iinfo(np.int32).min, np.iinfo(np.int32).max)
    return told.astype(np.int32, copy=False), values, ids.rows


def join_flows(stats: Mapping[str, StatColumn], start_ps: Int64) -> Flows:
    """Pairs producers (`_pt`, `_p`) with consumers (`_ct`, `_c`) of the same type and id.

    Where several events produce one id (writers count from 0 again), a consumer belongs to the last of
    them that started before it, or to the first one of all.
    """
    made_kind, made_id, made_row = _columns(stats, "_pt", "_p")
    used_kind, used_id, used_row = _columns(stats, "_ct", "_c")
    head, found = np.empty(len(made_id), np.int32), np.empty(len(used_id), np.int32)
    slots = np.full(max(16, 1 << (3 * len(made_id) // 2).bit_length()), -1, np.int32)
    again = _enter(made_kind, made_id, head, slots)
    half = len(used_id) // 2
    side_by_side(
        [
            partial(_find, made_kind, made_id, slots, used_kind[its], used_id[its], found[its])
            for its in (slice(half), slice(half, None))
        ]
    )
    if again:
        repeated = np.zeros(len(made_id), bool)
        repeated[head[head != np.arange(len(head))]] = True
        joined = np.flatnonzero(found >= 0)
        again = joined[repeated[found[joined]]]
        latest = _latest(head, repeated, start_ps[made_row], found[again], start_ps[used_row[again]])
        found[again] = latest
    (consumer,) = room(len(found), np.int32)
    return Flows(*cut(_rows(found, made_row, used_row, consumer), found, consumer))


def _latest(
    head: Int32, repeated: NDArray[np.bool_], made_start: Int64, found: Int32, used_start: Int64
) -> NDArray[np.int64]:
    """For consumers of repeated flows, the producer that started last before them: one sort of both by flow
    and start."""
    makers = np.flatnonzero(repeated[head])
    flow = np.concatenate((head[makers], found))
    start = np.concatenate((made_start[makers], used_start))
    is_use = np.concatenate((np.zeros(len(makers), bool), np.ones(len(found), bool)))
    order = np.lexsort((is_use, start, flow))
    position = np.where(is_use[order], -1, np.arange(len(order)))
    last = np.maximum.accumulate(position)
    uses = np.flatnonzero(is_use[order])
    before = order[np.maximum(last[uses], 0)]
    maker = np.where(
        (last[uses] >= 0) & (flow[before] == flow[order[uses]]),
        makers[np.minimum(before, len(makers) - 1)],
        found[order[uses] - len(makers)],
    )
    result = np.empty(len(found), np.int64)
    result[order[uses] - len(makers)] = maker
    return result
