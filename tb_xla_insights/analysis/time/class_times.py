"""How windows of time divide by class."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis import kernels
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.analysis.time.segments import Segments
from tb_xla_insights.catalog.classes import CLASSES, UNRECORDED, ClassName
from tb_xla_insights.trace.model import Int32, Int64


def class_times(segments: Segments, start_ps: Int64, end_ps: Int64) -> Int64:
    """One row per window, one column per class: its time in the window. A row adds up to the window's length; what no
    stretch covers is `unrecorded`."""
    shares = np.zeros((len(start_ps), len(CLASSES)), np.int64)
    first = np.searchsorted(segments.end_ps, start_ps, "right")
    kernels.add_shares(
        segments.start_ps, segments.end_ps, segments.class_index, start_ps, end_ps, first, shares
    )
    shares[:, UNRECORDED] += end_ps - start_ps - shares.sum(axis=1)
    return shares


def class_times_inside(segments: Segments, inside: Intervals, start_ps: Int64, end_ps: Int64) -> Int64:
    """As `class_times`, of the part of each window that lies inside of some intervals."""
    window, at = overlaps(inside.start_ps, inside.end_ps, start_ps, end_ps)
    low = np.maximum(start_ps[window], inside.start_ps[at])
    high = np.minimum(end_ps[window], inside.end_ps[at])
    found = np.zeros((len(start_ps), len(CLASSES)), np.int64)
    np.add.at(found, window, class_times(segments, low, high))
    return found


def by_class(shares: Int64) -> dict[ClassName, int]:
    """One row of shares by name, without the classes that have no time."""
    return {name: time for name, time in zip(CLASSES, shares.tolist(), strict=True) if time}


def overlaps(seg_start: Int64, seg_end: Int64, start_ps: Int64, end_ps: Int64) -> tuple[Int32, Int32]:
    """Pairs (window, stretch) that have time in common, by window, then by stretch. Stretches are sorted and apart."""
    low = np.searchsorted(seg_end, start_ps, "right")
    high = np.maximum(np.searchsorted(seg_start, end_ps, "left"), low)
    high = np.where(end_ps > start_ps, high, low)
    count = high - low
    window = np.repeat(np.arange(len(low), dtype=np.int32), count)
    stretch = np.arange(len(window)) + np.repeat(high - count.cumsum(), count)
    return window, stretch.astype(np.int32)


def covered_times(seg_start: Int64, seg_end: Int64, start_ps: Int64, end_ps: Int64) -> Int64:
    """How much of each window sorted stretches that lie apart cover."""
    instants = np.concatenate((start_ps, end_ps))
    before = np.empty(len(instants), np.int64)
    kernels.time_before(seg_start, seg_end, instants, np.argsort(instants, kind="stable"), before)
    return before[len(start_ps) :] - before[: len(start_ps)]
