"""Devices of captures that have no device plane: PyTorch/XLA on a CPU records its ops on host threads.

A *run* is what encloses one `ThunkExecutor::Execute (wait for completion)`: a region of a client thread
(from its `ThreadpoolListener::StartRegion` to its `StopRegion`), or `ExecuteHelper` itself for programs so
small that they run inline. An op on a pool thread belongs to the run that its region's flow reaches first:
a region starts from the `Record` of another, whose own region leads on. An op lasts from its event's begin
to the `end:` event that its flow leads to, but no longer than its run: `end:` is sometimes written late,
inside the next run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tb_xla_insights.catalog import Catalog
from tb_xla_insights.trace.devices import make_spans
from tb_xla_insights.trace.model import Device, Int8, Int32, Int64, Trace

_START, _STOP, _HELPER, _EXECUTE, _COMPLETION = 1, 2, 3, 4, 5
_MARKS = {
    "ThreadpoolListener::StartRegion": _START,
    "ThreadpoolListener::StopRegion": _STOP,
    "ThunkExecutor::Execute": _EXECUTE,
    "ThunkExecutor::Execute (wait for completion)": _COMPLETION,
}


@njit(
    "int64(int64, int64, int8[::1], int64[::1], int64[::1], int32[::1], int32[::1], int64[::1], int64[::1], int32[::1], boolean[::1], int64)",
    cache=True,
    nogil=True,
)
def _regions(
    first,
    count,
    mark,
    start,
    end,
    region_of,
    region_row,
    region_start,
    region_end,
    region_outer,
    region_runs,
    regions,
):  # type: ignore[no-untyped-def]
    """Finds the regions of one line from number `regions` on, writes each row's innermost one (-1: none)
    and which of them are runs. Returns the number of regions so far. A region without an end lasts until the line's last event."""
    stack = np.empty(1024, np.int32)
    depth = 0
    executes = -1
    last_end = np.int64(0)
    for row in range(first, first + count):
        last_end = max(last_end, end[row])
        while depth > 0 and region_end[stack[depth - 1]] >= 0 and region_end[stack[depth - 1]] <= start[row]:
            depth -= 1
        kind = mark[row]
        if kind == _STOP:
            while (
                depth > 0 and region_end[stack[depth - 1]] >= 0
            ):  # an inline run ends with the region around it
                depth -= 1
            if depth > 0:
                region_end[stack[depth - 1]] = start[row]
                depth -= 1
        elif (kind == _START or kind == _HELPER) and depth < len(stack):
            region_row[regions] = row
            region_start[regions] = start[row]
            region_end[regions] = -1 if kind == _START else end[row]
            region_outer[regions] = stack[depth - 1] if depth > 0 else -1
            stack[depth] = regions
            depth += 1
            regions += 1
        elif kind == _EXECUTE:
            executes = row
        elif kind == _COMPLETION:
            if depth > 0:
                region_runs[stack[depth - 1]] = True
            else:  # the capture began inside the region
                begin = executes if executes >= 0 and (depth == 0) else row
                region_row[regions] = begin
                region_start[regions], region_end[regions] = start[begin], end[row]
                region_outer[regions] = -1
                region_runs[regions] = True
                for inside in range(begin, row):
                    if region_of[inside] < 0:
                        region_of[inside] = regions
                region_of[row] = regions
                regions += 1
                executes = -1
                continue
        region_of[row] = stack[depth - 1] if depth > 0 else -1
    for region in range(depth):
        if region_end[stack[region]] < 0:
            region_end[stack[region]] = last_end
    return regions


@njit(
    "void(int32[::1], int32[::1], int32[::1], boolean[::1], int32[::1], int32[::1])", cache=True, nogil=True
)
def _resolve(region_row, region_outer, producer_of, region_runs, region_of, run_of):  # type: ignore[no-untyped-def]
    """The run each region belongs to (-1: none): itself, or what its flow reaches first."""
    for region in range(len(region_row)):
        at, steps = region, 0
        while at >= 0 and not region_runs[at] and run_of[at] < 0 and steps < 100_000:
            record = producer_of[region_row[at]]
            at = region_of[record] if record >= 0 else region_outer[at]
            steps += 1
        found = -1
        if at >= 0 and steps < 100_000:
            found = at if region_runs[at] else run_of[at]
        run_of[region] = found


@dataclass(frozen=True)
class _Regions:
    """Stretches of work that a thread pool was given: the event that begins each, its times, the region around it (-1: none),
    whether it is a run; and of every event the innermost region around it (-1: none)."""

    row: Int32
    start_ps: Int64
    end_ps: Int64
    outer: Int32
    runs: NDArray[np.bool_]
    of_row: Int32


def _find_regions(trace: Trace, mark: Int8) -> _Regions:
    room = int(((mark == _START) | (mark == _HELPER) | (mark == _COMPLETION)).sum())
    of_row = np.full(len(trace), -1, np.int32)
    row, outer, runs = np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(room, bool)
    start, end = np.empty(room, np.int64), np.empty(room, np.int64)
    count = 0
    for line in trace.lines:
        if line.count:
            where = line.first, line.count, mark, trace.start_ps, trace.end_ps
            count = _regions(*where, of_row, row, start, end, outer, runs, count)
    return _Regions(row[:count], start[:count], end[:count], outer[:count], runs[:count], of_row)


