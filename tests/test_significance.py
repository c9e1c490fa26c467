"""The test of chance: against every split by hand, and against samples whose truth is known."""

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
    FEWEST,
    LEVEL,
    PermutationResult,
    PermutationTest,
    Steps,
    median_test,
)

Numbers = Sequence[float]


def steps(values: Numbers) -> Steps:
    return Steps([int(value) for value in values], range(len(values)))


def of_means(a: Numbers, b: Numbers) -> PermutationResult:
    return PermutationTest(steps(a), steps(b)).of_means(a, b)


def of_medians(a: Numbers, b: Numbers) -> PermutationResult:
    return PermutationTest(steps(a), steps(b)).of_medians(a, b)


def mean_rank(group: Numbers, pooled: Numbers) -> float:
    """Equal values share the mean of their ranks."""
    return fmean(sum(it < value for it in pooled) + sum(it == value for it in pooled) / 2 for value in group)


def by_brute_force(a: Sequence[int], b: Sequence[int], figure: Callable[[Numbers, Numbers], float]) -> float:
    """Twice the smaller tail of the difference of a figure, over every split of the pooled steps."""
    pooled = [*a, *b]

    def difference(chosen: Sequence[int]) -> float:
        groups = [pooled[it] for it in chosen], [v for it, v in enumerate(pooled) if it not in chosen]
        one, other = (figure(group, pooled) for group in groups)
        return round(one - other, 6)

    own = difference(range(len(a)))
    every = [difference(chosen) for chosen in combinations(range(len(pooled)), len(a))]
    tails = sum(it >= own for it in every), sum(it <= own for it in every)
    return min(1.0, 2 * min(tails) / len(every))


times = st.lists(st.integers(1, 60), min_size=FEWEST, max_size=6)


class TestAgainstEverySplit:
    @settings(max_examples=60, deadline=None)
    @given(times, times)
    def test_means(self, a: list[int], b: list[int]) -> None:
        assert of_means(a, b).p == pytest.approx(by_brute_force(a, b, lambda group, _: fmean(group)))

    @settings(max_examples=60, deadline=None)
    @given(times, times)
    def test_medians(self, a: list[int], b: list[int]) -> None:
        assert of_medians(a, b).p == pytest.approx(by_brute_force(a, b, mean_rank))

    @settings(max_examples=60, deadline=None)
    @given(times, times)
    def test_either_order_has_the_same_answer(self, a: list[int], b: list[int]) -> None:
        assert of_medians(a, b) == of_medians(b, a)
        assert of_means(a, b) == of_means(b, a)


class TestManyFigures:
    """One answer for each of many figures, of which chance seldom makes any differ."""

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.tuples(*[st.integers(1, 60)] * 9), min_size=1, max_size=5))
    def test_against_every_split(self, figures: list[tuple[int, ...]]) -> None:
        """The figure that differs most against the largest difference of all; the next one without it; and so on."""
        table = np.array(figures, np.float64)
        table /= np.maximum(table.std(axis=1, keepdims=True), 1e-9)
        differ = np.array([
            [abs(row[list(its)].mean() - np.delete(row, its).mean()) for row in table]
            for its in combinations(range(9), 4)
        ])  # fmt: skip
        left, expected, least = list(range(len(table))), {}, 0.0
        while left:
            most = max(left, key=lambda it: (round(differ[0][it], 6), it))
            least = max(least, float((differ[:, left].max(axis=1) >= differ[0][most] - 1e-6).mean()))
            expected[most] = least
            left.remove(most)
        made = PermutationTest(steps(range(4)), steps(range(5))).of_many_means(table[:, :4], table[:, 4:])
        assert [it.p for it in made] == pytest.approx([expected[it] for it in range(len(table))])

    def test_without_a_difference_few_pairs_have_any_figure_that_seems_to_differ(self) -> None:
        """Of 200 pairs of 60 figures each, of all sizes, 10 are expected; 20 or more come in 2 of 1,000 sets."""
        random = np.random.default_rng(7)
        test = PermutationTest(steps(range(5)), steps(range(5)))
        sizes = 10.0 ** random.uniform(5, 9, (60, 1))
        pairs = (sizes * random.lognormal(0, 0.2, (60, 10)) for _ in range(200))
        found = [any(it.real for it in test.of_many_means(pair[:, :5], pair[:, 5:])) for pair in pairs]
        assert sum(found) < 20

    def test_those_that_do_differ_hide_no_smaller_one(self) -> None:
        random = np.random.default_rng(7)
        table = 1e6 * random.normal(1, 0.01, (40, 16))
        table[0, 8:] *= 3
        table[1, 8:] *= 1.1
        table[2] *= 1e3 * random.lognormal(0, 1, 16)
        test = PermutationTest(steps(range(8)), steps(range(8)))
        answers = test.of_many_means(table[:, :8], table[:, 8:])
        assert [it.real for it in answers] == [True, True] + [False] * 38

    def test_too_few_steps_tell_nothing(self) -> None:
        few = PermutationTest(steps(range(3)), steps(range(9)))
        assert few.of_many_means(np.ones((2, 3)), np.zeros((2, 9))) == [PermutationResult()] * 2


