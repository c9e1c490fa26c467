"""The devices' time in whole steps: work, and idle time by the host's class meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.idle.barriers import idle_class_segments
from tb_xla_insights.analysis.idle.busy import busy, stalls
from tb_xla_insights.analysis.idle.idle_time import listed_idle
from tb_xla_insights.analysis.launches.step_times import find_steps, step_times
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.class_times import class_times_inside, covered_times, times_by_class
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals, union_all
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.columns.merge import merged_row
from tb_xla_insights.schema.steps import StepTimes
from tb_xla_insights.text.units import rounded_parts
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.steps import DeviceStepTimes, LeftOut, PerStepAndCore, StepIdle


@dataclass(frozen=True)
class DeviceTimeOfSteps:
    """One device's time in each whole step of its host; in the device's span if the host has no steps.

    `time_ps = work_ps + idle_ps`, and `idle_ps` is the sum of `by_class_ps` (a column per class) and `small_ps` (gaps
    under MIN_GAP_PS). `edges_ps` is the part of `idle_ps` before the device's first and after its last work, which is
    in no gap. `stall_ps` is the part of the work in which an op only waits. (docs/definitions.md, "Work and idle time
    of a step")
    """

    time_ps: Int64
    work_ps: Int64
    stall_ps: Int64
    by_class_ps: Int64
    small_ps: Int64
    edges_ps: Int64

    @property
    def idle_ps(self) -> Int64:
        return self.time_ps - self.work_ps


@memoised
def device_time(trace: Trace, index: int) -> DeviceTimeOfSteps:
    """Returns what one device (an index into the trace's devices) did during the whole steps, whichever step launched
    its work."""
    device = trace.devices[index]
    start, end = step_times(trace) if find_steps(trace) else np.array([device.span_ps], np.int64).T.copy()
    work, stalled = busy(trace, device), stalls(trace, device)
    work_ps = covered_times(work.start_ps, work.end_ps, start, end)
    counted = union_all([*_edges(trace, index, start, end), listed_idle(trace, index)])
    idle_by_class = class_times_inside(idle_class_segments(trace, index), counted, start, end)
    span_start, span_end = np.array([device.span_ps], np.int64).T.copy()
    in_span_ps = covered_times(span_start, span_end, start, end)
    return DeviceTimeOfSteps(
        end - start,
        work_ps,
        covered_times(stalled.start_ps, stalled.end_ps, start, end),
        idle_by_class,
        end - start - work_ps - idle_by_class.sum(axis=1),
        end - start - in_span_ps,
    )


def _edges(trace: Trace, index: int, start: Int64, end: Int64) -> list[Intervals]:
    """Returns the time before the device's first and after its last work, from the first step to the last one."""
    span_start, span_end = trace.devices[index].span_ps
    edges = (int(start.min()), span_start), (span_end, int(end.max()))
    return [span_intervals(*edge) for edge in edges]


def devices_with_work(trace: Trace) -> list[int]:
    """Returns the devices (indices) that recorded work. The others are in no mean."""
    spans = (device.span_ps for device in trace.devices)
    return [index for index, (start, end) in enumerate(spans) if end > start]


def work_per_core(trace: Trace) -> Int64 | None:
    """Returns, per step, how long a device of the host worked during it, in picoseconds: the mean over the devices that
    recorded work, rounded down. None without such devices or without steps."""
    devices = devices_with_work(trace)
    if not devices or not find_steps(trace):
        return None
    total: Int64 = np.sum([device_time(trace, index).work_ps for index in devices], axis=0)
    return total // len(devices)


def step_idle_report(trace: Trace) -> StepIdle:
    """The report's `step_idle`: the mean step, and the devices' work and idle time in it.

    `step_ps` is the mean duration of the `steps` whole steps and `median_ps` the median (of an even number the lower of
    the middle two). Everything else here is about these steps too.
    `work_ps`, `stall_ps` (the part of `work_ps` in which an op only waits), `idle_ps` and its parts `by_class_ps` and
    `small_ps` (gaps under 10 µs) are means per step and core: every step has the same weight, and is divided by the
    devices of its own host. `work_ps + idle_ps = step_ps`, and the parts add up to `idle_ps`, exactly. `all_cores` and
    `devices` have sums over all those steps, of all devices and of each. There, `edges_ps` is the part of `idle_ps`
    before a device's first and after its last work; the rest is the part of the report's gaps that is in whole steps.

    Without steps, all of this is about the devices' spans: `steps` is 0, `step_ps` None, and the means are per core.
    Without devices with work, all means and sums of the devices' times are None, and `left_out` names the host.
    """
    rows = [_row(trace, index) for index in devices_with_work(trace)]
    left_out: list[LeftOut] = [] if rows else [{"host": trace.host, "reason": "no_device_work"}]
    return step_idle_from_rows(rows, [step.duration_ps for step in find_steps(trace)], left_out)


def step_idle_from_rows(
    rows: Sequence[DeviceStepTimes], durations: Sequence[int], left_out: Sequence[LeftOut]
) -> StepIdle:
    """Returns the report's `step_idle` from its `devices`, the durations in picoseconds of their hosts' steps (of all
    hosts' steps without devices), and the hosts left out."""
    return {
        "steps": len(durations),
        "cores": len(rows),
        "step_ps": sum(durations) // len(durations) if durations else None,
        "median_ps": sorted(durations)[(len(durations) - 1) // 2] if durations else None,
        **per_step_and_core(rows),
        "all_cores": merged_row(StepTimes, rows) if rows else None,
        "devices": [*rows],
        "left_out": [*left_out],
    }


def _row(trace: Trace, index: int) -> DeviceStepTimes:
    """Returns one device's sums."""
    device, time = trace.devices[index], device_time(trace, index)
    return {
        "id": device.id,
        "host": device.host,
        "steps": len(find_steps(trace)),
        "time_ps": int(time.time_ps.sum()),
        "work_ps": int(time.work_ps.sum()),
        "stall_ps": int(time.stall_ps.sum()),
        "idle_ps": int(time.idle_ps.sum()),
        "small_ps": int(time.small_ps.sum()),
        "edges_ps": int(time.edges_ps.sum()),
        "by_class_ps": times_by_class(time.by_class_ps.sum(axis=0)),
    }


def per_step_and_core(rows: Sequence[DeviceStepTimes]) -> PerStepAndCore:
    """Returns means over `devices` of the report's `step_idle`, per step and core (per core without steps), in whole
    picoseconds that add up to the mean step; each None if there are no devices."""
    if not rows:
        return {"work_ps": None, "stall_ps": None, "idle_ps": None, "by_class_ps": None, "small_ps": None}
    device_counts, steps = Counter(row["host"] for row in rows), {row["host"]: row["steps"] for row in rows}
    # Each host's sums are divided by its devices, the total by all steps. Both divisions share one denominator.
    common = lcm(*device_counts.values()) if any(steps.values()) else 1
    weights = [common // device_counts[row["host"]] if common > 1 else 1 for row in rows]
    denominator = common * (sum(steps.values()) or len(rows))

    def weighted_sum(values: Iterable[int]) -> int:
        return sum(weight * value for weight, value in zip(weights, values, strict=True))

    names = [name for name in CLASSES if any(name in row["by_class_ps"] for row in rows)]
    parts = [weighted_sum(row[name] for row in rows) for name in ("work_ps", "small_ps")]
    parts += [weighted_sum(row["by_class_ps"].get(name, 0) for row in rows) for name in names]
    total = sum(parts) // denominator * denominator
    work, small, *classes = (part // denominator for part in rounded_parts(parts, total, denominator))
    return {
        "work_ps": work,
        "stall_ps": weighted_sum(row["stall_ps"] for row in rows) // denominator,
        "idle_ps": small + sum(classes),
        "by_class_ps": dict(zip(names, classes, strict=True)),
        "small_ps": small,
    }
