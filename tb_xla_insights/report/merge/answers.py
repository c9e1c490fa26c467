"""Answers of many hosts as one, key by key of the report: of hosts in their order, on one time base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.environment import FRAMEWORKS, RUNTIMES, UNKNOWN, environment_label
from tb_xla_insights.analysis.host.input_pipeline import input_verdict
from tb_xla_insights.analysis.idle.outside_span import OutsideSpan, outside_span_json
from tb_xla_insights.analysis.steps.idle import step_idle_from_rows
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report.merge.parts import HostPart, weighted_mean, weighted_median
from tb_xla_insights.report.throughput import throughput

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import InputPipeline, Outside, Transfers, TransfersByDirection
    from tb_xla_insights.schema.launches import Compile, Launching, Program
    from tb_xla_insights.schema.session import Device, Environment, Framework, Runtime
    from tb_xla_insights.schema.steps import LeftOut, Step, StepIdle
    from tb_xla_insights.schema.texts import Throughput

Parts = Sequence[HostPart]


def merge_environments(parts: Parts) -> Environment:
    """What made the captures: the first framework and runtime that any host tells, the accelerator of most devices."""
    told = [part.rows["environment"] for part in parts]
    frameworks, runtimes = ({it[key] for it in told} for key in ("framework", "runtime"))
    accelerators: Counter[str] = Counter()
    for part in parts:
        accelerators[part.rows["environment"]["accelerator"]] += len(part.rows["devices"])
    framework: Framework = next((name for name in FRAMEWORKS if name in frameworks), UNKNOWN)
    runtime: Runtime = next((name for name in RUNTIMES if name in runtimes), UNKNOWN)
    accelerator = max(accelerators, key=lambda it: accelerators[it])
    return {
        "framework": framework,
        "runtime": runtime,
        "accelerator": accelerator,
        "hlo_scopes": any(it["hlo_scopes"] for it in told),
        "synthetic": any(it["synthetic"] for it in told),
        "label": environment_label(framework, runtime, accelerator, accelerators.total()),
    }


def merge_devices(parts: Parts, duration_ps: int) -> list[Device]:
    """All devices; the whole capture is the session's, of `duration_ps`."""
    rows = []
    for device in (device for part in parts for device in part.rows["devices"]):
        capture = device["duty"]["capture"] | {"span_ps": duration_ps}
        rows.append(device | {"duty": device["duty"] | {"capture": capture}})
    return rows


def merge_step_idle(parts: Parts) -> StepIdle:
    """The report's `step_idle`: where any host has steps, of the hosts that have."""
    in_steps = any(part.steps for part in parts)
    told = [part for part in parts if part.rows["step_idle"]["devices"] and (part.steps or not in_steps)]
    left_out: list[LeftOut] = [
        {
            "host": part.host,
            "reason": "no_steps" if part.rows["step_idle"]["devices"] else "no_device_work",
        }
        for part in parts
        if part not in told
    ]
    durations = [ps for part in told or parts for ps in part.rows["steps"].durations_ps().tolist()]
    return step_idle_from_rows(
        [row for part in told for row in part.rows["step_idle"]["devices"]], durations, left_out
    )


def steps_of_working_hosts(parts: Parts) -> int:
    """The steps of hosts whose devices recorded work."""
    return sum(part.steps for part in parts if part.rows["step_idle"]["devices"])


def merge_launching(parts: Parts) -> Launching:
    """The report's `launching`: `fixed` is that of the median host, each counted as often as it has runs behind it; of
    `lead` the median is that of the hosts' medians, in the same way."""
    fixed = [it for part in parts if (it := part.rows["launching"]["fixed"])]
    leads = [it for part in parts if (it := part.rows["launching"]["lead"])]
    made: Launching = {"fixed": None, "lead": None}
    if fixed:
        middle = weighted_median((it["fixed_ps"], it["n"]) for it in fixed)
        shown = next(it for it in fixed if it["fixed_ps"] == middle)
        made["fixed"] = shown | {"n": sum(it["n"] for it in fixed)}
    if leads:
        runs = sum(it["runs"] for it in leads)
        made["lead"] = {
            "median_ps": weighted_median((it["median_ps"], it["runs"]) for it in leads),
            "mean_ps": sum(it["mean_ps"] * it["runs"] for it in leads) // runs,
            "min_ps": min(it["min_ps"] for it in leads),
            "max_ps": max(it["max_ps"] for it in leads),
            "runs": runs,
        }
    return made


