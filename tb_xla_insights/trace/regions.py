"""Regions of a thread pool: the intervals in which a thread works on a task, and the program run of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int8, Int32, Int64, empty_columns, trim_columns
from tb_xla_insights.trace import codes, kernels
from tb_xla_insights.trace.metadata_events import values_of_events
from tb_xla_insights.trace.model import Flows, Line
from tb_xla_insights.trace.nesting import MAX_DEPTH

EXECUTE = "ThunkExecutor::Execute"
"""The event in which a thread executes ops of a program, one after the other."""

_HELPERS = ("::ExecuteHelper", "::ExecuteHelperOnSingleDevice")
_CODES = {
    "ThreadpoolListener::StartRegion": codes.REGION_START,
    "ThreadpoolListener::StopRegion": codes.REGION_STOP,
    EXECUTE: codes.EXECUTE,
    "ThunkExecutor::Execute (wait for completion)": codes.COMPLETION,
    "CpuExecutable::ExecuteAsyncOnStream": codes.WHOLE_RUN,
    "BlockUntilReady": codes.READY,
}


@dataclass(frozen=True)
class LineRegions:
    """The regions of all lines, without flows, by line and start: the event that begins each (`row`), its start, the
    time at which its program is complete (0: it runs none), the region around it (`outer`, -1: none), and whether a
    program runs in it (`has_run`). `of_row` is the innermost region around each event (-1: none).

    A region extends from its `StartRegion` to its `StopRegion`; `ExecuteHelper` is a region as well, since small
    programs run inside it. A program runs in the innermost region around a `ThunkExecutor::Execute (wait for
    completion)` and is complete at that event's end; the thread may leave the region much later. A call that runs a
    program from its first op to its last (`CpuExecutable::ExecuteAsyncOnStream`) is a region as well; its program is
    complete when the call has waited for it (`BlockUntilReady`).
    """

    row: Int32
    start_ps: Int64
    complete_ps: Int64
    outer: Int32
    has_run: NDArray[np.bool_]
    of_row: Int32


@dataclass(frozen=True)
class Regions(LineRegions):
    """Regions with flows: `source` is the event that each region's flow comes from, `run` the region whose program run
    it belongs to (-1: none)."""

    source: Int32
    run: Int32


def find_line_regions(
    lines: list[Line],
    strings: list[str],
    name: Int32,
    metadata_index: Int32,
    start_ps: Int64,
    duration_ps: Int64,
) -> LineRegions | None:
    """The regions of all lines, None if no line records any. `name` is the name of each event metadata entry (index
    into `strings`)."""
    codes_of_metadata = _name_codes(strings, name)
    code = values_of_events(codes_of_metadata, metadata_index)
    max_regions = int(np.count_nonzero(code))
    if not max_regions:
        return None
    of_row = np.full(len(metadata_index), -1, np.int32)
    row, outer, start, end, complete = empty_columns(
        max_regions, np.int32, np.int32, np.int64, np.int64, np.int64
    )
    has_run = np.zeros(max_regions, np.bool_)
    count, stack = 0, np.empty(MAX_DEPTH, np.int32)
    for line in lines:
        if line.count:
            line_columns = line.first, line.count, code, start_ps, duration_ps
            count = kernels.find_regions(
                *line_columns, count, of_row, row, start, end, complete, outer, has_run, stack
            )
    row, start, complete, outer, has_run = trim_columns(count, row, start, complete, outer, has_run)
    return LineRegions(row, start, complete, outer, has_run, of_row)


def find_regions(line_regions: LineRegions, flows: Flows) -> Regions:
    """Completes regions with their flows and runs."""
    source, run = flows.producers(line_regions.row), np.full(len(line_regions.row), -1, np.int32)
    kernels.resolve_runs(line_regions.outer, source, line_regions.has_run, line_regions.of_row, run)
    return Regions(**vars(line_regions), source=source, run=run)


def _name_codes(strings: list[str], name: Int32) -> Int8:
    """The code of each event metadata entry's name, for `kernels.find_regions`."""
    code_of_text: dict[int, int] = {}
    for text_index in set(name.tolist()):
        name_text = strings[text_index]
        code_of_text[text_index] = codes.HELPER if name_text.endswith(_HELPERS) else _CODES.get(name_text, 0)
    return np.array([code_of_text[text_index] for text_index in name.tolist()], np.int8)
