"""Own time of a device's ops in a window, by name and by annotation."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import instruction_name
from tb_xla_insights.analysis.propagation.kernels import own_times, sum_by_part
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.path_names import with_outer_paths
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.analysis.time.interval_index import block_ends, first_ending_after
from tb_xla_insights.analysis.time.intervals import own_time_intervals, touches_window
from tb_xla_insights.analysis.window import kernels
from tb_xla_insights.arrays import Int32, Int64, empty_columns, trim_columns
from tb_xla_insights.text.name_limit import shorten_name
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.window import OmittedRows, OpTime, WindowAnnotation

_MAX_OPS_OF_ANNOTATION = 5

Sums = dict[tuple[str | None, str], tuple[int, int]]
"""By path of the annotation (None: none) and name of the op: the number of ops and their own time in ps."""


@dataclass(frozen=True)
class DistinctOps:
    """Properties of a host's distinct ops, as in `propagation.ops.Ops`, except that each part has the `path` of its
    annotation (None: none) in place of its scope. `paths`: those of all annotations."""

    name: list[str]
    first_part: Int32
    cumulative_weights: Int64
    path: list[str | None]
    caller: Int32
    in_program: NDArray[np.bool_]
    paths: frozenset[str]


@memoised
def distinct_ops(trace: Trace) -> DistinctOps:
    """The distinct ops of one host."""
    ops, nodes = find_ops(trace), find_nodes(trace)
    path = [nodes.path[node] if node >= 0 else None for node in nodes.of_part.tolist()]
    return DistinctOps(
        ops.name,
        ops.first_part,
        ops.cumulative_weights,
        path,
        ops.caller,
        ops.in_program,
        frozenset(nodes.path),
    )


@dataclass(frozen=True)
class OpsOfDevice:
    """The ops of one device that touch a range, sorted by start, longer ones first: `parent` (index into these ops, -1:
    none), `name` (index into the trace's strings), `key` (index of the distinct op). `concurrent`: whether ops run side
    by side, as on a CPU."""

    start_ps: Int64
    end_ps: Int64
    parent: Int32
    name: Int32
    key: Int32
    concurrent: bool


def ops_of_device(trace: Trace, index: int, start_ps: int, end_ps: int) -> OpsOfDevice:
    """The ops of one device (an index into the trace's devices)."""
    device = trace.devices[index]
    ops, key = device.ops, find_ops(trace).devices[index].key
    first_reaching = first_ending_after(_block_ends(trace, index), ops.end_ps.__getitem__, start_ps)
    rows = _rows_from(first_reaching, ops.start_ps, start_ps, end_ps)
    parent: Int32 = np.maximum(ops.parent[rows] - np.int32(rows.start), np.int32(-1))
    return OpsOfDevice(
        ops.start_ps[rows], ops.end_ps[rows], parent, ops.name[rows], key[rows], device.from_host_events
    )


@memoised
def _block_ends(trace: Trace, index: int) -> Int64:
    return block_ends(trace.devices[index].ops.end_ps)


class OpsOfWindow:
    """The ops of one device that touch the window, with their own time in it. `ops` must cover the window. The own
    times of adjacent windows add up to those of the combined window; an op counts in each window that it touches.
    (docs/definitions.md, "Time of an op")"""

    def __init__(self, ops: OpsOfDevice, distinct: DistinctOps, start_ps: int, end_ps: int) -> None:
        rows = _touching(ops.start_ps, ops.end_ps, start_ps, end_ps)
        touches = touches_window(ops.start_ps[rows], ops.end_ps[rows], start_ps, end_ps)
        self._distinct = distinct
        self._own_ps: Int64 = _own_ps(ops, distinct, rows, start_ps, end_ps)[touches]
        self._name, self._key = ops.name[rows][touches], ops.key[rows][touches]

    def by_name(self, strings: Sequence[str]) -> list[OpTime]:
        """`op`, `count` and `self_ps` by name; most time first."""
        columns = empty_columns(min(len(self._name), len(strings)), np.int32, np.int64, np.int64)
        ops = np.ascontiguousarray(self._name), np.ascontiguousarray(self._own_ps)
        name_count = kernels.sums_by_name(*ops, np.full(len(strings), -1, np.int32), *columns)
        sums: Sums = {}
        for name, count, ps in zip(
            *(column.tolist() for column in trim_columns(name_count, *columns)), strict=True
        ):
            _add(sums, (None, instruction_name(strings[name])), count, ps)
        return _rows(sums)

    def by_annotation(self) -> Sums:
        """By innermost annotation. The time of an op with several annotations is divided exactly among them; the op
        counts in each."""
        ops = self._distinct
        time, count = np.zeros(len(ops.path), np.int64), np.zeros(len(ops.name), np.int64)
        sum_by_part(
            np.ascontiguousarray(self._key),
            np.ascontiguousarray(self._own_ps),
            ops.first_part,
            ops.cumulative_weights,
            time,
            count,
        )
        sums: Sums = {}
        for key in np.flatnonzero(count).tolist():
            times: dict[str | None, int] = {}
            for part in range(ops.first_part[key], ops.first_part[key + 1]):
                path = ops.path[part]
                times[path] = times.get(path, 0) + int(time[part])
            for path, ps in times.items():
                _add(sums, (path, instruction_name(ops.name[key])), int(count[key]), ps)
        return sums


def paths_around(sums_of_devices: Iterable[Sums], paths: Container[str]) -> frozenset[str]:
    """The paths of the annotations of some ops and of those around them, which are in `paths`."""
    own_paths = {path for sums in sums_of_devices for path, _ in sums}
    return frozenset(around for path in own_paths for around in with_outer_paths(path, paths))


def annotations_of(sums_of_devices: Iterable[Sums], paths: Container[str]) -> list[WindowAnnotation]:
    """The ops of several devices by annotation, most own time first: `path` (None: none), `count` and `self_ps` of its
    own ops, `share` of the time of all ops, `inside_ps` including nested annotations; `top_ops`, its own ops with most
    time, and `more_ops`, the sums of all others. `paths`: from `paths_around`."""
    ops_of_path: dict[str | None, Sums] = {}
    for sums in sums_of_devices:
        for (path, op), (count, ps) in sums.items():
            _add(ops_of_path.setdefault(path, {}), (None, op), count, ps)
    own_ps = {path: sum(ps for _, ps in ops.values()) for path, ops in ops_of_path.items()}
    total_ps = sum(own_ps.values())
    rows: list[WindowAnnotation] = []
    for path, inside_ps in _inclusive_times(own_ps, paths).items():
        rows_of_ops, self_ps = _rows(ops_of_path.get(path, {})), own_ps.get(path, 0)
        rows.append(
            {
                "path": path,
                "count": sum(row["count"] for row in rows_of_ops),
                "self_ps": self_ps,
                "share": self_ps / total_ps if total_ps else 0.0,
                "inside_ps": inside_ps,
                "top_ops": rows_of_ops[:_MAX_OPS_OF_ANNOTATION],
                "more_ops": sum_of_ops(rows_of_ops[_MAX_OPS_OF_ANNOTATION:]),
            }
        )
    return sorted(rows, key=lambda row: (-row["self_ps"], row["path"] or ""))


def sum_of_ops(rows: Sequence[OpTime]) -> OmittedRows:
    """The sums of several rows of ops; `names` is the number of rows."""
    return {
        "names": len(rows),
        "count": sum(row["count"] for row in rows),
        "self_ps": sum(row["self_ps"] for row in rows),
    }


def _inclusive_times(own_ps: Mapping[str | None, int], paths: Container[str]) -> dict[str | None, int]:
    """The time of each annotation, and of each one around it, including the annotations nested in it."""
    inside: dict[str | None, int] = {}
    for path, ps in own_ps.items():
        for around in with_outer_paths(path, paths):
            inside[around] = inside.get(around, 0) + ps
        if path is None:
            inside[None] = ps
    return inside


def _add(sums: Sums, key: tuple[str | None, str], count: int, ps: int) -> None:
    previous_count, previous_ps = sums.get(key, (0, 0))
    sums[key] = (previous_count + count, previous_ps + ps)


def _rows(sums: Sums) -> list[OpTime]:
    rows: list[OpTime] = [
        {"op": shorten_name(op), "count": count, "self_ps": ps} for (_, op), (count, ps) in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row["self_ps"], row["op"]))


def _touching(start: Int64, end: Int64, start_ps: int, end_ps: int) -> slice:
    """The smallest range of ops (sorted by start) that includes all that touch the window."""
    first_reaching = int(np.searchsorted(np.maximum.accumulate(end), start_ps, "right"))
    return _rows_from(first_reaching, start, start_ps, end_ps)


def _rows_from(first_reaching: int, start: Int64, start_ps: int, end_ps: int) -> slice:
    """The ops of `_touching`; `first_reaching` is the first one that ends after the window's start."""
    # An op without duration at the window's start touches it although it ends there.
    first = min(first_reaching, int(np.searchsorted(start, start_ps, "left")))
    return slice(first, max(first, int(np.searchsorted(start, end_ps, "left"))))


def _own_ps(ops: OpsOfDevice, distinct: DistinctOps, rows: slice, start_ps: int, end_ps: int) -> Int64:
    """The own time of each op of a range within the window."""
    end = np.clip(ops.end_ps[rows], start_ps, end_ps)
    start = np.minimum(np.clip(ops.start_ps[rows], start_ps, end_ps), end)
    parent: Int32 = np.maximum(ops.parent[rows] - np.int32(rows.start), np.int32(-1))
    op, own_start, own_end = own_time_intervals(start, end, parent)
    own_ps = np.zeros(len(end), np.int64)
    np.add.at(own_ps, op, own_end - own_start)
    if not ops.concurrent:
        return own_ps
    # Ops of a CPU run side by side: an op within the time of another is inside it only if the program says so.
    key = np.ascontiguousarray(ops.key[rows])
    return own_times(start, end, own_ps, key, distinct.caller, distinct.in_program)
