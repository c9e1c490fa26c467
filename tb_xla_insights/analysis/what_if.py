"""How long a step would take without one of its costs: the capture replayed along its dependencies.

Method. The host is one sequence of work, by class (`classes.partition`), cut at the instants at which
launches were enqueued (where the runtime does so later by itself, at the call's end) and at which a run's end ended a
wait. A device core runs what it was given in order, each run beginning as long after the
later of its enqueuing and the end of the run before as it did in the capture. Where the host waited (`wait`,
or a read) until a run ended, the rest of its work follows that run's end, as late after it as in the capture.
Replayed unchanged this gives the capture's own times. A fix takes time away: host time of some classes, waits
for some runs, device time of some runs, and what a GPU's run waits inside for that host time; what depends on it moves
forward and everything else stays.

Limits. The answer is a lower bound of the step, and so an upper bound of the gain: what a fix would add is
not known, threads compete for the machine, and a wait that the capture never had to make is none in the
replay. It is never below what the busiest core works in a step, and never above the measured mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.classes import partition, thread_segments
from tb_xla_insights.analysis.idle import SLACK_PS, STARVED, find_gaps
from tb_xla_insights.analysis.intervals import Intervals, union, union_of
from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.segments import NOTHING, Segments
from tb_xla_insights.analysis.shares import class_shares, shares_inside
from tb_xla_insights.analysis.steps import step_times, steps_of
from tb_xla_insights.catalog.classes import CLASS_INDEX, CLASSES, DISPATCH, WAIT
from tb_xla_insights.compiled import kernel
from tb_xla_insights.trace.model import Int32, Int64, Trace

_FROM_DEVICE = CLASS_INDEX["from_device"]
_KNOWN_SHARE = 0.8
"""Of the runs in the steps, how many must have a known launch for a replay to mean something."""

NO_LAUNCHES: NDArray[np.intp] = np.zeros(0, np.intp)


@dataclass(frozen=True)
class Fix:
    """What to take away from one host's replay.

    `classes`: host time of these classes, everywhere within steps, or only before the launches `before` and after the
    launches `after` (indices into Launches, up to the launch before or behind). `released`: waits for runs of
    these launches, and what these runs waited for after they were enqueued. `reads`: all waits in reads.
    `device_ps`: per run of Launches.runs, device time that goes. `windows`: `classes` go in these stretches
    only (starts, ends), which lie apart.
    """

    classes: tuple[str, ...] = ()
    before: NDArray[np.intp] | None = None
    after: NDArray[np.intp] | None = None
    released: NDArray[np.intp] = field(default_factory=lambda: NO_LAUNCHES)
    reads: bool = False
    device_ps: Int64 | None = None
    windows: tuple[Int64, Int64] | None = None


@dataclass(frozen=True)
class _Model:
    """`on_device`: the steps are those that the device tells, which end when it is done. Points: the first
    step's start, launches by their enqueuing and ends of waits that a run's end ended, the last step's end. Per
    interval between two of them: the launch at its end (-1: none), host work before and after its wait, the run waited
    for (-1: none), how long after that run's end the wait lasted, whether it was a read. Per run, by point: its index,
    offset, delay, time, core, and the time it had that core for itself."""

    steps: int
    on_device: bool
    mean_ps: int
    points: Int64
    launch: Int32
    before: Int64
    after: Int64
    waits_for: Int32
    late_ps: Int64
    read: NDArray[np.bool_]
    first_run: Int64
    run: Int32
    offset_ps: Int64
    delay_ps: Int64
    device_ps: Int64
    core: Int32
    alone_ps: Int64
    free_ps: Int64


@kept
def _model(trace: Trace) -> _Model | None:
    """None where there are no steps, or too few runs have known launches."""
    steps, launches = steps_of(trace), find_launches(trace)
    runs = launches.runs
    if not steps or not len(launches):
        return None
    begin, end = steps[0].start_ps, steps[-1].end_ps
    known = (runs.launch >= 0) & (runs.enqueue_row >= 0)
    inside = (runs.start_ps >= begin) & (runs.start_ps < end)
    if (known & inside).sum() < _KNOWN_SHARE * inside.sum():
        return None
    when = np.full(len(launches), np.iinfo(np.int64).max)
    np.minimum.at(when, runs.launch[known], runs.enqueue_ps[known])
    when = np.minimum(when, trace.end_ps[launches.row])
    its = np.flatnonzero((when >= begin) & (when < end))
    its = np.intersect1d(its, runs.launch[known])
    if not its.size:
        return None
    waits = _waits(trace)
    woken = waits.end_ps[_ended_by(waits, np.sort(runs.end_ps[known]))]
    woken = np.setdiff1d(woken[(woken > begin) & (woken < end)], when[its])
    launch = np.concatenate((its, np.full(len(woken), -1)))
    inner = np.concatenate((when[its], woken))
    order = np.argsort(inner, kind="stable")
    launch, points = launch[order], np.concatenate(([begin], inner[order], [end])).astype(np.int64)
    place = np.full(len(launches) + 1, -1, np.int64)  # the last one: of no launch
    place[launch] = np.arange(len(launch))
    place[-1] = -1

    some = np.flatnonzero(known)
    some = some[place[runs.launch[some]] >= 0]
    number: Int32 = some[np.lexsort((runs.start_ps[some], place[runs.launch[some]]))].astype(np.int32)
    at = place[runs.launch[number]]
    offset = runs.enqueue_ps[number] - when[runs.launch[number]]
    delay = runs.start_ps[number] - np.maximum(runs.enqueue_ps[number], runs.free_ps[number])
    core_free = np.zeros(len(trace.devices), np.int64)
    others = np.setdiff1d(np.arange(len(runs)), number)
    earlier = others[runs.start_ps[others] < when[its].min()]
    np.maximum.at(core_free, runs.device[earlier], runs.end_ps[earlier] - begin)
    before, after, waits_for, late, read = _intervals(trace, points, number, at)
    mean = round(sum(step.duration_ps for step in steps) / len(steps))
    return _Model(
        len(steps), steps[0].on_device, mean,
        points, np.append(launch, -1).astype(np.int32), before, after, waits_for, late, read,
        np.searchsorted(at, np.arange(len(launch) + 2)), number, offset, delay,
        runs.duration_ps[number], runs.device[number].astype(np.int32),
        (runs.end_ps - runs.own_start_ps)[number], core_free,
    )  # fmt: skip


def _waits(trace: Trace) -> Segments:
    """Where the host waits or reads for longer than clocks may be apart. Waiting inside of one call is one wait,
    whatever its helpers launch meanwhile: the call returns when all of them have a place in the device's queue."""
    segments, drives = partition(trace), trace.lines_with("driving")
    own = thread_segments(trace, drives[0]) if drives else NOTHING
    call = np.searchsorted(own.start_ps, segments.start_ps, "right")
    waits = np.flatnonzero(np.isin(segments.kind, (WAIT, _FROM_DEVICE)))
    other = np.append(0, np.cumsum(~np.isin(segments.kind, (WAIT, DISPATCH))))
    first, second = waits[:-1], waits[1:]
    goes_on = (call[first] == call[second]) & (other[first] == other[second + 1])
    begins, ends = np.append(True, ~goes_on), np.append(~goes_on, True)
    begins, ends = waits[begins[: len(waits)]], waits[ends[-len(waits) or len(ends) :]]
    joined = Segments(
        segments.start_ps[begins], segments.end_ps[ends], segments.kind[begins], segments.row[begins]
    )
    return joined.where(joined.end_ps - joined.start_ps >= SLACK_PS)


