"""The contents of each step: host time by class, device work, and numbers of executions, compilations, syncs and
reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.compiles.calls import find_compile_calls
from tb_xla_insights.analysis.delays.early_executions import find_early_executions
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.busy import busy
from tb_xla_insights.analysis.idle.in_steps import work_per_core
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps, step_times, steps_at
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.class_times import class_times, covered_times, times_by_class
from tb_xla_insights.arrays import Int64
from tb_xla_insights.text.name_limit import shorten_name
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.steps import Step


def steps_report(trace: Trace) -> list[Step]:
    """The report's `steps`.

    `host_ps` adds up to the step's duration. `device_busy_ps` is how long the busiest device worked on the step's
    executions, whenever that was; if steps come from a device, how long the busiest one worked during the step.
    `device_work_ps` is how long a device worked during the step, on runs of any step: the mean over the host's devices
    with work, None if none recorded work (see `step_idle`). `executions` counts launches. `compiles` counts
    compilations that begin in the step.
    """
    rows: list[Step] = []
    host_ps = host_times(trace)
    counts = (
        device_busy_ps(trace),
        _count_launches(trace),
        _count_compilations(trace),
        *find_early_executions(trace).per_step(trace),
    )
    columns = zip(*(column.tolist() for column in counts), strict=True)
    work = work_per_core(trace)
    for index, (step, (busy_ps, executions, compiles, early_executions, input_syncs, reads)) in enumerate(
        zip(find_steps(trace), columns, strict=True)
    ):
        rows.append(
            {
                "index": index,
                "name": shorten_name(step.name),
                "number": step.number,
                "source": step.source,
                "host": step.host,
                "start_ps": step.start_ps,
                "duration_ps": step.duration_ps,
                "host_ps": times_by_class(host_ps[index]),
                "device_busy_ps": busy_ps,
                "device_work_ps": None if work is None else int(work[index]),
                "executions": executions,
                "compiles": compiles,
                "early_syncs": early_executions,
                "input_syncs": input_syncs,
                "from_device": reads,
            }
        )
    return rows


@memoised
def host_times(trace: Trace) -> Int64:
    """Returns the host's time in each step, one column per class."""
    return class_times(host_class_segments(trace), *step_times(trace))


@memoised
def device_busy_ps(trace: Trace) -> Int64:
    """Returns, per step, the maximum over the devices of the time that a device was busy with the step's runs; if steps
    come from a device, of the time that it was busy during the step."""
    launches, steps = find_launches(trace), find_steps(trace)
    runs = launches.runs
    busiest = np.zeros(len(steps), np.int64)
    for index, device in enumerate(trace.devices):
        of_device, busy_times = runs.of_device(index), busy(trace, device)
        start, end = runs.own_start_ps[of_device], runs.end_ps[of_device]
        step = launches.step_of_run[of_device]
        if steps and steps[0].on_device:
            (start, end), step = step_times(trace), np.arange(len(steps), dtype=np.int32)
        work = covered_times(busy_times.start_ps, busy_times.end_ps, start, end)
        busy_ps_of_device = np.zeros(len(steps), np.int64)
        np.add.at(busy_ps_of_device, step[step >= 0], work[step >= 0])
        np.maximum(busiest, busy_ps_of_device, out=busiest)
    return busiest


def _count_launches(trace: Trace) -> Int64:
    step = find_launches(trace).step
    return np.bincount(step[step >= 0], minlength=len(find_steps(trace)))


def _count_compilations(trace: Trace) -> Int64:
    step = steps_at(trace, find_compile_calls(trace).start_ps)
    return np.bincount(step[step >= 0], minlength=len(find_steps(trace)))
