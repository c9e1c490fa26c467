"""The document of the page's view Hosts: which host holds up the others, and why.

Hosts, steps and classes are counted: `host`, `step` and `class` elsewhere in the document are indices into `hosts.name`,
`steps.number` and `classes`. Keys that end in `_us` hold whole microseconds, those in `_ps` picoseconds; -1 stands for
"not known" wherever a whole number is wanted and nothing says null.

    schema        1
    state         compared        arrivals tell who is late
                  one_host        there is none to wait for; with several cores these are compared (`cores`)
                  no_collectives  nothing ties the hosts: `late_us` is empty, `last` and `waits_us` are null
                  clocks_apart    collectives are shared, but no clocks can be related
    note          null | one sentence about that, or about hosts whose clocks are not related, for the line of warnings
    read          {hosts, of}     hosts read, and hosts of the session
    collectives   how many shared ones were compared: `last` of all hosts adds up to it
    sampled       the share of the recorded ones that is compared, 1.0 but in long captures
    kind          what most of them are: "all-reduce"; null without any
    classes       [name]          the classes of host time that occur, then `device`: the devices' own work in a step
    verdict       {text, severity: good|info|warning|critical,
                   kind: late|changing|none|unknown,   late: `hosts` hold up the others; changing: another one each time
                   hosts: [host],      those that it names, the worst first
                   core: id|null,      a core that is to blame alone
                   cause: class|null, annotation: path|null,   what takes longer on the first of them than on the median host
                   cause_us, median_cause_us,   how long that takes a step, on it and on the median host; null without cause
                   steps: [step]}      in which the first of them was last
    figures       {step_ps, waits_ps, step_if_fixed_ps}   of the mean step: its time, how long a host waits for others in it
                  (the mean of all), and its time at best if the hosts of the verdict came as the median one does; null: not known
    median_host   host | null
    steps         {number: [int|null], name: [text],
                   last: [host],       to whom most waiting of the step is charged; -1: nobody
                   clear: [bool],      that host was later than clocks can be wrong, and holds up others in more than its share
                   step_us: [int]}     the median of the hosts' times
    hosts         columns, one entry a host in the order of `hosts`:
                  name, steps, step_ps (median), collectives (shared), last (count, null), last_share (null), last_steps (of
                  steps, how many it was last in), waits_us (the others wait for it, in all; null), waited_us (it waits for
                  others, in all; null), late_us (median of how late it was in steps in which it was last; null), duty_cycle
                  (null), compiles, offset_us (clock, a float; null), residual_us (float, null), too_wide (bool: the residual is
                  above how late the host was), differs (class that differs most from the median host, null), differs_us (a
                  step), once (bool: in one step only), worst_step, named (bool: a row of its own in the heat map)
    order         [host]          the others wait for longest first, then by name
    late_us       [[int]]         per host, per step: how late after the median host's arrival, of the step's collectives
                                  the latest one; 0: not later; -1: no arrival known
    step_apart_us [[int]]         per host, per step: its time minus `steps.step_us`; null: the host has no such step
    charges       {host: [], step: [], last: [], waits_us: []}   where a host was last at all: in which step, how many times,
                                  and how long others waited for it. `last` and `waits_us` of a host add up to those in
                                  `hosts` (`waits_us` up to rounding)
    class_us      [[int]]         per host, per class: the mean step
    step_class_us {"HOST": [[int]]}   per host that is named or the median one (key: its index): per step, per class; null: no
                                  such step. Other hosts: `difference` of this module
    cores         null | [{host, id, last, late_us, device_us}]   of the hosts of the verdict and of a session of one host: how
                                  often the core was the last one of all, how late after the median core of its host (median),
                                  and its own work in the mean step
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.compared import Compared
from tb_xla_insights.pod.hosts import COLUMNS
from tb_xla_insights.pod.late import noise_ps
from tb_xla_insights.pod.rows import differs, host_rows
from tb_xla_insights.pod.straggler import straggler
from tb_xla_insights.pod.verdict import verdict_text
from tb_xla_insights.trace.model import Int64

SCHEMA = 1

MOST_NAMED = 6
TOLD = 0.98
"""Rows of their own in the heat map: the hosts that others wait for longest, until so much of all waiting is told."""

_US = 1_000_000


def hosts_view(compared: Compared, of: int | None = None) -> dict[str, Any]:
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
        "hosts": _columns(compared, rows, named),
        "order": _order(compared),
        "late_us": [_us(row) for row in told.latest().T] if compares else [],
        "step_apart_us": _apart(compared),
        "charges": _charges(compared, charges)
        if compares
        else {"host": [], "step": [], "last": [], "waits_us": []},
        "class_us": [_us(row) for row in table.means_ps[:, present]],
        "step_class_us": {str(host): _difference(compared, host, present) for host in shown},
        "cores": _cores(compared),
    }


def difference(compared: Compared, host: int) -> list[list[int] | None]:
    """Per step, per class of the document: what a host did, in microseconds; None: it has no such step."""
    return _difference(compared, host, np.flatnonzero(compared.table.parts_ps.any(axis=(0, 1))).tolist())


def _difference(compared: Compared, host: int, present: Sequence[int]) -> list[list[int] | None]:
    table = compared.table
    return [
        _us(table.parts_ps[host, step][present]) if there else None
        for step, there in enumerate(table.there[host].tolist())
    ]


def _us(times_ps: Int64) -> list[int]:
    """Whole microseconds; what is negative stands for something and stays."""
    return np.where(times_ps < 0, times_ps, (times_ps + _US // 2) // _US).tolist()  # type: ignore[no-any-return]


def _order(compared: Compared) -> list[int]:
    waits = compared.arrivals.others_wait_ps.tolist()
    return sorted(range(len(compared.hosts)), key=lambda it: -waits[it])


def _named(compared: Compared) -> list[int]:
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


def _verdict(compared: Compared) -> dict[str, Any]:
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
        "cause_us": cause.own_ps // _US if cause else None,
        "median_cause_us": cause.median_ps // _US if cause else None,
        "steps": late.steps[0].tolist() if late.steps else [],
    }


def _steps(compared: Compared, charges: Int64) -> dict[str, Any]:
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


def _apart(compared: Compared) -> list[list[int | None]]:
    table = compared.table
    middle = np.array(_us(_medians(table.step_ps, table.there)), np.int64)
    rounded = (table.step_ps + _US // 2) // _US - middle
    return [
        [int(value) if some else None for value, some in zip(row, there, strict=True)]
        for row, there in zip(rounded.tolist(), table.there.tolist(), strict=True)
    ]


def _columns(compared: Compared, rows: list[dict[str, Any]], named: list[int]) -> dict[str, list[Any]]:
    told, charges = compared.arrivals, compared.arrivals.charges()[:-1]
    latest = told.latest()
    last = (
        np.where(charges.any(axis=1), charges.argmax(axis=1), -1) if charges.size else np.full(told.steps, -1)
    )
    found: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in _SAME}
    found["collectives"] = found.pop("shared")
    found["waits_us"] = [_or_none(row["others_wait_ps"]) for row in rows]
    found["waited_us"] = [_or_none(row["waits_ps"]) for row in rows]
    found["offset_us"] = [_exact(row["clock_offset_ps"]) for row in rows]
    found["residual_us"] = [_exact(row["residual_ps"]) for row in rows]
    extra = [_of_host(compared, host, last, latest) for host in range(len(rows))]
    for name in ("last_steps", "late_us", "too_wide", "worst_step"):
        found[name] = [row[name] for row in extra]
    apart = [differs(compared, host) for host in range(len(rows))]
    found["differs"] = [it["class"] if it else None for it in apart]
    found["differs_us"] = [it["longer_ps"] // _US if it else None for it in apart]
    found["once"] = [_once(compared, host) if it else False for host, it in enumerate(apart)]
    found["named"] = [host in named for host in range(len(rows))]
    return found


_SAME = ("name", "steps", "step_ps", "shared", "last", "last_share", "duty_cycle", "compiles")


def _of_host(compared: Compared, host: int, last: NDArray[np.intp], latest: Int64) -> dict[str, Any]:
    steps = np.flatnonzero(last == host)
    own = latest[:, host]
    late = int(np.median(own[steps])) if len(steps) else None
    known = bool(compared.arrivals.clocks.known[host])
    residual = int(compared.arrivals.clocks.residual_ps[host])
    return {
        "last_steps": len(steps),
        "late_us": None if late is None else late // _US,
        "too_wide": known and residual > max(int(own.max(initial=0)), 0),
        "worst_step": int(own.argmax()) if len(own) and own.max() >= 0 else -1,
    }


def _once(compared: Compared, host: int) -> bool:
    """Whether most of what differs is in one step."""
    table, apart = compared.table, differs(compared, host)
    median = compared.median_host
    if apart is None or median is None or table.there[host].sum() < 3:
        return False
    at = COLUMNS.index(apart["class"])
    both = table.there[host] & table.there[median]
    each = (table.parts_ps[host, both, at] - table.parts_ps[median, both, at]) * np.sign(apart["longer_ps"])
    return bool(each.size and 2 * each.max() > np.maximum(each, 0).sum())


def _or_none(time_ps: int | None) -> int | None:
    return None if time_ps is None else (time_ps + _US // 2) // _US


def _exact(time_ps: int | None) -> float | None:
    return None if time_ps is None else round(time_ps / _US, 2)


def _charges(compared: Compared, charges: Int64) -> dict[str, list[int]]:
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


def _cores(compared: Compared) -> list[dict[str, Any]] | None:
    """The cores of the hosts of the verdict, or of the only host."""
    if compared.cores:
        latest = compared.cores.latest()
        return [
            {
                "host": 0,
                "id": core,
                "last": int(compared.cores.last_count[number]),
                "late_us": _usual(latest[:, number]),
                "device_us": _work(compared, 0, number),
            }
            for number, core in enumerate(compared.hosts[0].collectives.cores)
        ]
    found = []
    for host in compared.late.parties[:MOST_NAMED]:
        collectives, of_row = compared.hosts[host].collectives, compared.arrivals.instances.of_row[host]
        rows = np.flatnonzero(of_row >= 0)
        number = len(collectives.cores)
        began = np.full((len(compared.arrivals.instances), number), np.nan)
        began[of_row[rows], collectives.core[rows]] = collectives.begin_ps[rows]
        began = began[~np.isnan(began).any(axis=1)]
        after = began - np.median(began, axis=1, keepdims=True)
        last = np.bincount(began.argmax(axis=1), minlength=number)
        found += [
            {
                "host": host,
                "id": core,
                "last": int(last[which]),
                "late_us": max(int(np.median(after[:, which])), 0) // _US if len(after) else 0,
                "device_us": _work(compared, host, which),
            }
            for which, core in enumerate(collectives.cores)
        ]
    return found or None


def _usual(late_ps: Int64) -> int:
    some = late_ps[late_ps >= 0]
    return int(np.median(some)) // _US if len(some) else 0


def _work(compared: Compared, host: int, core: int) -> int:
    work = compared.hosts[host].collectives.step_work_ps
    return int(work[:, core].mean()) // _US if len(work) else 0
