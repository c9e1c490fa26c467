"""The duration of a step with some fixes, from a replay of the capture along its dependencies (`schedule`).

A fix removes time: host time of some classes, waits for some runs, device time of some runs, and the pauses between the
kernels of a GPU's run that the removed host time caused. It may merge launches into the launches after them. Work that
depends on removed time moves forward; everything else stays.

Limits: the replay does not know time that a fix would add, nor waits that the capture did not have to make. Known
uncertainty makes the result a range: see `Fix` and `step_without`. (docs/definitions.md, "What if")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.idle_time import STARVED, find_gaps
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import recorded_times
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.replay.schedule import (
    DeviceRuns,
    HostWork,
    ReplayTimes,
    Schedule,
    find_schedule,
    late_start_ps,
    replay_schedule,
    replay_unchanged,
)
from tb_xla_insights.analysis.time.class_times import class_times_inside
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals, union, union_all
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import CLASS_INDEX, CLASSES, WAIT
from tb_xla_insights.trace.model import Trace

NO_LAUNCHES: NDArray[np.intp] = np.zeros(0, np.intp)


@dataclass(frozen=True)
class Fix:
    """The time that a fix removes from one host's replay.

    `classes`: host time of these classes, everywhere within steps, or only in some `windows`, or only in the work
    towards some launches, `before_launches`; Python only in that towards `python_before_launches`, if given.
    `all_reads`: all waits in reads; `blocking_waits`: all waits that the program itself requests; `all_waits`: all
    waits for runs, except those that the driving thread runs itself. `merged_launches`: launches that become part of
    the next launch in their step that is not itself merged; nothing waits for their runs. `device_ps`: device time
    removed per run of Launches.runs; `earlier_ps`: how much sooner each of these is launched, by the same work of the
    host. Launches are indices into Launches.

    Removed only at best: `device_ps` with `device_at_best`, because nothing shows that it can be hidden; the device
    time of `repeated_launches`, a subset of `merged_launches`, because the launches that they merge into compute the
    same again; the device time of `unknown_launches`, whose remaining time the capture does not show; host time of
    `moved_classes`; the time of the driving thread in `own_launches`, whose programs it ran itself and now only
    launches; and the delays with which the removed waits return after the runs' ends (`return_delay_ps`). With
    `in_other_thread`, the removed work moves to one other thread, and at worst the steps wait for it.
    """

    classes: tuple[str, ...] = ()
    windows: Intervals | None = None
    before_launches: NDArray[np.intp] | None = None
    python_before_launches: NDArray[np.intp] | None = None
    all_reads: bool = False
    blocking_waits: bool = False
    all_waits: bool = False
    merged_launches: NDArray[np.intp] = field(default_factory=lambda: NO_LAUNCHES)
    device_ps: Int64 | None = None
    earlier_ps: Int64 | None = None
    repeated_launches: NDArray[np.intp] = field(default_factory=lambda: NO_LAUNCHES)
    unknown_launches: NDArray[np.intp] = field(default_factory=lambda: NO_LAUNCHES)
    own_launches: NDArray[np.intp] = field(default_factory=lambda: NO_LAUNCHES)
    moved_classes: tuple[str, ...] = ()
    in_other_thread: bool = False
    device_at_best: bool = False

    @property
    def removes_only_device_time(self) -> bool:
        """Whether the host's work and waits remain."""
        return self.device_ps is not None and not self.classes

    def launches_before_which(self, class_: str) -> NDArray[np.intp] | None:
        """The launches that limit the removed host time of a class; None if no launches limit it."""
        is_python = class_ == "python" and self.python_before_launches is not None
        return self.python_before_launches if is_python else self.before_launches


@memoised
def _loop(trace: Trace) -> Intervals:
    """When the host is in the loop: from the start of the first step to the end of the last one."""
    starts, ends = recorded_times(trace)
    return span_intervals(int(starts[0]), int(ends[len(find_steps(trace)) - 1]))


def _fixed_intervals(trace: Trace, fix: Fix) -> Intervals:
    """When a fix removes host time."""
    return _loop(trace) if fix.windows is None else fix.windows.within(_loop(trace))


