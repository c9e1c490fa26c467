"""How long each core waits for other hosts, collective by collective. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.pod.arrivals import Arrivals
from tb_xla_insights.trace.model import Int16, Int32, Int64


@dataclass(frozen=True)
class CoreWaits:
    """What the cores of one host did in compared collectives, a row per core and instance, in order of time. Times are
    picoseconds on the host's own clock, as in `HostCollectives`.

    `instance`: which one of `Arrivals.instances`; `begin_ps`, `wait_ps`, `end_ps`: as in `HostCollectives`; `last_ps`:
    when the last host arrives; `waits_ps`: how long the core waits for it, 0 where its own host is the last one, or
    where clocks can be wrong by as much.
    """

    instance: Int32
    core: Int16
    begin_ps: Int64
    wait_ps: Int64
    last_ps: Int64
    end_ps: Int64
    waits_ps: Int64

    def __len__(self) -> int:
        return len(self.instance)


def core_waits(arrivals: Arrivals, host: int) -> CoreWaits:
    """The waits of a host's cores, by its place."""
    its, own = arrivals.instances, arrivals.parties[host]
    rows = np.flatnonzero(its.of_row[host] >= 0)
    rows = rows[np.argsort(own.wait_ps[rows], kind="stable")]
    instance = its.of_row[host][rows]
    last = arrivals.last[instance]
    wait, end = own.wait_ps[rows], own.end_ps[rows]
    # A difference on the common clock is that on the host's own, but for its drift within one collective.
    last_ps = wait + its.begin_ps[instance, last] - arrivals.clocks.common(host, wait)
    waits = np.minimum(last_ps, end) - wait
    waits[(last == host) | (waits <= unsure_ps(arrivals, host, last))] = 0
    return CoreWaits(instance, own.core[rows], own.begin_ps[rows], wait, last_ps, end, waits)


def unsure_ps(arrivals: Arrivals, host: int, others: Int32) -> Int64:
    """By how much the clocks of a host and others may be wrong to each other: no longer wait is told."""
    residual = arrivals.clocks.residual_ps
    found: Int64 = np.maximum(residual[others], residual[host])
    return found


def delayed(arrivals: Arrivals, host: int, core: int, start_ps: int, end_ps: int) -> int | None:
    """The instance that a gap of a core delays, its times on the clock of its host: the first compared one that the
    core joins after the gap, if its host is the last one there and another one waits for this core; None where it
    delays none."""
    waits, its = core_waits(arrivals, host), arrivals.instances
    after = np.flatnonzero((waits.core == core) & (waits.begin_ps >= end_ps))
    if not len(after):
        return None
    row = after[waits.begin_ps[after].argmin()]
    instance = int(waits.instance[row])
    if arrivals.last[instance] != host:
        return None
    others = np.flatnonzero(its.there[instance]).astype(np.int32)
    others = others[others != host]
    arrival = arrivals.clocks.common(host, waits.begin_ps[row])
    for_core = np.minimum(arrival, its.end_ps[instance, others]) - its.wait_ps[instance, others]
    # A gap delays by no more than it lasts.
    told = np.minimum(for_core, end_ps - start_ps) > unsure_ps(arrivals, host, others)
    return instance if told.any() else None
