"""Devices of captures without a device plane: XLA on a CPU records its ops on host threads.

A *run* begins with the region (`regions.LineRegions`) around a `ThunkExecutor::Execute (wait for completion)`: a region
of a client thread, or `ExecuteHelper` itself for small programs, which run inline. It ends when the `(wait for
completion)` event ends: all ops are complete by then, even if the thread leaves the region only after the next runs. A
`CpuExecutable::ExecuteAsyncOnStream` call is a run as well (`regions.LineRegions`). An op on a pool thread belongs to
the first run on the way back along its region's flows, and ends no later than that run (`cpu_ops`).

If events record their run and core (`run_keys`), an op that no flow ties to a run belongs to the recorded run, which
then begins no later than the op.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog import Catalog
from tb_xla_insights.trace import kernels
from tb_xla_insights.trace.cpu_ops import op_times
from tb_xla_insights.trace.device import Device, NestedIntervals
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.plane_devices import nest_intervals
from tb_xla_insights.trace.programs import UNNAMED, program_names
from tb_xla_insights.trace.regions import LineRegions, Regions, find_regions
from tb_xla_insights.trace.run_keys import UNKNOWN, RunKeys, find_run_keys, stat_at


def cpu_devices(trace: Trace, catalog: Catalog, line_regions: LineRegions | None) -> list[Device]:
    """Cores, built from the events of host threads; empty if no run and no op was recorded.

    The core of an op is its `device_ordinal`. If none is recorded, there are as many virtual cores as the largest
    launch has runs, and each run is assigned to a free one. Needs the trace's events, nesting and flows.
    """
    rows = trace.stats["hlo_op"].rows if "hlo_op" in trace.stats else np.empty(0, np.int32)
    regions = find_regions(line_regions, trace.flows) if line_regions else None
    start, end, run = op_times(trace, rows, regions)
    ops = rows, start, end, trace.stats["hlo_op"].values if rows.size else rows
    if regions is None or not regions.has_run.any():
        core_of_op = np.maximum(stat_at(trace, "device_ordinal", rows, UNKNOWN), 0)
        cores = np.unique(core_of_op).tolist()
        ops_by_core = _by_core(core_of_op)
        return [_device(trace, core, _NO_EVENTS, _select(ops, ops_by_core[core])) for core in cores]

    keys = find_run_keys(trace, rows, regions, run)
    keyed_ops = np.flatnonzero(keys.run_of_op != run)  # only their keys tie them to a run
    run_of_keyed, begin = keys.run_of_op[keyed_ops], regions.start_ps.copy()
    end[keyed_ops] = np.clip(
        end[keyed_ops], start[keyed_ops], np.maximum(regions.complete_ps[run_of_keyed], start[keyed_ops])
    )
    np.minimum.at(begin, run_of_keyed, start[keyed_ops])
    core, core_of_op = _cores(trace, catalog, regions, begin, keys)
    runs = np.flatnonzero(regions.has_run)
    run_columns = (
        regions.row[runs],
        begin[runs],
        regions.complete_ps[runs],
        _run_names(trace, runs, keys.run_of_op, rows),
    )
    devices = []
    # Usually empty: comparing is faster than sorting the cores of all ops.
    other_cores = core_of_op[core_of_op != core[0]]
    runs_by_core, ops_by_core, no_entries = _by_core(core), _by_core(core_of_op), np.empty(0, np.intp)
    for number in np.union1d(core, other_cores).tolist():
        runs_of_core, ops_of_core = (
            by_core.get(number, no_entries) for by_core in (runs_by_core, ops_by_core)
        )
        device = _device(trace, number, _select(run_columns, runs_of_core), _select(ops, ops_of_core))
        run_ids = _run_ids(device.runs, runs[runs_of_core], regions.row, keys.run_id_of_region)
        devices.append(replace(device, run_ids=run_ids))
    return devices


_Columns = tuple[Int32, Int64, Int64, Int32]
"""Rows, starts, ends and names of runs or of ops, in the order of rows."""

_NO_EVENTS: _Columns = (
    np.empty(0, np.int32),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int32),
)


def _by_core(core: Int64) -> dict[int, NDArray[np.intp]]:
    """The ascending indices of each core's entries in a column of cores."""
    if (core == core[:1]).all():
        return {number: np.arange(len(core)) for number in core[:1].tolist()}
    order = np.argsort(core, kind="stable")
    cores, first = np.unique(core[order], return_index=True)
    return dict(zip(cores.tolist(), np.split(order, first[1:]), strict=True))


