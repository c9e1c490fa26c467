"""How the devices' time divides in whole steps: work, and idle time by what the host did meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING, Literal

import numpy as np

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.busy import busy, stalls
from tb_xla_insights.analysis.idle.idle_time import listed_idle
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.step_times import step_times, steps_of
from tb_xla_insights.analysis.time.class_times import by_class, class_times_inside, covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals, union_all
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace
from tb_xla_insights.units import rounded_parts

if TYPE_CHECKING:
    from tb_xla_insights.schema.steps import DeviceStepTimes, LeftOut, PerStepAndCore, StepIdle, StepTimes


@dataclass(frozen=True)
class DeviceTime:
    """One device's time in each whole step of its host; in its own span where the host has no steps.

    `time_ps = work_ps + idle_ps`, and `idle_ps` is `by_class_ps` (a column per class) and `small_ps` (gaps under
    MIN_GAP_PS) together. `edges_ps` is the part of `idle_ps` before the device's first and after its last work, where
    no gap is, and `edges_by_class_ps` the part of `by_class_ps` there. `stall_ps` is the part of the work in which an
    op only waits. (docs/definitions.md, "Work and idle time of a step")
    """

    time_ps: Int64
    work_ps: Int64
    stall_ps: Int64
    by_class_ps: Int64
    small_ps: Int64
    edges_ps: Int64
    edges_by_class_ps: Int64

    @property
    def idle_ps(self) -> Int64:
        return self.time_ps - self.work_ps


@memoised
def device_time(trace: Trace, number: int) -> DeviceTime:
    """What one device (an index into the trace's devices) did in the whole steps, by the clock: whichever step launched
    the work."""
    device = trace.devices[number]
    start, end = step_times(trace) if steps_of(trace) else np.array([device.span_ps], np.int64).T.copy()
    work, waits = busy(trace, device), stalls(trace, device)
    worked = covered_times(work.start_ps, work.end_ps, start, end)
    edges = _edges(trace, number, start, end)
    shares, at_edges = (
        class_times_inside(host_class_segments(trace), its, start, end)
        for its in (union_all([*edges, listed_idle(trace, number)]), union_all(edges))
    )
    first, last = np.array([device.span_ps], np.int64).T.copy()
    spanned = covered_times(first, last, start, end)
    return DeviceTime(
        end - start,
        worked,
        covered_times(waits.start_ps, waits.end_ps, start, end),
        shares,
        end - start - worked - shares.sum(axis=1),
        end - start - spanned,
        at_edges,
    )


def _edges(trace: Trace, number: int, start: Int64, end: Int64) -> list[Intervals]:
    """What lies before the device's first and after its last work, from the first step to the last one."""
    first, last = trace.devices[number].span_ps
    return [span_intervals(*ends) for ends in ((int(start.min()), first), (last, int(end.max())))]


def devices_with_work(trace: Trace) -> list[int]:
    """The devices (indices) that recorded work: one that recorded none is in no mean."""
    spans = (device.span_ps for device in trace.devices)
    return [number for number, (start, end) in enumerate(spans) if end > start]


def work_per_core(trace: Trace) -> Int64 | None:
    """Per step, how long a core of the host worked during it, in the mean of those that recorded work; None without
    such cores."""
    cores = devices_with_work(trace)
    if not cores or not steps_of(trace):
        return None
    total: Int64 = np.sum([device_time(trace, number).work_ps for number in cores], axis=0)
    return total // len(cores)


def step_idle_report(session: SessionTrace) -> StepIdle:
    """The report's `step_idle`: the mean step, and the devices' work and idle time in it.

    `step_ps`, `median_ps` (the shorter one of two): of `steps` whole steps, the same that the rest is about. `work_ps`,
    `stall_ps` (the part of it in which an op only waits), `idle_ps`, and its parts `by_class_ps` and `small_ps` (gaps
    under 10 us) are means per step and core: every step counts the same, and is divided by the cores of its own host.
    `work_ps + idle_ps = step_ps`, and the parts add up to `idle_ps`, exactly. `all_cores` and `devices` have sums over
    all those steps: of all cores, and of each. There `edges_ps` is the part of `idle_ps` before a core's first and
    after its last work: the rest is the part of the report's gaps that lies in whole steps.

    Without steps the same is told of the devices' spans (`steps` is 0, `step_ps` None, all others per core). Without
    devices that recorded work all but the steps is None. `left_out` names hosts that are in none of this and why:
    `no_device_work`, or `no_steps` where others have steps.
    """
    in_steps = any(steps_of(trace) for trace in session.traces)
    told = [it for it in session.traces if devices_with_work(it) and (steps_of(it) or not in_steps)]
    rows = [_row(trace, number) for trace in told for number in devices_with_work(trace)]
    durations = [step.duration_ps for trace in told or session.traces for step in steps_of(trace)]
    reasons: dict[str, Literal["no_device_work", "no_steps"]] = {
        trace.host: "no_steps" if devices_with_work(trace) else "no_device_work"
        for trace in session.traces
        if not any(trace is it for it in told)
    }
    left_out: list[LeftOut] = [{"host": host, "reason": reason} for host, reason in reasons.items()]
    return step_idle_from_rows(rows, durations, left_out)


def step_idle_from_rows(
    rows: Sequence[DeviceStepTimes], durations: Sequence[int], left_out: Sequence[LeftOut]
) -> StepIdle:
    """The report's `step_idle` from its `devices`, the durations of their hosts' steps, and the hosts left out."""
    return {
        "steps": len(durations),
        "cores": len(rows),
        "step_ps": sum(durations) // len(durations) if durations else None,
        "median_ps": sorted(durations)[(len(durations) - 1) // 2] if durations else None,
        **per_step_and_core(rows),
        "all_cores": _together(rows) if rows else None,
        "devices": [*rows],
        "left_out": [*left_out],
    }


def _row(trace: Trace, number: int) -> DeviceStepTimes:
    """One device's sums."""
    device, found = trace.devices[number], device_time(trace, number)
    return {
        "id": device.id,
        "host": device.host,
        "steps": len(steps_of(trace)),
        "time_ps": int(found.time_ps.sum()),
        "work_ps": int(found.work_ps.sum()),
        "stall_ps": int(found.stall_ps.sum()),
        "idle_ps": int(found.idle_ps.sum()),
        "small_ps": int(found.small_ps.sum()),
        "edges_ps": int(found.edges_ps.sum()),
        "by_class_ps": by_class(found.by_class_ps.sum(axis=0)),
    }


def _together(rows: Sequence[DeviceStepTimes]) -> StepTimes:
    by_name = {name: sum(row["by_class_ps"].get(name, 0) for row in rows) for name in CLASSES}
    return {
        "time_ps": sum(row["time_ps"] for row in rows),
        "work_ps": sum(row["work_ps"] for row in rows),
        "stall_ps": sum(row["stall_ps"] for row in rows),
        "idle_ps": sum(row["idle_ps"] for row in rows),
        "small_ps": sum(row["small_ps"] for row in rows),
        "edges_ps": sum(row["edges_ps"] for row in rows),
        "by_class_ps": {name: time for name, time in by_name.items() if time},
    }


def per_step_and_core(rows: Sequence[DeviceStepTimes]) -> PerStepAndCore:
    """Means of some `devices` of the report's `step_idle`, per step and core (per core without steps), in whole
    picoseconds that add up to the mean step; each None where there are no devices."""
    if not rows:
        return {"work_ps": None, "stall_ps": None, "idle_ps": None, "by_class_ps": None, "small_ps": None}
    cores, steps = Counter(row["host"] for row in rows), {row["host"]: row["steps"] for row in rows}
    # Each host's sums are divided by its own cores, those of all hosts by all steps: over one denominator.
    common = lcm(*cores.values()) if any(steps.values()) else 1
    weights = [common // cores[row["host"]] if common > 1 else 1 for row in rows]
    each = common * (sum(steps.values()) or len(rows))

    def weighed(values: Iterable[int]) -> int:
        return sum(weight * value for weight, value in zip(weights, values, strict=True))

    names = [name for name in CLASSES if any(name in row["by_class_ps"] for row in rows)]
    parts = [weighed(row[name] for row in rows) for name in ("work_ps", "small_ps")]
    parts += [weighed(row["by_class_ps"].get(name, 0) for row in rows) for name in names]
    whole = sum(parts) // each * each
    work, small, *classes = (part // each for part in rounded_parts(parts, whole, each))
    return {
        "work_ps": work,
        "stall_ps": weighed(row["stall_ps"] for row in rows) // each,
        "idle_ps": small + sum(classes),
        "by_class_ps": dict(zip(names, classes, strict=True)),
        "small_ps": small,
    }
