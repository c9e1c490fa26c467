"""The gaps of each device: when it was idle, what the host did meanwhile, and why each gap ended."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.idle.barriers import find_barriers, idle_class_segments
from tb_xla_insights.analysis.idle.busy import busy_on_any_device, idle
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import find_unrecorded_work
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.class_times import class_times, covered_times, overlapping_pairs
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.catalog.classes import CLASSES, WAIT
from tb_xla_insights.trace.device_clock import CLOCK_SLACK_PS
from tb_xla_insights.trace.model import Trace

MIN_GAP_PS = 10_000_000
"""The minimum length of a listed gap; shorter ones are only summed."""

LONG_GAP_PS = 1_000_000_000
"""The length from which gaps are counted and visited one by one: among the long gaps between steps there may be
thousands of short ones."""

GapKind = Literal["starved", "queued", "unknown"]
GAP_KINDS: tuple[GapKind, ...] = get_args(GapKind)
STARVED, QUEUED, UNKNOWN = range(3)


@dataclass(frozen=True)
class Gaps:
    """Idle intervals of a host's devices of at least MIN_GAP_PS, sorted by device and time.

    `device`: index into the trace's devices. `by_class_ps`: what the host did, one column per class; adds up to the
    gap. `before` and `after`: the programs, indices into Launches.programs; -1: none. `run`: the run whose work ended
    the gap; `before_run`: the last run that began before the gap, which is `run` itself if the gap is inside it;
    indices into Launches.runs, -1: none. `enqueue_row`: the event that put that work into the device's queue, -1:
    unknown. `step`: the step of `run`, -1: none. `kind`: index into GAP_KINDS; `cause`: index into CLASSES.
    `all_cores_idle_ps`: the part in which every device of the host was idle. `barrier_ps`: the part in which the device
    waited at the start of a run for another one, and `late_device`, an index into the trace's devices: the one that it
    waited for longest, -1: none or unknown."""

    device: Int32
    start_ps: Int64
    end_ps: Int64
    by_class_ps: Int64
    before: Int32
    after: Int32
    before_run: Int32
    run: Int32
    enqueue_row: Int32
    step: Int32
    kind: Int8
    cause: Int8
    all_cores_idle_ps: Int64
    barrier_ps: Int64
    late_device: Int32

    def __len__(self) -> int:
        return len(self.device)

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Whether each gap is inside a run: the same run was at work before and after it."""
        inside: NDArray[np.bool_] = (self.run >= 0) & (self.run == self.before_run)
        return inside

    @property
    def duration_ps(self) -> Int64:
        return self.end_ps - self.start_ps


def clock_error_ps(trace: Trace) -> int:
    """How far the clocks of host and devices may be apart: instants on them that are closer have no known order."""
    return max(CLOCK_SLACK_PS, trace.device_clock.error_ps if trace.device_clock is not None else 0)


def long_gaps(duration_ps: Int64) -> NDArray[np.intp]:
    """The indices of a device's gaps of LONG_GAP_PS or more; of all gaps if none is that long."""
    indices = np.flatnonzero(duration_ps >= LONG_GAP_PS)
    return indices if len(indices) else np.arange(len(duration_ps))


@memoised
def listed_idle(trace: Trace, index: int) -> Intervals:
    """When a device (an index into the trace's devices) is idle for MIN_GAP_PS or longer at a time."""
    return idle(trace, trace.devices[index], MIN_GAP_PS)


@memoised
def find_gaps(trace: Trace) -> Gaps:
    """The gaps of one host's devices. (docs/definitions.md, "Gap", "Why a gap ended")

    A gap is `starved` if the run that ended it was enqueued after the gap began, `queued` if it was enqueued before (as
    is always the case if the gap is inside the run), and `unknown` if the two instants are within the clocks' error or
    the enqueuing is unknown, or if a launch between the runs around the gap has no recorded run: the device may have
    worked on it. A GPU's kernels are enqueued one by one; there, the call of the kernel after the gap decides, even if
    that is of no program.
    The cause of a starved gap is the class with most time until the run was enqueued; that of a queued gap is `wait`;
    that of others is the class with most time. A gap of which more than half is a barrier is `queued`: its run waited
    for another device. (docs/definitions.md, "Barrier")
    """
    idles = [listed_idle(trace, index) for index in range(len(trace.devices))]
    device = np.repeat(np.arange(len(idles), dtype=np.int32), [len(idle) for idle in idles])
    empty = np.zeros(0, np.int64)
    start = np.concatenate([idle.start_ps for idle in idles] or [empty])
    end = np.concatenate([idle.end_ps for idle in idles] or [empty])
    launches = find_launches(trace)
    runs = launches.runs
    before, run, kernel = _neighbours(trace, device, start, end)
    inside = (run >= 0) & (run == before)
    enqueue_row = np.append(runs.enqueue_row, np.int32(-1))[run]
    enqueue_ps = np.append(runs.enqueue_ps, -1)[run]
    # Gaps before a kernel that is not the first of its run, or of no run.
    by_kernel = (kernel >= 0) & ((run < 0) | (np.append(runs.start_ps, 0)[run] < end))
    enqueue_row[by_kernel] = trace.flows.producers(kernel[by_kernel])
    enqueue_ps[by_kernel] = np.minimum(trace.end_ps[enqueue_row[by_kernel]], end[by_kernel])
    error_ps = clock_error_ps(trace)
    kind = np.where(
        enqueue_ps > start + error_ps, STARVED, np.where(enqueue_ps < start - error_ps, QUEUED, UNKNOWN)
    )
    kind = np.where(enqueue_row >= 0, kind, UNKNOWN)
    kind[_with_unrecorded_launch(trace, before, run)] = UNKNOWN
    barrier_ps, late_device = _barriers(trace, device, start, end)
    is_queued = (inside & ~by_kernel) | (2 * barrier_ps > end - start)
    kind = np.where(is_queued, QUEUED, kind).astype(np.int8)
    by_class_ps = idle_class_times(trace, device, start, end)
    cause_end = np.where(kind == STARVED, np.minimum(enqueue_ps, end), end)
    largest_class = idle_class_times(trace, device, start, cause_end).argmax(axis=1)
    cause = np.where(kind == QUEUED, WAIT, largest_class).astype(np.int8)
    program = np.append(runs.program, np.int32(-1))
    step = np.append(launches.step_of_run, np.int32(-1))[run]
    busy = busy_on_any_device(trace)
    all_cores_idle_ps = end - start - covered_times(busy.start_ps, busy.end_ps, start, end)
    return Gaps(
        device, start, end, by_class_ps, program[before], program[run], before, run, enqueue_row, step, kind, cause,
        all_cores_idle_ps, barrier_ps, late_device,
    )  # fmt: skip


