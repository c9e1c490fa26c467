"""The report's `hosts`: a row per host, of what it did alone and of how it came to what all did together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.pod.clocks import offset_rows
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_steps import COLUMNS, WAITING
from tb_xla_insights.trace.model import Int64

if TYPE_CHECKING:
    from tb_xla_insights.schema.session import Difference, Host

ALIKE_PS = 150_000_000
"""What differs by less a step from the median host is not told."""


def host_rows(compared: HostComparison) -> list[Host]:
    """The report's `hosts`. `step_ps`: the median of its steps; `idle_ps`: its devices' idle time by class; of the
    shared collectives, how many it takes part in (`shared`), to how many it comes last (`last`, `last_share`), how long
    the others wait for it (`others_wait_ps`) and it for others (`waits_ps`); null where hosts are not compared.
    `differs`: the class that differs most from the median host's, and by how much in a mean step, null where none does
    by ALIKE_PS; `unrecorded` where the host's file is cut."""
    told = compared.arrivals
    compares = compared.state == "compared"
    numbers = zip(
        offset_rows(told.clocks),
        told.last_count.tolist(),
        told.shared_count.tolist(),
        told.others_wait_ps.tolist(),
        told.waits_ps.sum(axis=0).tolist(),
        strict=True,
    )
    rows: list[Host] = []
    for which, (host, (clock, last, shared, others, waits)) in enumerate(
        zip(compared.hosts, numbers, strict=True)
    ):
        document = host.document
        known = compares and clock["clock_offset_ps"] is not None
        span = sum(row["span_ps"] for row in document["devices"])
        rows.append(
            {
                "name": host.name,
                "steps": len(document["steps"]),
                "step_ps": _median(compared.table.step_ps[which, compared.table.there[which]]),
                "duty_cycle": sum(row["busy_ps"] for row in document["devices"]) / span if span else None,
                "idle_ps": dict(document["gaps"]["by_class_ps"]),
                "compiles": len(document["compiles"]),
                **clock,
                "shared": shared,
                "last": last if known else None,
                "last_share": last / shared if known and shared else None,
                "others_wait_ps": others if known else None,
                "waits_ps": waits if known else None,
                "differs": differs(compared, which),
            }
        )
    return rows


def differs(compared: HostComparison, host: int) -> Difference | None:
    """The class in which a host's mean step differs most from the median host's; not what it only waits. Of a file that
    is cut nobody knows: `unrecorded`."""
    table = compared.table
    if compared.median_host is None or not table.there[host].any():
        return None
    apart = table.means_ps[host] - table.means_ps[compared.median_host]
    if compared.hosts[host].cut:
        return {"class": "unrecorded", "longer_ps": int(apart[COLUMNS.index("unrecorded")])}
    some = [(int(apart[at]), name) for at, name in enumerate(COLUMNS) if name not in WAITING]
    most, name = max(some, key=lambda it: abs(it[0]))
    return {"class": name, "longer_ps": most} if abs(most) >= ALIKE_PS else None


def _median(values: Int64) -> int | None:
    return int(np.sort(values)[(len(values) - 1) // 2]) if len(values) else None
