"""When the ops of a CPU start and end, from what host threads record of them.

An op lasts from its event's begin to the `end:` event that its flow leads to. The thread that completes an op goes on
with the program at once and writes `end:` behind that: where a `ThunkExecutor::Execute` stands directly before `end:`,
the op was complete when that began. Of several `end:` in a row that holds for all.
"""

from __future__ import annotations

import numpy as np

from tb_xla_insights.trace import codes, kernels
from tb_xla_insights.trace.model import Int8, Int32, Int64, Trace
from tb_xla_insights.trace.regions import EXECUTE, Regions


def op_times(trace: Trace, ops: Int32, regions: Regions | None) -> tuple[Int64, Int64, Int32]:
    """When each op (a row) starts and ends, and the run (region) it belongs to, -1: none. It ends when it was complete,
    or with its event where the capture has no `end:`, but no later than its run.
    (docs/definitions.md, "Device")"""
    consumer_of = np.full(len(trace), -1, np.int32)
    consumer_of[trace.flows.producer] = trace.flows.consumer
    if regions:
        known = regions.of_row, regions.run, regions.complete_ps
    else:
        known = np.full(len(trace), -1, np.int32), np.empty(0, np.int32), np.empty(0, np.int64)
    (start, end), run = np.empty((2, len(ops)), np.int64), np.empty(len(ops), np.int32)
    events = trace.start_ps, trace.duration_ps, trace.parent, trace.meta, _marks(trace)
    kernels.time_ops(ops, *events, consumer_of, *known, start, end, run)
    return start, end, run


def _marks(trace: Trace) -> Int8:
    """What each metadata entry is to the ends of ops, by its name."""

    def mark(name: str) -> int:
        return codes.EXECUTE if name == EXECUTE else codes.END * name.startswith("end: ")

    return trace.map_texts(trace.metadata.name, mark)