def _ended_by(waits: Segments, ends_ps: Int64) -> NDArray[np.bool_]:
    """Within which waits some run ends; `ends_ps` ascending."""
    last = np.searchsorted(ends_ps, waits.end_ps, "right") - 1
    return (last >= 0) & (ends_ps[last] >= waits.start_ps)


def _intervals(
    trace: Trace, points: Int64, run: Int32, at: NDArray[np.int64]
) -> tuple[Int64, Int64, Int32, Int64, NDArray[np.bool_]]:
    """Host work before and after the last wait of each interval that a run's end ended; see _Model."""
    segments, runs = partition(trace), find_launches(trace).runs
    low, high = points[:-1], points[1:]
    total = class_shares(segments, low, high)
    waits = _waits(trace)
    wait_start, wait_end, kind = waits.start_ps, waits.end_ps, waits.kind
    count = len(low)
    none = np.full(count, -1, np.int32)
    if not wait_end.size or not len(run):
        return np.zeros_like(total), total, none, np.zeros(count, np.int64), np.zeros(count, np.bool_)
    last = np.searchsorted(wait_end, high, "right") - 1
    until = np.where(last >= 0, wait_end[last], 0)
    since = np.maximum(np.where(last >= 0, wait_start[last], 0), low)
    order = np.argsort(runs.end_ps[run], kind="stable")
    ended = np.searchsorted(runs.end_ps[run][order], until, "right") - 1
    which = order[np.maximum(ended, 0)]
    finish = runs.end_ps[run][which]
    # The run's end lies in the wait, and it was launched before the interval's end.
    ends_it = (last >= 0) & (until > low) & (ended >= 0) & (finish >= since) & (at[which] < np.arange(count))
    until = np.where(ends_it, until, low)
    before = class_shares(segments, low, until)
    after = total - before
    waited = np.where(ends_it, until - since, 0)
    before[np.arange(count), np.where(last >= 0, kind[last], WAIT)] -= waited
    return (
        before, after, np.where(ends_it, which, -1).astype(np.int32), np.where(ends_it, until - finish, 0),
        ends_it & (kind[last] == _FROM_DEVICE),
    )  # fmt: skip


