"""Explicit waits of the program for the device (`jax.block_until_ready`, `torch_xla.sync(wait=True)`), without
reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_xla_insights.analysis.delays.early_executions import last_steps_before
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.thresholds import REGULAR_STEPS_SHARE
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import WAIT
from tb_xla_insights.trace.device_clock import CLOCK_SLACK_PS
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing, outermost_rows


@memoised
def find_blocking_waits(trace: Trace) -> Int32:
    """Returns the calls on the driving thread in which the program waits for the device: the outermost such events,
    without those that are shorter than the clocks' error. Only annotations and Python frames enclose them: waits inside
    the runtime's own calls, such as a launch or a read, were not requested by the program, except those in step markers
    that the program lets wait. (docs/definitions.md, "Early execution")"""
    rows = trace.rows_with_metadata(has_tag(trace, "blocks"))
    rows = rows[trace.is_on_lines(rows, trace.lines_with("driving"))]
    is_annotation, is_frame = trace.annotation_mask, has_tag(trace, "python_tracer")
    is_requested, enclosing = np.ones(len(rows), np.bool_), trace.parent[rows]
    while (is_enclosed := enclosing >= 0).any():
        is_requested &= ~is_enclosed | is_annotation[enclosing] | is_frame[trace.metadata_index[enclosing]]
        enclosing = np.where(is_enclosed, trace.parent[enclosing], enclosing)
    waits = outermost_rows(trace.parent, np.union1d(rows[is_requested], waits_in_markers(trace)))
    return waits[trace.duration_ps[waits] >= CLOCK_SLACK_PS]


@memoised
def waits_in_markers(trace: Trace) -> Int32:
    """Returns the waits after the launch in step markers that the program lets wait (`torch_xla.sync(wait=True)`)."""
    markers, sync_end_ps = _waiting_markers(trace)
    rows = trace.rows_with_metadata(trace.metadata.class_index == WAIT)
    marker = nearest_enclosing(trace.parent, rows, markers)
    rows, marker = rows[marker >= 0], marker[marker >= 0]
    return rows[trace.start_ps[rows] >= sync_end_ps[np.searchsorted(markers, marker)]]


def _waiting_markers(trace: Trace) -> tuple[Int32, Int64]:
    """Returns the step markers on the driving thread that hand their launch to another thread, and the end of the
    synchronisation in each; none unless all of them wait for that thread.

    A marker with `wait=True` ends after the execute call. So does any marker whose execute call is done sooner than its
    synchronisation: then the runtime itself waits in it, on a CPU, until the program has released its arguments. Hence
    all markers must end after their execute calls, and at least one execute call after its synchronisation.
    """
    launches = find_launches(trace)
    index = np.flatnonzero((launches.marker >= 0) & (launches.sync >= 0))
    index = index[trace.is_on_lines(launches.marker[index], trace.lines_with("driving"))]
    index = index[launches.line[index] != trace.lines_of(launches.marker[index])]
    call_end_ps, sync_end_ps = trace.end_ps[launches.row[index]], trace.end_ps[launches.sync[index]]
    waits = call_end_ps <= trace.end_ps[launches.marker[index]]
    if not waits.all() or not (call_end_ps > sync_end_ps + CLOCK_SLACK_PS).any():
        return np.zeros(0, np.int32), np.zeros(0, np.int64)
    markers, first = np.unique(launches.marker[index], return_index=True)
    return markers, sync_end_ps[first]


def blocking_intervals(trace: Trace) -> Intervals:
    """Returns when the program waits for the device."""
    rows = find_blocking_waits(trace)
    return union(trace.start_ps[rows], trace.end_ps[rows])


def blocking_waits_report(trace: Trace) -> dict[str, Any]:
    """Whether the program waits for the device in most steps: `steps`, `steps_with_waits`, `most_steps` (at least half
    of the steps), `waits` and `duration_ps` (both without waits before the first step)."""
    rows, steps = find_blocking_waits(trace), len(find_steps(trace))
    step = last_steps_before(trace, rows)
    with_waits = len(np.unique(step[step >= 0]))
    return {
        "steps": steps,
        "steps_with_waits": with_waits,
        "waits": int((step >= 0).sum()),
        "duration_ps": int(trace.duration_ps[rows[step >= 0]].sum()),
        "most_steps": with_waits > 0 and with_waits >= REGULAR_STEPS_SHARE * steps,
    }
