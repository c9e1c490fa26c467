"""The starts and ends of a CPU's ops, from the events of host threads.

An op lasts from its event's start to the `end:` event that its flow leads to. The thread that completes an op continues
with the program before it writes `end:`. So if a `ThunkExecutor::Execute` directly precedes the `end:`, or the sequence
of consecutive `end:` that contains it, the op was complete when that `Execute` began; except if the `Execute` is an
iteration of a loop, and the op is the loop itself.
"""

from __future__ import annotations

import numpy as np

from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.trace import codes, kernels
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.regions import EXECUTE, Regions


def op_times(trace: Trace, ops: Int32, regions: Regions | None) -> tuple[Int64, Int64, Int32]:
    """The start, end and run (index of a region, -1: none) of each op (row). An op ends when it was complete, or with
    its event if no flow leads from it to an `end:`, but no later than its run. (docs/definitions.md, "Device")"""
    consumer_of = np.full(len(trace), -1, np.int32)
    consumer_of[trace.flows.producer] = trace.flows.consumer
    if regions:
        region_columns = regions.of_row, regions.run, regions.complete_ps
    else:
        region_columns = np.full(len(trace), -1, np.int32), np.empty(0, np.int32), np.empty(0, np.int64)
    (start, end), run = np.empty((2, len(ops)), np.int64), np.empty(len(ops), np.int32)
    events = trace.start_ps, trace.duration_ps, trace.parent, trace.metadata_index, _name_codes(trace)
    kernels.time_ops(ops, *events, consumer_of, *region_columns, start, end, run)
    return start, end, run


def _name_codes(trace: Trace) -> Int8:
    """The code of each event metadata entry's name, for `time_ops`."""

    def code(name: str) -> int:
        return codes.EXECUTE if name == EXECUTE else codes.END * name.startswith("end: ")

    return trace.map_texts(trace.metadata.name, code)
