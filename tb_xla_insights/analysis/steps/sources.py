"""The training steps as a capture records them, from whatever tells them best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from tb_xla_insights.analysis.host.extractions import find_extractions
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag, program_of
from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.nesting import outermost_rows

Source = Literal["annotation", "steps_line", "step_marker", "modules"]

_ALIKE_SHARE = 0.75
"""Of the times between two runs of the program that takes most of the time, those in which the same programs run."""

_FEWEST_ALIKE = 2
"""Times between two runs of another program: a loop goes round more than once."""

_NUMBER = re.compile(r"(?<!\d)(\d{1,18})\D*$", re.ASCII)


@dataclass(frozen=True)
class Step:
    """One step. `row` is the event that tells it: the annotation, the entry of the device's line, the marker
    at its end, or the run it starts with."""

    name: str
    number: int | None
    source: Source
    host: str
    start_ps: int
    duration_ps: int
    row: int

    @property
    def end_ps(self) -> int:
        return self.start_ps + self.duration_ps

    @property
    def on_device(self) -> bool:
        """Whether a device tells it: it goes from work to work there, whatever the host did when."""
        return self.source in ("steps_line", "modules")


@memoised
def recorded_steps(trace: Trace) -> list[Step]:
    """The steps of one host in order of time as they are recorded, all from one source; empty where nothing tells
    them. What belongs to a step follows from these; how long it lasts, `steps_of` tells.

    Sources, the best first: step annotations (`_r` or `step_num`, not those inside of others); a `Steps` line
    of a device; step markers on the driving thread but those of torch.compile, a step lasting from one marker's
    end to the next one's; the rhythm of the modules, a step lasting from one run to the next of the program that marks
    the loop. (docs/definitions.md, "Step")
    """
    for find in (_annotations, _steps_line, _step_markers, _modules):
        steps = sorted(find(trace), key=lambda step: (step.start_ps, -step.duration_ps))
        if steps:
            return steps
    return []


@memoised
def recorded_times(trace: Trace) -> tuple[Int64, Int64]:
    """When the recorded steps start and end."""
    times = [(step.start_ps, step.end_ps) for step in recorded_steps(trace)]
    start, end = np.array(times, np.int64).reshape(-1, 2).T.copy()
    return start, end


def recorded_steps_at(trace: Trace, when: Int64) -> Int32:
    """The recorded step at each of some instants, -1 outside of steps."""
    start, end = recorded_times(trace)
    at = np.searchsorted(start, when, "right") - 1
    return np.where((at >= 0) & (when < np.append(end, 0)[at]), at, -1).astype(np.int32)


def step_rows(trace: Trace) -> Int32:
    """The events of step annotations, in row order, also those inside of others."""
    found = [trace.stats[name].rows for name in ("_r", "step_num") if name in trace.stats]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int32)


def _annotations(trace: Trace) -> Iterator[Step]:
    rows = step_rows(trace)
    functions = has_tag(trace, "function_run")[trace.meta[rows]]
    rows = _outermost(trace, rows[~functions]) if not functions.all() else _calls_around(trace, rows)
    numbers = trace.stats["step_num"].at(rows, -1) if "step_num" in trace.stats else np.full(len(rows), -1)
    for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
        yield _step(trace, row, trace.name(row), None if number < 0 else number, "annotation")


def _calls_around(trace: Trace, rows: Int32) -> Int32:
    """The outermost calls around functions that TensorFlow runs: those of the name with most time. The event that it
    marks as a step's root only hands the function to the executor, and the call waits for it."""
    rows = _outermost(trace, rows)
    while (inner := trace.parent[rows] >= 0).any():
        rows = np.where(inner, trace.parent[rows], rows)
    rows = np.unique(rows)
    time = np.bincount(trace.meta[rows], trace.duration_ps[rows])
    return rows[trace.meta[rows] == time.argmax()] if rows.size else rows


def _outermost(trace: Trace, rows: Int32) -> Int32:
    """Those that lie in no other one of them and on the driving thread; on all threads where it has none."""
    rows = outermost_rows(trace.parent, rows)
    mine = rows[np.isin(trace.lines_of(rows), trace.lines_with("driving"))]
    return mine if mine.size else rows


def _steps_line(trace: Trace) -> Iterator[Step]:
    """Of the first device plane that has one: the others tell the same steps."""
    for line in trace.lines:
        if line.name == "Steps" and line.count and trace.planes[line.plane].name.startswith("/device:"):
            for row in range(line.first, line.rows.stop):
                number = _NUMBER.search(trace.name(row))
                yield _step(trace, row, trace.name(row), int(number[1]) if number else None, "steps_line")
            return


def _step_markers(trace: Trace) -> Iterator[Step]:
    names = {
        meta
        for meta in np.unique(trace.meta)
        if "step_marker" in trace.catalog.tags(trace.strings[trace.metadata.name[meta]])
    }
    rows = np.flatnonzero(np.isin(trace.meta, list(names))).astype(np.int32)
    rows = rows[~find_extractions(trace).recorded(trace)[rows]]
    rows = _outermost(trace, rows)
    rows = rows[np.argsort(trace.end_ps[rows], kind="stable")]
    ends = trace.end_ps[rows].tolist()
    for row, before, end in zip(rows[1:].tolist(), ends, ends[1:], strict=False):
        yield Step(trace.name(row), None, "step_marker", trace.host, before, end - before, row)


def _modules(trace: Trace) -> Iterator[Step]:
    """Of the device with most runs. The last run of the program has no next one: the capture cuts its step."""
    device = max(trace.devices, key=lambda it: len(it.modules), default=None)
    if device is None or not len(device.modules):
        return
    modules = device.modules
    # A recompiled graph keeps its name; the id of the program is left out.
    names = [program_of(trace.strings[text])[0] for text in modules.name.tolist()]
    runs = _loop_runs(names, modules.end_ps - modules.start_ps)
    rows, starts = modules.row[runs].tolist(), modules.start_ps[runs].tolist()
    for row, start, end in zip(rows, starts, starts[1:], strict=False):
        yield Step(names[runs[0]], None, "modules", trace.host, start, end - start, row)


def _loop_runs(names: list[str], duration_ps: Int64) -> list[int]:
    """The runs (indices, in order of time) of the program that marks a loop; none where no program does.

    Between two runs of such a program the same programs run each time: all times, or most times where the program
    takes most of the time, as a loop may evaluate or save now and then. Of several programs the one that takes most
    time does. Of a program that runs op by op, so, no op marks it that occurs in it in several places.
    """
    runs: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        runs.setdefault(name, []).append(index)
    time = {name: int(duration_ps[its].sum()) for name, its in runs.items()}
    for name in sorted(time, key=lambda it: -time[it]):
        its = runs[name]
        between = Counter(tuple(names[first + 1 : second]) for first, second in pairwise(its))
        alike = max(between.values(), default=0)
        most = 2 * time[name] >= sum(time.values())
        if (
            alike >= (_ALIKE_SHARE * between.total() if most else max(between.total(), _FEWEST_ALIKE))
            and alike
        ):
            return its
    return []


def _step(trace: Trace, row: int, name: str, number: int | None, source: Source) -> Step:
    start, duration = int(trace.start_ps[row]), int(trace.duration_ps[row])
    return Step(name, number, source, trace.host, start, duration, row)
