"""What each execution costs: the host's time, the device's, the time in the queue, and what is left as overhead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.launches import KINDS, OTHER, Launches, find_launches
from tb_xla_insights.analysis.runs import JOINS, NONE
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace

COST_COLUMNS = ("host_ps", "device_ps", "queue_ps", "overhead_ps")

_FEWEST = 3
"""Executions that a fit takes at least."""


@dataclass(frozen=True)
class Costs:
    """Per run of `Launches.runs`; `host_ps = device_ps + queue_ps + overhead_ps`, none of them negative.

    `lead_ps` tells how far the host runs ahead: from the instant the run was enqueued to the one at which its core was
    done with what it had before. It is negative where the core had nothing left to do. Runs that have none (`leads`: a
    core's first one, and where the enqueue instant is not known) have 0.
    """

    host_ps: Int64
    device_ps: Int64
    queue_ps: Int64
    overhead_ps: Int64
    lead_ps: Int64
    leads: NDArray[np.bool_]


@kept
def find_costs(trace: Trace) -> Costs:
    """Host time lasts from the execute call's start to the later of its end and the run's end; queue time from the
    call's start until the core has finished what was launched before, but not past the run's start; device time is the
    run's own. (docs/definitions.md, "Execution")

    A run cannot begin before its call does. Where clocks that are some microseconds apart say so, host time counts from
    the run's start, so that overhead is never negative. Of a run whose call is not known, host time is device time.
    """
    launches = find_launches(trace)
    runs = launches.runs
    joined = runs.launch >= 0
    row = launches.row[runs.launch[joined]]
    begin, end = runs.start_ps.copy(), runs.end_ps.copy()
    begin[joined] = np.minimum(trace.start_ps[row], begin[joined])
    end[joined] = np.maximum(trace.end_ps[row], end[joined])
    first = runs.free_ps == np.iinfo(np.int64).min
    until = np.minimum(runs.free_ps, runs.start_ps)
    queue = np.maximum(0, np.where(first, begin, until) - begin)
    device = runs.duration_ps
    leads = ~first & (runs.enqueue_row >= 0)
    lead = np.where(leads, until - runs.enqueue_ps, 0)
    return Costs(end - begin, device, queue, end - begin - device - queue, lead, leads)


def runs_on(trace: Trace, devices: Collection[str] | None) -> NDArray[np.bool_]:
    """Which runs are on these devices, by id; all are without a choice."""
    runs = find_launches(trace).runs
    if devices is None:
        return np.ones(len(runs), np.bool_)
    return np.isin(runs.device, [number for number, it in enumerate(trace.devices) if it.id in devices])


def executions_report(session: SessionTrace, devices: Collection[str] | None = None) -> list[dict[str, Any]]:
    """The report's `executions`: a row per program and quality of the join, the programs with most device time first.
    With `devices` only the runs on these count.

    Programs are told by name: recompiled variants of a graph share theirs and come together, with all their ids.
    `spread` has the least, the median and the most of a run.
    """
    rows = _rows(session, devices, by_join=True)
    told = [{**row, "join": join} for (_, join), row in rows.items()]
    for row in told:
        del row["joins"]
    return sorted(told, key=lambda row: (-row["device_ps"], row["program"], row["join"]))


def programs_report(session: SessionTrace, devices: Collection[str] | None = None) -> list[dict[str, Any]]:
    """The report's `programs`: the rows of `executions` with one per program, whose `joins` has the number of runs by
    quality of the join."""
    rows = _rows(session, devices, by_join=False)
    return sorted(rows.values(), key=lambda row: (-row["device_ps"], row["program"]))


def _rows(
    session: SessionTrace, devices: Collection[str] | None, by_join: bool
) -> dict[tuple[str, str], dict[str, Any]]:
    """Costs of the runs of each program; with `by_join`, of those of each quality of the join, the second part of the
    key."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    each: dict[tuple[str, str], list[Int64]] = {}
    kinds: dict[tuple[str, str], Counter[str]] = {}
    for trace in session.traces:
        launches, costs = find_launches(trace), find_costs(trace)
        chosen = runs_on(trace, devices)
        counted = _one_a_launch(launches, chosen)
        for program, join, kind, all_ in _groups(launches):
            mine = all_[chosen[all_]]
            if not len(mine):
                continue
            name, id_ = launches.programs[program]
            key = name, JOINS[join] if by_join else ""
            entry = rows.setdefault(key, {
                "program": name, "program_ids": [], "kind": "", "launches": 0, "count": 0,
                "host_ps": 0, "device_ps": 0, "queue_ps": 0, "overhead_ps": 0, "joins": Counter(),
            })  # fmt: skip
            if id_ and id_ not in entry["program_ids"]:
                entry["program_ids"].append(id_)
            entry["launches"] += int(counted[mine].sum())
            entry["count"] += len(mine)
            entry["joins"][JOINS[join]] += len(mine)
            its = np.stack([getattr(costs, column)[mine] for column in COST_COLUMNS])
            each.setdefault(key, []).append(its)
            for column, total in zip(COST_COLUMNS, its.sum(axis=1).tolist(), strict=True):
                entry[column] += total
            kinds.setdefault(key, Counter())[KINDS[kind]] += len(mine)
    for key, entry in rows.items():
        entry["program_ids"].sort(key=int)
        entry["joins"] = {join: entry["joins"][join] for join in JOINS if entry["joins"][join]}
        entry["kind"] = kinds[key].most_common(1)[0][0]
        in_order = np.sort(np.concatenate(each[key], axis=1), axis=1)
        chosen = in_order[:, [0, (in_order.shape[1] - 1) // 2, -1]].tolist()
        entry["spread"] = {
            column: dict(zip(("min", "median", "max"), three, strict=True))
            for column, three in zip(COST_COLUMNS, chosen, strict=True)
        }
    return rows


def _one_a_launch(launches: Launches, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of the chosen runs of each launch the one that it counts with: the first of those that are joined least well, as
    a launch is one in whichever rows its runs are."""
    runs = launches.runs
    its = np.flatnonzero(chosen & (runs.launch >= 0))
    order = its[np.lexsort((-runs.join[its].astype(np.int64), runs.launch[its]))]
    counted = np.zeros(len(runs), np.bool_)
    counted[order[np.flatnonzero(np.diff(runs.launch[order], prepend=-1))]] = True
    return counted


def _groups(launches: Launches) -> Iterator[tuple[int, int, int, NDArray[np.intp]]]:
    """The runs of each program, join quality and kind."""
    runs = launches.runs
    kind = np.append(launches.kind, np.int8(OTHER))[runs.launch]
    key = (runs.program.astype(np.int64) * len(JOINS) + runs.join) * len(KINDS) + kind
    order = np.argsort(key, kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else []:
        its = int(key[mine[0]])
        yield its // len(KINDS) // len(JOINS), its // len(KINDS) % len(JOINS), its % len(KINDS), mine


def launching(session: SessionTrace, devices: Collection[str] | None = None) -> dict[str, Any]:
    """The report's `launching`: what an execution costs however short it is (`fixed`), and how far the host runs ahead
    (`lead`: median, mean, least and most of the runs that have one); each None where nothing tells it."""
    return {"fixed": fixed_cost(session, devices), "lead": _lead(session, devices)}


def fixed_cost(session: SessionTrace, devices: Collection[str] | None = None) -> dict[str, Any] | None:
    """What an execution costs however short it is: `fixed_ps`, the overhead at no device time, `per_device` (overhead
    that each ps of device time adds) and `n`, the runs behind them. None for fewer than three such runs.

    A straight line through overhead over device time, fitted so that a few executions that took long do not bend it. It
    takes the runs with known calls that did not queue: in the others the overhead hides behind the queue. Where most
    runs queue, that is what an execution costs, and the few others are the first ones: then it takes all of them.
    """
    columns = [np.zeros((3, 0), np.int64)]
    for trace in session.traces:
        costs = find_costs(trace)
        shown = (find_launches(trace).runs.join != NONE) & runs_on(trace, devices)
        columns.append(np.stack((costs.device_ps, costs.overhead_ps, costs.queue_ps))[:, shown])
    x, y, queue = np.concatenate(columns, axis=1).astype(np.float64)
    at_once = queue == 0
    if 2 * at_once.sum() >= len(queue):
        x, y = x[at_once], y[at_once]
    if len(x) < _FEWEST:
        return None
    fixed, slope = robust_line(x, y)
    if slope < 0:  # longer runs do not make launching cheaper: there is no slope to tell
        fixed, slope = float(np.median(y)), 0.0
    return {"fixed_ps": max(0, round(fixed)), "per_device": slope, "n": len(x)}


def _lead(session: SessionTrace, devices: Collection[str] | None) -> dict[str, int] | None:
    found = [np.zeros(0, np.int64)]
    for trace in session.traces:
        costs = find_costs(trace)
        found.append(costs.lead_ps[costs.leads & runs_on(trace, devices)])
    leads = np.concatenate(found)
    if not leads.size:
        return None
    least, most = int(leads.min()), int(leads.max())
    usual = int(np.median(leads))
    return {
        "median_ps": usual,
        "mean_ps": int(leads.mean()),
        "min_ps": least,
        "max_ps": most,
        "runs": len(leads),
    }


def robust_line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Intercept and slope of y over x by least squares, points far from the line weighing less (Huber's weights). Where
    the x are hardly apart there is no slope to tell, and the intercept is the median."""
    if np.ptp(x) <= 0.05 * np.abs(x).max(initial=0.0):
        return float(np.median(y)), 0.0
    weight = np.ones(len(x))
    intercept = slope = 0.0
    for _ in range(50):
        mean_x, mean_y = np.average(x, weights=weight), np.average(y, weights=weight)
        spread = float((weight * (x - mean_x) ** 2).sum())
        slope = float((weight * (x - mean_x) * (y - mean_y)).sum()) / spread if spread else 0.0
        intercept = float(mean_y - slope * mean_x)
        off = np.abs(y - intercept - slope * x)
        scale = 1.4826 * float(np.median(off))
        near = 1.345 * scale if scale else 1e-9  # most points lie on the line: the others hardly count
        weight = np.minimum(1.0, near / np.maximum(off, 1e-9))
    return intercept, slope
