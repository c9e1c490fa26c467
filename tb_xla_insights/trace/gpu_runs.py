"""The program runs of GPUs, whose planes record kernels and no runs.

A *run* is the kernels of one program (`hlo_module` and `program_id`) that one execution put into the streams of one
GPU, from the first one's start to the last one's end; copies and kernels without a program are no part of it. What
tells one run of a program from the next:

- A kernel and the driver's call that launched it share a `correlation_id` (of several, the last one before it). A graph
  has many kernels.
- The execution is the outermost event around that call that stands for one (`GpuExecutable::ExecuteThunks`; without
  any in the capture, `ExecuteHelper`, else the execute call). NVIDIA's tracer puts the calls onto the launching
  thread's own line, so they nest.
- AMD's tracer has lines of its own for the calls of each thread, under other ids. Such a line is the thread whose
  executions contain all of its calls that launched kernels of programs; else all but those before its first execution
  and after its last one, which the capture's ends cut. Where that is true of several threads, or of one for several
  lines, none is taken.
- A kernel whose execution is not known belongs with the kernel before it, if that is of the same program and its
  execution was going on when the kernel was launched, or if nothing tells when that was. Others in a row of one program
  are one run.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.trace.flows import join_flows
from tb_xla_insights.trace.model import Flows, Int32, Int64, Trace
from tb_xla_insights.trace.nesting import nearest_enclosing, outermost_rows
from tb_xla_insights.trace.programs import program_names, programs_at
from tb_xla_insights.trace.threads import host_planes
from tb_xla_insights.xplane.columns import StatColumn

Columns = tuple[Int32, Int64, Int64, Int32, Int32]
"""First kernel, start, end and name of each run, by start, the longer first; and the run of each kernel, -1: none."""

_EXECUTIONS = ("gpu_run", "run_start", "launch")
"""Tags of what may stand for an execution, the narrowest first."""

_NONE = np.zeros(0, np.int32)


def gpu_runs(trace: Trace, gpus: list[Int32]) -> list[Columns]:
    """The runs of each GPU, from its kernels (rows, by start). None where kernels name no program.

    Adds to the trace's flows what ties a kernel of a program to the call that launched it, and such a call to the
    execution around it where that is on another line. Needs the trace's events, nesting and flows.
    """
    programs = [_programs(trace, rows) for rows in gpus]
    kernels = np.concatenate([rows[program >= 0] for rows, program in zip(gpus, programs, strict=True)])
    trace.flows = _launches(trace, kernels)
    calls = np.unique(trace.flows.producers(kernels))
    execution, apart = _executions(trace, calls)
    trace.flows = trace.flows.with_added(execution[apart], calls[apart])
    found = []
    for rows, program in zip(gpus, programs, strict=True):
        its, run = program >= 0, np.full(len(rows), -1, np.int32)
        call = trace.flows.producers(rows[its])
        by = execution[np.searchsorted(calls, call)]
        row, start, end, name, run[its] = _runs(trace, rows[its], program[its], call, by)
        found.append((row, start, end, name, run))
    return found


def _programs(trace: Trace, kernels: Int32) -> Int64:
    """A number per program, -1 for kernels without one."""
    module, ids = programs_at(trace, kernels)
    distinct, number = np.unique(ids, return_inverse=True)
    return np.where(module >= 0, module * len(distinct) + number, -1)


def _launches(trace: Trace, kernels: Int32) -> Flows:
    """The trace's flows, and those from the driver's calls on host threads to the kernels that they launched."""
    ids = trace.stats.get("correlation_id")
    if ids is None:
        return trace.flows
    hosts = host_planes(trace)
    on_host = np.array([line.plane in hosts for line in trace.lines], np.bool_)[trace.lines_of(ids.rows)]
    calls = on_host & (ids.values > 0)
    wanted = ids.at(kernels, 0)
    made = StatColumn(ids.rows[calls], ids.values[calls], False)
    used = StatColumn(kernels[wanted > 0], wanted[wanted > 0], False)
    found = join_flows({"_p": made, "_c": used}, trace.start_ps)
    return trace.flows.with_added(found.producer, found.consumer)


def _executions(trace: Trace, calls: Int32) -> tuple[Int32, Int64]:
    """The execution around each of some calls (-1: not known, as for no call), and the places among them of those for
    which it is on another line."""
    found = _execution_rows(trace)
    execution = nearest_enclosing(trace.parent, calls, found)
    lines, of_execution = trace.lines_of(calls), trace.lines_of(found)
    elsewhere: dict[int, tuple[int, Int32]] = {}
    for line in np.unique(lines[calls >= 0]).tolist():
        its = lines == line
        if (execution[its] < 0).all():
            threads = [found[of_execution == thread] for thread in np.unique(of_execution).tolist()]
            if (taken := _other_thread(trace, calls[its], threads)) is not None:
                elsewhere[line] = taken
    claimed = Counter(thread for thread, _ in elsewhere.values())
    apart = np.zeros(len(calls), np.bool_)
    for line, (thread, its) in elsewhere.items():
        if claimed[thread] == 1:
            execution[lines == line] = its
            apart[lines == line] = its >= 0
    return execution, np.flatnonzero(apart)


def _execution_rows(trace: Trace) -> Int32:
    """What stands for executions on host threads, in row order; none in another."""
    metadata, hosts = trace.metadata, list(host_planes(trace))
    entries = np.flatnonzero(np.isin(metadata.plane, hosts))
    tags = [trace.catalog.tags(trace.strings[text]) for text in metadata.name[entries].tolist()]
    for tag in _EXECUTIONS:
        named = np.zeros(len(metadata.name), np.bool_)
        named[entries] = [tag in its for its in tags]
        rows = trace.rows_with_metadata(named)
        if rows.size:
            return outermost_rows(trace.parent, rows)
    return _NONE


def _other_thread(trace: Trace, calls: Int32, threads: list[Int32]) -> tuple[int, Int32] | None:
    """Which of some threads (their executions by start) made the calls of one line, and the execution around each of
    them, -1 for those that the capture's ends cut; None where no thread or several could have."""
    start, end = trace.start_ps[calls], trace.end_ps[calls]
    all_, most = [], []
    for number, executions in enumerate(threads):
        begins, ends = trace.start_ps[executions], trace.end_ps[executions]
        at = np.searchsorted(begins, start, "right") - 1
        inside = (at >= 0) & (ends[at] >= end)
        cut = (end <= begins[0]) | (start >= ends[-1])
        found = number, np.where(inside, executions[at], np.int32(-1))
        if inside.all():
            all_.append(found)
        elif inside.any() and (inside | cut).all():
            most.append(found)
    candidates = all_ or most
    return candidates[0] if len(candidates) == 1 else None


