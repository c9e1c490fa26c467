"""The event that put each run into its device's queue, and its time.

A flow, or the run id of the call, links a run to the event that enqueued it. In files without either, a TPU's run
shares a key with that event; without such keys, the order of both decides, and the run's `join` records that.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import DISPATCH_END, ENQUEUE, LAUNCH, RUN_START
from tb_xla_insights.analysis.launches.causality import causal_paths, execute_calls, rows_flagged
from tb_xla_insights.analysis.launches.match_by_order import match_by_order
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import ProgramName, parse_program_name
from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.run_keys import stat_at

Join = Literal["exact", "ordered", "none"]
JOINS: tuple[Join, ...] = get_args(Join)
EXACT, ORDERED, NONE = range(3)

_RUN_ID_MASK = (1 << 27) - 1
"""The bits of a run's id on which hosts and devices agree."""


@dataclass(frozen=True)
class Runs:
    """Device runs, ordered by device, in the order of `Device.runs`.

    `device`: index into the trace's devices. `launch`: index into Launches, -1: none. `enqueue_row`, `enqueue_ps`: the
    event that put the run into the device's queue and when, -1: none. `join`: how the run was matched to its launch,
    the less exact of event and call, an index into JOINS. `program`: index into Launches.programs.
    """

    device: Int32
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
        """Returns the runs of one device, in the order of `Device.runs`."""
        low, high = np.searchsorted(self.device, [device, device + 1])
        return slice(int(low), int(high))

    @cached_property
    def free_ps(self) -> Int64:
        """When each run's device had finished the runs before it; the smallest integer for the first run."""
        free = np.full(len(self), np.iinfo(np.int64).min)
        for device in np.unique(self.device).tolist():
            runs = self.of_device(device)
            free[runs][1:] = np.maximum.accumulate(self.end_ps[runs])[:-1]
        return free

    @cached_property
    def own_start_ps(self) -> Int64:
        """When each run began to have its device for itself: if runs overlap, the earlier one keeps the time."""
        return np.clip(self.free_ps, self.start_ps, self.end_ps)


@memoised
def list_programs(trace: Trace) -> list[ProgramName]:
    """Returns the programs that the devices ran, as in Launches.programs."""
    names = [device.runs.name for device in trace.devices]
    texts = np.unique(np.concatenate(names or [np.zeros(0, np.int32)]))
    return [parse_program_name(trace.strings[text_index]) for text_index in texts.tolist()]


def find_runs(trace: Trace) -> Runs:
    """Returns every run of the host's devices, with -1 as `launch`: `find_joined_launches` fills in the launches."""
    devices = trace.devices
    runs = [device.runs for device in devices]
    empty = np.zeros(0, np.int64)
    device = np.repeat(np.arange(len(devices), dtype=np.int32), [len(intervals) for intervals in runs])
    start = np.concatenate([intervals.start_ps for intervals in runs] or [empty])
    end = np.concatenate([intervals.end_ps for intervals in runs] or [empty])
    row = np.concatenate([intervals.row for intervals in runs] or [empty.astype(np.int32)])
    name = np.concatenate([intervals.name for intervals in runs] or [empty.astype(np.int32)])
    on_cpu = bool(devices) and devices[0].from_host_events
    enqueue, join = (
        _cpu_enqueues(trace, device, row, start) if on_cpu else _device_enqueues(trace, device, row, start)
    )
    enqueue_rows = np.maximum(enqueue, 0)
    enqueued_ps = trace.start_ps[enqueue_rows] if on_cpu else trace.end_ps[enqueue_rows]
    # A call that stands for the enqueuing may end after the run's start, but the enqueuing came before it.
    enqueue_ps = np.where(enqueue >= 0, np.minimum(enqueued_ps, start), -1)
    program = np.searchsorted(np.unique(name), name).astype(np.int32)
    launch = np.full(len(row), -1, np.int32)
    return Runs(device, launch, enqueue, enqueue_ps, join, program, start, end)


def _merge_joins(exact: Int32, ordered: Int32) -> tuple[Int32, Int8]:
    """Returns the exact rows, completed by the ordered ones, and how each row was found."""
    join = np.where(exact >= 0, EXACT, np.where(ordered >= 0, ORDERED, NONE)).astype(np.int8)
    return np.where(exact >= 0, exact, ordered).astype(np.int32), join


