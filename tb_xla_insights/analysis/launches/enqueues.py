"""What put each run into its device's queue, and when.

A run and its enqueuing are tied by a flow, or by the run id of their call. Where a file has neither, a TPU's run shares
a key with it; where even that is missing, the order of both decides, and the answer says so.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import DISPATCH_END, ENQUEUE, HELPER, LAUNCH
from tb_xla_insights.analysis.launches.causality import causal_paths, execute_calls, rows_flagged
from tb_xla_insights.analysis.launches.match_by_order import match_by_order
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import program_of
from tb_xla_insights.trace.model import Int8, Int32, Int64, Trace
from tb_xla_insights.trace.run_keys import stat_at

Join = Literal["exact", "ordered", "none"]
JOINS: tuple[Join, ...] = get_args(Join)
EXACT, ORDERED, NONE = range(3)

_RUN_ID = (1 << 27) - 1
"""The bits of a run's id that hosts and devices agree on."""


@dataclass(frozen=True)
class Runs:
    """Device runs in the order of devices and their modules: `device` (index into the trace's devices), `module`
    (index into its modules), the launch each belongs to (-1: none), the event that put it into the device's queue (-1:
    none) and when, how it was joined (index into JOINS), its program (index into Launches.programs), and its times."""

    device: Int32
    module: Int32
    launch: Int32
    enqueue_row: Int32
    enqueue_ps: Int64
    join: Int8
    program: Int32
    start_ps: Int64
    end_ps: Int64

    def __len__(self) -> int:
        return len(self.device)

    @property
    def duration_ps(self) -> Int64:
        return self.end_ps - self.start_ps

    def of_device(self, device: int) -> slice:
        """The runs of one device, in the order of its modules."""
        low, high = np.searchsorted(self.device, [device, device + 1])
        return slice(int(low), int(high))

    @cached_property
    def free_ps(self) -> Int64:
        """When each run's core was done with the runs before it; the smallest number for the first one."""
        free = np.full(len(self), np.iinfo(np.int64).min)
        for device in np.unique(self.device).tolist():
            mine = self.of_device(device)
            free[mine][1:] = np.maximum.accumulate(self.end_ps[mine])[:-1]
        return free

    @cached_property
    def own_start_ps(self) -> Int64:
        """From when on each run had its core for itself: where runs overlap, the earlier one keeps the time."""
        return np.clip(self.free_ps, self.start_ps, self.end_ps)


@memoised
def list_programs(trace: Trace) -> list[tuple[str, str]]:
    texts = np.unique(np.concatenate([d.modules.name for d in trace.devices] or [np.zeros(0, np.int32)]))
    return [program_of(trace.strings[text]) for text in texts.tolist()]


def find_runs(trace: Trace) -> Runs:
    """Every run of the host's devices; its launch is left for others to fill in."""
    devices = trace.devices
    modules = [device.modules for device in devices]
    none = np.zeros(0, np.int64)
    device = np.repeat(np.arange(len(devices), dtype=np.int32), [len(m) for m in modules])
    module = np.concatenate([np.arange(len(m)) for m in modules] or [none]).astype(np.int32)
    start = np.concatenate([m.start_ps for m in modules] or [none])
    end = np.concatenate([m.end_ps for m in modules] or [none])
    row = np.concatenate([m.row for m in modules] or [none.astype(np.int32)])
    name = np.concatenate([m.name for m in modules] or [none.astype(np.int32)])
    made = bool(devices) and devices[0].made
    enqueue, join = _helpers(trace, device, row, start) if made else _enqueues(trace, device, row, start)
    known = np.maximum(enqueue, 0)
    when = trace.start_ps[known] if made else trace.end_ps[known]
    # A call that stands for the enqueuing may last longer; by the run's start it has happened.
    enqueue_ps = np.where(enqueue >= 0, np.minimum(when, start), -1)
    program = np.searchsorted(np.unique(name), name).astype(np.int32)
    launch = np.full(len(row), -1, np.int32)
    return Runs(device, module, launch, enqueue, enqueue_ps, join, program, start, end)


