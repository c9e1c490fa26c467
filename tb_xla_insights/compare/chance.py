"""How far apart two sessions' steps may be by chance alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median

FEW = 10
"""Fewer steps than this are said, whatever their spread."""

_ROBUST_FROM = 5
"""From so many numbers on their median deviation tells the spread; of fewer, two that happen to be close would."""

_T95 = ((1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (6, 2.447), (7, 2.365), (8, 2.306), (10, 2.228),
    (12, 2.179), (15, 2.131), (20, 2.086), (30, 2.042), (60, 2.000), (120, 1.980), (math.inf, 1.960))  # fmt: skip
"""Degrees of freedom, and within how many standard errors 95 of 100 means lie (Student's t)."""


def chance(a: Sequence[float], b: Sequence[float]) -> float | None:
    """The difference of two means that 95 of 100 pairs of samples without any difference stay below (Welch's test), in
    the samples' unit. None where one of them has fewer than two numbers: their spread is not known."""
    return _below(a, b, _variance)


def chance_of_medians(a: Sequence[float], b: Sequence[float]) -> float | None:
    """The same of two medians: their variance is pi / 2 times that of means, and the spread is told by deviations from
    the median, which one step that was compiled in does not widen."""
    return _below(a, b, lambda values: math.pi / 2 * _robust_variance(values))


def _below(
    a: Sequence[float], b: Sequence[float], variance: Callable[[Sequence[float]], float]
) -> float | None:
    if min(len(a), len(b)) < 2:
        return None
    errors = [variance(its) / len(its) for its in (a, b)]
    total = sum(errors)
    if not total:
        return 0.0
    parts = (error**2 / (len(its) - 1) for error, its in zip(errors, (a, b), strict=True))
    return quantile(total**2 / sum(parts)) * math.sqrt(total)


def quantile(freedom: float) -> float:
    """Student's t for two-sided 95 %, between tabled degrees of freedom by their inverse; from 1 degree up."""
    for (low, high_t), (high, low_t) in pairwise(_T95):
        if freedom <= high:
            part = (1 / max(freedom, low) - 1 / high) / (1 / low - 1 / high)
            return low_t + part * (high_t - low_t)
    return _T95[-1][1]


def _robust_variance(values: Sequence[float]) -> float:
    if len(values) < _ROBUST_FROM:
        return _variance(values)
    middle = median(values)
    return float(1.4826 * median(abs(value - middle) for value in values)) ** 2


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
