"""The columns of the view's hosts, and of the cores of those that are late; `view` says what each means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_rows import differs
from tb_xla_insights.pod.host_steps import COLUMNS
from tb_xla_insights.trace.model import Int64

MOST_NAMED = 6
"""Hosts that have a row of their own in the heat map, at most."""

_US = 1_000_000


def host_columns(compared: HostComparison, rows: Sequence[Any], named: list[int]) -> dict[str, list[Any]]:
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
    found["span_us"] = [
        sum(row["span_ps"] for row in host.document["devices"]) // _US for host in compared.hosts
    ]
    extra = [_of_host(compared, host, last, latest) for host in range(len(rows))]
    for name in ("last_steps", "late_us", "too_wide", "worst_step"):
        found[name] = [row[name] for row in extra]
    apart = [differs(compared, host) for host in range(len(rows))]
    found["differs"] = [it["class"] if it else None for it in apart]
    found["differs_us"] = [
        _longer(compared, host, it["class"]) if it else None for host, it in enumerate(apart)
    ]
    found["once"] = [_once(compared, host) if it else False for host, it in enumerate(apart)]
    found["named"] = [host in named for host in range(len(rows))]
    return found


_SAME = ("name", "steps", "step_ps", "shared", "last", "last_share", "duty_cycle", "compiles")


def _of_host(compared: HostComparison, host: int, last: NDArray[np.intp], latest: Int64) -> dict[str, Any]:
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


def _longer(compared: HostComparison, host: int, kind: str) -> int:
    """How much longer a class takes a step than on the median host, from times as the view rounds them."""
    column = compared.table.means_ps[:, COLUMNS.index(kind)]
    own, median = (
        (int(column[it]) + _US // 2) // _US for it in (host, compared.median_host) if it is not None
    )
    return own - median


def _once(compared: HostComparison, host: int) -> bool:
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


def core_rows(compared: HostComparison) -> list[dict[str, Any]] | None:
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


def _work(compared: HostComparison, host: int, core: int) -> int:
    work = compared.hosts[host].collectives.step_work_ps
    return int(work[:, core].mean()) // _US if len(work) else 0
