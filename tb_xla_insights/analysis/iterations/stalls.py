"""Prompts alone in a batch, for which requests that decode must wait."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from tb_xla_insights.analysis.host.servers import requests_of
from tb_xla_insights.analysis.iterations.iterations import find_iterations
from tb_xla_insights.arrays import Int64
from tb_xla_insights.trace.model import Trace

_LONG = 3
"""Of the median decode iteration: how long a request waits at least for its next token where prompts make it wait."""


@dataclass(frozen=True)
class PrefillStalls:
    """Times between two tokens of running requests in which batches of prompts alone come first, in order of time.
    `usual_ps`: a decode iteration, the median."""

    start_ps: Int64
    end_ps: Int64
    usual_ps: int


def find_prefill_stalls(trace: Trace) -> PrefillStalls | None:
    """The long waits of requests that decode before and after prompts, by the ids that the iterations record; None
    without any."""
    iterations = find_iterations(trace)
    is_decode = np.array([kind == "decode" for kind in iterations.kind], np.bool_)
    if not is_decode.any():
        return None
    usual_ps = int(np.median((iterations.end_ps - iterations.start_ps)[is_decode]))
    starts, ends = [], []
    for kind, group in groupby(range(len(iterations)), key=iterations.kind.__getitem__):
        members = [*group]
        after = members[-1] + 1
        if kind != "prefill" or after == len(iterations):
            continue
        waiting = requests_of(trace, int(iterations.mark[after]))
        # A request waits from its last token on, which may be the one that its own prompt ends with.
        for before in range(max(members[0] - 1, 0), after - 1):
            if waiting & requests_of(trace, int(iterations.mark[before])):
                begin_ps, end_ps = int(iterations.end_ps[before]), int(iterations.end_ps[after])
                if end_ps - begin_ps > _LONG * usual_ps:
                    starts.append(begin_ps)
                    ends.append(end_ps)
                break
    return PrefillStalls(np.array(starts), np.array(ends), usual_ps) if starts else None
