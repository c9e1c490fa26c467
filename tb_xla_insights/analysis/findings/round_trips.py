"""Early executions whose value is read by the host and sent back, as for an operator that runs on the CPU."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.host.transfers import TO_DEVICE, find_transfers
from tb_xla_insights.analysis.launches.early_executions import find_early_executions
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import Int64, Trace


def round_trips(facts: Facts) -> Int64:
    """Per early execution, the row of the transfer to the device that follows its read in the same annotation; -1
    without one. All are -1 if a metrics report shows that no operator ran on the CPU; a report whose counters
    torch.compile cleared cannot show that. Round trips belong to `cpu_fallback`, all other early executions to
    `early_sync`."""
    metrics = facts.metrics
    if metrics and not metrics.is_cleared and not metrics.fallbacks():
        return np.full(len(find_early_executions(facts.trace).launch), -1, np.int64)
    transfers: Int64 = _rows_sent_back(facts.trace)
    return transfers


@memoised
def _rows_sent_back(trace: Trace) -> Int64:
    """As `round_trips`, regardless of metrics."""
    early, transfers = find_early_executions(trace), find_transfers(trace)
    send_rows = transfers.row[transfers.direction == TO_DEVICE]
    sent_back = np.full(len(early.launch), -1, np.int64)
    has_read = (early.read >= 0) & (early.annotation >= 0)
    for line in trace.driving_lines:
        rows = trace.lines[line].rows
        # Transfers of one thread are disjoint and ascend: if any after the read ends in the annotation, the first does.
        line_sends = send_rows[slice(*np.searchsorted(send_rows, (rows.start, rows.stop)))]
        index = np.flatnonzero(has_read & (early.read >= rows.start) & (early.read < rows.stop))
        read = early.read[index]
        next_send = np.maximum(
            np.searchsorted(line_sends, read), np.searchsorted(trace.start_ps[line_sends], trace.end_ps[read])
        )
        index, next_send = index[next_send < len(line_sends)], next_send[next_send < len(line_sends)]
        row = line_sends[next_send]
        ends_inside = trace.end_ps[row] <= trace.end_ps[early.annotation[index]]
        sent_back[index[ends_inside]] = row[ends_inside]
    return sent_back
