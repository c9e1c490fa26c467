"""The part of a replay that is in no step, such as an evaluation between two steps, and the part of a step before its
device's first run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.handed_over_steps import MIN_LOOP_SHARE
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.replay.schedule import find_schedule, replay_unchanged
from tb_xla_insights.analysis.steps.sources import recorded_steps_at, recorded_times
from tb_xla_insights.analysis.steps.step_times import find_steps
from tb_xla_insights.trace.model import Int64, Trace


class TimeOutside(NamedTuple):
    """Time between the first and the last step that is in no step: the host's, and each device's."""

    host_ps: int
    device_ps: Int64


@memoised
def is_outside_steps(trace: Trace) -> NDArray[np.bool_]:
    """Per run of Launches.runs, whether it belongs to no step: no step launched it, and such launches are between few
    of the steps. Between most of them they are part of the loop, and delay its steps."""
    launches, starts_ps = find_launches(trace), recorded_times(trace)[0][: len(find_steps(trace))]
    is_outside = (launches.runs.launch >= 0) & (launches.step_of_run < 0)
    launched_ps = trace.start_ps[launches.row[launches.runs.launch[is_outside]]]
    before_step = np.unique(np.searchsorted(starts_ps, launched_ps))
    between = (before_step > 0) & (before_step < len(starts_ps))  # not those of steps that the capture cuts
    return is_outside & (int(between.sum()) <= MIN_LOOP_SHARE * (len(starts_ps) - 1))


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


def time_outside_steps(trace: Trace, wait_ps: Int64) -> TimeOutside:
    """The time outside of the steps in a replay. Requires a schedule. `wait_ps`: per segment of the host's work, how
    long the host waits at its end.

    If the host hands the steps over, the time is that from the end of the work of one step to the start of the next
    step. Otherwise it is the host's time between the steps' annotations; on a device, that of its runs outside of steps
    in place of the waits for them. Only these waits differ between replays.
    """
    schedule, launches, count = find_schedule(trace), find_launches(trace), len(find_steps(trace))
    assert schedule is not None
    starts, ends = (times[:count] for times in recorded_times(trace))
    between_ps = np.maximum(starts[1:] - np.maximum.accumulate(ends)[:-1], 0)
    runs, is_outside = launches.runs, is_outside_steps(trace)
    is_wait = np.append(is_outside[schedule.work.run], False)[schedule.host.waits_for] & (
        recorded_steps_at(trace, schedule.host.end_ps - 1) < 0
    )
    recorded_wait_ps = replay_unchanged(trace).wait_ps[is_wait].sum()
    if launches.handed_over_times is not None:
        breaks_ps = launches.handed_over_times[0][1:] - launches.handed_over_times[1][:-1]
        work_ps = between_ps[breaks_ps > 0].sum() - recorded_wait_ps
        device_ps = np.full(len(trace.devices), breaks_ps.sum())
    else:
        work_ps = between_ps.sum() - recorded_wait_ps
        device_ps = np.full(len(trace.devices), work_ps)
        replayed = schedule.work.run[is_outside[schedule.work.run]]
        np.add.at(device_ps, runs.device[replayed], (runs.end_ps - runs.own_start_ps)[replayed])
    return TimeOutside(int(work_ps + wait_ps[is_wait].sum()), device_ps)
