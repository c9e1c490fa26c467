"""When a device waits at the start of a run for the other devices of its launch, and for which of them.

Each TPU core records the wait as `barrier-cores`, inside the run and before its first op. The core that waits least
came last: the others wait for it. (docs/definitions.md, "Barrier")
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.segments import Segments, overlay_first
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import WAIT
from tb_xla_insights.trace.model import Trace

_LINE, _NAME = "XLA TraceMe", "barrier-cores"


@dataclass(frozen=True)
class Barriers:
    """Waits of devices for others at the start of a run, by device and time. `device` and `late_device`: indices into
    the trace's devices, of the one that waits and of the one waited for (-1: none or unknown). `row`: the event. `run`
    and `late_run`: their runs, as indices into Launches.runs."""

    device: Int32
    row: Int32
    run: Int32
    late_device: Int32
    late_run: Int32
    start_ps: Int64
    end_ps: Int64

    def __len__(self) -> int:
        return len(self.device)

    def of_device(self, index: int) -> slice:
        """The barriers of one device."""
        return slice(*np.searchsorted(self.device, (index, index + 1)).tolist())


@memoised
def find_barriers(trace: Trace) -> Barriers:
    """Finds the waits of one host's devices for each other. (docs/definitions.md, "Barrier")"""
    runs = find_launches(trace).runs
    is_barrier = np.array([trace.strings[name] == _NAME for name in trace.metadata.name], np.bool_)
    rows = trace.rows_with_metadata(is_barrier)
    if not rows.size:
        return Barriers(rows, rows, rows, rows, rows, trace.start_ps[rows], trace.end_ps[rows])
    parts = [_of_device(trace, index, rows) for index in range(len(trace.devices))]
    row = np.concatenate([row for row, _ in parts])
    run = np.concatenate([run for _, run in parts])
    late_run = _late_runs(trace, row, run)
    late_device = np.where(late_run >= 0, runs.device[late_run], -1).astype(np.int32)
    return Barriers(runs.device[run], row, run, late_device, late_run, trace.start_ps[row], trace.end_ps[row])


def _of_device(trace: Trace, index: int, rows: Int32) -> tuple[Int32, Int32]:
    """The barriers of a device among `rows`, and their runs."""
    runs, lines = find_launches(trace).runs, trace.devices[index].lines
    row = rows[trace.is_on_lines(rows, [lines[_LINE]] if _LINE in lines else [])]
    of_device = runs.of_device(index)
    run = np.searchsorted(runs.start_ps[of_device], trace.start_ps[row], "right") - 1 + of_device.start
    is_inside = (run >= of_device.start) & (trace.end_ps[row] <= np.append(runs.end_ps, 0)[run])
    return row[is_inside], run[is_inside].astype(np.int32)


def _late_runs(trace: Trace, row: Int32, run: Int32) -> Int32:
    """Per barrier, the run of the same launch that waits least; -1 if it is this one, or the only one."""
    runs = find_launches(trace).runs
    wait_ps = np.zeros(len(runs), np.int64)
    wait_ps[run] = trace.duration_ps[row]
    order = np.lexsort((wait_ps, runs.launch))
    is_first = np.diff(runs.launch[order], prepend=-2) != 0
    last_run = np.full(int(runs.launch.max(initial=-1)) + 2, -1, np.int64)  # the last one: of no launch
    last_run[runs.launch[order[is_first]]] = order[is_first]
    last_run[-1] = -1
    last = last_run[runs.launch[run]]
    is_waited_for = (last >= 0) & (wait_ps[last] < wait_ps[run])
    return np.where(is_waited_for, last, -1).astype(np.int32)


@memoised
def idle_class_segments(trace: Trace, index: int) -> Segments:
    """Returns the class at every instant at which a device (an index into the trace's devices) is idle: `wait` in its
    barriers, as the other devices decide about their length, else what the host does (`host_class_segments`)."""
    segments, waits = host_class_segments(trace), barrier_segments(trace, index)
    return overlay_first(waits, segments) if len(waits) else segments


def barrier_segments(trace: Trace, index: int) -> Segments:
    """Returns a device's barriers, as segments of the class `wait`."""
    barriers = find_barriers(trace)
    of_device = barriers.of_device(index)
    row = barriers.row[of_device]
    waits = np.full(len(row), WAIT, np.int8)
    return Segments(barriers.start_ps[of_device], barriers.end_ps[of_device], waits, row)
