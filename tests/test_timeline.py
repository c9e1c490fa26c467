"""The timeline's rows and views, on a small capture of PyTorch/XLA on a CPU."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers import MS
from synthetic.writer import Space
from timelines import STEP, STEPS, names_of, slices, timeline_of, training_space

from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.timeline import Timeline
from tb_xla_insights.timeline.pyramid.pyramid import Lane, level_of_window
from tb_xla_insights.timeline.slow_steps import slowest_steps


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    return timeline_of(training_space(), tmp_path)


def test_rows_are_in_drawing_order_with_ids_from_the_file(timeline: Timeline) -> None:
    rows = [
        (row["id"], row["kind"], row["label"], row["role"], row["unfolded"])
        for row in timeline.head()["rows"]
    ]
    assert rows == [
        ("h0.steps", "steps", "Steps", None, True),
        ("h0.ann", "annotations", "Annotations", None, True),
        ("h0.classes", "classes", "Host, by class", None, True),
        ("h0.t0", "thread", "python (driving)", "driving", True),
        ("h0.t1", "thread", "tf_pytorchxla", "executor", True),
        ("h0.t2", "thread", "tf_XLAPjRtCpuClient", "client", True),
        ("h0.t3", "thread", "tf_XLAEigen", "op_pool", False),
        ("h0.d0.modules", "modules", "modules", None, True),
        ("h0.d0.ops", "ops", "ops", None, True),
    ]


def test_annotations_are_at_their_depth_and_phases_in_order(timeline: Timeline) -> None:
    assert names_of(timeline, "h0.ann") == [{"Training_Step"}, {"forward", "loss"}, {"attention"}]
    assert timeline.head()["phases"] == ["forward", "loss"]
    assert timeline.head()["annotations"] == {"Training_Step": ["forward", "loss"], "forward": ["attention"]}


def test_children_of_a_cut_step_are_no_phases(tmp_path: Path) -> None:
    cut = training_space()
    python = cut.planes[0].lines[0]
    # The first Training_Step began before the capture, so forward moves up a level.
    python.events = python.events[1:]
    timeline = timeline_of(cut, tmp_path)
    assert "attention" in names_of(timeline, "h0.ann")[1]
    assert timeline.head()["phases"] == ["forward", "loss"]


def test_steps_are_called_by_their_numbers(timeline: Timeline) -> None:
    view = timeline.view(0, STEPS * STEP, 1000, ["h0.steps"])
    assert slices(view, "h0.steps") == [
        [
            (step * STEP, STEP if step < STEPS - 1 else 19 * MS, str(step + 5), 1)
            for step in range(STEPS)  # until the next step; the last one as long as its annotation
        ],
    ]


def test_threads_show_work_without_instants(timeline: Timeline) -> None:
    assert names_of(timeline, "h0.t1") == [{"PjRtComputationClient::ExecuteComputation"}]
    assert names_of(timeline, "h0.t2") == [
        {"ThunkExecutor::Execute", "ThunkExecutor::Execute (wait for completion)"},
        {"dot.1"},
    ]


def test_events_have_the_class_of_their_nearest_ancestor_with_one(timeline: Timeline) -> None:
    view = timeline.view(0, STEP, 20_000, ["h0.t0"])
    classes = {
        view["names"][name]: CLASSES[class_index]
        for lane in view["rows"]["h0.t0"]
        for name, class_index in zip(lane["n"], lane["c"], strict=True)
    }
    assert classes == {
        "Training_Step": "python",  # outside of its phases
        "forward": "tracing",
        "attention": "tracing",
        "loss": "tracing",
        "StepMarker": "sync_prepare",
        "SyncTensorsGraphInternal": "sync_prepare",
        "ScheduleSyncTensorsGraph": "sync_prepare",
    }


def test_the_classes_of_a_host_leave_no_hole(timeline: Timeline) -> None:
    view = timeline.view(0, STEPS * STEP, 20_000, ["h0.classes"])
    (lane,) = slices(view, "h0.classes")
    assert all(start + duration == next_start for (start, duration, *_), (next_start, *_) in pairwise(lane))
    assert lane[0][0] == 0
    assert set(view["rows"]["h0.classes"][0]["e"]) == {-1}


def test_a_view_has_the_events_that_touch_the_window_with_exact_times(timeline: Timeline) -> None:
    view = timeline.view(STEP + 3 * MS, STEP + 9 * MS, 1000, ["h0.ann"])
    assert slices(view, "h0.ann") == [
        [(STEP, 19 * MS, "Training_Step", 1)],
        [(STEP + 1 * MS, 8 * MS, "forward", 1)],
        [(STEP + 2 * MS, 3 * MS, "attention", 1)],
    ]


def test_preparing_the_first_view_changes_none(tmp_path: Path) -> None:
    unprepared, prepared = (
        timeline_of(training_space(), tmp_path / "a"),
        timeline_of(training_space(), tmp_path / "b"),
    )
    prepared.prepare()
    rows = [row["id"] for row in unprepared.head()["rows"]]
    for px in (3, 1250, 20_000):
        assert prepared.view(0, 5 * STEP, px, rows) == unprepared.view(0, 5 * STEP, px, rows)


def test_ops_of_a_device_last_until_their_end(timeline: Timeline) -> None:
    view = timeline.view(0, STEP, 20_000, ["h0.d0.ops"])
    lanes = slices(view, "h0.d0.ops")
    assert lanes == [
        [(15 * MS + MS // 2, MS, "dot.1", 1)],
        [(16 * MS, 2 * MS, "dot.2", 1)],
    ]


def test_narrow_neighbours_merge_under_the_name_with_most_time(timeline: Timeline) -> None:
    view = timeline.view(0, STEPS * STEP, 4, ["h0.ann"])
    assert slices(view, "h0.ann")[1] == [(1 * MS, 2 * STEP + 9 * MS, "forward", 2 * STEPS)]
    assert view["rows"]["h0.ann"][1]["b"] == [STEPS * 9 * MS]


@pytest.mark.parametrize(("max_slices", "lanes"), [(12, [3, 6, 3]), (9, [3, 3, 3]), (6, [3, 1, 1])])
def test_deep_lanes_are_coarsened_if_a_view_has_too_many_slices(
    timeline: Timeline, monkeypatch: pytest.MonkeyPatch, max_slices: int, lanes: list[int]
) -> None:
    monkeypatch.setattr("tb_xla_insights.timeline.window_slices._MAX_SLICES", max_slices)
    view = timeline.view(0, STEPS * STEP, 1200, ["h0.ann"])
    assert [len(lane) for lane in slices(view, "h0.ann")] == lanes


def test_lanes_become_at_most_twelve_levels_coarser(
    timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_xla_insights.timeline.window_slices._MAX_SLICES", 0)
    view = timeline.view(0, STEPS * STEP, 1200, ["h0.ann"])
    coarsest = level_of_window(STEPS * STEP, 1200) + 12
    assert [lane["r"] for lane in view["rows"]["h0.ann"]] == [coarsest] * 3


def test_the_strip_shows_busy_shares_and_classes(timeline: Timeline) -> None:
    strip = timeline.head()["strip"]
    busy, classes = strip["devices"][0]["busy"], strip["host"][0]["class"]
    assert len(busy) == len(classes) == strip["buckets"] == 1000
    buckets_per_step = 1000 * STEP / (2 * STEP + 19 * MS)
    assert busy[0] == "0"
    assert busy[int(17 / 20 * buckets_per_step)] == "f"
    assert classes[int(3 / 20 * buckets_per_step)] == f"{CLASSES.index('tracing'):x}"


def test_a_host_without_events_has_no_rows(tmp_path: Path) -> None:
    empty = Space()
    empty.plane("/host:CPU").line("python")
    timeline = timeline_of(empty, tmp_path)
    assert timeline.head()["rows"] == []
    assert timeline.search("x")["count"] == 0


def test_helpers_beyond_the_busiest_are_folded(tmp_path: Path) -> None:
    capture = training_space()
    for number in range(12):
        capture.planes[0].line(f"pjrt-tpu-tasks/{number}", id=50 + number).event(
            "TransferToDevice", 0, (number + 1) * MS
        )
    rows = timeline_of(capture, tmp_path).head()["rows"]
    shown = [row["label"] for row in rows if row["role"] == "transfer" and row["unfolded"]]
    assert [int(label.split()[1]) for label in shown] == list(range(12 - len(shown) + 1, 13))
    assert sum(row["unfolded"] for row in rows if row["role"] in ("executor", "client", "transfer")) == 8


def test_of_many_steps_the_slowest_per_pixel_is_shown_with_its_parts(tmp_path: Path) -> None:
    timeline = timeline_of(training_space(300), tmp_path)
    view = timeline.view(0, 300 * STEP, 100, ["h0.steps"])
    (lane,) = view["rows"]["h0.steps"]
    assert "k" not in lane
    assert {(duration, number) for _, duration, number, _ in slices(view, "h0.steps")[0]} == {
        (STEP, str(step + 5)) for step in range(0, 300, 3)
    }
    # Of 20 ms, a core works 2.5; the edges of rounded parts are the only difference from the whole.
    assert set(lane["p"]["work"]) == {13}
    assert {abs(sum(parts) - 100) <= len(parts) / 2 for parts in zip(*lane["p"].values(), strict=True)} == {
        True
    }
    assert "p" not in timeline.view(0, 200 * STEP, 100, ["h0.steps"])["rows"]["h0.steps"][0]


def test_the_slowest_step_of_a_pixel_is_found() -> None:
    start = np.arange(300, dtype=np.int64) * 10
    duration = np.where(start % 30 == 10, 9, 5)
    none = np.zeros(300, np.int32)
    lane = Lane(start, start + duration, none, none.astype(np.int8), none, 1)
    steps = slowest_steps(lane, 0, 3000, 100)
    assert steps is not None
    assert steps.tolist() == list(range(1, 300, 3))
