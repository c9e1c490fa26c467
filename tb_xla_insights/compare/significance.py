"""Tests whether the steps of two sessions differ by more than chance: one permutation test for every figure that has a
value per step. (docs/definitions.md, "Comparison")"""

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

from tb_xla_insights.arrays import Float64

SIGNIFICANCE_LEVEL = 0.05
"""A difference may be chance if its p-value is above this."""

MIN_STEPS = 4
"""Steps that both sessions need: with three in each, chance makes even the largest difference in 2 of 20 cases."""

_MAX_EXACT_SPLITS = 20_000
"""Up to this many splits, all are tried."""

_MAX_RANDOM_SPLITS, _MIN_RANDOM_SPLITS = 9_999, 999

_MAX_CELLS = 2_000_000
"""Splits times steps in memory at once: sessions of very many steps get fewer random splits, but at least
_MIN_RANDOM_SPLITS."""

_FIGURES_AT_ONCE = 32
"""Figures that `test_many_means` tests at once."""

_TOLERANCE = 1e-9
"""The relative difference up to which two differences count as equal: sums are rounded."""

_SEED = 20_240_229

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class StepSample:
    """The steps of one session, of all hosts: `durations_ps`, and per step the number of its *block*, from 0. Steps of
    several hosts that belong together wait for each other: they form a block, which the test moves as a whole."""

    durations_ps: Sequence[int]
    block: Sequence[int]

    @property
    def block_count(self) -> int:
        return max(self.block, default=-1) + 1

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> StepSample:
        """Builds a sample from rows of the report's `steps`. Steps of the same number form a block. Of steps without a
        number, or with a repeated one, the first ones of all hosts form a block, then the second ones, and so on."""
        repetitions: Counter[tuple[str, int | None]] = Counter()
        blocks: dict[tuple[int | None, int], int] = {}
        durations, block = [], []
        for row in rows:
            host, number = row["host"], row["number"]
            block.append(blocks.setdefault((number, repetitions[host, number]), len(blocks)))
            repetitions[host, number] += 1
            durations.append(row["duration_ps"])
        return cls(durations, block)

    @classmethod
    def without_compiles(cls, rows: Sequence[Mapping[str, Any]]) -> StepSample:
        """Builds a sample without the steps that compiled something, if these are fewer than half: few exceptional
        steps neither make nor hide a difference of medians."""
        without_compiles = [row for row in rows if not row["compiles"]]
        return cls.from_rows(without_compiles if 2 * len(without_compiles) > len(rows) else rows)


@dataclass(frozen=True)
class PermutationResult:
    """`p`: the probability that chance alone causes such a difference; None if there are too few steps. `limit`: the
    largest difference that may be chance, in the values' unit; None if the tested one is not chance."""

    p: float | None = None
    limit: float | None = None

    @property
    def is_significant(self) -> bool:
        return self.p is not None and self.p <= SIGNIFICANCE_LEVEL