def _cpu_enqueues(trace: Trace, device: Int32, row: Int32, start: Int64) -> tuple[Int32, Int8]:
    """Returns, on a CPU, the `ExecuteHelper` of each run, found by its call's run id or by flow. Runs with neither take
    the remaining ones in order."""
    run_starts = rows_flagged(trace, RUN_START)
    exact = _match_by_run_id(trace, device, start, run_starts)
    exact = np.where(exact >= 0, exact, causal_paths(trace, row).run_start)
    return _merge_joins(exact, _match_remaining_by_call(trace, device, exact, run_starts, start))


def _match_remaining_by_call(
    trace: Trace, device: Int32, exact: Int32, run_starts: Int32, start: Int64
) -> Int32:
    """Matches the remaining `run_starts` to those of a CPU's runs that have no exact match.

    If each call has one run start per device, each device's runs take run starts in the order of their calls. Otherwise
    all runs take all run starts in order of time, because nothing records the devices of a call.
    """
    call = execute_calls(trace, run_starts)
    calls, count = np.unique(call[call >= 0], return_counts=True)
    devices = np.unique(device).tolist()
    if len(devices) == 1 or (count != len(devices)).any():
        return _match_remaining(trace, exact, run_starts, start)
    calls = calls[np.argsort(trace.start_ps[calls], kind="stable")]
    index_of_call = {row: index for index, row in enumerate(calls.tolist())}
    call_index_of_row = {
        run_start: index_of_call.get(row, -1)
        for run_start, row in zip(run_starts.tolist(), call.tolist(), strict=True)
    }
    call_index = np.array([call_index_of_row.get(run_start, -1) for run_start in exact.tolist()], np.int64)
    free_run_starts: dict[int, list[int]] = {}
    for run_start in np.setdiff1d(run_starts, exact)[::-1].tolist():
        free_run_starts.setdefault(call_index_of_row[run_start], []).append(run_start)
    matched = np.full(len(device), -1, np.int32)
    for index in devices:
        runs = np.flatnonzero(device == index)
        calls_of_runs = match_by_order(start[runs], call_index[runs], trace.start_ps[calls]).tolist()
        for run, matched_call in zip(runs.tolist(), calls_of_runs, strict=True):
            if matched_call >= 0 and free_run_starts.get(matched_call):
                matched[run] = free_run_starts[matched_call].pop()
    return matched


def _match_by_run_id(trace: Trace, device_index: Int32, start: Int64, run_starts: Int32) -> Int32:
    """Returns the `ExecuteHelper` with each run's id and device; of several, the last one that began before the run.
    The run id is its own or that of the execute call around it.

    This is more reliable than flows: something other than its call may release a run, such as an argument that arrives.
    """
    matched = np.full(len(device_index), -1, np.int32)
    run_ids = [
        device.run_ids if device.run_ids is not None else np.zeros(len(device.runs), np.int64)
        for device in trace.devices
    ]
    run_id = np.concatenate(run_ids)
    if not run_id.any():
        return matched
    call = causal_paths(trace, run_starts).launch
    run_id_of_row, call_id = (stat_at(trace, "run_id", rows, 0) for rows in (run_starts, call))
    ordinal = stat_at(trace, "global_device_id", run_starts, -1)
    replica, partition = (stat_at(trace, name, run_starts, 0) for name in ("replica", "partition"))
    ordinal = np.where(ordinal >= 0, ordinal, replica * (partition.max(initial=0) + 1) + partition)
    rows_of_key: dict[tuple[int, int], list[int]] = {}
    for index in np.argsort(trace.start_ps[run_starts], kind="stable").tolist():
        id_ = int(run_id_of_row[index]) or int(call_id[index])
        rows_of_key.setdefault((id_, int(ordinal[index])), []).append(int(run_starts[index]))
    candidates_of_key = {key: _Candidates(trace, key_rows) for key, key_rows in rows_of_key.items() if key[0]}
    ordinals = np.array([device.ordinal for device in trace.devices], np.int64)[device_index]
    keys = zip(run_id.tolist(), ordinals.tolist(), strict=True)
    for run, (key, start_ps) in enumerate(zip(keys, start.tolist(), strict=True)):
        if candidates := candidates_of_key.get(key):
            matched[run] = candidates.most_preferred_by(start_ps)
    return matched


