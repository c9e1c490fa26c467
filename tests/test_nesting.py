"""The nesting of events on a line, compared with the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_xla_insights.trace.nesting import (
    MAX_DEPTH,
    nearest_ancestor,
    nearest_enclosing,
    nest_events,
    own_times,
)

Interval = tuple[int, int]
INTERVALS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 8)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    max_size=25,
)


def ordered(intervals: list[Interval]) -> list[Interval]:
    return sorted(intervals, key=lambda interval: (interval[0], -interval[1]))


def nested(*lines: list[Interval]) -> tuple[list[int], list[int], list[int]]:
    rows = [interval for line in lines for interval in line]
    firsts = np.cumsum([0, *(len(line) for line in lines)]).tolist()
    start, end = (np.array([row[column] for row in rows], np.int64) for column in (0, 1))
    ranges = [(first, len(line)) for first, line in zip(firsts, lines, strict=False)]
    depth, parent = nest_events(start, end - start, ranges)
    own_ps: list[int] = []
    for first, count in ranges:
        rows_of_line = slice(first, first + count)
        own_ps += own_times(
            start[rows_of_line], (end - start)[rows_of_line], parent[rows_of_line], first
        ).tolist()
    return depth.tolist(), parent.tolist(), own_ps


def innermost(rows: list[Interval], row: int) -> int:
    """The last interval before `row` that encloses it; -1 if none does. An instant encloses nothing."""
    return max((j for j in range(row) if rows[j][0] < rows[j][1] and rows[j][1] >= rows[row][1]), default=-1)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(INTERVALS)
def test_parent_and_own_time_are_as_defined(intervals: list[Interval]) -> None:
    rows = ordered(intervals)
    _, parent, own_ps = nested(rows)
    assert parent == [innermost(rows, row) for row in range(len(rows))]
    for row, (start, end) in enumerate(rows):
        children = [rows[child] for child in range(len(rows)) if parent[child] == row]
        covered = {instant for interval in children for instant in range(*interval)}
        assert own_ps[row] == end - start - len(covered)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(INTERVALS)
def test_events_at_one_depth_do_not_overlap(intervals: list[Interval]) -> None:
    rows = ordered(intervals)
    depth, parent, _ = nested(rows)
    for row in range(len(rows)):
        assert (depth[row] == 0) if row == 0 else (depth[row] >= 0)
        assert parent[row] < 0 or depth[parent[row]] < depth[row]
        for earlier in range(row):
            if depth[earlier] == depth[row]:
                assert rows[earlier][1] <= rows[row][0]


@given(INTERVALS, INTERVALS)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_lines_nest_independently(first_line: list[Interval], second_line: list[Interval]) -> None:
    first, second = ordered(first_line), ordered(second_line)
    depth, parent, own_ps = nested(first, second)
    separate = nested(first), nested(second)
    assert depth == separate[0][0] + separate[1][0]
    assert parent == separate[0][1] + [row + len(first) if row >= 0 else -1 for row in separate[1][1]]
    assert own_ps == separate[0][2] + separate[1][2]


def test_deeper_than_any_call_stack() -> None:
    count = MAX_DEPTH + 500
    rows = [(row, 10_000 - row) for row in range(count)]
    depth, parent, own_ps = nested(rows)
    assert parent == list(range(-1, count - 1))
    assert depth == [min(row, MAX_DEPTH) for row in range(count)]
    assert own_ps[: MAX_DEPTH - 1] == [2] * (MAX_DEPTH - 1)
    after = [(9_000 + row, 9_001 + row) for row in range(990)]  # the outer events are still open then
    _, parent, own_ps = nested([*rows, *after])
    assert parent[count:] == [1000 - row - 1 for row in range(990)]
    assert min(own_ps) >= 0


def test_a_line_without_events() -> None:
    assert nested([]) == ([], [], [])


def test_parents_of_instants_and_of_equal_or_overlapping_intervals() -> None:
    assert nested([(5, 5), (5, 5)])[1] == [-1, -1]
    assert nested([(0, 5), (0, 5)])[1] == [-1, 0]
    assert nested([(0, 5), (5, 5)])[1] == [-1, 0]
    assert nested([(0, 5), (3, 9), (4, 6)])[1] == [-1, -1, 1]


def test_the_nearest_selected_ancestor_is_found_at_any_depth() -> None:
    deep = 500
    parent = np.arange(-1, deep - 1, dtype=np.int32)
    ancestors = nearest_ancestor(parent, np.array([0, 7, deep - 1], np.int32))
    assert ancestors.tolist() == [-1, 0, 7]
    assert nearest_enclosing(
        parent, np.array([-1, 6, deep - 1], np.int32), np.array([7], np.int32)
    ).tolist() == [
        -1,
        -1,
        7,
    ]
