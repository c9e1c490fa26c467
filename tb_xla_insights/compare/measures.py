"""Computes the figures of two sessions, their differences, and which direction is better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.compare.executions import ExecutionPair
from tb_xla_insights.compare.session_totals import IDLE_CLASSES, Row, SessionTotals
from tb_xla_insights.compare.significance import PermutationResult, PermutationTest, median_test

if TYPE_CHECKING:
    from tb_xla_insights.schema.differences import (
        BetterDirection,
        ClassDifference,
        Measure,
        MeasureUnit,
        Tested,
        TestedTimePair,
        TestVerdict,
        TimePair,
    )

Value = float | int | None
_Number = TypeVar("_Number", int, float)


def time_pair(a: int | None, b: int | None) -> TimePair:
    """Returns a time of both sessions, with `difference_ps` (b - a) and `ratio` (b / a); None if one is missing."""
    return {"a_ps": a, "b_ps": b, "difference_ps": _difference(a, b), "ratio": _ratio(a, b)}


def sum_of_times(rows: Iterable[Mapping[str, Any]]) -> TimePair:
    """Returns the sum of times of both sessions; None where no row has one."""
    times = [(row["a_ps"], row["b_ps"]) for row in rows]
    columns = ([pair[side] for pair in times] for side in range(2))
    a, b = (None if set(column) == {None} else sum(time or 0 for time in column) for column in columns)
    return time_pair(a, b)


def judged_time_pair(
    a: int | None, b: int | None, better: BetterDirection | None, result: PermutationResult | None
) -> TestedTimePair:
    """Returns the pair with its judgement."""
    return {**time_pair(a, b), **judgement(a, b, better, result)}


def judgement(a: Value, b: Value, better: BetterDirection | None, result: PermutationResult | None) -> Tested:
    """Returns the judgement of two values. `result`: of the permutation test, None if they have no values per step.

    `p` is the test's. `chance`: the largest difference that may be chance, as a share of A's value; None if this
    difference is not. `verdict`: `better`, `worse`, `same` (at most 3 % apart), `chance` (may be chance), `few` (too
    few steps), or None if it was not tested or neither direction is better.
    """
    verdict: TestVerdict | None
    if a is None or b is None or result is None or better is None:
        verdict = None
    elif is_same(a, b):
        verdict = "same"
    elif result.p is None:
        verdict = "few"
    elif not result.is_significant:
        verdict = "chance"
    else:
        verdict = "better" if (b > a) == (better == "higher") else "worse"
    limit = result.limit if result else None
    return {
        "better": better,
        "p": result.p if result else None,
        "chance": limit / a if limit is not None and a else None,
        "verdict": verdict,
    }


def _difference(a: _Number | None, b: _Number | None) -> _Number | None:
    return None if a is None or b is None else b - a


def _ratio(a: Value, b: Value) -> float | None:
    return None if a is None or b is None or not a else b / a


def is_same(a: float, b: float) -> bool:
    """Whether two values differ by at most INFO_SHARE, as steps of one training do from run to run."""
    return abs(b - a) <= INFO_SHARE * max(abs(a), abs(b))


def differ_in_setup(a: SessionTotals, b: SessionTotals) -> bool:
    """Whether the sessions ran on other devices or with another framework."""
    return bool(a.report["environment"]["label"] != b.report["environment"]["label"])


def differ_in_step_size(a: SessionTotals, b: SessionTotals) -> bool:
    """Whether steps of the sessions take different numbers of samples: a longer step is then not worse."""
    sizes = [session.throughput["samples_per_step"] for session in (a, b) if session.throughput]
    return len(sizes) == 2 and sizes[0] != sizes[1]


def better_step_time(a: SessionTotals, b: SessionTotals) -> BetterDirection | None:
    """Returns which direction of a time per step is better; None if neither is."""
    return None if differ_in_step_size(a, b) else "lower"


def measure_rows(
    a: SessionTotals, b: SessionTotals, test: PermutationTest, pair: ExecutionPair | None
) -> list[Measure]:
    """Returns the rows of the figures, those of the executions of `pair` first. Rows that are zero or unknown on both
    sides are left out, except for known times of steps and runs.

    Times and counts of steps are per step; device work, idle time (both as in the report's `step_idle`) and overhead
    are per step and core. Figures with a value per step are tested and judged: means by the difference of means,
    medians by that of mean ranks, without the steps that compiled if these are few (`median_test`). Totals have no
    verdict.
    """
    better_time = better_step_time(a, b)

    def step_mean(
        name: str,
        label: str,
        value: Callable[[Row], int],
        unit: MeasureUnit = "ps",
        better: BetterDirection | None = better_time,
    ) -> Measure:
        pair = (
            (a.rounded_mean(value), b.rounded_mean(value))
            if unit == "ps"
            else (_exact_mean(a, value), _exact_mean(b, value))
        )
        return _row(name, label, unit, pair, better, test.test_means(a.values(value), b.values(value)))

    def per_core(name: str, label: str, key: str, value: Callable[[Row], int]) -> Measure:
        is_known = all(a.has_device_work + b.has_device_work)
        result = test.test_means(a.values(value), b.values(value)) if is_known else None
        return _row(name, label, "ps", (a.step_idle.get(key), b.step_idle.get(key)), better_time, result)

    def total(
        name: str,
        label: str,
        unit: MeasureUnit,
        value: Callable[[SessionTotals], Value],
        better: BetterDirection = "lower",
    ) -> Measure:
        return _row(name, label, unit, (value(a), value(b)), better)

    shown_difference = (b.median_ps or 0) - (a.median_ps or 0)
    median_result = median_test(a.sample_without_compiles, b.sample_without_compiles, shown_difference)
    rows = [
        _row("step_median", "Step time, median", "ps", (a.median_ps, b.median_ps), better_time, median_result),
        step_mean("step_mean", "Step time, mean", _value_of("duration_ps")),
        *_sample_rows(a, b, test),
        per_core("device_per_step", "Device work per step and core", "work_ps", _value_of("device_work_ps")),
        step_mean("host_per_step", "Host work per step", _host_work_ps),
        total("duty_cycle", "Duty cycle", "share", _duty_cycle, "higher"),
        per_core("idle_per_step", "Idle per step and core", "idle_ps", _idle_ps),
        # Executions and input syncs are counted, but neither direction is better.
        step_mean("executions_per_step", "Executions per step", _value_of("executions"), "count", None),
        total("overhead_per_step", "Overhead per step and core", "ps", lambda side: side.overhead_per_step_ps),
        total("overhead_per_run", "Overhead per run", "ps", _overhead_per_run),
        total("compiles", "Compilations after warm-up", "count", _compiles_after_warm_up),
        total("compile_time", "Time in compilations", "ps", _compile_time_ps),
        step_mean("early_syncs", "Early syncs per step", _value_of("early_syncs"), "count"),
        step_mean("input_syncs", "Input syncs per step", _value_of("input_syncs"), "count", None),
        step_mean("reads", "Reads from the device per step", _value_of("from_device"), "count"),
        total("stall_share", "Stalled share of the devices’ spans", "share", _stall_share),
    ]  # fmt: skip
    rows = [*(_execution_rows(a, b, pair) if pair else []), *rows]
    times, values = ("step_median", "step_mean", "run_median"), ("a", "b", "a_ps", "b_ps")
    return [
        row
        for row in rows
        if any(row.get(key) or (row["name"] in times and row.get(key) is not None) for key in values)
    ]


def _execution_rows(a: SessionTotals, b: SessionTotals, pair: ExecutionPair) -> list[Measure]:
    """Returns the rows of a program's executions: medians and means of their times, the parts of the means, and the
    number of ops."""
    better = better_step_time(a, b)
    times = a.mean_times(pair.program), b.mean_times(pair.program_b)
    label = "Time of a run without queue" if pair.overheads_ps else "Device time of a run"
    keys = ("device_ps", "overhead_ps") if pair.overheads_ps else ("device_ps",)
    mean_a, mean_b = (sum(mean[key] or 0 for key in keys) for mean in times)

    def part(name: str, label: str, key: str, result: PermutationResult | None) -> Measure:
        return _row(name, label, "ps", (times[0][key], times[1][key]), better if result else None, result)

    rows = [
        _row("run_median", f"{label}, median", "ps", pair.medians_ps, better, pair.test_median()),
        _row("run_mean", f"{label}, mean", "ps", (mean_a, mean_b), better, pair.test_mean()),
    ]
    if pair.overheads_ps:
        rows.append(part("run_device", "Device time of a run", "device_ps", pair.test_device_time()))
        rows.append(part("run_overhead", "Overhead of a run", "overhead_ps", pair.test_overhead()))
    rows.append(part("run_queue", "Queue time of a run", "queue_ps", None))
    ops = a.ops_per_run(pair.program), b.ops_per_run(pair.program_b)
    return [*rows, _row("run_ops", "Ops of a run", "count", ops, None)]


def _row(
    name: str,
    label: str,
    unit: MeasureUnit,
    pair: tuple[Value, Value],
    better: BetterDirection | None,
    result: PermutationResult | None = None,
) -> Measure:
    a, b = pair
    judged = judgement(a, b, better, result)
    row: Measure = {
        "name": name,
        "label": label,
        "unit": unit,
        "ratio": _ratio(a, b),
        "better": judged["better"],
        "p": judged["p"],
        "chance": judged["chance"],
        "verdict": judged["verdict"],
    }
    if unit == "ps":
        a_ps, b_ps = (None if value is None else round(value) for value in pair)
        row["a_ps"], row["b_ps"], row["difference_ps"] = a_ps, b_ps, _difference(a_ps, b_ps)
    else:
        row["a"], row["b"], row["difference"] = a, b, _difference(a, b)
    return row


def _sample_rows(a: SessionTotals, b: SessionTotals, test: PermutationTest) -> list[Measure]:
    """Returns the rows of samples per second, tested by the time per sample. With steps of one size, the result is that
    of the step times."""
    median_result = mean_result = None
    if a.throughput and b.throughput:
        sizes = a.throughput["samples_per_step"], b.throughput["samples_per_step"]
        rate_a, rate_b = (
            throughput["samples_per_s"]["median"] for throughput in (a.throughput, b.throughput)
        )
        median_result = median_test(
            a.sample_without_compiles, b.sample_without_compiles, rate_a - rate_b, sizes
        )
        times_a, times_b = (
            [duration / size for duration in session.sample.durations_ps]
            for session, size in zip((a, b), sizes, strict=True)
        )
        mean_result = test.test_means(times_a, times_b)
    results: tuple[tuple[Literal["median", "mean"], PermutationResult | None], ...] = (
        ("median", median_result),
        ("mean", mean_result),
    )
    rows = []
    for name, result in results:
        pair_a, pair_b = (
            session.throughput["samples_per_s"][name] if session.throughput else None for session in (a, b)
        )
        without_limit = result and PermutationResult(result.p)  # its limit is a time, not a rate
        label = f"Samples per second, {name}"
        rows.append(_row(f"samples_{name}", label, "rate", (pair_a, pair_b), "higher", without_limit))
    return rows


def class_rows(a: SessionTotals, b: SessionTotals, test: PermutationTest) -> list[ClassDifference]:
    """Returns the mean host time per step by class, the largest difference first; columns add up to the mean steps. The
    times of a session without steps are None."""
    means_a, means_b = (session.class_means if session.steps else None for session in (a, b))
    rows: list[ClassDifference] = []
    for name in {**a.class_means, **b.class_means}:
        # A host that waits longer is neither better nor worse.
        better = None if name in IDLE_CLASSES else better_step_time(a, b)
        result = test.test_means(a.values(_class_time(name)), b.values(_class_time(name)))
        mean_a, mean_b = (None if means is None else means.get(name, 0) for means in (means_a, means_b))
        rows.append({"class": name, **judged_time_pair(mean_a, mean_b, better, result)})
    return sorted(rows, key=lambda row: -abs((row["b_ps"] or 0) - (row["a_ps"] or 0)))


def _value_of(name: str) -> Callable[[Row], int]:
    return lambda step: step[name]


def _class_time(name: str) -> Callable[[Row], int]:
    return lambda step: step["host_ps"].get(name, 0)


def _host_work_ps(step: Row) -> int:
    return sum(time for name, time in step["host_ps"].items() if name not in IDLE_CLASSES)


def _exact_mean(session: SessionTotals, value: Callable[[Row], int]) -> float | None:
    return sum(session.values(value)) / len(session.steps) if session.steps else None


def _duty_cycle(session: SessionTotals) -> float | None:
    return session.totals["devices"]["busy_ps"] / session.span_ps if session.span_ps else None


def _stall_share(session: SessionTotals) -> float | None:
    return session.totals["devices"]["stall_ps"] / session.span_ps if session.span_ps else None


def _compiles_after_warm_up(session: SessionTotals) -> int:
    return session.totals["compiles"]["after_warm_up"]


def _compile_time_ps(session: SessionTotals) -> int:
    return session.totals["compiles"]["duration_ps"]


def _idle_ps(step: Row) -> int:
    return int(step["duration_ps"] - step["device_work_ps"])


def _overhead_per_run(session: SessionTotals) -> int | None:
    overhead_ps, runs = session.overhead
    return round(overhead_ps / runs) if runs else None
