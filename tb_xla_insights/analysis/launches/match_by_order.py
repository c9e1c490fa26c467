"""Matching of runs and calls that nothing links, by their order."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.arrays import Int64


def match_by_order(run_start: Int64, call_of_run: Int64, call_start: Int64) -> Int64:
    """Returns, for each run without a call, one of the calls without a run, or -1. A device runs its launches in order,
    so the runs that have a call bound the calls of the others.

    `run_start` may be in any order. `call_of_run[i]` is the call that run i has, -1: none. `call_start` ascends.
    Between two runs that have calls, and after the last one, runs without a call take the free calls from the first on.
    Before the first run that has a call, they take the free calls before that call from the last back, because a
    capture may begin between a call and its run. No run takes a call that starts after it.
    """
    matched = np.full(len(run_start), -1, np.int64)
    order = np.argsort(run_start, kind="stable")
    ordered_calls = call_of_run[order]
    if not (ordered_calls < 0).any():
        return matched
    free = np.ones(len(call_start), np.bool_)
    free[ordered_calls[ordered_calls >= 0]] = False
    low = np.maximum.accumulate(np.append(-1, ordered_calls))[:-1]
    upper = np.where(ordered_calls < 0, len(call_start), ordered_calls)
    high = np.minimum.accumulate(upper[::-1])[::-1]
    unmatched = np.flatnonzero(ordered_calls < 0)
    bounds = np.stack((low[unmatched], high[unmatched]), 1)
    for group in np.split(unmatched, np.flatnonzero((np.diff(bounds, axis=0) != 0).any(axis=1)) + 1):
        first, last = int(low[group[0]]) + 1, int(high[group[0]])
        calls = (np.flatnonzero(free[first:last]) + first).tolist() if last > first else []
        runs = order[group].tolist()
        is_backward = first == 0 and last < len(call_start)
        if is_backward:
            calls.reverse()
            runs.reverse()
        next_call = 0
        for run in runs:
            while is_backward and next_call < len(calls) and call_start[calls[next_call]] > run_start[run]:
                next_call += 1
            if next_call < len(calls) and call_start[calls[next_call]] <= run_start[run]:
                matched[run] = calls[next_call]
                next_call += 1
    return matched
