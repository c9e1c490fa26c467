"""What depended on what in a capture: host work, launches, runs, and waits for runs; and when all of it is done if some
of it changes.

The host is one sequence of work, by class (`classes.partition`), cut where a launch was enqueued and where a wait for a
run ended. A device core runs what it was given in order: a run begins as long after its enqueuing as it did in the
capture if its core was idle then, else as long after the run before. Where the host waited until a run ended, the rest
of its work follows that run's end, as late after it as in the capture. Replayed unchanged this gives the capture's own
times. (docs/definitions.md, "What if")
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis import kernels
from tb_xla_insights.analysis.host.blocking_waits import blocking_intervals
from tb_xla_insights.analysis.host.classes import host_class_segments, thread_segments
from tb_xla_insights.analysis.idle.idle_time import CLOCK_SLACK_PS
from tb_xla_insights.analysis.launches.launches import Launches, find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.sources import recorded_steps
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.analysis.time.class_times import class_times
from tb_xla_insights.analysis.time.segments import NO_SEGMENTS, Segments
from tb_xla_insights.catalog.classes import DISPATCH, FROM_DEVICE, WAIT
from tb_xla_insights.trace.model import Int8, Int32, Int64, Trace

_KNOWN_SHARE = 0.8
"""Of the runs in the steps, how many must have a known launch for a replay to mean something."""

_NEVER = np.iinfo(np.int64).max

_WAIT, _LAUNCH, _END = range(3)
"""What cuts the host's work, in the order that cuts at the same instant have."""


@dataclass(frozen=True)
class Host:
    """One host's work, an entry per stretch between two cuts.

    `start_ps`, `end_ps`: when it lay in the capture. `work_ps`: what the host did, a column per class, without the wait
    at its end. `waits_for`: the run (index into Work) that the wait was for, -1 without one; `late_ps`: how long after
    that run's end it lasted; `read`: whether it was a read from the device, `asked`: whether the program itself waited
    (`find_blocks`). `launch`: the one at its end, -1: none.
    """

    start_ps: Int64
    end_ps: Int64
    work_ps: Int64
    waits_for: Int32
    late_ps: Int64
    read: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    launch: Int32


@dataclass(frozen=True)
class Work:
    """The devices' work, an entry per run, in the order in which runs were enqueued.

    `run`: index into Launches.runs. `launch`: whose run it is. `cut`: the stretch of the host's work at whose end it is
    launched. `ready_ps`: how long after that it can begin, `pause_ps`: how long after the run before on its core; below
    0 where the two overlap. `device_ps`: how long it runs. `core`: index into the trace's devices.
    """

    run: Int32
    launch: Int32
    cut: Int32
    ready_ps: Int64
    pause_ps: Int64
    device_ps: Int64
    core: Int32


@dataclass(frozen=True)
class Schedule:
    """One host and its devices, while the host is in steps: from the start of the first to the end of the last one.
    `core_free_ps`: until when each core is busy with earlier runs, from the start on; below 0 where its first run began
    before that."""

    host: Host
    work: Work
    core_free_ps: Int64


@memoised
def find_schedule(trace: Trace) -> Schedule | None:
    """None where there are no steps, or too few runs have known launches."""
    steps, launches = recorded_steps(trace)[: len(steps_of(trace))], find_launches(trace)
    runs = launches.runs
    if not steps or not len(launches):
        return None
    begin, end = steps[0].start_ps, steps[-1].end_ps
    known = (runs.launch >= 0) & (runs.enqueue_row >= 0)
    inside = (runs.start_ps >= begin) & (runs.start_ps < end)
    if (known & inside).sum() < _KNOWN_SHARE * inside.sum():
        return None
    when = np.full(len(launches), _NEVER)
    np.minimum.at(when, runs.launch[known], runs.enqueue_ps[known])
    # Where the runtime enqueues later by itself, the host is done when the call is.
    when = np.where(when < _NEVER, np.minimum(when, trace.end_ps[launches.row]), when)
    # What a step's work was enqueued before the first step, as where a run makes the step, was ready when that began.
    ahead = (launches.step >= 0) & (when < begin)
    when = np.where(ahead, begin, when)
    placed = np.flatnonzero((when >= begin) & (when < end))
    if not placed.size:
        return None
    cuts = _cuts(trace, begin, end, placed, when[placed])
    if steps[0].on_device:  # what begins when the last of them is over is no part of any
        known &= runs.start_ps < end
    place = np.full(len(launches), -1, np.int32)  # the stretch at whose end each launch is
    place[cuts.index[cuts.kind == _LAUNCH]] = np.flatnonzero(cuts.kind == _LAUNCH)
    work = _work(launches, np.flatnonzero(known & (place[runs.launch] >= 0)), place, when)
    core_free = np.zeros(len(trace.devices), np.int64)
    of_ahead = work.run[ahead[work.launch]]  # other cores may begin before the one that tells the steps
    np.minimum.at(core_free, runs.device[of_ahead], runs.start_ps[of_ahead] - begin)
    earlier = np.setdiff1d(np.flatnonzero(runs.start_ps < when[placed].min()), work.run)
    np.maximum.at(core_free, runs.device[earlier], runs.end_ps[earlier] - begin)
    return Schedule(_host(trace, cuts, work), work, core_free)


@dataclass(frozen=True)
class _Cuts:
    """Stretches of the host's work by what is at their ends: `kind`, and `index`, the launch or the wait."""

    start_ps: Int64
    end_ps: Int64
    kind: Int8
    index: NDArray[np.intp]


