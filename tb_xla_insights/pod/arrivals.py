"""Who comes last to what hosts do together, and who waits for it. (docs/definitions.md, "Pods")

A *party* is a host, or in a session of one host a core of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.alignment import Aligned, align
from tb_xla_insights.pod.clocks import Clocks, relate
from tb_xla_insights.pod.collective_columns import HostCollectives
from tb_xla_insights.pod.instances import (
    HIGH,
    LOW,
    NOBODY,
    Instances,
    common_steps,
    find_instances,
    placed_on,
)
from tb_xla_insights.pod.shared_instructions import Shared, numberings, share
from tb_xla_insights.trace.clock import earliest, is_near
from tb_xla_insights.trace.model import Int32, Int64

_SLACK_PS = 50_000_000
"""How much sooner than the last one came a collective may end on a clock that is read wrong, here at the least."""

_IMPOSSIBLE = 0.05
"""Of the collectives, how many may be over before the last one came; of more, these are not those who wait for each
other."""


_MOST_BEFORE = 32
"""Collectives since all met, of which is known what a party lost in them."""


@dataclass(frozen=True)
class Arrivals:
    """Who comes last. Per instance `last`, the party that does; per instance and party `late_ps`, how long after the
    party in the middle it comes (negative: before; 0 where it is not there), `waits_ps`, how long it waits for the last
    one, and `charged`, the party that this is charged to (NOBODY where it does not wait, or waits by design).

    All other waiting adds up to the same by who waits and by who is charged. `step_of`: per party, for each of its own
    steps the common one (NOBODY: none); `steps`: how many common ones there are. `shared`: what parties have in common.
    `own_ps`: per party and step, what its host does for it itself; None: not known.
    """

    parties: tuple[HostCollectives, ...]
    shared: Shared
    instances: Instances
    clocks: Clocks
    component: Int32
    last: Int32
    late_ps: Int64
    waits_ps: Int64
    charged: Int32
    step_of: list[Int32]
    steps: int
    own_ps: Int64 | None = None

    @property
    def charged_ps(self) -> Int64:
        """Per instance and party, how long it waits for somebody who could have come sooner."""
        found: Int64 = np.where(self.charged >= 0, self.waits_ps, 0)
        return found

    @property
    def others_wait_ps(self) -> Int64:
        """Per party, how long others wait for it in all."""
        found = np.zeros(len(self.parties), np.int64)
        some = self.charged >= 0
        np.add.at(found, self.charged[some], self.waits_ps[some])
        return found

    @property
    def last_count(self) -> Int32:
        """Per party, how many times it comes last."""
        found: Int32 = np.bincount(self.last, minlength=len(self.parties)).astype(np.int32)
        return found

    @property
    def shared_count(self) -> Int32:
        """Per party, in how many instances it takes part."""
        found: Int32 = self.instances.there.sum(axis=0).astype(np.int32)
        return found

    def charges(self) -> Int64:
        """Per step and party, how long others wait for it; the last row is outside of steps."""
        found = np.zeros((self.steps + 1, len(self.parties)), np.int64)
        row, waits = np.nonzero(self.charged >= 0)
        np.add.at(found, (self.instances.step[row], self.charged[row, waits]), self.waits_ps[row, waits])
        return found

    def latest(self) -> Int64:
        """Per step and party, how late it comes to the collective to which it comes latest; -1: it comes to none."""
        found = np.full((self.steps + 1, len(self.parties)), -1, np.int64)
        rows, which = np.nonzero(self.instances.there)
        np.maximum.at(found, (self.instances.step[rows], which), np.maximum(self.late_ps[rows, which], 0))
        return found[:-1]


def find_arrivals(hosts: Sequence[HostCollectives]) -> Arrivals:
    """Who comes last, of all hosts of a session. The hosts come in the order of their numbers."""
    base = _bases(hosts)
    found = None
    for number in numberings(hosts):
        shared = share(hosts, number)
        aligned = align(hosts, shared, base)
        found = _of(hosts, shared, aligned, base)
        wrong = _impossible(found)
        if len(wrong) and wrong.mean() <= _IMPOSSIBLE:
            return charge(found, found.instances.chosen(np.flatnonzero(~wrong)))
    assert found is not None
    return charge(found, found.instances.chosen(np.zeros(0, np.intp)))


def find_core_arrivals(host: HostCollectives) -> Arrivals:
    """Who comes last, of the cores of one host."""
    cores = [host.chosen(host.core == core) for core in range(len(host.cores))]
    parties = [
        replace(core, step_work_ps=host.step_work_ps[:, [number]]) for number, core in enumerate(cores)
    ]
    number = numberings([host])[0]
    assert number is not None
    shared = share(parties, [number[0]] * len(parties))
    same = np.arange(len(host.run_program), dtype=np.int32)
    none = np.zeros(len(parties), np.int64)
    aligned = Aligned(np.zeros(len(parties), np.int32), none, [same] * len(parties))
    return _of(parties, shared, aligned, none)


def charge(arrivals: Arrivals, instances: Instances) -> Arrivals:
    """The same parties, had they come as `instances` says, and who is charged then."""
    last, late, waits, charged = charges_of(instances)
    return replace(arrivals, instances=instances, last=last, late_ps=late, waits_ps=waits, charged=charged)


def _bases(hosts: Sequence[HostCollectives]) -> Int64:
    """What to add to each host's times, as the epochs in their files say; 0 where a file has none, or one of another
    year."""
    known = [host.base_unix_ns for host in hosts if host.base_unix_ns]
    first = earliest(known) if known else 0
    since = [host.base_unix_ns - first if is_near(host.base_unix_ns, first) else 0 for host in hosts]
    return np.array(since, np.int64) * 1000


def _of(parties: Sequence[HostCollectives], shared: Shared, aligned: Aligned, base_ps: Int64) -> Arrivals:
    step_of, steps, step_of_label = common_steps(parties, aligned)
    rough = find_instances(parties, shared, aligned, step_of_label)
    tells = _telling(rough, shared, parties)
    clocks = relate(
        rough.end_ps[tells],
        rough.there[tells],
        rough.instruction[tells],
        aligned.component,
        aligned.shift_ps,
        base_ps,
    )
    placed = placed_on(rough, clocks)
    return Arrivals(
        tuple(parties), shared, placed, clocks, aligned.component, *charges_of(placed), step_of, steps
    )  # fmt: skip


def _telling(rough: Instances, shared: Shared, parties: Sequence[HostCollectives]) -> NDArray[np.bool_]:
    """The instances whose ends relate clocks: nobody was done before the others began to wait."""
    found = np.ones(len(rough), np.bool_)
    for number in range(len(parties)):
        some = rough.of_row[number]
        silent = some[(some >= 0) & ~shared.tells[number]]
        found[silent] = False
    return found


def charges_of(placed: Instances) -> tuple[Int32, Int64, Int64, Int32]:
    """Who is last, lateness, waiting, and to whom it is charged.

    The last one is charged, but for what it lost itself by waiting for another one, in a collective of which the
    waiting party was no part: that is passed on to whom it was charged to. Nobody is where the last one waited for what
    another one sends: stages of a pipeline come one after the other by design.
    """
    there = placed.there
    begin = np.where(there, placed.begin_ps, LOW)
    last = begin.argmax(axis=1).astype(np.int32) if len(placed) else np.zeros(0, np.int32)
    latest = begin[np.arange(len(placed)), last] if len(placed) else np.zeros(0, np.int64)
    until = np.minimum(latest[:, None], placed.end_ps)
    waits = np.where(there, np.maximum(until - placed.wait_ps, 0), 0)
    if len(placed):
        waits[np.arange(len(placed)), last] = 0
    late = np.where(there, placed.begin_ps - middle_of(placed.begin_ps, there)[:, None], 0)
    charged = np.where(waits > 0, last[:, None], np.int32(NOBODY)).astype(np.int32)
    if not there.all():
        charged = _passed_on(there, last, waits, charged)
    if placed.handed_ps is not None:
        charged = _but_by_design(there, placed.handed_ps, last, waits, charged)
    return last, late, waits, charged


def _passed_on(there: NDArray[np.bool_], last: Int32, waits: Int64, charged: Int32) -> Int32:
    """Charges after what hosts lost themselves was passed on; see `charges_of`. A wait that is only in part another
    one's fault is charged to whom most of it is due."""
    charged = charged.copy()
    everybody = there.any(axis=0)
    lost: list[list[int]] = [[] for _ in range(there.shape[1])]
    for row in range(len(there)):
        late = int(last[row])
        before = np.array(lost[late], np.intp)
        if len(before):
            times = waits[before, late]
            apart = (times[:, None] * ~there[before]).sum(axis=0)
            passed = (waits[row] > 0) & (2 * apart >= waits[row])
            charged[row, passed] = charged[before[times.argmax()], late]
        together = there[row][everybody].all()
        for party in np.flatnonzero(there[row]).tolist():
            if together:
                lost[party].clear()
            elif waits[row, party] > 0:
                lost[party] = [*lost[party][-_MOST_BEFORE:], row]
    return charged