def test_random_splits_are_drawn_alike_and_near_all_of_them() -> None:
    """Nine steps in each have 48,620 splits, more than are tried; 12,870 of eight are."""
    a, b = [10, 12, 11, 14, 13, 10, 12, 13, 11], [12, 14, 13, 15, 12, 13, 14, 11, 15]
    drawn = of_means(a, b).p
    assert drawn == of_means(b, a).p == of_means(a, b).p
    every = np.array(list(combinations([*a, *b], len(a)))).sum(axis=1)
    exact = 2 * float((every <= sum(a)).mean())
    assert drawn == pytest.approx(exact, abs=0.01)


class TestKnownTruth:
    def skewed(self, seed: int, count: int, longer: float = 1.0) -> list[float]:
        """Step times with a heavy tail: some steps take several times as long."""
        return list(1e9 * longer * np.random.default_rng(seed).lognormal(0, 0.3, count))

    @pytest.mark.parametrize("tested", [of_medians, of_means])
    @pytest.mark.parametrize(("one", "other"), [(6, 6), (4, 20), (12, 12)])
    def test_without_a_difference_few_pairs_seem_to_have_one(
        self, tested: Callable[[Numbers, Numbers], PermutationResult], one: int, other: int
    ) -> None:
        """Of 200 pairs 10 are expected; 20 or more of them come in 2 of 1,000 sets."""
        pairs = [(self.skewed(seed, one), self.skewed(1000 + seed, other)) for seed in range(200)]
        assert sum(tested(*pair).real for pair in pairs) < 20

    def test_steps_half_as_long_again_are_found(self) -> None:
        pairs = [(self.skewed(seed, 12), self.skewed(1000 + seed, 12, 1.5)) for seed in range(50)]
        assert sum(of_medians(*pair).real for pair in pairs) > 35

    def test_one_long_step_hides_no_difference_of_medians(self) -> None:
        a, b = [1000, 1010, 1004, 1007, 1002, 1009, 1001], [800, 90000, 804, 806, 808, 810, 809]
        assert of_medians(a, b).real
        assert not of_means(a, b).real

    def test_one_long_step_makes_none(self) -> None:
        a, b = [1000, 1010, 1004, 1007, 1002, 1009], [1001, 90000, 1003, 1006, 1008, 1005]
        assert not of_medians(a, b).real
        assert not of_means(a, b).real

    def test_a_wider_spread_alone_is_no_difference(self) -> None:
        """The median of the first is below, but as many of its steps are longer."""
        wide, narrow = [28, 32, 37, 50, 60, 75], [45, 46, 47, 42, 48, 44, 46, 45, 43, 47]
        assert not of_medians(wide, narrow).real


