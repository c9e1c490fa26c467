"""The SparseCores of a TPU core: when they work, and which of their jobs belongs to which asynchronous op of the core.
(docs/definitions.md, "Engines")"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.engines.op_texts import ENGINES, short_op_name
from tb_xla_insights.analysis.engines.windows import find_windows
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.intervals import Intervals, union, union_all
from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.schema.engines import Join
from tb_xla_insights.trace.model import Trace

JOINS: tuple[Join, ...] = get_args(Join)

_NONE, _BY_ORDER, _BY_FLOW, _BY_ID = range(len(JOINS))

_PLANE = re.compile(r"(?P<core>/device:TPU:\d+) (?P<name>SparseCore (?:\w+ )?(?P<number>\d{1,9}))", re.ASCII)
_JOBS, _OPS = "Sparse Core Modules", "Sparse Core Ops"
_IDS = ("offload_core_id", "tc_offload_start_id", "offload_execution_index")


@dataclass(frozen=True)
class SparseCore:
    """One SparseCore of a device. `number`: its number there. `plane`: its plane. `jobs`, `ops`: the events of its jobs
    and of their ops. `busy`: when it runs a job; without recorded jobs, when it runs an op."""

    name: str
    number: int
    plane: int
    jobs: Int32
    ops: Int32
    busy: Intervals


@dataclass(frozen=True)
class Jobs:
    """Per window of a device (see `find_windows`): how its job was found (index into JOINS), the SparseCore that ran it
    (index into `find_sparse_cores`), and the job's start and end; -1 without a job."""

    join: Int8
    core: Int8
    start_ps: Int64
    end_ps: Int64

    @property
    def is_known(self) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = self.join != _NONE
        return known


def find_sparse_cores(trace: Trace, index: int) -> list[SparseCore]:
    """The SparseCores that the capture has of a device (an index into the trace's devices), by number."""
    plane = trace.devices[index].plane
    return [] if plane is None else _by_core(trace).get(trace.planes[plane].name, [])


@memoised
def _by_core(trace: Trace) -> dict[str, list[SparseCore]]:
    """The SparseCores by the name of their core's plane."""
    planes = {plane.index: match for plane in trace.planes if (match := _PLANE.fullmatch(plane.name))}
    rows: dict[tuple[int, str], list[NDArray[np.int32]]] = {}
    for line in trace.lines if planes else ():
        if line.plane in planes:
            event = np.arange(line.first, line.first + line.count, dtype=np.int32)
            rows.setdefault((line.plane, line.name), []).append(event)
    cores: dict[str, list[SparseCore]] = {}
    for plane, match in planes.items():
        jobs, ops = (
            np.concatenate([np.zeros(0, np.int32), *rows.get((plane, name), [])]) for name in (_JOBS, _OPS)
        )
        busy = jobs if len(jobs) else ops
        times = union(trace.start_ps[busy], trace.end_ps[busy])
        cores.setdefault(match["core"], []).append(
            SparseCore(match["name"], int(match["number"]), plane, jobs, ops, times)
        )
    return {core: sorted(found, key=lambda part: part.number) for core, found in cores.items()}


def busy_on_sparse_cores(trace: Trace, index: int) -> Intervals:
    """When at least one SparseCore of a device works."""
    return union_all([core.busy for core in find_sparse_cores(trace, index)])


