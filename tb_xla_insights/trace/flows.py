"""Which event led to which: producers and consumers of one flow id, joined by a hash table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import empty_columns, trim_columns
from tb_xla_insights.parallel import run_parallel
from tb_xla_insights.trace import kernels
from tb_xla_insights.trace.model import Flows, Int32, Int64
from tb_xla_insights.xplane.columns import StatColumn


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
    repeats = kernels.enter_producers(made_kind, made_id, head, slots)
    half = len(used_id) // 2
    run_parallel(
        [
            partial(
                kernels.find_producers, made_kind, made_id, slots, used_kind[its], used_id[its], found[its]
            )
            for its in (slice(half), slice(half, None))
        ]
    )
    if repeats:
        repeated = np.zeros(len(made_id), bool)
        repeated[head[head != np.arange(len(head))]] = True
        joined = np.flatnonzero(found >= 0)
        again = joined[repeated[found[joined]]]
        latest = _latest(head, repeated, start_ps[made_row], found[again], start_ps[used_row[again]])
        found[again] = latest
    (consumer,) = empty_columns(len(found), np.int32)
    return Flows(*trim_columns(kernels.join_rows(made_row, used_row, found, consumer), found, consumer))


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
