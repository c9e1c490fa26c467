"""Finds which party arrives last at each collective, and how long the others wait for it. (docs/definitions.md, "Pods")

A *party* is a host, or in a session of one host one of its cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.pod.alignment import Alignment, align
from tb_xla_insights.pod.clocks import Clocks, relate_clocks
from tb_xla_insights.pod.collective_columns import HostCollectives
from tb_xla_insights.pod.instances import (
    INT64_MAX,
    INT64_MIN,
    NO_PARTY,
    Instances,
    common_steps,
    find_instances,
    place_on_common_clock,
)
from tb_xla_insights.pod.shared_instructions import (
    SharedInstructions,
    candidate_numberings,
    match_instructions,
)
from tb_xla_insights.trace.clock import host_shifts

_MIN_SLACK_PS = 50_000_000
"""The least tolerance for a collective that ends before the last arrival: clocks are not exact."""

_MAX_IMPOSSIBLE_SHARE = 0.05
"""The share of instances that may end before the last arrival. If more do, the matched ops are not one collective."""

_MAX_EARLIER_INSTANCES = 32
"""The most instances that are searched for a party's earlier waits, or for the last one in which the parties of an
instance met."""


@dataclass(frozen=True)
class Arrivals:
    """The arrivals of parties at their common collectives.

    Per instance `last_party`, which arrives last. Per instance and party: `late_ps` (how long after the median party it
    arrives, negative: before; 0 if it takes no part), `waits_ps` (how long it waits for the last party, divided by the
    number of groups that its cores are in), and `charged_party` (the party that this wait is charged to; NO_PARTY if it
    does not wait, or waits by design). Charged waits have the same total by waiting party and by charged party.

    `component`: see `Alignment`. `common_step`: per party, the common step of each of its own steps; `step_count`: the
    number of common steps. `own_work_ps`: per party and common step, the work that its host does itself (see
    `StepTable`); None: not known.
    """

    parties: tuple[HostCollectives, ...]
    shared: SharedInstructions
    instances: Instances
    clocks: Clocks
    component: Int32
    last_party: Int32
    late_ps: Int64
    waits_ps: Int64
    charged_party: Int32
    common_step: list[Int32]
    step_count: int
    own_work_ps: Int64 | None = None

    @property
    def charged_waits_ps(self) -> Int64:
        """Per instance and party, how long it waits where the wait is charged to a party."""
        waits: Int64 = np.where(self.charged_party >= 0, self.waits_ps, 0)
        return waits

    @property
    def others_wait_ps(self) -> Int64:
        """Per party, how long others wait for it in total."""
        totals = np.zeros(len(self.parties), np.int64)
        is_charged = self.charged_party >= 0
        np.add.at(totals, self.charged_party[is_charged], self.waits_ps[is_charged])
        return totals

    @property
    def last_count(self) -> Int32:
        """Per party, how many times it arrives last."""
        counts: Int32 = np.bincount(self.last_party, minlength=len(self.parties)).astype(np.int32)
        return counts

    @property
    def shared_count(self) -> Int32:
        """Per party, in how many instances it takes part."""
        counts: Int32 = self.instances.present.sum(axis=0).astype(np.int32)
        return counts

    def steps_of(self, parties: Iterable[int]) -> int:
        """Returns how many steps some parties have in total: a step of several parties counts for each."""
        return sum(len(self.common_step[party]) for party in parties)

    @cached_property
    def charges_ps(self) -> Int64:
        """Per step and party, how long others wait for it; the last row holds waits outside of the common steps."""
        charges = np.zeros((self.step_count + 1, len(self.parties)), np.int64)
        row, waiting = np.nonzero(self.charged_party >= 0)
        cells = self.instances.step[row], self.charged_party[row, waiting]
        np.add.at(charges, cells, self.waits_ps[row, waiting])
        return charges

    @cached_property
    def max_late_ps(self) -> Int64:
        """Per step and party, its largest lateness at a collective, at least 0; -1 where it takes part in none."""
        max_late = np.full((self.step_count + 1, len(self.parties)), -1, np.int64)
        rows, party = np.nonzero(self.instances.present)
        np.maximum.at(max_late, (self.instances.step[rows], party), np.maximum(self.late_ps[rows, party], 0))
        return max_late[:-1]


def find_arrivals(hosts: Sequence[HostCollectives]) -> Arrivals:
    """Returns the arrivals of the hosts of a session, given in the order in which their cores are counted."""
    base = _epoch_shifts(hosts)
    arrivals = None
    # One host shares no collective, however its cores are numbered.
    for numbering in candidate_numberings(hosts) if len(hosts) > 1 else [None]:
        shared = match_instructions(hosts, numbering)
        alignment = align(hosts, shared, base)
        arrivals = _compute_arrivals(hosts, shared, alignment, base)
        is_impossible = _find_impossible(arrivals)
        if len(is_impossible) and is_impossible.mean() <= _MAX_IMPOSSIBLE_SHARE:
            return with_instances(arrivals, arrivals.instances.select(np.flatnonzero(~is_impossible)))
    assert arrivals is not None
    return with_instances(arrivals, arrivals.instances.select(np.zeros(0, np.intp)))


def find_core_arrivals(host: HostCollectives) -> Arrivals:
    """Returns the arrivals of the cores of one host."""
    cores = [host.select(host.core == core) for core in range(len(host.cores))]
    parties = [
        replace(core, step_work_ps=host.step_work_ps[:, [number]]) for number, core in enumerate(cores)
    ]
    numbering = candidate_numberings([host])[0]
    assert numbering is not None
    shared = match_instructions(parties, [numbering[0]] * len(parties))
    run_label = np.arange(len(host.run_program), dtype=np.int32)
    no_shift = np.zeros(len(parties), np.int64)
    alignment = Alignment(np.zeros(len(parties), np.int32), no_shift, [run_label] * len(parties))
    return _compute_arrivals(parties, shared, alignment, no_shift)


def with_instances(arrivals: Arrivals, instances: Instances) -> Arrivals:
    """Returns arrivals of the same parties at other instances, with their waits charged anew."""
    last_party, late_ps, waits, charged_party = charge_waits(instances)
    return replace(
        arrivals,
        instances=instances,
        last_party=last_party,
        late_ps=late_ps,
        waits_ps=waits,
        charged_party=charged_party,
    )


def _epoch_shifts(hosts: Sequence[HostCollectives]) -> Int64:
    """Returns, per host, what to add to its times according to the epochs in the files; 0 if a file has no epoch, or
    one too far from the others."""
    shifts_ps = host_shifts([host.base_unix_ns for host in hosts])
    return np.array([shift or 0 for shift in shifts_ps], np.int64)


def _compute_arrivals(
    parties: Sequence[HostCollectives], shared: SharedInstructions, alignment: Alignment, base_ps: Int64
) -> Arrivals:
    """Returns the arrivals of aligned parties; `base_ps`: see `align`."""
    common_step, step_count, step_of_run = common_steps(parties, alignment)
    on_own_clocks = find_instances(parties, shared, alignment, step_of_run)
    rows = _ending_together(on_own_clocks, shared)
    clocks = relate_clocks(
        on_own_clocks.end_ps[rows],
        on_own_clocks.present[rows],
        on_own_clocks.instruction[rows],
        on_own_clocks.execution[rows],
        alignment.component,
        alignment.shift_ps,
        base_ps,
    )
    instances = place_on_common_clock(on_own_clocks, clocks)
    return Arrivals(
        tuple(parties), shared, instances, clocks, alignment.component, *charge_waits(instances),
        common_step, step_count,
    )  # fmt: skip


def _ending_together(instances: Instances, shared: SharedInstructions) -> NDArray[np.bool_]:
    """Returns which instances end at one instant on all parties, so that clocks can be related by them."""
    is_usable = np.ones(len(instances), np.bool_)
    for instance_of_row, ends_together in zip(instances.instance_of_row, shared.ends_together, strict=True):
        is_usable[instance_of_row[(instance_of_row >= 0) & ~ends_together]] = False
    return is_usable


def charge_waits(instances: Instances) -> tuple[Int32, Int64, Int64, Int32]:
    """Returns `last_party`, `late_ps`, `waits_ps` and `charged_party` of `Arrivals`.

    A wait is charged to the last party. If that party, since all parties met, itself lost at least half as much time by
    waiting in collectives in which the now waiting party takes no part, the charge is passed on to the party that the
    longest of these waits was charged to. Otherwise, if the last party, since all parties of the instance met, spent at
    least half as much time in point-to-point collectives, the wait is charged to no party: stages of a pipeline arrive
    one after the other by design.
    """
    present = instances.present
    begin = np.where(present, instances.begin_ps, INT64_MIN)
    every_row = np.arange(len(instances))
    last_party = begin.argmax(axis=1).astype(np.int32) if len(instances) else np.zeros(0, np.int32)
    last_arrival = begin[every_row, last_party] if len(instances) else np.zeros(0, np.int64)
    wait_end = np.minimum(last_arrival[:, None], instances.end_ps)
    waits = np.where(present, np.maximum(wait_end - instances.wait_start_ps, 0), 0)
    if len(instances):
        waits[every_row, last_party] = 0
    late_ps = np.where(present, instances.begin_ps - lower_medians(instances.begin_ps, present)[:, None], 0)
    charged_party = np.where(waits > 0, last_party[:, None], np.int32(NO_PARTY)).astype(np.int32)
    if not present.all():
        charged_party = _pass_on_charges(present, last_party, waits, charged_party)
    if instances.point_to_point_ps is not None:
        charged_party = _remove_point_to_point_charges(
            present, instances.point_to_point_ps, last_party, waits, charged_party
        )
    waits //= _group_counts(instances)
    return last_party, late_ps, waits, charged_party


def _group_counts(instances: Instances) -> Int64:
    """Returns, per instance and party, in how many groups the party's cores take part in the execution; at least 1."""
    counts = np.zeros((int(instances.execution.max(initial=-1)) + 1, instances.present.shape[1]), np.int64)
    np.add.at(counts, instances.execution, instances.present)
    group_counts: Int64 = np.maximum(counts[instances.execution], 1)
    return group_counts