def _cuts(trace: Trace, begin: int, end: int, placed: NDArray[np.intp], when: Int64) -> _Cuts:
    """`when` the launches `placed` were enqueued."""
    ends_ps = _waits(trace).end_ps
    waits = np.flatnonzero((ends_ps > begin) & (ends_ps <= end))
    at = np.concatenate((ends_ps[waits], when, [end]))
    kind = np.repeat(np.arange(3, dtype=np.int8), [len(waits), len(placed), 1])
    index = np.concatenate((waits, placed, [-1]))
    order = np.lexsort((kind, at))
    ends = at[order]
    return _Cuts(np.append(np.int64(begin), ends)[:-1], ends, kind[order], index[order])


@memoised
def _waits(trace: Trace) -> Segments:
    """Where the host waits or reads for longer than clocks may be apart. Waiting inside of one call is one wait,
    whatever its helpers launch meanwhile: the call returns when all of them have a place in the device's queue."""
    segments, drives = host_class_segments(trace), trace.lines_with("driving")
    own = thread_segments(trace, drives[0]) if drives else NO_SEGMENTS
    waits = np.flatnonzero((segments.class_index == WAIT) | (segments.class_index == FROM_DEVICE))
    call = np.searchsorted(own.start_ps, segments.start_ps[waits], "right")
    other = np.append(0, np.cumsum((segments.class_index != WAIT) & (segments.class_index != DISPATCH)))
    goes_on = (call[:-1] == call[1:]) & (other[waits[:-1]] == other[waits[1:] + 1])
    begins, ends = np.append(True, ~goes_on), np.append(~goes_on, True)
    begins, ends = waits[begins[: len(waits)]], waits[ends[-len(waits) or len(ends) :]]
    joined = Segments(
        segments.start_ps[begins], segments.end_ps[ends], segments.class_index[begins], segments.row[begins]
    )
    return joined.select(joined.end_ps - joined.start_ps >= CLOCK_SLACK_PS)


def _work(launches: Launches, run: NDArray[np.intp], place: Int32, when: Int64) -> Work:
    """Of some runs (indices into Launches.runs), `when` each launch was enqueued first. What a run found idle, it could
    have begun on no sooner; it was ready when it was enqueued where it found its core at work."""
    runs = launches.runs
    run = run[np.lexsort((runs.start_ps[run], place[runs.launch[run]]))]
    launch = runs.launch[run]
    start, enqueue, free = runs.start_ps[run], runs.enqueue_ps[run], runs.free_ps[run]
    queued = free > enqueue
    ready = np.where(queued, enqueue, start) - when[launch]
    pause = np.where(queued, start - np.where(queued, free, start), 0)
    return Work(
        run.astype(np.int32), launch, place[launch], ready, pause, runs.duration_ps[run], runs.device[run]
    )


def _host(trace: Trace, cuts: _Cuts, work: Work) -> Host:
    """A wait is one for the last run that ended in it and was launched before it, or before the last cut in it."""
    waits, finish = _waits(trace), find_launches(trace).runs.end_ps[work.run]
    at = np.flatnonzero(cuts.kind == _WAIT)
    since = np.maximum(waits.start_ps[cuts.index[at]], cuts.start_ps[at])
    order = np.argsort(finish, kind="stable")
    run = np.append(order, -1)[np.searchsorted(finish[order], cuts.end_ps[at], "right") - 1]
    known = (run >= 0) & (np.append(finish, 0)[run] >= since) & (np.append(work.cut, 0)[run] < at)
    at, run, since = at[known], run[known], since[known]
    waits_for, until = np.full(len(cuts.kind), -1, np.int32), cuts.end_ps.copy()
    late, read = np.zeros(len(cuts.kind), np.int64), np.zeros(len(cuts.kind), np.bool_)
    asked, blocks = np.zeros(len(cuts.kind), np.bool_), blocking_intervals(trace)
    waits_for[at], until[at], late[at] = run, since, cuts.end_ps[at] - finish[run]
    read[at] = waits.class_index[cuts.index[at]] == FROM_DEVICE
    block = np.searchsorted(blocks.start_ps, cuts.end_ps[at]) - 1
    asked[at] = (block >= 0) & (cuts.end_ps[at] <= np.append(blocks.end_ps, 0)[block])
    shares = class_times(host_class_segments(trace), cuts.start_ps, until)
    launch = np.where(cuts.kind == _LAUNCH, cuts.index, -1).astype(np.int32)
    return Host(cuts.start_ps, cuts.end_ps, shares, waits_for, late, read, asked, launch)


def replay_schedule(schedule: Schedule, host_ps: Int64, waits_for: Int32, work: Work) -> tuple[int, int, int]:
    """With other host work (a sum per stretch), waits and device work: when the host is done and when the devices are,
    and the longest time from a core's first run to its last one's end, which is what the steps take where the devices
    are the limit: what goes before the first run is the start-up of a loop that goes on."""
    order = np.argsort(work.cut, kind="stable").astype(np.int32)
    first = np.searchsorted(work.cut[order], np.arange(len(host_ps) + 1)).astype(np.int64)
    free, ends = schedule.core_free_ps.copy(), np.zeros(len(order), np.int64)
    begun = np.where(free > 0, free, np.iinfo(np.int64).max)
    columns = work.ready_ps, work.pause_ps, work.device_ps, work.core, free, begun, ends
    done = kernels.replay(host_ps, waits_for, schedule.host.late_ps, first, order, *columns)
    return done, int(free.max()), int(np.maximum(free - begun, 0).max())