@kernel(
    "int64(int64[::1], int64[::1], int32[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "int64[::1], int32[::1], int64[::1], int64[::1])"
)
def _replay(before, after, waits_for, late, first_run, offset, delay, device, core, free, ends):  # type: ignore[no-untyped-def]
    """When the host reaches the last point. `waits_for`, and the columns of runs, count runs by point. `ends` says when
    each run ends, `free` until when each core is busy; both change."""
    now = np.int64(0)
    for i in range(len(before)):
        now += before[i]
        if waits_for[i] >= 0:
            now = max(now, ends[waits_for[i]] + late[i])
        now += after[i]
        for run in range(first_run[i], first_run[i + 1]):
            start = max(now + offset[run], free[core[run]]) + delay[run]
            ends[run] = start + device[run]
            free[core[run]] = max(free[core[run]], ends[run])
    return now


@kept
def _unchanged(trace: Trace) -> int:
    model = _model(trace)
    if model is None:
        return 0
    return _run(model, model.before, model.after, model.waits_for, model.delay_ps, model.device_ps)


def _run(model: _Model, before: Int64, after: Int64, waits_for: Int32, delay: Int64, device: Int64) -> int:
    host = before.sum(axis=1), after.sum(axis=1), waits_for, model.late_ps
    free = model.free_ps.copy()
    cores = model.first_run, model.offset_ps, delay, device, model.core, free, np.zeros_like(device)
    host_ps = int(_replay(*host, *cores))
    return int(free.max()) if model.on_device else host_ps


def _windows(trace: Trace, fix: Fix) -> Intervals:
    """Where a fix takes host time away: what lies between steps is no part of any, so it stays."""
    inside = union(*step_times(trace))
    return inside if fix.windows is None else Intervals(*fix.windows).within(inside)


def _launches_around(model: _Model) -> tuple[Int32, Int32]:
    """Per interval the launch before and the one after it, -1: none."""
    count = len(model.launch)
    its = np.flatnonzero(model.launch >= 0)
    told = np.append(model.launch[its], np.int32(-1))
    done = np.searchsorted(its, np.arange(count))
    return np.where(done > 0, told[done - 1], np.int32(-1)), told[done]


def _host_time(trace: Trace, model: _Model, fixes: Sequence[Fix]) -> Int64:
    """Per interval of the model and class, the host time that fixes take away together: where two of them take the same
    time, it goes once."""
    low, high = model.points[:-1], model.points[1:]
    where: dict[int, list[Intervals]] = {}
    for fix in fixes:
        windows = _windows(trace, fix)
        if fix.before is not None or fix.after is not None:
            behind, ahead = _launches_around(model)
            chosen = np.zeros(len(model.launch), np.bool_)
            if fix.before is not None:
                chosen |= np.isin(ahead, fix.before)
            if fix.after is not None:
                chosen |= np.isin(behind, fix.after)
            windows = windows.within(union(low[chosen], high[chosen]))
        for name in fix.classes:
            where.setdefault(CLASS_INDEX[name], []).append(windows)
    goes = np.zeros((len(model.launch), len(CLASSES)), np.int64)
    shares: dict[tuple[int, ...], Int64] = {}
    for column, parts in where.items():
        key = tuple(map(id, parts))
        if key not in shares:
            windows = parts[0] if len(parts) == 1 else union_of(parts)
            shares[key] = shares_inside(partition(trace), windows, low, high)
        goes[:, column] = shares[key][:, column]
    return goes


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
        shares = shares_inside(partition(trace), windows, gaps.start_ps[inside], gaps.end_ps[inside])
        taken[:, columns] = shares[:, columns]
        launches = [chosen for chosen in (fix.before, fix.after) if chosen is not None]
        if launches:
            taken[~np.isin(runs.launch[gaps.run[inside]], np.concatenate(launches))] = 0
        np.maximum(goes, taken, out=goes)
    np.add.at(found, gaps.run[inside], goes.sum(axis=1))
    return found


def step_without(trace: Trace, *fixes: Fix) -> int | None:
    """The mean step of one host after some fixes together, in ps; None where the capture does not allow a replay."""
    model = _model(trace)
    if model is None:
        return None
    before, after = model.before.copy(), model.after.copy()
    goes = _host_time(trace, model, fixes)
    for part in (before, after):
        taken = np.minimum(part, goes)
        goes -= taken
        part -= taken
    launch_of_run = find_launches(trace).runs.launch[model.run]
    released = np.isin(launch_of_run, np.concatenate([fix.released for fix in fixes] or [NO_LAUNCHES]))
    reads = any(fix.reads for fix in fixes)
    free = (model.waits_for >= 0) & (released[model.waits_for] | (reads & model.read))
    waits_for = np.where(free, -1, model.waits_for).astype(np.int32)
    delay = np.where(released, np.minimum(model.delay_ps, 0), model.delay_ps)
    shorter = _inside_runs(trace, fixes)
    for fix in fixes:
        if fix.device_ps is not None:
            shorter += fix.device_ps
    device = model.device_ps - np.minimum(shorter[model.run], model.device_ps)
    gain = _unchanged(trace) - _run(model, before, after, waits_for, delay, device)
    # Runs that overlap keep their core busy once.
    alone = np.maximum(model.alone_ps - (model.device_ps - device), 0)
    work = float(np.bincount(model.core, alone, minlength=1).max())
    return min(model.mean_ps, max(round(work / model.steps), model.mean_ps - max(0, gain) // model.steps))
