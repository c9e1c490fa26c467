"""The execute call of each device run, and the synchronisation that requested it.

Flows lead from the event that enqueued a run back to its call. Without flows, the order of both decides, and the run's
`join` records that. (docs/definitions.md, "Execution")
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import DYNAMO, LAUNCH, SCHEDULE, SYNC
from tb_xla_insights.analysis.launches.causality import (
    CausalPaths,
    causal_paths,
    execute_calls,
    metadata_flags,
    rows_flagged,
)
from tb_xla_insights.analysis.launches.enqueues import ORDERED, Runs, find_runs
from tb_xla_insights.analysis.launches.match_by_order import match_by_order
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.arrays import Int32
from tb_xla_insights.trace.model import Trace


@dataclass(frozen=True)
class JoinedLaunches:
    """Execute calls in order of time, without their steps. `row`: the outermost call, a row of the trace. `paths`: how
    it was requested. `runs`: all runs of the devices, with their launches."""

    row: Int32
    paths: CausalPaths
    runs: Runs


@memoised
def find_joined_launches(trace: Trace) -> JoinedLaunches:
    """Finds the execute calls of one host and their device runs."""
    runs = find_runs(trace)
    rows = rows_flagged(trace, LAUNCH)
    calls = np.unique(causal_paths(trace, rows).launch).astype(np.int32)
    enqueued = np.flatnonzero(runs.enqueue_row >= 0)
    call = _match_calls(trace, runs, enqueued, calls)
    row = np.unique(np.concatenate((calls, call))).astype(np.int32)
    row = row[np.argsort(trace.start_ps[row], kind="stable")]
    launch_of_row = {launch_row: launch for launch, launch_row in enumerate(row.tolist())}
    runs.launch[enqueued] = [launch_of_row[call_row] for call_row in call.tolist()]
    nested = [thread.framework for thread in trace.divided_threads if not thread.is_exact]
    runs.join[enqueued[trace.is_on_lines(call, nested)]] = ORDERED
    return JoinedLaunches(row, _complete_paths(trace, row, causal_paths(trace, row), runs), runs)


def _match_calls(trace: Trace, runs: Runs, enqueued: NDArray[np.intp], calls: Int32) -> Int32:
    """Returns the execute call of each run in `enqueued`, the runs whose enqueuing is known.

    That is the call on the causal path of the enqueuing; else a call matched by order, because a device's runs are
    enqueued in the order of their calls; else the enqueuing itself. Not every call is for every device: the device
    with most runs determines which program each call is for.
    """
    enqueue = runs.enqueue_row[enqueued]
    call = execute_calls(trace, enqueue)
    calls = calls[np.argsort(trace.start_ps[calls], kind="stable")]
    if not (call < 0).any() or not calls.size:
        return np.where(call < 0, enqueue, call).astype(np.int32)
    index_of_call = {row: index for index, row in enumerate(calls.tolist())}
    call_index = np.array([index_of_call.get(row, -1) for row in call.tolist()], np.int64)
    device, program = runs.device[enqueued], runs.program[enqueued]
    program_of_call: Int32 | None = None
    for index in np.argsort(-np.bincount(device), kind="stable").tolist():
        of_device = np.flatnonzero(device == index)
        groups = (
            [of_device]
            if program_of_call is None
            else [of_device[program[of_device] == id_] for id_ in np.unique(program[of_device])]
        )
        for group in groups:
            candidates = (
                np.arange(len(calls))
                if program_of_call is None
                else np.flatnonzero(program_of_call == program[group[0]])
            )
            candidate_of_call = np.full(len(calls) + 1, -1)  # the last one: of no call
            candidate_of_call[candidates] = np.arange(len(candidates))
            matched = match_by_order(
                trace.start_ps[enqueue[group]],
                candidate_of_call[call_index[group]],
                trace.start_ps[calls[candidates]],
            )
            is_matched = matched >= 0
            call_index[group[is_matched]] = candidates[matched[is_matched]]
            runs.join[enqueued[group[is_matched]]] = ORDERED
        if program_of_call is None:
            program_of_call = np.full(len(calls), -1, np.int32)
            has_call = of_device[call_index[of_device] >= 0]
            program_of_call[call_index[has_call]] = program[has_call]
    return np.where(call >= 0, call, np.where(call_index >= 0, calls[call_index], enqueue)).astype(np.int32)


def _complete_paths(trace: Trace, row: Int32, paths: CausalPaths, runs: Runs) -> CausalPaths:
    """Completes the causal paths of calls that lead to no driving thread: these calls take, in order, the requests (see
    `_requests`) that no other call comes from."""
    is_lost = paths.origin < 0
    requests = _requests(trace)
    if not is_lost.any() or not requests.size:
        return paths
    index_of_request = {request: index for index, request in enumerate(requests.tolist())}
    # A call with a complete path takes no request, but bounds the calls around it.
    request_index = np.array([index_of_request.get(sync, -1) for sync in paths.sync.tolist()], np.int64)
    candidates = np.flatnonzero(is_lost | (request_index >= 0))
    matched = np.full(len(row), -1, np.int64)
    matched[candidates] = match_by_order(
        trace.start_ps[row[candidates]], request_index[candidates], trace.start_ps[requests]
    )
    completed = np.flatnonzero(matched >= 0)
    request_paths = causal_paths(trace, requests[matched[completed]])
    for column in ("origin", "sync", "marker"):
        getattr(paths, column)[completed] = getattr(request_paths, column)
    paths.has_dynamo[completed] |= request_paths.has_dynamo
    runs.join[np.isin(runs.launch, completed)] = ORDERED
    return paths


def _requests(trace: Trace) -> Int32:
    """Returns the events on driving threads that request an execution, in order of time: dynamo calls, and
    synchronisations that hand a graph over."""
    rows = rows_flagged(trace, SYNC | DYNAMO)
    rows = rows[trace.is_on_lines(rows, trace.driving_lines)]
    schedules = rows_flagged(trace, SCHEDULE)
    if schedules.size:
        scheduled = causal_paths(trace, schedules).sync
        rows = rows[
            np.isin(rows, scheduled) | (metadata_flags(trace)[trace.metadata_index[rows]] & DYNAMO != 0)
        ]
    return rows[np.argsort(trace.start_ps[rows], kind="stable")]
