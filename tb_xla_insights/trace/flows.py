"""Flows: producers and consumers with the same flow id, paired by a hash table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int32, Int64, empty_columns, trim_columns
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.trace import kernels
from tb_xla_insights.trace.model import Flows
from tb_xla_insights.xplane.columns import StatColumn


def _columns(stats: Mapping[str, StatColumn], kind_stat: str, id_stat: str) -> tuple[Int32, Int64, Int32]:
    """The kind (TSL's `ContextType`, an int; 0, generic, if not recorded), flow id and row of the events that carry a
    flow id."""
    if id_stat not in stats:
        return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32)
    ids = stats[id_stat]
    values = ids.values.astype(np.int64, copy=False)
    if kind_stat not in stats:
        return np.zeros(len(values), np.int32), values, ids.rows
    kinds = stats[kind_stat]
    has_same_rows = kinds.rows is ids.rows or np.array_equal(kinds.rows, ids.rows)
    kinds_of_ids = kinds.values if has_same_rows else kinds.at(ids.rows, 0)
    # No profiler writes kinds beyond 32 bits; clipped ones may become equal.
    if kinds_of_ids.dtype == np.int64:
        kinds_of_ids = np.clip(kinds_of_ids, np.iinfo(np.int32).min, np.iinfo(np.int32).max)
    return kinds_of_ids.astype(np.int32, copy=False), values, ids.rows


FLOW_STATS = ("_pt", "_p", "_ct", "_c")
"""The stats that tie events: kind and id of a producer and of a consumer. They are numbers without another meaning."""


def pair_flows(stats: Mapping[str, StatColumn], start_ps: Int64) -> Flows:
    """Pairs producers (`_pt`, `_p`) with consumers (`_ct`, `_c`) of the same kind and id.

    If several events produce the same id (writers may restart at 0), a consumer belongs to the last of them that
    started before it, else to the first of all.
    """
    producer_kind, producer_id, producer_row = _columns(stats, "_pt", "_p")
    consumer_kind, consumer_id, consumer_row = _columns(stats, "_ct", "_c")
    first_producer, producer = np.empty(len(producer_id), np.int32), np.empty(len(consumer_id), np.int32)
    slots = np.full(max(16, 1 << (3 * len(producer_id) // 2).bit_length()), -1, np.int32)
    has_repeats = kernels.enter_producers(producer_kind, producer_id, first_producer, slots)
    half = len(consumer_id) // 2
    run_parallel(
        [
            partial(
                kernels.find_producers,
                producer_kind,
                producer_id,
                slots,
                consumer_kind[rows],
                consumer_id[rows],
                producer[rows],
            )
            for rows in (slice(half), slice(half, None))
        ]
    )
    if has_repeats:
        is_repeated = np.zeros(len(producer_id), bool)
        is_repeated[first_producer[first_producer != np.arange(len(first_producer))]] = True
        paired = np.flatnonzero(producer >= 0)
        repeated_consumers = paired[is_repeated[producer[paired]]]
        producer[repeated_consumers] = _latest_producers(
            first_producer,
            is_repeated,
            start_ps[producer_row],
            producer[repeated_consumers],
            start_ps[consumer_row[repeated_consumers]],
        )
    (consumer,) = empty_columns(len(producer), np.int32)
    return Flows(
        *trim_columns(
            kernels.list_flow_rows(producer_row, consumer_row, producer, consumer), producer, consumer
        )
    )


def _latest_producers(
    first_producer: Int32,
    is_repeated: NDArray[np.bool_],
    producer_start: Int64,
    producer: Int32,
    consumer_start: Int64,
) -> NDArray[np.int64]:
    """The producer that started last before each consumer of a repeated flow; sorts producers and consumers together by
    flow and start."""
    candidates = np.flatnonzero(is_repeated[first_producer])
    flow = np.concatenate((first_producer[candidates], producer))
    start = np.concatenate((producer_start[candidates], consumer_start))
    is_consumer = np.concatenate((np.zeros(len(candidates), bool), np.ones(len(producer), bool)))
    order = np.lexsort((is_consumer, start, flow))
    position = np.where(is_consumer[order], -1, np.arange(len(order)))
    last = np.maximum.accumulate(position)
    consumers = np.flatnonzero(is_consumer[order])
    preceding = order[np.maximum(last[consumers], 0)]
    latest = np.where(
        (last[consumers] >= 0) & (flow[preceding] == flow[order[consumers]]),
        candidates[np.minimum(preceding, len(candidates) - 1)],
        producer[order[consumers] - len(candidates)],
    )
    result = np.empty(len(producer), np.int64)
    result[order[consumers] - len(candidates)] = latest
    return result