def _pass_on_charges(
    present: NDArray[np.bool_], last_party: Int32, waits: Int64, charged_party: Int32
) -> Int32:
    """Returns `charged_party` with charges passed on, see `charge_waits`."""
    charged_party = charged_party.copy()
    all_parties = present.any(axis=0)
    # Per party, the instances in which it waited since all parties met.
    rows_with_wait: list[list[int]] = [[] for _ in range(present.shape[1])]
    for row in range(len(present)):
        last = int(last_party[row])
        earlier = np.array(rows_with_wait[last], np.intp)
        if len(earlier):
            # Per earlier wait and party, how long it was if the party took no part in it.
            lost_ps = waits[earlier, last][:, None] * ~present[earlier]
            is_passed_on = (waits[row] > 0) & (2 * lost_ps.sum(axis=0) >= waits[row])
            longest = earlier[lost_ps.argmax(axis=0)]
            charged_party[row, is_passed_on] = charged_party[longest[is_passed_on], last]
        is_meeting_of_all = present[row][all_parties].all()
        for party in np.flatnonzero(present[row]).tolist():
            if is_meeting_of_all:
                rows_with_wait[party].clear()
            elif waits[row, party] > 0:
                rows_with_wait[party] = [*rows_with_wait[party], row][-_MAX_EARLIER_INSTANCES:]
    return charged_party


