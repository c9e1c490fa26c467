"""Figures of the report as people read them, whatever shows them: the four above everything else, the rows of the idle
time by cause, how runs were joined to their launches. (docs/definitions.md, "Work and idle time of a step")"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tb_xla_insights import units
from tb_xla_insights.analysis.thresholds import INFO_SHARE

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import Figure

Document = Mapping[str, Any]
_REASONS = {"no_device_work": "recorded no device work", "no_steps": "has no whole step"}


def headline_figures(report: Document) -> list[Figure]:
    """`duty`, `step`, `work`, `idle`: each with `value` (a share from 0 to 1, or ps; None where nothing tells it),
    `text` (as it is shown: work and idle time add up to the step, to the digit), `meaning`, and `note`, what is left
    out of it and why (None: nothing)."""
    devices, told = report["devices"], report["step_idle"]
    span, busy = (sum(device[key] for device in devices) for key in ("span_ps", "busy_ps"))
    duty = busy / span if span else None
    shown = iter(step_texts(told, 1))
    each = "per step and core" if told["steps"] else "per core, first to last run"
    note = left_out_note(told)
    rows: list[tuple[Literal["duty", "step", "work", "idle"], float | None, str, str, str | None]] = [
        ("duty", duty, units.share(duty), "duty cycle, first to last run", None),
        ("step", told["step_ps"], next(shown), _mean_step(told, report["hosts"]), note),
        ("work", told["work_ps"], next(shown), _work(told, each, _waits_for_hosts(report)), note),
        ("idle", told["idle_ps"], next(shown), f"idle {each}{_outside_runs(told)}", note),
    ]
    return [
        {"name": name, "value": value, "text": text, "meaning": meaning, "note": text_of_hosts}
        for name, value, text, meaning, text_of_hosts in rows
    ]


def step_texts(told: Document, decimals: int) -> tuple[str, str, str]:
    """The mean step (without steps a dash), work and idle time of `step_idle`, in one unit, rounded so that the last
    two still add up to the whole."""
    step, work, idle = (told[name] for name in ("step_ps", "work_ps", "idle_ps"))
    if work is None:
        return units.time_text(step, decimals), units.MISSING, units.MISSING
    unit = units.time_unit(work + idle)
    rounded = units.rounded_parts([work, idle], work + idle, units.PS_PER[unit] // 10**decimals)
    texts = [f"{units.time_in(ps, unit, decimals)}{units.THIN}{unit}" for ps in (work + idle, *rounded)]
    return units.MISSING if step is None else texts[0], texts[1], texts[2]


def step_count_text(each: Collection[int]) -> str:
    """How many steps hosts have, as `12 steps`, or `3 – 7 steps`."""
    number = " – ".join(units.count(it) for it in sorted({min(each), max(each)}))
    return f"{number} {'step' if max(each) == 1 else 'steps'}"


def steps_of_hosts_text(each: Collection[int]) -> str:
    """The same with the number of hosts: `12 steps of 16 hosts`."""
    return f"{step_count_text(each)} of {units.count(len(each))} hosts"


def _mean_step(told: Document, hosts: Sequence[Document]) -> str:
    step, median = told["step_ps"], told["median_ps"]
    if step is None:
        return "mean step: no whole step is recorded"
    unit = units.time_unit(step)
    apart = abs(step - median) > INFO_SHARE * max(step, median)
    usual = f" (median {units.time_in(median, unit, 1)})" if apart else ""
    each = [row["steps"] for row in hosts if row["steps"]]
    return f"mean step, {step_count_text(each if sum(each) == told['steps'] else [told['steps']])}{usual}"


def _work(told: Document, each: str, for_hosts_ps: int) -> str:
    """What the devices' work means, and how much of it is waiting, where that is worth telling: for other hosts, else
    for asynchronous ops."""
    work, stall = told["work_ps"], told["stall_ps"]
    waits = for_hosts_ps or stall
    if not work or waits < INFO_SHARE * work:
        return f"device work {each}"
    unit = units.time_unit(told["step_ps"] or work + told["idle_ps"])
    return f"{'busy' if for_hosts_ps else 'device work'} {each}, {units.time_in(min(waits, work), unit, 1)} of it waits"


def _outside_runs(told: Document) -> str:
    """How much of the idle time the duty cycle and the gaps leave out, where that is worth telling."""
    sums = told["all_cores"]
    if not sums or not sums["idle_ps"] or sums["edges_ps"] < INFO_SHARE * sums["idle_ps"]:
        return ""
    return f", {units.share(sums['edges_ps'] / sums['idle_ps'])} of it before or after all runs"


def _waits_for_hosts(report: Document) -> int:
    """For how long a host's devices wait in collectives for other hosts in a step, in the mean; 0 where hosts are not
    compared."""
    rows = [row for row in report["hosts"] if row["waits_ps"] is not None]
    steps = sum(row["steps"] for row in rows)
    return round(sum(row["waits_ps"] for row in rows) / steps) if steps else 0


def left_out_note(told: Document) -> str | None:
    """Which hosts are in none of the means, and why; None where all are."""
    hosts = told["left_out"]
    if not hosts:
        return None
    if not told["cores"]:
        return "No device work is recorded."
    names = [f"{row['host']} {_REASONS[row['reason']]}" for row in hosts[:3]]
    more = f", and {len(hosts) - 3} more hosts" if len(hosts) > 3 else ""
    return f"Left out: {', '.join(names)}{more}."


def idle_rows(told: Document) -> list[tuple[str | None, int, int]]:
    """What the devices' idle time consists of, the most first: class (None: in gaps under 10 us), mean per step and
    core, and time of all cores together, in ps. Empty where there is no idle time."""
    if not told["idle_ps"]:
        return []
    every = told["all_cores"]["by_class_ps"]
    rows: list[tuple[str | None, int, int]] = [
        (name, ps, every[name]) for name, ps in sorted(told["by_class_ps"].items(), key=lambda row: -row[1])
    ]
    small = told["small_ps"], told["all_cores"]["small_ps"]
    return [*rows, (None, *small)] if small[1] else rows


def joins_text(joins: Mapping[Any, int]) -> str:
    """How a program's runs were joined to their launches: `exact`, or `exact 38, ordered 2` where they differ."""
    if len(joins) == 1:
        return str(next(iter(joins)))
    return ", ".join(f"{join} {units.count(runs)}" for join, runs in joins.items())
