"""The permutation test: against an independent enumeration of all splits, and on samples with a known difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import fmean, median_low
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_xla_insights.compare.significance import (
    MIN_STEPS,
    SIGNIFICANCE_LEVEL,
    PermutationResult,
    PermutationTest,
    StepSample,
    median_test,
)

Numbers = Sequence[float]


def step_sample(values: Numbers) -> StepSample:
    return StepSample([int(value) for value in values], range(len(values)))


def compare_means(a: Numbers, b: Numbers) -> PermutationResult:
    return PermutationTest(step_sample(a), step_sample(b)).test_means(a, b)


def compare_medians(a: Numbers, b: Numbers) -> PermutationResult:
    return PermutationTest(step_sample(a), step_sample(b)).test_medians(a, b)


def rank_mean(group: Numbers, pooled: Numbers) -> float:
    """The mean of a group's ranks; equal values share the mean of their ranks."""
    return fmean(
        sum(pooled_value < value for pooled_value in pooled)
        + sum(pooled_value == value for pooled_value in pooled) / 2
        for value in group
    )


def enumerate_p(a: Sequence[int], b: Sequence[int], figure: Callable[[Numbers, Numbers], float]) -> float:
    """Twice the smaller tail of the difference of a figure, over all splits of the pooled steps."""
    pooled = [*a, *b]

    def difference(members: Sequence[int]) -> float:
        first = [pooled[index] for index in members]
        second = [value for index, value in enumerate(pooled) if index not in members]
        return round(figure(first, pooled) - figure(second, pooled), 6)

    observed = difference(range(len(a)))
    differences = [difference(members) for members in combinations(range(len(pooled)), len(a))]
    tails = sum(value >= observed for value in differences), sum(value <= observed for value in differences)
    return min(1.0, 2 * min(tails) / len(differences))


DURATIONS = st.lists(st.integers(1, 60), min_size=MIN_STEPS, max_size=6)


class TestAgainstAllSplits:
    @settings(max_examples=60, deadline=None)
    @given(DURATIONS, DURATIONS)
    def test_means(self, a: list[int], b: list[int]) -> None:
        assert compare_means(a, b).p == pytest.approx(enumerate_p(a, b, lambda group, _: fmean(group)))

    @settings(max_examples=60, deadline=None)
    @given(DURATIONS, DURATIONS)
    def test_medians(self, a: list[int], b: list[int]) -> None:
        assert compare_medians(a, b).p == pytest.approx(enumerate_p(a, b, rank_mean))

    @settings(max_examples=60, deadline=None)
    @given(DURATIONS, DURATIONS)
    def test_swapping_the_sessions_changes_nothing(self, a: list[int], b: list[int]) -> None:
        assert compare_medians(a, b) == compare_medians(b, a)
        assert compare_means(a, b) == compare_means(b, a)


class TestManyFigures:
    """With many figures tested together, chance seldom makes any of them differ."""

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.tuples(*[st.integers(1, 60)] * 9), min_size=1, max_size=5))
    def test_against_all_splits(self, figures: list[tuple[int, ...]]) -> None:
        """The figure that differs most is compared with the largest difference of all figures, the next one with the
        largest of the remaining figures, and so on."""
        table = np.array(figures, np.float64)
        table /= np.maximum(table.std(axis=1, keepdims=True), 1e-9)
        differences = np.array([
            [abs(row[list(members)].mean() - np.delete(row, members).mean()) for row in table]
            for members in combinations(range(9), 4)
        ])  # fmt: skip
        observed = differences[0]
        remaining, expected, p = list(range(len(table))), {}, 0.0
        while remaining:
            largest = max(remaining, key=lambda figure: (round(observed[figure], 6), figure))
            maxima = differences[:, remaining].max(axis=1)
            p = max(p, float((maxima >= observed[largest] - 1e-6).mean()))
            expected[largest] = p
            remaining.remove(largest)
        results = PermutationTest(step_sample(range(4)), step_sample(range(5))).test_many_means(
            table[:, :4], table[:, 4:]
        )
        assert [result.p for result in results] == pytest.approx([expected[row] for row in range(len(table))])

    def test_few_pairs_without_a_difference_have_a_significant_figure(self) -> None:
        """Of 200 pairs with 60 figures of all sizes, 10 are expected; 20 or more have a probability of 0.3 %."""
        random = np.random.default_rng(7)
        test = PermutationTest(step_sample(range(5)), step_sample(range(5)))
        sizes = 10.0 ** random.uniform(5, 9, (60, 1))
        pairs = (sizes * random.lognormal(0, 0.2, (60, 10)) for _ in range(200))
        results = (test.test_many_means(pair[:, :5], pair[:, 5:]) for pair in pairs)
        assert (
            sum(any(result.is_significant for result in results_of_pair) for results_of_pair in results) < 20
        )

    def test_large_differences_do_not_hide_smaller_ones(self) -> None:
        random = np.random.default_rng(7)
        table = 1e6 * random.normal(1, 0.01, (40, 16))
        table[0, 8:] *= 3
        table[1, 8:] *= 1.1
        table[2] *= 1e3 * random.lognormal(0, 1, 16)
        test = PermutationTest(step_sample(range(8)), step_sample(range(8)))
        results = test.test_many_means(table[:, :8], table[:, 8:])
        assert [result.is_significant for result in results] == [True, True] + [False] * 38

    def test_too_few_steps_have_no_result(self) -> None:
        few = PermutationTest(step_sample(range(3)), step_sample(range(9)))
        assert few.test_many_means(np.ones((2, 3)), np.zeros((2, 9))) == [PermutationResult()] * 2


