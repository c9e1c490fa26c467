"""The figures of two sessions, their differences, and which way is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.compare.session_totals import IDLE, Row, SessionTotals
from tb_xla_insights.compare.significance import PermutationResult, PermutationTest, median_test

if TYPE_CHECKING:
    from tb_xla_insights.schema.differences import ClassDifference, Judged, JudgedTimePair, Measure, TimePair

Value = float | int | None
Better = Literal["lower", "higher"]
Unit = Literal["ps", "share", "count", "rate"]
Verdict = Literal["better", "worse", "same", "chance", "few"]
_Number = TypeVar("_Number", int, float)


def paired(a: int | None, b: int | None) -> TimePair:
    """A time of both sessions, with `difference_ps` (b - a) and `ratio` (b / a); None where there is none."""
    return {"a_ps": a, "b_ps": b, "difference_ps": _difference(a, b), "ratio": _ratio(a, b)}


def judged(
    a: int | None, b: int | None, better: Better | None, tested: PermutationResult | None
) -> JudgedTimePair:
    """The pair with what the test of chance says of it."""
    return {**paired(a, b), **judgement(a, b, better, tested)}


def judgement(a: Value, b: Value, better: Better | None, tested: PermutationResult | None) -> Judged:
    """What the test of chance says of two values, None where they are no means of values per step to test.

    `p` is the test's, `chance` up to which share of A's value a difference may be chance (None where this one is not),
    and `verdict` `better`, `worse`, `same` (at most 3 % apart), `chance` (may be), `few` (too few steps to tell), or
    None where it was not tested or neither way is better.
    """
    verdict: Verdict | None
    if a is None or b is None or tested is None or better is None:
        verdict = None
    elif close(a, b):
        verdict = "same"
    elif tested.p is None:
        verdict = "few"
    elif not tested.real:
        verdict = "chance"
    else:
        verdict = "better" if (b > a) == (better == "higher") else "worse"
    limit = tested.limit if tested else None
    return {
        "better": better,
        "p": tested.p if tested else None,
        "chance": limit / a if limit is not None and a else None,
        "verdict": verdict,
    }


def _difference(a: _Number | None, b: _Number | None) -> _Number | None:
    return None if a is None or b is None else b - a


def _ratio(a: Value, b: Value) -> float | None:
    return None if a is None or b is None or not a else b / a


def close(a: float, b: float) -> bool:
    """As much as steps of one training differ from run to run."""
    return abs(b - a) <= INFO_SHARE * max(abs(a), abs(b))


def of_other_size(a: SessionTotals, b: SessionTotals) -> bool:
    """Steps take other numbers of samples: what a longer one takes more of is no fault then."""
    sizes = [side.throughput["samples_per_step"] for side in (a, b) if side.throughput]
    return len(sizes) == 2 and sizes[0] != sizes[1]


def way_of(a: SessionTotals, b: SessionTotals) -> Better | None:
    """Which way a time of a step is better."""
    return None if of_other_size(a, b) else "lower"


def measures(a: SessionTotals, b: SessionTotals, test: PermutationTest) -> list[Measure]:
    """The rows of the differences; those that are zero or unknown on both sides are left out, but for the step's.

    Times of steps, and what is counted in them, are per step; device work, idle time (both as in the report's
    `step_idle`) and overhead per step and core. What has a value per step is tested and judged, by the statistic that
    is shown; totals are shown without a verdict.
    """
    way = way_of(a, b)
    steps, reads = (_key(it) for it in ("duration_ps", "from_device"))
    executions, early, inputs = (_key(it) for it in ("executions", "early_syncs", "input_syncs"))

    def mean(
        name: str, label: str, value: Callable[[Row], int], unit: Unit = "ps", better: Better | None = way
    ) -> Measure:
        pair = (a.mean(value), b.mean(value)) if unit == "ps" else (_per_step(a, value), _per_step(b, value))
        return _row(name, label, unit, pair, better, test.of_means(a.each(value), b.each(value)))

    def on_device(name: str, label: str, key: str, value: Callable[[Row], int]) -> Measure:
        known = all(step["device_work_ps"] is not None for side in (a, b) for step in side.steps)
        tested = test.of_means(a.each(value), b.each(value)) if known else None
        return _row(name, label, "ps", (a.in_steps.get(key), b.in_steps.get(key)), way, tested)

    def total(
        name: str, label: str, unit: Unit, value: Callable[[SessionTotals], Value], better: Better = "lower"
    ) -> Measure:
        return _row(name, label, unit, (value(a), value(b)), better)

    median = median_test(a.usual, b.usual, (b.median_ps or 0) - (a.median_ps or 0))
    rows = [
        _row("step_median", "Step time, median", "ps", (a.median_ps, b.median_ps), way, median),
        mean("step_mean", "Step time, mean", steps),
        *_samples(a, b, test),
        on_device("device_per_step", "Device work per step and core", "work_ps", _key("device_work_ps")),
        mean("host_per_step", "Host work per step", _host_work),
        total("duty_cycle", "Duty cycle", "share", lambda it: _of_span(it, "busy_ps"), "higher"),
        on_device("idle_per_step", "Idle per step and core", "idle_ps", _idle_in),
        # Executions and input syncs are counted, not accused.
        mean("executions_per_step", "Executions per step", executions, "count", None),
        total("overhead_per_step", "Overhead per step and core", "ps", _overhead_per_step),
        total("overhead_per_run", "Overhead per execution", "ps", _overhead),
        total("compiles", "Compilations after warm-up", "count", lambda it: it.totals["compiles"]["after_warm_up"]),
        total("compile_time", "Time in compilations", "ps", lambda it: it.totals["compiles"]["duration_ps"]),
        mean("early_syncs", "Early syncs per step", early, "count"),
        mean("input_syncs", "Input syncs per step", inputs, "count", None),
        mean("reads", "Reads from the device per step", reads, "count"),
        total("stall_share", "Stalled share of device time", "share", lambda it: _of_span(it, "stall_ps")),
    ]  # fmt: skip
    first = ("step_median", "step_mean")
    return [
        row for row in rows if row["name"] in first or any(row.get(k) for k in ("a", "b", "a_ps", "b_ps"))
    ]


def _row(
    name: str,
    label: str,
    unit: Unit,
    pair: tuple[Value, Value],
    better: Better | None,
    tested: PermutationResult | None = None,
) -> Measure:
    a, b = pair
    said = judgement(a, b, better, tested)
    row: Measure = {
        "name": name,
        "label": label,
        "unit": unit,
        "ratio": _ratio(a, b),
        "better": said["better"],
        "p": said["p"],
        "chance": said["chance"],
        "verdict": said["verdict"],
    }
    if unit == "ps":
        row["a_ps"], row["b_ps"], row["difference_ps"] = a, b, _difference(a, b)
    else:
        row["a"], row["b"], row["difference"] = a, b, _difference(a, b)
    return row


def _samples(a: SessionTotals, b: SessionTotals, test: PermutationTest) -> list[Measure]:
    """Samples per second, tested by the time of a sample: that of steps of one size says the same as the step's."""
    median = mean = None
    if a.throughput and b.throughput:
        sizes = a.throughput["samples_per_step"], b.throughput["samples_per_step"]
        rate_a, rate_b = (it.throughput["samples_per_s"]["median"] for it in (a, b) if it.throughput)
        median = median_test(a.usual, b.usual, rate_a - rate_b, sizes)
        mean = test.of_means(
            *([ps / size for ps in side.drawn.durations_ps] for side, size in zip((a, b), sizes, strict=True))
        )
    rows = []
    kinds: tuple[tuple[Literal["median", "mean"], PermutationResult | None], ...] = (
        ("median", median),
        ("mean", mean),
    )
    for name, answer in kinds:
        one, other = (side.throughput["samples_per_s"][name] if side.throughput else None for side in (a, b))
        told = answer and PermutationResult(answer.p)  # its limit is one of times
        rows.append(
            _row(f"samples_{name}", f"Samples per second, {name}", "rate", (one, other), "higher", told)
        )
    return rows


