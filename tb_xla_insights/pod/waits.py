"""Computes how long each core waits for other hosts in each collective. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.arrays import Int16, Int32, Int64
from tb_xla_insights.pod.arrivals import Arrivals


@dataclass(frozen=True)
class CoreWaits:
    """The compared collectives of one host's cores: a row per core and instance, in order of time. Times are in
    picoseconds on the host's own clock, as in `HostCollectives`.

    `instance`: index into `Arrivals.instances`; `begin_ps`, `wait_start_ps`, `end_ps`: as in `HostCollectives`;
    `last_arrival_ps`: when the last host arrives; `waits_ps`: how long the core waits for it, 0 if its own host is the
    last one, or if the wait is within the uncertainty of the clocks.
    """

    instance: Int32
    core: Int16
    begin_ps: Int64
    wait_start_ps: Int64
    last_arrival_ps: Int64
    end_ps: Int64
    waits_ps: Int64

    def __len__(self) -> int:
        return len(self.instance)


def core_waits(arrivals: Arrivals, host: int) -> CoreWaits:
    """Returns the waits of the cores of a host, given by its index."""
    instances, collectives = arrivals.instances, arrivals.parties[host]
    rows = np.flatnonzero(instances.instance_of_row[host] >= 0)
    rows = rows[np.argsort(collectives.wait_start_ps[rows], kind="stable")]
    instance = instances.instance_of_row[host][rows]
    last_party = arrivals.last_party[instance]
    wait_start, end = collectives.wait_start_ps[rows], collectives.end_ps[rows]
    # A difference on the common clock equals that on the host's own, except for drift within one collective.
    until_last = instances.begin_ps[instance, last_party] - arrivals.clocks.to_common(host, wait_start)
    last_arrival_ps = wait_start + until_last
    waits = np.minimum(last_arrival_ps, end) - wait_start
    waits[(last_party == host) | (waits <= clock_uncertainty_ps(arrivals, host, last_party))] = 0
    return CoreWaits(
        instance, collectives.core[rows], collectives.begin_ps[rows], wait_start, last_arrival_ps, end, waits
    )


def clock_uncertainty_ps(arrivals: Arrivals, host: int, other_hosts: Int32) -> Int64:
    """Returns, per other host, the larger residual of its clock and this host's: waits up to that are not reported."""
    residual = arrivals.clocks.residual_ps
    uncertainty: Int64 = np.maximum(residual[other_hosts], residual[host])
    return uncertainty


def delayed_instance(arrivals: Arrivals, host: int, core: int, start_ps: int, end_ps: int) -> int | None:
    """Returns the instance that a gap of a core delays, None if it delays none. `start_ps` and `end_ps` of the gap are
    on the clock of the core's host.

    That is the first compared instance that the core joins after the gap, if its host arrives last there and another
    host waits for this core.
    """
    waits, instances = core_waits(arrivals, host), arrivals.instances
    after = np.flatnonzero((waits.core == core) & (waits.begin_ps >= end_ps))
    if not len(after):
        return None
    row = after[waits.begin_ps[after].argmin()]
    instance = int(waits.instance[row])
    if arrivals.last_party[instance] != host:
        return None
    members = np.flatnonzero(instances.present[instance]).astype(np.int32)
    other_hosts = members[members != host]
    arrival = arrivals.clocks.to_common(host, waits.begin_ps[row])
    wait_end = np.minimum(arrival, instances.end_ps[instance, other_hosts])
    waits_for_core = wait_end - instances.wait_start_ps[instance, other_hosts]
    # A gap delays others by no more than its own length.
    delays = np.minimum(waits_for_core, end_ps - start_ps)
    return instance if (delays > clock_uncertainty_ps(arrivals, host, other_hosts)).any() else None