def test_random_splits_are_reproducible_and_close_to_the_exact_result() -> None:
    """Nine steps in each session have 48,620 splits, more than the limit of exact enumeration."""
    a, b = [10, 12, 11, 14, 13, 10, 12, 13, 11], [12, 14, 13, 15, 12, 13, 14, 11, 15]
    p = compare_means(a, b).p
    assert p == compare_means(b, a).p == compare_means(a, b).p
    all_sums = np.array(list(combinations([*a, *b], len(a)))).sum(axis=1)
    exact = 2 * float((all_sums <= sum(a)).mean())
    assert p == pytest.approx(exact, abs=0.01)


class TestKnownTruth:
    def skewed(self, seed: int, count: int, factor: float = 1.0) -> list[float]:
        """Step times with a heavy tail: one step in a hundred takes twice as long as the median."""
        return list(1e9 * factor * np.random.default_rng(seed).lognormal(0, 0.3, count))

    @pytest.mark.parametrize("compare", [compare_medians, compare_means])
    @pytest.mark.parametrize(("count_a", "count_b"), [(6, 6), (4, 20), (12, 12)])
    def test_few_pairs_without_a_difference_are_significant(
        self, compare: Callable[[Numbers, Numbers], PermutationResult], count_a: int, count_b: int
    ) -> None:
        """Of 100 pairs, 5 are expected; 12 or more have a probability of 0.4 %."""
        pairs = [(self.skewed(seed, count_a), self.skewed(1000 + seed, count_b)) for seed in range(100)]
        assert sum(compare(*pair).is_significant for pair in pairs) < 12

    def test_steps_that_are_50_percent_longer_are_significant(self) -> None:
        pairs = [(self.skewed(seed, 12), self.skewed(1000 + seed, 12, 1.5)) for seed in range(50)]
        assert sum(compare_medians(*pair).is_significant for pair in pairs) > 35

    def test_one_long_step_hides_no_difference_of_medians(self) -> None:
        a, b = [1000, 1010, 1004, 1007, 1002, 1009, 1001], [800, 90000, 804, 806, 808, 810, 809]
        assert compare_medians(a, b).is_significant
        assert not compare_means(a, b).is_significant

    def test_one_long_step_makes_no_difference(self) -> None:
        a, b = [1000, 1010, 1004, 1007, 1002, 1009], [1001, 90000, 1003, 1006, 1008, 1005]
        assert not compare_medians(a, b).is_significant
        assert not compare_means(a, b).is_significant

    def test_a_wider_spread_alone_is_no_difference(self) -> None:
        """The first median is lower, but as many of its steps are longer."""
        wide, narrow = [28, 32, 37, 50, 60, 75], [45, 46, 47, 42, 48, 44, 46, 45, 43, 47]
        assert not compare_medians(wide, narrow).is_significant


def row(duration: int, number: int | None = None, host: str = "a", compiles: int = 0) -> dict[str, Any]:
    return {"host": host, "number": number, "duration_ps": duration, "compiles": compiles}