def idle_class_times(trace: Trace, device: Int32, start_ps: Int64, end_ps: Int64) -> Int64:
    """The time of each class in windows in which devices (indices into the trace's devices) are idle; see
    `idle_class_segments`."""
    times = np.zeros((len(device), len(CLASSES)), np.int64)
    for index in np.unique(device).tolist():
        windows = device == index
        times[windows] = class_times(idle_class_segments(trace, index), start_ps[windows], end_ps[windows])
    return times


def _barriers(trace: Trace, device: Int32, start_ps: Int64, end_ps: Int64) -> tuple[Int64, Int32]:
    """Per gap, its time in barriers, and the device waited for in the longest of them (-1: none)."""
    barriers = find_barriers(trace)
    barrier_ps, late_device = np.zeros(len(device), np.int64), np.full(len(device), -1, np.int32)
    for index in np.unique(barriers.device).tolist():
        gaps, rows = np.flatnonzero(device == index), barriers.of_device(index)
        begin, end, late = barriers.start_ps[rows], barriers.end_ps[rows], barriers.late_device[rows]
        gap, barrier = overlapping_pairs(begin, end, start_ps[gaps], end_ps[gaps])
        time_ps = np.minimum(end[barrier], end_ps[gaps[gap]]) - np.maximum(
            begin[barrier], start_ps[gaps[gap]]
        )
        np.add.at(barrier_ps, gaps[gap], time_ps)
        shortest_first = np.argsort(time_ps, kind="stable")  # the longest is written last, and remains
        late_device[gaps[gap[shortest_first]]] = late[barrier[shortest_first]]
    return barrier_ps, late_device


def _with_unrecorded_launch(trace: Trace, before: Int32, run: Int32) -> NDArray[np.bool_]:
    """Per gap between two runs, whether a launch between theirs has no recorded run."""
    launch = find_launches(trace).runs.launch
    first, last = (np.append(launch, np.int32(-1))[runs] for runs in (before, run))
    lost_until = np.concatenate(([0], np.cumsum(find_unrecorded_work(trace).is_lost)))
    is_known = (first >= 0) & (last >= 0)
    return is_known & (lost_until[np.maximum(last, 0)] > lost_until[np.maximum(first, 0)])


def _neighbours(trace: Trace, device: Int32, start: Int64, end: Int64) -> tuple[Int32, Int32, Int32]:
    """Per gap: the run around it, or the last one that began before it; the run whose work ends it; and the kernel that
    ends it if runs are built from kernels (-1: none)."""
    runs = find_launches(trace).runs
    before, after, kernel = np.full((3, len(device)), -1, np.int32)
    for index in np.unique(device).tolist():
        core, gaps, rows = trace.devices[index], device == index, runs.of_device(index)
        # No run ends a gap at the end of the span. A gap that ends outside of runs is ended by an op without a program.
        is_inside_span = end[gaps] < core.span_ps[1]
        run_start, run_end = runs.start_ps[rows], np.append(runs.end_ps[rows], -1)
        last = np.searchsorted(run_start, start[gaps], "left") - 1
        run = np.searchsorted(run_start, end[gaps], "right") - 1
        run = np.where(is_inside_span & (run_end[run] >= end[gaps]), run, -1)
        if core.run_of_op is not None:
            op = np.minimum(np.searchsorted(core.ops.start_ps, end[gaps]), len(core.ops) - 1)
            kernel[gaps] = np.where(is_inside_span, core.ops.row[op], -1)
            run_of_kernel = core.run_of_op[op]  # -1 for a kernel without a program, even inside a run
            run = np.where(is_inside_span & (run_of_kernel >= 0), run_of_kernel, run)
            last = np.where((run >= 0) & (np.append(run_start, 0)[run] < start[gaps]), run, last)
        before[gaps] = np.where(last >= 0, last + rows.start, -1)
        after[gaps] = np.where(run >= 0, run + rows.start, -1)
    return before, after, kernel
