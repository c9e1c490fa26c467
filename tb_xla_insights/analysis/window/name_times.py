"""What the events of a thread add up to in a window, by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.window import kernels
from tb_xla_insights.analysis.window.excerpt import ThreadExcerpt
from tb_xla_insights.arrays import empty_columns, trim_columns
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Int32, Int64

NO_CLASS = len(CLASSES)
"""The column of time without a class."""
_OF_OPS = NO_CLASS + 1
"""The column of such time that a device's ops take on a thread of the host."""


@dataclass(frozen=True)
class NameTimes:
    """Per name of the events that touch a window, an entry each: the `name` (index into the strings), their `count`,
    their time in the window, and the `longest` one (index into the thread's events; the first of several). A row of
    `own_ps` has their own time by class, then without one; `of_ops_ps`: the part of the latter that is a device's."""

    name: Int32
    count: Int64
    total_ps: Int64
    longest: Int32
    own_ps: NDArray[np.int64]
    of_ops_ps: Int64


class Names:
    """Adds up threads whose names are indices into as many strings."""

    def __init__(self, strings: int) -> None:
        self._place = np.full(strings, -1, np.int32)

    def times(self, thread: ThreadExcerpt, start_ps: int, end_ps: int) -> NameTimes:
        """Those of [start_ps, end_ps), which the excerpt holds."""
        most = min(len(thread.name), len(self._place))
        columns = empty_columns(most, np.int32, np.int64, np.int64, np.int32)
        events = thread.start_ps, thread.duration_ps, thread.name
        made = kernels.events_by_name(*events, start_ps, end_ps, self._place, *columns)
        name, count, total, longest = trim_columns(made, *columns)
        own = np.zeros((made, _OF_OPS + 1), np.int64)
        its = thread.segments
        stretches = its.start_ps, its.end_ps, its.class_index, its.row
        kernels.stretches_by_name(
            *stretches, thread.first, thread.name, thread.is_op, start_ps, end_ps, self._place, own
        )
        self._place[name] = -1
        own[:, NO_CLASS] += own[:, _OF_OPS]
        return NameTimes(name, count, total, longest, own[:, :_OF_OPS], own[:, _OF_OPS])
