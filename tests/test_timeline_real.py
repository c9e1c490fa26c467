"""Completeness and size of timelines, on real captures."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from timelines import slices

from tb_xla_insights.session import load
from tb_xla_insights.timeline import Timeline

DEMO = Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline"


def check_whole(timeline: Timeline, duration_ps: int) -> None:
    """All events are in the view of the whole session. Of the first three slices of a lane, those of a single event can
    be selected."""
    rows = {row["id"]: row for row in timeline.head()["rows"]}
    view = timeline.view(0, duration_ps + 1, 1200, list(rows))
    for row_id, row in rows.items():
        lanes = slices(view, row_id)
        assert sum(count for lane in lanes for *_, count in lane) == row["events"]
        for depth, lane in enumerate(lanes):
            for start, duration, name, count in lane[:3]:
                if count > 1 or not name:
                    continue
                event = timeline.event_at(row_id, start, depth)
                assert event["start_ps"] == start
                assert (event["name"], event["row"], event["depth"]) == (name, row_id, depth)
                assert event["duration_ps"] >= 0
                assert duration >= 0


def check_sizes(timeline: Timeline, duration_ps: int) -> None:
    """Each view of an unfolded timeline is small enough for a slow tunnel."""
    rows = [row["id"] for row in timeline.head()["rows"] if row["unfolded"]]
    for zoom in (1, 2, 3, 5, 10, 30, 100, 1000):
        view = timeline.view(duration_ps // 3, duration_ps // 3 + duration_ps // zoom + 1, 1200, rows)
        assert len(gzip.compress(json.dumps(view, separators=(",", ":")).encode(), 6)) < 60_000


def test_all_views_of_a_demo_capture() -> None:
    session = load(str(DEMO))
    timeline = Timeline(session.trace)
    timeline.find_more_rows()
    check_whole(timeline, session.duration_ps)
    check_sizes(timeline, session.duration_ps)


@pytest.mark.parametrize(
    "name",
    [
        "public/tpu_v6e_jax",
        "public/gpu_mi300_jax",
        "public/gpu_v100_tf",
        "torch_xla/multihost_server_debug",
        "torch_xla/spmd_fsdp_debug",
        "torch_xla/dynamo_train_session",
        "torch_xla/baseline_server_level1",
    ],
)
def test_all_views_of_real_captures(shared_traces: Path, name: str) -> None:
    session = load(str(shared_traces / name))
    timeline = Timeline(session.trace)
    timeline.find_more_rows()
    check_whole(timeline, session.duration_ps)
    check_sizes(timeline, session.duration_ps)
