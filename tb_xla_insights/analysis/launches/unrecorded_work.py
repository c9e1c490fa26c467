"""Launches whose runs the devices did not record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.joined import find_joined_launches
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.arrays import Int64
from tb_xla_insights.trace.model import Trace

_MIN_LAUNCHES = 2
"""One launch may be of a program that the capture's edge cuts, however long it runs."""

_MAX_NORMAL_RUNS = 2
"""At a normal edge of a capture, devices are in a run that is not recorded. If the host's record is longer by more than
this many times the longest run, the devices' record does not cover the capture."""


@dataclass(frozen=True)
class UnrecordedEdge:
    """What the host launched without a recorded run at one edge of the capture.

    `launches`: their number. `duration_ps`: the time from the first of them to the devices' first run, or from the end
    of their last run to the capture's end. `is_long`: whether the devices' record is shorter than the host's there, and
    not only a run is cut. `is_most`: whether this is more than half of the capture's time without runs at that edge.
    """

    launches: int
    duration_ps: int
    is_long: bool
    is_most: bool


@dataclass(frozen=True)
class UnrecordedWork:
    """The work that the devices did not record.

    `is_lost`: whether each launch has no recorded run. `before`, `after`: these launches before the first launch and
    after the last one that has a run, None without any; `between`: the number of the others. `steps`: the range (first
    and stop) of the recorded steps that is left without the steps at both ends whose work is not recorded.
    """

    is_lost: NDArray[np.bool_]
    before: UnrecordedEdge | None
    after: UnrecordedEdge | None
    between: int
    steps: tuple[int, int]


def unrecorded_work(trace: Trace, step_start_ps: Int64, step_end_ps: Int64) -> UnrecordedWork:
    """Returns what the devices did not record, in steps with these times.

    Only calls count whose name also launched recorded runs: others may be those of another device, such as the CPU.
    (docs/definitions.md, "Step")
    """
    count = len(step_start_ps)
    joined = find_joined_launches(trace)
    row, runs = joined.row, joined.runs
    has_run = np.zeros(len(row) + 1, np.bool_)  # the last one: runs without a launch
    has_run[runs.launch] = True
    has_run = has_run[:-1]
    if not has_run.any():
        return UnrecordedWork(has_run, None, None, 0, (0, count))
    name = trace.metadata_index[row]
    is_lost = ~has_run & np.isin(name, name[has_run])
    start_ps = trace.start_ps[row]
    first_ps, last_ps = int(runs.start_ps.min()), int(runs.end_ps.max())
    # By the order of launches: a host that runs ahead made the last ones before the devices' last run began.
    lost, with_run = np.flatnonzero(is_lost), np.flatnonzero(has_run)
    before, after = lost[lost < with_run[0]], lost[lost > with_run[-1]]
    limit_ps = _MAX_NORMAL_RUNS * int(runs.duration_ps.max())

    def edge(count: int, duration_ps: int, busy_ps: int, outside_ps: int) -> UnrecordedEdge | None:
        is_long = count >= _MIN_LAUNCHES and duration_ps - busy_ps > limit_ps
        duration_ps = max(duration_ps, 0)
        return UnrecordedEdge(count, duration_ps, is_long, 2 * duration_ps > outside_ps) if count else None

    origin = joined.paths.origin
    index = np.searchsorted(step_start_ps, trace.start_ps[origin], "right") - 1
    is_inside = (origin >= 0) & (index >= 0) & (trace.start_ps[origin] < np.append(step_end_ps, 0)[index])
    step = np.where(is_inside, index, -1)
    first, stop = 0, count
    with_work = step[has_run & is_inside]
    if with_work.size:
        first = int(step[before][step[before] < with_work.min()].max(initial=-1)) + 1
        stop = int(step[after][step[after] > with_work.max()].min(initial=count))
    late_by_ps = first_ps - int(start_ps[before[0]]) if before.size else 0
    early_by_ps = _end_ps(trace, int(start_ps[after[0]])) - last_ps if after.size else 0
    busy_ps = max(0, int(trace.end_ps[row[after[0]]]) - last_ps) if after.size else 0
    return UnrecordedWork(
        is_lost,
        edge(before.size, late_by_ps, 0, first_ps - trace.span_ps[0]),
        edge(after.size, early_by_ps, busy_ps, early_by_ps),
        lost.size - before.size - after.size,
        (first, stop),
    )


@dataclass(frozen=True)
class ShortRecord:
    """A device (an index) whose record begins `duration_ps` after those of the others, or ends so long before them, by
    `edge`.
    `launches`: those that the others ran meanwhile, of programs that the device otherwise runs each time."""

    device: int
    edge: Literal["begins", "ends"]
    launches: int
    duration_ps: int


def find_short_records(trace: Trace) -> list[ShortRecord]:
    """Returns the devices whose record begins after those of the others, or ends before them, by more than a run that
    an edge of the capture cuts. Devices of a CPU have no record of their own."""
    joined = find_joined_launches(trace)
    runs, count = joined.runs, len(joined.row)
    known = np.flatnonzero(runs.launch >= 0)
    launch = runs.launch[known]
    has_run = np.zeros((count, len(trace.devices)), np.bool_)
    has_run[launch, runs.device[known]] = True
    ran = has_run.any(axis=1)
    program = np.full(count, -1, np.int32)
    program[launch] = runs.program[known]
    first_ps, last_ps = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
    np.minimum.at(first_ps, launch, runs.start_ps[known])
    np.maximum.at(last_ps, launch, runs.end_ps[known])
    records = []
    for device in range(len(trace.devices)):
        recorded, own = np.flatnonzero(has_run[:, device]), runs.of_device(device)
        if not recorded.size or trace.devices[device].from_host_events:
            continue
        first, last = int(recorded[0]), int(recorded[-1])
        lacks_run = ran & ~has_run[:, device]
        programs, launches = np.unique(program[recorded], return_counts=True)
        skipped = program[first:last][
            lacks_run[first:last]
        ]  # programs that the device does not run each time
        programs = np.setdiff1d(programs[launches >= _MIN_LAUNCHES], skipped)
        missed = np.flatnonzero(lacks_run & np.isin(program, programs))
        before, after = missed[missed < first], missed[missed > last]
        late_by_ps = int(runs.start_ps[own].min()) - int(first_ps[before].min(initial=first_ps[first]))
        early_by_ps = int(last_ps[after].max(initial=0)) - int(runs.end_ps[own].max())
        limit_ps = _MAX_NORMAL_RUNS * int(runs.duration_ps[own].max())
        if before.size >= _MIN_LAUNCHES and late_by_ps > limit_ps:
            records.append(ShortRecord(device, "begins", before.size, late_by_ps))
        if after.size >= _MIN_LAUNCHES and early_by_ps > limit_ps:
            records.append(ShortRecord(device, "ends", after.size, early_by_ps))
    return records


def _end_ps(trace: Trace, after_ps: int) -> int:
    """Returns the capture's end, or the instant after `after_ps` at which the host begins to stop the profiler."""
    start_ps = trace.start_ps[trace.rows_with_metadata(has_tag(trace, "profiler"))]
    stops_ps: list[int] = start_ps[start_ps >= after_ps].tolist()
    return min([trace.span_ps[1], *stops_ps])
