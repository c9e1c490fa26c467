"""Compares the hosts of a session: whether it is possible, which hosts hold up the others, and why.

(docs/definitions.md, "Pods")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE, INFO_SHARE
from tb_xla_insights.arrays import Int64
from tb_xla_insights.pod.arrivals import (
    Arrivals,
    exposed_waits_ps,
    find_arrivals,
    find_core_arrivals,
    lower_medians,
)
from tb_xla_insights.pod.causes import LateCause, find_cause
from tb_xla_insights.pod.host_steps import DEVICE, HostInput, StepTable, tabulate_steps
from tb_xla_insights.pod.late_hosts import LateHosts, find_late_hosts, is_late_every_step

if TYPE_CHECKING:
    from tb_xla_insights.analysis.findings.finding import Frequency
    from tb_xla_insights.pod.collective_columns import HostCollectives
    from tb_xla_insights.schema.hosts_route import HostsState

_MIN_CORE_DIFFERENCE = 0.01
"""A late core's work is the cause only if it takes longer by at least this share of its neighbours' work."""


@dataclass(frozen=True)
class HostComparison:
    """The comparison of a session's hosts.

    `note`: a sentence about hosts that are not compared with the others. `arrivals`: those of the hosts;
    `core_arrivals`: those of the cores, in a session of one host. `late_hosts`: the hosts that hold up the others, or
    the cores if there are `core_arrivals`. `causes`: one per late host; a single one for all if a different host is
    late each time.
    """

    hosts: tuple[HostInput, ...]
    state: HostsState
    note: str | None
    arrivals: Arrivals
    core_arrivals: Arrivals | None
    table: StepTable
    late_hosts: LateHosts
    causes: tuple[LateCause | None, ...]

    @property
    def party_arrivals(self) -> Arrivals:
        """The arrivals of the parties among which `late_hosts` were searched."""
        return self.core_arrivals or self.arrivals

    @cached_property
    def median_host(self) -> int | None:
        """The median of the hosts that are not late, None if none of these has steps."""
        late_parties = set() if self.core_arrivals else set(self.late_hosts.parties)
        return self.table.median_of(set(range(len(self.hosts))) - late_parties)

    @property
    def reference_text(self) -> str:
        """What the late hosts are compared with, in words: `the median host w-31`."""
        if self.core_arrivals:
            return "its neighbours"
        return (
            "others" if self.median_host is None else f"the median host {self.hosts[self.median_host].name}"
        )

    @property
    def common_kind(self) -> str | None:
        """The kind of all compared collectives; None if there are several kinds, or no collectives."""
        arrivals = self.party_arrivals
        instructions = arrivals.shared.instructions
        kinds = {instructions[index].kind for index in np.unique(arrivals.instances.instruction).tolist()}
        return kinds.pop() if len(kinds) == 1 else None

    @property
    def sampled_share(self) -> float:
        """An upper bound of the share of the recorded collectives that is compared."""
        recorded_rows = sum(host.collectives.recorded_count for host in self.hosts)
        rows = sum(len(host.collectives) for host in self.hosts)
        return rows / recorded_rows * self.party_arrivals.instances.share if recorded_rows else 1.0

    @property
    def late_step_count(self) -> int:
        """The number of steps in which the first late party is late; of equally late parties, in which any of them is:
        all are late then, and another one is last each time."""
        steps = self.late_hosts.steps
        return len(np.unique(np.concatenate(steps))) if self.late_hosts.are_equally_late else len(steps[0])

    def is_always_late(self, position: int) -> bool:
        """Whether a late party, given by its position in `late_hosts.parties`, is late in nearly every step."""
        late_hosts, step_count = self.late_hosts, self.party_arrivals.step_count
        return late_hosts.are_equally_late or len(late_hosts.steps[position]) >= EVERY_STEP_SHARE * step_count

    def late_ps(self, position: int) -> int:
        """Returns the usual lateness of a late party, given by its position in `late_hosts.parties`, in its
        `late_hosts.steps` (none: in all steps); of equally late parties, relative to the median of the others."""
        party, steps = self.late_hosts.parties[position], self.late_hosts.steps[position]
        if self.late_hosts.are_equally_late:
            return self._late_after_others_ps(party)
        late_ps = self.party_arrivals.max_late_ps[:, party]
        late_ps = late_ps[steps] if len(steps) else late_ps[late_ps >= 0]
        return int(np.median(late_ps)) if len(late_ps) else 0

    def _late_after_others_ps(self, party: int) -> int:
        """Returns the median over steps of a party's largest lateness relative to the parties that are not late."""
        instances, step_count = self.party_arrivals.instances, self.party_arrivals.step_count
        is_other = instances.present.copy()
        is_other[:, self.late_hosts.parties] = False
        rows = np.flatnonzero(instances.present[:, party] & is_other.any(axis=1) & (instances.step >= 0))
        late_ps = instances.begin_ps[rows, party] - lower_medians(instances.begin_ps[rows], is_other[rows])
        max_late = np.full(step_count, -1, np.int64)
        np.maximum.at(max_late, instances.step[rows], late_ps)
        return int(np.median(max_late[max_late >= 0])) if (max_late >= 0).any() else 0

    @property
    def frequency(self) -> Frequency | None:
        """The `recurs` of the finding; None: not known."""
        late_hosts = self.late_hosts
        if (
            late_hosts.kind == "changing"
            or late_hosts.are_equally_late
            or is_late_every_step(late_hosts, self.party_arrivals.step_count)
        ):
            return "every_step"
        return late_hosts.frequency

    @property
    def step_if_fixed_ps(self) -> int | None:
        """The mean step at best without late parties, never shorter than the work of another host or its devices; None
        without late parties or steps."""
        step = self.table.mean_step_ps
        if step is None or self.late_hosts.kind not in ("late", "changing"):
            return None
        return min(step, step - min(self.late_hosts.saved_ps, self._max_saving_ps()))

    @property
    def usual_step_ps(self) -> int | None:
        """The mean step without the parties that are late in one step only, if others are late in several and their
        lateness is INFO_SHARE of that step or more; else the mean step. None without late parties or steps."""
        step, fixed = self.table.mean_step_ps, self.step_if_fixed_ps
        if step is None or fixed is None:
            return None
        usual = max(step - self.late_hosts.saved_once_ps, fixed)
        return usual if usual - fixed >= INFO_SHARE * usual else step

    def _max_saving_ps(self) -> int:
        """Returns how much shorter the mean step of all hosts can be. Hosts that share collectives with the late ones
        take at least as long for a step as each of them that is on time works, on the host or its devices."""
        table, present = self.table, self.table.present
        if self.core_arrivals:
            return self._idle_ps(0, int(table.mean_step_ps or 0))
        late_parties, component = self.late_hosts.parties, self.arrivals.component
        is_known = self.arrivals.clocks.is_known
        is_tied = is_known & present.any(axis=1)
        # With point-to-point collectives, hosts of other groups also wait for the late ones' data.
        if self.arrivals.instances.point_to_point_ps is None:
            is_tied &= np.isin(component, component[late_parties] if late_parties else component[is_known])
        hosts_on_time = [host for host in np.flatnonzero(is_tied).tolist() if host not in late_parties]
        if not hosts_on_time:
            return 0
        steps = int(present[is_tied].sum())
        step_ps = int(table.step_ps[is_tied][present[is_tied]].sum()) // steps
        return min(self._idle_ps(host, step_ps) for host in hosts_on_time) * steps // int(present.sum())

    def _idle_ps(self, host: int, step_ps: int) -> int:
        """Returns how much of a step is neither work of a host nor of its devices.

        The devices' time for the mean step may exceed its length, if the last run ends after the last step. Then their
        work is scaled to the step's length.
        """
        work_ps, waits_ps = self._device_times_ps(host)
        device_ps = work_ps * step_ps // max(work_ps + waits_ps, step_ps, 1)
        return max(step_ps - max(self._host_work_ps(host), device_ps), 0)

    def _host_work_ps(self, host: int) -> int:
        """Returns a host's own work in its mean step."""
        return int(self.table.own_work_ps[host].sum()) // max(int(self.table.present[host].sum()), 1)

    def _device_times_ps(self, index: int) -> tuple[int, int]:
        """Returns the time of a host's devices for the mean step: the work of the busiest core (of the median one, if
        cores are compared), including exposed collectives without waiting for other parties; and that waiting."""
        host = self.hosts[index].collectives
        core_steps = len(host.cores) * len(host.step_numbers)
        if not core_steps:
            return 0, 0
        exposed_ps = int(host.exposed_ps[host.run_step[host.run] >= 0].sum())
        waits = self._exposed_waits_ps
        waits_ps = int(waits.sum() if self.core_arrivals else waits[index])
        work = host.step_work_ps.mean(axis=0)
        work_ps = int(np.median(work) if self.core_arrivals else work.max())
        return work_ps + max(exposed_ps - waits_ps, 0) // core_steps, waits_ps // core_steps

    @cached_property
    def _exposed_waits_ps(self) -> Int64:
        return exposed_waits_ps(self.party_arrivals)


