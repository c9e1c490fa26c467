"""Stretches of work that a thread pool was given, from what its threads record, and the program run each is
part of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.compiled import cut, kernel, room
from tb_xla_insights.trace.entries import count_of_entries, told_by_entry
from tb_xla_insights.trace.model import Flows, Int8, Int32, Int64, Line
from tb_xla_insights.trace.nesting import DEEPEST

_START, _STOP, _HELPER, _EXECUTE, _COMPLETION, _WHOLE, _READY = 1, 2, 3, 4, 5, 6, 7
EXECUTE = "ThunkExecutor::Execute"
"""The event in which a thread works on a program's ops, one after the other."""

_HELPERS = ("::ExecuteHelper", "::ExecuteHelperOnSingleDevice")
_MARKS = {
    "ThreadpoolListener::StartRegion": _START,
    "ThreadpoolListener::StopRegion": _STOP,
    EXECUTE: _EXECUTE,
    "ThunkExecutor::Execute (wait for completion)": _COMPLETION,
    "CpuExecutable::ExecuteAsyncOnStream": _WHOLE,
    "BlockUntilReady": _READY,
}


@dataclass(frozen=True)
class Stretches:
    """What lines tell of regions without flows, by line and start: the event that begins each, when it starts, the
    region around it (-1: none), whether a program runs in it, and when that is complete (0: none runs). `of_row` is the
    innermost region around each event.

    A region goes from its `StartRegion` to its `StopRegion`; `ExecuteHelper` is one as well, since small
    programs run inside it. A program runs in the innermost region around a `ThunkExecutor::Execute (wait for
    completion)`, and is complete at that event's end; the thread may leave the region much later. A call that runs a
    program from its first op to its last (`CpuExecutable::ExecuteAsyncOnStream`) is a region as well; the program is
    complete where the call has waited for it (`BlockUntilReady`).
    """

    row: Int32
    start_ps: Int64
    complete_ps: Int64
    outer: Int32
    runs: NDArray[np.bool_]
    of_row: Int32


@dataclass(frozen=True)
class Regions(Stretches):
    """Regions with the event that the flow of each comes from, and which region's run it is part of (-1: none)."""

    source: Int32
    run: Int32


@kernel(
    "int64(int64, int64, int8[::1], int64[::1], int64[::1], int32[::1], int32[::1], int64[::1], int64[::1], int64[::1],"
    " int32[::1], boolean[::1], int64, int32[::1])"
)
def _find(  # type: ignore[no-untyped-def]
    first,
    count,
    mark,
    start,
    duration,
    of_row,
    row,
    region_start,
    region_end,
    complete,
    outer,
    runs,
    regions,
    stack,
):
    """Finds the regions of one line, numbered from `regions` on. Returns the number of regions so far. `stack` holds
    the open ones, and `region_end` when each ends (-1: where its `StopRegion` is).

    Where a run ends whose beginning was not recorded, it began with the `ThunkExecutor::Execute` before, or with the
    waiting itself.
    """
    depth, executes = 0, -1
    for event in range(first, first + count):
        end = start[event] + duration[event]
        while depth > 0 and 0 <= region_end[stack[depth - 1]] <= start[event]:
            depth -= 1
        kind = mark[event]
        if kind == _STOP:
            while (
                depth > 0 and region_end[stack[depth - 1]] >= 0
            ):  # an inline run inside the region that ends
                depth -= 1
            if depth > 0:
                depth -= 1
            executes = -1
        elif (kind == _START or kind == _HELPER or kind == _WHOLE) and depth < len(stack):
            row[regions], region_start[regions] = event, start[event]
            region_end[regions] = -1 if kind == _START else end
            runs[regions] = kind == _WHOLE
            complete[regions] = end if kind == _WHOLE else 0
            outer[regions] = stack[depth - 1] if depth > 0 else -1
            stack[depth] = regions
            depth += 1
            regions += 1
            executes = -1
        elif kind == _EXECUTE:
            executes = event
        elif kind == _READY and depth > 0:
            if mark[row[stack[depth - 1]]] == _WHOLE:
                complete[stack[depth - 1]] = end
        elif kind == _COMPLETION and depth > 0:
            runs[stack[depth - 1]] = True
            complete[stack[depth - 1]] = end
        elif kind == _COMPLETION:
            begin = executes if executes >= 0 else event
            row[regions], region_start[regions], region_end[regions] = begin, start[begin], end
            outer[regions], runs[regions], complete[regions] = -1, True, end
            for inside in range(begin, event):
                of_row[inside] = regions
            stack[depth] = regions
            depth += 1
            regions += 1
        of_row[event] = stack[depth - 1] if depth > 0 else -1
    return regions


@kernel("void(int32[::1], int32[::1], boolean[::1], int32[::1], int32[::1])")
def _resolve(outer, source, runs, of_row, run):  # type: ignore[no-untyped-def]
    """The run each region is part of: itself, or the one that its flow reaches first. A region starts from
    the event that its flow comes from, or else from the region around it."""
    for region in range(len(outer)):
        at, steps = region, 0
        while at >= 0 and not runs[at] and run[at] < 0 and steps <= len(outer):
            at = of_row[source[at]] if source[at] >= 0 else outer[at]
            steps += 1
        if at >= 0 and steps <= len(outer):
            run[region] = at if runs[at] else run[at]


def find_stretches(
    lines: list[Line], strings: list[str], name: Int32, meta: Int32, start_ps: Int64, duration_ps: Int64
) -> Stretches | None:
    """The regions of all lines; None where no line records any. `name` is that of each metadata entry (index into the
    strings)."""
    of_entry = _marks(strings, name)
    most = count_of_entries(np.isin(of_entry, (_START, _HELPER, _COMPLETION, _WHOLE)), meta)
    if not most:
        return None
    mark, of_row = told_by_entry(of_entry, meta), np.full(len(meta), -1, np.int32)
    row, outer, start, end, complete = room(most, np.int32, np.int32, np.int64, np.int64, np.int64)
    runs = np.zeros(most, np.bool_)
    count, stack = 0, np.empty(DEEPEST, np.int32)
    for line in lines:
        if line.count:
            where = line.first, line.count, mark, start_ps, duration_ps
            count = _find(*where, of_row, row, start, end, complete, outer, runs, count, stack)
    row, start, complete, outer, runs = cut(count, row, start, complete, outer, runs)
    return Stretches(row, start, complete, outer, runs, of_row)


def find_regions(found: Stretches, flows: Flows) -> Regions:
    """The regions, with what flows tell."""
    source, run = flows.producers(found.row), np.full(len(found.row), -1, np.int32)
    _resolve(found.outer, source, found.runs, found.of_row, run)
    return Regions(**vars(found), source=source, run=run)


def _marks(strings: list[str], name: Int32) -> Int8:
    """What each metadata entry is to the regions, by its name."""
    known: dict[int, int] = {}
    for text in set(name.tolist()):
        told = strings[text]
        known[text] = _HELPER if told.endswith(_HELPERS) else _MARKS.get(told, 0)
    return np.array([known[text] for text in name.tolist()], np.int8)
