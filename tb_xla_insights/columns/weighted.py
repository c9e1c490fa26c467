"""Weighted means and medians."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction


def weighted_mean(values: Iterable[tuple[float | None, int]]) -> float | None:
    """The mean of `(value, weight)` pairs, with None as 0, summed exactly so that the order does not matter. None if
    all values are None or have no weight."""
    pairs = [(value, weight) for value, weight in values if weight]
    if all(value is None for value, _ in pairs):
        return None
    total = sum((Fraction(value or 0) * weight for value, weight in pairs), Fraction())
    return float(total / sum(weight for _, weight in pairs))


def weighted_median(values: Iterable[tuple[int, int]]) -> int:
    """The median of `(value, weight)` pairs, as if each value occurred `weight` times; the lower one of two in the
    middle. Raises ValueError if no value has a weight."""
    ordered = sorted(values)
    remaining = (sum(weight for _, weight in ordered) - 1) // 2
    for value, weight in ordered:
        if remaining < weight:
            return value
        remaining -= weight
    raise ValueError("no value has a weight")