class PermutationTest:
    """Splits the blocks of both sessions into two groups of the same sizes: in every way if these are few, else at
    random with a fixed seed. Results are the same for A against B and for B against A."""

    def __init__(self, a: StepSample, b: StepSample) -> None:
        self.has_enough_steps = min(a.block_count, b.block_count) >= MIN_STEPS
        self._is_swapped = (a.block_count, a.durations_ps) > (b.block_count, b.durations_ps)
        first, second = (b, a) if self._is_swapped else (a, b)
        self._block = np.array(
            [*first.block, *(first.block_count + block for block in second.block)], np.intp
        )
        self._block_counts = first.block_count, second.block_count

    def test_means(self, a: Sequence[float], b: Sequence[float]) -> PermutationResult:
        """Tests the difference of two means; `a` and `b` have a value per step."""
        if not self.has_enough_steps:
            return PermutationResult()
        differences = self._mean_differences(self._pool(a, b))
        p = _p_value(differences)
        return PermutationResult(p, _chance_limit(differences) if p > SIGNIFICANCE_LEVEL else None)

    def test_many_means(self, a: Float64, b: Float64) -> list[PermutationResult]:
        """Tests the differences of many means at once; `a` and `b` have a row per figure and a column per step.

        Differences are in standard deviations of the figure over all steps. `p` is the share of splits with as large a
        difference in this figure or in any that differs less (Westfall and Young's step-down test). So only in 5 % of
        the cases is any figure wrongly called different, however many there are. Results have no limits.
        """
        if not self.has_enough_steps or not len(a):
            return [PermutationResult()] * len(a)
        values = np.hstack([b, a] if self._is_swapped else [a, b])
        values = values - values.mean(axis=1, keepdims=True)
        spread = values.std(axis=1, keepdims=True)
        values = np.divide(values, spread, out=np.zeros_like(values), where=spread > 0)
        block_sums = np.zeros((len(values), sum(self._block_counts)))
        np.add.at(block_sums.T, self._block, values.T)
        totals, weights = block_sums.sum(axis=1, keepdims=True), self._weights.T

        def differences(rows: NDArray[np.intp], splits: slice) -> Float64:
            first, count = block_sums[rows] @ weights[:, splits], self._first_counts[splits]
            return np.asarray(abs(first / count - (totals[rows] - first) / (values.shape[1] - count)))

        observed = differences(np.arange(len(values)), slice(1))[:, 0]
        order, p = np.argsort(observed, kind="stable"), np.empty(len(values))
        largest = np.zeros(weights.shape[1])
        for rows in np.split(order, range(_FIGURES_AT_ONCE, len(order), _FIGURES_AT_ONCE)):
            maxima = np.maximum.accumulate(np.vstack([largest, differences(rows, slice(None))]))
            p[rows] = (maxima[1:] >= observed[rows, None] * (1 - _TOLERANCE)).mean(axis=1)
            largest = maxima[-1]
        p[order] = np.maximum.accumulate(p[order][::-1])[::-1]
        return [PermutationResult(float(value)) for value in p]

    def test_medians(self, a: Sequence[float], b: Sequence[float]) -> PermutationResult:
        """Tests the difference of two medians by that of the mean ranks (Mann and Whitney's test, exact also with equal
        values). No step counts for more than its rank, and all steps count; the medians themselves would ignore all
        steps but one or two."""
        if not self.has_enough_steps:
            return PermutationResult()
        values = self._pool(a, b)
        _, index, count = np.unique(values, return_inverse=True, return_counts=True)
        mean_ranks = (np.cumsum(count) - (count - 1) / 2)[index]
        p = _p_value(self._mean_differences(mean_ranks))
        if p <= SIGNIFICANCE_LEVEL:
            return PermutationResult(p)
        differences = self._median_differences(values)
        return PermutationResult(p, max(_chance_limit(differences), abs(float(differences[0]))))

    def _mean_differences(self, values: Float64) -> Float64:
        """Returns, per split, the first group's mean minus the second's."""
        block_sums = np.bincount(self._block, values, sum(self._block_counts))
        first, count = self._weights @ block_sums, self._first_counts
        return np.asarray(first / count - (block_sums.sum() - first) / (len(values) - count))

    def _median_differences(self, values: Float64) -> Float64:
        """Returns, per split, the first group's lower median minus the second's."""
        order = np.argsort(values, kind="stable")
        first = self._splits[:, self._block[order]].cumsum(axis=1)
        second = np.arange(1, len(values) + 1) - first
        medians = [(rank >= (rank[:, -1:] + 1) // 2).argmax(axis=1) for rank in (first, second)]
        return np.asarray(values[order][medians[0]] - values[order][medians[1]])

    def _pool(self, a: Sequence[float], b: Sequence[float]) -> Float64:
        return np.array([*b, *a] if self._is_swapped else [*a, *b], np.float64)

    @cached_property
    def _weights(self) -> Float64:
        """`_splits` as numbers, which are multiplied faster."""
        return self._splits.astype(np.float64)

    @cached_property
    def _first_counts(self) -> Float64:
        """Per split, the number of steps in the first group."""
        return np.asarray(self._weights @ np.bincount(self._block).astype(np.float64))

    @cached_property
    def _splits(self) -> Bools:
        """Per split and block, whether it is in the first group; the first split is that of the sessions."""
        first, second = self._block_counts
        observed = np.arange(first + second) < first
        if comb(first + second, first) <= _MAX_EXACT_SPLITS:
            members = np.array(list(combinations(range(first + second), first)))
            splits = np.zeros((len(members), len(observed)), np.bool_)
            np.put_along_axis(splits, members, True, axis=1)
            return splits
        count = max(_MIN_RANDOM_SPLITS, min(_MAX_RANDOM_SPLITS, _MAX_CELLS // len(self._block)))
        permuted = np.random.default_rng(_SEED).permuted(np.tile(observed, (count, 1)), axis=1)
        return np.vstack([observed, permuted])


def median_test(
    a: StepSample, b: StepSample, shown_difference: float, sizes: tuple[float, float] = (1, 1)
) -> PermutationResult:
    """Tests two medians of step times; with `sizes`, of times per sample.

    `shown_difference` is B - A of the figures on display, which are of all steps. If the tested steps differ the other
    way round, they are no evidence for it: the result is p = 1.
    """
    times = [
        [duration / size for duration in sample.durations_ps]
        for sample, size in zip((a, b), sizes, strict=True)
    ]
    result = PermutationTest(a, b).test_medians(*times)
    if not result.is_significant or (median_low(times[1]) - median_low(times[0])) * shown_difference >= 0:
        return result
    return PermutationResult(1.0, abs(shown_difference))


def _p_value(differences: Float64) -> float:
    """Returns twice the share of the splits that differ at least as much as the sessions, in the same direction: step
    times are skewed, so the other direction is not its mirror image. `differences`: per split, that of the sessions
    first."""
    tolerance = _TOLERANCE * abs(differences[0])
    tails = (
        (differences >= differences[0] - tolerance).mean(),
        (differences <= differences[0] + tolerance).mean(),
    )
    return min(1.0, 2 * float(min(tails)))


def _chance_limit(differences: Float64) -> float:
    """Returns the largest difference, in either direction, that would not be significant."""
    ordered, rank = np.sort(differences), int(SIGNIFICANCE_LEVEL / 2 * len(differences))
    return float(max(-ordered[rank], ordered[-rank - 1]))
