"""Launches at the capture's end whose runs the devices did not record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.launches.enqueues import Runs
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.trace.model import Int32, Trace

_MIN_LAUNCHES = 2
"""One launch may be of a program that the capture's end cuts, however long it runs."""

_MAX_NORMAL_RUNS = 2
"""At a normal end of a capture, devices are in a run that is not recorded. If the host continues for longer than this
many times the longest run, the devices' record has ended before the host's."""


@dataclass(frozen=True)
class UnrecordedWork:
    """What the host launched after the last recorded run had begun, without a recorded run.

    `launches`: their number. `first_step`: the index of the first recorded step whose work is not recorded; the steps
    after it have none either. None if the last step with a launch has a recorded run, or no step has one.
    `duration_ps`: the time from the end of the last recorded run to the capture's end. `ends_early`: whether the
    devices' record ends before the host's, not with the capture.
    """

    launches: int
    first_step: int | None
    duration_ps: int
    ends_early: bool


def find_unrecorded_work(trace: Trace, row: Int32, step: Int32, runs: Runs) -> UnrecordedWork | None:
    """Returns what the devices did not record at the end; None if they recorded all of it, or nothing at all.

    `row` and `step` are those of Launches, and `runs` names the launch of each run. (docs/definitions.md, "Step")
    """
    has_run = np.zeros(len(row) + 1, np.bool_)  # the last one: runs without a launch
    has_run[runs.launch] = True
    has_run = has_run[:-1]
    if not has_run.any():
        return None
    lost = np.flatnonzero(~has_run & (trace.start_ps[row] >= runs.start_ps.max()))
    if not lost.size:
        return None
    last_step = step[has_run].max()
    lost_steps = step[lost][(step[lost] > last_step) & (last_step >= 0)]
    first_row = row[lost[0]]
    end_ps, after_ps = _end_ps(trace, int(trace.start_ps[first_row])), int(runs.end_ps.max())
    missing_ps = end_ps - max(after_ps, int(trace.end_ps[first_row]))
    return UnrecordedWork(
        launches=int(lost.size),
        first_step=int(lost_steps.min()) if lost_steps.size else None,
        duration_ps=end_ps - after_ps,
        ends_early=lost.size >= _MIN_LAUNCHES and missing_ps > _MAX_NORMAL_RUNS * int(runs.duration_ps.max()),
    )


def _end_ps(trace: Trace, after_ps: int) -> int:
    """Returns the capture's end, or the instant after `after_ps` at which the host begins to stop the profiler."""
    start_ps = trace.start_ps[trace.rows_with_metadata(has_tag(trace, "profiler"))]
    stops_ps: list[int] = start_ps[start_ps >= after_ps].tolist()
    return min([trace.span_ps[1], *stops_ps])
