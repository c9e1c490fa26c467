"""The report's `hosts`: a row per host, with figures of its own and of its arrivals at common collectives."""

from __future__ import annotations

from statistics import median_low
from typing import TYPE_CHECKING

from tb_xla_insights.pod.clocks import offset_rows
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_steps import COLUMNS, WAITING_CLASSES

if TYPE_CHECKING:
    from tb_xla_insights.schema.session import Difference, Host

MIN_DIFFERENCE_PS = 150_000_000
"""Smaller differences per step from the median host are not reported."""


def host_rows(comparison: HostComparison) -> list[Host]:
    """Returns the report's `hosts`.

    `step_ps`: the median of the host's steps. `idle_ps`: its devices' idle time by class. `shared_collectives`: how
    many shared collectives it takes part in. Of these, null if hosts are not compared or its clock is not known: at how
    many it arrives last (`last_count`, `last_share`), how long the others wait for it (`others_wait_ps`) and it for
    others (`waits_ps`).
    `difference`: the class that differs most from the median host's, and by how much in a mean step; null if none does
    by MIN_DIFFERENCE_PS; `unrecorded` if the host's file is cut.
    """
    arrivals = comparison.arrivals
    is_compared = comparison.state == "compared"
    figures_of_hosts = zip(
        offset_rows(arrivals.clocks),
        arrivals.last_count.tolist(),
        arrivals.shared_count.tolist(),
        arrivals.others_wait_ps.tolist(),
        arrivals.waits_ps.sum(axis=0).tolist(),
        strict=True,
    )
    rows: list[Host] = []
    for index, (host, (clock, last_count, shared, others_wait, waits)) in enumerate(
        zip(comparison.hosts, figures_of_hosts, strict=True)
    ):
        document = host.document
        is_known = is_compared and clock["clock_offset_ps"] is not None
        step_times = comparison.table.step_ps[index, comparison.table.present[index]].tolist()
        span = sum(row["span_ps"] for row in document["devices"])
        rows.append(
            {
                "name": host.name,
                "steps": len(document["steps"]),
                "step_ps": median_low(step_times) if step_times else None,
                "duty_cycle": sum(row["busy_ps"] for row in document["devices"]) / span if span else None,
                "idle_ps": dict(document["gaps"]["by_class_ps"]),
                "compiles": len(document["compiles"]),
                **clock,
                "shared_collectives": shared,
                "last_count": last_count if is_known else None,
                "last_share": last_count / shared if is_known and shared else None,
                "others_wait_ps": others_wait if is_known else None,
                "waits_ps": waits if is_known else None,
                "difference": largest_difference(comparison, index),
            }
        )
    return rows


def largest_difference(comparison: HostComparison, host: int) -> Difference | None:
    """Returns the class in which a host's mean step differs most from the median host's, without waiting; None if that
    is less than MIN_DIFFERENCE_PS, or either has no steps. For a cut file it is `unrecorded`, as the missing time may
    be of any class."""
    table = comparison.table
    if comparison.median_host is None or not table.present[host].any():
        return None
    difference_ps = table.means_ps[host] - table.means_ps[comparison.median_host]
    if comparison.hosts[host].is_cut:
        return {"class": "unrecorded", "longer_ps": int(difference_ps[COLUMNS.index("unrecorded")])}
    longer_ps, name = max(
        (
            (int(difference_ps[column]), name)
            for column, name in enumerate(COLUMNS)
            if name not in WAITING_CLASSES
        ),
        key=lambda difference: abs(difference[0]),
    )
    return {"class": name, "longer_ps": longer_ps} if abs(longer_ps) >= MIN_DIFFERENCE_PS else None
