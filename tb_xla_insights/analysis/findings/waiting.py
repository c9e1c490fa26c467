"""Idle time in which the host waits and no other finding says why, with a launched program in flight or without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.findings.base import Facts
from tb_xla_insights.analysis.findings.ledger import Ledger
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.thresholds import severity_of
from tb_xla_insights.analysis.time.class_times import class_times_inside, covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.catalog.classes import WAIT
from tb_xla_insights.trace.model import Int64, Trace


@dataclass(frozen=True)
class Waiting:
    """Idle time of one kind: `taken` from each gap, as `Ledger.take` gives it, and `place`, the event in which the
    host waits longest (None: not known)."""

    taken: Int64
    place: str | None

    @property
    def total_ps(self) -> int:
        return int(self.taken.sum())


def take_waiting(facts: Facts) -> tuple[Waiting, Waiting]:
    """Takes what is left of the starved gaps' waiting: that in which nothing is queued, and that in which a launched
    program is in flight, though no op of it runs. Of a kind that cannot be told from chance nothing is taken.
    (docs/definitions.md, "Why a gap ended")"""
    flying = _flying(facts.ledger)
    resting = facts.ledger.left[:, WAIT] - flying
    return _take(facts, resting, in_flight=False), _take(facts, flying, in_flight=True)


def _take(facts: Facts, taken: Int64, in_flight: bool) -> Waiting:
    if severity_of(facts.share(int(taken.sum()))) is None:
        return Waiting(np.zeros_like(taken), None)
    names = Counter[str]()
    facts.ledger.left[:, WAIT] -= taken
    for _, idle, flight in _by_device(facts.ledger):
        names.update(_events(facts.trace, idle.within(flight) if in_flight else idle.without(flight)))
    most = names.most_common(1)
    return Waiting(taken, most[0][0] if most and most[0][1] else None)


def _flying(ledger: Ledger) -> Int64:
    """Per gap, what is left of its waiting in which a run of its device is in flight."""
    found = np.zeros(len(ledger), np.int64)
    for gaps, _, flight in _by_device(ledger):
        inside = class_times_inside(
            host_class_segments(ledger.trace), flight, ledger.start_ps[gaps], ledger.end_ps[gaps]
        )
        found[gaps] = inside[:, WAIT]
    return np.minimum(found, ledger.left[:, WAIT])


def _by_device(ledger: Ledger) -> Iterator[tuple[NDArray[np.intp], Intervals, Intervals]]:
    """Per device its starved gaps (which, and when), and when one of its runs was enqueued and has not ended."""
    runs = find_launches(ledger.trace).runs
    since = np.where(runs.enqueue_row >= 0, runs.enqueue_ps, runs.start_ps)
    for device in np.unique(ledger.device).tolist():
        gaps, its = np.flatnonzero(ledger.device == device), runs.of_device(device)
        idle = union(ledger.start_ps[gaps], ledger.end_ps[gaps])
        yield gaps, idle, union(since[its], runs.end_ps[its])


def _events(trace: Trace, where: Intervals) -> Counter[str]:
    """Names of the events in which the host waits, with their time in some intervals."""
    segments, found = host_class_segments(trace), Counter[str]()
    waits = np.flatnonzero((segments.class_index == WAIT) & (segments.row >= 0))
    time = covered_times(where.start_ps, where.end_ps, segments.start_ps[waits], segments.end_ps[waits])
    metas, place = np.unique(trace.meta[segments.row[waits]], return_inverse=True)
    sums = np.zeros(len(metas), np.int64)
    np.add.at(sums, place, time)
    for meta, sum_ps in zip(metas.tolist(), sums.tolist(), strict=True):
        found[trace.strings[trace.metadata.name[meta]]] += sum_ps
    return found


def idle_inside_runs(ledger: Ledger) -> Int64:
    """Per run of Launches.runs, how long its device idles in it while the host waits."""
    runs = find_launches(ledger.trace).runs
    found = np.zeros(len(runs), np.int64)
    for device in np.unique(ledger.device).tolist():
        gaps, its = ledger.device == device, runs.of_device(device)
        idle = union(ledger.start_ps, ledger.end_ps, gaps)
        found[its] = class_times_inside(
            host_class_segments(ledger.trace), idle, runs.start_ps[its], runs.end_ps[its]
        )[:, WAIT]
    return found