def row(duration: int, number: int | None = None, host: str = "a", compiles: int = 0) -> dict[str, Any]:
    return {"host": host, "number": number, "duration_ps": duration, "compiles": compiles}


class TestCompilations:
    def test_in_few_steps_they_are_left_out(self) -> None:
        made = Steps.usual([row(5, 0), row(900, 1, compiles=2), row(6, 2)])
        assert (made.durations_ps, made.draws) == ([5, 6], 2)

    def test_in_half_of_the_steps_they_are_what_a_step_does(self) -> None:
        made = Steps.usual([row(5, 0), row(900, 1, compiles=1)])
        assert made.durations_ps == [5, 900]

    def test_usual_steps_do_not_speak_for_medians_that_differ_the_other_way_round(self) -> None:
        a, b = steps([10, 11, 12, 13, 14]), steps([20, 21, 22, 23, 24])
        assert median_test(a, b, shown=10).real
        assert median_test(a, b, shown=-10) == PermutationResult(1.0, 10)


class TestFewSteps:
    def test_four_in_each_are_the_fewest_that_can_tell(self) -> None:
        assert (
            of_medians([1, 2, 3, 4], [11, 12, 13, 14]).p
            == of_means([1, 2, 3, 4], [11, 12, 13, 14]).p
            == 2 / 70
        )

    @pytest.mark.parametrize("few", [[], [1], [1, 2, 3]])
    def test_fewer_tell_nothing(self, few: list[int]) -> None:
        many = range(100, 140)
        assert of_medians(few, many) == of_means(many, few) == PermutationResult(None, None)
        assert not of_medians(few, many).real

    def test_very_many_get_an_answer_too(self) -> None:
        one = list(range(5000))
        assert of_medians(one, [it + 500 for it in one]).real
        assert not of_medians(one, [*one[1:], 0]).real


class TestLimit:
    @settings(max_examples=60, deadline=None)
    @given(times, times)
    def test_what_may_be_chance_is_below_it(self, a: list[int], b: list[int]) -> None:
        for answer, difference in (
            (of_medians(a, b), median_low(a) - median_low(b)),
            (of_means(a, b), fmean(a) - fmean(b)),
        ):
            assert (answer.limit is None) == answer.real == ((answer.p or 0) <= LEVEL)
            assert answer.limit is None or abs(difference) <= answer.limit + 1e-9

    def test_more_steps_make_it_smaller(self) -> None:
        some = [90, 95, 110, 105]
        few, many = of_means(some, some).limit, of_means(some * 6, some * 6).limit
        assert few is not None
        assert many is not None
        assert many < few / 2


class TestHosts:
    """Steps of several hosts that run together begin and end together, and say no more than those of one."""

    def together(self, hosts: int, durations: Sequence[int]) -> Steps:
        return Steps.of(
            row(duration, number, f"host{host}")
            for host in range(hosts)
            for number, duration in enumerate(durations)
        )

    def test_they_count_once(self) -> None:
        a, b = [10, 11, 12, 13], [12, 14, 13, 15]
        one = PermutationTest(self.together(1, a), self.together(1, b))
        many = PermutationTest(self.together(8, a), self.together(8, b))
        assert self.together(8, a).draws == 4
        assert many.of_means(a * 8, b * 8).p == pytest.approx(one.of_means(a, b).p)
        assert many.of_medians(a * 8, b * 8).p == pytest.approx(one.of_medians(a, b).p)

    def test_steps_without_numbers_belong_together_in_order(self) -> None:
        hosts = {"a": [5, 6], "b": [7, 8, 9]}
        made = Steps.of(
            row(duration, None, host) for host, durations in hosts.items() for duration in durations
        )
        assert (made.durations_ps, made.draw) == ([5, 6, 7, 8, 9], [0, 1, 0, 1, 2])

    def test_a_number_that_comes_again_is_another_step(self) -> None:
        made = Steps.of([row(5, 0), row(6, 1), row(7, 0), row(8, 1)])
        assert made.draws == 4
