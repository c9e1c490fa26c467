"""Runtime events that the catalogue does not know, for example because the runtime is newer."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.text.units import share
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import own_times

_CPP_SCOPE = "::"
"""Occurs in the names of C++ code, never in those of Python functions, and rarely in those of annotations."""

_MAX_NAMES = 3


def describe_unknown_names(trace: Trace) -> Diagnostic | None:
    """Returns the diagnostic of a host whose working threads spend at least INFO_SHARE of the capture in unknown
    runtime events; None below that."""
    names = [trace.strings[text_index] for text_index in trace.metadata.name]
    is_unknown = np.array(
        [
            _CPP_SCOPE in name and trace.catalog.class_index(name) < 0 and not trace.catalog.tags(name)
            for name in names
        ],
        np.bool_,
    )
    is_root = np.zeros(len(trace), np.bool_)  # such as annotations of steps
    if "_r" in trace.stats:
        is_root[trace.stats["_r"].rows] = True
    time_of_name: Counter[str] = Counter()
    for line in trace.lines_with("driving", "autograd", "executor", "client", "compiler", "transfer"):
        rows = trace.lines[line].rows
        in_unknown = is_unknown[trace.metadata_index[rows]] & ~is_root[rows]
        if in_unknown.any():
            own_ps = own_times(trace.start_ps[rows], trace.duration_ps[rows], trace.parent[rows], rows.start)
            for metadata_index, time_ps in zip(
                trace.metadata_index[rows][in_unknown].tolist(), own_ps[in_unknown].tolist(), strict=True
            ):
                time_of_name[names[metadata_index]] += time_ps
    start, end = trace.span_ps
    span = max(end - start, 1)
    if time_of_name.total() < INFO_SHARE * span or not time_of_name:
        return None
    longest = time_of_name.most_common(_MAX_NAMES)
    texts = ", ".join(f"{name} ({share(name_ps / span)})" for name, name_ps in longest)
    spent = share(time_of_name.total() / span)
    return Diagnostic(
        "unknown_names",
        "info",
        f"Host threads spend time equal to {spent} of the capture in events of unknown names: {texts}. They may "
        "be from a newer runtime, or be annotations; --catalog FILE can give those of the runtime classes.",
        variant=", ".join(name for name, _ in longest),
    )
