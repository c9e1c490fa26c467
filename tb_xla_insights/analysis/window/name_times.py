"""Sums of a thread's events in a window, by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.window import kernels
from tb_xla_insights.analysis.window.excerpt import ThreadExcerpt
from tb_xla_insights.arrays import Int32, Int64, empty_columns, trim_columns
from tb_xla_insights.catalog.classes import CLASSES

NO_CLASS = len(CLASSES)
"""The column of time without a class."""
_OP_COLUMN = NO_CLASS + 1
"""Time without a class, in ops of a CPU, which run on threads of the host. Summed apart, then added to NO_CLASS."""


@dataclass(frozen=True)
class NameTimes:
    """A row per name of the events that touch a window: the `name` (index into the strings), their `count`, the sum of
    their times in the window (nested events of one name count twice), and the event that is `longest` as a whole (index
    into the thread's events; the first of several). `own_ps`: their own time in the window, a column per class and one
    without a class; `op_ps`: the part of the latter that is time of device ops."""

    name: Int32
    count: Int64
    total_ps: Int64
    longest: Int32
    own_ps: NDArray[np.int64]
    op_ps: Int64


class NameSums:
    """Sums the events of threads by name; names are indices below `string_count`."""

    def __init__(self, string_count: int) -> None:
        self._index_of_name = np.full(string_count, -1, np.int32)

    def times(self, thread: ThreadExcerpt, start_ps: int, end_ps: int) -> NameTimes:
        """The sums in [start_ps, end_ps), which the excerpt must cover."""
        max_names = min(len(thread.name), len(self._index_of_name))
        columns = empty_columns(max_names, np.int32, np.int64, np.int64, np.int32)
        events = thread.start_ps, thread.duration_ps, thread.name
        name_count = kernels.events_by_name(*events, start_ps, end_ps, self._index_of_name, *columns)
        name, count, total, longest = trim_columns(name_count, *columns)
        own_ps = np.zeros((name_count, _OP_COLUMN + 1), np.int64)
        segments = thread.segments
        kernels.segments_by_name(
            segments.start_ps,
            segments.end_ps,
            segments.class_index,
            segments.row,
            thread.first,
            thread.name,
            thread.is_op,
            start_ps,
            end_ps,
            self._index_of_name,
            own_ps,
        )
        self._index_of_name[name] = -1
        own_ps[:, NO_CLASS] += own_ps[:, _OP_COLUMN]
        return NameTimes(name, count, total, longest, own_ps[:, :_OP_COLUMN], own_ps[:, _OP_COLUMN])
