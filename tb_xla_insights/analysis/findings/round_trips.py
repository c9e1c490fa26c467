"""Early executions whose value an operator on the CPU may have read: the host reads it and sends another back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.delays.early_executions import find_early_executions
from tb_xla_insights.analysis.delays.transfers import TO_DEVICE, find_transfers
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

_MAX_OPERATOR_PS = 10**9
"""Without counters, a value that is sent later than this after the read is not taken for the result of an operator. In
captures of such operators it is sent 0.3 to 0.7 ms after the read; after a print, an optimizer sends its constants 1.3
to 3 ms after it."""


def round_trips(facts: Facts) -> Int64:
    """Per early execution that an operator on the CPU may have caused, the row of the transfer to the device that
    follows its read in the same annotation; -1 for all others. Unless a metrics report counts such operators, the
    transfer must follow at once. All are -1 if the report shows that no operator ran on the CPU; a report whose
    counters torch.compile cleared cannot show that. Round trips belong to `cpu_fallback`, all other early executions to
    `early_sync`."""
    metrics, trace = facts.metrics, facts.trace
    early = find_early_executions(trace)
    if metrics and not metrics.is_cleared and not metrics.fallbacks():
        return np.full(len(early.launch), -1, np.int64)
    sent_back: Int64 = np.where(is_read_by_call(trace, early.launch), -1, _rows_sent_back(trace))
    if metrics and metrics.fallbacks():
        return sent_back
    is_at_once = trace.start_ps[sent_back] - trace.end_ps[early.read] <= _MAX_OPERATOR_PS
    return np.where(is_at_once, sent_back, -1)


def is_read_by_call(trace: Trace, launches: Int32) -> NDArray[np.bool_]:
    """Per launch, whether a call of the runtime around its synchronisation shows that the program itself asked for the
    value: `print` and `.cpu()` synchronise in `SyncTensorsGraph`. `.item()`, comparisons, and operators on the CPU
    synchronise directly."""
    enclosing = trace.parent[find_launches(trace).sync[launches]]
    is_frame = has_tag(trace, "python_tracer")[trace.metadata_index[enclosing]]
    by_call: NDArray[np.bool_] = (enclosing >= 0) & ~trace.annotation_mask[enclosing] & ~is_frame
    return by_call


@memoised
def _rows_sent_back(trace: Trace) -> Int64:
    """Per early execution, the first transfer to the device after its read, if it ends in the annotation of the read;
    -1 for all others."""
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
