"""The timeline's loops over events, compiled: assigning lanes, finding names, and finding the op of a device to show at
each instant.

Arrays are those of one lane or one row, sorted by start.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.stdint import INT64_MAX, int8_t, int32_t, int64_t
from cython.cimports.tb_xla_insights.arrays import (
    Bools,
    Int8,
    Int16,
    Int32,
    Int64,
    OutBools,
    OutInt8,
    OutInt16,
    OutInt32,
    OutInt64,
)
from numpy.typing import NDArray

from tb_xla_insights.arrays import empty_columns, trim_columns

_MAX_LANE = cython.declare(cython.int, 127)
"""The last lane of a row, which all deeper events share."""
_NOTHING = cython.declare(cython.int, -2)
"""The label of pieces that are not shown."""


def assign_lanes(start: Int64, end: Int64, parent: Int32) -> NDArray[np.int16]:
    """Assigns each event to the first lane below its parent's in which all earlier events have ended.

    For events that nest this is their depth. `parent` are indices into the same arrays (-1: none); parents precede
    their children.
    """
    result = np.empty(len(start), np.int16)
    lane: OutInt16 = result
    lane_end: OutInt64 = np.full(_MAX_LANE + 1, -(2**62))
    with cython.nogil:
        for i in range(len(start)):
            candidate: cython.int = lane[parent[i]] + 1 if parent[i] >= 0 else 0
            while candidate < _MAX_LANE and lane_end[candidate] > start[i]:
                candidate += 1
            candidate = min(candidate, _MAX_LANE)
            lane_end[candidate] = max(lane_end[candidate], end[i])
            lane[i] = candidate
    return result


def inherit_classes(
    own_class: Int8, takes_parents_class: Bools, parent: Int32, missing: int8_t
) -> NDArray[np.int8]:
    """The class of each event: its own, else its parent's, else `missing`. Parents precede their children.

    Events with `takes_parents_class`, and all events below them, take their parent's regardless of their own.
    """
    result = np.full(len(own_class), -1, np.int8)
    class_index: OutInt8 = result
    is_below: OutBools = np.array(takes_parents_class)
    with cython.nogil:
        for i in range(len(own_class)):
            parent_index = parent[i]
            if parent_index >= 0 and is_below[parent_index]:
                is_below[i] = True
            if own_class[i] >= 0 and not is_below[i]:
                class_index[i] = own_class[i]
            elif parent_index >= 0:
                class_index[i] = class_index[parent_index]
        for i in range(len(own_class)):
            if class_index[i] < 0:
                class_index[i] = missing
    return result


def shown_parents(parent: Int32, is_shown: Bools, first: int64_t, shown_count: int64_t) -> NDArray[np.int32]:
    """The nearest shown ancestor of each shown event of a line, as an index among the line's shown events, -1: none.

    `parent` is per event of the trace; `is_shown` per event of the line, the first of which is `first` in the trace.
    """
    result = np.empty(shown_count, np.int32)
    shown_parent: OutInt32 = result
    # The index of each shown event, for other events that of the nearest shown ancestor.
    shown_index: OutInt32 = np.empty(len(is_shown), np.int32)
    next_index: int32_t = 0
    with cython.nogil:
        for i in range(len(is_shown)):
            row = first + i
            ancestor: int32_t = -1 if parent[row] < first else shown_index[parent[row] - first]
            if is_shown[i]:
                shown_parent[next_index] = ancestor
                shown_index[i] = next_index
                next_index += 1
            else:
                shown_index[i] = ancestor
    return result


def covered_ps(start: Int64, end: Int64) -> int:
    """The length of the union of intervals sorted by start."""
    total: int64_t = 0
    latest_end: int64_t = -(1 << 62)
    with cython.nogil:
        for i in range(len(start)):
            total += max(0, end[i] - max(start[i], latest_end))
            latest_end = max(latest_end, end[i])
    return total


def find_matches(
    event: Int32, start: Int64, end: Int64, name: Int32, class_index: Int8, metadata_index: Int32,
    is_searched_name: Bools, is_searched_metadata: Bools, home: Int16, home_row: int64_t, limit: int64_t,
    count: OutInt64, total: OutInt64, first_class: OutInt8,
) -> NDArray[np.int64]:  # fmt: skip
    """The indices of the first `limit` events with a searched name or searched metadata.

    Adds the number and time of all matches to `count` and `total`, by name, and sets `first_class` of each name, where
    it is -1, to the class of the name's first match. `metadata_index` and `home` are per event of the trace; with
    `home_row` >= 0 only events with that home row match.
    """
    result = np.empty(limit, np.int64)
    indices: OutInt64 = result
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(event)):
            matches = is_searched_name[name[i]] or is_searched_metadata[metadata_index[event[i]]]
            if matches and (home_row < 0 or home[event[i]] == home_row):
                count[name[i]] += 1
                total[name[i]] += end[i] - start[i]
                if first_class[name[i]] < 0:
                    first_class[name[i]] = class_index[i]
                if size < limit:
                    indices[size] = i
                    size += 1
    return result[:size]


def op_pieces(
    start: Int64, end: Int64, key: Int32, run: Int32, first_part: Int32, cumulative_weights: Int64
) -> tuple[NDArray[Any], ...]:
    """Cuts the ops of one device, sorted by start, into pieces that do not overlap: start, end, part, run.

    At each instant the op that started last among the running ones is shown. The parts of the op with key k are
    `first_part[k]` to `first_part[k + 1] - 1`; they divide the op's length by their weights, whose sums from the op's
    first part on are `cumulative_weights`.
    """
    max_pieces = len(start) + 1 + int(np.diff(first_part)[key].sum())
    columns = empty_columns(max_pieces, np.int64, np.int64, np.int32, np.int32)
    return trim_columns(_op_pieces(start, end, key, run, first_part, cumulative_weights, *columns), *columns)


def _op_pieces(
    start: Int64, end: Int64, key: Int32, run: Int32, first_part: Int32, cumulative_weights: Int64,
    out_start: OutInt64, out_end: OutInt64, out_part: OutInt32, out_run: OutInt32,
) -> int:  # fmt: skip
    # A stack of the running ops, the one that started last on top.
    running: OutInt64 = np.empty(len(start), np.int64)
    size: cython.Py_ssize_t = 0
    top: cython.Py_ssize_t = 0
    now: int64_t = 0
    with cython.nogil:
        for i in range(len(start) + 1):
            until = start[i] if i < len(start) else INT64_MAX
            while top > 0:
                op = running[top - 1]
                stop = min(end[op], until)
                if stop > now:
                    low, high = first_part[key[op]], first_part[key[op] + 1]
                    part_start, length = start[op], end[op] - start[op]
                    total_weight = cumulative_weights[high - 1]
                    for part in range(low, high):
                        part_end = start[op] + length * cumulative_weights[part] // total_weight
                        if min(part_end, stop) > max(part_start, now):
                            out_start[size], out_end[size] = max(part_start, now), min(part_end, stop)
                            out_part[size], out_run[size] = part, run[op]
                            size += 1
                        part_start = part_end
                    now = stop
                if end[op] > until:
                    break
                top -= 1
            if i < len(start):
                now = max(now, start[i])
                running[top] = i
                top += 1
    return size


def merge_pieces(
    start: Int64, end: Int64, part: Int32, run: Int32, label: Int32
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Merges consecutive pieces with the same run and label: start, end, label. `label` is per part: -1 is no scope, -2
    (_NOTHING) nothing to show. Pieces of a run are merged across pauses, other pieces only without a pause."""
    columns = empty_columns(len(start), np.int64, np.int64, np.int32)
    return trim_columns(_merge_pieces(start, end, part, run, label, *columns), *columns)


def _merge_pieces(
    start: Int64, end: Int64, part: Int32, run: Int32, label: Int32,
    out_start: OutInt64, out_end: OutInt64, out_label: OutInt32,
) -> int:  # fmt: skip
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(start)):
            part_label = label[part[i]]
            if part_label == _NOTHING:
                continue
            is_same_label: cython.bint = (
                i > 0 and size > 0 and label[part[i - 1]] == part_label and run[i - 1] == run[i]
            )
            if is_same_label and (run[i] >= 0 or end[i - 1] == start[i]):
                out_end[size - 1] = end[i]
                continue
            out_start[size], out_end[size], out_label[size] = start[i], end[i], part_label
            size += 1
    return size
