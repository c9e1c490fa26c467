"""What was compiled during the capture: which graph, when, where in the program, and whether during warm-up.
(docs/definitions.md, "Recompilation")"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import COMPILE_PART
from tb_xla_insights.analysis.compiles.calls import CompileCalls, find_compile_calls
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_annotation
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.analysis.launches.causality import rows_flagged
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import recorded_steps
from tb_xla_insights.analysis.launches.step_times import steps_at
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.thresholds import FIRST_WARM_STEP
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.catalog.classes import COMPILE
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing
from tb_xla_insights.trace.programs import UNNAMED

_MODULE_PART = re.compile(r".+ \(([\w.-]+)\)")
"""A part of a compilation whose name ends in its module's, such as `HLO passes through layout assignment (jit_f)`."""


@dataclass(frozen=True)
class Compilations:
    """Compilations of one host in order of time.

    `row`, `start_ps`, `end_ps`, `cut`: as in CompileCalls. `step`: index into the trace's steps, -1: none.
    `annotation`: the innermost annotation around it, -1: none; if another thread compiled, the one open on the driving
    thread at that time. `program`: the compiled program, an index into Launches.programs, -1 if it did not run.
    `module`, `graph_hash`: None if not recorded. `warm_up`: whether the compilation is part of the warm-up.
    """

    row: Int32
    start_ps: Int64
    end_ps: Int64
    cut: Int8
    step: Int32
    annotation: Int32
    program: Int32
    module: list[str | None]
    graph_hash: list[str | None]
    warm_up: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def duration_ps(self) -> Int64:
        return self.end_ps - self.start_ps

    def graph(self, index: int) -> str | None:
        """Returns what identifies a compilation's graph: its hash, else the module's name."""
        return self.graph_hash[index] or self.module[index]


@memoised
def find_compilations(trace: Trace) -> Compilations:
    """Finds the compilations of one host.

    In steps with numbers, warm-up is what happens in a step with a number below 2. Otherwise it is what happens before
    the first execution of the capture, and the first compilation of a module that has not run in the capture before. A
    compilation that an edge of the capture cuts, without a step number, is warm-up only if the next compilation begins
    before the first execution, also without a step number.
    """
    calls = find_compile_calls(trace)
    launches = find_launches(trace)
    part_modules = _module_of_parts(trace, calls)
    program = _programs(trace, calls, part_modules)
    program_names = [launches.programs[index].name if index >= 0 else None for index in program.tolist()]
    recorded_names = _texts(trace, calls.row, "name")
    module = [
        program_name or recorded_name or part_module
        for program_name, recorded_name, part_module in zip(
            program_names, recorded_names, part_modules, strict=True
        )
    ]
    step = steps_at(trace, calls.start_ps)
    annotation = np.array([enclosing_annotation(trace, row) for row in calls.row.tolist()], np.int32)
    return Compilations(
        calls.row, calls.start_ps, calls.end_ps, calls.cut, step, annotation, program, module,
        _texts(trace, calls.row, "graph_hash"), _warm_up(trace, calls, step, module),
    )  # fmt: skip


def _module_of_parts(trace: Trace, calls: CompileCalls) -> list[str | None]:
    """Returns the module that each compilation's parts name; the first part that names one decides."""
    parts = rows_flagged(trace, COMPILE_PART)
    match_of_metadata = {
        index: _MODULE_PART.fullmatch(trace.strings[trace.metadata.name[index]])
        for index in np.unique(trace.metadata_index[parts]).tolist()
    }
    names_module = [match_of_metadata[index] is not None for index in trace.metadata_index[parts].tolist()]
    parts = parts[np.array(names_module, np.bool_)]
    parts = parts[np.argsort(trace.start_ps[parts], kind="stable")]
    first = np.searchsorted(trace.start_ps[parts], calls.start_ps).tolist()
    modules: list[str | None] = []
    for index, end_ps in zip(first, calls.end_ps.tolist(), strict=True):
        is_inside = index < len(parts) and trace.start_ps[parts[index]] < end_ps
        match = match_of_metadata[int(trace.metadata_index[parts[index]])] if is_inside else None
        modules.append(match[1] if match else None)
    return modules


def _programs(trace: Trace, calls: CompileCalls, module: list[str | None]) -> Int32:
    """Returns the program that each compilation built, an index into Launches.programs; -1: none, or unknown.

    That is the program of the launch that the compilation's synchronisation requested. Without such a launch, it is the
    program (of the module's name, if a part names it) whose first run in the capture is the first between the end of
    this compilation and the start of the next one. An unfinished compilation has built none.
    """
    launches = find_launches(trace)
    runs = launches.runs
    program = np.full(len(calls), -1, np.int32)
    program_of_sync = {
        sync: index
        for sync, index in zip(launches.sync.tolist(), launches.program.tolist(), strict=True)
        if sync >= 0
    }
    first_run = np.full(len(launches.programs), np.iinfo(np.int64).max)
    np.minimum.at(first_run, runs.program, runs.start_ps)
    names = np.array([name for name, _ in launches.programs], object)
    by_first_run = np.argsort(first_run, kind="stable")
    records_program = names[by_first_run] != UNNAMED
    by_first_run = by_first_run[records_program]
    claimed: set[int] = set()
    syncs = nearest_enclosing(trace.parent, calls.row, np.array(list(program_of_sync), np.int32))
    next_start = np.append(calls.start_ps[1:], np.iinfo(np.int64).max)
    columns = zip(syncs.tolist(), calls.end_ps.tolist(), module, strict=True)
    for index, (sync, end_ps, name) in enumerate(columns):
        if sync >= 0:
            program[index] = program_of_sync[sync]
        else:
            is_next = (first_run[by_first_run] >= end_ps) & (first_run[by_first_run] < next_start[index])
            candidates = by_first_run[is_next]
            candidates = candidates[names[candidates] == name] if name is not None else candidates
            if candidates.size and int(candidates[0]) not in claimed:
                program[index] = candidates[0]
        claimed.add(int(program[index]))
    return program