def classes(a: SessionTotals, b: SessionTotals, test: PermutationTest) -> list[ClassDifference]:
    """Mean host time per step by class, the largest difference first; the columns add up to the mean steps."""
    rows: list[ClassDifference] = []
    for name in {**a.class_means, **b.class_means}:
        # More waiting is no fault of the host's.
        way = None if name in IDLE else way_of(a, b)
        tested = test.of_means(a.each(_host(name)), b.each(_host(name)))
        rows.append(
            {"class": name, **judged(a.class_means.get(name, 0), b.class_means.get(name, 0), way, tested)}
        )
    return sorted(rows, key=lambda row: -abs(row["difference_ps"] or 0))


def _key(name: str) -> Callable[[Row], int]:
    return lambda step: step[name]


def _host(name: str) -> Callable[[Row], int]:
    return lambda step: step["host_ps"].get(name, 0)


def _host_work(step: Row) -> int:
    return sum(ps for name, ps in step["host_ps"].items() if name not in IDLE)


def _per_step(side: SessionTotals, value: Callable[[Row], int]) -> float | None:
    return sum(side.each(value)) / len(side.steps) if side.steps else None


def _of_span(side: SessionTotals, key: Literal["busy_ps", "stall_ps"]) -> float | None:
    return side.totals["devices"][key] / side.span_ps if side.span_ps else None


def _idle_in(step: Row) -> int:
    return int(step["duration_ps"] - step["device_work_ps"])


def _cost(side: SessionTotals, key: Literal["overhead_ps", "count"]) -> int:
    return int(side.totals["executions"][key])


def _overhead_per_step(side: SessionTotals) -> int | None:
    return side.per_step(_cost(side, "overhead_ps"))


def _overhead(side: SessionTotals) -> int | None:
    count = _cost(side, "count")
    return round(_cost(side, "overhead_ps") / count) if count else None
