"""The report's `iterations`: what devices wait for in the iterations of a server, by kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.delays.transfers import FROM_DEVICE, TO_DEVICE, find_transfers
from tb_xla_insights.analysis.host.servers import is_server
from tb_xla_insights.analysis.idle.busy import busy, idle
from tb_xla_insights.analysis.idle.no_requests import no_requests
from tb_xla_insights.analysis.iterations.iterations import find_iterations
from tb_xla_insights.analysis.iterations.parts import PARTS, part_segments
from tb_xla_insights.analysis.iterations.scheduling import find_scheduling
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.class_times import class_times, class_times_inside
from tb_xla_insights.arrays import Int64
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.iterations import (
        IterationKind,
        Iterations,
        SlotRange,
        TimesByPart,
    )


@dataclass(frozen=True)
class PartTimes:
    """What the server's thread does in each iteration: a row per iteration, a column per part, over all devices.
    `exposed_ps`: while a device does not work; `hidden_ps`: while it works."""

    exposed_ps: Int64
    hidden_ps: Int64


def iterations_report(trace: Trace) -> Iterations | None:
    if not is_server(trace):
        return None
    times = no_requests(trace)
    return {
        "scheduling": find_scheduling(trace),
        "no_requests_ps": sum(idle(trace, device).within(times).total_ps for device in trace.devices),
        "kinds": _kinds(trace),
    }


@memoised
def part_times(trace: Trace) -> PartTimes:
    """The time of each part in each iteration; they add up to its duration, for each device."""
    iterations, segments = find_iterations(trace), part_segments(trace)
    window = iterations.start_ps, iterations.end_ps
    all_ps = class_times(segments, *window)[:, : len(PARTS)]
    hidden_ps = np.zeros_like(all_ps)
    for device in trace.devices:
        hidden_ps += class_times_inside(segments, busy(trace, device), *window)[:, : len(PARTS)]
    return PartTimes(len(trace.devices) * all_ps - hidden_ps, hidden_ps)


def _kinds(trace: Trace) -> list[IterationKind]:
    """The iterations of each kind, bucket and template, the most frequent first; none without devices."""
    iterations = find_iterations(trace)
    groups: dict[tuple[str, int | None, str], list[int]] = {}
    if trace.devices:
        keys = zip(iterations.kind, iterations.bucket, iterations.template, strict=True)
        for at, key in enumerate(keys):
            groups.setdefault(key, []).append(at)
    rows = [_kind(trace, np.array(chosen, np.intp)) for chosen in groups.values()]
    return sorted(rows, key=lambda row: -row["count"])


def _kind(trace: Trace, chosen: NDArray[np.intp]) -> IterationKind:
    iterations, times = find_iterations(trace), part_times(trace)
    wall_ps = (iterations.end_ps - iterations.start_ps)[chosen]
    mean_ps = int(wall_ps.sum()) // len(chosen)
    cores = len(chosen) * len(trace.devices)
    device_ps = int(times.hidden_ps[chosen].sum()) // cores
    p50, p99 = np.percentile(wall_ps, (50, 99), method="inverted_cdf").tolist()
    round_trips, arrays_sent, programs = (
        int(np.median(counts[chosen])) for counts in _counts_per_iteration(trace)
    )
    return {
        "kind": iterations.kind[chosen[0]],
        "bucket": iterations.bucket[chosen[0]],
        "template": iterations.template[chosen[0]],
        "count": len(chosen),
        "slots": slot_ranges([iterations.numbers[at] for at in chosen.tolist()]),
        "wall_ps": {"mean": mean_ps, "p50": p50, "p99": p99},
        "device_ps": device_ps,
        "bubble_ps": mean_ps - device_ps,
        "bubble_by_part_ps": _means(times.exposed_ps[chosen], cores, mean_ps - device_ps),
        "hidden_by_part_ps": _means(times.hidden_ps[chosen], cores, device_ps),
        "launched_ps": int(_launched_ps(trace)[chosen].sum()) // cores,
        "round_trips": round_trips,
        "arrays_sent": arrays_sent,
        "programs": programs,
    }


def _means(times_ps: Int64, count: int, total_ps: int) -> TimesByPart:
    """The mean of each part, rounded down; the largest also has what rounding leaves of `total_ps`."""
    means_ps = times_ps.sum(axis=0) // count
    means_ps[means_ps.argmax()] += total_ps - means_ps.sum()
    return {part: ps for part, ps in zip(PARTS, means_ps.tolist(), strict=True) if ps}


@memoised
def _launched_ps(trace: Trace) -> Int64:
    """Per iteration, how long all devices work for what it launches."""
    starts_ps, launches = find_iterations(trace).start_ps, find_launches(trace)
    runs = launches.runs
    launched = np.flatnonzero(runs.launch >= 0)
    launch_ps = trace.start_ps[launches.row[runs.launch[launched]]]
    own_ps = (runs.end_ps - runs.own_start_ps)[launched]
    sums = np.bincount(np.searchsorted(starts_ps, launch_ps, "right"), own_ps, minlength=len(starts_ps) + 1)
    by_iteration: Int64 = sums[1:].astype(np.int64)
    return by_iteration


@memoised
def _counts_per_iteration(trace: Trace) -> tuple[Int64, Int64, Int64]:
    """Per iteration its round trips to the device, transfers to it, and launches."""
    starts_ps, transfers = find_iterations(trace).start_ps, find_transfers(trace)
    launch_ps = np.sort(trace.start_ps[find_launches(trace).row])
    read_ps, send_ps = (
        np.sort(trace.start_ps[transfers.row[transfers.direction == direction]])
        for direction in (FROM_DEVICE, TO_DEVICE)
    )
    is_trip = np.diff(np.searchsorted(launch_ps, read_ps), prepend=-1) > 0
    counts = [
        np.bincount(np.searchsorted(starts_ps, instants, "right"), minlength=len(starts_ps) + 1)[1:]
        for instants in (read_ps[is_trip], send_ps, launch_ps)
    ]
    return counts[0], counts[1], counts[2]


def slot_ranges(numbers: list[dict[str, int]]) -> dict[str, SlotRange]:
    """The range of each number in some names of one template."""
    ranges: dict[str, SlotRange] = {}
    for name in numbers[0]:
        values = sorted(row[name] for row in numbers)
        ranges[name] = {"min": values[0], "median": values[(len(values) - 1) // 2], "max": values[-1]}
    return ranges