def _texts(trace: Trace, row: Int32, stat: str) -> list[str | None]:
    """Returns the text stat of each event, else that of the first event below it that has one; None: none has."""
    if stat not in trace.stats:
        return [None] * len(row)
    column = trace.stats[stat]
    texts: list[str | None] = []
    for event, low in zip(row.tolist(), np.searchsorted(column.rows, row).tolist(), strict=True):
        # The events below an event follow it on its line, and start before it ends.
        is_inside = low < len(column.rows) and column.rows[low] < trace.line_of(event).rows.stop
        is_inside = is_inside and (
            column.rows[low] == event or trace.start_ps[column.rows[low]] < trace.end_ps[event]
        )
        texts.append(trace.strings[int(column.values[low])] if is_inside else None)
    return texts


def _warm_up(trace: Trace, calls: CompileCalls, step: Int32, module: list[str | None]) -> NDArray[np.bool_]:
    """Per compilation, whether it is part of the warm-up: see `find_compilations`."""
    launches = find_launches(trace)
    runs = launches.runs
    first_launch = trace.start_ps[launches.row].min(initial=np.iinfo(np.int64).max)
    first_execution = int(min(first_launch, runs.start_ps.min(initial=np.iinfo(np.int64).max)))
    first_run_of_name: dict[str, int] = {}
    for program, start in zip(runs.program.tolist(), runs.start_ps.tolist(), strict=True):
        name = launches.programs[program].name
        first_run_of_name[name] = min(start, first_run_of_name.get(name, start))
    compiled: set[str] = set()
    warm_up = np.zeros(len(calls), np.bool_)
    step_numbers, starts = _step_numbers(trace, calls, step, module), calls.start_ps.tolist()
    columns = zip(starts, calls.cut.tolist(), module, step_numbers, strict=True)
    for index, (start, cut, module_name, step_number) in enumerate(columns):
        if step_number is not None:
            warm_up[index] = step_number < FIRST_WARM_STEP
        elif not cut:
            is_new = (
                module_name is not None
                and module_name not in compiled
                and first_run_of_name.get(module_name, start) >= start
            )
            warm_up[index] = start < first_execution or is_new
        elif index + 1 < len(calls):
            # During warm-up, another compilation follows before anything runs.
            warm_up[index] = step_numbers[index + 1] is None and starts[index + 1] < first_execution
        if module_name is not None:
            compiled.add(module_name)
    return warm_up


def _step_numbers(
    trace: Trace, calls: CompileCalls, step: Int32, module: list[str | None]
) -> list[int | None]:
    """Returns the number of the step that each compilation belongs to, None if unknown.

    The capture cuts the steps at its edges. A compilation before the first step belongs to the step before it if it is
    cut itself, or if steps run its module. A cut one after the last step belongs to the step after it.
    """
    launches, steps = find_launches(trace), recorded_steps(trace)
    has_both = (launches.step >= 0) & (launches.program >= 0)
    modules_in_steps = {launches.programs[program].name for program in launches.program[has_both].tolist()}
    numbers: list[int | None] = []
    columns = zip(step.tolist(), calls.start_ps.tolist(), calls.cut.tolist(), module, strict=True)
    for index, start, cut, name in columns:
        number = steps[index].number if index >= 0 else None
        if index < 0 and steps:
            first, last = steps[0], steps[-1]
            if start < first.start_ps and (cut or name in modules_in_steps) and first.number is not None:
                number = first.number - 1
            elif start >= last.end_ps and cut and last.number is not None:
                number = last.number + 1
        numbers.append(number)
    return numbers


@memoised
def idle_time_per_compilation(trace: Trace) -> Int64:
    """Returns a row per compilation and a column per device: the time in the device's gaps (10 µs or more) during which
    the host was in the compilation."""
    compilations, gaps, segments = find_compilations(trace), find_gaps(trace), host_class_segments(trace)
    compiling = union(segments.start_ps, segments.end_ps, segments.class_index == COMPILE)
    idle_ps = np.zeros((len(compilations), len(trace.devices)), np.int64)
    for device in range(len(trace.devices)):
        idle = union(gaps.start_ps, gaps.end_ps, gaps.device == device)
        idle_while_compiling = idle.within(compiling)
        idle_ps[:, device] = covered_times(
            idle_while_compiling.start_ps, idle_while_compiling.end_ps,
            compilations.start_ps, compilations.end_ps,
        )  # fmt: skip
    return idle_ps
