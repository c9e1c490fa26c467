"""Devices of captures that have no device plane: PyTorch/XLA on a CPU records its ops on host threads.

A *run* is what encloses one `ThunkExecutor::Execute (wait for completion)`: a region of a client thread (from its
`ThreadpoolListener::StartRegion` to its `StopRegion`), or `ExecuteHelper` itself for programs so small that they run
inline. An op on a pool thread belongs to the run that its region's flow reaches first: a region starts from the `Record`
of another, whose own region leads on. An op lasts from its event's begin to the `end:` event that its flow leads to, but
no longer than its run: `end:` is sometimes written late, inside the next run.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tb_xla_insights.catalog import Catalog
from tb_xla_insights.trace.devices import make_spans
from tb_xla_insights.trace.model import Device, Int8, Int32, Int64, Spans, Trace

_START, _STOP, _HELPER, _EXECUTE, _COMPLETION = 1, 2, 3, 4, 5
_MARKS = {
    "ThreadpoolListener::StartRegion": _START,
    "ThreadpoolListener::StopRegion": _STOP,
    "ThunkExecutor::Execute": _EXECUTE,
    "ThunkExecutor::Execute (wait for completion)": _COMPLETION,
}


@njit(
    "int64(int64, int64, int8[::1], int64[::1], int64[::1], int32[::1], int32[::1], int64[::1], int64[::1], boolean[::1], int64)",
    cache=True,
    nogil=True,
)
def _regions(first, count, mark, start, end, region_of, region_row, region_start, region_end, region_runs, regions):  # type: ignore[no-untyped-def]
    """Finds the regions of one line from number `regions` on, writes each row's innermost one (-1: none) and which of them are runs.
    Returns the number of regions so far. A region without an end lasts until the line's last event."""
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
            while depth > 0 and region_end[stack[depth - 1]] >= 0:  # an inline run ends with the region around it
                depth -= 1
            if depth > 0:
                region_end[stack[depth - 1]] = start[row]
                depth -= 1
        elif (kind == _START or kind == _HELPER) and depth < len(stack):
            region_row[regions] = row
            region_start[regions] = start[row]
            region_end[regions] = -1 if kind == _START else end[row]
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


@njit("void(int32[::1], int32[::1], boolean[::1], int32[::1], int32[::1])", cache=True, nogil=True)
def _resolve(region_row, producer_of, region_runs, region_of, run_of):  # type: ignore[no-untyped-def]
    """The run each region belongs to (-1: none): itself, or what its flow reaches first."""
    for region in range(len(region_row)):
        at, steps = region, 0
        while at >= 0 and not region_runs[at] and run_of[at] < 0 and steps < 100_000:
            record = producer_of[region_row[at]]
            at = region_of[record] if record >= 0 else -1
            steps += 1
        found = -1
        if at >= 0 and steps < 100_000:
            found = at if region_runs[at] else run_of[at]
        run_of[region] = found


def cpu_devices(trace: Trace, catalog: Catalog) -> list[Device]:
    """Virtual cores made from the events of host threads; none where no run and no op was recorded.

    There are as many as a launch has runs. Which core a run took is not recorded, so runs are placed by overlap. Needs the
    trace's events, nesting and flows.
    """
    mark = _marks(trace)
    ops = _op_rows(trace)
    if not ops.size and not (mark == _COMPLETION).any():
        return []
    n = len(trace)
    producer_of, consumer_of = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    producer_of[trace.flows.consumer] = trace.flows.producer
    consumer_of[trace.flows.producer] = trace.flows.consumer
    region_of = np.full(n, -1, np.int32)
    room = int(((mark == _START) | (mark == _HELPER) | (mark == _COMPLETION)).sum())
    region_row = np.empty(room, np.int32)
    region_start, region_end = np.empty(room, np.int64), np.empty(room, np.int64)
    region_runs = np.zeros(room, bool)
    count = 0
    for line in trace.lines:
        if line.count:
            count = _regions(
                line.first, line.count, mark, trace.start_ps, trace.end_ps,
                region_of, region_row, region_start, region_end, region_runs, count,
            )  # fmt: skip
    run_of = np.full(count, -1, np.int32)
    _resolve(region_row[:count], producer_of, region_runs[:count], region_of, run_of)
    runs = np.flatnonzero(region_runs[:count])
    core, cores = _place(trace, catalog, region_row[runs], region_start[runs], region_end[runs], producer_of)

    region = region_of[ops]
    run = np.where(region >= 0, run_of[np.maximum(region, 0)], -1) if count else np.full(len(ops), -1, np.int32)
    ended = consumer_of[ops]
    end = np.where(ended >= 0, trace.start_ps[ended], trace.start_ps[ops] + trace.duration_ps[ops])
    end = np.where(run >= 0, np.minimum(end, region_end[np.maximum(run, 0)]), end) if count else end
    end = np.maximum(end, trace.start_ps[ops])
    core_of_region = np.zeros(max(count, 1), np.int64)
    core_of_region[runs] = core
    op_core = np.where(
        run >= 0, core_of_region[np.maximum(run, 0)], 0
    )  # an op whose run the capture cuts stays on the first

    op_name = trace.stats["hlo_op"].at(ops, -1).astype(np.int32) if ops.size else np.empty(0, np.int32)
    run_name = _run_names(trace, runs, run, ops)
    devices = []
    for number in range(cores):
        mine, my_ops = core == number, op_core == number
        modules = make_spans(region_row[runs[mine]], region_start[runs[mine]], region_end[runs[mine]], run_name[mine])
        spans: Spans = make_spans(ops[my_ops], trace.start_ps[ops[my_ops]], end[my_ops], op_name[my_ops])
        devices.append(
            Device(f"{trace.host}/CPU:{number}", f"CPU:{number}", "cpu", trace.host, None, True, modules, spans, {})
        )
    return devices


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


def _place(
    trace: Trace, catalog: Catalog, row: Int32, start: Int64, end: Int64, producer_of: Int32
) -> tuple[NDArray[np.int64], int]:
    """The virtual core of each run, and how many there are."""
    launch = np.array([_launch(trace, catalog, int(r), producer_of) for r in row], np.int64)
    known = launch[launch >= 0]
    cores = int(np.unique(known, return_counts=True)[1].max()) if known.size else 1
    free = np.full(cores, np.iinfo(np.int64).min)
    core = np.zeros(len(row), np.int64)
    for run in np.lexsort((end, start)).tolist():
        able = np.flatnonzero(free <= start[run])
        chosen = int(able[0] if able.size else free.argmin())
        core[run] = chosen
        free[chosen] = max(free[chosen], end[run])
    return core, cores


def _launch(trace: Trace, catalog: Catalog, row: int, producer_of: Int32) -> int:
    """The execute call that a run's flow comes from: the outermost one around the event that let it go; -1: none recorded."""
    at = int(producer_of[row]) if producer_of[row] >= 0 else row
    found = -1
    while at >= 0:
        if "launch" in catalog.tags(trace.name(at)):
            found = at
        at = int(trace.parent[at])
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
            trace.stats["hlo_module"].at(first_ops, empty) if "hlo_module" in trace.stats else np.full(len(first_ops), empty)
        )
        programs = (
            trace.stats["program_id"].at(first_ops, empty) if "program_id" in trace.stats else np.full(len(first_ops), empty)
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
