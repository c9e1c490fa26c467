"""One session's side of a comparison: its steps, and totals equal to those of its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import median_low
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.environment import FRAMEWORKS
from tb_xla_insights.arrays import Float64
from tb_xla_insights.columns.merge import merged, merged_row
from tb_xla_insights.compare.significance import StepSample
from tb_xla_insights.report.host_tables import DrivingThreadRuns, ProgramInSteps, RunCounts
from tb_xla_insights.report.launch_rows import mean_times
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.report.throughput import throughput
from tb_xla_insights.schema.common import Sums
from tb_xla_insights.schema.compare import CollectiveTotals, DeviceTotals, StepTotals
from tb_xla_insights.schema.launches import known_runs
from tb_xla_insights.text.units import rounded_parts

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import ByClass, ExecutionKind
    from tb_xla_insights.schema.compare import ComparedSession, ProgramTotals, Totals

Row = Mapping[str, Any]

IDLE_CLASSES = ("wait", "unrecorded")
"""Classes in which the host waits, or records nothing."""


@dataclass(frozen=True)
class ProgramExecutions:
    """The executions of a program in one session, in ps, see `times_of_executions`. Queue times and overheads are None
    if no launch is known, and those of a run whose launch is not known are the mean of the others. The first executions
    on all hosts form a block of the test, then the second ones, and so on."""

    device_ps: Float64
    queue_ps: Float64 | None
    overhead_ps: Float64 | None
    block: Sequence[int]

    @classmethod
    def from_hosts(cls, hosts: Sequence[Float64]) -> ProgramExecutions:
        device, queue, overhead = np.concatenate(hosts, axis=1)
        block = [index for host in hosts for index in range(host.shape[1])]
        return cls(device, _without_gaps(queue), _without_gaps(overhead), block)

    @property
    def sample(self) -> StepSample:
        return StepSample(np.rint(self.device_ps).astype(np.int64).tolist(), self.block)


def _without_gaps(times: Float64) -> Float64 | None:
    is_known = ~np.isnan(times)
    return np.where(is_known, times, times[is_known].mean()) if is_known.any() else None


class SessionTotals:
    """One of the two sessions. Means per step are None without steps. `samples_per_step` overrides the number in the
    recording's file."""

    def __init__(self, session: SessionView, samples_per_step: float | None = None) -> None:
        self.session = session
        self.report = report = session.report
        self.tables = session.results.tables
        self.steps: Sequence[Row] = report["steps"]
        self.span_ps = sum(device["span_ps"] for device in report["devices"])
        self.throughput = throughput(self.steps, report["recorded"], samples_per_step)

    def values(self, value: Callable[[Row], int]) -> list[int]:
        """Returns a value of each step."""
        return [value(step) for step in self.steps]

    def rounded_mean(self, value: Callable[[Row], int]) -> int | None:
        """Returns the mean of a value over the steps, rounded half up, as `class_means` are."""
        count, total = len(self.steps), sum(self.values(value))
        return (2 * total + count) // (2 * count) if count else None

    @cached_property
    def has_device_work(self) -> list[bool]:
        """Per step, whether devices of its host recorded work."""
        return [step["device_work_ps"] is not None for step in self.steps]

    @cached_property
    def sample(self) -> StepSample:
        """The steps for the test of means."""
        return StepSample.from_rows(self.steps)

    @cached_property
    def sample_without_compiles(self) -> StepSample:
        """The steps for the test of medians: without those that compiled something, if these are few."""
        return StepSample.without_compiles(self.steps)

    @cached_property
    def mean_ps(self) -> int | None:
        """The mean step."""
        return self.rounded_mean(lambda step: step["duration_ps"])

    @cached_property
    def median_ps(self) -> int | None:
        """The lower median of the steps."""
        return median_low(self.values(lambda step: step["duration_ps"])) if self.steps else None

    @cached_property
    def kind(self) -> ExecutionKind:
        """What launched the device's work: dynamo if it launched any of it."""
        kinds = {row["kind"] for row in self.report["executions"]}
        return "dynamo" if "dynamo" in kinds else "lazy" if "lazy" in kinds else "other"

    @cached_property
    def launched_by(self) -> str:
        """The framework and the kind, as displayed; the framework alone for `other`."""
        framework = FRAMEWORKS.get(self.report["environment"]["framework"], "unknown framework")
        return framework if self.kind == "other" else f"{framework} ({self.kind})"

    @cached_property
    def runs_on_driving_thread(self) -> bool:
        """Whether the driving thread itself runs most programs, as on a CPU."""
        runs = merged_row(DrivingThreadRuns, (host.driving_thread for host in self.tables))
        return 2 * runs["on_thread"] > runs["count"]

    @cached_property
    def rare_compile_times_ps(self) -> list[int]:
        """Host time in compilations of each step that compiled, if those are fewer than half of the steps, else
        empty."""
        times = [step["host_ps"].get("compile", 0) for step in self.steps if step["compiles"]]
        return times if 2 * len(times) < len(self.steps) else []

    @cached_property
    def class_means(self) -> ByClass:
        """Host time per step by class; the sum is the mean step."""
        if not self.steps:
            return {}
        sums: ByClass = {}
        for step in self.steps:
            for name, time in step["host_ps"].items():
                sums[name] = sums.get(name, 0) + time
        count = len(self.steps)
        parts = rounded_parts(list(sums.values()), sum(sums.values()), count)
        return {name: part // count for name, part in zip(sums, parts, strict=True)}

    @cached_property
    def programs(self) -> dict[str, ProgramTotals]:
        """Kind and totals of each program, over its rows of `executions` of all joins."""
        return {
            name: {"kind": rows[0]["kind"], **merged_row(Sums, rows)}
            for name, rows in self._rows_of_programs.items()
        }

    @cached_property
    def _rows_of_programs(self) -> dict[str, list[Row]]:
        groups: dict[str, list[Row]] = {}
        for row in self.report["executions"]:
            groups.setdefault(row["program"], []).append(row)
        return groups

    def mean_times(self, program: str) -> dict[str, int | None]:
        """The mean times of a run of a program (`report.launch_rows.mean_times`); empty if it does not run."""
        rows = self._rows_of_programs.get(program)
        return mean_times(merged_row(Sums, rows), _known_runs(rows)) if rows else {}

    def executions_of(self, program: str) -> ProgramExecutions:
        """Returns the executions of a program that runs in this session."""
        return ProgramExecutions.from_hosts(
            [host.executions[program] for host in self.tables if program in host.executions]
        )

    def ops_per_run(self, program: str) -> float | None:
        """Returns the number of ops in a run of a program; None if none are recorded."""
        counts: dict[str, int] = {}
        for row in self.report["ops"]:
            if row["program"] == program:  # an op of several annotations has a row for each
                counts[row["op"]] = max(counts.get(row["op"], 0), row["count"])
        return sum(counts.values()) / self.programs[program]["count"] if counts else None

    @cached_property
    def overhead(self) -> tuple[int, int]:
        """The overhead of all programs, and the number of their runs. A run whose launch is not known has the mean
        overhead of its program's others; programs of which no launch is known do not count."""
        overhead_ps = runs = 0
        for rows in self._rows_of_programs.values():
            if known := _known_runs(rows):
                count = _sum(rows, "count")
                overhead_ps += round(_sum(rows, "overhead_ps") * count / known)
                runs += count
        return overhead_ps, runs

    @cached_property
    def launches_per_step(self) -> float | None:
        """Launches per step, without launches outside of steps."""
        return sum(self.values(lambda step: step["executions"])) / len(self.steps) if self.steps else None

    def program_launches_per_step(self, program: str) -> float | None:
        """Returns the launches of a program per step, without launches outside of steps."""
        return self._programs_in_steps[program]["launches"] / len(self.steps) if self.steps else None

    @cached_property
    def _programs_in_steps(self) -> dict[str, ProgramInSteps]:
        """What whole steps launched of each program, on all hosts."""
        rows = merged(ProgramInSteps, (host.programs for host in self.tables), "runs")
        return {row["program"]: row for row in rows}

    @cached_property
    def device_per_step_ps(self) -> int | None:
        """Device time of the runs per step and core."""
        return self._per_step(
            {name: Fraction(sums["device_ps"], sums["count"]) for name, sums in self.programs.items()}
        )

    @cached_property
    def overhead_per_step_ps(self) -> int | None:
        """Overhead per step and core; None if no launch is known."""
        means = {
            name: Fraction(_sum(rows, "overhead_ps"), known)
            for name, rows in self._rows_of_programs.items()
            if (known := _known_runs(rows))
        }
        return self._per_step(means) if means else None

    def _per_step(self, means_ps: Mapping[str, Fraction]) -> int | None:
        """Converts mean times of a run, by program, to a time per step and core: times the number of runs that a whole
        step launches on a core. Runs outside of whole steps count in the means of their program only. None if no whole
        step launched a run."""
        programs, runs = self._programs_in_steps, merged_row(RunCounts, (host.runs for host in self.tables))
        if not runs["in_steps"]:
            return None
        return round(
            sum(mean * programs[name]["runs"] for name, mean in means_ps.items()) / runs["core_steps"]
        )

    @cached_property
    def step_idle(self) -> Row:
        """The report's `step_idle`, work and idle time per step and core; empty without steps or cores."""
        step_idle: Row = self.report["step_idle"]
        return step_idle if step_idle["steps"] and step_idle["cores"] else {}

    @cached_property
    def annotation_totals(self) -> dict[str, tuple[int, int]]:
        """Per path, the time and number of its annotations in whole steps; in the capture if the session has no
        steps."""
        totals: dict[str, tuple[int, int]] = {}
        for host in self.tables:
            for path, times in host.annotations.items():
                total_ps, total_count = totals.setdefault(path, (0, 0))
                # If other hosts have steps, a host without any has no annotations in whole steps.
                if host.steps or not self.steps:
                    totals[path] = total_ps + times.host_ps, total_count + times.count
        return totals

    def annotation_times(self, path: str) -> list[int]:
        """Returns the host time of the annotations of a path in each step."""
        times: list[int] = []
        for host in self.tables:
            of_path = host.annotations.get(path)
            times += of_path.by_step_ps.tolist() if of_path else [0] * host.steps
        return times

    @cached_property
    def totals(self) -> Totals:
        """Sums over the rows of the report."""
        report = self.report
        devices, gaps, compiles = report["devices"], report["gaps"], report["compiles"]
        return {
            "devices": merged_row(DeviceTotals, devices),
            "steps": merged_row(StepTotals, self.steps),
            "gaps": {
                "count": gaps["count"],
                "total_ps": gaps["total_ps"],
                "listed_ps": gaps["listed_ps"],
                "by_class_ps": gaps["by_class_ps"],
            },
            "executions": merged_row(Sums, report["executions"]),
            "compiles": {
                "count": len(compiles),
                "after_warm_up": sum(not row["warm_up"] for row in compiles),
                "duration_ps": _sum(compiles, "duration_ps"),
            },
            "transfers": report["transfers"],
            "collectives": merged_row(CollectiveTotals, report["collectives"]),
        }

    def document(self) -> ComparedSession:
        """Returns the description of the session in the document."""
        report = self.report
        return {
            "session": report["session"],
            "environment": report["environment"],
            "devices": len(report["devices"]),
            "steps": len(self.steps),
            "source": self.steps[0]["source"] if self.steps else None,
            "kind": self.kind,
            "launched_by": self.launched_by,
            "throughput": self.throughput,
            "totals": self.totals,
        }


def _known_runs(rows: Sequence[Row]) -> int:
    """Returns the number of runs whose launch is known."""
    return sum(map(known_runs, rows))


def _sum(rows: Sequence[Row], key: str) -> int:
    return sum(row[key] for row in rows)
