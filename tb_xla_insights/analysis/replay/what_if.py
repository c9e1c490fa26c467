"""How long a step would take without some of its costs: the capture replayed along its dependencies (`schedule`).

A fix takes time away: host time of some classes, waits for some runs, device time of some runs, and what a GPU's run
waits inside for that host time; it may make launches parts of the ones behind them. What depends on it moves forward
and everything else stays.

Limits. What a fix would add is not known, nor a wait that the capture never had to make. What is known to be uncertain
makes the answer a range: see `Fix` and `step_without`. (docs/definitions.md, "What if")
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.idle_time import STARVED, find_gaps
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.replay.schedule import Host, Schedule, Work, find_schedule, replay_schedule
from tb_xla_insights.analysis.steps.sources import recorded_times
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.analysis.time.class_times import class_times_inside
from tb_xla_insights.analysis.time.intervals import Intervals, union, union_all
from tb_xla_insights.catalog.classes import CLASS_INDEX, CLASSES, WAIT
from tb_xla_insights.trace.model import Int32, Int64, Trace

NO_LAUNCHES: NDArray[np.intp] = np.zeros(0, np.intp)


@dataclass(frozen=True)
class Fix:
    """What to take away from one host's replay.

    `classes`: host time of these classes, everywhere within steps, or only in some `windows` (starts, ends, which lie
    apart), or only in what leads to the launches `before` (indices into Launches). `reads`: all waits in reads;
    `blocks`: all in which the program itself waits for the device; `waits`: all waits for runs.
    `merged`: launches that become part of the next one behind them in their step that is not merged itself; nothing
    waits for their runs. `device_ps`: per run of Launches.runs, device time that goes.

    At best only: the work of the launches `repeated` goes, some of `merged`, since what they become part of does it
    again; so does that of the launches `unknown`, of which the capture does not tell what is left, host time of the
    classes `moved`, and what `reads`, `blocks` and `waits` last beyond the runs' ends (`return_delay_ps`). With
    `aside`, one other thread does what goes, and steps wait for it at worst.
    """

    classes: tuple[str, ...] = ()
    windows: tuple[Int64, Int64] | None = None
    before: NDArray[np.intp] | None = None
    reads: bool = False
    blocks: bool = False
    waits: bool = False
    merged: NDArray[np.intp] = field(default_factory=lambda: NO_LAUNCHES)
    device_ps: Int64 | None = None
    repeated: NDArray[np.intp] = field(default_factory=lambda: NO_LAUNCHES)
    unknown: NDArray[np.intp] = field(default_factory=lambda: NO_LAUNCHES)
    moved: tuple[str, ...] = ()
    aside: bool = False


@memoised
def _unchanged(trace: Trace) -> tuple[int, int, int]:
    schedule = find_schedule(trace)
    if schedule is None:
        return 0, 0, 0
    host = schedule.host
    return replay_schedule(schedule, host.work_ps.sum(axis=1), host.waits_for, schedule.work)


@memoised
def _in_steps(trace: Trace) -> Intervals:
    """While the host is in steps. What lies between them is no part of any, but where they are handed over and one
    follows the other at once."""
    starts, ends = (times[: len(steps_of(trace))].copy() for times in recorded_times(trace))
    lasts = find_launches(trace).handed_over
    if lasts is not None:
        at_once = lasts[0][1:] == lasts[1][:-1]
        starts[1:][at_once] = ends[:-1][at_once]
    return union(starts, ends)


@memoised
def _shares_in_steps(trace: Trace) -> Int64:
    """Per stretch of the host's work and class, the time in steps; there is a schedule."""
    schedule = find_schedule(trace)
    assert schedule is not None
    return class_times_inside(
        host_class_segments(trace), _in_steps(trace), schedule.host.start_ps, schedule.host.end_ps
    )


def _windows(trace: Trace, fix: Fix) -> Intervals:
    """Where a fix takes host time away."""
    inside = _in_steps(trace)
    return inside if fix.windows is None else Intervals(*fix.windows).within(inside)


def _leading_to(trace: Trace, chosen: NDArray[np.intp]) -> Intervals:
    """Where the host works towards some launches: from the end of the step marker, synchronisation or call that handed
    the launch before over, to the end of their own."""
    launches = find_launches(trace)
    asked = np.where(launches.marker >= 0, launches.marker, launches.sync)
    until = np.maximum.accumulate(trace.end_ps[np.where(asked >= 0, asked, launches.row)])
    since = np.append(np.int64(0), until)[:-1]
    return union(since[chosen], until[chosen])


