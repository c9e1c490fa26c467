"""Events of a runtime that the catalogue does not know, as one newer than it records them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import self_times
from tb_xla_insights.units import share

_OF_RUNTIME = "::"
"""In names that C++ code gives; annotations and Python functions have none."""

_MOST_NAMES = 3


def unknown_names(trace: Trace) -> str | None:
    """What to say of a host whose working threads spend 3 % of the capture or more in events of a runtime that have no
    class; None below that."""
    names = [trace.strings[text] for text in trace.metadata.name]
    unknown = np.array([_OF_RUNTIME in name and not trace.catalog.knows(name) for name in names], np.bool_)
    time: Counter[str] = Counter()
    for line in trace.lines_with("driving", "autograd", "executor", "client", "compiler", "transfer"):
        rows = trace.lines[line].rows
        chosen = unknown[trace.meta[rows]]
        if chosen.any():
            own = self_times(trace.start_ps[rows], trace.duration_ps[rows], trace.parent[rows], rows.start)
            for entry, time_ps in zip(trace.meta[rows][chosen].tolist(), own[chosen].tolist(), strict=True):
                time[names[entry]] += time_ps
    start, end = trace.span_ps
    span = max(end - start, 1)
    if time.total() < INFO_SHARE * span or not time:
        return None
    most = ", ".join(f"{name} ({share(its / span)})" for name, its in time.most_common(_MOST_NAMES))
    return (
        f"Host threads spend as much time as {share(time.total() / span)} of the capture in events that are not known: "
        f"{most}. A newer runtime may have recorded them; classes for them can be given with --catalog FILE."
    )
