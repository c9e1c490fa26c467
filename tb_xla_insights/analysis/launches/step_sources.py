"""The training steps as a capture records them, from the best source that it has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.host.extractions import find_extractions
from tb_xla_insights.analysis.launches.unrecorded_work import UnrecordedWork, unrecorded_work
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag, parse_program_name
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.annotations import step_annotation_rows
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import outermost_rows

Source = Literal["annotation", "steps_line", "step_marker", "modules"]

_MIN_EQUAL_SHARE = 0.75
"""For a program that takes at least half of the time: the share of the intervals between its runs in which the same
programs must run."""

_MIN_EQUAL_INTERVALS = 2
"""For any other program: the minimum number of such intervals, all of which must be equal. A loop repeats more than
once."""

_STEP_NUMBER = re.compile(r"(?<!\d)(\d{1,18})\D*$", re.ASCII)


@dataclass(frozen=True)
class Step:
    """One step. `rows`: the events that it comes from: its annotations, of which a round of reinforcement learning has
    several, the event on the device's Steps line, the marker at its end, or the run that it starts with."""

    name: str
    number: int | None
    source: Source
    host: str
    start_ps: int
    duration_ps: int
    rows: tuple[int, ...]

    @property
    def row(self) -> int:
        """The first event."""
        return self.rows[0]

    @property
    def end_ps(self) -> int:
        return self.start_ps + self.duration_ps

    @property
    def on_device(self) -> bool:
        """Whether the step comes from a device: its times are then those of the device's work, whatever the
        host did meanwhile."""
        return self.source in ("steps_line", "modules")


@memoised
def recorded_steps(trace: Trace) -> list[Step]:
    """Returns one host's recorded steps in order of time, all from one source, without those at both ends whose work
    the devices did not record; empty if the capture has no source.

    Use these times to assign events to steps, and `find_steps` for how long a step takes: they differ if the host only
    hands work over.
    """
    first, stop = find_unrecorded_work(trace).steps
    return steps_of_best_source(trace)[first:stop]


@memoised
def find_unrecorded_work(trace: Trace) -> UnrecordedWork:
    """Returns the work that the devices did not record, at the capture's edges and in between. Steps from a device have
    recorded work."""
    steps = [step for step in steps_of_best_source(trace) if not step.on_device]
    times = [(step.start_ps, step.end_ps) for step in steps]
    work = unrecorded_work(trace, *np.array(times, np.int64).reshape(-1, 2).T)
    return work if steps else replace(work, steps=(0, len(steps_of_best_source(trace))))


@memoised
def steps_of_best_source(trace: Trace) -> list[Step]:
    """Returns all steps of one host in order of time, whether or not their work is recorded.

    Sources, the best first: step annotations (with the stat `_r` or `step_num`, and not inside others), where a step
    lasts from one annotation's start to the next one's, and the last step to the end of its annotation; a `Steps` line
    of a device; step markers on the driving thread except torch.compile's, where a step lasts from one marker's end to
    the next one's; the rhythm of program runs, where a step lasts from one run to the next of the program that marks
    the loop. Steps follow each other without a break, except those of a `Steps` line. (docs/definitions.md, "Step")
    """
    for steps_of_source in (
        _steps_of_annotations,
        _steps_of_steps_line,
        _steps_of_markers,
        _steps_of_runs,
    ):
        steps = sorted(steps_of_source(trace), key=lambda step: (step.start_ps, -step.duration_ps))
        if steps:
            return steps
    return []


@memoised
def recorded_times(trace: Trace) -> tuple[Int64, Int64]:
    """Returns start and end of the recorded steps."""
    times = [(step.start_ps, step.end_ps) for step in recorded_steps(trace)]
    start, end = np.array(times, np.int64).reshape(-1, 2).T.copy()
    return start, end


def annotated_times(trace: Trace) -> tuple[Int64, Int64]:
    """Returns the start of the first annotation of each recorded step and the end of its last one, between which the
    host is between steps; of steps from other sources, the steps' times."""
    start, end = recorded_times(trace)
    steps = recorded_steps(trace)
    if steps and steps[0].source == "annotation":
        end = trace.end_ps[np.array([step.rows[-1] for step in steps], np.int32)]
    return start, end


def recorded_steps_at(trace: Trace, instants: Int64) -> Int32:
    """Returns the recorded step at each of some instants, -1 outside of steps."""
    start, end = recorded_times(trace)
    index = np.searchsorted(start, instants, "right") - 1
    return np.where((index >= 0) & (instants < np.append(end, 0)[index]), index, -1).astype(np.int32)


def _steps_of_annotations(trace: Trace) -> Iterator[Step]:
    rows = step_annotation_rows(trace)
    is_function = has_tag(trace, "function_run")[trace.metadata_index[rows]]
    rows = _outermost(trace, rows[~is_function]) if not is_function.all() else _enclosing_calls(trace, rows)
    if not len(rows):
        return
    rows = rows[np.argsort(trace.start_ps[rows], kind="stable")]
    numbers = trace.stats["step_num"].at(rows, -1) if "step_num" in trace.stats else np.full(len(rows), -1)
    first = _first_of_steps(numbers, trace.metadata_index[rows])
    starts = trace.start_ps[rows[first]]
    ends = np.append(starts[1:], trace.end_ps[rows[-1:]])
    for of_step, number, start, end in zip(
        np.split(rows, first[1:]), numbers[first].tolist(), starts.tolist(), ends.tolist(), strict=True
    ):
        name = " + ".join(dict.fromkeys(map(trace.name, of_step.tolist())))
        step_number = None if number < 0 else number
        yield Step(name, step_number, "annotation", trace.host, start, end - start, tuple(of_step.tolist()))


