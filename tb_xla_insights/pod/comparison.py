"""All hosts of a session compared: whether they can be, who holds up the others, and why.

(docs/definitions.md, "Pods")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE
from tb_xla_insights.pod.arrivals import (
    Arrivals,
    find_arrivals,
    find_core_arrivals,
    middle_of,
    waiting_for_others,
)
from tb_xla_insights.pod.causes import Cause, find_cause
from tb_xla_insights.pod.host_steps import HostInput, Table, side_by_side
from tb_xla_insights.pod.late_hosts import LateHosts, every_step, find_late_hosts
from tb_xla_insights.trace.model import Int64

State = Literal["compared", "one_host", "no_collectives", "clocks_apart"]


@dataclass(frozen=True)
class HostComparison:
    """What a session's hosts are when compared. `arrivals`: of hosts; `cores`: of the cores, in a session of one host;
    `late`: who holds up the others, of hosts, or with `cores` of these; `causes`: per late one, why (where another one
    is late each time, one for all); `note`: a sentence about hosts that could not be compared."""

    hosts: tuple[HostInput, ...]
    state: State
    note: str | None
    arrivals: Arrivals
    cores: Arrivals | None
    table: Table
    late: LateHosts
    causes: tuple[Cause | None, ...]

    @property
    def told(self) -> Arrivals:
        """The arrivals that `late` is about."""
        return self.cores or self.arrivals

    @cached_property
    def median_host(self) -> int | None:
        """The host in the middle of those that are not late, None without steps."""
        late = set() if self.cores else set(self.late.parties)
        return self.table.median_of(set(range(len(self.hosts))) - late)

    @property
    def usual(self) -> str:
        """What the late ones are held against, in words: `the median host w-31`."""
        if self.cores:
            return "its neighbours"
        return (
            "others" if self.median_host is None else f"the median host {self.hosts[self.median_host].name}"
        )

    @property
    def kind(self) -> str | None:
        """What most of the compared collectives are."""
        its = self.told
        kinds = Counter(its.shared.instructions[it].kind for it in its.instances.instruction.tolist())
        return kinds.most_common(1)[0][0] if kinds else None

    @property
    def sampled(self) -> float:
        """Which share of the recorded collectives is compared at most."""
        recorded = sum(host.collectives.recorded for host in self.hosts)
        kept = sum(len(host.collectives) for host in self.hosts)
        return kept / recorded * self.told.instances.share if recorded else 1.0

    def late_ps(self, place: int) -> int:
        """How late one of the late ones usually is, in the steps in which it is last; where they are late together,
        after the one in the middle of the others."""
        party, steps = self.late.parties[place], self.late.steps[place]
        if self.late.alike:
            return self._after_others_ps(party)
        latest = self.told.latest()[:, party]
        some = latest[steps] if len(steps) else latest[latest >= 0]
        return int(np.median(some)) if len(some) else 0

    def _after_others_ps(self, party: int) -> int:
        """How much later than those who are not late one comes to what it comes latest to, in the usual step."""
        its = self.told.instances
        others = its.there.copy()
        others[:, self.late.parties] = False
        rows = np.flatnonzero(its.there[:, party] & others.any(axis=1) & (its.step >= 0))
        after = its.begin_ps[rows, party] - middle_of(its.begin_ps[rows], others[rows])
        latest = np.full(self.told.steps, -1, np.int64)
        np.maximum.at(latest, its.step[rows], after)
        return int(np.median(latest[latest >= 0])) if (latest >= 0).any() else 0

    @property
    def recurs(self) -> str | None:
        """As the findings say it."""
        if self.late.kind == "changing" or (self.late.alike or every_step(self.late, self.told.steps)):
            return "every_step"
        return self.late.recurs

    @property
    def step_if_fixed_ps(self) -> int | None:
        """The mean step, at best, if nobody were late; never under what another host, or its devices, work in it."""
        step = self.table.mean_step_ps
        if step is None or self.late.kind not in ("late", "changing"):
            return None
        return min(step, step - min(self.late.saved_ps, self._most_ps()))

    def _most_ps(self) -> int:
        """How much shorter the mean step of all can be: that of those who share something with the late ones is never
        under what one of them who is not late does itself, on the host or on its devices."""
        table, there = self.table, self.table.there
        if self.cores:
            return self._spare_ps(0, int(table.mean_step_ps or 0))
        late = self.late.parties
        related = (
            self.arrivals.component[late] if late else self.arrivals.component[self.arrivals.clocks.known]
        )
        tied = self.arrivals.clocks.known & there.any(axis=1)
        if self.arrivals.instances.handed_ps is None:  # else those of other groups wait for what these send
            tied &= np.isin(self.arrivals.component, related)
        own = [host for host in np.flatnonzero(tied).tolist() if host not in late]
        if not own:
            return 0
        steps = int(there[tied].sum())
        step_ps = int(table.step_ps[tied][there[tied]].sum()) // steps
        return min(self._spare_ps(host, step_ps) for host in own) * steps // int(there.sum())

    def _spare_ps(self, host: int, step_ps: int) -> int:
        """How much of a step is neither work of a host nor of its devices. These may take longer for the mean step than
        it lasts, where the last run ends behind the last step: then as large a part of it as of what they take."""
        works, waits = self._device_ps(host)
        work_ps = works * step_ps // max(works + waits, step_ps, 1)
        return max(step_ps - max(self._host_ps(host), work_ps), 0)

    def _host_ps(self, host: int) -> int:
        """What a host does itself for its mean step."""
        return int(self.table.own_work_ps[host].sum()) // max(int(self.table.there[host].sum()), 1)

    def _device_ps(self, which: int) -> tuple[int, int]:
        """What a host's devices need for the mean step, their own work and what of collectives is no waiting for
        others; and that waiting."""
        host = self.hosts[which].collectives
        each = len(host.cores) * len(host.step_numbers)
        if not each:
            return 0, 0
        exposed = int(host.exposed_ps[host.run_step[host.run] >= 0].sum())
        waits = int(self._waiting_ps.sum() if self.cores else self._waiting_ps[which])
        works = host.step_work_ps.mean(axis=0)
        return int(np.median(works) if self.cores else works.max()) + max(
            exposed - waits, 0
        ) // each, waits // each

    @cached_property
    def _waiting_ps(self) -> Int64:
        return waiting_for_others(self.told)


def compare_hosts(hosts: Sequence[HostInput]) -> HostComparison:
    """Compares the hosts of a session, given in the order in which their cores are counted: by name, numbers as
    numbers."""
    collectives = [host.collectives for host in hosts]
    arrivals = find_arrivals(collectives)
    cores = find_core_arrivals(collectives[0]) if len(hosts) == 1 and _has_cores(hosts[0]) else None
    table = side_by_side(hosts, arrivals)
    arrivals = replace(arrivals, own_ps=table.own_work_ps)
    late = find_late_hosts(cores or arrivals, table.mean_step_ps)
    made = HostComparison(
        tuple(hosts), _state(collectives, arrivals), _note(arrivals), arrivals, cores, table, late, ()
    )
    causes: list[Cause | None]
    if late.kind == "changing":
        causes = [None if cores else _changing_cause(made)]
    elif cores:
        causes = [_core_cause(hosts[0], party) for party in late.parties]
    else:
        always = [len(steps) >= EVERY_STEP_SHARE * arrivals.steps or late.alike for steps in late.steps]
        causes = [
            find_cause(
                table,
                party,
                made.median_host,
                made.late_ps(place),
                None if always[place] else late.steps[place],
            )
            for place, party in enumerate(late.parties)
        ]
    return replace(made, causes=tuple(causes))


def _has_cores(host: HostInput) -> bool:
    """Whether cores may be compared: those of a CPU share its processors, so that one of them always comes last."""
    return len(host.collectives.cores) > 1 and all(row["kind"] != "cpu" for row in host.document["devices"])


def _state(hosts: Sequence[Any], arrivals: Arrivals) -> State:
    if len(hosts) == 1:
        return "one_host"
    if len(arrivals.instances):
        return "compared"
    names = [{(it.program, it.name) for it in host.instructions} for host in hosts]
    several = Counter(name for some in names for name in some)
    return "clocks_apart" if any(count > 1 for count in several.values()) else "no_collectives"


def _note(arrivals: Arrivals) -> str | None:
    if len(arrivals.parties) < 2 or not len(arrivals.instances):
        return None
    lost = int((~arrivals.clocks.known).sum())
    if lost:
        whose = "The clock of 1 host is" if lost == 1 else f"The clocks of {lost} hosts are"
        return f"{whose} not related to the others': when it came to a collective is not compared."
    parts = len(set(arrivals.component.tolist()))
    return (
        f"The hosts are {parts} groups that have no collective in common: each is compared in itself."
        if parts > 1
        else None
    )


def _core_cause(host: HostInput, core: int) -> Cause | None:
    """Why one core of a host is late: nothing but its own work is known."""
    work = host.collectives.step_work_ps
    if not work.size:
        return None
    means = work.mean(axis=0)
    usual = float(np.median(np.delete(means, core)))
    if means[core] - usual < 0.01 * usual:
        return None
    return Cause("device", int(means[core]), int(usual), None, host.collectives.cores[core])


def _changing_cause(made: HostComparison) -> Cause | None:
    """What takes longer on whoever is last than on the median host, over all steps."""
    charges = made.arrivals.charges()[:-1]
    found: Counter[str] = Counter()
    sums: dict[str, list[int]] = {}
    steps = np.flatnonzero(charges.any(axis=1)).tolist()
    for step in steps:
        host = int(charges[step].argmax())
        cause = find_cause(made.table, host, made.median_host, 0, np.array([step]))
        if cause is not None:
            found[cause.name] += cause.longer_ps
            total = sums.setdefault(cause.name, [0, 0])
            total[0] += cause.own_ps
            total[1] += cause.median_ps
    if not found:
        return None
    name = found.most_common(1)[0][0]
    return Cause(name, sums[name][0] // len(steps), sums[name][1] // len(steps), None, None)
