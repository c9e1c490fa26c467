"""Arrays that a server sends one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.delays.transfers import FROM_DEVICE, TO_DEVICE, find_transfers
from tb_xla_insights.analysis.host.servers import iteration_marks
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.arrays import Int64
from tb_xla_insights.trace.model import Trace

_MANY = 8
"""How many sends in a row are many: recorded servers send two to four arrays for an iteration, or 29."""


@dataclass(frozen=True)
class ManySends:
    """Times in which a thread sends many arrays, and launches and reads nothing meanwhile, in order of time. `count`:
    of the arrays. `first_end_ps`: when the first of them is sent."""

    start_ps: Int64
    first_end_ps: Int64
    end_ps: Int64
    count: Int64

    @property
    def times(self) -> Intervals:
        return union(self.start_ps, self.end_ps)

    @property
    def times_after_first(self) -> Intervals:
        """What would not be there if all were one array."""
        return union(self.first_end_ps, self.end_ps)


@memoised
def many_sends(trace: Trace) -> ManySends:
    """The runs of at least _MANY sends on one thread without a launch, a read or an iteration's mark between them."""
    transfers = find_transfers(trace)
    sends = transfers.row[transfers.direction == TO_DEVICE]
    between = [
        transfers.row[transfers.direction == FROM_DEVICE],
        find_launches(trace).row,
        iteration_marks(trace),
    ]
    other_ps = np.sort(trace.start_ps[np.concatenate(between)])
    line, part = trace.lines_of(sends), np.searchsorted(other_ps, trace.start_ps[sends], "right")
    order = np.lexsort((trace.start_ps[sends], part, line))
    sends, line, part = sends[order], line[order], part[order]
    first = np.flatnonzero(np.append(True, (np.diff(line) != 0) | (np.diff(part) != 0))[: len(sends)])
    count = np.diff(np.append(first, len(sends)))
    is_many = count >= _MANY
    in_order = np.argsort(trace.start_ps[sends[first[is_many]]], kind="stable")
    first, count = first[is_many][in_order], count[is_many][in_order]
    return ManySends(
        trace.start_ps[sends[first]],
        trace.end_ps[sends[first]],
        trace.end_ps[sends[first + count - 1]],
        count,
    )