def _work_towards(trace: Trace, launch_indices: NDArray[np.intp]) -> Intervals:
    """When the host works towards some launches. The work for a launch ends with its request (its step marker,
    synchronisation or call) and begins at the end of the previous launch's request."""
    launches = find_launches(trace)
    request = np.where(launches.marker >= 0, launches.marker, launches.sync)
    ends = np.maximum.accumulate(trace.end_ps[np.where(request >= 0, request, launches.row)])
    starts = np.append(np.int64(0), ends)[:-1]
    return union(starts[launch_indices], ends[launch_indices])


def _removed_work_ps(trace: Trace, schedule: Schedule, fixes: Sequence[Fix]) -> Int64:
    """The removed time per segment of the host's work and class. Time that two fixes remove counts once."""
    host = schedule.host
    windows_by_class: dict[int, dict[int, Intervals]] = {}
    for fix in fixes:
        everywhere = _fixed_intervals(trace, fix)
        towards = {
            id(launches): everywhere.within(_work_towards(trace, launches))
            for launches in (fix.before_launches, fix.python_before_launches)
            if launches is not None
        }
        for name in fix.classes:
            windows = towards.get(id(fix.launches_before_which(name)), everywhere)
            windows_by_class.setdefault(CLASS_INDEX[name], {})[id(windows)] = windows
    removed = np.zeros_like(host.work_ps)
    times: dict[tuple[int, ...], Int64] = {(id(_loop(trace)),): host.work_ps}
    for column, by_id in windows_by_class.items():
        key = tuple(by_id)  # classes with the same windows share one calculation
        if key not in times:
            windows = union_all([*by_id.values()])
            times[key] = class_times_inside(host_class_segments(trace), windows, host.start_ps, host.end_ps)
        removed[:, column] = times[key][:, column]
    return np.minimum(removed, host.work_ps)


def _removed_inside_runs(trace: Trace, fixes: Sequence[Fix]) -> Int64:
    """Per run of Launches.runs, the host time in starved gaps inside it that fixes remove: a GPU's run becomes shorter
    if its kernels are launched earlier. If two fixes remove time of one class from one gap, the larger amount
    counts."""
    gaps, runs = find_gaps(trace), find_launches(trace).runs
    removed_of_run = np.zeros(len(runs), np.int64)
    inside = np.flatnonzero((gaps.kind == STARVED) & gaps.inside)
    if not inside.size:
        return removed_of_run
    removed = np.zeros((len(inside), len(CLASSES)), np.int64)
    for fix in fixes:
        columns = np.array([CLASS_INDEX[name] for name in fix.classes], np.intp)
        by_fix = np.zeros_like(removed)
        windows = _fixed_intervals(trace, fix)
        times = class_times_inside(
            host_class_segments(trace), windows, gaps.start_ps[inside], gaps.end_ps[inside]
        )
        by_fix[:, columns] = times[:, columns]
        for name in fix.classes:
            launches = fix.launches_before_which(name)
            if launches is not None:
                by_fix[~np.isin(runs.launch[gaps.run[inside]], launches), CLASS_INDEX[name]] = 0
        np.maximum(removed, by_fix, out=removed)
    np.add.at(removed_of_run, gaps.run[inside], removed.sum(axis=1))
    return removed_of_run


