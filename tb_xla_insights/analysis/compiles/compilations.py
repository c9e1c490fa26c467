"""What was compiled during the capture: which graph, when, where in the program, and whether it had to be.
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
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.sources import recorded_steps
from tb_xla_insights.analysis.steps.step_times import steps_at
from tb_xla_insights.analysis.thresholds import FIRST_WARM_STEP
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Int8, Int32, Int64, Trace
from tb_xla_insights.trace.nesting import nearest_enclosing
from tb_xla_insights.trace.programs import UNNAMED

_OF_MODULE = re.compile(r".+ \(([\w.-]+)\)")
"""A part of a compilation whose name ends in its module's: `HLO passes through layout assignment (jit_f)`."""


@dataclass(frozen=True)
class Compilations:
    """Compilations of one host in order of time.

    `row`, `start_ps`, `end_ps`, `cut`: as in CompileCalls. `step`: index into the trace's steps, -1: none.
    `annotation`: the innermost annotation around it, on the driving thread at that time where another thread compiled,
    -1: none. `program`: what it made, an index into Launches.programs, -1 where it did not run. `module` and
    `graph_hash` are None where nothing records them. `warm_up`: everything was new then.
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

    def graph(self, number: int) -> str | None:
        """What tells the graph: its hash, or the module's name."""
        return self.graph_hash[number] or self.module[number]


@memoised
def find_compilations(trace: Trace) -> Compilations:
    """The compilations of one host.

    Warm-up is what falls into a step with a number below 2. Outside of steps with numbers it is what comes before the
    first execution of the capture, and the first compilation of a module that has not run in it before. What an edge
    of the capture cuts is none for that, only where another compilation of the warm-up comes next.
    """
    calls = find_compile_calls(trace)
    launches = find_launches(trace)
    told = _module_of_parts(trace, calls)
    program = _programs(trace, calls, told)
    names = [launches.programs[it][0] if it >= 0 else None for it in program.tolist()]
    recorded = _texts(trace, calls.row, "name")
    module = [a or b or c for a, b, c in zip(names, recorded, told, strict=True)]
    step = steps_at(trace, calls.start_ps)
    around = np.array([enclosing_annotation(trace, it) for it in calls.row.tolist()], np.int32)
    return Compilations(
        calls.row, calls.start_ps, calls.end_ps, calls.cut, step, around, program, module,
        _texts(trace, calls.row, "graph_hash"), _warm_up(trace, calls, step, module),
    )  # fmt: skip


def _module_of_parts(trace: Trace, calls: CompileCalls) -> list[str | None]:
    """The module that the first part of each compilation names."""
    parts = rows_flagged(trace, COMPILE_PART)
    match = {
        entry: _OF_MODULE.fullmatch(trace.strings[trace.metadata.name[entry]])
        for entry in np.unique(trace.meta[parts]).tolist()
    }
    parts = parts[np.array([match[entry] is not None for entry in trace.meta[parts].tolist()], np.bool_)]
    parts = parts[np.argsort(trace.start_ps[parts], kind="stable")]
    first = np.searchsorted(trace.start_ps[parts], calls.start_ps).tolist()
    found: list[str | None] = []
    for at, end in zip(first, calls.end_ps.tolist(), strict=True):
        inside = at < len(parts) and trace.start_ps[parts[at]] < end
        named = match[int(trace.meta[parts[at]])] if inside else None
        found.append(named[1] if named else None)
    return found


def _programs(trace: Trace, calls: CompileCalls, module: list[str | None]) -> Int32:
    """What each compilation made: the program of the launch that its synchronisation asked for; without one, the
    program (of the module's name, where a part tells that) that runs for the first time in the capture, and first after
    it. What was not finished has made none."""
    launches = find_launches(trace)
    runs = launches.runs
    found = np.full(len(calls), -1, np.int32)
    of_sync = {s: p for s, p in zip(launches.sync.tolist(), launches.program.tolist(), strict=True) if s >= 0}
    first = np.full(len(launches.programs), np.iinfo(np.int64).max)
    np.minimum.at(first, runs.program, runs.start_ps)
    names = np.array([name for name, _ in launches.programs], object)
    new = np.argsort(first, kind="stable")
    new = new[names[new] != UNNAMED]  # of such runs nothing tells which program they are of
    claimed: set[int] = set()
    asked = nearest_enclosing(trace.parent, calls.row, np.array(list(of_sync), np.int32))
    until = np.append(calls.start_ps[1:], np.iinfo(np.int64).max)
    for number, (at, end, name) in enumerate(zip(asked.tolist(), calls.end_ps.tolist(), module, strict=True)):
        if at >= 0:
            found[number] = of_sync[at]
        else:
            after = new[(first[new] >= end) & (first[new] < until[number])]
            after = after[names[after] == name] if name is not None else after
            if after.size and int(after[0]) not in claimed:
                found[number] = after[0]
        claimed.add(int(found[number]))
    return found


