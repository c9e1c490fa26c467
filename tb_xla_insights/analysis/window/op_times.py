"""How long a device's ops took in a window: by name, and by annotation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.device.opcodes import instruction_name
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.kernels import own_times, tally
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.analysis.time.interval_index import block_ends, first_ending_after
from tb_xla_insights.analysis.time.intervals import own_time_intervals
from tb_xla_insights.analysis.window import kernels
from tb_xla_insights.arrays import empty_columns, trim_columns
from tb_xla_insights.name_limit import shorten_name
from tb_xla_insights.trace.model import Int32, Int64, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.window import More, OpTime, WindowAnnotation

_OPS_OF_ANNOTATION = 5

Sums = dict[tuple[str | None, str], tuple[int, int]]
"""Per annotation (None: none) and name of an op: how many, and their own time."""


@dataclass(frozen=True)
class DistinctOps:
    """What the ops of a host have in common, one entry per distinct op: as in `propagation.ops.Ops`, but that each part
    has the `path` of its annotation (None: none) in place of its scope."""

    name: list[str]
    first: Int32
    upto: Int64
    path: list[str | None]
    caller: Int32
    known: NDArray[np.bool_]


@memoised
def distinct_ops(trace: Trace) -> DistinctOps:
    """Those of one host."""
    ops, nodes = find_ops(trace), find_nodes(trace)
    path = [nodes.path[node] if node >= 0 else None for node in nodes.of_part.tolist()]
    return DistinctOps(ops.name, ops.first, ops.upto, path, ops.caller, ops.known)


@dataclass(frozen=True)
class OpsOfDevice:
    """The ops of one device that touch a range, sorted by start, the longer one first: `parent` (index into these, -1:
    none), `name` (index into the trace's strings), `key` (which distinct op). `made`: they run side by side."""

    start_ps: Int64
    end_ps: Int64
    parent: Int32
    name: Int32
    key: Int32
    made: bool


def ops_of_device(trace: Trace, number: int, start_ps: int, end_ps: int) -> OpsOfDevice:
    """Those of one device (an index into the trace's devices)."""
    device = trace.devices[number]
    ops, key = device.ops, find_ops(trace).devices[number].key
    first = first_ending_after(_reached(trace, number), ops.end_ps.__getitem__, start_ps)
    run = slice(first, max(first, int(np.searchsorted(ops.start_ps, end_ps, "left"))))
    parent: Int32 = np.maximum(ops.parent[run] - np.int32(run.start), np.int32(-1))
    return OpsOfDevice(
        ops.start_ps[run], ops.end_ps[run], parent, ops.name[run], key[run], device.from_host_events
    )


@memoised
def _reached(trace: Trace, number: int) -> Int64:
    return block_ends(trace.devices[number].ops.end_ps)


class OpsOfWindow:
    """The ops of one device that touch the window, with the time of their own in it. `ops` are those of a range that
    holds the window. Windows side by side add up to the window that they make.
    (docs/definitions.md, "Time of an op")"""

    def __init__(self, ops: OpsOfDevice, distinct: DistinctOps, start_ps: int, end_ps: int) -> None:
        run = slice(*_touching(ops.start_ps, ops.end_ps, start_ps, end_ps))
        touches = ops.end_ps[run] > start_ps
        self._distinct = distinct
        self._own: Int64 = _own_ps(ops, distinct, run, start_ps, end_ps)[touches]
        self._name, self._key = ops.name[run][touches], ops.key[run][touches]

    def by_name(self, strings: Sequence[str]) -> list[OpTime]:
        """`op`, `count` and `self_ps`, by name; those with most time first."""
        columns = empty_columns(min(len(self._name), len(strings)), np.int32, np.int64, np.int64)
        its = np.ascontiguousarray(self._name), np.ascontiguousarray(self._own)
        made = kernels.sums_by_name(*its, np.full(len(strings), -1, np.int32), *columns)
        found: Sums = {}
        for name, some, ps in zip(*(column.tolist() for column in trim_columns(made, *columns)), strict=True):
            _add(found, (None, instruction_name(strings[name])), some, ps)
        return _rows(found)

    def by_annotation(self) -> Sums:
        """By the innermost annotation. The time of an op of several is divided among them, exactly; it counts in
        each."""
        ops = self._distinct
        time, count = np.zeros(len(ops.path), np.int64), np.zeros(len(ops.name), np.int64)
        tally(
            np.ascontiguousarray(self._key), np.ascontiguousarray(self._own), ops.first, ops.upto, time, count
        )
        found: Sums = {}
        for k in np.flatnonzero(count).tolist():
            times: dict[str | None, int] = {}
            for part in range(ops.first[k], ops.first[k + 1]):
                path = ops.path[part]
                times[path] = times.get(path, 0) + int(time[part])
            for path, ps in times.items():
                _add(found, (path, instruction_name(ops.name[k])), int(count[k]), ps)
        return found


def annotations_of(parts: Iterable[Sums]) -> list[WindowAnnotation]:
    """The ops of several devices by annotation, that with most time of its own first: `path` (None: none), `count` and
    `self_ps` of its own ops, `share` of the time of all ops, `inside_ps` with what annotations inside of it take;
    `top_ops`, its own ops with most time, and `more_ops`, the sums of all others."""
    found: dict[str | None, Sums] = {}
    for part in parts:
        for (path, op), (count, ps) in part.items():
            _add(found.setdefault(path, {}), (None, op), count, ps)
    own = {path: sum(ps for _, ps in sums.values()) for path, sums in found.items()}
    whole = sum(own.values())
    rows: list[WindowAnnotation] = []
    for path, inside_ps in _with_inside(own).items():
        ops, self_ps = _rows(found.get(path, {})), own.get(path, 0)
        rows.append(
            {
                "path": path,
                "count": sum(op["count"] for op in ops),
                "self_ps": self_ps,
                "share": self_ps / whole if whole else 0.0,
                "inside_ps": inside_ps,
                "top_ops": ops[:_OPS_OF_ANNOTATION],
                "more_ops": sum_of_ops(ops[_OPS_OF_ANNOTATION:]),
            }
        )
    return sorted(rows, key=lambda row: (-row["self_ps"], row["path"] or ""))


def sum_of_ops(rows: Sequence[OpTime]) -> More:
    """Rows of ops as one: `names`, their number, and the sums."""
    return {
        "names": len(rows),
        "count": sum(row["count"] for row in rows),
        "self_ps": sum(row["self_ps"] for row in rows),
    }


def _with_inside(own: Mapping[str | None, int]) -> dict[str | None, int]:
    """The own times and those of the annotations inside of it, of each annotation and of all around it."""
    inside: dict[str | None, int] = {}
    for path, ps in own.items():
        around = path
        while around:
            inside[around] = inside.get(around, 0) + ps
            around = around.rpartition("/")[0]
        if path is None:
            inside[None] = ps
    return inside


def _add(sums: Sums, key: tuple[str | None, str], count: int, ps: int) -> None:
    known = sums.get(key, (0, 0))
    sums[key] = (known[0] + count, known[1] + ps)


def _rows(sums: Sums) -> list[OpTime]:
    rows: list[OpTime] = [
        {"op": shorten_name(op), "count": count, "self_ps": ps} for (_, op), (count, ps) in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row["self_ps"], row["op"]))


def _touching(start: Int64, end: Int64, start_ps: int, end_ps: int) -> tuple[int, int]:
    """The shortest run of ops, sorted by start, that holds all that have time in the window."""
    first = int(np.searchsorted(np.maximum.accumulate(end), start_ps, "right"))
    return first, max(first, int(np.searchsorted(start, end_ps, "left")))


def _own_ps(ops: OpsOfDevice, distinct: DistinctOps, run: slice, start_ps: int, end_ps: int) -> Int64:
    """The own time of each of a run of ops within the window."""
    end = np.clip(ops.end_ps[run], start_ps, end_ps)
    start = np.minimum(np.clip(ops.start_ps[run], start_ps, end_ps), end)
    parent: Int32 = np.maximum(ops.parent[run] - np.int32(run.start), np.int32(-1))
    op, own_start, own_end = own_time_intervals(start, end, parent)
    own = np.zeros(len(end), np.int64)
    np.add.at(own, op, own_end - own_start)
    if not ops.made:
        return own
    # Ops of a CPU run side by side: what lies within another's time is its part only where the program says so.
    key = np.ascontiguousarray(ops.key[run])
    return own_times(start, end, own, key, distinct.caller, distinct.known)
