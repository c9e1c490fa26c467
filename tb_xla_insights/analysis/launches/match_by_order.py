"""Runs and calls that nothing ties together, matched by their order."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.trace.model import Int64


def match_by_order(run_start: Int64, taken: Int64, call_start: Int64) -> Int64:
    """For each run that has no call yet, one of the calls that have no run, or -1; a device runs what it was given in
    order, so the runs that have one say where the others' are.

    `run_start` in any order; `taken[i]` is the call that run i has, -1: none; `call_start` ascends. Between two runs
    that have calls, and after the last one, waiting runs take the calls from the first on; before the first run that
    has one, they take the calls before its own from the last back, because a capture may begin between a call and its
    run. No run takes a call that starts after it.
    """
    found = np.full(len(run_start), -1, np.int64)
    order = np.argsort(run_start, kind="stable")
    have = taken[order]
    if not (have < 0).any():
        return found
    free = np.ones(len(call_start), np.bool_)
    free[have[have >= 0]] = False
    low = np.maximum.accumulate(np.append(-1, have))[:-1]
    above = np.where(have < 0, len(call_start), have)
    high = np.minimum.accumulate(above[::-1])[::-1]
    waiting = np.flatnonzero(have < 0)
    bounds = np.stack((low[waiting], high[waiting]), 1)
    for group in np.split(waiting, np.flatnonzero((np.diff(bounds, axis=0) != 0).any(axis=1)) + 1):
        first, last = int(low[group[0]]) + 1, int(high[group[0]])
        calls = (np.flatnonzero(free[first:last]) + first).tolist() if last > first else []
        runs = order[group].tolist()
        if first == 0 and last < len(call_start):
            calls.reverse()
            runs.reverse()
        at = 0
        backward = first == 0 and last < len(call_start)
        for run in runs:
            while backward and at < len(calls) and call_start[calls[at]] > run_start[run]:
                at += 1
            if at < len(calls) and call_start[calls[at]] <= run_start[run]:
                found[run] = calls[at]
                at += 1
    return found
