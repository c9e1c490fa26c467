"""What each run takes: host time, device time, queue time and overhead."""

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
from tb_xla_insights.arrays import Float64, Int64
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import Spread
    from tb_xla_insights.schema.launches import FixedCost, JoinedRuns, Launching, Lead, ProgramRuns, RunSums

TIME_COLUMNS = ("host_ps", "device_ps", "queue_ps", "overhead_ps")

MAX_EXECUTIONS = 1_000
"""The most executions of a program that are compared one by one."""

_MIN_FITTED_RUNS = 3
"""The fewest runs to which a line is fitted."""

_MIN_RELATIVE_RANGE = 0.05
"""The least range of x, relative to its largest absolute value, for which a slope is fitted."""

_DEVIATION_PER_MEDIAN_RESIDUAL = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution."""

_HUBER_LIMIT = 1.345
"""Points within this many standard deviations of the line have full weight: 95 % efficiency if errors are normal."""

_MAX_FIT_ROUNDS = 50
_MIN_RESIDUAL_PS = 1e-9
"""Smaller residuals count as this, to avoid a division by zero."""


@dataclass(frozen=True)
class RunTimes:
    """Times per run of `Launches.runs`; `host_ps = device_ps + queue_ps + overhead_ps`, none of them negative.

    `lead_ps` is how far the host runs ahead: the time from the instant the run was enqueued until its device finished
    its earlier runs. It is negative if the device had nothing left to do. `has_lead` says whether it is known; it is
    not, and `lead_ps` is 0, for a device's first run and if the enqueue instant is unknown.
    """

    host_ps: Int64
    device_ps: Int64
    queue_ps: Int64
    overhead_ps: Int64
    lead_ps: Int64
    has_lead: NDArray[np.bool_]


@memoised
def find_run_times(trace: Trace) -> RunTimes:
    """Returns the times of each run. (docs/definitions.md, "Execution")

    Host time lasts from the execute call's start to the later of its end and the run's end. Queue time lasts from the
    call's start until the device has finished what was launched before, but not past the run's start. Device time is
    the run's duration.

    A run cannot begin before its call does. If clocks that differ by some microseconds say so, host time starts with
    the run, so that overhead is never negative. If a run's call is unknown, its host time is its device time.
    """
    launches = find_launches(trace)
    runs = launches.runs
    joined = runs.launch >= 0
    call_row = launches.row[runs.launch[joined]]
    start, end = runs.start_ps.copy(), runs.end_ps.copy()
    start[joined] = np.minimum(trace.start_ps[call_row], start[joined])
    end[joined] = np.maximum(trace.end_ps[call_row], end[joined])
    is_first = runs.free_ps == np.iinfo(np.int64).min
    free_ps = np.minimum(runs.free_ps, runs.start_ps)
    queue = np.maximum(0, np.where(is_first, start, free_ps) - start)
    device = runs.duration_ps
    has_lead = ~is_first & (runs.enqueue_row >= 0)
    lead = np.where(has_lead, free_ps - runs.enqueue_ps, 0)
    return RunTimes(end - start, device, queue, end - start - device - queue, lead, has_lead)


def times_of_executions(trace: Trace) -> dict[str, Float64]:
    """Returns, by program, the device, queue and overhead time of its executions in their order: a row each, in ps, for
    the first MAX_EXECUTIONS. Times are means over the cores; queue time and overhead are NaN if no launch is known.

    A core's first run of a program belongs to the first execution, and so on."""
    launches, times = find_launches(trace), find_run_times(trace)
    runs = launches.runs
    names = sorted({program.name for program in launches.programs})
    name_of_program = np.array([names.index(program.name) for program in launches.programs], np.int64)
    key = name_of_program[runs.program] * max(1, len(trace.devices)) + runs.device
    order = np.lexsort((runs.start_ps, key))
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    position = np.empty(len(runs), np.int64)
    position[order] = np.arange(len(runs)) - np.repeat(first, np.diff(np.append(first, len(runs))))
    is_known = runs.join != NONE
    columns = (
        (times.device_ps, np.ones(len(runs), np.bool_)),
        (times.queue_ps, is_known),
        (times.overhead_ps, is_known),
    )
    result: dict[str, Float64] = {}
    for index, name in enumerate(names):
        is_counted = (name_of_program[runs.program] == index) & (position < MAX_EXECUTIONS)
        if not is_counted.any():
            continue
        means = np.full((len(columns), int(position[is_counted].max()) + 1), np.nan)
        for mean, (column, has_value) in zip(means, columns, strict=True):
            rows = is_counted & has_value
            counts = np.bincount(position[rows], minlength=len(mean))
            sums = np.bincount(position[rows], column[rows], len(mean))
            np.divide(sums, counts, out=mean, where=counts > 0)
        result[name] = means
    return result


