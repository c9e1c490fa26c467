"""Sets of instants, against the instants themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.analysis.time.intervals import Intervals, union, union_all

spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=8)


def union_of_spans(spans: list[tuple[int, int]]) -> Intervals:
    start = np.array([start for start, _ in spans], np.int64)
    return union(start, start + np.array([length for _, length in spans], np.int64))


def instants(found: Intervals) -> set[int]:
    pairs = zip(found.start_ps.tolist(), found.end_ps.tolist(), strict=True)
    return {at for start, end in pairs for at in range(start, end)}


@given(spans, st.integers(0, 20), st.integers(0, 40), st.integers(1, 5))
def test_gaps_are_what_a_window_has_beside_and_long_enough(
    parts: list[tuple[int, int]], start: int, end: int, least: int
) -> None:
    found = union_of_spans(parts)
    every = found.gaps(start, end)
    assert instants(every) == set(range(start, end)) - instants(found)
    long = every.end_ps - every.start_ps >= least
    kept = found.gaps(start, end, least)
    assert kept.start_ps.tolist() == every.start_ps[long].tolist()
    assert kept.end_ps.tolist() == every.end_ps[long].tolist()


@given(st.lists(spans, max_size=4))
def test_a_union_has_the_instants_of_its_parts_and_time_between_each_two(
    parts: list[list[tuple[int, int]]],
) -> None:
    found = union_all([union_of_spans(part) for part in parts])
    every = {at for part in parts for start, length in part for at in range(start, start + length)}
    assert instants(found) == every
    assert (found.start_ps[1:] > found.end_ps[:-1]).all()