def _joins(exact: Int32, ordered: Int32) -> tuple[Int32, Int8]:
    """Rows of either kind, and how they were found."""
    join = np.where(exact >= 0, EXACT, np.where(ordered >= 0, ORDERED, NONE)).astype(np.int8)
    return np.where(exact >= 0, exact, ordered).astype(np.int32), join


def _helpers(trace: Trace, device: Int32, row: Int32, start: Int64) -> tuple[Int32, Int8]:
    """On a CPU, the `ExecuteHelper` of each run, by its call's run id or by flow; runs that had to queue take those
    that are left, in order."""
    helpers = rows_flagged(trace, HELPER)
    exact = _by_run_id(trace, device, start, helpers)
    exact = np.where(exact >= 0, exact, causal_paths(trace, row).helper)
    return _joins(exact, _left_on_cores(trace, device, exact, helpers, start))


def _left_on_cores(trace: Trace, device: Int32, exact: Int32, helpers: Int32, start: Int64) -> Int32:
    """For the runs of a CPU that flows do not join, the helpers that are left: where each call has one for every core,
    those of the calls in the order in which each core ran them; else all in order of time, as nothing tells which cores
    a call is for."""
    call = execute_calls(trace, helpers)
    calls, count = np.unique(call[call >= 0], return_counts=True)
    cores = np.unique(device).tolist()
    if len(cores) == 1 or (count != len(cores)).any():
        return _left(trace, exact, helpers, start)
    calls = calls[np.argsort(trace.start_ps[calls], kind="stable")]
    place = {row: number for number, row in enumerate(calls.tolist())}
    of_helper = {row: place.get(its, -1) for row, its in zip(helpers.tolist(), call.tolist(), strict=True)}
    taken = np.array([of_helper.get(row, -1) for row in exact.tolist()], np.int64)
    free: dict[int, list[int]] = {}
    for row in np.setdiff1d(helpers, exact)[::-1].tolist():
        free.setdefault(of_helper[row], []).append(row)
    found = np.full(len(device), -1, np.int32)
    for core in cores:
        its = np.flatnonzero(device == core)
        numbers = match_by_order(start[its], taken[its], trace.start_ps[calls]).tolist()
        for run, number in zip(its.tolist(), numbers, strict=True):
            if number >= 0 and free.get(number):
                found[run] = free[number].pop()
    return found


def _by_run_id(trace: Trace, device: Int32, start: Int64, helpers: Int32) -> Int32:
    """The preparation of each run that has its run id, itself or in the execute call around it, and is for its core;
    the last one before the run where several are. A run on one core may be let go by another thing than its call, an
    argument that arrives, so this says more than flows do."""
    found = np.full(len(device), -1, np.int32)
    ids = [
        it.run_ids if it.run_ids is not None else np.zeros(len(it.modules), np.int64) for it in trace.devices
    ]
    run_id = np.concatenate(ids)
    if not run_id.any():
        return found
    call = causal_paths(trace, helpers).launch
    own, of_call = (stat_at(trace, "run_id", rows, 0) for rows in (helpers, call))
    core = stat_at(trace, "global_device_id", helpers, -1)
    replica, partition = (stat_at(trace, name, helpers, 0) for name in ("replica", "partition"))
    core = np.where(core >= 0, core, replica * (partition.max(initial=0) + 1) + partition)
    known: dict[tuple[int, int], list[int]] = {}
    for number in np.argsort(trace.start_ps[helpers], kind="stable").tolist():
        id_ = int(own[number]) or int(of_call[number])
        known.setdefault((id_, int(core[number])), []).append(int(helpers[number]))
    ordinals = np.array([it.ordinal for it in trace.devices], np.int64)[device]
    keys = zip(run_id.tolist(), ordinals.tolist(), start.tolist(), strict=True)
    alike = {key: _Alike(trace, sorted(rows), rows[0]) for key, rows in known.items() if key[0]}
    for number, (id_, ordinal, begin) in enumerate(keys):
        if same := alike.get((id_, ordinal)):
            found[number] = same.last_by(begin)
    return found


