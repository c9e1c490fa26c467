"""Which event led to which: producers and consumers of one flow id, joined by a hash table."""

from __future__ import annotations

import numpy as np
from numba import njit

from tb_xla_insights.trace.model import Flows, Int32, Int64, StatColumn


@njit("int64(int64[::1], int64[::1], int32[::1], int64[::1], int64[::1], int32[::1], int32[::1], int32[::1])", cache=True, nogil=True)
def _join(made_kind, made_id, made_row, used_kind, used_id, used_row, producer, consumer):  # type: ignore[no-untyped-def]
    """Writes the pairs with equal (kind, id) and returns how many there are. Rows ascend, so of several producers of one
    flow the last one before the consumer in file order wins, else the first."""
    size = 16
    while size < 2 * len(made_row):
        size *= 2
    mask = size - 1
    slots = np.full(size, -1, np.int32)
    following = np.full(len(made_row), -1, np.int32)  # the next producer of the same flow
    for index in range(len(made_row)):
        slot = ((made_id[index] * 31 + made_kind[index]) * np.int64(-7046029254386353131)) >> 32 & mask
        while slots[slot] >= 0 and (made_id[slots[slot]] != made_id[index] or made_kind[slots[slot]] != made_kind[index]):
            slot = (slot + 1) & mask
        if slots[slot] >= 0:
            last = slots[slot]
            while following[last] >= 0:
                last = following[last]
            following[last] = index
        else:
            slots[slot] = index
    count = 0
    for index in range(len(used_row)):
        slot = ((used_id[index] * 31 + used_kind[index]) * np.int64(-7046029254386353131)) >> 32 & mask
        while slots[slot] >= 0 and (made_id[slots[slot]] != used_id[index] or made_kind[slots[slot]] != used_kind[index]):
            slot = (slot + 1) & mask
        found = slots[slot]
        while found >= 0 and following[found] >= 0 and made_row[following[found]] < used_row[index]:
            found = following[found]
        if found >= 0 and made_row[found] != used_row[index]:
            producer[count], consumer[count] = made_row[found], used_row[index]
            count += 1
    return count


def _keys(kind: StatColumn, id_: StatColumn) -> tuple[Int64, Int64, Int32]:
    """Kind, id and row of the events that carry both; a flow id without a kind has the generic kind 0."""
    kinds = kind.values if len(kind.rows) == len(id_.rows) and (kind.rows == id_.rows).all() else kind.at(id_.rows, 0)
    return np.ascontiguousarray(kinds), np.ascontiguousarray(id_.values), np.ascontiguousarray(id_.rows)


def join_flows(stats: dict[str, StatColumn]) -> Flows:
    """Pairs producers (`_pt`, `_p`) with consumers (`_ct`, `_c`) of the same type and id."""
    none = StatColumn(np.empty(0, np.int32), np.empty(0, np.int64), text=False)
    made = _keys(stats.get("_pt", none), stats.get("_p", none))
    used = _keys(stats.get("_ct", none), stats.get("_c", none))
    producer, consumer = np.empty(len(used[2]), np.int32), np.empty(len(used[2]), np.int32)
    count = _join(*made, *used, producer, consumer)
    return Flows(producer[:count].copy(), consumer[:count].copy())