def runs_on(trace: Trace, devices: Collection[str] | None) -> NDArray[np.bool_]:
    """Returns a mask of the runs on these devices, given by id; of all runs for None."""
    runs = find_launches(trace).runs
    if devices is None:
        return np.ones(len(runs), np.bool_)
    return np.isin(runs.device, [index for index, device in enumerate(trace.devices) if device.id in devices])


def executions_report(trace: Trace, devices: Collection[str] | None = None) -> list[JoinedRuns]:
    """The report's `executions`: a row per program and quality of the join, the programs with most device time first.
    With `devices`, only runs on these count.

    Programs are identified by name: recompiled variants of a graph share a name and therefore a row, with all their
    ids. `spread` holds the minimum, median and maximum over the runs; of all times but the device's, over the runs
    whose launch is known if there are any.
    """
    rows: list[JoinedRuns] = []
    for (program, join), runs in _runs_by_program(trace, devices).items():
        rows.append({"program": program, "join": join, **runs.row(program)})
    return sorted(rows, key=lambda row: (-row["device_ps"], row["program"], row["join"]))


def programs_report(trace: Trace, devices: Collection[str] | None = None) -> list[ProgramRuns]:
    """The report's `programs`: like `executions`, but one row per program. `joins` holds the number of runs by quality
    of the join."""
    programs: dict[str, dict[Join, _ProgramRuns]] = {}
    for (program, join), runs in _runs_by_program(trace, devices).items():
        programs.setdefault(program, {})[join] = runs
    rows: list[ProgramRuns] = []
    for program, by_join in programs.items():
        all_runs = _ProgramRuns()
        for runs in by_join.values():
            all_runs.merge(runs)
        joins = {join: by_join[join].count for join in JOINS if join in by_join}
        rows.append({**all_runs.row(program), "joins": joins})
    return sorted(rows, key=lambda row: (-row["device_ps"], row["program"]))


class _ProgramRuns:
    """Sums over runs of one program, of any number of hosts."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._kinds: Counter[LaunchKind] = Counter()
        self._launches = 0
        self._times = np.zeros((len(TIME_COLUMNS), 0), np.int64)
        self._is_known = np.zeros(0, np.bool_)

    @property
    def count(self) -> int:
        return self._times.shape[1]

    def add(self, id_: str, kind: LaunchKind | None, launches: int, times: Int64) -> None:
        """Adds runs of one program id and kind (None: the launches are not known); `times` has a row per column of
        TIME_COLUMNS."""
        self._ids |= {id_} if id_ else set()
        if kind:
            self._kinds[kind] += times.shape[1]
        self._launches += launches
        self._times = np.concatenate((self._times, times), axis=1)
        self._is_known = np.append(self._is_known, np.full(times.shape[1], kind is not None))

    def merge(self, other: _ProgramRuns) -> None:
        """Adds runs of the same program with another quality of the join."""
        self._ids |= other._ids
        self._kinds.update(other._kinds)
        self._launches += other._launches
        self._times = np.concatenate((self._times, other._times), axis=1)
        self._is_known = np.append(self._is_known, other._is_known)

    def row(self, program: str) -> RunSums:
        host, device, queue, overhead = self._times.sum(axis=1).tolist()
        is_counted = self._is_known if self._is_known.any() else np.ones(self.count, np.bool_)
        spreads = [
            _spread(times if column == "device_ps" else times[is_counted])
            for column, times in zip(TIME_COLUMNS, self._times, strict=True)
        ]
        return {
            "program": program,
            "program_ids": sorted(self._ids, key=int),
            "kind": max(self._kinds, key=self._kinds.__getitem__, default=KINDS[OTHER]),
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


def _spread(times: Int64) -> Spread:
    middle = (len(times) - 1) // 2
    return {
        "min": int(times.min()),
        "median": int(np.partition(times, middle)[middle]),
        "max": int(times.max()),
    }


def _runs_by_program(trace: Trace, devices: Collection[str] | None) -> dict[tuple[str, Join], _ProgramRuns]:
    """Returns the runs of each program and quality of the join, in order of first occurrence."""
    runs_by_program: dict[tuple[str, Join], _ProgramRuns] = {}
    launches, times = find_launches(trace), find_run_times(trace)
    columns = np.stack([getattr(times, column) for column in TIME_COLUMNS])
    is_on_devices = runs_on(trace, devices)
    is_counted = _one_run_per_launch(launches, is_on_devices)
    for program, join, kind, group in _groups(launches):
        runs = group[is_on_devices[group]]
        if len(runs):
            name, id_ = launches.programs[program]
            sums = runs_by_program.setdefault((name, JOINS[join]), _ProgramRuns())
            known_kind = None if join == NONE else KINDS[kind]
            sums.add(id_, known_kind, int(is_counted[runs].sum()), columns[:, runs])
    return runs_by_program


def _one_run_per_launch(launches: Launches, is_selected: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns a mask of one of the selected runs of each launch: the first one of those whose join is least exact. The
    launch counts in the row of that run."""
    runs = launches.runs
    launched = np.flatnonzero(is_selected & (runs.launch >= 0))
    order = launched[np.lexsort((-runs.join[launched].astype(np.int64), runs.launch[launched]))]
    is_counted = np.zeros(len(runs), np.bool_)
    is_counted[order[np.flatnonzero(np.diff(runs.launch[order], prepend=-1))]] = True
    return is_counted


