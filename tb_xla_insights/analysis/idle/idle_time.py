"""When each device is idle, what the host did meanwhile, and why it ended."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.busy import busy_on_any_device, idle
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.class_times import class_times, covered_times
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.catalog.classes import WAIT
from tb_xla_insights.trace.model import Int8, Int32, Int64, Trace

MIN_GAP_PS = 10_000_000
"""Gaps from this length on are listed; shorter ones are summed."""

CLOCK_SLACK_PS = 10_000_000
"""Host and device clocks agree to some microseconds: what lies closer together has no order."""

GapKind = Literal["starved", "queued", "unknown"]
GAP_KINDS: tuple[GapKind, ...] = get_args(GapKind)
STARVED, QUEUED, UNKNOWN = range(3)


@dataclass(frozen=True)
class Gaps:
    """Idle stretches of a host's devices from LISTED_PS up, by device and time.

    `device`: index into the trace's devices. `shares`: one column per class, adds up to the gap. `before` and `after`:
    indices into Launches.programs, -1: none. `run`: the run whose work ended the gap, `before_run`: the same one where
    the gap lies inside it, else the last one that began before; indices into Launches.runs, -1: none. `enqueue_row`:
    the event that put that work into the device's queue, -1: none known. `step`: the one that `run` belongs to, -1:
    none. `kind`: index into KINDS; `cause`: index into CLASSES. `together_ps`: the part in which every device of the
    host was idle.
    """

    device: Int32
    start_ps: Int64
    end_ps: Int64
    shares: Int64
    before: Int32
    after: Int32
    before_run: Int32
    run: Int32
    enqueue_row: Int32
    step: Int32
    kind: Int8
    cause: Int8
    together_ps: Int64

    def __len__(self) -> int:
        return len(self.device)

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Which gaps lie inside a run: the same one was at work before and after."""
        inside: NDArray[np.bool_] = (self.run >= 0) & (self.run == self.before_run)
        return inside

    @property
    def duration_ps(self) -> Int64:
        return self.end_ps - self.start_ps


@memoised
def listed_idle(trace: Trace, number: int) -> Intervals:
    """When a device (an index into the trace's devices) is idle for LISTED_PS or longer at a time."""
    return idle(trace, trace.devices[number], MIN_GAP_PS)


@memoised
def find_gaps(trace: Trace) -> Gaps:
    """The gaps of one host's devices. (docs/definitions.md, "Gap", "Why a gap ended")

    A gap is `starved` where the run that ended it was enqueued after the gap began, `queued` where it had been before
    (as it was where that run had begun: the gap lies inside it), and `unknown` where the two lie within SLACK_PS or the
    run's call is not known. A GPU's kernels enter its queue one by one: the call of the one after the gap tells.
    The cause of a starved gap is the class with most of its time until the run was enqueued, that of a queued one
    `wait`, else the one with most time.
    """
    idles = [listed_idle(trace, number) for number in range(len(trace.devices))]
    device = np.repeat(np.arange(len(idles), dtype=np.int32), [len(it) for it in idles])
    none = np.zeros(0, np.int64)
    start = np.concatenate([it.start_ps for it in idles] or [none])
    end = np.concatenate([it.end_ps for it in idles] or [none])
    launches = find_launches(trace)
    runs = launches.runs
    before, run, kernel = _neighbours(trace, device, start, end)
    inside = (run >= 0) & (run == before)
    row = np.append(runs.enqueue_row, np.int32(-1))[run]
    enqueue = np.append(runs.enqueue_ps, -1)[run]
    # A run's kernels after its first one.
    later = (run >= 0) & (kernel >= 0) & (np.append(runs.start_ps, 0)[run] < end)
    row[later] = trace.flows.producers(kernel[later])
    enqueue[later] = np.minimum(trace.end_ps[row[later]], end[later])
    kind = np.where(
        enqueue > start + CLOCK_SLACK_PS, STARVED, np.where(enqueue < start - CLOCK_SLACK_PS, QUEUED, UNKNOWN)
    )
    kind = np.where(row >= 0, kind, UNKNOWN)
    kind = np.where(inside & ~later, QUEUED, kind).astype(np.int8)
    segments = host_class_segments(trace)
    shares = class_times(segments, start, end)
    until = np.where(kind == STARVED, np.minimum(enqueue, end), end)
    most = class_times(segments, start, until).argmax(axis=1)
    cause = np.where(kind == QUEUED, WAIT, most).astype(np.int8)
    program = np.append(runs.program, np.int32(-1))
    step = np.append(launches.step_of_run, np.int32(-1))[run]
    elsewhere = busy_on_any_device(trace)
    together = end - start - covered_times(elsewhere.start_ps, elsewhere.end_ps, start, end)
    return Gaps(
        device, start, end, shares, program[before], program[run], before, run, row, step, kind, cause, together,
    )  # fmt: skip


def _neighbours(trace: Trace, device: Int32, start: Int64, end: Int64) -> tuple[Int32, Int32, Int32]:
    """The run that each gap lies inside, else the last one that began before it; the run whose work ends it; and the
    kernel that does, where runs are made from kernels (-1: none)."""
    runs = find_launches(trace).runs
    before, after, kernel = np.full((3, len(device)), -1, np.int32)
    for number in np.unique(device).tolist():
        core, mine, its = trace.devices[number], device == number, runs.of_device(number)
        begins = runs.start_ps[its]
        if not len(begins):
            continue
        last = np.searchsorted(begins, start[mine], "left") - 1
        # A gap at the end of the span is ended by nothing; one that ends in no run by something that is no program's.
        works = end[mine] < core.span_ps[1]
        run = np.searchsorted(begins, end[mine], "right") - 1
        run = np.where(works & (runs.end_ps[its][run] >= end[mine]), run, -1)
        if core.run_of_op is not None:
            op = np.minimum(np.searchsorted(core.ops.start_ps, end[mine]), len(core.ops) - 1)
            kernel[mine] = core.ops.row[op]
            own = core.run_of_op[op]  # a kernel without a program may lie in a run
            run = np.where(works & (own >= 0), own, run)
            last = np.where((run >= 0) & (begins[run] < start[mine]), run, last)
        before[mine] = np.where(last >= 0, last + its.start, -1)
        after[mine] = np.where(run >= 0, run + its.start, -1)
    return before, after, kernel
