"""The time of each class within windows."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.time import kernels
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.analysis.time.segments import Segments
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import CLASSES, UNRECORDED, ClassName


def class_times(segments: Segments, start_ps: Int64, end_ps: Int64) -> Int64:
    """Returns the time of each class in each window: one row per window, one column per class. A row adds up to the
    window's length; time that no segment covers is `unrecorded`."""
    times = np.zeros((len(start_ps), len(CLASSES)), np.int64)
    first_segment = np.searchsorted(segments.end_ps, start_ps, "right")
    kernels.add_class_times(
        segments.start_ps, segments.end_ps, segments.class_index, start_ps, end_ps, first_segment, times
    )
    times[:, UNRECORDED] += end_ps - start_ps - times.sum(axis=1)
    return times


def class_times_inside(segments: Segments, intervals: Intervals, start_ps: Int64, end_ps: Int64) -> Int64:
    """Like `class_times`, for the part of each window inside the intervals."""
    window, index = overlapping_pairs(intervals.start_ps, intervals.end_ps, start_ps, end_ps)
    low = np.maximum(start_ps[window], intervals.start_ps[index])
    high = np.minimum(end_ps[window], intervals.end_ps[index])
    times = np.zeros((len(start_ps), len(CLASSES)), np.int64)
    np.add.at(times, window, class_times(segments, low, high))
    return times


def times_by_class(times: Int64) -> dict[ClassName, int]:
    """Returns one row of `class_times` by class name, without the classes that have no time."""
    return {name: time_ps for name, time_ps in zip(CLASSES, times.tolist(), strict=True) if time_ps}


def overlapping_pairs(
    segment_start: Int64, segment_end: Int64, start_ps: Int64, end_ps: Int64
) -> tuple[Int32, Int32]:
    """Returns the pairs (window, segment) that overlap, by window, then by segment. Segments are sorted and
    disjoint."""
    low = np.searchsorted(segment_end, start_ps, "right")
    high = np.maximum(np.searchsorted(segment_start, end_ps, "left"), low)
    high = np.where(end_ps > start_ps, high, low)
    count = high - low
    window = np.repeat(np.arange(len(low), dtype=np.int32), count)
    segment = np.arange(len(window)) + np.repeat(high - count.cumsum(), count)
    return window, segment.astype(np.int32)


def covered_times(segment_start: Int64, segment_end: Int64, start_ps: Int64, end_ps: Int64) -> Int64:
    """Returns how much of each window the segments cover; segments are sorted and disjoint."""
    instants = np.concatenate((start_ps, end_ps))
    covered_before = np.empty(len(instants), np.int64)
    kernels.time_before(
        segment_start, segment_end, instants, np.argsort(instants, kind="stable"), covered_before
    )
    return covered_before[len(start_ps) :] - covered_before[: len(start_ps)]