class _Candidates:
    """Rows that share a key, in ascending order of preference. The first one is returned if none has begun."""

    def __init__(self, trace: Trace, rows: list[int]) -> None:
        start = trace.start_ps[rows].tolist()
        by_start = sorted(range(len(rows)), key=start.__getitem__)
        self._rows = rows
        self._start = [start[index] for index in by_start]
        self._last_index = list(accumulate(by_start, max))

    def most_preferred_by(self, instant_ps: int) -> int:
        """Returns the most preferred of the rows that have begun by an instant."""
        count = bisect_right(self._start, instant_ps)
        return self._rows[self._last_index[count - 1]] if count else self._rows[0]


def _match_remaining(trace: Trace, exact: Int32, candidates: Int32, start: Int64) -> Int32:
    """Matches the remaining candidates, in order of time, to the runs that have no exact match."""
    candidates = candidates[np.argsort(trace.start_ps[candidates], kind="stable")]
    index_of_row = {row: index for index, row in enumerate(candidates.tolist())}
    candidate_index = np.array([index_of_row.get(row, -1) for row in exact.tolist()], np.int64)
    matched = match_by_order(start, candidate_index, trace.start_ps[candidates])
    return np.where((matched >= 0) & (exact < 0), candidates[matched] if candidates.size else -1, -1).astype(
        np.int32
    )


def _device_enqueues(trace: Trace, device: Int32, row: Int32, start: Int64) -> tuple[Int32, Int8]:
    """Returns, on devices with planes, the event that put each run into its queue: found by flow, by key, or in order.
    In captures without such events, those that end the dispatch stand for them; without these, or if nothing records
    which of several devices each belongs to, execute calls do."""
    exact = trace.flows.producers(row)
    candidates = rows_flagged(trace, ENQUEUE)
    candidates = candidates if candidates.size else rows_flagged(trace, DISPATCH_END)
    exact = np.where(exact < 0, _match_by_key(trace, device, row, candidates), exact)
    if (exact >= 0).all():
        return _merge_joins(exact, exact)
    ordinal = stat_at(trace, "device_ordinal", candidates, 0)  # left out for the first device
    has_ordinals = bool((stat_at(trace, "device_ordinal", candidates, -1) >= 0).any())
    if not has_ordinals and len(trace.devices) > 1:
        candidates = candidates[:0]  # each belongs to one device, but nothing records which one
    if not candidates.size:
        calls = rows_flagged(trace, LAUNCH)
        candidates = calls[causal_paths(trace, calls).launch == calls]
    ordered = np.full(len(row), -1, np.int32)
    for index in np.unique(device[exact < 0]).tolist():
        runs = np.flatnonzero(device == index)
        of_device = candidates[ordinal == trace.devices[index].ordinal] if has_ordinals else candidates
        ordered[runs] = _match_remaining(trace, exact[runs], of_device, start[runs])
    return _merge_joins(exact, ordered)


def _match_by_key(trace: Trace, device_index: Int32, row: Int32, candidates: Int32) -> Int32:
    """Returns the candidate that shares device, queue, run id and core type with each run; of several that began
    before the run, the one that ended last."""
    matched = np.full(len(row), -1, np.int32)
    if "run_id" not in trace.stats or "device_ordinal" not in trace.stats:
        return matched

    def keys(rows: Int32, ordinals: NDArray[np.int64]) -> list[tuple[int, ...]]:
        def stat(name: str) -> Int64:
            return trace.stats[name].at(rows, 0) if name in trace.stats else np.zeros(len(rows), np.int64)

        ids = trace.stats["run_id"].at(rows, -1)
        columns = (ordinals, stat("queue_id"), np.where(ids < 0, -1, ids & _RUN_ID_MASK), stat("core_type"))
        return list(zip(*(column.tolist() for column in columns), strict=True))

    rows = candidates[np.argsort(trace.end_ps[candidates], kind="stable")]
    rows_of_key: dict[tuple[int, ...], list[int]] = {}
    candidate_keys = keys(rows, trace.stats["device_ordinal"].at(rows, 0))
    for candidate, key in zip(rows.tolist(), candidate_keys, strict=True):
        rows_of_key.setdefault(key, []).append(candidate)
    candidates_of_key = {key: _Candidates(trace, key_rows) for key, key_rows in rows_of_key.items()}
    ordinals = np.array([device.ordinal for device in trace.devices], np.int64)[device_index]
    run_keys = zip(keys(row, ordinals), trace.start_ps[row].tolist(), strict=True)
    for run, (key, start_ps) in enumerate(run_keys):
        _, _, run_id, _ = key
        if run_id >= 0 and key in candidates_of_key:
            matched[run] = candidates_of_key[key].most_preferred_by(start_ps)
    return matched
