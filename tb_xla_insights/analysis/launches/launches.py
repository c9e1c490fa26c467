"""Which execute call each run on a device comes from, which synchronisation asked for it, and in which step.

What enqueued a run leads back to its call by flows; where there are none, the order of both decides, and the answer
says so. (docs/definitions.md, "Execution", "Step")
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
    event_flags,
    execute_calls,
    rows_flagged,
)
from tb_xla_insights.analysis.launches.enqueues import ORDERED, Runs, find_runs, list_programs
from tb_xla_insights.analysis.launches.handed_over_steps import handed_over
from tb_xla_insights.analysis.launches.match_by_order import match_by_order
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.sources import recorded_steps, recorded_steps_at, recorded_times
from tb_xla_insights.trace.model import Int8, Int32, Int64, Trace

LaunchKind = Literal["lazy", "dynamo", "other"]
KINDS: tuple[LaunchKind, ...] = get_args(LaunchKind)
LAZY, DYNAMO_KIND, OTHER = range(3)


@dataclass(frozen=True)
class Launches:
    """Execute calls in order of time. Rows of the trace, -1 where there is none.

    `row`: the outermost call. `line`: its thread. `sync`: the synchronisation (or dynamo call, or step marker) on the
    driving or an autograd thread that asked for it; `marker`: the step marker around that; `origin`: the event there
    that handed the work over. `step`: index into the trace's steps, -1 outside of them. `kind`: index into KINDS.
    `program`: what its runs run, -1 where none is known. `programs`: names and ids of programs; an id is a decimal
    string, empty where none is recorded. `handed_over`: when the whole steps start and end, where the host only hands
    their work over; else None.
    """

    row: Int32
    line: Int32
    sync: Int32
    marker: Int32
    origin: Int32
    step: Int32
    kind: Int8
    program: Int32
    programs: list[tuple[str, str]]
    runs: Runs
    handed_over: tuple[Int64, Int64] | None

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def step_of_run(self) -> Int32:
        """Per device run the step that launched it (index into the trace's steps), -1: none."""
        return np.append(self.step, np.int32(-1))[self.runs.launch]

    def sums(self, of_runs: Int64) -> Int64:
        """Per launch the sum of what its runs have."""
        sums = np.zeros(len(self) + 1, np.int64)  # the last one: of no launch
        np.add.at(sums, self.runs.launch, of_runs)
        return sums[:-1]


@memoised
def find_launches(trace: Trace) -> Launches:
    """The launches of one host and the device runs they made. A call without a run in the capture is a launch too."""
    runs = find_runs(trace)
    rows = rows_flagged(trace, LAUNCH)
    calls = np.unique(causal_paths(trace, rows).launch).astype(np.int32)
    known = np.flatnonzero(runs.enqueue_row >= 0)
    call = _calls(trace, runs, known, calls)
    row = np.unique(np.concatenate((calls, call))).astype(np.int32)
    row = row[np.argsort(trace.start_ps[row], kind="stable")]
    number = {r: i for i, r in enumerate(row.tolist())}
    runs.launch[known] = [number[r] for r in call.tolist()]
    ways = _asked(trace, row, causal_paths(trace, row), runs)
    asked = np.where(ways.sync >= 0, ways.sync, ways.marker)
    kind = np.where(ways.dynamo, DYNAMO_KIND, np.where(asked >= 0, LAZY, OTHER)).astype(np.int8)
    program = np.full(len(row), -1, np.int32)
    program[runs.launch[known][::-1]] = runs.program[known][::-1]
    step = _steps(trace, ways, runs, len(row))
    times = _handed_over(trace, step, runs)
    if times is not None:
        step[step >= len(times[0])] = -1
    return Launches(
        row,
        trace.lines_of(row),
        asked,
        ways.marker,
        ways.origin,
        step,
        kind,
        program,
        list_programs(trace),
        runs,
        times,
    )


def _calls(trace: Trace, runs: Runs, known: NDArray[np.intp], calls: Int32) -> Int32:
    """The execute call of each run whose enqueuing is known: what the flow reaches, else in order, because a core's
    runs are enqueued in the order of their calls; else the enqueuing itself. Not every call is for every core: the core
    with most runs tells which program each call is for."""
    enqueue = runs.enqueue_row[known]
    call = execute_calls(trace, enqueue)
    calls = calls[np.argsort(trace.start_ps[calls], kind="stable")]
    if not (call < 0).any() or not calls.size:
        return np.where(call < 0, enqueue, call).astype(np.int32)
    place = {r: i for i, r in enumerate(calls.tolist())}
    taken = np.array([place.get(r, -1) for r in call.tolist()], np.int64)
    device, program = runs.device[known], runs.program[known]
    made_for: Int32 | None = None
    for number in np.argsort(-np.bincount(device), kind="stable").tolist():
        mine = np.flatnonzero(device == number)
        for which in (
            [mine] if made_for is None else [mine[program[mine] == p] for p in np.unique(program[mine])]
        ):
            some = (
                np.arange(len(calls)) if made_for is None else np.flatnonzero(made_for == program[which[0]])
            )
            of_some = np.full(len(calls) + 1, -1)
            of_some[some] = np.arange(len(some))
            found = match_by_order(
                trace.start_ps[enqueue[which]], of_some[taken[which]], trace.start_ps[calls[some]]
            )
            hit = found >= 0
            taken[which[hit]] = some[found[hit]]
            runs.join[known[which[hit]]] = ORDERED
        if made_for is None:
            made_for = np.full(len(calls), -1, np.int32)
            made_for[taken[mine[taken[mine] >= 0]]] = program[mine[taken[mine] >= 0]]
    return np.where(call >= 0, call, np.where(taken >= 0, calls[taken], enqueue)).astype(np.int32)


def _asked(trace: Trace, row: Int32, ways: CausalPaths, runs: Runs) -> CausalPaths:
    """The ways of calls, completed: those that lead to no thread that drives take the synchronisations and dynamo calls
    that asked for something and that no other call comes from, in order."""
    lost = ways.origin < 0
    asks = _asks(trace)
    if not lost.any() or not asks.size:
        return ways
    place = {r: i for i, r in enumerate(asks.tolist())}
    # A call that was asked for otherwise takes nothing, but stands where it stands.
    taken = np.array([place.get(r, -1) for r in ways.sync.tolist()], np.int64)
    candidates = np.flatnonzero(lost | (taken >= 0))
    found = np.full(len(row), -1, np.int64)
    found[candidates] = match_by_order(
        trace.start_ps[row[candidates]], taken[candidates], trace.start_ps[asks]
    )
    some = np.flatnonzero(found >= 0)
    again = causal_paths(trace, asks[found[some]])
    for column in ("origin", "sync", "marker"):
        getattr(ways, column)[some] = getattr(again, column)
    ways.dynamo[some] |= again.dynamo
    runs.join[np.isin(runs.launch, some)] = ORDERED
    return ways


def _asks(trace: Trace) -> Int32:
    """Events on the threads that drive that ask for an execution, in order of time: dynamo calls, and synchronisations
    that hand a graph over."""
    rows = rows_flagged(trace, SYNC | DYNAMO)
    rows = rows[np.isin(trace.lines_of(rows), trace.driving_lines)]
    schedules = rows_flagged(trace, SCHEDULE)
    if schedules.size:
        handed_over = causal_paths(trace, schedules).sync
        rows = rows[np.isin(rows, handed_over) | (event_flags(trace)[trace.meta[rows]] & DYNAMO != 0)]
    return rows[np.argsort(trace.start_ps[rows], kind="stable")]


def _steps(trace: Trace, ways: CausalPaths, runs: Runs, count: int) -> Int32:
    """The step of each launch: the one in which the driving thread asked for it; where a device tells the steps, the
    one in which its run on that device begins."""
    steps = recorded_steps(trace)
    if not steps or steps[0].source in ("annotation", "step_marker"):
        asked = ways.origin >= 0
        when = np.full(count, -1, np.int64)
        when[asked] = trace.start_ps[ways.origin[asked]]
        return recorded_steps_at(trace, when)
    tellers = [
        number
        for number, device in enumerate(trace.devices)
        if (
            steps[0].row in device.modules.row
            if device.made
            else device.plane == trace.line_of(steps[0].row).plane
        )
    ]
    teller = (
        tellers[0] if tellers else 0
    )  # steps on the plane of something that is no device: the first one's
    when = np.full(count, -1, np.int64)
    mine = np.flatnonzero((runs.launch >= 0) & (runs.device == teller))[
        ::-1
    ]  # a launch's first run is written last
    when[runs.launch[mine]] = runs.start_ps[mine]
    return recorded_steps_at(trace, when)


def _handed_over(trace: Trace, step: Int32, runs: Runs) -> tuple[Int64, Int64] | None:
    """Of steps that annotations tell: all others last until the next one begins."""
    if not any(it.source == "annotation" for it in recorded_steps(trace)):
        return None
    step_of_run = np.append(step, np.int32(-1))[runs.launch]
    return handed_over(*recorded_times(trace), step_of_run, runs.own_start_ps, runs.end_ps)
