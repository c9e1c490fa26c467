"""Early executions whose value is read by the host and sent back, as for an operator that runs on the CPU."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.host.transfers import find_transfers
from tb_xla_insights.analysis.launches.early_executions import find_early_executions
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import Int64, Trace


def round_trips(facts: Facts) -> Int64:
    """Per early execution, the row of the transfer to the device that follows its read in the same annotation; -1
    without one. All are -1 if a metrics report shows that no operator ran on the CPU; a report whose counters
    torch.compile cleared does not. Round trips belong to `cpu_fallback`, all other early executions to
    `early_sync`."""
    metrics = facts.metrics
    if metrics and not metrics.cleared and not metrics.fallbacks():
        return np.full(len(find_early_executions(facts.trace).launch), -1, np.int64)
    transfers: Int64 = _rows_sent_back(facts.trace)
    return transfers


@memoised
def _rows_sent_back(trace: Trace) -> Int64:
    """As `round_trips`, regardless of metrics."""
    early, transfers = find_early_executions(trace), find_transfers(trace)
    driving_lines = trace.driving_lines
    send_rows = transfers.row[transfers.direction == 0]
    sent_back = np.full(len(early.launch), -1, np.int64)
    for index, (read, annotation) in enumerate(
        zip(early.read.tolist(), early.annotation.tolist(), strict=True)
    ):
        if read < 0 or annotation < 0:
            continue
        line = trace.line_of(read)
        if line.index not in driving_lines:
            continue
        following = send_rows[(send_rows >= read) & (send_rows < line.rows.stop)]
        following = following[
            (trace.start_ps[following] >= trace.end_ps[read])
            & (trace.end_ps[following] <= trace.end_ps[annotation])
        ]
        sent_back[index] = following[0] if following.size else -1
    return sent_back