def _remove_point_to_point_charges(
    present: NDArray[np.bool_], point_to_point: Int64, last_party: Int32, waits: Int64, charged_party: Int32
) -> Int32:
    """Returns `charged_party` without charges of parties that are late because of point-to-point collectives since the
    last instance in which all parties of this one met."""
    charged_party = charged_party.copy()
    earlier: list[int] = []
    for row in range(len(present)):
        meeting = next((index for index in reversed(earlier) if present[index][present[row]].all()), None)
        last = int(last_party[row])
        point_to_point_ps = point_to_point[row, last] - (
            0 if meeting is None else point_to_point[meeting, last]
        )
        charged_party[row, (charged_party[row] == last) & (2 * point_to_point_ps >= waits[row])] = NO_PARTY
        earlier = [*earlier, row][-_MAX_EARLIER_INSTANCES:]
    return charged_party


def lower_medians(values: Int64, valid: NDArray[np.bool_]) -> Int64:
    """Returns the lower median of the valid values of each row, 0 without any."""
    if not len(values):
        return np.zeros(0, np.int64)
    ascending = np.sort(np.where(valid, values, INT64_MAX), axis=1)
    middle = np.maximum(valid.sum(axis=1) - 1, 0) // 2
    medians: Int64 = ascending[np.arange(len(values)), middle]
    return np.where(valid.any(axis=1), medians, 0)


def exposed_waits_ps(arrivals: Arrivals) -> Int64:
    """Returns, per party, how much of the exposed time of its collectives is waiting for the last party, summed over
    its cores."""
    instances = arrivals.instances
    totals = np.zeros(len(arrivals.parties), np.int64)
    if not len(instances):
        return totals
    last_arrival = instances.begin_ps[np.arange(len(instances)), arrivals.last_party]
    for party, host in enumerate(arrivals.parties):
        instance_of_row = instances.instance_of_row[party]
        rows = np.flatnonzero(instance_of_row >= 0)
        end = arrivals.clocks.to_common(party, host.end_ps[rows])
        wait_end = np.minimum(last_arrival[instance_of_row[rows]], end)
        waits = np.maximum(wait_end - arrivals.clocks.to_common(party, host.wait_start_ps[rows]), 0)
        totals[party] = int(np.minimum(waits, host.exposed_ps[rows]).sum())
    return totals


def _find_impossible(arrivals: Arrivals) -> NDArray[np.bool_]:
    """Returns in which instances a party is done before the last one arrives: the matched ops are not one collective.
    Asynchronous collectives are exempt: they may be over before any party waits for their end."""
    instances = arrivals.instances
    last_arrival = instances.begin_ps[np.arange(len(instances)), arrivals.last_party]
    first_end = np.where(instances.present, instances.end_ps, INT64_MAX).min(axis=1, initial=INT64_MAX)
    residuals = arrivals.clocks.residual_ps[arrivals.clocks.is_known]
    slack = max(_MIN_SLACK_PS, 3 * int(residuals.max(initial=0)))
    is_synchronous = (instances.wait_start_ps == instances.begin_ps).all(axis=1)
    is_impossible: NDArray[np.bool_] = (first_end + slack < last_arrival) & is_synchronous
    return is_impossible
