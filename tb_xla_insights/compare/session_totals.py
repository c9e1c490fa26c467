"""What a comparison needs of one session's report: its steps, and totals that are the report's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from statistics import median_low
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.environment import FRAMEWORKS
from tb_xla_insights.compare.significance import Steps
from tb_xla_insights.report.host_parts import parts_of_hosts
from tb_xla_insights.report.throughput import throughput
from tb_xla_insights.report.views import whole_report
from tb_xla_insights.trace.model import Int64, SessionTrace
from tb_xla_insights.units import rounded_parts

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import ByClass, ExecutionKind, Sums
    from tb_xla_insights.schema.compare import ComparedSession, ProgramTotals, Totals

Row = Mapping[str, Any]

EACH = ("host", "device", "queue", "overhead")
"""The times of an execution."""

IDLE = ("wait", "unrecorded")
"""Classes in which the host does nothing."""


class SessionTotals:
    """One of the two sessions. Means per step are None where the session has no steps. `samples_per_step` comes before
    what the recording was told."""

    def __init__(self, session: SessionTrace, samples_per_step: float | None = None) -> None:
        self.session = session
        self.report = report = whole_report(session)
        self.steps: Sequence[Row] = report["steps"]
        self.span_ps = sum(device["span_ps"] for device in report["devices"])
        self.throughput = throughput(self.steps, report["recorded"], samples_per_step)

    @cached_property
    def cores(self) -> int:
        """Cores that a step of one host works on."""
        hosts = {step["host"] for step in self.steps} or {it["host"] for it in self.report["devices"]}
        return max(1, round(len(self.report["devices"]) / max(1, len(hosts))))

    def each(self, value: Callable[[Row], int]) -> list[int]:
        """One number per step."""
        return [value(step) for step in self.steps]

    def mean(self, value: Callable[[Row], int]) -> int | None:
        return round(sum(self.each(value)) / len(self.steps)) if self.steps else None

    @cached_property
    def drawn(self) -> Steps:
        """The steps as the test of means needs them."""
        return Steps.of(self.steps)

    @cached_property
    def usual(self) -> Steps:
        """The steps as the test of medians needs them: without the few in which something was compiled."""
        return Steps.usual(self.steps)

    @cached_property
    def step_ps(self) -> int | None:
        """The mean step."""
        return self.mean(lambda step: step["duration_ps"])

    @cached_property
    def median_ps(self) -> int | None:
        """The step in the middle, the shorter one of two."""
        return median_low(self.each(lambda step: step["duration_ps"])) if self.steps else None

    @cached_property
    def kind(self) -> ExecutionKind:
        """What launched the device's work: dynamo where any of it did."""
        kinds = {row["kind"] for row in self.report["executions"]}
        return "dynamo" if "dynamo" in kinds else "lazy" if "lazy" in kinds else "other"

    @cached_property
    def launched_by(self) -> str:
        """The kind, or of other kinds the framework, as people read it."""
        framework = self.report["environment"]["framework"]
        return self.kind if self.kind != "other" else FRAMEWORKS.get(framework, "unknown framework")

    @cached_property
    def runs_itself(self) -> bool:
        """Whether the thread that drives runs most programs itself, as a CPU may."""
        own, total = (
            sum(column)
            for column in zip((0, 0), *parts_of_hosts(self.session, "driving_thread_runs"), strict=True)
        )
        return bool(2 * own > total)

    @cached_property
    def compiled_rarely(self) -> list[int]:
        """Host time in compilations of the steps that compiled, if those are fewer than half of the steps."""
        compiled = [step["host_ps"].get("compile", 0) for step in self.steps if step["compiles"]]
        return compiled if 2 * len(compiled) < len(self.steps) else []

    @cached_property
    def class_means(self) -> ByClass:
        """Host time per step by class; it adds up to the mean step."""
        if not self.steps:
            return {}
        sums: ByClass = {}
        for step in self.steps:
            for name, ps in step["host_ps"].items():
                sums[name] = sums.get(name, 0) + ps
        count = len(self.steps)
        parts = rounded_parts(list(sums.values()), sum(sums.values()), count)
        return {name: part // count for name, part in zip(sums, parts, strict=True)}

    @cached_property
    def programs(self) -> dict[str, ProgramTotals]:
        """Kind and totals of each program, its rows of `executions` for all joins together."""
        groups: dict[str, list[Row]] = {}
        for row in self.report["executions"]:
            groups.setdefault(row["program"], []).append(row)
        return {name: {"kind": rows[0]["kind"], **costs(rows)} for name, rows in groups.items()}

    @cached_property
    def runs_per_step(self) -> float | None:
        """Launches of steps, whatever was launched outside of them."""
        return sum(self.each(lambda step: step["executions"])) / len(self.steps) if self.steps else None

    def per_step(self, total_ps: int) -> int | None:
        """A total over all device runs, per step and core. Runs of steps that the capture cuts count in the mean of a
        run, and not in the number of runs of a step."""
        count, runs = self.totals["executions"]["count"], self.runs_per_step
        return round(total_ps / count * runs) if count and runs is not None else None

    @cached_property
    def in_steps(self) -> Row:
        """Work and idle time per step and core, as the report's `step_idle` has them; nothing without steps."""
        found: Row = self.report["step_idle"]
        return found if found["steps"] and found["cores"] else {}

    @cached_property
    def annotated(self) -> dict[str, tuple[int, int]]:
        """Time and number of the annotations of each path in whole steps; in the capture where there are no steps."""
        found: dict[str, tuple[int, int]] = {}
        for steps, host in self._hosts:
            for name, (ps, count, _) in host.items():
                before = found.get(name, (0, 0))
                told = steps or not self.steps  # of a host without steps nothing lies in whole ones
                found[name] = (before[0] + ps, before[1] + count) if told else before
        return found

    def annotation_times(self, path: str) -> list[int]:
        """Host time of the annotations of a path, one number per step."""
        times: list[int] = []
        for steps, host in self._hosts:
            times += host[path][2].tolist() if path in host else [0] * steps
        return times

    @cached_property
    def _hosts(self) -> list[tuple[int, dict[str, tuple[int, int, Int64]]]]:
        """Of each host how many steps it has, and its annotations."""
        return list(
            zip(
                parts_of_hosts(self.session, "steps"),
                parts_of_hosts(self.session, "annotation_times"),
                strict=True,
            )
        )

    @cached_property
    def totals(self) -> Totals:
        """Sums over the report, exactly as there."""
        report = self.report
        devices, gaps, compiles = report["devices"], report["gaps"], report["compiles"]
        return {
            "devices": {
                "span_ps": _sum(devices, "span_ps"),
                "busy_ps": _sum(devices, "busy_ps"),
                "idle_ps": _sum(devices, "idle_ps"),
                "stall_ps": _sum(devices, "stall_ps"),
            },
            "steps": {
                "duration_ps": _sum(self.steps, "duration_ps"),
                "device_busy_ps": _sum(self.steps, "device_busy_ps"),
                "executions": _sum(self.steps, "executions"),
                "compiles": _sum(self.steps, "compiles"),
                "early_syncs": _sum(self.steps, "early_syncs"),
                "input_syncs": _sum(self.steps, "input_syncs"),
                "from_device": _sum(self.steps, "from_device"),
            },
            "gaps": {
                "count": gaps["count"],
                "total_ps": gaps["total_ps"],
                "listed_ps": gaps["listed_ps"],
                "by_class_ps": gaps["by_class_ps"],
            },
            "executions": costs(report["executions"]),
            "compiles": {
                "count": len(compiles),
                "after_warm_up": sum(not row["warm_up"] for row in compiles),
                "duration_ps": _sum(compiles, "duration_ps"),
            },
            "transfers": report["transfers"],
            "collectives": {
                "count": _sum(report["collectives"], "count"),
                "duration_ps": _sum(report["collectives"], "duration_ps"),
                "exposed_ps": _sum(report["collectives"], "exposed_ps"),
            },
        }

    def document(self) -> ComparedSession:
        """Which session this is."""
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


def costs(rows: Sequence[Row]) -> Sums:
    """Totals of some rows of `executions`."""
    return {
        "launches": _sum(rows, "launches"),
        "count": _sum(rows, "count"),
        "host_ps": _sum(rows, "host_ps"),
        "device_ps": _sum(rows, "device_ps"),
        "queue_ps": _sum(rows, "queue_ps"),
        "overhead_ps": _sum(rows, "overhead_ps"),
    }


def _sum(rows: Sequence[Row], key: str) -> int:
    return sum(row[key] for row in rows)
