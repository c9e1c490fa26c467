"""The document of the page's view Hosts: which host holds up the others, and why.

Hosts, steps and classes are referred to by index: `host`, `step` and `class` elsewhere in the document are indices into
`hosts.name`, `steps.number` and `classes`. Keys ending in `_us` are in microseconds, those in `_ps` in picoseconds. A
whole number is -1 if it is not known, unless null is mentioned.

    schema        1
    state         compared        arrivals show who is late
                  one_host        there are no other hosts to wait for; several cores are compared (`verdict.kind`,
                                  `cores`)
                  no_collectives  no collectives connect the hosts: `late_us` is empty, `last` and `waits_us` are null
                  clocks_apart    collectives are shared, but no clocks can be related; the same fields are empty
    note          null | one sentence for the line of warnings, about hosts that could not be compared
    read          {hosts, of}     hosts read, and hosts of the session
    collectives   the number of shared collectives compared, equal to the sum of `last` over all hosts
    sampled       the share of the recorded collectives that is compared, 1.0 except in long captures
    kind          the kind of most of them: "all-reduce"; null without any
    classes       [name]          the classes of host time that occur, then `device`: the devices' own work in a step
    verdict       {text, severity: good|info|warning|critical,
                   kind: late|changing|none|unknown,   late: `hosts` hold up the others; changing: others each time
                   hosts: [host],      the late hosts, the worst first
                   core: id|null,      a core that alone is the cause
                   cause: class|null,  what takes longer on the first late host than on the median host,
                   annotation: path|null,   and the annotation with most of it
                   cause_us, median_cause_us,   its time per step on that host and on the median host; null: no cause
                   steps: [step]}      the steps in which the first late host was last
    figures       {step_ps, waits_ps, step_if_fixed_ps}   of the mean step: its length; how long a host waits for others
                  in it, as the mean over all; its length at best if the late hosts arrived with the median one; null:
                  not known
    median_host   host | null     the median of the hosts that are not late
    steps         {number: [int|null], name: [text],
                   last: [host],       the host that most waiting of the step is charged to; -1: none
                   clear: [bool],      whether that is a late host, later than clock errors explain
                   step_us: [int]}     the median of the hosts' times
    hosts         columns, one entry per host:
                  name, steps, step_ps (median), collectives (shared), last (count, null), last_share (null),
                  last_steps (the number of steps in which most waiting is charged to it), waits_us (how long the others
                  wait for it, in total; null), waited_us (how long it waits for others, in total; null), late_us (the
                  median of its lateness in `last_steps`; null), duty_cycle (null), span_us (the total span of its
                  devices, the base of the duty cycle), compiles, offset_us (of its clock, a float; null), residual_us
                  (a float; null), too_wide (bool: the residual exceeds the host's largest lateness), differs (the class
                  that differs most from the median host; null), differs_us (per step; null), once (bool: most of that
                  is in one step), worst_step (the one in which it was latest), named (bool: it has its own row in the
                  heat map)
    order         [host]          by how long the others wait for them, longest first, then by name
    late_us       [[int]]         per host, per step: its largest lateness at the step's collectives, relative to the
                                  median host; 0: not late; -1: no arrival known
    step_apart_us [[int]]         per host, per step: its time minus `steps.step_us`; null: the host has no such step
    charges       {host: [], step: [], last: [], waits_us: []}   one entry per host and step in which the host was last
                                  or charged: how many times it was last, and how long others waited for it. The sums
                                  over a host's entries are its `last` and `waits_us` in `hosts`, except for rounding
                                  and for what is outside of steps
    class_us      [[int]]         per host, per class: the mean step
    step_class_us {"HOST": [[int]]}   of each named host and the median one (key: its index): per step, per class; null:
                                  no such step. For other hosts see `step_class_times` of this module
    cores         null | [{host, id, last, late_us, device_us}]   of the late hosts, and of the only host of a session:
                                  how often the core arrived last in its host, how late after the median core (median),
                                  and its own work in the mean step
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_rows import host_rows
from tb_xla_insights.pod.host_steps import COLUMNS
from tb_xla_insights.pod.late_hosts import clock_noise_ps
from tb_xla_insights.pod.straggler import straggler_finding
from tb_xla_insights.pod.verdict import verdict_text
from tb_xla_insights.pod.view_hosts import MAX_NAMED, core_rows, host_columns, most_charged_hosts
from tb_xla_insights.trace.model import Int64

if TYPE_CHECKING:
    from tb_xla_insights.schema.steps import Step

SCHEMA = 1

_MIN_NAMED_WAITS = 0.98
"""The heat map shows the hosts that others wait for longest, until they account for this share of all waiting."""

_PS_PER_US = 1_000_000


def hosts_view(comparison: HostComparison, host_count: int | None = None) -> dict[str, Any]:
    """Returns the document. `host_count`: the number of hosts of the session, if not all have been read yet."""
    table, arrivals = comparison.table, comparison.arrivals
    is_compared = comparison.state == "compared"
    rows = host_rows(comparison)
    named = _named_hosts(comparison)
    columns = _present_columns(comparison)
    charges = arrivals.charges_ps()[:-1]
    detailed = sorted({*named, *([] if comparison.median_host is None else [comparison.median_host])})
    waits_ps = comparison.late_hosts.waits_ps if comparison.late_hosts.kind != "unknown" else None
    no_charges: dict[str, list[int]] = {"host": [], "step": [], "last": [], "waits_us": []}
    return {
        "schema": SCHEMA,
        "state": comparison.state,
        "note": comparison.note,
        "read": {"hosts": len(rows), "of": len(rows) if host_count is None else host_count},
        "collectives": len(arrivals.instances),
        "sampled": comparison.sampled_share,
        "kind": comparison.main_kind,
        "classes": [COLUMNS[column] for column in columns],
        "verdict": _verdict(comparison),
        "figures": {
            "step_ps": table.mean_step_ps,
            "waits_ps": waits_ps,
            "step_if_fixed_ps": comparison.step_if_fixed_ps,
        },
        "median_host": comparison.median_host,
        "steps": _steps(comparison, charges),
        "hosts": host_columns(comparison, rows, named),
        "order": _order(comparison),
        "late_us": [_us(late_ps) for late_ps in arrivals.max_late_ps().T] if is_compared else [],
        "step_apart_us": _step_differences(comparison),
        "charges": _charges(comparison, charges) if is_compared else no_charges,
        "class_us": [_us(means_ps) for means_ps in table.means_ps[:, columns]],
        "step_class_us": {str(host): step_class_times(comparison, host) for host in detailed},
        "cores": core_rows(comparison),
    }


def step_class_times(comparison: HostComparison, host: int) -> list[list[int] | None]:
    """Returns, per step and class of the document, the time of a host in microseconds; None: it has no such step."""
    table, columns = comparison.table, _present_columns(comparison)
    return [
        _us(table.parts_ps[host, step][columns]) if is_present else None
        for step, is_present in enumerate(table.present[host].tolist())
    ]


def host_steps_view(comparison: HostComparison, host: int, steps: Sequence[Step]) -> dict[str, Any]:
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
    return np.flatnonzero(comparison.table.parts_ps.any(axis=(0, 1))).tolist()


def _us(times_ps: Int64) -> list[int]:
    """Converts to whole microseconds. Negative values are markers and stay."""
    return np.where(times_ps < 0, times_ps, (times_ps + _PS_PER_US // 2) // _PS_PER_US).tolist()  # type: ignore[no-any-return]


def _order(comparison: HostComparison) -> list[int]:
    waits = comparison.arrivals.others_wait_ps.tolist()
    return sorted(range(len(comparison.hosts)), key=lambda host: -waits[host])


def _named_hosts(comparison: HostComparison) -> list[int]:
    """Returns the hosts with their own row: the late ones first; no host whose lateness clock errors may explain."""
    arrivals, late_hosts = comparison.arrivals, comparison.late_hosts
    if comparison.state != "compared" or late_hosts.kind == "none":
        return []
    waits, max_late = arrivals.others_wait_ps, arrivals.max_late_ps()
    named = list(late_hosts.parties)[:MAX_NAMED]
    for host in _order(comparison):
        is_complete = named and waits[named].sum() >= _MIN_NAMED_WAITS * waits.sum()
        if len(named) >= MAX_NAMED or is_complete:
            break
        if host not in named and max_late[:, host].max() > clock_noise_ps(arrivals, host):
            named.append(host)
    return named


def _verdict(comparison: HostComparison) -> dict[str, Any]:
    finding, late_hosts = straggler_finding(comparison), comparison.late_hosts
    cause = comparison.causes[0] if comparison.causes else None
    return {
        "text": verdict_text(comparison),
        "severity": finding.severity if finding else "good" if late_hosts.kind == "none" else "info",
        "kind": late_hosts.kind,
        "hosts": [] if comparison.core_arrivals else late_hosts.parties,
        "core": cause.core if cause else None,
        "cause": cause.name if cause else None,
        "annotation": cause.annotation if cause else None,
        "cause_us": (cause.host_ps + _PS_PER_US // 2) // _PS_PER_US if cause else None,
        "median_cause_us": (cause.median_ps + _PS_PER_US // 2) // _PS_PER_US if cause else None,
        "steps": late_hosts.steps[0].tolist() if late_hosts.steps else [],
    }


def _steps(comparison: HostComparison, charges: Int64) -> dict[str, Any]:
    table, arrivals = comparison.table, comparison.arrivals
    last = most_charged_hosts(arrivals, charges)
    max_late = arrivals.max_late_ps()
    clear = [
        host in comparison.late_hosts.parties and int(max_late[step, host]) > clock_noise_ps(arrivals, host)
        for step, host in enumerate(last.tolist())
    ]
    return {
        "number": table.number,
        "name": table.name,
        "last": last.tolist(),
        "clear": clear if not comparison.core_arrivals else [False] * arrivals.step_count,
        "step_us": _us(_lower_medians(table.step_ps, table.present)),
    }


def _lower_medians(values: Int64, present: NDArray[np.bool_]) -> Int64:
    """Returns, per step, the lower median over the hosts that have it; -1 if none does."""
    medians = [
        np.sort(column[has_step])[(has_step.sum() - 1) // 2] if has_step.any() else -1
        for column, has_step in zip(values.T, present.T, strict=True)
    ]
    return np.array(medians, np.int64)


def _step_differences(comparison: HostComparison) -> list[list[int | None]]:
    """Returns the document's `step_apart_us`."""
    table = comparison.table
    median_us = np.array(_us(_lower_medians(table.step_ps, table.present)), np.int64)
    differences_us = (table.step_ps + _PS_PER_US // 2) // _PS_PER_US - median_us
    return [
        [int(value) if is_present else None for value, is_present in zip(row, present, strict=True)]
        for row, present in zip(differences_us.tolist(), table.present.tolist(), strict=True)
    ]


def _charges(comparison: HostComparison, charges: Int64) -> dict[str, list[int]]:
    arrivals = comparison.arrivals
    counts = np.zeros((arrivals.step_count + 1, len(arrivals.parties)), np.int64)
    np.add.at(counts, (arrivals.instances.step, arrivals.last_party), 1)
    step, host = np.nonzero((counts[:-1] > 0) | (charges > 0))
    return {
        "host": host.tolist(),
        "step": step.tolist(),
        "last": counts[step, host].tolist(),
        "waits_us": _us(charges[step, host]),
    }
