"""What each execution costs: the host's time, the device's, the time in the queue, and what is left as overhead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.enqueues import JOINS, NONE, Join
from tb_xla_insights.analysis.launches.launches import KINDS, OTHER, Launches, LaunchKind, find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import Spread
    from tb_xla_insights.schema.launches import FixedCost, JoinedRuns, Launching, Lead, ProgramRuns, RunSums

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


@memoised
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


def executions_report(session: SessionTrace, devices: Collection[str] | None = None) -> list[JoinedRuns]:
    """The report's `executions`: a row per program and quality of the join, the programs with most device time first.
    With `devices` only the runs on these count.

    Programs are told by name: recompiled variants of a graph share theirs and come together, with all their ids.
    `spread` has the least, the median and the most of a run.
    """
    rows: list[JoinedRuns] = []
    for (program, join), runs in _runs(session, devices).items():
        rows.append({"program": program, "join": join, **runs.row()})
    return sorted(rows, key=lambda row: (-row["device_ps"], row["program"], row["join"]))


def programs_report(session: SessionTrace, devices: Collection[str] | None = None) -> list[ProgramRuns]:
    """The report's `programs`: the rows of `executions` with one per program, whose `joins` has the number of runs by
    quality of the join."""
    programs: dict[str, dict[Join, _Runs]] = {}
    for (program, join), runs in _runs(session, devices).items():
        programs.setdefault(program, {})[join] = runs
    rows: list[ProgramRuns] = []
    for program, by_join in programs.items():
        together = _Runs()
        for runs in by_join.values():
            together.merge(runs)
        joins = {join: by_join[join].count for join in JOINS if join in by_join}
        rows.append({"program": program, **together.row(), "joins": joins})
    return sorted(rows, key=lambda row: (-row["device_ps"], row["program"]))


class _Runs:
    """Runs of one program, of any number of hosts."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._kinds: Counter[LaunchKind] = Counter()
        self._launches = 0
        self._costs = np.zeros((len(COST_COLUMNS), 0), np.int64)

    @property
    def count(self) -> int:
        return self._costs.shape[1]

    def add(self, id_: str, kind: LaunchKind, launches: int, costs: Int64) -> None:
        """Runs of one program id and kind; `costs` has a row per column of COST_COLUMNS."""
        self._ids |= {id_} if id_ else set()
        self._kinds[kind] += costs.shape[1]
        self._launches += launches
        self._costs = np.concatenate((self._costs, costs), axis=1)

    def merge(self, other: _Runs) -> None:
        """The same program's runs that were joined otherwise."""
        self._ids |= other._ids
        self._kinds.update(other._kinds)
        self._launches += other._launches
        self._costs = np.concatenate((self._costs, other._costs), axis=1)

    def row(self) -> RunSums:
        host, device, queue, overhead = self._costs.sum(axis=1).tolist()
        spreads = [_spread(costs) for costs in self._costs]
        return {
            "program_ids": sorted(self._ids, key=int),
            "kind": self._kinds.most_common(1)[0][0],
            "launches": self._launches,
            "count": self.count,
            "host_ps": host,
            "device_ps": device,
            "queue_ps": queue,
            "overhead_ps": overhead,
            "spread": {
                "host_ps": spreads[0],
                "device_ps": spreads[1],
                "queue_ps": spreads[2],
                "overhead_ps": spreads[3],
            },
        }


def _spread(costs: Int64) -> Spread:
    middle = (len(costs) - 1) // 2
    return {
        "min": int(costs.min()),
        "median": int(np.partition(costs, middle)[middle]),
        "max": int(costs.max()),
    }


def _runs(session: SessionTrace, devices: Collection[str] | None) -> dict[tuple[str, Join], _Runs]:
    """The runs of each program and quality of the join, in the order in which they are met."""
    found: dict[tuple[str, Join], _Runs] = {}
    for trace in session.traces:
        launches, costs = find_launches(trace), find_costs(trace)
        columns = np.stack([getattr(costs, column) for column in COST_COLUMNS])
        chosen = runs_on(trace, devices)
        counted = _one_a_launch(launches, chosen)
        for program, join, kind, group in _groups(launches):
            runs = group[chosen[group]]
            if len(runs):
                name, id_ = launches.programs[program]
                row = found.setdefault((name, JOINS[join]), _Runs())
                row.add(id_, KINDS[kind], int(counted[runs].sum()), columns[:, runs])
    return found


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


def launching_report(session: SessionTrace, devices: Collection[str] | None = None) -> Launching:
    """The report's `launching`: what an execution costs however short it is (`fixed`), and how far the host runs ahead
    (`lead`: median, mean, least and most of the runs that have one); each None where nothing tells it."""
    return {"fixed": fixed_cost(session, devices), "lead": _lead(session, devices)}


def fixed_cost(session: SessionTrace, devices: Collection[str] | None = None) -> FixedCost | None:
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


def _lead(session: SessionTrace, devices: Collection[str] | None) -> Lead | None:
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
