"""Answers of many hosts as one, key by key of the report: of hosts in their order, on one time base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.environment import FRAMEWORKS, RUNTIMES, environment_label
from tb_xla_insights.analysis.input_pipeline import input_verdict
from tb_xla_insights.analysis.outside import Outside, outside_of
from tb_xla_insights.analysis.step_idle import step_idle_of
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report.merge.parts import Part, weighted_mean, weighted_median
from tb_xla_insights.report.merge.tables import Row, Rows
from tb_xla_insights.report.throughput import throughput

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import Outside as OutsideTold
    from tb_xla_insights.schema.steps import LeftOut, StepIdle
    from tb_xla_insights.schema.texts import Throughput

Parts = Sequence[Part]


def environment_together(parts: Parts) -> Row:
    """What made the captures: the first framework and runtime that any host tells, the accelerator of most devices."""
    told = [part.rows["environment"] for part in parts]
    frameworks, runtimes = ({it[key] for it in told} for key in ("framework", "runtime"))
    accelerators: Counter[str] = Counter()
    for part in parts:
        accelerators[part.rows["environment"]["accelerator"]] += len(part.rows["devices"])
    framework = next((name for name in FRAMEWORKS if name in frameworks), "unknown")
    runtime = next((name for name in RUNTIMES if name in runtimes), "unknown")
    accelerator = max(accelerators, key=lambda it: accelerators[it])
    return {
        "framework": framework,
        "runtime": runtime,
        "accelerator": accelerator,
        **{name: any(it[name] for it in told) for name in ("hlo_scopes", "synthetic")},
        "label": environment_label(framework, runtime, accelerator, accelerators.total()),
    }


def devices_together(parts: Parts, duration_ps: int) -> Rows:
    """All devices; the whole capture is the session's, of `duration_ps`."""
    rows = []
    for device in (device for part in parts for device in part.rows["devices"]):
        capture = device["duty"]["capture"] | {"span_ps": duration_ps}
        rows.append(device | {"duty": device["duty"] | {"capture": capture}})
    return rows


def step_idle_together(parts: Parts) -> StepIdle:
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
    return step_idle_of(
        [row for part in told for row in part.rows["step_idle"]["devices"]], durations, left_out
    )


def steps_at_work(parts: Parts) -> int:
    """The steps of hosts whose devices recorded work."""
    return sum(part.steps for part in parts if part.rows["step_idle"]["devices"])


def launching_together(parts: Parts) -> Row:
    """The report's `launching`: `fixed` is that of the median host, each counted as often as it has runs behind it; of
    `lead` the median is that of the hosts' medians, in the same way."""
    fixed = [it for part in parts if (it := part.rows["launching"]["fixed"])]
    leads = [it for part in parts if (it := part.rows["launching"]["lead"])]
    made: Row = {"fixed": None, "lead": None}
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


def transfers_together(parts: Parts) -> dict[str, Row]:
    """The report's `transfers`: sums, and means over the steps of all hosts."""
    steps = sum(part.steps for part in parts)
    made = {}
    for name in parts[0].rows["transfers"]:
        rows = [part.rows["transfers"][name] for part in parts]
        sums = {key: sum(row[key] for row in rows) for key in ("count", "duration_ps", "sized", "in_steps")}
        sizes = {
            key: sum(row[key] or 0 for row in rows) if any(row[key] is not None for row in rows) else None
            for key in ("bytes", "bytes_in_steps")
        }
        in_steps = sizes["bytes_in_steps"]
        means = {
            "per_step": sums["in_steps"] / steps if steps else None,
            "bytes_per_step": None if in_steps is None else round(in_steps / steps),
        }
        every = sums | sizes | means
        made[name] = {key: every[key] for key in rows[0]}
    return made


def input_together(parts: Parts) -> Row:
    """The report's `input_pipeline`: sums, shares of all that is summed, and what they mean for the devices together;
    `kind` is the first host's that has one."""
    rows = [part.rows["input_pipeline"] for part in parts]
    span = sum(part.span_ps for part in parts)
    kind = next((row["kind"] for row in rows if row["kind"]), None)
    made = {
        name: sum(row[name] for row in rows)
        for name in ("batches", "loader_threads", "wait_ps", "idle_ps", "infeed_ps", "load_ps", "send_ps")
    }
    hidden = {
        f"{name}_hidden": weighted_mean((row[f"{name}_hidden"], row[f"{name}_ps"]) for row in rows)
        for name in ("load", "send")
    }
    share = made["idle_ps"] / span if span else 0.0
    verdict = input_verdict(share, kind is not None and span > 0)
    every = made | hidden | {"kind": kind, "share": share, "verdict": verdict, "late_hosts": []}
    return {name: every[name] for name in rows[0]}


def outside_together(parts: Parts, framework: str) -> OutsideTold | None:
    """The report's `outside`: each host before its own first run and after its own last one, in its own capture;
    durations are the means of the hosts whose devices recorded work, times by class their sums."""
    rows = [it for part in parts if (it := part.rows["outside"])]
    if not rows:
        return None

    def mean(values: Sequence[int]) -> int:
        return sum(values) // len(values)

    def by_class(where: str) -> Any:
        return np.sum([[row[where]["by_class_ps"].get(name, 0) for name in CLASSES] for row in rows], axis=0)

    found = Outside(
        mean([row["before"]["duration_ps"] for row in rows]),
        mean([row["after"]["duration_ps"] for row in rows]),
        by_class("before"),
        by_class("after"),
        mean([row["capture_ps"] for row in rows]),
    )
    return outside_of(found, sum(len(part.rows["devices"]) for part in parts), framework)


def throughput_together(parts: Parts, steps: Sequence[Row]) -> Throughput | None:
    """The report's `throughput`; the samples of a step are those of all hosts together, whoever tells them."""
    told = next((it for part in parts if (it := part.rows["throughput"])), None)
    return throughput(steps, None, told["samples_per_step"]) if told else None


def compiles_together(rows: Rows, programs: Rows) -> Rows:
    """The report's `compiles` in order of time, from those of all hosts; `kin` are those of all of them: what only ran
    is in `programs`."""
    ran = {row["program"]: row["program_ids"] for row in programs}
    by_module: dict[str, Rows] = {}
    for row in rows:
        by_module.setdefault(row["module"] or "", []).append(row)
    made = []
    for row in rows:
        alike = by_module[row["module"]] if row["module"] else []
        compiled = {it["program_id"] for it in alike}
        kin = {it["graph"] for it in alike}
        kin |= {f"{row['module']}({id_})" for id_ in ran.get(row["module"], []) if id_ not in compiled}
        made.append(row | {"kin": sorted(kin - {row["graph"]}) if alike else []})
    return sorted(made, key=lambda row: row["start_ps"])
