"""How far a server schedules ahead of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.iterations.iterations import find_iterations
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.arrays import Int64
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.iterations import Scheduling

_RARE, _USUAL = 0.25, 0.9
"""Shares of the iterations at whose start nothing is in flight: below the first, a server schedules ahead; from the
second on, it does not. Of recorded servers that schedule ahead, up to 15 % of the iterations begin without work in
flight; of one that handles results for longer than the device works, 47 % and more."""


@memoised
def find_scheduling(trace: Trace) -> Scheduling | None:
    """How many iterations are in flight when one begins: launched, and not yet through on all devices."""
    in_flight = _in_flight(trace)
    if not len(in_flight):
        return None
    share = float(np.mean(in_flight == 0))
    if share >= _USUAL:
        return {"kind": "sync", "ahead_by": None, "share": share}
    usual = int(np.median(in_flight[in_flight > 0]))
    return {"kind": "ahead" if share <= _RARE else "drained", "ahead_by": usual, "share": share}


def _in_flight(trace: Trace) -> Int64:
    """Per iteration, without the first, how many iterations before it have launched work that a device has not
    finished."""
    iterations, launches = find_iterations(trace), find_launches(trace)
    runs = launches.runs
    launched = runs.launch >= 0
    if len(iterations) < 2 or not launched.any():
        return np.zeros(0, np.int64)
    launch_ps = trace.start_ps[launches.row[runs.launch[launched]]]
    of_run = np.searchsorted(iterations.start_ps, launch_ps, "right") - 1
    last_end_ps = np.full(len(iterations) + 1, np.iinfo(np.int64).min)  # the last element: before the first
    np.maximum.at(last_end_ps, of_run, runs.end_ps[launched])
    last_end_ps = np.maximum.accumulate(last_end_ps[:-1])
    number = np.arange(1, len(iterations))
    done = np.searchsorted(last_end_ps, iterations.work_ps[1:], "right")
    counts: Int64 = np.maximum(number - done, 0)
    return counts