def _host_time(trace: Trace, schedule: Schedule, fixes: Sequence[Fix]) -> Int64:
    """Per stretch of the host's work and class, what goes: where two fixes take the same time, it goes once."""
    host = schedule.host
    where: dict[int, dict[int, Intervals]] = {}
    for fix in fixes:
        windows = _windows(trace, fix)
        if fix.before is not None:
            windows = windows.within(_leading_to(trace, fix.before))
        for name in fix.classes:
            where.setdefault(CLASS_INDEX[name], {})[id(windows)] = windows
    goes = np.zeros_like(host.work_ps)
    shares: dict[tuple[int, ...], Int64] = {(id(_in_steps(trace)),): _shares_in_steps(trace)}
    for column, parts in where.items():
        key = tuple(parts)
        if key not in shares:
            windows = union_all([*parts.values()])
            shares[key] = class_times_inside(host_class_segments(trace), windows, host.start_ps, host.end_ps)
        goes[:, column] = shares[key][:, column]
    return np.minimum(goes, host.work_ps)


def _inside_runs(trace: Trace, fixes: Sequence[Fix]) -> Int64:
    """Per run of Launches.runs, the host time that fixes take away from starved gaps inside it: a GPU's run whose
    kernels come late is shorter where they do not. Of two fixes of one class in one gap, the one that takes more
    counts."""
    gaps, runs = find_gaps(trace), find_launches(trace).runs
    found = np.zeros(len(runs), np.int64)
    inside = np.flatnonzero((gaps.kind == STARVED) & gaps.inside)
    if not inside.size:
        return found
    goes = np.zeros((len(inside), len(CLASSES)), np.int64)
    for fix in fixes:
        columns = np.array([CLASS_INDEX[name] for name in fix.classes], np.intp)
        taken = np.zeros_like(goes)
        windows = _windows(trace, fix)
        shares = class_times_inside(
            host_class_segments(trace), windows, gaps.start_ps[inside], gaps.end_ps[inside]
        )
        taken[:, columns] = shares[:, columns]
        if fix.before is not None:
            taken[~np.isin(runs.launch[gaps.run[inside]], fix.before)] = 0
        np.maximum(goes, taken, out=goes)
    np.add.at(found, gaps.run[inside], goes.sum(axis=1))
    return found


