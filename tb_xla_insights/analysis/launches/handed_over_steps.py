"""The time that steps take which the host only hands over to the devices."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.thresholds import WARNING_SHARE
from tb_xla_insights.trace.model import Int32, Int64

_LATE_SHARE = 0.5
"""Steps whose work ends after the host has left them, among those that have any."""

_AHEAD_SHARE = 0.25
"""Steps whose work ends after the host has left the next one, too."""

_QUICK_SHARE, _FEWEST_QUICK = 0.5, 2
"""Of the median step: in how much of its time the host hands one over that nothing holds up, and how many such steps
tell that it is not as slow as the devices."""

_LOOP_SHARE = 0.5
"""Of the steps, those before which other work runs: from there on it is the loop's own, and part of the steps."""


def handed_over(
    start_ps: Int64, end_ps: Int64, step_of_run: Int32, run_start_ps: Int64, run_end_ps: Int64
) -> tuple[Int64, Int64] | None:
    """When each whole step starts and ends, where the host only hands steps over and runs ahead; else None.

    `start_ps` and `end_ps`: when the host is in each step. Of runs: the step that launched each (-1: none), and its
    time. The host hands steps over where at least half of them have work that ends later than their annotation, and
    the median annotation is more than a tenth shorter than the median time from the end of one step's work to the end
    of the next one's; or where the work of a quarter of them ends later than the annotation after theirs, and two
    annotations at least are less than half as long as that median: a host that is as slow as the devices may run ahead
    of them after a long run, and one that a full queue holds up is quick before it is full. There a step lasts from the
    end of the work before it to the end of its own, on host and device. The first one, before which nothing ran, starts
    as long before its own work as the median step does. Steps at the capture's end of whose work nothing was recorded
    are not whole. (docs/definitions.md, "Step")
    """
    mine = step_of_run >= 0
    done = np.full(len(start_ps), -1, np.int64)
    np.maximum.at(done, step_of_run[mine], run_end_ps[mine])
    worked = np.flatnonzero(done >= 0)
    if len(worked) < 2:
        return None
    count = int(worked[-1]) + 1
    ends = np.maximum.accumulate(np.maximum(done, end_ps)[:count])
    late = (done > end_ps)[worked].sum() >= _LATE_SHARE * len(worked)
    lasted, annotated = np.diff(ends), (end_ps - start_ps)[:count]
    longer = np.median(lasted) > (1 + WARNING_SHARE) * np.median(annotated[1:])
    quick = (annotated < _QUICK_SHARE * np.median(lasted)).sum() >= _FEWEST_QUICK
    ahead = (done[: count - 1] > end_ps[1:count]).sum() >= _AHEAD_SHARE * (count - 1)
    if not ((late and longer) or (ahead and quick)):
        return None
    starts = np.append(start_ps[:1], ends[:-1])
    first = ends.copy()
    mine &= step_of_run < count
    np.minimum.at(first, step_of_run[mine], run_start_ps[mine])
    starts = _after_other_work(
        starts, ends, first, run_start_ps[step_of_run < 0], run_end_ps[step_of_run < 0]
    )
    lead = np.median((first - starts)[1:]).astype(np.int64)
    starts[0] = max(starts[0], first[0] - lead)
    return starts, ends


def _after_other_work(
    start_ps: Int64, end_ps: Int64, first_ps: Int64, other_start_ps: Int64, other_end_ps: Int64
) -> Int64:
    """The starts of steps, behind what no step launched and ran before their own work (from `first_ps` on): an
    evaluation now and then."""
    step = np.searchsorted(end_ps, other_start_ps, "right")
    before = np.flatnonzero(other_start_ps < np.append(first_ps, 0)[step])
    behind = start_ps.copy()
    np.maximum.at(behind, step[before], other_end_ps[before])
    if (behind > start_ps)[1:].sum() > _LOOP_SHARE * (len(start_ps) - 1):
        behind[1:] = start_ps[1:]
    return np.maximum(np.minimum(behind, first_ps), start_ps)
