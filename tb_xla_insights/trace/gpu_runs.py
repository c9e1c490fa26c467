"""The program runs of GPUs, whose planes record kernels but no runs.

A *run* is the kernels of one program (`hlo_module` and `program_id`) that one execution put into the streams of one
GPU, from the first kernel's start to the last one's end. Copies and kernels without a program belong to no run. Runs of
a program are separated as follows:

- A kernel and the driver's call that launched it share a `correlation_id` (of several calls, the last before the
  kernel). One launch of a CUDA or HIP graph starts many kernels.
- The execution event is the outermost `GpuExecutable::ExecuteThunks` around that call; in captures without it, the
  outermost `ExecuteHelper`; in captures without either, the outermost execute call. NVIDIA's tracer records the calls
  on the launching thread's line, so they nest.
- AMD's tracer records the calls of each thread on a separate line with another id. Such a line belongs to the thread
  whose execution events contain all of the line's calls that launched kernels of programs; else to the thread whose
  execution events contain all but those before its first and after its last one, which the capture's ends cut. If
  several threads match, or one thread matches several lines, the line belongs to none.
- A kernel whose execution event is unknown belongs to the run of the kernel before it, if both are of the same program
  and either that kernel's execution event was under way when this kernel was launched, or this kernel's launch is not
  recorded. Other consecutive kernels of one program form one run.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.flows import pair_flows
from tb_xla_insights.trace.model import Flows, Trace
from tb_xla_insights.trace.nesting import nearest_enclosing, outermost_rows
from tb_xla_insights.trace.programs import program_names, programs_at
from tb_xla_insights.trace.threads import host_planes
from tb_xla_insights.xplane.columns import StatColumn

_EXECUTION_TAGS = ("gpu_run", "run_start", "launch")
"""Tags of the events that may be execution events, the narrowest first."""

_NO_ROWS = np.zeros(0, np.int32)


class GpuRuns(NamedTuple):
    """The runs of one GPU, by start, the longer first: the first kernel of each (`row`), its start, end and name; and
    the run of each kernel (-1: none)."""

    row: Int32
    start_ps: Int64
    end_ps: Int64
    name: Int32
    run_of_kernel: Int32


def gpu_runs(trace: Trace, gpus: list[Int32]) -> list[GpuRuns]:
    """The runs of each GPU, from its kernels (rows, by start). Kernels without a program have no runs.

    Adds flows to the trace: from calls to the kernels that they launched, and from execution events to calls on other
    lines. Needs the trace's events, nesting and flows.
    """
    programs = [_programs(trace, rows) for rows in gpus]
    trace.flows = _with_kernel_launches(trace, np.concatenate(gpus))
    kernels = np.concatenate([rows[program >= 0] for rows, program in zip(gpus, programs, strict=True)])
    calls = np.unique(trace.flows.producers(kernels))
    execution, on_other_line = _execution_events(trace, calls)
    trace.flows = trace.flows.with_added(execution[on_other_line], calls[on_other_line])
    runs = []
    for rows, program in zip(gpus, programs, strict=True):
        has_program, run = program >= 0, np.full(len(rows), -1, np.int32)
        call = trace.flows.producers(rows[has_program])
        execution_of_kernel = execution[np.searchsorted(calls, call)]
        with_program = _runs(trace, rows[has_program], program[has_program], call, execution_of_kernel)
        run[has_program] = with_program.run_of_kernel
        runs.append(with_program._replace(run_of_kernel=run))
    return runs


def _programs(trace: Trace, kernels: Int32) -> Int64:
    """The number of each kernel's program, -1 for kernels without one."""
    module, ids = programs_at(trace, kernels)
    distinct, number = np.unique(ids, return_inverse=True)
    return np.where(module >= 0, module * len(distinct) + number, -1)


def _with_kernel_launches(trace: Trace, kernels: Int32) -> Flows:
    """The trace's flows, with those from the driver's calls on host threads to the kernels that they launched."""
    ids = trace.stats.get("correlation_id")
    if ids is None:
        return trace.flows
    hosts = host_planes(trace)
    on_host = np.array([line.plane in hosts for line in trace.lines], np.bool_)[trace.lines_of(ids.rows)]
    is_call = on_host & (ids.values > 0)
    id_of_kernel = ids.at(kernels, 0)
    has_id = id_of_kernel > 0
    ids_of_calls = StatColumn(ids.rows[is_call], ids.values[is_call], is_text=False)
    ids_of_kernels = StatColumn(kernels[has_id], id_of_kernel[has_id], is_text=False)
    flows = pair_flows({"_p": ids_of_calls, "_c": ids_of_kernels}, trace.start_ps)
    return trace.flows.with_added(flows.producer, flows.consumer)