class TestCompilations:
    def test_few_steps_with_compilations_are_left_out(self) -> None:
        sample = StepSample.without_compiles([row(5, 0), row(900, 1, compiles=2), row(6, 2)])
        assert (sample.durations_ps, sample.block_count) == ([5, 6], 2)

    def test_compilations_in_half_of_the_steps_are_usual(self) -> None:
        sample = StepSample.without_compiles([row(5, 0), row(900, 1, compiles=1)])
        assert sample.durations_ps == [5, 900]

    def test_usual_steps_are_no_evidence_for_the_opposite_difference(self) -> None:
        a, b = step_sample([10, 11, 12, 13, 14]), step_sample([20, 21, 22, 23, 24])
        assert median_test(a, b, shown_difference=10).is_significant
        assert median_test(a, b, shown_difference=-10) == PermutationResult(1.0, 10)


def test_equal_medians_do_not_contradict_a_shown_difference() -> None:
    a, b = step_sample([10] * 6 + [20] * 5), step_sample([5] * 5 + [10] * 6)
    results = [median_test(*samples, difference) for samples in ((a, b), (b, a)) for difference in (-1, 0, 1)]
    assert len(set(results)) == 1
    assert results[0].is_significant


class TestFewSteps:
    def test_four_in_each_session_suffice(self) -> None:
        assert (
            compare_medians([1, 2, 3, 4], [11, 12, 13, 14]).p
            == compare_means([1, 2, 3, 4], [11, 12, 13, 14]).p
            == 2 / 70
        )

    @pytest.mark.parametrize("few", [[], [1], [1, 2, 3]])
    def test_fewer_have_no_result(self, few: list[int]) -> None:
        many = range(100, 140)
        assert compare_medians(few, many) == compare_means(many, few) == PermutationResult(None, None)
        assert not compare_medians(few, many).is_significant

    def test_very_many_steps_have_a_result(self) -> None:
        values = list(range(2000))
        assert compare_medians(values, [value + 500 for value in values]).is_significant
        assert not compare_medians(values, [*values[1:], 0]).is_significant


class TestLimit:
    @settings(max_examples=60, deadline=None)
    @given(DURATIONS, DURATIONS)
    def test_differences_that_may_be_chance_are_below_the_limit(self, a: list[int], b: list[int]) -> None:
        for result, difference in (
            (compare_medians(a, b), median_low(a) - median_low(b)),
            (compare_means(a, b), fmean(a) - fmean(b)),
        ):
            assert (result.limit is None) == result.is_significant == ((result.p or 0) <= SIGNIFICANCE_LEVEL)
            assert result.limit is None or abs(difference) <= result.limit + 1e-9

    def test_more_steps_lower_the_limit(self) -> None:
        values = [90, 95, 110, 105]
        few, many = compare_means(values, values).limit, compare_means(values * 6, values * 6).limit
        assert few is not None
        assert many is not None
        assert many < few / 2


class TestHosts:
    """Steps of several hosts that run together start and end together, so they count once."""

    def joint_steps(self, hosts: int, durations: Sequence[int]) -> StepSample:
        return StepSample.from_rows(
            row(duration, number, f"host{host}")
            for host in range(hosts)
            for number, duration in enumerate(durations)
        )

    def test_steps_of_several_hosts_count_once(self) -> None:
        a, b = [10, 11, 12, 13], [12, 14, 13, 15]
        one_host = PermutationTest(self.joint_steps(1, a), self.joint_steps(1, b))
        eight_hosts = PermutationTest(self.joint_steps(8, a), self.joint_steps(8, b))
        assert self.joint_steps(8, a).block_count == 4
        assert eight_hosts.test_means(a * 8, b * 8).p == pytest.approx(one_host.test_means(a, b).p)
        assert eight_hosts.test_medians(a * 8, b * 8).p == pytest.approx(one_host.test_medians(a, b).p)

    def test_steps_without_numbers_are_matched_in_order(self) -> None:
        hosts = {"a": [5, 6], "b": [7, 8, 9]}
        sample = StepSample.from_rows(
            row(duration, None, host) for host, durations in hosts.items() for duration in durations
        )
        assert (sample.durations_ps, sample.block) == ([5, 6, 7, 8, 9], [0, 1, 0, 1, 2])

    def test_a_repeated_number_is_another_step(self) -> None:
        sample = StepSample.from_rows([row(5, 0), row(6, 1), row(7, 0), row(8, 1)])
        assert sample.block_count == 4
