"""What the clocks of a host and its devices contradict: effects before their causes, or recordings far apart. One shift
of the devices' times resolves most contradictions (trace/device_clock.py); those that remain are described here.

A run cannot begin before it was enqueued, the host cannot be notified of its end before it began, and a call that waits
for its end cannot return before it. Differences up to `CLOCK_SLACK_PS` are within the clocks' error.
(docs/definitions.md, "Time base")
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.enqueues import EXACT
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.arrays import Int64
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.text.units import brief_time, brief_times, count
from tb_xla_insights.trace.device_clock import CLOCK_SLACK_PS
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.threads import host_planes

MAX_RECORDING_DISTANCE_PS = 10**12
"""If the host's and the devices' recordings are further apart, they do not cover the same time. A shorter distance may
come from a wait of the host, which is recorded when it ends, or from a run that began before the capture."""

_COMPLETION_EVENT, _BLOCKING_EVENT = "CompleteCallbacks", "RunExecutable"
"""The event that begins when the host is notified of a run's end, perhaps already after the run's first output; and
XRT's event on the host that ends no sooner than its run."""


def describe_clock_shift(trace: Trace) -> Diagnostic | None:
    """Returns the diagnostic of how the devices' times were shifted and what that leaves unknown; None if they were
    not."""
    clock = trace.device_clock
    if clock is None:
        return None
    direction = "behind" if clock.shift_ps > 0 else "ahead of"
    effect = (
        "begin before they were enqueued"
        if clock.lowest_ps > 0
        else "end after the host was notified of their end"
    )
    shift, error = brief_times(abs(clock.shift_ps), clock.error_ps)
    text = (
        f"The devices' clock is {shift} {direction} the host's, as runs would {effect}: their times are shifted by as "
        "much."
    )
    rest = (
        "The true shift may be larger: no end of a run is recorded on the host."
        if clock.highest_ps is None
        else f"The true shift may differ by {error}: why gaps ended within that time is not known."
    )
    variant = f"{direction}, at least" if clock.highest_ps is None else direction
    return Diagnostic("clocks_shifted", "info", f"{text} {rest}", variant=f"{variant}; {effect}")


def describe_clock_contradiction(trace: Trace, whole: bool = True) -> Diagnostic | None:
    """Returns the diagnostic of how the clocks of host and devices contradict each other; None if they do not.

    Devices built from a host's own events have its clock. `whole`: no part of the file is missing, so that the recorded
    spans are complete.
    """
    if not trace.devices or all(device.from_host_events for device in trace.devices):
        return None
    runs = find_launches(trace).runs
    joined = np.flatnonzero((runs.enqueue_row >= 0) & (runs.join == EXACT))
    before_enqueue_ps = trace.start_ps[runs.enqueue_row[joined]] - runs.start_ps[joined]
    for error_ps, contradiction in (
        (before_enqueue_ps, "begin before they were enqueued"),
        (_after_completion_ps(trace), "begin after the host was notified of their end"),
        (_after_blocking_call_ps(trace), "end after the call that waited for their end"),
    ):
        if run_count := int((error_ps > CLOCK_SLACK_PS).sum()):
            share_text = f"{count(run_count)} of {count(len(runs))}"
            text = f"Runs {contradiction} ({share_text}), by up to {brief_time(int(error_ps.max()))}"
            return _clocks_disagree(text, contradiction)
    distance_ps = _recording_distance_ps(trace) if whole else 0
    if distance_ps > MAX_RECORDING_DISTANCE_PS:
        text = f"The events of the host and those of the devices are {brief_time(distance_ps)} apart"
        return _clocks_disagree(text, "apart")
    return None


def _clocks_disagree(contradiction: str, variant: str) -> Diagnostic:
    text = (
        f"{contradiction}: the clocks of host and device disagree, so gaps, queue times and overheads may be wrong by "
        "as much. Capture again."
    )
    return Diagnostic("clocks_disagree", "warning", text, variant=variant)


def _after_completion_ps(trace: Trace) -> Int64:
    """Returns, for the runs whose completion the host recorded, how long the run's start is after that: negative if
    clocks are correct. The start counts, because the callback may run before the run's end, after its first output."""
    runs = find_launches(trace).runs
    order = np.lexsort((runs.start_ps, runs.enqueue_row))  # of several runs, the first one counts
    order = order[runs.join[order] == EXACT]
    enqueue_rows = runs.enqueue_row[order]
    completions = trace.rows_with_metadata(_has_name(trace, _COMPLETION_EVENT))
    producer = trace.flows.producers(completions)
    index = np.minimum(np.searchsorted(enqueue_rows, producer), max(len(enqueue_rows) - 1, 0))
    has_run = np.zeros(len(completions), np.bool_)
    if len(enqueue_rows):
        has_run = (producer >= 0) & (enqueue_rows[index] == producer)
    after_ps: Int64 = runs.start_ps[order][index[has_run]] - trace.start_ps[completions[has_run]]
    return after_ps


def _after_blocking_call_ps(trace: Trace) -> Int64:
    """Returns, for the runs that a call waited for, how long the run's end is after the call's: negative if clocks are
    correct."""
    runs, is_blocking = find_launches(trace).runs, _has_name(trace, _BLOCKING_EVENT)
    if not is_blocking.any():
        return np.zeros(0, np.int64)
    joined = np.flatnonzero((runs.enqueue_row >= 0) & (runs.join == EXACT))
    blocking_row = runs.enqueue_row[joined]
    while (is_below := (blocking_row >= 0) & ~is_blocking[trace.metadata_index[blocking_row]]).any():
        blocking_row[is_below] = trace.parent[blocking_row[is_below]]
    is_found = blocking_row >= 0
    after_ps: Int64 = runs.end_ps[joined[is_found]] - trace.end_ps[blocking_row[is_found]]
    return after_ps


def _recording_distance_ps(trace: Trace) -> int:
    """Returns the time between the spans of the host's events and of the devices' work, 0 if they touch."""
    hosts = host_planes(trace)
    lines = [line.rows for line in trace.lines if line.plane in hosts and line.count]
    if not lines:
        return 0
    host_start = min(int(trace.start_ps[rows].min()) for rows in lines)
    host_end = max(int(trace.end_ps[rows].max()) for rows in lines)
    spans = [device.span_ps for device in trace.devices]
    return max(0, min(start for start, _ in spans) - host_end, host_start - max(end for _, end in spans))


def _has_name(trace: Trace, name: str) -> NDArray[np.bool_]:
    """Per event metadata, whether it has the name."""
    return np.array([trace.strings[text_index] == name for text_index in trace.metadata.name], np.bool_)
