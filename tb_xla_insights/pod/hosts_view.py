"""The document of the page's view Hosts: which host holds up the others, and why.

`schema.hosts_route` documents the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from tb_xla_insights.arrays import Int64
from tb_xla_insights.pod.arrivals import lower_medians
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_rows import MIN_DIFFERENCE_PS, host_rows
from tb_xla_insights.pod.host_steps import COLUMNS, WAITING_CLASSES, StepTable
from tb_xla_insights.pod.hosts_verdict import best_case, verdict_pieces
from tb_xla_insights.pod.late_hosts import are_charged_parties_late, clock_noise_ps, most_charged_parties
from tb_xla_insights.pod.straggler import straggler_finding
from tb_xla_insights.pod.view_hosts import MAX_HOST_ROWS, PS_PER_US, core_rows, host_columns, whole_us
from tb_xla_insights.text.english import sentence_parts

if TYPE_CHECKING:
    from tb_xla_insights.catalog.classes import ClassName
    from tb_xla_insights.schema.hosts_route import Charges, HostsAnswer, HostsSteps, HostSteps, HostsVerdict
    from tb_xla_insights.schema.steps import Step

SCHEMA = 1

_MIN_CHARGED_SHARE = 0.98
"""Hosts get their own row in the heat map, those that others wait for longest first, until they account for this share
of all waiting."""


def hosts_view(comparison: HostComparison, hosts_total: int | None = None) -> HostsAnswer:
    """Returns the document. `hosts_total`: the number of hosts of the session, if not all have been read yet."""
    table, arrivals = comparison.table, comparison.arrivals
    is_compared = comparison.state == "compared"
    rows = host_rows(comparison)
    hosts_with_row = _hosts_with_row(comparison)
    columns = _present_columns(comparison)
    charges = arrivals.charges_ps[:-1]
    detailed_hosts = sorted(
        {*hosts_with_row, *([] if comparison.median_host is None else [comparison.median_host])}
    )
    waits_ps = comparison.late_hosts.waits_ps if comparison.late_hosts.kind != "unknown" else None
    no_charges: Charges = {"host": [], "step": [], "last_count": [], "others_wait_us": []}
    return {
        "schema": SCHEMA,
        "state": comparison.state,
        "note": comparison.note,
        "host_counts": {
            "hosts_read": len(rows),
            "hosts_total": len(rows) if hosts_total is None else hosts_total,
        },
        "collectives": len(arrivals.instances),
        "sampled_share": comparison.sampled_share,
        "kind": comparison.common_kind,
        "classes": [COLUMNS[column] for column in columns],
        "verdict": _verdict(comparison, hosts_total or len(rows)),
        "figures": {
            "step_ps": table.mean_step_ps,
            "waits_ps": waits_ps,
            "step_if_fixed_ps": comparison.step_if_fixed_ps,
        },
        "min_difference_us": MIN_DIFFERENCE_PS // PS_PER_US,
        "median_host": comparison.median_host,
        "steps": _steps(comparison),
        "hosts": host_columns(comparison, rows, hosts_with_row),
        "order": _order(comparison),
        "late_us": [_us(late_ps) for late_ps in arrivals.max_late_ps.T] if is_compared else [],
        "step_difference_us": _step_differences(comparison),
        "charges": _charges(comparison, charges) if is_compared else no_charges,
        "class_us": [_us(means_ps) for means_ps in table.means_ps[:, columns]],
        "step_class_us": {str(host): step_class_times(comparison, host) for host in detailed_hosts},
        "cores": core_rows(comparison),
    }


def step_class_times(comparison: HostComparison, host: int) -> list[list[int] | None]:
    """Returns, per step and class of the document, the time of a host in microseconds; None: it has no such step."""
    table, columns = comparison.table, _present_columns(comparison)
    return [
        _us(table.times_ps[host, step][columns]) if is_present else None
        for step, is_present in enumerate(table.present[host].tolist())
    ]


def host_steps_view(comparison: HostComparison, host: int, steps: Sequence[Step]) -> HostSteps:
    """Returns, per step of the document, a host's times by class, and its step's start and duration; None: it has no
    such step. `steps`: those of the session's report."""
    positions = comparison.arrivals.common_step[host].tolist()
    steps_of_host = [step for step in steps if step["host"] == comparison.hosts[host].name]
    step_at = dict(zip(positions, steps_of_host, strict=True))
    aligned = [step_at.get(position) for position in range(comparison.arrivals.step_count)]
    return {
        "step_class_us": step_class_times(comparison, host),
        "start_ps": [step and step["start_ps"] for step in aligned],
        "duration_ps": [step and step["duration_ps"] for step in aligned],
    }


def _present_columns(comparison: HostComparison) -> list[int]:
    """Returns the columns (indices into COLUMNS) with any time: the document's `classes`."""
    return np.flatnonzero(comparison.table.times_ps.any(axis=(0, 1))).tolist()


