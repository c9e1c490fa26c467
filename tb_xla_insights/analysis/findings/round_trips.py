"""Early executions whose value goes to the host and comes back, as an operator on the CPU makes them."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.findings.base import Facts
from tb_xla_insights.analysis.host.transfers import find_transfers
from tb_xla_insights.analysis.launches.early_executions import find_early_executions
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import Int64, Trace


def round_trips(facts: Facts) -> Int64:
    """Per early execution, the transfer to the device that follows its read in the same annotation; -1: none,
    as for all where a metrics report tells that no operator ran on the CPU. One whose counters torch.compile cleared
    does not tell that. What makes these cuts is `cpu_fallback`'s, all others are `early_sync`'s."""
    metrics = facts.metrics
    if metrics and not metrics.cleared and not metrics.fallbacks():
        return np.full(len(find_early_executions(facts.trace).launch), -1, np.int64)
    found: Int64 = _sent_back(facts.trace)
    return found


@memoised
def _sent_back(trace: Trace) -> Int64:
    early, transfers = find_early_executions(trace), find_transfers(trace)
    lines = trace.driving_lines
    sent = transfers.row[transfers.direction == 0]
    found = np.full(len(early.launch), -1, np.int64)
    for number, (read, around) in enumerate(zip(early.read.tolist(), early.annotation.tolist(), strict=True)):
        if read < 0 or around < 0:
            continue
        line = trace.line_of(read)
        if line.index not in lines:
            continue
        mine = sent[(sent >= read) & (sent < line.rows.stop)]
        mine = mine[
            (trace.start_ps[mine] >= trace.end_ps[read]) & (trace.end_ps[mine] <= trace.end_ps[around])
        ]
        found[number] = mine[0] if mine.size else -1
    return found
