"""What the report of many hosts keeps of each: rows that it has itself, and a few numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tb_xla_insights.report.step_rows import StepRows

HOST_KEYS = (
    "session", "environment", "devices", "steps", "step_idle", "launching", "early_executions", "compiles",
    "transfers", "input_pipeline", "outside", "throughput", "findings", "mistakes",
)  # fmt: skip
"""Keys of a host's document whose rows stay rows of that host, or are small."""


@dataclass(frozen=True)
class HostPart:
    """One host's rows, on the session's time base; `rows` has the keys BY_HOST of its document. `number` counts the
    session's hosts, of which some may have one name."""

    number: int
    host: str
    rows: dict[str, Any]

    @property
    def steps(self) -> int:
        return len(self.rows["steps"])

    @cached_property
    def steps_ps(self) -> int:
        return int(self.rows["steps"].durations_ps().sum())

    @property
    def span_ps(self) -> int:
        """The spans of its devices."""
        return sum(device["span_ps"] for device in self.rows["devices"])


def shifted(value: Any, by_ps: int) -> Any:
    """A part of a document with every instant in it so much later: what stands under `start_ps` and `end_ps`, however
    deep. Everything else is a length and stays; what has no instant in it is not copied."""
    if not by_ps:
        return value
    if isinstance(value, StepRows):
        return value.shifted(by_ps=by_ps)
    if isinstance(value, list):
        rows = [shifted(it, by_ps) for it in value]
        return value if all(new is it for new, it in zip(rows, value, strict=True)) else rows
    if not isinstance(value, dict):
        return value
    changed = {}
    for key, it in value.items():
        new = it + by_ps if key in ("start_ps", "end_ps") and isinstance(it, int) else shifted(it, by_ps)
        if new is not it:
            changed[key] = new
    return value | changed if changed else value


def weighted_mean(values: Iterable[tuple[float | None, int]]) -> float | None:
    """The mean of values (0 for None) by their weights, added up exactly, so that their order does not matter; None
    where all are None or weigh nothing."""
    told = [(value, weight) for value, weight in values if weight]
    if all(value is None for value, _ in told):
        return None
    total = sum((Fraction(value or 0) * weight for value, weight in told), Fraction())
    return float(total / sum(weight for _, weight in told))


def weighted_median(values: Iterable[tuple[int, int]]) -> int:
    """The shorter one of the values in the middle, were each there as often as its weight says."""
    ordered = sorted(values)
    left = (sum(weight for _, weight in ordered) - 1) // 2
    for value, weight in ordered:
        if left < weight:
            return value
        left -= weight
    raise ValueError("no value weighs anything")
