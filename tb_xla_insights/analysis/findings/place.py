"""Where a finding's time is: inside the annotations of steps, between two of them, or before or after all steps."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.findings.finding import Finding, Place
from tb_xla_insights.analysis.findings.ledger import Ledger
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.step_sources import annotated_times
from tb_xla_insights.analysis.launches.step_times import step_times
from tb_xla_insights.analysis.time.class_times import class_times_inside, covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals, union
from tb_xla_insights.arrays import Int64
from tb_xla_insights.trace.model import Trace


def place_of(trace: Trace, ledger: Ledger, finding: Finding, taken_ps: Int64) -> Place | None:
    """Returns where most of a finding's time is; None without steps, and for a finding that costs no time. `taken_ps`:
    the idle time that it took from each gap, a column per class; what the host did then decides. If it took none, its
    windows do."""
    if not len(step_times(trace)[0]) or not (finding.cost_ps or finding.fix):
        return None
    if taken_ps.any():
        share = taken_ps / np.maximum(ledger.by_class_ps, 1)
        segments, gaps = host_class_segments(trace), (ledger.start_ps, ledger.end_ps)
        times = {
            place: float((class_times_inside(segments, intervals, *gaps) * share).sum())
            for place, intervals in _places(trace, *annotated_times(trace)).items()
        }
    else:
        # A device may work on a step long after the host has left it.
        on_device = any(window.device for window in finding.windows)
        starts = np.array([window.start_ps for window in finding.windows], np.int64)
        ends = np.array([window.end_ps for window in finding.windows], np.int64)
        times = {
            place: float(covered_times(intervals.start_ps, intervals.end_ps, starts, ends).sum())
            for place, intervals in _places(
                trace, *(step_times(trace) if on_device else annotated_times(trace))
            ).items()
        }
    place, longest = max(times.items(), key=lambda place_and_time: place_and_time[1])
    return place if longest else None


def _places(trace: Trace, step_start_ps: Int64, step_end_ps: Int64) -> dict[Place, Intervals]:
    begin, end = trace.span_ps
    loop = span_intervals(int(step_start_ps[0]), int(step_end_ps.max()))
    steps = union(step_start_ps, step_end_ps)
    return {
        "in_step": steps,
        "between_steps": loop.without(steps),
        "outside": span_intervals(begin, end).without(loop),
    }