def _execution_events(trace: Trace, calls: Int32) -> tuple[Int32, Int64]:
    """The execution event around each call (-1: unknown, as for no call), and the indices of the calls whose execution
    event is on another line."""
    executions = _execution_event_rows(trace)
    execution = nearest_enclosing(trace.parent, calls, executions)
    lines, execution_lines = trace.lines_of(calls), trace.lines_of(executions)
    match_of_line: dict[int, tuple[int, Int32]] = {}
    for line in np.unique(lines[calls >= 0]).tolist():
        on_line = lines == line
        if (execution[on_line] < 0).all():
            threads = [
                executions[execution_lines == thread] for thread in np.unique(execution_lines).tolist()
            ]
            if (match := _other_thread(trace, calls[on_line], threads)) is not None:
                match_of_line[line] = match
    lines_per_thread = Counter(thread for thread, _ in match_of_line.values())
    on_other_line = np.zeros(len(calls), np.bool_)
    for line, (thread, executions_of_calls) in match_of_line.items():
        if lines_per_thread[thread] == 1:
            execution[lines == line] = executions_of_calls
            on_other_line[lines == line] = executions_of_calls >= 0
    return execution, np.flatnonzero(on_other_line)


def _execution_event_rows(trace: Trace) -> Int32:
    """The execution events on host threads, in row order, without those inside another."""
    metadata, hosts = trace.metadata, list(host_planes(trace))
    host_metadata = np.flatnonzero(np.isin(metadata.plane, hosts))
    tags = [
        trace.catalog.tags(trace.strings[text_index]) for text_index in metadata.name[host_metadata].tolist()
    ]
    for tag in _EXECUTION_TAGS:
        has_tag = np.zeros(len(metadata.name), np.bool_)
        has_tag[host_metadata] = [tag in tags_of_name for tags_of_name in tags]
        rows = trace.rows_with_metadata(has_tag)
        if rows.size:
            return outermost_rows(trace.parent, rows)
    return _NO_ROWS


def _other_thread(trace: Trace, calls: Int32, threads: list[Int32]) -> tuple[int, Int32] | None:
    """The thread that made the calls of one line, and the execution event around each call (-1: cut by the capture's
    ends); None if no thread or several match. `threads` are each thread's execution events, by start."""
    start, end = trace.start_ps[calls], trace.end_ps[calls]
    complete_matches, cut_matches = [], []
    for number, executions in enumerate(threads):
        starts, ends = trace.start_ps[executions], trace.end_ps[executions]
        index = np.searchsorted(starts, start, "right") - 1
        is_inside = (index >= 0) & (ends[index] >= end)
        is_cut = (end <= starts[0]) | (start >= ends[-1])
        match = number, np.where(is_inside, executions[index], np.int32(-1))
        if is_inside.all():
            complete_matches.append(match)
        elif is_inside.any() and (is_inside | is_cut).all():
            cut_matches.append(match)
    candidates = complete_matches or cut_matches
    return candidates[0] if len(candidates) == 1 else None


def _runs(trace: Trace, kernels: Int32, program: Int64, call: Int32, execution: Int32) -> GpuRuns:
    """The runs of one GPU, from its kernels of programs with the call and the execution event of each (-1:
    unknown)."""
    continues = _continues_program(program)
    has_key = ~continues | (execution >= 0) | (call >= 0)
    key = _keys(trace, program[has_key], call[has_key], execution[has_key])[np.cumsum(has_key) - 1]
    number = np.unique(program, return_inverse=True)[1]
    _, first, run_index = np.unique(
        number * (key.max(initial=0) + 1) + key, return_index=True, return_inverse=True
    )
    end = np.zeros(len(first), np.int64)
    np.maximum.at(end, run_index, trace.end_ps[kernels])
    start = trace.start_ps[kernels[first]]
    order = np.lexsort((-end, start))
    row = kernels[first[order]]
    run: Int32 = np.argsort(order)[run_index].astype(np.int32)
    return GpuRuns(row, start[order], end[order], program_names(trace, row), run)


def _continues_program(program: Int64) -> NDArray[np.bool_]:
    """Whether each of a GPU's kernels is of the same program as the one before."""
    return np.append(False, program[1:] == program[:-1])[: len(program)]


def _keys(trace: Trace, program: Int64, call: Int32, execution: Int32) -> Int64:
    """A run's key for each of a GPU's kernels, by start: its execution event; of a kernel without one that of the
    kernel before it, if that one was under way at the launch; for other consecutive kernels a unique number, at least
    the number of events."""
    continues, has_execution = _continues_program(program), execution >= 0
    sequence = np.cumsum(~continues)
    last = np.maximum.accumulate(np.where(has_execution, np.arange(len(has_execution)), 0))
    last_execution = execution[last]
    belongs_to_last = ~has_execution & (last_execution >= 0) & (sequence[last] == sequence) & (call >= 0)
    belongs_to_last &= (trace.start_ps[call] >= trace.start_ps[last_execution]) & (
        trace.start_ps[call] < trace.end_ps[last_execution]
    )
    is_unassigned = ~has_execution & ~belongs_to_last
    starts_run = is_unassigned & ~(continues & np.append(False, is_unassigned[:-1]))
    return np.where(
        is_unassigned, len(trace) + np.cumsum(starts_run), np.where(has_execution, execution, last_execution)
    )