def compare_hosts(hosts: Sequence[HostInput]) -> HostComparison:
    """Compares the hosts of a session, given in the order in which their cores are counted: by name, numbers in names
    as numbers."""
    collectives = [host.collectives for host in hosts]
    arrivals = find_arrivals(collectives)
    core_arrivals = (
        find_core_arrivals(collectives[0]) if len(hosts) == 1 and _can_compare_cores(hosts[0]) else None
    )
    table = tabulate_steps(hosts, arrivals)
    arrivals = replace(arrivals, own_work_ps=table.own_work_ps)
    late_hosts = find_late_hosts(core_arrivals or arrivals, table.mean_step_ps)
    comparison = HostComparison(
        hosts=tuple(hosts),
        state=_state(collectives, arrivals),
        note=_note(arrivals),
        arrivals=arrivals,
        core_arrivals=core_arrivals,
        table=table,
        late_hosts=late_hosts,
        causes=(),
    )
    return replace(comparison, causes=tuple(_find_causes(comparison)))


def _find_causes(comparison: HostComparison) -> list[LateCause | None]:
    """Returns `HostComparison.causes`."""
    late_hosts = comparison.late_hosts
    if late_hosts.kind == "changing":
        return [None if comparison.core_arrivals else _changing_cause(comparison)]
    if comparison.core_arrivals:
        return [_core_cause(comparison, position) for position in range(len(late_hosts.parties))]
    causes = []
    for position, (party, steps) in enumerate(zip(late_hosts.parties, late_hosts.steps, strict=True)):
        late_ps = comparison.late_ps(position)
        late_steps = None if comparison.is_always_late(position) else steps
        causes.append(find_cause(comparison.table, party, comparison.median_host, late_ps, late_steps))
    return causes


