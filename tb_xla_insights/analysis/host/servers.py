"""Whether a host serves a language model, so that each iteration of its loop makes the next token of each request; and
when it has no request to work on."""

from __future__ import annotations

import re

import numpy as np

from tb_xla_insights.analysis.host.templates import annotation_names
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.intervals import NO_INTERVALS, Intervals, union
from tb_xla_insights.errors import InputError
from tb_xla_insights.trace.details import event_stats
from tb_xla_insights.trace.model import Trace

_ITERATION = re.compile(r"execute_model: \S+ reqs|run_batch$|forward_batch_generation")
"""Annotations of an iteration in vLLM and sglang-jax."""

_PHASES = {"prefill", "generate"}
"""Step annotations of MaxText."""


@memoised
def is_server(trace: Trace) -> bool:
    """Whether the capture has the annotations of a server that decodes."""
    names = set(annotation_names(trace).values())
    return names >= _PHASES or any(map(_ITERATION.match, names))


_LONG = 3
"""Of the median time from one iteration to the next: how much longer a time without a request is at least."""

_MAX_LOOKED_AT = 200
"""The most times between iterations whose requests are read from the file, the longest ones."""


@memoised
def without_requests(trace: Trace) -> Intervals:
    """When a server has no request: between two iterations that have no request in common, if that takes long. Empty
    if the iterations do not record the ids of their requests. (docs/definitions.md, "No requests")"""
    names = annotation_names(trace)
    texts = trace.metadata.name[trace.metadata_index[trace.annotations]]
    is_iteration = np.array([bool(_ITERATION.match(names[text])) for text in texts.tolist()], np.bool_)
    rows = trace.annotations[is_iteration]
    rows = rows[np.argsort(trace.start_ps[rows], kind="stable")]
    if len(rows) < 2:
        return NO_INTERVALS
    begin_ps, end_ps = trace.end_ps[rows[:-1]], trace.start_ps[rows[1:]]
    between_ps = end_ps - begin_ps
    longest = np.argsort(-between_ps, kind="stable")[:_MAX_LOOKED_AT]
    is_long = between_ps[longest] > _LONG * np.median(np.diff(trace.start_ps[rows]))
    found = [
        at
        for at in longest[is_long].tolist()
        if (before := _requests(trace, int(rows[at])))
        and (after := _requests(trace, int(rows[at + 1])))
        and before.isdisjoint(after)
    ]
    return union(begin_ps[found], end_ps[found])


def _requests(trace: Trace, row: int) -> set[str]:
    """The ids of the requests of an iteration; empty if the file is gone."""
    try:
        stats = event_stats(trace, row)
    except InputError:
        return set()
    return {str(stat.value) for stat in stats if stat.name.startswith("request_id")}