def _groups(launches: Launches) -> Iterator[tuple[int, int, int, NDArray[np.intp]]]:
    """Yields program, quality of the join and kind of launch (indices), and the runs that have these."""
    runs = launches.runs
    kind = np.append(launches.kind, np.int8(OTHER))[runs.launch]
    key = (runs.program.astype(np.int64) * len(JOINS) + runs.join) * len(KINDS) + kind
    order = np.argsort(key, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else []:
        program_and_join, launch_kind = divmod(int(key[group[0]]), len(KINDS))
        yield *divmod(program_and_join, len(JOINS)), launch_kind, group


def launching_report(trace: Trace, devices: Collection[str] | None = None) -> Launching:
    """The report's `launching`: `fixed`, what an execution costs however short it is, and `lead`, how far the host runs
    ahead (median, mean, minimum and maximum over the runs that have a lead). Each is None if unknown."""
    return {"fixed": fixed_cost(trace, devices), "lead": _lead(trace, devices)}


def fixed_cost(trace: Trace, devices: Collection[str] | None = None) -> FixedCost | None:
    """Returns what an execution costs however short it is: `fixed_ps`, the overhead at no device time, `slope`,
    the overhead that each ps of device time adds, and `runs`, the number of runs that the fit uses. None for fewer than
    three such runs.

    The result is a straight line fitted to overhead as a function of device time, robustly, so that a few slow
    executions do not move it. It uses the runs with known calls that did not queue: in other runs the overhead hides
    behind the queue. If most runs queue, the few others are the first ones and not typical; then it uses all runs.
    """
    times = find_run_times(trace)
    is_joined = (find_launches(trace).runs.join != NONE) & runs_on(trace, devices)
    columns = np.stack((times.device_ps, times.overhead_ps, times.queue_ps))[:, is_joined]
    x, y, queue = columns.astype(np.float64)
    unqueued = queue == 0
    if 2 * unqueued.sum() >= len(queue):
        x, y = x[unqueued], y[unqueued]
    if len(x) < _MIN_FITTED_RUNS:
        return None
    fixed, slope = robust_line(x, y)
    if slope < 0:  # longer runs do not make launching cheaper: the slope is noise
        fixed, slope = float(np.median(y)), 0.0
    return {"fixed_ps": max(0, round(fixed)), "slope": slope, "runs": len(x)}


def _lead(trace: Trace, devices: Collection[str] | None) -> Lead | None:
    times = find_run_times(trace)
    leads = times.lead_ps[times.has_lead & runs_on(trace, devices)]
    if not leads.size:
        return None
    min_ps, max_ps = int(leads.min()), int(leads.max())
    median_ps = int(np.median(leads))
    return {
        "median_ps": median_ps,
        "mean_ps": int(leads.mean()),
        "min_ps": min_ps,
        "max_ps": max_ps,
        "runs": len(leads),
    }


def robust_line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Returns intercept and slope of y over x by least squares with Huber's weights, which reduce the influence of
    points far from the line. If the x hardly differ, the slope is 0 and the intercept is the median."""
    if np.ptp(x) <= _MIN_RELATIVE_RANGE * np.abs(x).max(initial=0.0):
        return float(np.median(y)), 0.0
    weight = np.ones(len(x))
    intercept = slope = 0.0
    for _ in range(_MAX_FIT_ROUNDS):
        mean_x, mean_y = np.average(x, weights=weight), np.average(y, weights=weight)
        spread = float((weight * (x - mean_x) ** 2).sum())
        slope = float((weight * (x - mean_x) * (y - mean_y)).sum()) / spread if spread else 0.0
        intercept = float(mean_y - slope * mean_x)
        residuals = np.abs(y - intercept - slope * x)
        deviation = _DEVIATION_PER_MEDIAN_RESIDUAL * float(np.median(residuals))
        # Without a deviation most points are on the line: the others hardly count.
        tolerance = _HUBER_LIMIT * deviation if deviation else _MIN_RESIDUAL_PS
        next_weight = np.minimum(1.0, tolerance / np.maximum(residuals, _MIN_RESIDUAL_PS))
        if np.array_equal(next_weight, weight):
            break
        weight = next_weight
    return intercept, slope
