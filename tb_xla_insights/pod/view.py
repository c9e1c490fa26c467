"""The document of the page's view Hosts: which host holds up the others, and why.

Hosts, steps and classes are counted: `host`, `step` and `class` elsewhere in the document are indices into
`hosts.name`, `steps.number` and `classes`. Keys that end in `_us` hold microseconds, those in `_ps` picoseconds; -1
stands for "not known" wherever a whole number is wanted and nothing says null.

    schema        1
    state         compared        arrivals tell who is late
                  one_host        there is none to wait for; several cores are compared (`verdict.kind`, `cores`)
                  no_collectives  nothing ties the hosts: `late_us` is empty, `last` and `waits_us` are null
                  clocks_apart    collectives are shared, but no clocks can be related; the same is empty
    note          null | one sentence for the line of warnings, about hosts that could not be compared
    read          {hosts, of}     hosts read, and hosts of the session
    collectives   how many shared ones were compared: `last` of all hosts adds up to it
    sampled       the share of the recorded ones that is compared, 1.0 but in long captures
    kind          what most of them are: "all-reduce"; null without any
    classes       [name]          the classes of host time that occur, then `device`: the devices' own work in a step
    verdict       {text, severity: good|info|warning|critical,
                   kind: late|changing|none|unknown,   late: `hosts` hold up the others; changing: another one each time
                   hosts: [host],      those that it names, the worst first
                   core: id|null,      a core that is to blame alone
                   cause: class|null,  what takes longer on the first of them than on the median host,
                   annotation: path|null,   and in which annotation most of that is
                   cause_us, median_cause_us,   how long it takes a step, on it and on the median host; null: no cause
                   steps: [step]}      in which the first of them was last
    figures       {step_ps, waits_ps, step_if_fixed_ps}   of the mean step: its time; how long a host waits for others
                  in it, the mean of all; its time at best if the hosts of the verdict came as the median one does;
                  null: not known
    median_host   host | null     of those that are not late
    steps         {number: [int|null], name: [text],
                   last: [host],       to whom most waiting of the step is charged; -1: nobody
                   clear: [bool],      that is a host of the verdict, later than clocks can be wrong
                   step_us: [int]}     the median of the hosts' times
    hosts         columns, one entry a host:
                  name, steps, step_ps (median), collectives (shared), last (count, null), last_share (null),
                  last_steps (in how many steps most waiting is charged to it), waits_us (the others wait for it, in
                  all; null), waited_us (it waits for others, in all; null), late_us (the median of how late it was in
                  `last_steps`; null), duty_cycle (null), span_us (the spans of its devices together, of which the duty
                  cycle is a part), compiles, offset_us (its clock's, a float; null), residual_us
                  (a float; null), too_wide (bool: the residual is above how late the host ever was), differs (the class
                  that differs most from the median host; null), differs_us (a step; null), once (bool: most of that in
                  one step), worst_step (in which it was latest), named (bool: a row of its own in the heat map)
    order         [host]          the others wait for longest first, then in order of names
    late_us       [[int]]         per host, per step: how late after the median host's arrival, of the step's
                                  collectives the latest one; 0: not later; -1: no arrival known
    step_apart_us [[int]]         per host, per step: its time minus `steps.step_us`; null: the host has no such step
    charges       {host: [], step: [], last: [], waits_us: []}   where a host was last, or charged, at all: in which
                                  step, how many times, and how long others waited for it. Those of a host add up to its
                                  `last` and `waits_us` in `hosts`, up to rounding and what lies outside of steps
    class_us      [[int]]         per host, per class: the mean step
    step_class_us {"HOST": [[int]]}   of each host that is named and of the median one (key: its index): per step, per
                                  class; null: no such step. Of other hosts, `difference` of this module tells
    cores         null | [{host, id, last, late_us, device_us}]   of the hosts of the verdict, and of the only host of a
                                  session: how often the core came last in its host, how late after the middle core
                                  (median), and its own work in the mean step
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_rows import host_rows
from tb_xla_insights.pod.host_steps import COLUMNS
from tb_xla_insights.pod.late_hosts import noise_ps
from tb_xla_insights.pod.straggler import straggler
from tb_xla_insights.pod.verdict import verdict_text
from tb_xla_insights.pod.view_hosts import MOST_NAMED, core_rows, host_columns
from tb_xla_insights.trace.model import Int64

SCHEMA = 1

TOLD = 0.98
"""Rows of their own in the heat map: the hosts that others wait for longest, until so much of all waiting is told."""

_US = 1_000_000


def hosts_view(compared: HostComparison, of: int | None = None) -> dict[str, Any]:
    """The document. `of`: how many hosts the session has, where not all were read yet."""
    table, told = compared.table, compared.arrivals
    compares = compared.state == "compared"
    rows = host_rows(compared)
    named = _named(compared)
    present = np.flatnonzero(table.parts_ps.any(axis=(0, 1))).tolist()
    charges = told.charges()[:-1]
    shown = sorted({*named, *([] if compared.median_host is None else [compared.median_host])})
    return {
        "schema": SCHEMA,
        "state": compared.state,
        "note": compared.note,
        "read": {"hosts": len(rows), "of": len(rows) if of is None else of},
        "collectives": len(told.instances),
        "sampled": compared.sampled,
        "kind": compared.kind,
        "classes": [COLUMNS[at] for at in present],
        "verdict": _verdict(compared),
        "figures": {
            "step_ps": table.mean_step_ps,
            "waits_ps": compared.late.waits_ps if compared.late.kind != "unknown" else None,
            "step_if_fixed_ps": compared.step_if_fixed_ps,
        },
        "median_host": compared.median_host,
        "steps": _steps(compared, charges),
        "hosts": host_columns(compared, rows, named),
        "order": _order(compared),
        "late_us": [_us(row) for row in told.latest().T] if compares else [],
        "step_apart_us": _apart(compared),
        "charges": _charges(compared, charges)
        if compares
        else {"host": [], "step": [], "last": [], "waits_us": []},
        "class_us": [_us(row) for row in table.means_ps[:, present]],
        "step_class_us": {str(host): _difference(compared, host, present) for host in shown},
        "cores": core_rows(compared),
    }


def difference(compared: HostComparison, host: int) -> list[list[int] | None]:
    """Per step, per class of the document: what a host did, in microseconds; None: it has no such step."""
    return _difference(compared, host, np.flatnonzero(compared.table.parts_ps.any(axis=(0, 1))).tolist())


def _difference(compared: HostComparison, host: int, present: Sequence[int]) -> list[list[int] | None]:
    table = compared.table
    return [
        _us(table.parts_ps[host, step][present]) if there else None
        for step, there in enumerate(table.there[host].tolist())
    ]


def _us(times_ps: Int64) -> list[int]:
    """Whole microseconds; what is negative stands for something and stays."""
    return np.where(times_ps < 0, times_ps, (times_ps + _US // 2) // _US).tolist()  # type: ignore[no-any-return]


def _order(compared: HostComparison) -> list[int]:
    waits = compared.arrivals.others_wait_ps.tolist()
    return sorted(range(len(compared.hosts)), key=lambda it: -waits[it])


def _named(compared: HostComparison) -> list[int]:
    """The hosts with a row of their own: those of the verdict first; no host that may only seem late."""
    if compared.state != "compared" or compared.late.kind == "none":
        return []
    waits, latest = compared.arrivals.others_wait_ps, compared.arrivals.latest()
    found = list(compared.late.parties)[:MOST_NAMED]
    for host in _order(compared):
        if len(found) >= MOST_NAMED or (found and waits[found].sum() >= TOLD * waits.sum()):
            break
        if host not in found and latest[:, host].max() > noise_ps(compared.arrivals, host):
            found.append(host)
    return found


def _verdict(compared: HostComparison) -> dict[str, Any]:
    finding, late = straggler(compared), compared.late
    cause = compared.causes[0] if compared.causes else None
    return {
        "text": verdict_text(compared),
        "severity": finding.severity if finding else "good" if late.kind == "none" else "info",
        "kind": late.kind,
        "hosts": [] if compared.cores else late.parties,
        "core": cause.core if cause else None,
        "cause": cause.name if cause else None,
        "annotation": cause.annotation if cause else None,
        "cause_us": (cause.own_ps + _US // 2) // _US if cause else None,
        "median_cause_us": (cause.median_ps + _US // 2) // _US if cause else None,
        "steps": late.steps[0].tolist() if late.steps else [],
    }


def _steps(compared: HostComparison, charges: Int64) -> dict[str, Any]:
    table, told = compared.table, compared.arrivals
    last = (
        np.where(charges.any(axis=1), charges.argmax(axis=1), -1) if charges.size else np.full(told.steps, -1)
    )
    latest = told.latest()
    clear = [
        host in compared.late.parties and int(latest[step, host]) > noise_ps(told, host)
        for step, host in enumerate(last.tolist())
    ]
    return {
        "number": table.number,
        "name": table.name,
        "last": last.tolist(),
        "clear": clear if not compared.cores else [False] * told.steps,
        "step_us": _us(_medians(table.step_ps, table.there)),
    }


def _medians(values: Int64, there: NDArray[np.bool_]) -> Int64:
    """Per step, the lower median over the hosts that have it; -1 where none does."""
    found = [
        np.sort(column[some])[(some.sum() - 1) // 2] if some.any() else -1
        for column, some in zip(values.T, there.T, strict=True)
    ]
    return np.array(found, np.int64)


def _apart(compared: HostComparison) -> list[list[int | None]]:
    table = compared.table
    middle = np.array(_us(_medians(table.step_ps, table.there)), np.int64)
    rounded = (table.step_ps + _US // 2) // _US - middle
    return [
        [int(value) if some else None for value, some in zip(row, there, strict=True)]
        for row, there in zip(rounded.tolist(), table.there.tolist(), strict=True)
    ]


def _charges(compared: HostComparison, charges: Int64) -> dict[str, list[int]]:
    told = compared.arrivals
    counts = np.zeros((told.steps + 1, len(told.parties)), np.int64)
    np.add.at(counts, (told.instances.step, told.last), 1)
    step, host = np.nonzero((counts[:-1] > 0) | (charges > 0))
    return {
        "host": host.tolist(),
        "step": step.tolist(),
        "last": counts[step, host].tolist(),
        "waits_us": _us(charges[step, host]),
    }
