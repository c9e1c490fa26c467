"""The schedule of a capture (host work, launches, runs, and waits for runs, with their dependencies), and its replay
with changed work.

The host's work is a sequence of segments with times by class (`classes.host_class_segments`). It is cut where a launch
was enqueued and where a wait or a read ended. A device executes its runs in the order of enqueuing. A run whose
device was idle when it was enqueued begins at the recorded delay after its enqueuing; any other run begins at the
recorded pause after the previous run. After a wait for a run, the host continues at the recorded delay after the run's
end. A run that the driving thread runs itself, on a CPU, is a wait for it. A replay without changes reproduces the
capture's times. (docs/definitions.md, "What if")
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.delays.blocking_waits import blocking_intervals
from tb_xla_insights.analysis.host.classes import host_class_segments, thread_segments
from tb_xla_insights.analysis.launches.launches import Launches, find_launches
from tb_xla_insights.analysis.launches.step_sources import recorded_steps
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.replay import kernels
from tb_xla_insights.analysis.time.class_times import class_times, covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, union, union_all
from tb_xla_insights.analysis.time.segments import NO_SEGMENTS, Segments, overlay_first
from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.catalog.classes import DISPATCH, FROM_DEVICE, WAIT
from tb_xla_insights.trace.device_clock import CLOCK_SLACK_PS
from tb_xla_insights.trace.model import Trace

_MIN_KNOWN_SHARE = 0.8
"""The minimum share of the runs in the steps that must have a known launch for a replay to be meaningful."""

_NEVER_PS = np.iinfo(np.int64).max

_WAIT_CUT, _LAUNCH_CUT, _END_CUT = range(3)
"""The kinds of cuts of the host's work: the end of a wait, a launch, the end of the last step; in the order of cuts at
the same instant."""


@dataclass(frozen=True)
class HostWork:
    """One host's work, a row per segment between two cuts.

    `start_ps`, `end_ps`: when the segment took place in the capture. `work_ps`: the host's work, a column per class,
    without the wait at the segment's end. `waits_for`: the run (index into DeviceWork) that the wait was for, -1
    without one; `delay_ps`: how long after that run's end the wait ended; `is_read`: whether it was a read from the
    device; `is_blocking`: whether the program itself requested it (`find_blocking_waits`); `is_own_run`: whether the
    driving thread ran the run itself.
    """

    start_ps: Int64
    end_ps: Int64
    work_ps: Int64
    waits_for: Int32
    delay_ps: Int64
    is_read: NDArray[np.bool_]
    is_blocking: NDArray[np.bool_]
    is_own_run: NDArray[np.bool_]


@dataclass(frozen=True)
class DeviceRuns:
    """The devices' work, a row per run, sorted by the segment that launches it, then by start.

    `run`: index into Launches.runs. `launch`: the run's launch. `segment`: the segment of the host's work at whose end
    it is launched. `ready_ps`: how long after that end it can begin; `pause_ps`: how long after the previous run on its
    device it can begin, negative if the two overlap. `device_ps`: its duration. `device`: index into the trace's
    devices.
    """

    run: Int32
    launch: Int32
    segment: Int32
    ready_ps: Int64
    pause_ps: Int64
    device_ps: Int64
    device: Int32


@dataclass(frozen=True)
class Schedule:
    """One host and its devices, from the start of the first step to the end of the last one. `device_free_ps`:
    until when each device is busy with earlier runs, relative to that start; negative if its first run began before
    it. `unknown_ps`: how long each device works, from the first run on, for runs whose launch is not known, which a
    replay leaves out."""

    host: HostWork
    work: DeviceRuns
    device_free_ps: Int64
    unknown_ps: Int64


@memoised
def find_schedule(trace: Trace) -> Schedule | None:
    """The schedule of one host; None without steps, if too few runs have known launches, or if no run in the steps was
    launched in them."""
    steps, launches = recorded_steps(trace)[: len(find_steps(trace))], find_launches(trace)
    runs = launches.runs
    if not steps or not len(launches):
        return None
    begin, end = steps[0].start_ps, steps[-1].end_ps
    has_launch = (runs.launch >= 0) & (runs.enqueue_row >= 0)
    inside = (runs.start_ps >= begin) & (runs.start_ps < end)
    if (has_launch & inside).sum() < _MIN_KNOWN_SHARE * inside.sum():
        return None
    launch_ps = np.full(len(launches), _NEVER_PS)
    np.minimum.at(launch_ps, runs.launch[has_launch], runs.enqueue_ps[has_launch])
    # If the runtime enqueues later by itself, the host is done at the end of the call.
    launch_ps = np.where(launch_ps < _NEVER_PS, np.minimum(launch_ps, trace.end_ps[launches.row]), launch_ps)
    # A run that was enqueued before the first step (as happens if steps are runs) is ready when that step begins.
    is_ahead = (launches.step >= 0) & (launch_ps < begin)
    launch_ps = np.where(is_ahead, begin, launch_ps)
    launches_in_steps = np.flatnonzero((launch_ps >= begin) & (launch_ps < end))
    if not launches_in_steps.size:
        return None
    cuts = _cuts(trace, begin, end, launches_in_steps, launch_ps[launches_in_steps])
    is_unknown = inside & ~has_launch
    if steps[0].on_device:  # runs that begin at or after the end of the last step are in no step
        has_launch &= runs.start_ps < end
    segment = np.full(len(launches), -1, np.int32)  # the segment at whose end each launch is
    segment[cuts.index[cuts.kind == _LAUNCH_CUT]] = np.flatnonzero(cuts.kind == _LAUNCH_CUT)
    launched_runs = np.flatnonzero(has_launch & (segment[runs.launch] >= 0))
    if not launched_runs.size:
        return None
    work = _device_work(launches, launched_runs, segment, launch_ps)
    device_free_ps = np.zeros(len(trace.devices), np.int64)
    # Other devices may begin before the device that defines the steps.
    ahead_runs = work.run[is_ahead[work.launch]]
    np.minimum.at(device_free_ps, runs.device[ahead_runs], runs.start_ps[ahead_runs] - begin)
    earlier_runs = np.setdiff1d(np.flatnonzero(runs.start_ps < launch_ps[launches_in_steps].min()), work.run)
    np.maximum.at(device_free_ps, runs.device[earlier_runs], runs.end_ps[earlier_runs] - begin)
    is_unknown &= runs.start_ps >= runs.start_ps[launched_runs].min()  # those before it are of earlier steps
    unknown_ps = np.bincount(
        runs.device[is_unknown],
        (runs.end_ps - runs.own_start_ps)[is_unknown],
        minlength=len(trace.devices),
    )
    return Schedule(_host_work(trace, cuts, work), work, device_free_ps, unknown_ps.astype(np.int64))


@dataclass(frozen=True)
class _Cuts:
    """Segments of the host's work with the cut at the end of each: its `kind`, and the `index` of the launch or of the
    wait in `_waits` (-1 for the last cut)."""

    start_ps: Int64
    end_ps: Int64
    kind: Int8
    index: NDArray[np.intp]


def _cuts(trace: Trace, begin: int, end: int, launches: NDArray[np.intp], launch_ps: Int64) -> _Cuts:
    """The segments between `begin` and `end`; `launch_ps`: when each of `launches` was enqueued."""
    ends_ps = _waits(trace).end_ps
    waits = np.flatnonzero((ends_ps > begin) & (ends_ps <= end))
    cut_ps = np.concatenate((ends_ps[waits], launch_ps, [end]))
    kinds = np.array([_WAIT_CUT, _LAUNCH_CUT, _END_CUT], np.int8)
    kind = np.repeat(kinds, [len(waits), len(launches), 1])
    index = np.concatenate((waits, launches, [-1]))
    order = np.lexsort((kind, cut_ps))
    ends = cut_ps[order]
    return _Cuts(np.append(np.int64(begin), ends)[:-1], ends, kind[order], index[order])


@memoised
def _waits(trace: Trace) -> Segments:
    """Where the host waits, reads or runs a program itself for at least CLOCK_SLACK_PS. Waits inside one call are one
    wait even if helper threads launch meanwhile: the call returns when all of their launches are in the device's
    queue."""
    segments, driving_lines = host_class_segments(trace), trace.lines_with("driving")
    thread = thread_segments(trace, driving_lines[0]) if driving_lines else NO_SEGMENTS
    waits = np.flatnonzero((segments.class_index == WAIT) | (segments.class_index == FROM_DEVICE))
    own = _own_runs(trace)
    if not waits.size:
        return _as_waits(own)
    call = np.searchsorted(thread.start_ps, segments.start_ps[waits], "right")
    other_work = np.append(0, np.cumsum((segments.class_index != WAIT) & (segments.class_index != DISPATCH)))
    continues = (call[:-1] == call[1:]) & (other_work[waits[:-1]] == other_work[waits[1:] + 1])
    first, last = waits[np.append(True, ~continues)], waits[np.append(~continues, True)]
    merged = Segments(
        segments.start_ps[first], segments.end_ps[last], segments.class_index[first], segments.row[first]
    )
    outside = covered_times(own.start_ps, own.end_ps, merged.start_ps, merged.end_ps) == 0
    return overlay_first(
        merged.select((merged.end_ps - merged.start_ps >= CLOCK_SLACK_PS) & outside), _as_waits(own)
    )


@memoised
def _own_runs(trace: Trace) -> Intervals:
    """When the driving thread runs programs itself for at least CLOCK_SLACK_PS: on a CPU, those that are small or call
    Python."""
    runs, lines = [device.runs for device in trace.devices], trace.driving_lines
    own = union_all([union(run.start_ps, run.end_ps, trace.is_on_lines(run.row, lines)) for run in runs])
    is_long = own.end_ps - own.start_ps >= CLOCK_SLACK_PS
    return Intervals(own.start_ps[is_long], own.end_ps[is_long])


def _as_waits(intervals: Intervals) -> Segments:
    count = len(intervals)
    return Segments(
        intervals.start_ps, intervals.end_ps, np.full(count, WAIT, np.int8), np.full(count, -1, np.int32)
    )


def _device_work(launches: Launches, run: NDArray[np.intp], segment: Int32, launch_ps: Int64) -> DeviceRuns:
    """The work of some runs (indices into Launches.runs). `segment`: per launch, the segment at whose end it is;
    `launch_ps`: when it was first enqueued. A run was ready when it was enqueued if its device was busy then, and
    when it began if its device was idle."""
    runs = launches.runs
    run = run[np.lexsort((runs.start_ps[run], segment[runs.launch[run]]))]
    launch = runs.launch[run]
    start, enqueue, free = runs.start_ps[run], runs.enqueue_ps[run], runs.free_ps[run]
    is_queued = free > enqueue
    ready = np.where(is_queued, enqueue, start) - launch_ps[launch]
    pause = np.where(is_queued, start - np.where(is_queued, free, start), 0)
    return DeviceRuns(
        run.astype(np.int32), launch, segment[launch], ready, pause, runs.duration_ps[run], runs.device[run]
    )


def _host_work(trace: Trace, cuts: _Cuts, work: DeviceRuns) -> HostWork:
    """The host's segments. The wait at a segment's end is for the last run that ended before the wait did, if the run
    ended during the wait and was launched at the end of an earlier segment."""
    waits, run_end = _waits(trace), find_launches(trace).runs.end_ps[work.run]
    segment = np.flatnonzero(cuts.kind == _WAIT_CUT)
    wait_start = np.maximum(waits.start_ps[cuts.index[segment]], cuts.start_ps[segment])
    order = np.argsort(run_end, kind="stable")
    run = np.append(order, -1)[np.searchsorted(run_end[order], cuts.end_ps[segment], "right") - 1]
    ended_in_wait = (
        (run >= 0) & (np.append(run_end, 0)[run] >= wait_start) & (np.append(work.segment, 0)[run] < segment)
    )
    segment, run, wait_start = segment[ended_in_wait], run[ended_in_wait], wait_start[ended_in_wait]
    waits_for, work_end = np.full(len(cuts.kind), -1, np.int32), cuts.end_ps.copy()
    delay = np.zeros(len(cuts.kind), np.int64)
    is_read, is_blocking, is_own_run = np.zeros((3, len(cuts.kind)), np.bool_)
    waits_for[segment], work_end[segment] = run, wait_start
    delay[segment] = cuts.end_ps[segment] - run_end[run]
    is_read[segment] = waits.class_index[cuts.index[segment]] == FROM_DEVICE
    blocking = blocking_intervals(trace)
    block = np.searchsorted(blocking.start_ps, cuts.end_ps[segment]) - 1
    is_blocking[segment] = (block >= 0) & (cuts.end_ps[segment] <= np.append(blocking.end_ps, 0)[block])
    is_own_run[segment] = np.isin(cuts.end_ps[segment], _own_runs(trace).end_ps)
    work_ps = class_times(host_class_segments(trace), cuts.start_ps, work_end)
    return HostWork(cuts.start_ps, cuts.end_ps, work_ps, waits_for, delay, is_read, is_blocking, is_own_run)


class ReplayTimes(NamedTuple):
    """When the host and when the devices are done, from the start of the first step. `device_ps`: per device, the time
    from its first run to the end of its last one, which is the duration of the steps if the device is the bottleneck,
    because the time before the first run is only start-up. `wait_ps`: per segment of the host's work, how long the host
    waits at its end."""

    host_ps: int
    devices_ps: int
    device_ps: Int64
    wait_ps: Int64


def replay_schedule(schedule: Schedule, host_ps: Int64, waits_for: Int32, work: DeviceRuns) -> ReplayTimes:
    """Replays the schedule with other host work (a sum per segment), waits and device work."""
    order = np.argsort(work.segment, kind="stable").astype(np.int32)
    first = np.searchsorted(work.segment[order], np.arange(len(host_ps) + 1)).astype(np.int64)
    free, ends = schedule.device_free_ps.copy(), np.zeros(len(order), np.int64)
    first_start = np.where(free > 0, free, _NEVER_PS)
    columns = work.ready_ps, work.pause_ps, work.device_ps, work.device, free, first_start, ends
    host_done_ps = kernels.replay(host_ps, waits_for, schedule.host.delay_ps, first, order, *columns)
    # The host has waited as long in total as the latest end of a wait is behind the work up to it.
    behind_ps = np.where(waits_for >= 0, ends[waits_for] + schedule.host.delay_ps - np.cumsum(host_ps), 0)
    wait_ps = np.diff(np.maximum.accumulate(np.maximum(behind_ps, 0)), prepend=0)
    return ReplayTimes(host_done_ps, int(free.max()), np.maximum(free - first_start, 0), wait_ps)


@memoised
def replay_unchanged(trace: Trace) -> ReplayTimes:
    """The times of a replay without changes. Requires a schedule."""
    schedule = find_schedule(trace)
    assert schedule is not None
    host = schedule.host
    return replay_schedule(schedule, host.work_ps.sum(axis=1), host.waits_for, schedule.work)


@memoised
def late_start_ps(trace: Trace) -> Int64:
    """Per device, how long the host waits because the first run begins later after its launch than runs usually do:
    another host compiles or loads the program. A fix leaves this time, which is not in that from the first run on.
    Requires a schedule."""
    schedule = find_schedule(trace)
    assert schedule is not None
    host, work, wait_ps = schedule.host, schedule.work, replay_unchanged(trace).wait_ps
    late_ps = np.zeros(len(trace.devices), np.int64)
    start_ps = find_launches(trace).runs.start_ps[work.run]
    for device in np.flatnonzero(schedule.device_free_ps <= 0).tolist():
        rows = np.flatnonzero(work.device == device)
        if not rows.size:
            continue
        first = rows[start_ps[rows].argmin()]
        begin = start_ps[first] - max(work.ready_ps[first] - int(np.median(work.ready_ps[rows])), 0)
        waits = np.minimum(host.end_ps, start_ps[first]) - np.maximum(host.end_ps - wait_ps, begin)
        late_ps[device] = np.maximum(waits, 0).sum()
    return late_ps