def _texts(trace: Trace, row: Int32, stat: str) -> list[str | None]:
    """A text that each event carries, or else the first of those below it that does."""
    if stat not in trace.stats:
        return [None] * len(row)
    column = trace.stats[stat]
    found: list[str | None] = []
    for its in row.tolist():
        low = int(np.searchsorted(column.rows, its))
        # What lies below an event follows it on its line, and starts before it ends.
        inside = low < len(column.rows) and column.rows[low] < trace.line_of(its).rows.stop
        inside = inside and (column.rows[low] == its or trace.start_ps[column.rows[low]] < trace.end_ps[its])
        found.append(trace.strings[int(column.values[low])] if inside else None)
    return found


def _warm_up(trace: Trace, calls: CompileCalls, step: Int32, module: list[str | None]) -> NDArray[np.bool_]:
    launches = find_launches(trace)
    runs = launches.runs
    begun = [trace.start_ps[launches.row].min(initial=np.iinfo(np.int64).max)]
    first_run = int(min([*begun, runs.start_ps.min(initial=np.iinfo(np.int64).max)]))
    first_of: dict[str, int] = {}
    for program, start in zip(runs.program.tolist(), runs.start_ps.tolist(), strict=True):
        name = launches.programs[program][0]
        first_of[name] = min(start, first_of.get(name, start))
    compiled: set[str] = set()
    warm = np.zeros(len(calls), np.bool_)
    numbers, starts = _numbers(trace, calls, step, module), calls.start_ps.tolist()
    for number, (start, cut, name, known) in enumerate(
        zip(starts, calls.cut.tolist(), module, numbers, strict=True)
    ):
        if known is not None:
            warm[number] = known < FIRST_WARM_STEP
        elif not cut:
            new = name is not None and name not in compiled and first_of.get(name, start) >= start
            warm[number] = start < first_run or new
        elif number + 1 < len(calls):
            # Compiling goes on before anything runs.
            warm[number] = numbers[number + 1] is None and starts[number + 1] < first_run
        if name is not None:
            compiled.add(name)
    return warm


def _numbers(trace: Trace, calls: CompileCalls, step: Int32, module: list[str | None]) -> list[int | None]:
    """The number of the step that each compilation falls into, None where nothing tells.

    The capture cuts the steps at its edges. A compilation before the first step belongs to the one before it if it is
    cut itself, or if its module is one that steps run; a cut one after the last step to the one after that.
    """
    launches, steps = find_launches(trace), recorded_steps(trace)
    known = (launches.step >= 0) & (launches.program >= 0)
    in_steps = {launches.programs[program][0] for program in launches.program[known].tolist()}
    found: list[int | None] = []
    for at, start, cut, name in zip(
        step.tolist(), calls.start_ps.tolist(), calls.cut.tolist(), module, strict=True
    ):
        number = steps[at].number if at >= 0 else None
        if at < 0 and steps:
            first, last = steps[0], steps[-1]
            if start < first.start_ps and (cut or name in in_steps) and first.number is not None:
                number = first.number - 1
            elif start >= last.end_ps and cut and last.number is not None:
                number = last.number + 1
        found.append(number)
    return found


@memoised
def idle_time_per_compilation(trace: Trace) -> Int64:
    """One row per compilation, one column per device: the time in the device's gaps from 10 us up in which the host was
    in this compilation."""
    compiles, gaps, segments = find_compilations(trace), find_gaps(trace), host_class_segments(trace)
    compiling = segments.where(segments.class_index == CLASSES.index("compile"))
    found = np.zeros((len(compiles), len(trace.devices)), np.int64)
    for number, (start, end) in enumerate(
        zip(compiles.start_ps.tolist(), compiles.end_ps.tolist(), strict=True)
    ):
        its = compiling.clipped(start, end)
        for device in range(len(trace.devices)):
            of = gaps.device == device
            time = covered_times(gaps.start_ps[of], gaps.end_ps[of], its.start_ps, its.end_ps)
            found[number, device] = time.sum()
    return found
