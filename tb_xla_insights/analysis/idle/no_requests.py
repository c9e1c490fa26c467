"""When a server has no request to work on."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.host.servers import iteration_marks, requests_of
from tb_xla_insights.analysis.idle.busy import busy_on_any_device
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.intervals import NO_INTERVALS, Intervals, union
from tb_xla_insights.trace.model import Trace

_LONG = 3
"""Of the median time from one iteration to the next: how much longer a time without a request is at least."""

_MAX_LOOKED_AT = 200
"""The most times between iterations whose requests are read from the file, the longest ones."""


_AFTER = 8
"""The iterations after such a time that are looked at: requests may wait while the prompts of others come first."""


@memoised
def no_requests(trace: Trace) -> Intervals:
    """When a server has no request: from the end of the devices' work to the next iteration, if that takes long and
    that iteration and those after it have no request of the one before. Empty if the iterations do not record the ids
    of their requests.
    (docs/definitions.md, "No requests")"""
    rows = iteration_marks(trace)
    if len(rows) < 2:
        return NO_INTERVALS
    busy = busy_on_any_device(trace) if trace.devices else NO_INTERVALS
    end_ps = trace.start_ps[rows[1:]]
    last = np.searchsorted(busy.start_ps, end_ps) - 1
    free_ps = np.append(busy.end_ps, np.iinfo(np.int64).min)[last]
    begin_ps = np.clip(free_ps, trace.end_ps[rows[:-1]], end_ps)
    between_ps = end_ps - begin_ps
    longest = np.argsort(-between_ps, kind="stable")[:_MAX_LOOKED_AT]
    is_long = between_ps[longest] > _LONG * np.median(np.diff(trace.start_ps[rows]))
    found = [
        at
        for at in longest[is_long].tolist()
        if (before := requests_of(trace, int(rows[at])))
        and requests_of(trace, int(rows[at + 1]))
        and all(before.isdisjoint(requests_of(trace, row)) for row in rows[at + 1 : at + 1 + _AFTER].tolist())
    ]
    return union(begin_ps[found], end_ps[found])
