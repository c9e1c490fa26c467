"""Figures of the report as texts, for every output: the four headline figures, the rows of idle time by cause, and the
joins of runs to launches. (docs/definitions.md, "Work and idle time of a step")"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.thresholds import INFO_SHARE, WARNING_SHARE
from tb_xla_insights.tables.devices import IDLE
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import Figure

Document = Mapping[str, Any]
_LEFT_OUT_REASONS = {"no_device_work": "recorded no device work", "no_steps": "has no whole step"}


def headline_figures(report: Document) -> list[Figure]:
    """The figures `duty`, `step`, `work` and `idle`, each with `value` (a share from 0 to 1, or ps; None if unknown),
    `text` (rounded so that work and idle time add up to the step), `meaning`, and `note`: what the figure leaves out
    and why (None: nothing)."""
    devices, step_idle = report["devices"], report["step_idle"]
    span_ps, busy_ps = (sum(device[key] for device in devices) for key in ("span_ps", "busy_ps"))
    duty = busy_ps / span_ps if span_ps else None
    step, work, idle = step_texts(step_idle, 1)
    basis, note = basis_text(step_idle), left_out_note(step_idle)
    return [
        {
            "name": "duty",
            "value": duty,
            "text": units.share(duty),
            "meaning": "duty cycle, first to last run",
            "note": None,
        },
        {
            "name": "step",
            "value": step_idle["step_ps"],
            "text": step,
            "meaning": _step_meaning(step_idle, report["hosts"]),
            "note": note,
        },
        {
            "name": "work",
            "value": step_idle["work_ps"],
            "text": work,
            "meaning": _work_meaning(step_idle, basis, _mean_wait_ps(report)),
            "note": note,
        },
        {
            "name": "idle",
            "value": step_idle["idle_ps"],
            "text": idle,
            "meaning": f"idle {basis}{_edges_note(step_idle)}",
            "note": note,
        },
    ]


def basis_text(step_idle: Document) -> str:
    """What the times of `step_idle` refer to."""
    return "per step and core" if step_idle["steps"] else "per core, first to last run"


def step_texts(step_idle: Document, decimals: int) -> tuple[str, str, str]:
    """The mean step (a dash without steps), work and idle time of `step_idle`, in one unit, rounded so that work and
    idle time add up to the step."""
    step_ps, work_ps, idle_ps = (step_idle[name] for name in ("step_ps", "work_ps", "idle_ps"))
    if work_ps is None:
        return units.time_text(step_ps, decimals), units.MISSING, units.MISSING
    sum_ps = work_ps + idle_ps
    unit = units.time_unit(sum_ps)
    rounded_ps = units.rounded_parts([work_ps, idle_ps], sum_ps, units.PS_PER[unit] // 10**decimals)
    texts = [f"{units.time_in(ps, unit, decimals)}{units.NARROW_SPACE}{unit}" for ps in (sum_ps, *rounded_ps)]
    return units.MISSING if step_ps is None else texts[0], texts[1], texts[2]


def steps_in_mean(step_idle: Document, hosts: Sequence[Document]) -> list[int]:
    """The number of steps of each host that the mean step includes; of all hosts if none has both steps and device
    work."""
    left_out = {row["host"] for row in step_idle["left_out"]} if step_idle["cores"] else set()
    return [row["steps"] for row in hosts if row["steps"] and row["name"] not in left_out]


def step_count_text(step_counts: Collection[int]) -> str:
    """The number of steps per host: `12 steps`, or `3 – 7 steps`."""
    number = " – ".join(units.count(count) for count in sorted({min(step_counts), max(step_counts)}))
    return f"{number} {'step' if max(step_counts) == 1 else 'steps'}"


def steps_of_hosts_text(step_counts: Collection[int]) -> str:
    """The number of steps per host, and of hosts: `12 steps of 16 hosts`."""
    return f"{step_count_text(step_counts)} of {units.count(len(step_counts))} hosts"


def lacks_runs(report: Document) -> bool:
    """Whether launches between the first run and the last one have no recorded run, and gaps in which these may have
    run take WARNING_SHARE of the devices' spans or more."""
    span_ps = sum(device["span_ps"] for device in report["devices"])
    is_reported = any(row["id"] == "work_not_recorded" for row in report["diagnostics"])
    return is_reported and report["gaps"]["by_kind_ps"]["unknown"] >= WARNING_SHARE * span_ps


