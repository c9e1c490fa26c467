"""The figures of two sessions, their differences, and which way is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.compare.chance import chance, chance_of_medians
from tb_xla_insights.compare.side import IDLE, Row, Side

Value = float | int | None


def paired(a: Value, b: Value, end: str = "_ps") -> dict[str, Any]:
    """`a`, `b`, `difference` (b - a), all with the ending `end`, and `ratio` (b / a); None where there is none."""
    difference = ratio = None
    if a is not None and b is not None:
        difference, ratio = b - a, b / a if a else None
    return {f"a{end}": a, f"b{end}": b, f"difference{end}": difference, "ratio": ratio}


def judged(
    pair: dict[str, Any], better: str | None, by_chance: float | None, end: str = "_ps"
) -> dict[str, Any]:
    """The pair with `chance` (below which share of A's value a difference may be chance) and `verdict`: `better`,
    `worse`, `same` (less than 3 % apart), `chance` (may be), or None where there is nothing to judge."""
    a, b, difference = (pair[f"{name}{end}"] for name in ("a", "b", "difference"))
    share = by_chance / a if by_chance is not None and a else None
    if difference is None or better is None:
        verdict = None
    elif abs(difference) <= INFO_SHARE * max(abs(a), abs(b)):
        verdict = "same"
    elif by_chance is not None and abs(difference) <= by_chance:
        verdict = "chance"
    else:
        verdict = "better" if (difference > 0) == (better == "higher") else "worse"
    return {**pair, "better": better, "chance": share, "verdict": verdict}


def measures(a: Side, b: Side) -> list[dict[str, Any]]:
    """The rows of the differences; those that are zero or unknown on both sides are left out, but for the step's.

    Times of steps, and what is counted in them, are per step; device work, idle time and overhead per step and core,
    the first two as the report's `step_idle` has them.
    """
    per_step = [
        ("step_mean", "Step time, mean", _key("duration_ps")),
        ("host_per_step", "Host work per step", _host_work),
    ]
    whole: list[tuple[str, str, str, Callable[[Side], Value]]] = [
        ("executions_per_step", "Executions per step", "count", lambda it: it.runs_per_step),
        (
            "overhead_per_step",
            "Overhead per step and core",
            "ps",
            lambda it: it.per_step(_cost(it, "overhead_ps")),
        ),
        ("overhead_per_run", "Overhead per execution", "ps", _overhead),
        (
            "compiles",
            "Compilations after warm-up",
            "count",
            lambda it: it.totals["compiles"]["after_warm_up"],
        ),
        ("compile_time", "Time in compilations", "ps", lambda it: it.totals["compiles"]["duration_ps"]),
        ("early_syncs", "Early syncs per step", "count", _each_step("early_syncs")),
        ("input_syncs", "Input syncs per step", "count", _each_step("input_syncs")),
        ("reads", "Reads from the device per step", "count", _each_step("from_device")),
        ("stall_share", "Stalled share of device time", "share", lambda it: _of_span(it, "stall_ps")),
    ]
    by_chance = chance_of_medians(*(it.each(_key("duration_ps")) for it in (a, b)))
    rows = [
        _row("step_median", "Step time, median", "ps", (a.median_ps, b.median_ps), by_chance),
        *(
            _row(name, label, "ps", (a.mean(it), b.mean(it)), _spread(a, b, it))
            for name, label, it in per_step
        ),
        _row(
            "duty_cycle",
            "Duty cycle",
            "share",
            (_of_span(a, "busy_ps"), _of_span(b, "busy_ps")),
            better="higher",
        ),
        *(
            _row(name, label, "ps", (a.in_steps.get(key), b.in_steps.get(key)), chance(*its))
            for name, label, key, its in (
                ("device_per_step", "Device work per step and core", "work_ps", [_work(a), _work(b)]),
                ("idle_per_step", "Idle per step and core", "idle_ps", [_idle(a), _idle(b)]),
            )
        ),
        *(
            # Input syncs are counted, not accused.
            _row(name, label, unit, (it(a), it(b)), better=None if name == "input_syncs" else "lower")
            for name, label, unit, it in whole
        ),
    ]
    steps = ("step_median", "step_mean")
    return [
        row for row in rows if row["name"] in steps or any(row.get(k) for k in ("a", "b", "a_ps", "b_ps"))
    ]


def _row(
    name: str,
    label: str,
    unit: str,
    pair: tuple[Value, Value],
    by_chance: float | None = None,
    better: str | None = "lower",
) -> dict[str, Any]:
    end = "_ps" if unit == "ps" else ""
    return {"name": name, "label": label, "unit": unit, **judged(paired(*pair, end), better, by_chance, end)}


def _spread(a: Side, b: Side, value: Callable[[Row], int]) -> float | None:
    return chance(a.each(value), b.each(value))


def classes(a: Side, b: Side) -> list[dict[str, Any]]:
    """Mean host time per step by class, the largest difference first; the columns add up to the mean steps."""
    rows = []
    for name in {**a.class_means, **b.class_means}:
        pair = paired(a.class_means.get(name, 0), b.class_means.get(name, 0))
        way = None if name in IDLE else "lower"  # more waiting is no fault of the host's
        # A compilation in few steps is an event of its own, and no spread of what every step does.
        by_chance = None if name == "compile" else _spread(a, b, _host(name))
        rows.append({"class": name, **judged(pair, way, by_chance)})
    return sorted(rows, key=lambda row: -abs(row["difference_ps"]))


def _key(name: str) -> Callable[[Row], int]:
    return lambda step: step[name]


def _host(name: str) -> Callable[[Row], int]:
    return lambda step: step["host_ps"].get(name, 0)


def _host_work(step: Row) -> int:
    return sum(ps for name, ps in step["host_ps"].items() if name not in IDLE)


def _each_step(name: str) -> Callable[[Side], Value]:
    return lambda side: side.totals["steps"][name] / len(side.steps) if side.steps else None


def _of_span(side: Side, key: str) -> float | None:
    return side.totals["devices"][key] / side.span_ps if side.span_ps else None


def _worked(side: Side) -> list[Row]:
    """Steps of hosts whose devices recorded work."""
    return [step for step in side.steps if step["device_work_ps"] is not None]


def _work(side: Side) -> list[int]:
    return [step["device_work_ps"] for step in _worked(side)]


def _idle(side: Side) -> list[int]:
    return [step["duration_ps"] - step["device_work_ps"] for step in _worked(side)]


def _cost(side: Side, key: str) -> int:
    return int(side.totals["executions"][key])


def _overhead(side: Side) -> int | None:
    count = _cost(side, "count")
    return round(_cost(side, "overhead_ps") / count) if count else None