def _can_compare_cores(host: HostInput) -> bool:
    """Whether the cores can be compared. Those of a CPU cannot: they share its processors, so one always comes last."""
    return len(host.collectives.cores) > 1 and all(row["kind"] != "cpu" for row in host.document["devices"])


def _state(hosts: Sequence[HostCollectives], arrivals: Arrivals) -> HostsState:
    if len(hosts) == 1:
        return "one_host"
    if len(arrivals.instances):
        return "compared"
    names_of_hosts = [
        {(instruction.program, instruction.name) for instruction in host.instructions} for host in hosts
    ]
    host_counts = Counter(name for names in names_of_hosts for name in names)
    return "clocks_apart" if any(count > 1 for count in host_counts.values()) else "no_collectives"


def _note(arrivals: Arrivals) -> str | None:
    if len(arrivals.parties) < 2 or not len(arrivals.instances):
        return None
    unknown_clocks = int((~arrivals.clocks.is_known).sum())
    if unknown_clocks:
        if unknown_clocks == 1:
            return "The clock of 1 host is not related to the others': its arrivals are not compared."
        return f"The clocks of {unknown_clocks} hosts are not related to the others': their arrivals are not compared."
    components = len(set(arrivals.component.tolist()))
    return (
        f"The hosts form {components} groups without a common collective: each is compared by itself."
        if components > 1
        else None
    )


def _core_cause(comparison: HostComparison, position: int) -> LateCause | None:
    """Returns why a core of the only host is late, given by its position in `late_hosts.parties`: its own work in the
    steps in which it is late is all that is known of it."""
    host, late_hosts = comparison.hosts[0].collectives, comparison.late_hosts
    core, work = late_hosts.parties[position], host.step_work_ps
    if not comparison.is_always_late(position):
        work = work[np.isin(comparison.party_arrivals.common_step[core], late_hosts.steps[position])]
    if not work.size:
        return None
    means = work.mean(axis=0)
    median = float(np.median(np.delete(means, core)))
    if means[core] - median < _MIN_CORE_DIFFERENCE * median:
        return None
    return LateCause(DEVICE, int(means[core]), int(median), None, host.cores[core])


def _changing_cause(comparison: HostComparison) -> LateCause | None:
    """Returns the cause with the largest sum over all steps. In each step, the host that most waiting is charged to is
    compared with the median host."""
    charges = comparison.arrivals.charges_ps[:-1]
    longer_ps: Counter[str] = Counter()
    totals: dict[str, tuple[int, int]] = {}
    steps = np.flatnonzero(charges.any(axis=1)).tolist()
    for step in steps:
        host = int(charges[step].argmax())
        cause = find_cause(comparison.table, host, comparison.median_host, 0, np.array([step]))
        if cause is not None:
            longer_ps[cause.name] += cause.longer_ps
            host_ps, median_ps = totals.get(cause.name, (0, 0))
            totals[cause.name] = host_ps + cause.host_ps, median_ps + cause.median_ps
    if not longer_ps:
        return None
    name = longer_ps.most_common(1)[0][0]
    host_ps, median_ps = totals[name]
    return LateCause(name, host_ps // len(steps), median_ps // len(steps), None, None)