@memoised
def find_jobs(trace: Trace, index: int) -> Jobs:
    """The jobs of a device's windows: those with the ids of the start op, else those that a flow leads to from it,
    else, in order of time, the next job of the op's name that lies inside the window."""
    windows, cores = find_windows(trace, index), find_sparse_cores(trace, index)
    rows = np.concatenate([np.zeros(0, np.int32), *(core.jobs for core in cores)])
    core_of_job = np.repeat(np.arange(len(cores), dtype=np.int8), [len(core.jobs) for core in cores])
    join, job = np.full(len(windows), _NONE, np.int8), np.full(len(windows), -1, np.int64)
    offloaded = np.flatnonzero(windows.engine == ENGINES.index("sparse_core"))
    is_left = np.ones(len(rows), np.bool_)

    def add(how: int, window: NDArray[np.intp], found: NDArray[np.intp]) -> None:
        is_new = (join[window] == _NONE) & is_left[found]
        window, found = window[is_new], found[is_new]
        join[window], job[window], is_left[found] = how, found, False

    if len(rows) and len(offloaded):
        starts = trace.devices[index].ops.row[windows.start_op[offloaded]]
        producers = trace.flows.producers(rows)
        for how, of_start, of_job in (
            (_BY_ID, _ids(trace, starts), _ids(trace, rows)),
            (_BY_FLOW, starts[:, None], producers[:, None]),
        ):
            window, found = _equal_rows(of_start, of_job)
            add(how, offloaded[window], found)
        add(_BY_ORDER, *_in_order(trace, index, offloaded[join[offloaded] == _NONE], rows, is_left))
    known = join != _NONE
    row = rows[job[known]]
    core, start_ps, end_ps = np.full((3, len(windows)), -1, np.int64)
    core[known], start_ps[known], end_ps[known] = (
        core_of_job[job[known]],
        trace.start_ps[row],
        trace.end_ps[row],
    )
    return Jobs(join, core.astype(np.int8), start_ps, end_ps)


def _ids(trace: Trace, rows: Int32) -> Int64:
    """The ids that a start op and its job share, a column each: which SparseCore (0 if not recorded), which start op,
    which of its executions. -1, which equals nothing, without the others."""
    columns = [
        trace.stats[name].at(rows, missing) if name in trace.stats else np.full(len(rows), missing, np.int64)
        for name, missing in zip(_IDS, (0, -1, -1), strict=True)
    ]
    ids = np.stack(columns, 1)
    ids[(ids < 0).any(axis=1)] = -1
    return ids


def _equal_rows(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The pairs (row of `a`, row of `b`) that are equal, where each table has that row once. Rows with a negative value
    equal none."""
    distinct, number = np.unique(np.concatenate((a, b)), axis=0, return_inverse=True)
    of_a, of_b = np.split(number.reshape(-1), [len(a)])
    is_single: NDArray[np.bool_] = np.all(distinct >= 0, axis=1)
    for of_table in (of_a, of_b):
        is_single &= np.bincount(of_table, minlength=len(distinct)) == 1
    at_a, at_b = np.flatnonzero(is_single[of_a]), np.flatnonzero(is_single[of_b])
    return at_a[np.argsort(of_a[at_a])], at_b[np.argsort(of_b[at_b])]


def _in_order(
    trace: Trace, index: int, offloaded: NDArray[np.intp], rows: Int32, is_left: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Windows and jobs that belong together by name and time: of the jobs left, each window has the next one of its
    op's name that begins and ends inside it."""
    windows, names = find_windows(trace, index), trace.devices[index].ops.name
    pairs: list[tuple[int, int]] = []
    left = np.flatnonzero(is_left)
    left = left[np.argsort(trace.start_ps[rows[left]], kind="stable")]
    job_name = trace.metadata.name[trace.metadata_index[rows[left]]]
    job_names = {name: trace.strings[name] for name in np.unique(job_name).tolist()}
    op_name = names[windows.start_op[offloaded]]
    for name in np.unique(op_name).tolist():
        short = short_op_name(trace.strings[name])
        of_name = [number for number, text in job_names.items() if short in text]
        jobs = iter(left[np.isin(job_name, of_name)].tolist())
        job = next(jobs, None)
        for window in offloaded[op_name == name].tolist():
            while job is not None and trace.start_ps[rows[job]] < windows.start_ps[window]:
                job = next(jobs, None)
            if job is not None and trace.end_ps[rows[job]] <= windows.end_ps[window]:
                pairs.append((window, job))
                job = next(jobs, None)
    window_of_pair, job_of_pair = np.array(pairs, np.intp).reshape(-1, 2).T
    return window_of_pair, job_of_pair
