"""Devices of captures that have no device plane: PyTorch/XLA on a CPU records its ops on host threads.

A *run* begins with what encloses one `ThunkExecutor::Execute (wait for completion)`: a region of a client thread, or
`ExecuteHelper` itself for programs so small that they run inline. It ends with that event: then all ops are complete,
though the thread may leave the region only after the next runs. An op on a pool thread belongs to the run
that its region's flow reaches first. An op lasts from its event's begin to the `end:` event that its flow
leads to, but no longer than its run: `end:` is sometimes written late, inside the next run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.catalog import Catalog
from tb_xla_insights.compiled import kernel
from tb_xla_insights.trace.devices import make_spans
from tb_xla_insights.trace.model import Device, Int32, Int64, Trace
from tb_xla_insights.trace.programs import program_names
from tb_xla_insights.trace.regions import Regions, Stretches, find_regions


def cpu_devices(trace: Trace, catalog: Catalog, stretches: Stretches | None) -> list[Device]:
    """Virtual cores made from the events of host threads; none where no run and no op was recorded.

    There are as many as a launch has runs. Which core a run took is not recorded, so runs are placed by
    overlap. Needs the trace's events, nesting and flows.
    """
    return [_device(trace, number, *its) for number, its in enumerate(_cores(trace, catalog, stretches))]


_Columns = tuple[Int32, Int64, Int64, Int32]
_NOTHING: _Columns = (
    np.empty(0, np.int32),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int32),
)


def _cores(trace: Trace, catalog: Catalog, stretches: Stretches | None) -> list[tuple[_Columns, _Columns]]:
    """Per core its runs and its ops: rows, starts, ends and names, in the order of rows."""
    ops = trace.stats["hlo_op"].rows if "hlo_op" in trace.stats else np.empty(0, np.int32)
    regions = find_regions(stretches, trace.flows) if stretches else None
    start, end, run = _op_times(trace, ops, regions)
    op_name = trace.stats["hlo_op"].values if ops.size else ops
    if regions is None or not regions.runs.any():
        return [(_NOTHING, (ops, start, end, op_name))] if ops.size else []

    runs = np.flatnonzero(regions.runs)
    calls = np.array(
        ["launch" in catalog.tags(trace.strings[text]) for text in trace.metadata.name], np.bool_
    )
    core, cores = _place(
        _launches(trace, calls, regions, runs), regions.start_ps[runs], regions.complete_ps[runs]
    )
    # An op whose run the capture cuts stays on the first core.
    core_of = np.zeros(len(regions.row) + 1, np.int16)
    core_of[runs] = core
    run_name = _run_names(trace, runs, run, ops)
    found = []
    for number in range(cores):
        mine, my = core == number, core_of[run] == number if cores > 1 else slice(None)
        modules = (
            regions.row[runs[mine]],
            regions.start_ps[runs[mine]],
            regions.complete_ps[runs[mine]],
            run_name[mine],
        )
        found.append((modules, (ops[my], start[my], end[my], op_name[my])))
    return found


def _device(trace: Trace, number: int, modules: _Columns, ops: _Columns) -> Device:
    name = f"CPU:{number}"
    return Device(
        f"{trace.host}/{name}",
        name,
        "cpu",
        trace.host,
        None,
        True,
        make_spans(*modules),
        make_spans(*ops),
        {},
    )


def _op_times(trace: Trace, ops: Int32, regions: Regions | None) -> tuple[Int64, Int64, Int32]:
    """When each op starts and ends, and the run it belongs to (-1: none): it ends at its `end:` event, or with its own
    where the capture has none, but no later than its run."""
    consumer_of = np.full(len(trace), -1, np.int32)
    consumer_of[trace.flows.producer] = trace.flows.consumer
    if regions:
        known = regions.of_row, regions.run, regions.complete_ps
    else:
        known = np.full(len(trace), -1, np.int32), np.empty(0, np.int32), np.empty(0, np.int64)
    (start, end), run = np.empty((2, len(ops)), np.int64), np.empty(len(ops), np.int32)
    _time(ops, trace.start_ps, trace.duration_ps, consumer_of, *known, start, end, run)
    return start, end, run


@kernel(
    "void(int32[::1], int64[::1], int64[::1], int32[::1], int32[::1], int32[::1], int64[::1], "
    "int64[::1], int64[::1], int32[::1])"
)
def _time(ops, start, duration, consumer_of, of_row, run_of, run_end, op_start, op_end, op_run):  # type: ignore[no-untyped-def]
    for i in range(len(ops)):
        row = ops[i]
        ended = consumer_of[row]
        region = of_row[row]
        run = run_of[region] if region >= 0 else np.int32(-1)
        until = start[ended] if ended >= 0 else start[row] + duration[row]
        if run >= 0:
            until = min(until, run_end[run])
        op_start[i], op_run[i] = start[row], run
        op_end[i] = max(until, start[row])  # flows of a damaged file may lead back in time


def _place(launch: Int32, start: Int64, end: Int64) -> tuple[NDArray[np.int64], int]:
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


def _launches(trace: Trace, calls: NDArray[np.bool_], regions: Regions, runs: NDArray[np.intp]) -> Int32:
    """The execute call that each run's flow comes from, the outermost one on the way; -1: none recorded. `calls`: per
    metadata entry, whether it is an execute call."""
    found, seen = np.full(len(runs), -1, np.int32), np.full(len(regions.row), -1, np.int32)
    known = regions.row, regions.outer, regions.source, regions.of_row, regions.runs
    _find_launches(runs.astype(np.int32), calls, trace.meta, trace.parent, *known, seen, found)
    return found


@kernel(
    "void(int32[::1], boolean[::1], int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], "
    "boolean[::1], int32[::1], int32[::1])"
)
def _find_launches(which, calls, meta, parent, row, outer, source, of_row, runs, seen, found):  # type: ignore[no-untyped-def]
    """The way of a flow ends at another run: a run that had to queue was let go by the run before it. `seen`: for which
    run each region was met last, at first -1."""
    for i in range(len(which)):
        region = which[i]
        while region >= 0 and seen[region] != i and (region == which[i] or not runs[region]):
            seen[region] = i
            record = source[region]
            at = record if record >= 0 else row[region]
            while at >= 0:
                if calls[meta[at]]:
                    found[i] = at
                at = parent[at]
            region = of_row[record] if record >= 0 else outer[region]


def _run_names(trace: Trace, runs: NDArray[np.intp], run: Int32, ops: Int32) -> Int32:
    """The program of each run, from the first of its ops."""
    first = np.full(runs[-1] + 2, -1, np.int32)  # the last one stands for no run
    first[run[::-1]] = ops[::-1]  # of many ops the one written last stays: the first
    names = np.full(len(runs), trace.intern("device run"), np.int32)
    told = first[runs] >= 0
    names[told] = program_names(trace, first[runs[told]])
    return names