def _us(times_ps: Int64) -> list[int]:
    """Converts to whole microseconds. Negative values are markers and stay."""
    return np.where(times_ps < 0, times_ps, (times_ps + PS_PER_US // 2) // PS_PER_US).tolist()  # type: ignore[no-any-return]


def _order(comparison: HostComparison) -> list[int]:
    """Returns the hosts, those that others wait for longest first."""
    waits = comparison.arrivals.others_wait_ps.tolist()
    return sorted(range(len(comparison.hosts)), key=lambda host: -waits[host])


def _hosts_with_row(comparison: HostComparison) -> list[int]:
    """Returns the hosts with their own row: the late ones, then others whose lateness clock errors cannot explain."""
    arrivals, late_hosts = comparison.arrivals, comparison.late_hosts
    if comparison.state != "compared" or late_hosts.kind == "none":
        return []
    waits, max_late = arrivals.others_wait_ps, arrivals.max_late_ps.max(axis=0, initial=-1)
    hosts_with_row = list(late_hosts.parties)[:MAX_HOST_ROWS]
    for host in _order(comparison):
        is_complete = hosts_with_row and waits[hosts_with_row].sum() >= _MIN_CHARGED_SHARE * waits.sum()
        if len(hosts_with_row) >= MAX_HOST_ROWS or is_complete:
            break
        if host not in hosts_with_row and max_late[host] > clock_noise_ps(arrivals, host):
            hosts_with_row.append(host)
    return hosts_with_row


def _verdict(comparison: HostComparison, hosts_total: int) -> HostsVerdict:
    finding, late_hosts = straggler_finding(comparison), comparison.late_hosts
    cause = comparison.causes[0] if comparison.causes else None
    return {
        "text": sentence_parts(verdict_pieces(comparison, hosts_total)),
        "severity": finding.severity if finding else "good" if late_hosts.kind == "none" else "info",
        "kind": late_hosts.kind,
        "hosts": [] if comparison.core_arrivals else late_hosts.parties,
        "core": _late_core(comparison),
        "best_case": best_case(comparison),
        "cause": cause.name if cause else None,
        "annotation": cause.annotation if cause else None,
        "annotation_name": cause.annotation_name if cause else None,
        "cause_us": whole_us(cause.host_ps if cause else None),
        "median_cause_us": whole_us(cause.median_ps if cause else None),
        "steps": late_hosts.steps[0].tolist() if late_hosts.steps else [],
    }


def _late_core(comparison: HostComparison) -> str | None:
    """Returns the core that alone makes the first late host late; in a session of one host, the first late core."""
    if comparison.core_arrivals:
        cores = comparison.hosts[0].collectives.cores
        return next((cores[party] for party in comparison.late_hosts.parties), None)
    cause = comparison.causes[0] if comparison.causes else None
    return cause.core if cause else None


def _steps(comparison: HostComparison) -> HostsSteps:
    table, arrivals = comparison.table, comparison.arrivals
    is_late = are_charged_parties_late(arrivals, comparison.late_hosts).tolist()
    return {
        "number": table.number,
        "name": table.name,
        "last_host": most_charged_parties(arrivals).tolist(),
        "is_last_host_late": is_late if not comparison.core_arrivals else [False] * arrivals.step_count,
        "last_cause": _last_causes(comparison),
        "step_us": _median_steps_us(table),
    }


def _last_causes(comparison: HostComparison) -> list[ClassName | Literal["device"] | None]:
    """Returns, per step, the class that takes longest beyond the median host's time on the host that most waiting is
    charged to."""
    table, median = comparison.table, comparison.median_host
    last, steps = most_charged_parties(comparison.arrivals), np.arange(comparison.arrivals.step_count)
    if median is None:
        return [None] * len(steps)
    longer_ps = table.times_ps[last, steps] - table.times_ps[median]
    longer_ps[:, [COLUMNS.index(name) for name in WAITING_CLASSES]] = 0
    is_known = (last >= 0) & table.present[last, steps] & table.present[median] & (longer_ps > 0).any(axis=1)
    return [
        COLUMNS[column] if known else None
        for column, known in zip(longer_ps.argmax(axis=1).tolist(), is_known.tolist(), strict=True)
    ]


def _median_steps_us(table: StepTable) -> list[int]:
    """Returns, per step, the lower median of the times of the hosts that have it; -1 if none does."""
    medians_ps = lower_medians(table.step_ps.T, table.present.T)
    return _us(np.where(table.present.any(axis=0), medians_ps, -1))


def _step_differences(comparison: HostComparison) -> list[list[int | None]]:
    """Returns the document's `step_difference_us`."""
    table = comparison.table
    differences_us = (table.step_ps + PS_PER_US // 2) // PS_PER_US - np.array(
        _median_steps_us(table), np.int64
    )
    return [
        [int(value) if is_present else None for value, is_present in zip(row, present, strict=True)]
        for row, present in zip(differences_us.tolist(), table.present.tolist(), strict=True)
    ]


def _charges(comparison: HostComparison, charges: Int64) -> Charges:
    arrivals = comparison.arrivals
    counts = np.zeros((arrivals.step_count + 1, len(arrivals.parties)), np.int64)
    np.add.at(counts, (arrivals.instances.step, arrivals.last_party), 1)
    step, host = np.nonzero((counts[:-1] > 0) | (charges > 0))
    return {
        "host": host.tolist(),
        "step": step.tolist(),
        "last_count": counts[step, host].tolist(),
        "others_wait_us": _us(charges[step, host]),
    }
