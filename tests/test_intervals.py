"""Sets of instants, against the instants themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.analysis.intervals import Intervals, union, union_of

spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=8)


def union_of_spans(spans: list[tuple[int, int]]) -> Intervals:
    start = np.array([start for start, _ in spans], np.int64)
    return union(start, start + np.array([length for _, length in spans], np.int64))


def instants(found: Intervals) -> set[int]:
    pairs = zip(found.start_ps.tolist(), found.end_ps.tolist(), strict=True)
    return {at for start, end in pairs for at in range(start, end)}


@given(st.lists(spans, max_size=4))
def test_a_union_has_the_instants_of_its_parts_and_time_between_each_two(
    parts: list[list[tuple[int, int]]],
) -> None:
    found = union_of([union_of_spans(part) for part in parts])
    every = {at for part in parts for start, length in part for at in range(start, start + length)}
    assert instants(found) == every
    assert (found.start_ps[1:] > found.end_ps[:-1]).all()