def _but_by_design(
    there: NDArray[np.bool_], handed: Int64, last: Int32, waits: Int64, charged: Int32
) -> Int32:
    """Charges without those for being later by what another one sends, since all who wait now met before."""
    charged = charged.copy()
    met: list[int] = []
    for row in range(len(there)):
        since = next((before for before in reversed(met) if there[before][there[row]].all()), None)
        late = int(last[row])
        waited = handed[row, late] - (0 if since is None else handed[since, late])
        charged[row, (charged[row] == late) & (2 * waited >= waits[row])] = NOBODY
        met = [*met[-_MOST_BEFORE:], row]
    return charged


def middle_of(values: Int64, there: NDArray[np.bool_]) -> Int64:
    """Per row the lower median of the values that are there, 0 without any."""
    if not len(values):
        return np.zeros(0, np.int64)
    ordered = np.sort(np.where(there, values, HIGH), axis=1)
    at = np.maximum(there.sum(axis=1) - 1, 0) // 2
    found: Int64 = ordered[np.arange(len(values)), at]
    return np.where(there.any(axis=1), found, 0)


def waiting_for_others(arrivals: Arrivals) -> Int64:
    """Per party, how much of the exposed time in its collectives it only waits for the last one, over its cores."""
    its = arrivals.instances
    found = np.zeros(len(arrivals.parties), np.int64)
    if not len(its):
        return found
    latest = its.begin_ps[np.arange(len(its)), arrivals.last]
    for party, host in enumerate(arrivals.parties):
        rows = np.flatnonzero(its.of_row[party] >= 0)
        until = np.minimum(latest[its.of_row[party][rows]], arrivals.clocks.common(party, host.end_ps[rows]))
        waits = np.maximum(until - arrivals.clocks.common(party, host.wait_ps[rows]), 0)
        found[party] = int(np.minimum(waits, host.exposed_ps[rows]).sum())
    return found


def _impossible(found: Arrivals) -> NDArray[np.bool_]:
    """The instances in which somebody is done before the last one comes: what is not the same on all of them. An
    asynchronous one may be over before anybody waits for its end."""
    its = found.instances
    latest = its.begin_ps[np.arange(len(its)), found.last]
    first = np.where(its.there, its.end_ps, HIGH).min(axis=1, initial=HIGH)
    residuals = found.clocks.residual_ps[found.clocks.known]
    slack = max(_SLACK_PS, 3 * int(residuals.max(initial=0)))
    early: NDArray[np.bool_] = (first + slack < latest) & (its.wait_ps == its.begin_ps).all(axis=1)
    return early