def _first_of_steps(numbers: Int64, metadata: Int32) -> NDArray[np.intp]:
    """The first annotation (an index) of each step: each one, or if most numbers stand for several in a row that differ
    in name, as in rounds of reinforcement learning (`sampler`, `trainer`, …), the first with each number."""
    every = np.arange(len(numbers))
    same_number = np.append(False, (numbers[1:] == numbers[:-1]) & (numbers[1:] >= 0))
    first = every[~same_number]
    other_name = np.append(False, np.diff(metadata) != 0)
    rounds = np.logical_or.reduceat(same_number & other_name, first)
    return first if 2 * np.count_nonzero(rounds) > len(first) else every


def _enclosing_calls(trace: Trace, rows: Int32) -> Int32:
    """Returns the outermost calls around functions that TensorFlow runs, of the name with most time. The event that
    TensorFlow marks as a step's root only hands the function to the executor; the call waits for it."""
    rows = _outermost(trace, rows)
    while (has_parent := trace.parent[rows] >= 0).any():
        rows = np.where(has_parent, trace.parent[rows], rows)
    rows = np.unique(rows)
    time_of_metadata = np.bincount(trace.metadata_index[rows], trace.duration_ps[rows])
    return rows[trace.metadata_index[rows] == time_of_metadata.argmax()] if rows.size else rows


def _outermost(trace: Trace, rows: Int32) -> Int32:
    """Returns the outermost of some events on the driving thread; if it has none, on the thread on which they last
    longest: a loop is one thread's."""
    rows = outermost_rows(trace.parent, rows)
    on_driving_thread = rows[trace.is_on_lines(rows, trace.lines_with("driving"))]
    if on_driving_thread.size or not rows.size:
        return on_driving_thread
    lines = trace.lines_of(rows)
    longest: Int32 = rows[lines == np.bincount(lines, trace.duration_ps[rows]).argmax()]
    return longest


def _steps_of_steps_line(trace: Trace) -> Iterator[Step]:
    """Yields the steps of the first device plane with a Steps line: the others have the same steps."""
    for line in trace.lines:
        if line.name == "Steps" and line.count and trace.planes[line.plane].name.startswith("/device:"):
            for row in range(line.first, line.rows.stop):
                match = _STEP_NUMBER.search(trace.name(row))
                number = int(match[1]) if match else None
                start, duration = int(trace.start_ps[row]), int(trace.duration_ps[row])
                yield Step(trace.name(row), number, "steps_line", trace.host, start, duration, (row,))
            return


def _steps_of_markers(trace: Trace) -> Iterator[Step]:
    rows = trace.rows_with_metadata(has_tag(trace, "step_marker"))
    rows = rows[~find_extractions(trace).is_bridge_event(trace)[rows]]
    rows = _outermost(trace, rows)
    rows = rows[np.argsort(trace.end_ps[rows], kind="stable")]
    ends = trace.end_ps[rows].tolist()
    for row, start, end in zip(rows[1:].tolist(), ends, ends[1:], strict=False):
        yield Step(trace.name(row), None, "step_marker", trace.host, start, end - start, (row,))


def _steps_of_runs(trace: Trace) -> Iterator[Step]:
    """Yields the steps of the device with most runs. The marking program's last run begins no step: the capture cuts
    it."""
    device = max(trace.devices, key=lambda device: len(device.runs), default=None)
    if device is None or not len(device.runs):
        return
    # Names without program ids: a recompiled graph keeps its name.
    names = [parse_program_name(trace.strings[text_index]).name for text_index in device.runs.name.tolist()]
    loop_runs = _loop_runs(names, device.runs.end_ps - device.runs.start_ps)
    rows, starts = device.runs.row[loop_runs].tolist(), device.runs.start_ps[loop_runs].tolist()
    for row, start, end in zip(rows, starts, starts[1:], strict=False):
        yield Step(names[loop_runs[0]], None, "modules", trace.host, start, end - start, (row,))


def _loop_runs(names: list[str], duration_ps: Int64) -> list[int]:
    """Returns the runs (indices, in order of time) of the program that marks a loop; empty if no program does.

    The same programs run between any two runs of such a program: in all intervals, or in most if the program takes half
    of the time or more, because a loop may evaluate or save now and then. Of several such programs, the one with most
    time marks the loop. If the framework runs op by op, each op is a program; one that occurs in several places marks
    nothing.
    """
    runs_of_name: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        runs_of_name.setdefault(name, []).append(index)
    time_of_name = {name: int(duration_ps[runs].sum()) for name, runs in runs_of_name.items()}
    total_ps = sum(time_of_name.values())
    for name in sorted(time_of_name, key=lambda name: -time_of_name[name]):
        runs, takes_half = runs_of_name[name], 2 * time_of_name[name] >= total_ps
        if not takes_half and len(set(np.diff(runs).tolist())) != 1:
            continue  # intervals of different lengths differ
        intervals = Counter(tuple(names[first + 1 : second]) for first, second in pairwise(runs))
        equal = max(intervals.values(), default=0)
        min_equal = (
            _MIN_EQUAL_SHARE * intervals.total()
            if takes_half
            else max(intervals.total(), _MIN_EQUAL_INTERVALS)
        )
        if equal and equal >= min_equal:
            return runs
    return []
