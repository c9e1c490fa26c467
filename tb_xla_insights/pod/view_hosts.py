"""The columns of the view's hosts, and the cores of late hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int64
from tb_xla_insights.pod.arrivals import lower_medians
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_rows import largest_difference
from tb_xla_insights.pod.host_steps import COLUMNS
from tb_xla_insights.pod.late_hosts import most_charged_parties

if TYPE_CHECKING:
    from tb_xla_insights.schema.hosts_route import HostColumns, HostCore
    from tb_xla_insights.schema.session import Host

MAX_HOST_ROWS = 6
"""Hosts that have their own row in the heat map, at most."""

PS_PER_US = 1_000_000

_MIN_STEPS_TO_SINGLE_ONE_OUT = 3
"""Steps that a host must have for a difference to be called one of a single step."""


class _Lateness(NamedTuple):
    """How late a host is: the columns `last_steps`, `late_us`, `is_clock_uncertain` and `worst_step`."""

    steps: int
    late_us: int | None
    is_clock_uncertain: bool
    worst_step: int


def host_columns(comparison: HostComparison, rows: Sequence[Host], hosts_with_row: list[int]) -> HostColumns:
    """Returns the view's `hosts` from the report's `rows`; `hosts_with_row` have their own row in the heat map."""
    arrivals = comparison.arrivals
    most_charged, max_late = most_charged_parties(arrivals), arrivals.max_late_ps
    lateness = [_lateness(comparison, host, most_charged, max_late) for host in range(len(rows))]
    differences = [largest_difference(comparison, host) for host in range(len(rows))]
    return {
        "name": [row["name"] for row in rows],
        "steps": [row["steps"] for row in rows],
        "step_ps": [row["step_ps"] for row in rows],
        "collectives": [row["shared_collectives"] for row in rows],
        "last_count": [row["last_count"] for row in rows],
        "last_share": [row["last_share"] for row in rows],
        "last_steps": [late.steps for late in lateness],
        "others_wait_us": [whole_us(row["others_wait_ps"]) for row in rows],
        "waits_us": [whole_us(row["waits_ps"]) for row in rows],
        "late_us": [late.late_us for late in lateness],
        "duty_cycle": [row["duty_cycle"] for row in rows],
        "span_us": [
            sum(device["span_ps"] for device in host.document["devices"]) // PS_PER_US
            for host in comparison.hosts
        ],
        "compiles": [row["compiles"] for row in rows],
        "offset_us": [_exact_us(row["clock_offset_ps"]) for row in rows],
        "residual_us": [_exact_us(row["residual_ps"]) for row in rows],
        "is_clock_uncertain": [late.is_clock_uncertain for late in lateness],
        "difference_class": [difference["class"] if difference else None for difference in differences],
        "difference_us": [
            _difference_us(comparison, host, difference["class"]) if difference else None
            for host, difference in enumerate(differences)
        ],
        "difference_in_one_step": [
            _is_in_one_step(comparison, host) if difference else False
            for host, difference in enumerate(differences)
        ],
        "worst_step": [late.worst_step for late in lateness],
        "has_own_row": [host in hosts_with_row for host in range(len(rows))],
    }


def _lateness(
    comparison: HostComparison, host: int, most_charged: NDArray[np.intp], max_late: Int64
) -> _Lateness:
    clocks = comparison.arrivals.clocks
    steps, late_ps = np.flatnonzero(most_charged == host), max_late[:, host]
    return _Lateness(
        steps=len(steps),
        # At least 0: a host without a collective in a step may be charged for an earlier one.
        late_us=max(int(np.median(late_ps[steps])), 0) // PS_PER_US if len(steps) else None,
        is_clock_uncertain=bool(clocks.is_known[host])
        and int(clocks.residual_ps[host]) > max(int(late_ps.max(initial=0)), 0),
        worst_step=int(late_ps.argmax()) if len(late_ps) and late_ps.max() >= 0 else -1,
    )


def _difference_us(comparison: HostComparison, host: int, class_name: str) -> int:
    """Returns how much longer a class takes per step than on the median host, from times rounded as in the view."""
    means_ps = comparison.table.means_ps[:, COLUMNS.index(class_name)]
    host_us, median_us = (
        (int(means_ps[index]) + PS_PER_US // 2) // PS_PER_US
        for index in (host, comparison.median_host)
        if index is not None
    )
    return host_us - median_us


def _is_in_one_step(comparison: HostComparison, host: int) -> bool:
    """Whether most of a host's largest difference from the median host is in one step."""
    table, difference = comparison.table, largest_difference(comparison, host)
    median = comparison.median_host
    if difference is None or median is None or table.present[host].sum() < _MIN_STEPS_TO_SINGLE_ONE_OUT:
        return False
    column = COLUMNS.index(difference["class"])
    in_both = table.present[host] & table.present[median]
    by_step = table.times_ps[host, in_both, column] - table.times_ps[median, in_both, column]
    by_step *= np.sign(difference["longer_ps"])
    return bool(by_step.size and 2 * by_step.max() > np.maximum(by_step, 0).sum())