class _Alike:
    """Rows of one key, in an order in which the last one counts; `first` stands for those before all of them."""

    def __init__(self, trace: Trace, rows: list[int], first: int) -> None:
        start = trace.start_ps[rows].tolist()
        by_start = sorted(range(len(rows)), key=start.__getitem__)
        self._rows, self._first = rows, first
        self._start = [start[place] for place in by_start]
        self._last = list(accumulate(by_start, max))

    def last_by(self, at_ps: int) -> int:
        """The last row that has started by an instant."""
        begun = bisect_right(self._start, at_ps)
        return self._rows[self._last[begun - 1]] if begun else self._first


def _left(trace: Trace, exact: Int32, candidates: Int32, start: Int64) -> Int32:
    """For the runs that flows do not join, the candidates in order of time."""
    candidates = candidates[np.argsort(trace.start_ps[candidates], kind="stable")]
    place = {r: i for i, r in enumerate(candidates.tolist())}
    taken = np.array([place.get(r, -1) for r in exact.tolist()], np.int64)
    found = match_by_order(start, taken, trace.start_ps[candidates])
    return np.where((found >= 0) & (exact < 0), candidates[found] if candidates.size else -1, -1).astype(
        np.int32
    )


def _enqueues(trace: Trace, device: Int32, row: Int32, start: Int64) -> tuple[Int32, Int8]:
    """On devices with planes, the event that put each run into its queue: by flow, by key, or in order; without such
    events, the execute call stands for it."""
    exact = trace.flows.producers(row)
    candidates = rows_flagged(trace, ENQUEUE)
    candidates = candidates if candidates.size else rows_flagged(trace, DISPATCH_END)
    exact = np.where(exact < 0, _by_key(trace, device, row, candidates), exact)
    if (exact >= 0).all():
        return _joins(exact, exact)
    ordinal = np.full(len(candidates), -1, np.int64)
    if "device_ordinal" in trace.stats:
        ordinal = trace.stats["device_ordinal"].at(candidates, -1)
    by_core = bool((ordinal >= 0).any())
    if not by_core and len(trace.devices) > 1:
        candidates = candidates[:0]  # each is one core's, but nothing tells which one's
    if not candidates.size:
        calls = rows_flagged(trace, LAUNCH)
        candidates = calls[causal_paths(trace, calls).launch == calls]
    ordered = np.full(len(row), -1, np.int32)
    for number in np.unique(device[exact < 0]).tolist():
        mine = np.flatnonzero(device == number)
        some = candidates[ordinal == trace.devices[number].ordinal] if by_core else candidates
        ordered[mine] = _left(trace, exact[mine], some, start[mine])
    return _joins(exact, ordered)


def _by_key(trace: Trace, device: Int32, row: Int32, candidates: Int32) -> Int32:
    """What shares device, queue, run id and core type with each run; the last one before the run where several do."""
    none = np.full(len(row), -1, np.int32)
    if "run_id" not in trace.stats or "device_ordinal" not in trace.stats:
        return none

    def key(rows: Int32, ordinals: NDArray[np.int64]) -> list[tuple[int, ...]]:
        def stat(name: str) -> Int64:
            return trace.stats[name].at(rows, 0) if name in trace.stats else np.zeros(len(rows), np.int64)

        ids = trace.stats["run_id"].at(rows, -1)
        columns = (ordinals, stat("queue_id"), np.where(ids < 0, -1, ids & _RUN_ID), stat("core_type"))
        return list(zip(*(column.tolist() for column in columns), strict=True))

    order = np.argsort(trace.end_ps[candidates], kind="stable")
    rows = candidates[order]
    known: dict[tuple[int, ...], list[int]] = {}
    for candidate, its in zip(
        rows.tolist(), key(rows, trace.stats["device_ordinal"].at(rows, -1)), strict=True
    ):
        known.setdefault(its, []).append(candidate)
    ordinals = np.array([it.ordinal for it in trace.devices], np.int64)[device]
    alike = {its: _Alike(trace, same, same[0]) for its, same in known.items()}
    found = none
    for number, (its, begin) in enumerate(zip(key(row, ordinals), trace.start_ps[row].tolist(), strict=True)):
        if its[2] >= 0 and its in alike:
            found[number] = alike[its].last_by(begin)
    return found