def _select(columns: _Columns, indices: NDArray[np.intp]) -> _Columns:
    if len(indices) == len(columns[0]):  # there is one core
        return columns
    rows, start, end, name = columns
    return rows[indices], start[indices], end[indices], name[indices]


def _device(trace: Trace, number: int, runs: _Columns, ops: _Columns) -> Device:
    name = f"CPU:{number}"
    return Device(
        id=f"{trace.host}/{name}",
        name=name,
        kind="cpu",
        host=trace.host,
        plane=None,
        from_host_events=True,
        runs=nest_intervals(*runs),
        ops=nest_intervals(*ops),
        lines={},
    )


def _run_ids(runs: NestedIntervals, run_regions: NDArray[np.intp], row: Int32, run_id: Int64) -> Int64:
    """The run id of each run of a core; `run_regions` are its regions, `row` and `run_id` those of all regions."""
    order = np.argsort(row[run_regions])
    return run_id[run_regions[order][np.searchsorted(row[run_regions], runs.row, sorter=order)]]


def _cores(
    trace: Trace, catalog: Catalog, regions: Regions, begin: Int64, keys: RunKeys
) -> tuple[Int64, Int64]:
    """The core of each run and of each op. A run or an op of unknown core, such as an op whose run the capture cuts,
    belongs to the first core."""
    runs = np.flatnonzero(regions.has_run)
    recorded_core = keys.core_of_region[runs]
    is_recorded = recorded_core != UNKNOWN
    if is_recorded.any():
        core = np.where(is_recorded, recorded_core, recorded_core[is_recorded].min())
    else:
        launch = _launches(trace, catalog, regions, runs)
        core = _assign_cores(launch, begin[runs], regions.complete_ps[runs])
    core_of_region = np.full(len(regions.row) + 1, core.min())  # the last entry stands for no run
    core_of_region[runs] = core
    core_of_op = np.where(keys.core_of_op != UNKNOWN, keys.core_of_op, core_of_region[keys.run_of_op])
    return core, core_of_op


def _assign_cores(launch: Int32, start: Int64, end: Int64) -> Int64:
    """Assigns each run, by start, to the lowest-numbered free core; if none is free, to the one that becomes free
    earliest."""
    launches = launch[launch >= 0]
    cores = int(np.unique(launches, return_counts=True)[1].max()) if launches.size else 1
    free_since = [np.iinfo(np.int64).min] * cores
    core = np.zeros(len(start), np.int64)
    order = np.lexsort((end, start))
    for run, begin, finish in zip(order.tolist(), start[order].tolist(), end[order].tolist(), strict=True):
        free_cores = (number for number, since in enumerate(free_since) if since <= begin)
        core[run] = core_of_run = next(free_cores, free_since.index(min(free_since)))
        free_since[core_of_run] = max(free_since[core_of_run], finish)
    return core


def _launches(trace: Trace, catalog: Catalog, regions: Regions, runs: NDArray[np.intp]) -> Int32:
    """The outermost execute call on the way back from each run along flows; if the capture has none, the innermost
    jitted call; -1: not recorded."""
    launch, visited_by = np.full(len(runs), -1, np.int32), np.full(len(regions.row), -1, np.int32)
    columns = regions.row, regions.outer, regions.source, regions.of_row, regions.has_run
    for tag in ("launch", "jitted_call"):
        is_call = np.array(
            [tag in catalog.tags(trace.strings[text_index]) for text_index in trace.metadata.name], np.bool_
        )
        kernels.find_launches(
            runs.astype(np.int32), is_call, tag == "jitted_call", trace.metadata_index, trace.parent,
            *columns, visited_by, launch,
        )  # fmt: skip
        if (launch >= 0).any():
            break
        visited_by[:] = -1
    return launch


def _run_names(trace: Trace, runs: NDArray[np.intp], run_of_op: Int32, ops: Int32) -> Int32:
    """The program of each run, from its first op."""
    first = np.full(runs[-1] + 2, -1, np.int32)  # the last entry stands for no run
    first[run_of_op[::-1]] = ops[::-1]  # the last assignment wins: that of the first op
    names = np.full(len(runs), trace.intern(UNNAMED), np.int32)
    has_ops = first[runs] >= 0
    names[has_ops] = program_names(trace, first[runs[has_ops]])
    return names
