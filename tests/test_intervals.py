"""Sets of instants, compared with the instants themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.analysis.time.intervals import Intervals, union, union_all

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=8)


def union_of_spans(spans: list[tuple[int, int]]) -> Intervals:
    start = np.array([start for start, _ in spans], np.int64)
    return union(start, start + np.array([length for _, length in spans], np.int64))


def instants(intervals: Intervals) -> set[int]:
    pairs = zip(intervals.start_ps.tolist(), intervals.end_ps.tolist(), strict=True)
    return {instant for start, end in pairs for instant in range(start, end)}


@given(SPANS, st.integers(0, 20), st.integers(0, 40), st.integers(1, 5))
def test_gaps_of_at_least_a_length(
    spans: list[tuple[int, int]], start: int, end: int, min_length: int
) -> None:
    intervals = union_of_spans(spans)
    gaps = intervals.gaps(start, end)
    assert instants(gaps) == set(range(start, end)) - instants(intervals)
    is_long = gaps.end_ps - gaps.start_ps >= min_length
    long_gaps = intervals.gaps(start, end, min_length)
    assert long_gaps.start_ps.tolist() == gaps.start_ps[is_long].tolist()
    assert long_gaps.end_ps.tolist() == gaps.end_ps[is_long].tolist()


@given(st.lists(SPANS, max_size=4))
def test_union_has_the_instants_of_its_parts_and_separate_intervals(
    parts: list[list[tuple[int, int]]],
) -> None:
    united = union_all([union_of_spans(part) for part in parts])
    expected = {
        instant for part in parts for start, length in part for instant in range(start, start + length)
    }
    assert instants(united) == expected
    assert (united.start_ps[1:] > united.end_ps[:-1]).all()
