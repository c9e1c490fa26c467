"""Idle time in which the host waits and that no other finding explains, with or without a launched program in
flight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.ledger import Ledger
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.barriers import idle_class_segments
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.thresholds import severity_of
from tb_xla_insights.analysis.time.class_times import class_times_inside, covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import WAIT
from tb_xla_insights.trace.model import Trace


@dataclass(frozen=True)
class Waiting:
    """Idle time of one kind: `taken_ps`, the time from each gap (see `Ledger.take`), and `longest_wait`, the name of
    the event in which the host waits longest of it (None if unknown)."""

    taken_ps: Int64
    longest_wait: str | None

    @property
    def total_ps(self) -> int:
        return int(self.taken_ps.sum())


def take_waiting(facts: Facts) -> tuple[Waiting, Waiting]:
    """Takes the remaining waits in starved gaps: those in which nothing is queued, and those in which a launched
    program is in flight but none of its ops runs. Takes nothing of a kind whose time is insignificant.
    (docs/definitions.md, "Why a gap ended")"""
    in_flight_ps = _in_flight_ps(facts.ledger)
    unqueued_ps = facts.ledger.remaining_ps[:, WAIT] - in_flight_ps
    return _take(facts, unqueued_ps, in_flight=False), _take(facts, in_flight_ps, in_flight=True)


def _take(facts: Facts, taken_ps: Int64, in_flight: bool) -> Waiting:
    """Takes waits of one kind, `taken_ps` from each gap, unless they are insignificant in total."""
    if severity_of(facts.share(int(taken_ps.sum()))) is None:
        return Waiting(np.zeros_like(taken_ps), None)
    names = Counter[str]()
    facts.ledger.remaining_ps[:, WAIT] -= taken_ps
    for _, gaps, flight in _by_device(facts.ledger):
        has_waits = gaps[taken_ps[gaps] > 0]
        idle = union(facts.ledger.start_ps[has_waits], facts.ledger.end_ps[has_waits])
        idle = idle.within(flight) if in_flight else idle.without(flight)
        names.update(_wait_times(facts.trace, idle.without(facts.ledger.taken_times[WAIT])))
    longest = names.most_common(1)
    return Waiting(taken_ps, longest[0][0] if longest and longest[0][1] else None)


def _in_flight_ps(ledger: Ledger) -> Int64:
    """Per gap, the remaining time in which the host waits while a run of its device is in flight."""
    waits_ps = np.zeros(len(ledger), np.int64)
    for device, gaps, flight in _by_device(ledger):
        windows = flight.without(ledger.taken_times[WAIT])
        segments = idle_class_segments(ledger.trace, device)
        inside = class_times_inside(segments, windows, ledger.start_ps[gaps], ledger.end_ps[gaps])
        waits_ps[gaps] = inside[:, WAIT]
    return np.minimum(waits_ps, ledger.remaining_ps[:, WAIT])


def _by_device(ledger: Ledger) -> Iterator[tuple[int, NDArray[np.intp], Intervals]]:
    """Each device with the indices of its starved gaps, and when any of its runs is in flight (enqueued but not
    ended)."""
    runs = find_launches(ledger.trace).runs
    enqueued_ps = np.where(runs.enqueue_row >= 0, runs.enqueue_ps, runs.start_ps)
    for device in np.unique(ledger.device).tolist():
        gaps, rows = np.flatnonzero(ledger.device == device), runs.of_device(device)
        yield device, gaps, union(enqueued_ps[rows], runs.end_ps[rows])


def _wait_times(trace: Trace, intervals: Intervals) -> Counter[str]:
    """The names of the events in which the host waits, with their time in ps within some intervals."""
    segments, times = host_class_segments(trace), Counter[str]()
    waits = np.flatnonzero((segments.class_index == WAIT) & (segments.row >= 0))
    time = covered_times(
        intervals.start_ps, intervals.end_ps, segments.start_ps[waits], segments.end_ps[waits]
    )
    metadata, index = np.unique(trace.metadata_index[segments.row[waits]], return_inverse=True)
    sums = np.zeros(len(metadata), np.int64)
    np.add.at(sums, index, time)
    for metadata_index, sum_ps in zip(metadata.tolist(), sums.tolist(), strict=True):
        times[trace.strings[trace.metadata.name[metadata_index]]] += sum_ps
    return times


def idle_inside_runs(ledger: Ledger) -> Int64:
    """Per run of Launches.runs, how long its device idles in it while the host waits."""
    runs = find_launches(ledger.trace).runs
    idle_ps = np.zeros(len(runs), np.int64)
    for device in np.unique(ledger.device).tolist():
        is_of_device, rows = ledger.device == device, runs.of_device(device)
        idle = union(ledger.start_ps, ledger.end_ps, is_of_device)
        segments = idle_class_segments(ledger.trace, device)
        inside = class_times_inside(segments, idle, runs.start_ps[rows], runs.end_ps[rows])
        idle_ps[rows] = inside[:, WAIT]
    return idle_ps
