"""Level of detail of a lane, compared with its definition computed event by event."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.timeline.kernels import assign_lanes
from tb_xla_insights.timeline.pyramid import kernels, pyramid
from tb_xla_insights.timeline.pyramid.pyramid import Lane, Slices, class_shares, level_of_window

NAMES, CLASS_COUNT = 3, 2


@dataclass(frozen=True)
class Event:
    start: int
    end: int
    name: int
    class_index: int
    id: int

    @property
    def length(self) -> int:
        return self.end - self.start


def lane_of(events: list[Event]) -> Lane:
    def column(attribute: str, dtype: type) -> np.ndarray:
        return np.array([getattr(event, attribute) for event in events], dtype)

    return Lane(
        column("start", np.int64),
        column("end", np.int64),
        column("name", np.int32),
        column("class_index", np.int8),
        column("id", np.int32),
        NAMES,
    )


@st.composite
def lanes(draw: st.DrawFn, overlap: bool = False) -> list[Event]:
    """Events sorted by start; without `overlap` each ends before the next begins, like siblings on a thread."""
    at, events = 0, []
    lengths = st.one_of(st.integers(0, 4), st.integers(0, 40), st.integers(0, 400))
    for id in range(draw(st.integers(0, 30))):
        at += draw(lengths)
        length = draw(lengths)
        events.append(
            Event(
                at, at + length, draw(st.integers(-1, NAMES - 1)), draw(st.integers(0, CLASS_COUNT - 1)), id
            )
        )
        at += draw(st.integers(0, length)) if overlap else length
    return events


ANY_LANE = st.one_of(lanes(), lanes(overlap=True))
LEVELS = st.integers(0, 12)


def slices_of_level(events: list[Event], level: int) -> list[list[Event]]:
    """The events of each slice of a level, by the definition: successive short events that begin in the same bucket of
    2**level ps are one slice."""
    width = 2**level
    slices: list[list[Event]] = []
    for event in events:
        last = slices[-1][-1] if slices else None
        if last and max(last.length, event.length) < width and last.start // width == event.start // width:
            slices[-1].append(event)
        else:
            slices.append([event])
    return slices


def heaviest(weights: list[tuple[int, int]]) -> tuple[int, int]:
    """The key with the largest sum, the first of several, and that sum."""
    sums: Counter[int] = Counter()
    for key, weight in weights:
        sums[key] += weight
    best = max(sums.values())
    return next(key for key, _ in weights if sums[key] == best), best


def covered(events: list[Event]) -> set[int]:
    return {instant for event in events for instant in range(event.start, event.end)}


def groups(slices: list[list[Event]], level: int) -> list[list[list[Event]]]:
    """Neighbouring slices of short events, merged if their classes are equal and the pause is short."""
    merged: list[list[list[Event]]] = []
    for events in slices:
        is_short = all(event.length < 2**level for event in events)
        if merged and is_short and all(event.length < 2**level for slice_ in merged[-1] for event in slice_):
            group = merged[-1]
            pause = events[0].start - max(event.end for slice_ in group for event in slice_)
            classes = {
                heaviest([(event.class_index, event.length) for event in slice_])[0]
                for slice_ in (group[0], events)
            }
            if pause < 2**level and len(classes) == 1:
                group.append(events)
                continue
        merged.append([events])
    return merged


def slices_in_window(slices: list[list[Event]], start: int, end: int) -> list[list[Event]]:
    return [
        events for events in slices if events[0].start < end and max(event.end for event in events) >= start
    ]


def slice_rows(slices: Slices) -> list[tuple[int, ...]]:
    *columns, _ = slices
    return [tuple(int(value) for value in row) for row in zip(*columns, strict=True)]


def window_of(events: list[Event], level: int, position: float) -> tuple[int, int]:
    """A window for which the level is suitable: at least two buckets wide."""
    last = max((event.end for event in events), default=0)
    start = int(position * last)
    return start, start + 2 ** (level + 1) + last // 3


@given(ANY_LANE, LEVELS, st.floats(0, 1))
def test_a_view_shows_the_groups_of_the_slices_that_touch_the_window(
    events: list[Event], level: int, position: float
) -> None:
    start, end = window_of(events, level, position)
    expected = []
    remaining: list[Event] = []
    slices = slices_of_level(events, level)
    for group in groups(slices_in_window(slices, start, end), level):
        members = [event for slice_ in group for event in slice_]
        winners = [heaviest([(event.name, event.length) for event in slice_]) for slice_ in group]
        remaining = [event for event in events if event.id < members[0].id]
        busy = len(covered(members) - covered(remaining))
        shape = members[0].start, max(event.end for event in members)
        class_index = heaviest([(event.class_index, event.length) for event in group[0]])[0]
        count = len(members)
        expected.append((*shape, winners, class_index, count, busy if count > 1 else 0, members[0].id))
    shown = slice_rows(lane_of(events).view(start, end, level))
    assert len(shown) == len(expected)
    for row, (*columns, winners, class_index, count, busy, id) in zip(shown, expected, strict=True):
        start, end, name, *rest = row
        assert [start, end, *rest] == [*columns, class_index, count, busy, id]
        sums: Counter[int] = Counter()
        for winner, weight in winners:
            sums[winner] += weight
        assert sums[name] == max(sums.values())


@given(ANY_LANE, LEVELS, st.floats(0, 1))
def test_every_event_is_in_the_pyramid(events: list[Event], level: int, position: float) -> None:
    start, end = window_of(events, level, position)
    shown = lane_of(events).view(start, end, level)
    inside = [
        event for slice_ in slices_in_window(slices_of_level(events, level), start, end) for event in slice_
    ]
    assert int(shown.events.sum()) == len(inside)
    in_window = [event for event in events if event.start < end and event.end >= start]
    assert {event.id for event in in_window} <= {event.id for event in inside}
    events_by_id = {event.id: event for event in inside}
    for *columns, count, busy, id in slice_rows(shown):
        if count == 1:
            event = events_by_id[id]
            assert columns == [event.start, event.end, event.name, event.class_index]
            assert busy == 0


@given(lanes(), LEVELS)
def test_busy_times_add_up_to_the_union(events: list[Event], level: int) -> None:
    shown = lane_of(events).view(0, 10**6, level)
    is_single = shown.events == 1
    total = int(shown.busy.sum() + (shown.end - shown.start)[is_single].sum())
    assert total == len(covered(events))


@given(lanes(), LEVELS)
def test_the_fill_of_merged_slices_by_bucket(events: list[Event], level: int) -> None:
    """A digit from 0 to 15 for each bucket: the share that is busy, with each slice's busy time spread evenly over it.
    Only an idle bucket has 0, and only a completely busy one 15."""
    width, shown = 2**level, lane_of(events).view(0, 10**6, level)
    digits = iter(shown.fill.tolist())
    for group in groups(slices_of_level(events, level), level):
        members = [event for slice_ in group for event in slice_]
        if len(members) == 1:
            continue
        start, end = members[0].start, members[-1].end
        spread: defaultdict[int, Fraction] = defaultdict(Fraction)
        for slice_ in group:
            low, high, busy = slice_[0].start, slice_[-1].end, len(covered(slice_))
            for bucket, instants in Counter(instant // width for instant in range(low, high)).items():
                spread[bucket] += Fraction(busy * instants, high - low)
        for bucket in range(start // width, max(start, end - 1) // width + 1):
            length = min(end, (bucket + 1) * width) - max(start, bucket * width)
            share, digit = (spread[bucket] / length if length else 0), next(digits)
            assert abs(15 * share - digit) <= Fraction(1, 2) or digit == (
                1 if share < Fraction(1, 10) else 14
            )
            assert (digit == 0) == (share == 0)
            assert (digit == 15) == (share == 1)
    assert next(digits, None) is None


@given(ANY_LANE, LEVELS)
def test_long_events_are_separate_slices(events: list[Event], level: int) -> None:
    shown = slice_rows(lane_of(events).view(0, 10**6, level))
    for event in events:
        if event.length >= 2**level:
            assert (event.start, event.end, event.name, event.class_index, 1, 0, event.id) in shown


@given(ANY_LANE, LEVELS, st.floats(0, 1))
def test_a_view_does_not_depend_on_the_stored_levels(
    events: list[Event], level: int, position: float
) -> None:
    start, end = window_of(events, level, position)
    first = lane_of(events).view(start, end, level)
    expected = slice_rows(first)
    caching_lane = lane_of(events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyramid, "_MAX_UNCACHED_EVENTS", -1)
        patch.setattr(pyramid, "_MIN_REDUCTION", 1)
        assert slice_rows(caching_lane.view(start, end, level)) == expected
        cached_view = caching_lane.view(start, end, level)
        assert (slice_rows(cached_view), cached_view.fill.tolist()) == (expected, first.fill.tolist())
        assert caching_lane._levels


@given(ANY_LANE)
def test_the_number_of_slices_of_every_level(events: list[Event]) -> None:
    lane = lane_of(events)
    sizes = kernels.slices_per_level(lane.start, lane.end).tolist()
    assert sizes[:14] == [len(slices_of_level(events, level)) for level in range(14)]


def test_a_level_is_stored_only_if_it_has_at_most_a_quarter_of_the_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pyramid, "_MAX_UNCACHED_EVENTS", 1000)
    events = [Event(at, at + 10, 0, 0, at) for at in range(0, 80_000, 16)]
    lane = lane_of(events)
    lane.view(0, 80_000, 5)  # two events to a slice
    assert not lane._levels
    lane.view(0, 80_000, 6)  # four
    assert list(lane._levels) == [6]
    assert len(lane._levels[6][0].start) == len(events) // 4


@given(st.integers(1, 2**50), st.integers(1, 5000))
def test_slices_merge_between_one_and_two_pixels(span: int, px: int) -> None:
    width, pixel = 2 ** level_of_window(span, px), span / max(px, 4)
    assert width <= 2 * pixel < 2 * width or (width == 1 and pixel < 1)


@st.composite
def nested(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """(start, end, parent) of events that overlap, or nest: a child is within its parent."""
    events: list[tuple[int, int, int]] = []
    for _ in range(draw(st.integers(0, 25))):
        parent = draw(st.integers(-1, len(events) - 1))
        low, high = events[parent][:2] if parent >= 0 else (0, 100)
        start = draw(st.integers(low, high))
        events.append((start, draw(st.integers(start, high)), parent))
    order = sorted(range(len(events)), key=lambda i: (events[i][0], -events[i][1], i))
    index_after = {before: after for after, before in enumerate(order)}
    return [
        (events[i][0], events[i][1], index_after[events[i][2]] if events[i][2] >= 0 else -1) for i in order
    ]


def assigned_lanes(events: list[tuple[int, int, int]]) -> list[int]:
    starts, ends, parents = zip(*events, strict=True) if events else ((), (), ())
    columns = np.array(starts, np.int64), np.array(ends, np.int64), np.array(parents, np.int32)
    return assign_lanes(*columns).tolist()  # type: ignore[no-any-return]


@given(nested())
def test_lanes_have_no_overlaps_and_children_are_below(events: list[tuple[int, int, int]]) -> None:
    lane = assigned_lanes(events)
    for i, (start, end, parent) in enumerate(events):
        assert parent < 0 or lane[i] > lane[parent]
        for j in range(i):
            if lane[j] == lane[i]:
                assert events[j][1] <= start or end == start


def test_the_lane_of_events_that_nest_is_their_depth() -> None:
    assert assigned_lanes([(0, 100, -1), (0, 40, 0), (5, 20, 1), (20, 40, 1), (40, 90, 0), (100, 120, -1)]) == [
        0, 1, 2, 2, 1, 0,
    ]  # fmt: skip


@given(ANY_LANE, st.integers(1, 12))
def test_time_spread_over_buckets_adds_up(events: list[Event], count: int) -> None:
    duration = max((event.end for event in events), default=0) + 1
    lane = lane_of(events)
    time = kernels.class_times(lane.start, lane.end, lane.class_index, CLASS_COUNT, duration, count)
    for bucket in range(count):
        low, high = duration * bucket // count, duration * (bucket + 1) // count
        for class_index in range(CLASS_COUNT):
            expected = sum(
                max(0, min(event.end, high) - max(event.start, low))
                for event in events
                if event.class_index == class_index
            )
            assert time[class_index, bucket] == expected


def test_shares_of_a_session_of_days() -> None:
    """Its length in picoseconds times the number of buckets exceeds 64 bits."""
    duration = 12 * 24 * 3600 * 10**12
    half = np.array([duration // 2], np.int64)
    share = class_shares(half, half * 2, np.zeros(1, np.int8), 1, duration, 1000)
    assert share[0].round(6).tolist() == [0] * 500 + [1] * 500
