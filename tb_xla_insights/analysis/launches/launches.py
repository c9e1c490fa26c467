"""The execute call of each device run, the synchronisation that requested it, and its step.

Flows lead from the event that enqueued a run back to its call. Without flows, the order of both decides, and the run's
`join` records that. (docs/definitions.md, "Execution", "Step")
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

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
from tb_xla_insights.analysis.launches.enqueues import ORDERED, Runs, find_runs, list_programs
from tb_xla_insights.analysis.launches.handed_over_steps import handed_over_times
from tb_xla_insights.analysis.launches.match_by_order import match_by_order
from tb_xla_insights.analysis.launches.unrecorded_work import UnrecordedWork, find_unrecorded_work
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import ProgramName
from tb_xla_insights.analysis.steps.sources import recorded_steps, recorded_steps_at, recorded_times
from tb_xla_insights.trace.model import Int8, Int32, Int64, Trace

LaunchKind = Literal["lazy", "dynamo", "other"]
KINDS: tuple[LaunchKind, ...] = get_args(LaunchKind)
LAZY, DYNAMO_KIND, OTHER = range(3)


@dataclass(frozen=True)
class Launches:
    """Execute calls in order of time. Rows are rows of the trace; -1: none.

    `row`: the outermost call. `line`: its thread. `sync`: the synchronisation (or dynamo call, or step marker) on the
    driving or an autograd thread that requested it. `marker`: the step marker around `sync`. `origin`: the event on
    that thread that handed the work over. `step`: index into the trace's steps, -1 outside of them. `kind`: index into
    KINDS. `program`: index into `programs` of the program that its runs run, -1: unknown. `programs`: the programs that
    the devices ran. `runs`: all runs of the devices. `handed_over_times`: start and end of the whole steps if the host
    only hands their work over, else None. `whole_steps`: how many of the recorded steps are whole; the others are the
    last ones. `unrecorded`: the launches at the end without recorded runs, None if there are none.
    """

    row: Int32
    line: Int32
    sync: Int32
    marker: Int32
    origin: Int32
    step: Int32
    kind: Int8
    program: Int32
    programs: list[ProgramName]
    runs: Runs
    handed_over_times: tuple[Int64, Int64] | None
    whole_steps: int
    unrecorded: UnrecordedWork | None

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def step_of_run(self) -> Int32:
        """Per device run the step that launched it (index into the trace's steps), -1: none."""
        return np.append(self.step, np.int32(-1))[self.runs.launch]

    def sums(self, run_values: Int64) -> Int64:
        """Returns, per launch, the sum of a value over its runs."""
        sums = np.zeros(len(self) + 1, np.int64)  # the last sum: runs without a launch
        np.add.at(sums, self.runs.launch, run_values)
        return sums[:-1]


@memoised
def find_launches(trace: Trace) -> Launches:
    """Finds the launches of one host and their device runs. A call without a run in the capture is a launch too."""
    runs = find_runs(trace)
    rows = rows_flagged(trace, LAUNCH)
    calls = np.unique(causal_paths(trace, rows).launch).astype(np.int32)
    enqueued = np.flatnonzero(runs.enqueue_row >= 0)
    call = _match_calls(trace, runs, enqueued, calls)
    row = np.unique(np.concatenate((calls, call))).astype(np.int32)
    row = row[np.argsort(trace.start_ps[row], kind="stable")]
    launch_of_row = {launch_row: launch for launch, launch_row in enumerate(row.tolist())}
    runs.launch[enqueued] = [launch_of_row[call_row] for call_row in call.tolist()]
    paths = _complete_paths(trace, row, causal_paths(trace, row), runs)
    sync = np.where(paths.sync >= 0, paths.sync, paths.marker)
    kind = np.where(paths.has_dynamo, DYNAMO_KIND, np.where(sync >= 0, LAZY, OTHER)).astype(np.int8)
    program = np.full(len(row), -1, np.int32)
    enqueued_last_first = enqueued[::-1]  # the first run of a launch is written last, and so remains
    program[runs.launch[enqueued_last_first]] = runs.program[enqueued_last_first]
    step = _steps(trace, paths, runs, len(row))
    times, unrecorded = _handed_over_times(trace, step, runs), find_unrecorded_work(trace, row, step, runs)
    whole_steps = len(recorded_steps(trace))
    if times is not None:
        whole_steps = len(times[0])
    elif unrecorded is not None and unrecorded.first_step is not None:
        whole_steps = unrecorded.first_step
    step[step >= whole_steps] = -1
    return Launches(
        row,
        trace.lines_of(row),
        sync,
        paths.marker,
        paths.origin,
        step,
        kind,
        program,
        list_programs(trace),
        runs,
        times,
        whole_steps,
        unrecorded,
    )


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


def _steps(trace: Trace, paths: CausalPaths, runs: Runs, count: int) -> Int32:
    """Returns the step of each launch: the step in which the driving thread requested it; if the steps come from a
    device, the step in which the launch's run on that device begins."""
    steps = recorded_steps(trace)
    instants = np.full(count, -1, np.int64)
    if not steps or steps[0].source in ("annotation", "step_marker"):
        requested = paths.origin >= 0
        instants[requested] = trace.start_ps[paths.origin[requested]]
        return recorded_steps_at(trace, instants)
    row, plane = steps[0].row, trace.line_of(steps[0].row).plane
    # Steps may be on a plane that is no device's: then they count as the first device's.
    steps_device = next(
        (
            index
            for index, device in enumerate(trace.devices)
            if (row in device.runs.row if device.from_host_events else device.plane == plane)
        ),
        0,
    )
    # In reverse: the first run of a launch is written last, and so remains.
    on_device = np.flatnonzero((runs.launch >= 0) & (runs.device == steps_device))[::-1]
    instants[runs.launch[on_device]] = runs.start_ps[on_device]
    return recorded_steps_at(trace, instants)


def _handed_over_times(trace: Trace, step: Int32, runs: Runs) -> tuple[Int64, Int64] | None:
    """Returns `handed_over_times` for steps from annotations; all other steps last until the next one begins."""
    if not any(recorded.source == "annotation" for recorded in recorded_steps(trace)):
        return None
    step_of_run = np.append(step, np.int32(-1))[runs.launch]
    return handed_over_times(*recorded_times(trace), step_of_run, runs.own_start_ps, runs.end_ps)
