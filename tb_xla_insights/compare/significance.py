"""Whether the steps of two sessions differ by more than chance: one permutation test for every figure that has a value
per step. (docs/definitions.md, "Comparison")"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from statistics import median_low
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05
"""A difference that chance alone makes more often than in this share of the cases may be chance."""

FEWEST = 4
"""Steps that both sessions need: with three in each, even the largest difference is made by chance in 2 of 20 cases."""

_EXACT = 20_000
"""Up to so many splits all are tried."""

_DRAWS, _FEWEST_DRAWS = 9_999, 999
_CELLS = 2_000_000
"""Splits times steps that are held at once: sessions of very many steps get fewer draws."""

_ROWS = 32
"""Figures that are tested at once, of many."""

_NEAR = 1e-9
"""Differences that are equal but for the rounding of sums."""

_SEED = 20_240_229

Bool = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """Durations of the steps of one session in ps, of all hosts, and per step the number of its *draw*, from 0: steps
    of several hosts that belong together wait for each other, and count as one draw."""

    durations_ps: Sequence[int]
    draw: Sequence[int]

    @property
    def draws(self) -> int:
        return max(self.draw, default=-1) + 1

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Steps:
        """From rows of the report's `steps`. Steps of the same number belong together (of those without one, or where
        numbers come again, the first of each host, the second of each, and so on)."""
        seen: Counter[tuple[str, int | None]] = Counter()
        numbers: dict[tuple[int | None, int], int] = {}
        durations, draw = [], []
        for row in rows:
            host, number = row["host"], row["number"]
            draw.append(numbers.setdefault((number, seen[host, number]), len(numbers)))
            seen[host, number] += 1
            durations.append(row["duration_ps"])
        return cls(durations, draw)

    @classmethod
    def usual(cls, rows: Sequence[Mapping[str, Any]]) -> Steps:
        """Without those in which something was compiled, where these are fewer than half: what happens in few steps
        makes no difference of medians, and hides none."""
        kept = [row for row in rows if not row["compiles"]]
        return cls.of(kept if 2 * len(kept) > len(rows) else rows)


@dataclass(frozen=True)
class PermutationResult:
    """`p`: how often chance alone makes a difference like that of the sessions, as a share; None where there are too
    few steps for any answer. `limit`: up to which difference it may be chance, in the values' unit; None where this one
    is not."""

    p: float | None = None
    limit: float | None = None

    @property
    def real(self) -> bool:
        """The difference is no chance."""
        return self.p is not None and self.p <= LEVEL


class PermutationTest:
    """Divides the draws of both sessions anew into two groups of the same sizes, in every way where these are few, else
    at random with a fixed seed. The answers are the same for A against B and for B against A."""

    def __init__(self, a: Steps, b: Steps) -> None:
        self.enough = min(a.draws, b.draws) >= FEWEST
        self._turned = (a.draws, a.durations_ps) > (b.draws, b.durations_ps)
        one, other = (b, a) if self._turned else (a, b)
        self._draw = np.array([*one.draw, *(one.draws + draw for draw in other.draw)], np.intp)
        self._sizes = one.draws, other.draws

    def of_means(self, a: Sequence[float], b: Sequence[float]) -> PermutationResult:
        """Tests the difference of two means; `a` and `b` have a value per step."""
        if not self.enough:
            return PermutationResult()
        apart = self._mean_differences(self._pooled(a, b))
        p = _p(apart)
        return PermutationResult(p, _limit(apart) if p > LEVEL else None)

    def of_many_means(self, a: Floats, b: Floats) -> list[PermutationResult]:
        """Tests the differences of many means at once; `a` and `b` have a row per figure and a column per step. `p` is
        how often chance alone makes a difference as large, in standard deviations of the figure over all steps, in this
        figure or in any of those that differ less (Westfall and Young's step-down test): so in 5 % of the cases any
        figure is called different that is not, however many there are. Limits are not told."""
        if not self.enough or not len(a):
            return [PermutationResult()] * len(a)
        values = np.hstack([b, a] if self._turned else [a, b])
        values = values - values.mean(axis=1, keepdims=True)
        spread = values.std(axis=1, keepdims=True)
        values = np.divide(values, spread, out=np.zeros_like(values), where=spread > 0)
        sums = np.zeros((len(values), sum(self._sizes)))
        np.add.at(sums.T, self._draw, values.T)
        every, weights = sums.sum(axis=1, keepdims=True), self._weights.T

        def apart(rows: NDArray[np.intp], splits: slice) -> Floats:
            first, count = sums[rows] @ weights[:, splits], self._counts[splits]
            return np.asarray(abs(first / count - (every[rows] - first) / (values.shape[1] - count)))

        own = apart(np.arange(len(values)), slice(1))[:, 0]
        order, p = np.argsort(own, kind="stable"), np.empty(len(values))
        largest = np.zeros(weights.shape[1])
        for rows in np.split(order, range(_ROWS, len(order), _ROWS)):
            reached = np.maximum.accumulate(np.vstack([largest, apart(rows, slice(None))]))
            p[rows] = (reached[1:] >= own[rows, None] * (1 - _NEAR)).mean(axis=1)
            largest = reached[-1]
        p[order] = np.maximum.accumulate(p[order][::-1])[::-1]
        return [PermutationResult(float(it)) for it in p]

    def of_medians(self, a: Sequence[float], b: Sequence[float]) -> PermutationResult:
        """Tests the difference of two medians by that of the mean ranks (Mann and Whitney's test, exact also where
        values are equal): no step counts for more than its place, and all steps count, as few may have a median that
        says little of them."""
        if not self.enough:
            return PermutationResult()
        values = self._pooled(a, b)
        _, place, times = np.unique(values, return_inverse=True, return_counts=True)
        p = _p(self._mean_differences((np.cumsum(times) - (times - 1) / 2)[place]))
        if p <= LEVEL:
            return PermutationResult(p)
        apart = self._median_differences(values)
        return PermutationResult(p, max(_limit(apart), abs(float(apart[0]))))

    def _mean_differences(self, values: Floats) -> Floats:
        """Per split, the first group's mean without the second's."""
        sums = np.bincount(self._draw, values, sum(self._sizes))
        first, count = self._weights @ sums, self._counts
        return np.asarray(first / count - (sums.sum() - first) / (len(values) - count))

    def _median_differences(self, values: Floats) -> Floats:
        """The same of medians, the smaller one of two values in the middle."""
        order = np.argsort(values, kind="stable")
        first = self._splits[:, self._draw[order]].cumsum(axis=1)
        second = np.arange(1, len(values) + 1) - first
        middles = [(below >= (below[:, -1:] + 1) // 2).argmax(axis=1) for below in (first, second)]
        return np.asarray(values[order][middles[0]] - values[order][middles[1]])

    def _pooled(self, a: Sequence[float], b: Sequence[float]) -> Floats:
        return np.array([*b, *a] if self._turned else [*a, *b], np.float64)

    @cached_property
    def _weights(self) -> Floats:
        """`_splits` as numbers, which are multiplied faster."""
        return self._splits.astype(np.float64)

    @cached_property
    def _counts(self) -> Floats:
        """Per split, how many values the first group has."""
        return np.asarray(self._weights @ np.bincount(self._draw).astype(np.float64))

    @cached_property
    def _splits(self) -> Bool:
        """Per split and draw, whether it is in the first group; the first split is the sessions' own."""
        one, other = self._sizes
        own = np.arange(one + other) < one
        if comb(one + other, one) <= _EXACT:
            chosen = np.array(list(combinations(range(one + other), one)))
            splits = np.zeros((len(chosen), len(own)), np.bool_)
            np.put_along_axis(splits, chosen, True, axis=1)
            return splits
        draws = max(_FEWEST_DRAWS, min(_DRAWS, _CELLS // len(self._draw)))
        drawn = np.random.default_rng(_SEED).permuted(np.tile(own, (draws, 1)), axis=1)
        return np.vstack([own, drawn])


def median_test(a: Steps, b: Steps, shown: float, sizes: tuple[float, float] = (1, 1)) -> PermutationResult:
    """The test of two medians of step times; with `sizes`, of times per sample. `shown` is the difference B - A of the
    figures, those of all steps: where the usual ones differ the other way round, they do not speak for it."""
    times = [[ps / size for ps in steps.durations_ps] for steps, size in zip((a, b), sizes, strict=True)]
    answer = PermutationTest(a, b).of_medians(*times)
    if answer.real and (median_low(times[1]) > median_low(times[0])) != (shown > 0):
        return PermutationResult(1.0, abs(shown))
    return answer


def _p(apart: Floats) -> float:
    """From the difference of each split's groups, the sessions' own first: twice the share of the splits that differ as
    much in the same direction, as step times are skewed."""
    slack = _NEAR * abs(apart[0])
    tails = (apart >= apart[0] - slack).mean(), (apart <= apart[0] + slack).mean()
    return min(1.0, 2 * float(min(tails)))


def _limit(apart: Floats) -> float:
    """The largest difference, in either direction, that would not be told from chance."""
    ordered, rank = np.sort(apart), int(LEVEL / 2 * len(apart))
    return float(max(-ordered[rank], ordered[-rank - 1]))