def _targets(trace: Trace, work: Work, merged: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Per run, itself; or if it is merged, what it becomes a part of: the next run on its core that is not merged and
    that the same step launched, where there is one."""
    step = find_launches(trace).step[work.launch]
    target = np.arange(len(merged))
    for core in np.unique(work.core[merged]).tolist():
        of_core = np.flatnonzero(work.core == core)
        whole = of_core[~merged[of_core]]
        behind = np.append(whole, -1)[np.searchsorted(whole, of_core)]
        target[of_core] = np.where((behind >= 0) & (step[behind] == step[of_core]), behind, of_core)
    return target


def _device_work(trace: Trace, work: Work, fixes: Sequence[Fix]) -> Work:
    """What is left of the devices' work, launched where it is merged."""
    merged = np.isin(work.launch, _all(fix.merged for fix in fixes))
    target = _targets(trace, work, merged)
    shorter = _inside_runs(trace, fixes)
    for fix in fixes:
        if fix.device_ps is not None:
            shorter += fix.device_ps
    goes = shorter[work.run]
    again = np.isin(work.launch, _all(fix.repeated for fix in fixes)) & (target != np.arange(len(target)))
    goes = np.where(again, np.maximum(goes, work.device_ps[target]), goes)
    goes = np.where(np.isin(work.launch, _all(fix.unknown for fix in fixes)), work.device_ps, goes)
    return replace(
        work,
        cut=work.cut[target],
        ready_ps=work.ready_ps[target],
        pause_ps=np.where(merged, np.minimum(work.pause_ps, 0), work.pause_ps),
        device_ps=work.device_ps - np.minimum(goes, work.device_ps),
    )


def _all(launches: Iterable[NDArray[np.intp]]) -> NDArray[np.intp]:
    return np.concatenate([NO_LAUNCHES, *launches])


def step_without(trace: Trace, *at_best: Fix, at_worst: Sequence[Fix] = ()) -> int | None:
    """The mean step of one host after some fixes together, in ps; None where the capture does not allow a replay.

    Of the fixes `at_worst`, what may take as long elsewhere does (see Fix), and where the devices' work runs on the
    host's processors, the two take turns. Without fixes it is the mean of the trace's steps (docs/definitions.md,
    "What if").
    """
    schedule, steps = find_schedule(trace), steps_of(trace)
    if schedule is None:
        return None
    host, work = schedule.host, schedule.work
    worse = [_worse(fix) for fix in at_worst]
    fixes = [*at_best, *worse]
    merged = np.isin(work.launch, _all(fix.merged for fix in fixes))
    free = (host.waits_for >= 0) & (merged[host.waits_for] | _freed(host, fixes))
    waits_for: Int32 = np.where(free, -1, host.waits_for).astype(np.int32)
    goes = _host_time(trace, schedule, fixes)
    left = host.work_ps - goes
    stays = free & ~merged[host.waits_for] & ~_freed(host, at_best)
    left[:, WAIT] += np.where(stays, host.late_ps, 0)
    changed = _device_work(trace, work, fixes)
    host_ps, done_ps, devices_ps = replay_schedule(schedule, left.sum(axis=1), waits_for, changed)
    least_ps = _least(trace, work, changed.device_ps)
    before_host_ps, before_done_ps, before_devices_ps = _unchanged(trace)
    steps_ps = sum(step.duration_ps for step in steps)
    if steps[0].on_device:
        longest, gain = steps_ps, before_done_ps - done_ps
    else:
        busy_ps = _least(trace, work, work.device_ps)
        longest = max(steps_ps, busy_ps)
        total, before = max(host_ps, devices_ps), before_host_ps
        if find_launches(trace).handed_over is not None:
            before = max(before_host_ps, _with_lead(before_devices_ps, busy_ps, len(steps)))
            total = max(host_ps, _with_lead(devices_ps, least_ps, len(steps)))
        if worse:
            total = max(total, _at_worst(trace, worse, goes, left, least_ps))
        gain = before - total
        if find_launches(trace).handed_over is not None:
            # Their time begins with the first run: less than the host may need for them.
            least_ps = max(least_ps, total)
    return round(min(longest, max(least_ps, steps_ps - gain)) / len(steps))


def shorter_runs(trace: Trace, fix: Fix) -> int:
    """How much shorter the busiest core's runs of the mean step of one host are after a fix at best, in ps; 0 where
    nothing can be replayed."""
    schedule, steps = find_schedule(trace), steps_of(trace)
    if schedule is None:
        return 0
    work = schedule.work
    left = _least(trace, work, _device_work(trace, work, [fix]).device_ps)
    return round((_least(trace, work, work.device_ps) - left) / len(steps))


def return_delay_ps(trace: Trace, fix: Fix) -> int:
    """How long the waits that a fix takes away last beyond the ends of the runs that they are for, in all steps
    together, in ps; a wait in which no run ends is late from its start. 0 where nothing can be replayed."""
    schedule = find_schedule(trace)
    if schedule is None:
        return 0
    host = schedule.host
    without_run = _host_time(trace, schedule, [fix])[:, WAIT]
    return int(host.late_ps[_freed(host, [fix])].sum() + without_run.sum())


def _freed(host: Host, fixes: Sequence[Fix]) -> NDArray[np.bool_]:
    """Per stretch, whether a fix takes the kind of wait away that is at its end."""
    reads, blocks = any(fix.reads for fix in fixes), any(fix.blocks for fix in fixes)
    return (reads & host.read) | (blocks & host.asked) | any(fix.waits for fix in fixes)


def _with_lead(devices_ps: int, busy_ps: int, steps: int) -> int:
    """What steps that the host hands over take together: from the first run to the end of the last one, and before
    that as long as the device is idle between two of them."""
    return devices_ps + max(devices_ps - busy_ps, 0) // max(steps - 1, 1)


def _worse(fix: Fix) -> Fix:
    """What a fix takes away at worst."""
    stays = (*fix.moved, "wait") if fix.blocks or fix.waits else fix.moved
    classes = tuple(name for name in fix.classes if name not in stays)
    return replace(fix, classes=classes, repeated=NO_LAUNCHES, unknown=NO_LAUNCHES)


def _at_worst(trace: Trace, fixes: Sequence[Fix], goes: Int64, left: Int64, device_ps: int) -> int:
    """What all steps together take at least where something that overlaps in the replay does not: loading in one
    thread, and work of host and devices on the same processors."""
    columns = [CLASS_INDEX[name] for fix in fixes if fix.aside for name in fix.classes]
    aside = int(goes[:, sorted(set(columns))].sum())
    shared = bool(trace.devices) and trace.devices[0].from_host_events
    busy = int(left.sum() - left[:, WAIT].sum())
    return max(aside, busy + device_ps if shared else 0)


def _least(trace: Trace, work: Work, device_ps: Int64) -> int:
    """How long the busiest core works: where runs overlap it is busy once."""
    runs = find_launches(trace).runs
    alone = (runs.end_ps - runs.own_start_ps)[work.run] - (work.device_ps - device_ps)
    return int(np.bincount(work.core, np.maximum(alone, 0), minlength=1).max())