def _merge_targets(trace: Trace, work: DeviceRuns, is_merged: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Per run, its own index, or for a merged run, that of the run it becomes part of: the next unmerged run on its
    device if the same step launched it."""
    step = find_launches(trace).step[work.launch]
    target = np.arange(len(is_merged))
    for device in np.unique(work.device[is_merged]).tolist():
        rows = np.flatnonzero(work.device == device)
        unmerged = rows[~is_merged[rows]]
        following = np.append(unmerged, -1)[np.searchsorted(unmerged, rows)]
        target[rows] = np.where((following >= 0) & (step[following] == step[rows]), following, rows)
    return target


def _remaining_device_work(
    trace: Trace, work: DeviceRuns, is_merged: NDArray[np.bool_], fixes: Sequence[Fix]
) -> DeviceRuns:
    """The devices' remaining work; runs with `is_merged` are launched with the runs that they become part of."""
    target = _merge_targets(trace, work, is_merged)
    removed_of_run = _removed_inside_runs(trace, fixes)
    earlier_ps = np.zeros_like(removed_of_run)
    for fix in fixes:
        if fix.device_ps is not None:
            removed_of_run += fix.device_ps
        if fix.earlier_ps is not None:
            earlier_ps += fix.earlier_ps
    removed = removed_of_run[work.run]
    repeated = _is_launched_by(work, [fix.repeated_launches for fix in fixes]) & (
        target != np.arange(len(target))
    )
    removed = np.where(repeated, np.maximum(removed, work.device_ps[target]), removed)
    is_unknown = _is_launched_by(work, [fix.unknown_launches for fix in fixes])
    removed = np.where(is_unknown, work.device_ps, removed)
    return replace(
        work,
        segment=work.segment[target],
        ready_ps=(work.ready_ps - earlier_ps[work.run])[target],
        pause_ps=np.where(is_merged, np.minimum(work.pause_ps, 0), work.pause_ps),
        device_ps=work.device_ps - np.minimum(removed, work.device_ps),
    )


def _is_launched_by(work: DeviceRuns, launches: Sequence[NDArray[np.intp]]) -> NDArray[np.bool_]:
    """Per run, whether one of some launches launched it."""
    if not any(map(len, launches)):
        return np.zeros(len(work.launch), np.bool_)
    return np.isin(work.launch, np.concatenate(launches))


def step_without(trace: Trace, *at_best: Fix, at_worst: Sequence[Fix] = ()) -> int | None:
    """The mean step of one host with some fixes applied together, in ps; None if the capture does not allow a replay.

    With the fixes `at_worst`, all time that may remain does remain (see `Fix`); and if the devices' work runs on the
    host's processors, host and devices take turns. Without fixes, the result is the mean of the trace's
    steps, or the busiest device's work per step if that is more. (docs/definitions.md, "What if")
    """
    schedule, steps = find_schedule(trace), find_steps(trace)
    if schedule is None:
        return None
    host, work = schedule.host, schedule.work
    worst_fixes = [_worst_case(fix) for fix in at_worst]
    fixes = [*at_best, *worst_fixes]
    is_merged = _is_launched_by(work, [fix.merged_launches for fix in fixes])
    no_longer_own = (
        _is_launched_by(work, [fix.own_launches for fix in fixes])[host.waits_for] & host.is_own_run
    )
    no_wait = (host.waits_for >= 0) & (
        is_merged[host.waits_for] | no_longer_own | _is_wait_removed(host, fixes)
    )
    waits_for: Int32 = np.where(no_wait, -1, host.waits_for).astype(np.int32)
    removed = _removed_work_ps(trace, schedule, fixes)
    remaining = host.work_ps - removed
    keeps_delay = no_wait & ~is_merged[host.waits_for] & ~_is_wait_removed(host, at_best)
    remaining[:, WAIT] += np.where(keeps_delay, host.delay_ps, 0)
    remaining_work = _remaining_device_work(trace, work, is_merged, fixes)
    after = replay_schedule(schedule, remaining.sum(axis=1), waits_for, remaining_work)
    before = replay_unchanged(trace)
    min_ps = _busiest_device_ps(trace, schedule, remaining_work.device_ps)
    steps_ps = sum(step.duration_ps for step in steps)
    if steps[0].on_device:
        max_ps, gain_ps = steps_ps, before.devices_ps - after.devices_ps
    else:
        busy_ps = _busiest_device_ps(trace, schedule, work.device_ps)
        max_ps = max(steps_ps, busy_ps)
        before_ps, device_before_ps = before.host_ps, _device_time_of_steps(trace, before)
        after_ps, device_after_ps = after.host_ps, _device_time_of_steps(trace, after)
        hands_over = find_launches(trace).handed_over_times is not None
        if hands_over:
            before_ps = max(before_ps, _handed_over_ps(device_before_ps, busy_ps, len(steps)))
            device_after_ps = _handed_over_ps(device_after_ps, min_ps, len(steps))
        after_ps = max(after_ps, device_after_ps)
        if worst_fixes:
            after_ps = max(after_ps, _min_serial_ps(trace, worst_fixes, removed, remaining, min_ps))
        gain_ps = before_ps - after_ps
        if hands_over:
            # The steps' time begins with the first run and may be shorter than the host's time for them.
            min_ps = max(min_ps, after_ps)
    return round(min(max_ps, max(min_ps, steps_ps - gain_ps)) / len(steps))


def removed_device_ps(trace: Trace, fix: Fix) -> int:
    """How much shorter a fix makes the busiest device's runs in the mean step at best, in ps; 0 if the capture does not
    allow a replay."""
    schedule, steps = find_schedule(trace), find_steps(trace)
    if schedule is None:
        return 0
    work = schedule.work
    before_ps = _busiest_device_ps(trace, schedule, work.device_ps)
    remaining = _remaining_device_work(trace, work, _is_launched_by(work, [fix.merged_launches]), [fix])
    after_ps = _busiest_device_ps(trace, schedule, remaining.device_ps)
    return round((before_ps - after_ps) / len(steps))


def removed_host_ps(trace: Trace, fix: Fix) -> int:
    """The host time that a fix removes from the mean step, or moves to another thread, in ps; 0 if the capture does not
    allow a replay."""
    schedule, steps = find_schedule(trace), find_steps(trace)
    if schedule is None:
        return 0
    return int(_removed_work_ps(trace, schedule, [fix]).sum()) // len(steps)


def return_delay_ps(trace: Trace, fix: Fix) -> int:
    """The total delay, over all steps, between the ends of runs and the ends of the waits for them that a fix removes,
    in ps. A wait in which no run ends counts in full. 0 if the capture does not allow a replay."""
    schedule = find_schedule(trace)
    if schedule is None:
        return 0
    host = schedule.host
    without_run = _removed_work_ps(trace, schedule, [fix])[:, WAIT]
    return int(host.delay_ps[_is_wait_removed(host, [fix])].sum() + without_run.sum())


def _is_wait_removed(host: HostWork, fixes: Sequence[Fix]) -> NDArray[np.bool_]:
    """Per segment, whether a fix removes waits of the kind at its end."""
    reads, blocking = any(fix.all_reads for fix in fixes), any(fix.blocking_waits for fix in fixes)
    all_waits = any(fix.all_waits for fix in fixes)
    return (reads & host.is_read) | (blocking & host.is_blocking) | (all_waits & ~host.is_own_run)


def _handed_over_ps(device_ps: int, busy_ps: int, step_count: int) -> int:
    """The total time of steps that the host hands over: from a device's first run to the end of its last one
    (`device_ps`), and once the mean idle time between two steps, for the first step."""
    return device_ps + max(device_ps - busy_ps, 0) // max(step_count - 1, 1)


def with_certain_device_time(fix: Fix) -> Fix:
    """The fix without the device time that may remain."""
    return replace(fix, repeated_launches=NO_LAUNCHES, unknown_launches=NO_LAUNCHES)


def _worst_case(fix: Fix) -> Fix:
    """The part of a fix that is certain."""
    uncertain = (*fix.moved_classes, "wait") if fix.blocking_waits or fix.all_waits else fix.moved_classes
    classes = tuple(name for name in fix.classes if name not in uncertain)
    device_ps = None if fix.device_at_best else fix.device_ps
    return replace(
        with_certain_device_time(fix), classes=classes, own_launches=NO_LAUNCHES, device_ps=device_ps
    )


def _device_time_of_steps(trace: Trace, times: ReplayTimes) -> int:
    """The time of the steps in a replay on the device that takes longest."""
    device_ps = times.device_ps
    if find_launches(trace).handed_over_times is None:  # else no step includes the time before the first run
        device_ps = device_ps + late_start_ps(trace)
    return int(device_ps.max())


def _min_serial_ps(
    trace: Trace, fixes: Sequence[Fix], removed: Int64, remaining: Int64, device_ps: int
) -> int:
    """The minimum total time of all steps if work that overlaps in the replay does not: loading in one other thread,
    and work of host and devices on the same processors."""
    columns = [CLASS_INDEX[name] for fix in fixes if fix.in_other_thread for name in fix.classes]
    other_thread_ps = int(removed[:, sorted(set(columns))].sum())
    shares_processors = bool(trace.devices) and trace.devices[0].from_host_events
    host_ps = int(remaining.sum() - remaining[:, WAIT].sum())
    return max(other_thread_ps, host_ps + device_ps if shares_processors else 0)


def _busiest_device_ps(trace: Trace, schedule: Schedule, device_ps: Int64) -> int:
    """How long the busiest device works for the steps if the schedule's runs take `device_ps`. Time in which runs
    overlap counts once."""
    runs, work = find_launches(trace).runs, schedule.work
    own_ps = (runs.end_ps - runs.own_start_ps)[work.run] - (work.device_ps - device_ps)
    by_device = np.bincount(work.device, np.maximum(own_ps, 0), minlength=len(trace.devices))
    return int((by_device + schedule.unknown_ps).max())