def _step_meaning(step_idle: Document, hosts: Sequence[Document]) -> str:
    step_ps, median_ps = step_idle["step_ps"], step_idle["median_ps"]
    if step_ps is None:
        return "mean step: no whole step is recorded"
    unit = units.time_unit(step_ps)
    median_differs = abs(step_ps - median_ps) > INFO_SHARE * max(step_ps, median_ps)
    median_note = f" (median {units.time_in(median_ps, unit, 1)})" if median_differs else ""
    return f"mean step, {step_count_text(steps_in_mean(step_idle, hosts))}{median_note}"


def _work_meaning(step_idle: Document, basis: str, wait_for_hosts_ps: int) -> str:
    """What the devices' work consists of, and how much of it is waiting if that is a relevant share: for other hosts,
    else in asynchronous ops."""
    work_ps = step_idle["work_ps"]
    wait_ps = wait_for_hosts_ps or step_idle["stall_ps"]
    if not work_ps or wait_ps < INFO_SHARE * work_ps:
        return f"device work {basis}"
    unit = units.time_unit(step_idle["step_ps"] or work_ps + step_idle["idle_ps"])
    noun = "busy" if wait_for_hosts_ps else "device work"
    return f"{noun} {basis}, {units.time_in(min(wait_ps, work_ps), unit, 1)} of it waits"


def _edges_note(step_idle: Document) -> str:
    """A clause on the share of idle time that duty cycle and gaps leave out; empty if it is irrelevant."""
    sums = step_idle["all_cores"]
    if not sums or not sums["idle_ps"] or sums["edges_ps"] < INFO_SHARE * sums["idle_ps"]:
        return ""
    return f", {units.share(sums['edges_ps'] / sums['idle_ps'])} of it before or after all runs"


def _mean_wait_ps(report: Document) -> int:
    """The mean time per step that a host's devices wait in collectives for other hosts; 0 if hosts are not compared."""
    rows = [row for row in report["hosts"] if row["waits_ps"] is not None]
    steps = sum(row["steps"] for row in rows)
    return round(sum(row["waits_ps"] for row in rows) / steps) if steps else 0


def left_out_note(step_idle: Document) -> str | None:
    """A sentence that names the hosts that the means leave out, and why; None if they include all."""
    hosts = step_idle["left_out"]
    if not hosts:
        return None
    if not step_idle["cores"] and all(row["reason"] == "no_device_work" for row in hosts):
        return "No device work is recorded."
    names = [f"{row['host']} {_LEFT_OUT_REASONS[row['reason']]}" for row in hosts[:3]]
    more = f", and {plural(len(hosts) - 3, 'more host')}" if len(hosts) > 3 else ""
    return f"Left out: {', '.join(names)}{more}."


def idle_rows(step_idle: Document) -> list[tuple[str | None, int, int]]:
    """The devices' idle time as rows of class, mean per step and core, and sum over all cores, in ps. The largest mean
    comes first, and last the time in gaps under 10 µs, whose class is None. Empty without idle time."""
    if not step_idle["idle_ps"]:
        return []
    total_by_class = step_idle["all_cores"]["by_class_ps"]
    mean_by_class = sorted(step_idle["by_class_ps"].items(), key=lambda item: -item[1])
    rows: list[tuple[str | None, int, int]] = [(name, ps, total_by_class[name]) for name, ps in mean_by_class]
    small = step_idle["small_ps"], step_idle["all_cores"]["small_ps"]
    return [*rows, (None, *small)] if small[1] else rows


def idle_table(step_idle: Document) -> tuple[list[Document], Document]:
    """The rows and the sums of the table of idle time by cause, for `step_idle` with idle time. Times are rounded so
    that they add up as printed; the class of the row for short gaps is None."""
    classes, means, totals = zip(*idle_rows(step_idle), strict=True)
    mean_ps, total_ps = step_idle["idle_ps"], step_idle["all_cores"]["idle_ps"]
    sums = {"idle_ps": mean_ps, "share": 1.0, "all_cores_ps": total_ps}
    precision_ps = {key: units.PS_PER[unit] // 1000 for key, unit in IDLE.time_units([sums]).items()}
    columns = zip(
        classes,
        units.rounded_parts(means, mean_ps, precision_ps["idle_ps"]),
        [ps / mean_ps for ps in means],
        units.rounded_parts(totals, total_ps, precision_ps["all_cores_ps"]),
        strict=True,
    )
    return [dict(zip(("class", *sums), row, strict=True)) for row in columns], sums


def joins_text(joins: Mapping[Any, int]) -> str:
    """How a program's runs were joined to launches: `exact`, or `exact 38, ordered 2` if the runs differ."""
    if len(joins) == 1:
        return str(next(iter(joins)))
    return ", ".join(f"{join} {units.count(runs)}" for join, runs in joins.items())
