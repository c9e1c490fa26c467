"""Many steps in a window: the slowest one of each pixel, and what it consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.idle.in_steps import device_time, devices_with_work
from tb_xla_insights.analysis.steps.step_table import host_times
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.timeline.pyramid.pyramid import Lane

_MAX_SLICES = 200
"""More steps than these are a barcode, drawn one by one."""
_MAX_COLUMNS = 2000
"""Wider windows have several pixels per step, so that an answer stays below 60 kB."""


def slowest_steps(lane: Lane, start_ps: int, end_ps: int, px: int) -> Int64 | None:
    """The slowest step (an index in the lane) of those that begin in each pixel of a window; None if so few begin in it
    that each is drawn."""
    first, stop = np.searchsorted(lane.start, (start_ps, end_ps)).tolist()
    if stop - first <= _MAX_SLICES:
        return None
    column_ps = max(1, (end_ps - start_ps) // min(px, _MAX_COLUMNS))
    column = (lane.start[first:stop] - start_ps) // column_ps
    slowest_first = np.lexsort((lane.start[first:stop] - lane.end[first:stop], column))
    _, at = np.unique(column[slowest_first], return_index=True)
    return np.asarray(first + slowest_first[at], np.int64)


def step_parts(trace: Trace, steps: Int32) -> dict[str, list[int]]:
    """What steps (indices of the host's steps) consist of, in percent of each: the work of a device, and its idle time
    by what the host did; without work of devices, the time of the driving thread. Gaps under 10 µs are left out."""
    times = [device_time(trace, index) for index in devices_with_work(trace)]
    classes = np.sum([time.by_class_ps for time in times], axis=0) if times else host_times(trace)
    work = np.sum([time.work_ps for time in times], axis=0) if times else np.zeros(len(classes), np.int64)
    whole = times[0].time_ps * len(times) if times else classes.sum(axis=1)
    parts: dict[str, Int64] = {"work": work}
    parts |= {name: classes[:, index] for index, name in enumerate(CLASSES)}
    total = np.maximum(whole[steps], 1)
    percent = {name: (part[steps] * 200 + total) // (2 * total) for name, part in parts.items()}
    return {name: values.tolist() for name, values in percent.items() if values.any()}
