"""Stretches of work that a thread pool was given, from what its threads record, and the program run each is
part of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import empty_columns, trim_columns
from tb_xla_insights.trace import codes, kernels
from tb_xla_insights.trace.metadata_events import values_of_events
from tb_xla_insights.trace.model import Flows, Int8, Int32, Int64, Line
from tb_xla_insights.trace.nesting import DEEPEST

EXECUTE = "ThunkExecutor::Execute"
"""The event in which a thread works on a program's ops, one after the other."""

_HELPERS = ("::ExecuteHelper", "::ExecuteHelperOnSingleDevice")
_MARKS = {
    "ThreadpoolListener::StartRegion": codes.REGION_START,
    "ThreadpoolListener::StopRegion": codes.REGION_STOP,
    EXECUTE: codes.EXECUTE,
    "ThunkExecutor::Execute (wait for completion)": codes.COMPLETION,
    "CpuExecutable::ExecuteAsyncOnStream": codes.WHOLE,
    "BlockUntilReady": codes.READY,
}


@dataclass(frozen=True)
class LineRegions:
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
class Regions(LineRegions):
    """Regions with the event that the flow of each comes from, and which region's run it is part of (-1: none)."""

    source: Int32
    run: Int32


def find_line_regions(
    lines: list[Line], strings: list[str], name: Int32, meta: Int32, start_ps: Int64, duration_ps: Int64
) -> LineRegions | None:
    """The regions of all lines; None where no line records any. `name` is that of each metadata entry (index into the
    strings)."""
    of_entry = _marks(strings, name)
    mark = values_of_events(of_entry, meta)
    most = int(np.count_nonzero(mark))
    if not most:
        return None
    of_row = np.full(len(meta), -1, np.int32)
    row, outer, start, end, complete = empty_columns(most, np.int32, np.int32, np.int64, np.int64, np.int64)
    runs = np.zeros(most, np.bool_)
    count, stack = 0, np.empty(DEEPEST, np.int32)
    for line in lines:
        if line.count:
            where = line.first, line.count, mark, start_ps, duration_ps
            count = kernels.find_regions(*where, count, of_row, row, start, end, complete, outer, runs, stack)
    row, start, complete, outer, runs = trim_columns(count, row, start, complete, outer, runs)
    return LineRegions(row, start, complete, outer, runs, of_row)


def find_regions(found: LineRegions, flows: Flows) -> Regions:
    """The regions, with what flows tell."""
    source, run = flows.producers(found.row), np.full(len(found.row), -1, np.int32)
    kernels.resolve_runs(found.outer, source, found.runs, found.of_row, run)
    return Regions(**vars(found), source=source, run=run)


def _marks(strings: list[str], name: Int32) -> Int8:
    """What each metadata entry is to the regions, by its name."""
    known: dict[int, int] = {}
    for text in set(name.tolist()):
        told = strings[text]
        known[text] = codes.HELPER if told.endswith(_HELPERS) else _MARKS.get(told, 0)
    return np.array([known[text] for text in name.tolist()], np.int8)