def _runs(trace: Trace, kernels: Int32, program: Int64, call: Int32, execution: Int32) -> Columns:
    """The runs of one GPU from its kernels of programs, with the call and the execution of each, -1: not known."""
    goes_on = _goes_on(program)
    told = ~goes_on | (execution >= 0) | (call >= 0)
    key = _keys(trace, program[told], call[told], execution[told])[np.cumsum(told) - 1]
    number = np.unique(program, return_inverse=True)[1]
    _, first, of = np.unique(number * (key.max(initial=0) + 1) + key, return_index=True, return_inverse=True)
    end = np.zeros(len(first), np.int64)
    np.maximum.at(end, of, trace.end_ps[kernels])
    start = trace.start_ps[kernels[first]]
    order = np.lexsort((-end, start))
    row = kernels[first[order]]
    run: Int32 = np.argsort(order)[of].astype(np.int32)
    return row, start[order], end[order], program_names(trace, row), run


def _goes_on(program: Int64) -> NDArray[np.bool_]:
    """Which of one GPU's kernels are of the same program as the one before."""
    return np.append(False, program[1:] == program[:-1])[: len(program)]


def _keys(trace: Trace, program: Int64, call: Int32, execution: Int32) -> Int64:
    """The execution of each of one GPU's kernels, by start; a number of its own, not less than the number of events,
    for kernels in a row that have none."""
    goes_on, known = _goes_on(program), execution >= 0
    stretch = np.cumsum(~goes_on)
    last = np.maximum.accumulate(np.where(known, np.arange(len(known)), 0))
    open_ = execution[last]
    belongs = ~known & (open_ >= 0) & (stretch[last] == stretch) & (call >= 0)
    belongs &= (trace.start_ps[call] >= trace.start_ps[open_]) & (trace.start_ps[call] < trace.end_ps[open_])
    left = ~known & ~belongs
    begins = left & ~(goes_on & np.append(False, left[:-1]))
    return np.where(left, len(trace) + np.cumsum(begins), np.where(known, execution, open_))