def cpu_devices(trace: Trace, catalog: Catalog) -> list[Device]:
    """Virtual cores made from the events of host threads; none where no run and no op was recorded.

    There are as many as a launch has runs. Which core a run took is not recorded, so runs are placed by
    overlap. Needs the trace's events, nesting and flows.
    """
    mark = _marks(trace)
    ops = _op_rows(trace)
    if not ops.size and not (mark == _COMPLETION).any():
        return []
    producer_of, consumer_of = np.full(len(trace), -1, np.int32), np.full(len(trace), -1, np.int32)
    producer_of[trace.flows.consumer] = trace.flows.producer
    consumer_of[trace.flows.producer] = trace.flows.consumer
    regions = _find_regions(trace, mark)
    run_of = np.full(len(regions.row) + 1, -1, np.int32)  # the last one stands for "no region"
    _resolve(regions.row, regions.outer, producer_of, regions.runs, regions.of_row, run_of)
    runs = np.flatnonzero(regions.runs)
    launches = [_launch(trace, catalog, regions, region, producer_of) for region in runs.tolist()]
    core, cores = _place(np.array(launches, np.int64), regions.start_ps[runs], regions.end_ps[runs])

    run = run_of[regions.of_row[ops]]
    start, end = trace.start_ps[ops], _op_ends(trace, ops, consumer_of)
    owned = run >= 0
    end[owned] = np.minimum(end[owned], regions.end_ps[run[owned]])
    np.maximum(end, start, out=end)
    core_of = np.zeros(len(regions.row) + 1, np.int64)
    core_of[runs] = core
    op_core = core_of[run]  # an op whose run the capture cuts stays on the first core

    op_name = trace.stats["hlo_op"].at(ops, -1).astype(np.int32) if ops.size else np.empty(0, np.int32)
    run_name = _run_names(trace, runs, run, ops)
    devices = []
    for number in range(cores):
        mine, my = core == number, op_core == number
        modules = make_spans(
            regions.row[runs[mine]], regions.start_ps[runs[mine]], regions.end_ps[runs[mine]], run_name[mine]
        )
        spans = make_spans(ops[my], start[my], end[my], op_name[my])
        devices.append(
            Device(
                f"{trace.host}/CPU:{number}",
                f"CPU:{number}",
                "cpu",
                trace.host,
                None,
                True,
                modules,
                spans,
                {},
            )
        )
    return devices


def _op_ends(trace: Trace, ops: Int32, consumer_of: Int32) -> Int64:
    """Where each op ends: at its `end:` event, or with its own event where the capture has none."""
    ended = consumer_of[ops]
    return np.where(ended >= 0, trace.start_ps[ended], trace.start_ps[ops] + trace.duration_ps[ops])


def _marks(trace: Trace) -> Int8:
    """What each event is to the runs, by its name."""
    by_name = np.zeros(len(trace.strings), np.int8)
    for index, text in enumerate(trace.strings):
        if text in _MARKS:
            by_name[index] = _MARKS[text]
        elif text.endswith("::ExecuteHelper"):
            by_name[index] = _HELPER
    return by_name[trace.metadata.name[trace.meta]] if len(trace.strings) else np.zeros(len(trace), np.int8)


def _op_rows(trace: Trace) -> Int32:
    """The events that begin an op: those that name it."""
    return trace.stats["hlo_op"].rows if "hlo_op" in trace.stats else np.empty(0, np.int32)


def _place(launch: Int64, start: Int64, end: Int64) -> tuple[NDArray[np.int64], int]:
    """The virtual core of each run, and how many there are."""
    known = launch[launch >= 0]
    cores = int(np.unique(known, return_counts=True)[1].max()) if known.size else 1
    free = np.full(cores, np.iinfo(np.int64).min)
    core = np.zeros(len(start), np.int64)
    for run in np.lexsort((end, start)).tolist():
        able = np.flatnonzero(free <= start[run])
        chosen = int(able[0] if able.size else free.argmin())
        core[run] = chosen
        free[chosen] = max(free[chosen], end[run])
    return core, cores


def _launch(trace: Trace, catalog: Catalog, regions: _Regions, region: int, producer_of: Int32) -> int:
    """The execute call that a run's flow comes from, the outermost one on the way; -1: none recorded. The
    way ends at another run: a run that had to queue was let go by the run before it."""
    found, seen = -1, {region}
    while region >= 0:
        record = int(producer_of[regions.row[region]])
        at = record if record >= 0 else int(regions.row[region])
        while at >= 0:
            if "launch" in catalog.tags(trace.name(at)):
                found = at
            at = int(trace.parent[at])
        region = int(regions.of_row[record] if record >= 0 else regions.outer[region])
        if region in seen or (region >= 0 and regions.runs[region]):
            break
        seen.add(region)
    return found


def _run_names(trace: Trace, runs: NDArray[np.intp], run: Int32, ops: Int32) -> Int32:
    """The program of each run, `module(program id)` as device planes name them, from the first of its ops."""
    names: list[str] = ["device run"] * len(runs)
    if ops.size:
        position = np.full(int(runs.max(initial=0)) + 1, -1)
        position[runs] = np.arange(len(runs))
        owned = np.flatnonzero(run >= 0)
        first_run, first = np.unique(run[owned], return_index=True)
        first_ops = ops[owned[first]]
        empty = -1
        modules = (
            trace.stats["hlo_module"].at(first_ops, empty)
            if "hlo_module" in trace.stats
            else np.full(len(first_ops), empty)
        )
        programs = (
            trace.stats["program_id"].at(first_ops, empty)
            if "program_id" in trace.stats
            else np.full(len(first_ops), empty)
        )
        for which, module, program in zip(first_run.tolist(), modules.tolist(), programs.tolist()):
            text = trace.strings[module] if module >= 0 else "program"
            names[int(position[which])] = f"{text}({program % 2**64})" if program != empty else text
    index = {text: number for number, text in enumerate(trace.strings)}
    result = []
    for name in names:
        if name not in index:
            index[name] = len(trace.strings)
            trace.strings.append(name)
        result.append(index[name])
    return np.array(result, np.int32)
