"""Whether the clocks of a host and its devices can both be right: effects come after their causes.

A run cannot begin before it was enqueued, and the host cannot be told of its end before it began. Differences below
`CLOCK_SLACK_PS` say nothing. (docs/definitions.md, "Time base")
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.idle.idle_time import CLOCK_SLACK_PS
from tb_xla_insights.analysis.launches.enqueues import EXACT
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.trace.model import Int64, Trace
from tb_xla_insights.trace.threads import host_planes
from tb_xla_insights.units import brief_time

MAX_RECORDING_DISTANCE_PS = 10**12
"""Host and devices that record nothing within a second of each other do not record the same second. Less may be a
host that waits, which is recorded at its end, or a run that began before the capture."""

_TOLD, _BLOCKS = "CompleteCallbacks", "RunExecutable"
"""What begins on the host when a run is over, and what of XRT ends on the host no sooner than its run."""


def describe_clock_contradiction(trace: Trace, whole: bool = True) -> str | None:
    """How host and devices contradict each other, in words; None where nothing shows that they do. Devices made from a
    host's own events have its clock. `whole`: no part of the file is lost, so that spans are what was recorded."""
    if not trace.devices or all(device.from_host_events for device in trace.devices):
        return None
    runs = find_launches(trace).runs
    joined = np.flatnonzero((runs.enqueue_row >= 0) & (runs.join == EXACT))
    early = trace.start_ps[runs.enqueue_row[joined]] - runs.start_ps[joined]
    for by, what in (
        (early, "begin before they were enqueued"),
        (_late(trace), "end after the host was told so"),
    ):
        if count := int((by > CLOCK_SLACK_PS).sum()):
            return f"{count:,} of {len(runs):,} runs {what}, by up to {brief_time(int(by.max()))}"
    apart = _apart(trace) if whole else 0
    if apart > MAX_RECORDING_DISTANCE_PS:
        return f"What the host recorded and what the devices recorded lie {brief_time(apart)} apart"
    return None


def _late(trace: Trace) -> Int64:
    """For the runs of which the host recorded an end, how long before their beginning (`CompleteCallbacks`) or their
    end (`RunExecutable`) that was; negative where it was later, as it has to be."""
    runs = find_launches(trace).runs
    order = np.lexsort((runs.start_ps, runs.enqueue_row))  # of several the first one
    enqueues = runs.enqueue_row[order]
    told = trace.rows_with_metadata(_named(trace, _TOLD))
    producer = trace.flows.producers(told)
    at = np.minimum(np.searchsorted(enqueues, producer), max(len(enqueues) - 1, 0))
    known = (producer >= 0) & (enqueues[at] == producer) if len(enqueues) else np.zeros(len(told), np.bool_)
    began: Int64 = runs.start_ps[order][at[known]] - trace.start_ps[told[known]]
    blocks = _named(trace, _BLOCKS)
    if not blocks.any():
        return began
    mine = np.flatnonzero((runs.enqueue_row >= 0) & (runs.join == EXACT))
    around = runs.enqueue_row[mine]
    while (up := (around >= 0) & ~blocks[trace.meta[around]]).any():
        around[up] = trace.parent[around[up]]
    some = around >= 0
    return np.concatenate((began, runs.end_ps[mine[some]] - trace.end_ps[around[some]]))


def _apart(trace: Trace) -> int:
    """Between the spans of the host's events and the devices' work, 0 where they touch."""
    hosts = host_planes(trace)
    lines = [line.rows for line in trace.lines if line.plane in hosts and line.count]
    if not lines:
        return 0
    begin = min(int(trace.start_ps[rows].min()) for rows in lines)
    end = max(int(trace.end_ps[rows].max()) for rows in lines)
    spans = [device.span_ps for device in trace.devices]
    return max(0, min(start for start, _ in spans) - end, begin - max(end for _, end in spans))


def _named(trace: Trace, name: str) -> NDArray[np.bool_]:
    """Per metadata entry, whether it has the name."""
    return np.array([trace.strings[text] == name for text in trace.metadata.name], np.bool_)