def whole_us(time_ps: int | None) -> int | None:
    """Converts picoseconds to microseconds, rounded."""
    return None if time_ps is None else (time_ps + PS_PER_US // 2) // PS_PER_US


def _exact_us(time_ps: int | None) -> float | None:
    return None if time_ps is None else round(time_ps / PS_PER_US, 2)


def core_rows(comparison: HostComparison) -> list[HostCore] | None:
    """Returns the view's `cores`: those of the late hosts, or of the only host; None if no host is late."""
    if comparison.core_arrivals:
        max_late = comparison.core_arrivals.max_late_ps
        return [
            {
                "host": 0,
                "id": id_,
                "last_count": int(comparison.core_arrivals.last_count[core]),
                "late_us": _median_us(max_late[:, core]),
                "device_us": _mean_work_us(comparison, 0, core),
            }
            for core, id_ in enumerate(comparison.hosts[0].collectives.cores)
        ]
    late_hosts = comparison.late_hosts.parties[:MAX_HOST_ROWS]
    return [row for host in late_hosts for row in _core_rows_of(comparison, host)] or None


def _core_rows_of(comparison: HostComparison, host: int) -> list[HostCore]:
    """Returns a row per core of a host, from the compared collectives that all of its cores execute, whether in one
    group or in several."""
    collectives, instances = comparison.hosts[host].collectives, comparison.arrivals.instances
    rows = np.flatnonzero(instances.instance_of_row[host] >= 0)
    executions = instances.execution[instances.instance_of_row[host][rows]]
    _, first, execution = np.unique(executions, return_index=True, return_inverse=True)
    cells = execution, collectives.core[rows]
    begin = np.zeros((len(first), len(collectives.cores)), np.int64)
    present = np.zeros(begin.shape, np.bool_)
    begin[cells], present[cells] = collectives.begin_ps[rows], True
    is_complete = present.all(axis=1)
    begin, step = begin[is_complete], collectives.run_step[collectives.run[rows[first[is_complete]]]]
    late_ps = begin - lower_medians(begin, present[is_complete])[:, None]
    # The last row is for executions in no step, -1.
    max_late = np.full((len(collectives.step_numbers) + 1, begin.shape[1]), -1, np.int64)
    np.maximum.at(max_late, step, np.maximum(late_ps, 0))
    last_count = np.bincount(begin.argmax(axis=1), minlength=begin.shape[1])
    return [
        {
            "host": host,
            "id": id_,
            "last_count": int(last_count[core]),
            "late_us": _median_us(max_late[:-1, core]),
            "device_us": _mean_work_us(comparison, host, core),
        }
        for core, id_ in enumerate(collectives.cores)
    ]


def _median_us(late_ps: Int64) -> int:
    """Returns the median lateness in microseconds over the steps in which the core takes part, where `late_ps` is not
    negative."""
    late_ps = late_ps[late_ps >= 0]
    return int(np.median(late_ps)) // PS_PER_US if len(late_ps) else 0


def _mean_work_us(comparison: HostComparison, host: int, core: int) -> int:
    """Returns how long a core computes for the mean step."""
    work = comparison.hosts[host].collectives.step_work_ps
    return int(work[:, core].mean()) // PS_PER_US if len(work) else 0