def merge_transfers(parts: Parts) -> TransfersByDirection:
    """The report's `transfers`: sums, and means over the steps of all hosts."""
    steps = sum(part.steps for part in parts)

    def together(direction: str) -> Transfers:
        rows = [part.rows["transfers"][direction] for part in parts]
        in_steps = sum(row["in_steps"] for row in rows)
        bytes_in_steps = _known_sum(row["bytes_in_steps"] for row in rows)
        return {
            "count": sum(row["count"] for row in rows),
            "duration_ps": sum(row["duration_ps"] for row in rows),
            "bytes": _known_sum(row["bytes"] for row in rows),
            "sized": sum(row["sized"] for row in rows),
            "in_steps": in_steps,
            "bytes_in_steps": bytes_in_steps,
            "per_step": in_steps / steps if steps else None,
            "bytes_per_step": None if bytes_in_steps is None else round(bytes_in_steps / steps),
        }

    return {"to_device": together("to_device"), "from_device": together("from_device")}


def _known_sum(values: Iterable[int | None]) -> int | None:
    """The sum of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def merge_input_pipelines(parts: Parts) -> InputPipeline:
    """The report's `input_pipeline`: sums, shares of all that is summed, and what they mean for the devices together;
    `kind` is the first host's that has one."""
    rows = [part.rows["input_pipeline"] for part in parts]
    span = sum(part.span_ps for part in parts)
    kind = next((row["kind"] for row in rows if row["kind"]), None)
    idle = sum(row["idle_ps"] for row in rows)
    share = idle / span if span else 0.0
    return {
        "kind": kind,
        "batches": sum(row["batches"] for row in rows),
        "loader_threads": sum(row["loader_threads"] for row in rows),
        "wait_ps": sum(row["wait_ps"] for row in rows),
        "idle_ps": idle,
        "infeed_ps": sum(row["infeed_ps"] for row in rows),
        "share": share,
        "load_ps": sum(row["load_ps"] for row in rows),
        "load_hidden": weighted_mean((row["load_hidden"], row["load_ps"]) for row in rows),
        "send_ps": sum(row["send_ps"] for row in rows),
        "send_hidden": weighted_mean((row["send_hidden"], row["send_ps"]) for row in rows),
        "verdict": input_verdict(share, kind is not None and span > 0),
        "late_hosts": [],
    }


def merge_outside(parts: Parts, framework: str) -> Outside | None:
    """The report's `outside`: each host before its own first run and after its own last one, in its own capture;
    durations are the means of the hosts whose devices recorded work, times by class their sums."""
    rows = [it for part in parts if (it := part.rows["outside"])]
    if not rows:
        return None

    def mean(values: Sequence[int]) -> int:
        return sum(values) // len(values)

    def by_class(where: str) -> Any:
        return np.sum([[row[where]["by_class_ps"].get(name, 0) for name in CLASSES] for row in rows], axis=0)

    found = OutsideSpan(
        mean([row["before"]["duration_ps"] for row in rows]),
        mean([row["after"]["duration_ps"] for row in rows]),
        by_class("before"),
        by_class("after"),
        mean([row["capture_ps"] for row in rows]),
    )
    return outside_span_json(found, sum(len(part.rows["devices"]) for part in parts), framework)


def merge_throughput(parts: Parts, steps: Sequence[Step]) -> Throughput | None:
    """The report's `throughput`; the samples of a step are those of all hosts together, whoever tells them."""
    told = next((it for part in parts if (it := part.rows["throughput"])), None)
    return throughput(steps, None, told["samples_per_step"]) if told else None


def merge_compiles(rows: Sequence[Compile], programs: Sequence[Program]) -> list[Compile]:
    """The report's `compiles` in order of time, from those of all hosts; `kin` are those of all of them: what only ran
    is in `programs`."""
    ran: dict[str | None, list[str]] = {row["program"]: row["program_ids"] for row in programs}
    by_module: dict[str, list[Compile]] = {}
    for row in rows:
        by_module.setdefault(row["module"] or "", []).append(row)
    made: list[Compile] = []
    for row in rows:
        alike = by_module[row["module"]] if row["module"] else []
        compiled = {it["program_id"] for it in alike}
        kin = {graph for it in alike if (graph := it["graph"])}
        kin |= {f"{row['module']}({id_})" for id_ in ran.get(row["module"], []) if id_ not in compiled}
        made.append({**row, "kin": sorted(kin - {row["graph"]}) if alike else []})
    return sorted(made, key=lambda row: row["start_ps"])
