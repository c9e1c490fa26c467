"""The times of steps whose work the host only hands over to the devices."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.thresholds import WARNING_SHARE
from tb_xla_insights.arrays import Int32, Int64

_MIN_LATE_SHARE = 0.5
"""Of the steps with device work: the share whose work must end after the host has left the step."""

_MIN_AHEAD_SHARE = 0.25
"""Of the steps: the share whose work must end after the host has left even the next step."""

_MAX_QUICK_SHARE, _MIN_QUICK_STEPS = 0.5, 2
"""Of the median step's time: if the host leaves a step sooner, it hands steps over quickly if nothing holds it up. This
many such steps show that the host is not as slow as the devices."""


def handed_over_times(
    start_ps: Int64, end_ps: Int64, step_of_run: Int32, run_start_ps: Int64, run_end_ps: Int64
) -> tuple[Int64, Int64] | None:
    """Returns start and end of each whole step if the host only hands steps over and runs ahead, else None.

    `start_ps`, `end_ps`: when the host is in each step, until the next one. `step_of_run`: the step that launched each
    run, -1: none. `run_start_ps`, `run_end_ps`: the runs' times.

    The host only hands steps over in two cases. First: of the steps with work, at least half have work that ends after
    the host has left them, and the median time between the ends of two successive steps' work is more than a tenth
    longer than the host's median step, without the first one. Second: the work of at least a quarter of the steps ends
    after the host has left the next step, and at least two of the host's steps are less than half as long as that
    median time. The second case needs both conditions: a host that is as slow as the devices may run ahead of them
    after a long run, and a host that a full queue holds up is quick before the queue is full.

    A step then lasts from the end of the previous step's work to the end of its own, on host and device. The first step
    has no previous one: it starts before its own work by the median time between the start of a step and that of its
    work (negative if cores work on two steps at once), but not before its annotation. If no time were left to it, it
    starts with its work. Steps at the capture's end without recorded work are not whole. (docs/definitions.md, "Step")
    """
    is_launched = step_of_run >= 0
    work_end = np.full(len(start_ps), -1, np.int64)
    np.maximum.at(work_end, step_of_run[is_launched], run_end_ps[is_launched])
    with_work = np.flatnonzero(work_end >= 0)
    if len(with_work) < 2:
        return None
    count = int(with_work[-1]) + 1
    ends = np.maximum.accumulate(np.maximum(work_end, end_ps)[:count])
    is_late = (work_end > end_ps)[with_work].sum() >= _MIN_LATE_SHARE * len(with_work)
    step_ps, host_ps = np.diff(ends), (end_ps - start_ps)[:count]
    is_longer = np.median(step_ps) > (1 + WARNING_SHARE) * np.median(host_ps[1:])
    is_quick = (host_ps < _MAX_QUICK_SHARE * np.median(step_ps)).sum() >= _MIN_QUICK_STEPS
    is_ahead = (work_end[: count - 1] > end_ps[1:count]).sum() >= _MIN_AHEAD_SHARE * (count - 1)
    if not ((is_late and is_longer) or (is_ahead and is_quick)):
        return None
    starts = np.append(start_ps[:1], ends[:-1])
    first_run = ends.copy()
    is_launched &= step_of_run < count
    np.minimum.at(first_run, step_of_run[is_launched], run_start_ps[is_launched])
    # Negative if cores begin a step before others have ended the previous one.
    time_to_work_ps = np.median((first_run - starts)[1:]).astype(np.int64)
    first_start_ps = first_run[0] - time_to_work_ps
    starts[0] = max(starts[0], first_start_ps if first_start_ps < ends[0] else first_run[0])
    return starts, ends
