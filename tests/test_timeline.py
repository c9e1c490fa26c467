"""The timeline's answers on a small capture of PyTorch/XLA on a CPU, and on real ones."""

from __future__ import annotations

import gzip
import json
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from helpers import MS
from synthetic.writer import Line, Space

from tb_xla_insights.catalog import CLASSES, load_catalog
from tb_xla_insights.errors import InputError
from tb_xla_insights.session import load
from tb_xla_insights.timeline import Timeline

STEP = 20 * MS
STEPS = 3
DEMO = Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline"


def hand_over(source: Line, at: int, target: Line, taken_up: int, number: int) -> None:
    """A task that one thread gives to another, as the thread pool marks it."""
    source.event("ThreadpoolListener::Record", at, 0, _pt=15, _p=number)
    target.event("ThreadpoolListener::StartRegion", taken_up, 0, _ct=15, _c=number)


def op(line: Line, name: str, start: int, duration: int, number: int) -> None:
    """A device op on a host thread with its end, a few nanoseconds long."""
    stats: dict[str, Any] = {"hlo_op": name, "hlo_module": "SyncTensorsGraph.7", "program_id": 7}
    line.event(name, start, duration, stats, _pt=0, _p=number)
    line.event(f"end: {name}", start + duration, 5_000, _ct=0, _c=number)


def space(steps: int = STEPS) -> Space:
    """Steps of 20 ms: forward (8) with attention in it, loss, then a StepMarker that launches 4 ms on the device."""
    space = Space(hostnames=["vm"])
    host = space.plane("/host:CPU")
    python, executor = host.line("python", id=1), host.line("tf_pytorchxla/77", id=2)
    client, pool = host.line("tf_XLAPjRtCpuClient/88", id=3), host.line("tf_XLAEigen/99", id=4)
    for step in range(steps):
        at, flow = step * STEP, 100 * step
        python.event("Training_Step", at, 19 * MS, _r=1, step_num=step + 5)
        python.event("forward", at + 1 * MS, 8 * MS)
        python.event("attention", at + 2 * MS, 3 * MS)
        python.event("loss", at + 9 * MS, 1 * MS)
        python.event("StepMarker", at + 10 * MS, 9 * MS)
        python.event("SyncTensorsGraphInternal", at + 11 * MS, 2 * MS)
        python.event("ScheduleSyncTensorsGraph", at + 12 * MS, MS // 2)
        hand_over(python, at + 12 * MS + 1000, executor, at + 13 * MS, flow + 1)
        executor.event("PjRtComputationClient::ExecuteComputation", at + 13 * MS + 1000, 2 * MS)
        hand_over(executor, at + 14 * MS, client, at + 15 * MS, flow + 2)
        executor.event("ThreadpoolListener::StopRegion", at + 16 * MS, 0)
        client.event("ThunkExecutor::Execute", at + 15 * MS + 1000, 3 * MS)
        op(client, "dot.1", at + 15 * MS + MS // 2, MS, flow + 3)
        op(pool, "dot.2", at + 16 * MS, 2 * MS, flow + 4)
        client.event("ThunkExecutor::Execute (wait for completion)", at + 18 * MS + 2000, MS // 2)
        client.event("ThreadpoolListener::StopRegion", at + 19 * MS, 0)
    return space


def timeline_of(space: Space, folder: Path) -> Timeline:
    return Timeline(load(str(space.write(folder / "vm.xplane.pb"))).trace, load_catalog())


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    return timeline_of(space(), tmp_path)


Slice = tuple[int, int, str, int]


def row_of(timeline: Timeline, kind: str, label: str = "") -> str:
    rows = timeline.head()["rows"]
    return next(row["id"] for row in rows if row["kind"] == kind and row["label"].startswith(label))  # type: ignore[no-any-return]


def slices(view: dict[str, Any], row: str) -> list[list[Slice]]:
    """Start, duration, name and number of events of every slice, lane by lane."""
    lanes = []
    for lane in view["rows"][row]:
        starts = accumulate(lane["s"], initial=view["start_ps"])
        next(starts)
        names = [view["names"][n] if n >= 0 else "" for n in lane["n"]]
        lanes.append(list(zip(starts, lane["d"], names, lane.get("k", [1] * len(names)), strict=True)))
    return lanes


def names_of(timeline: Timeline, row: str) -> list[set[str]]:
    view = timeline.view(0, STEPS * STEP, 20_000, [row])
    return [{name for _, _, name, _ in lane} for lane in slices(view, row)]


def brief(answer: dict[str, Any]) -> tuple[str, str, int]:
    return answer["name"], answer["row"], answer["depth"]


def test_rows_come_in_drawing_order_under_ids_of_the_file(timeline: Timeline) -> None:
    rows = [(r["id"], r["kind"], r["label"], r["role"], r["main"]) for r in timeline.head()["rows"]]
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


def test_annotations_lie_at_their_depth_and_phases_in_the_order_they_come(timeline: Timeline) -> None:
    assert names_of(timeline, "h0.ann") == [{"Training_Step"}, {"forward", "loss"}, {"attention"}]
    assert timeline.head()["phases"] == ["forward", "loss"]


def test_what_a_cut_step_brings_up_is_no_phase(tmp_path: Path) -> None:
    cut = space()
    python = cut.planes[0].lines[0]
    python.events = python.events[1:]  # the first Training_Step began before the capture: forward comes up
    timeline = timeline_of(cut, tmp_path)
    assert "attention" in names_of(timeline, "h0.ann")[1]
    assert timeline.head()["phases"] == ["forward", "loss"]


def test_steps_are_called_by_their_numbers(timeline: Timeline) -> None:
    view = timeline.view(0, STEPS * STEP, 1000, ["h0.steps"])
    assert slices(view, "h0.steps") == [
        [(step * STEP, 19 * MS, str(step + 5), 1) for step in range(STEPS)],
    ]


def test_threads_show_work_and_no_marks(timeline: Timeline) -> None:
    assert names_of(timeline, "h0.t1") == [{"PjRtComputationClient::ExecuteComputation"}]
    assert names_of(timeline, "h0.t2") == [
        {"ThunkExecutor::Execute", "ThunkExecutor::Execute (wait for completion)"},
        {"dot.1"},
    ]


def test_events_on_threads_have_the_class_of_the_nearest_ancestor_that_has_one(timeline: Timeline) -> None:
    view = timeline.view(0, STEP, 20_000, ["h0.t0"])
    classes = {
        view["names"][n]: CLASSES[c]
        for lane in view["rows"]["h0.t0"]
        for n, c in zip(lane["n"], lane["c"], strict=True)
    }
    assert classes == {
        "Training_Step": "tracing",
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
    assert all(a[0] + a[1] == b[0] for a, b in pairwise(lane))
    assert lane[0][0] == 0
    assert set(view["rows"]["h0.classes"][0]["e"]) == {-1}


def test_a_view_has_what_touches_the_window_with_exact_times(timeline: Timeline) -> None:
    view = timeline.view(STEP + 3 * MS, STEP + 9 * MS, 1000, ["h0.ann"])
    assert slices(view, "h0.ann") == [
        [(STEP, 19 * MS, "Training_Step", 1)],
        [(STEP + 1 * MS, 8 * MS, "forward", 1)],
        [(STEP + 2 * MS, 3 * MS, "attention", 1)],
    ]


def test_ops_of_a_device_last_until_their_end(timeline: Timeline) -> None:
    view = timeline.view(0, STEP, 20_000, ["h0.d0.ops"])
    lanes = slices(view, "h0.d0.ops")
    assert lanes == [
        [(15 * MS + MS // 2, MS, "dot.1", 1)],
        [(16 * MS, 2 * MS, "dot.2", 1)],
    ]


def test_narrow_neighbours_merge_and_name_what_takes_most_time(timeline: Timeline) -> None:
    view = timeline.view(0, STEPS * STEP, 4, ["h0.ann"])
    assert slices(view, "h0.ann")[1] == [(1 * MS, 2 * STEP + 9 * MS, "forward", 2 * STEPS)]
    assert view["rows"]["h0.ann"][1]["b"] == [STEPS * 9 * MS]


@pytest.mark.parametrize(("most", "lanes"), [(12, [3, 6, 3]), (9, [3, 1, 1])])
def test_deep_lanes_give_way_where_a_view_would_have_too_many_slices(
    timeline: Timeline, monkeypatch: pytest.MonkeyPatch, most: int, lanes: list[int]
) -> None:
    monkeypatch.setattr("tb_xla_insights.timeline.view._MOST_SLICES", most)
    view = timeline.view(0, STEPS * STEP, 1200, ["h0.ann"])
    assert [len(lane) for lane in slices(view, "h0.ann")] == lanes


def test_the_occurrences_of_a_step_are_all_steps(timeline: Timeline) -> None:
    same = timeline.event_at("h0.steps", STEP)["occurrences"]
    assert (same["count"], same["previous"]["name"], same["next"]["name"]) == (STEPS, "5", "7")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t.view(0, 10, 100, ["h0.t9"]), "no row h0.t9"),
        (lambda t: t.view(10, 10, 100, ["h0.t0"]), "is empty"),
        (lambda t: t.view(0, 10, 0, ["h0.t0"]), "0 pixels"),
        (lambda t: t.event("0.99999"), "no event 0.99999"),
        (lambda t: t.event("1.0"), "no event 1.0"),
        (lambda t: t.event("x"), "no event x"),
        (lambda t: t.event_at("h0.t0", 5 * MS), "no event of h0.t0 starts"),
        (lambda t: t.event_at("h0.t0", 0, 7), "no event of h0.t0 starts"),
        (lambda t: t.neighbor("h0.t0", 9, 0, "next"), "h0.t0 has 4 depths"),
        (lambda t: t.neighbor("h0.t0", 0, 0, "up"), "no direction up"),
        (lambda t: t.search("a", ["nothing"]), "no row nothing"),
        (lambda t: t.table(5, 4, [], 10), "is empty"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(timeline: Timeline, ask: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        ask(timeline)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_event_tells_what_encloses_it_and_the_others_of_its_name(timeline: Timeline) -> None:
    event = timeline.event_at("h0.t0", STEP + 12 * MS)
    assert brief(event) == ("ScheduleSyncTensorsGraph", "h0.t0", 3)
    assert [brief(it) for it in event["path"]] == [
        ("Training_Step", "h0.t0", 0),
        ("StepMarker", "h0.t0", 1),
        ("SyncTensorsGraphInternal", "h0.t0", 2),
    ]
    same = event["occurrences"]
    assert (same["count"], same["index"], same["mean_ps"]) == (STEPS, 1, MS // 2)
    assert (same["previous"]["start_ps"], same["next"]["start_ps"]) == (12 * MS, 2 * STEP + 12 * MS)
    assert same["durations_ps"] == [MS // 2] * STEPS
    assert event["thread"] == "python (driving)"
    assert event["class"] == "sync_prepare"


def test_self_time_is_what_children_leave(timeline: Timeline) -> None:
    assert timeline.event_at("h0.t0", 10 * MS)["self_ps"] == 7 * MS


def test_stats_come_as_text_with_their_kind(timeline: Timeline) -> None:
    stats = timeline.event_at("h0.steps", 2 * STEP)["stats"]
    assert {"name": "step_num", "value": "7", "kind": "int"} in stats


def test_an_event_is_at_home_in_the_row_that_tells_most(timeline: Timeline) -> None:
    for name, row in (("dot.2", "h0.d0.ops"), ("forward", "h0.ann"), ("StepMarker", "h0.t0")):
        hit = timeline.search(f"name:{name}")["hits"]["event"][0]
        assert timeline.event(hit)["row"] == row


def test_an_op_lies_in_the_run_of_its_program(timeline: Timeline) -> None:
    event = timeline.event_at("h0.d0.ops", 16 * MS)
    assert event["name"] == "dot.2"
    assert [it["row"] for it in event["path"]] == ["h0.d0.modules"]
    assert event["class"] is None


def test_flows_lead_from_work_to_work(timeline: Timeline) -> None:
    schedule = timeline.event_at("h0.t0", 12 * MS)
    execute = timeline.event_at("h0.t1", 13 * MS + 1000)
    thunk = timeline.event_at("h0.t2", 15 * MS + 1000)
    assert [it["name"] for it in schedule["flow"]["to"]] == [execute["name"]]
    assert [it["event"] for it in execute["flow"]["from"]] == [schedule["event"]]
    assert [it["event"] for it in execute["flow"]["to"]] == [thunk["event"]]
    assert [it["event"] for it in thunk["flow"]["from"]] == [execute["event"]]


def test_the_end_of_an_op_is_no_partner(timeline: Timeline) -> None:
    assert timeline.event_at("h0.d0.ops", 16 * MS)["flow"] == {"from": [], "to": []}


def test_marks_have_details_and_are_found_by_what_their_names_begin_with(timeline: Timeline) -> None:
    found = timeline.search("end: dot")
    assert found["count"] == 2 * STEPS
    mark = timeline.event(found["hits"]["event"][0])
    assert mark["name"].startswith("end: dot")
    assert mark["row"] in ("h0.t2", "h0.t3")
    assert mark["occurrences"]["count"] == STEPS
    assert not [it for it in timeline.search("dot")["names"] if it["name"].startswith("end")]


def test_neighbours_of_a_slice(timeline: Timeline) -> None:
    forward = timeline.neighbor("h0.ann", 1, 9 * MS, "previous")["event"]
    assert brief(forward) == ("forward", "h0.ann", 1)
    assert timeline.neighbor("h0.ann", 1, 9 * MS, "next")["event"]["start_ps"] == STEP + 1 * MS
    assert timeline.neighbor("h0.ann", 0, 0, "previous") == {"event": None}
    assert timeline.neighbor("h0.ann", 0, 2 * STEP, "next") == {"event": None}


def test_search_ignores_case_and_counts_each_event_once(timeline: Timeline) -> None:
    found = timeline.search("DOT")
    assert (found["count"], found["truncated"]) == (2 * STEPS, False)
    assert [(it["name"], it["count"], it["total_ps"]) for it in found["names"]] == [
        ("dot.2", STEPS, STEPS * 2 * MS),
        ("dot.1", STEPS, STEPS * MS),
    ]
    hits = found["hits"]
    assert set(hits["row"]) == {"h0.d0.ops"}
    assert hits["s"] == sorted(hits["s"])
    assert [found["names"][n]["name"] for n in hits["n"]] == ["dot.1", "dot.2"] * STEPS


def test_search_for_a_whole_name(timeline: Timeline) -> None:
    assert timeline.search("name:ThunkExecutor::Execute")["count"] == STEPS
    assert timeline.search("ThunkExecutor::Execute")["count"] == 2 * STEPS
    assert timeline.search("name:thunkexecutor::execute")["count"] == 0


def test_search_in_some_rows(timeline: Timeline) -> None:
    assert timeline.search("dot", ["h0.t3"])["names"] == [
        {"name": "dot.2", "class": "other", "count": STEPS, "total_ps": STEPS * 2 * MS}
    ]
    assert set(timeline.search("forward", ["h0.ann", "h0.t0"])["hits"]["row"]) == {"h0.ann", "h0.t0"}


def test_only_the_first_thousand_hits_are_listed_but_all_are_counted(tmp_path: Path) -> None:
    found = timeline_of(space(600), tmp_path).search("dot")
    assert (found["count"], found["truncated"], len(found["hits"]["s"])) == (1200, True, 1000)
    assert found["hits"]["s"][-1] < 500 * STEP


def test_the_table_lists_what_touches_the_window_by_start(timeline: Timeline) -> None:
    listed = timeline.table(STEP + 9 * MS, STEP + 12 * MS, ["h0.t0"], 3)
    assert listed["count"] == 4  # forward ends where the window starts, the schedule starts where it ends
    assert [it["name"] for it in listed["items"]] == ["Training_Step", "loss", "StepMarker"]


def test_the_strip_tells_busy_shares_and_classes(timeline: Timeline) -> None:
    strip = timeline.head()["strip"]
    busy, classes = strip["devices"][0]["busy"], strip["host"][0]["class"]
    assert len(busy) == len(classes) == strip["buckets"] == 1000
    per_step = 1000 * STEP / (2 * STEP + 19 * MS)
    assert busy[0] == "0"
    assert busy[int(17 / 20 * per_step)] == "f"
    assert classes[int(3 / 20 * per_step)] == f"{CLASSES.index('tracing'):x}"


def test_a_host_without_events_has_no_rows(tmp_path: Path) -> None:
    empty = Space()
    empty.plane("/host:CPU").line("python")
    timeline = timeline_of(empty, tmp_path)
    assert timeline.head()["rows"] == []
    assert timeline.search("x")["count"] == 0


def test_helpers_beyond_the_busiest_are_folded(tmp_path: Path) -> None:
    many = space()
    for number in range(12):
        many.planes[0].line(f"pjrt-tpu-tasks/{number}", id=50 + number).event(
            "TransferToDevice", 0, (number + 1) * MS
        )
    rows = timeline_of(many, tmp_path).head()["rows"]
    shown = [row["label"] for row in rows if row["role"] == "transfer" and row["main"]]
    assert [int(label.split()[1]) for label in shown] == list(range(12 - len(shown) + 1, 13))
    assert sum(row["main"] for row in rows if row["role"] in ("executor", "client", "transfer")) == 8


def test_names_of_a_device_are_the_short_ones_and_the_long_one_is_the_title(tmp_path: Path) -> None:
    space = Space()
    plane = space.plane("/device:TPU:0")
    text = "%copy-done.2 = f32[8] copy-done(%copy-start.2)"
    done = plane.event_metadata(text, display_name="copy-done.2")
    reduce = plane.event_metadata("%all-reduce.3 = f32[8] all-reduce(%x)", display_name="all-reduce.3")
    dot = plane.event_metadata("%dot.4 = f32[8] dot(%all-reduce.3)", display_name="dot.4")
    modules, ops = plane.line("XLA Modules"), plane.line("XLA Ops")
    modules.event("jit_f(1)", 0, 40)
    for number, metadata in enumerate((dot, reduce, done)):
        ops.event(metadata, 10 * number, 10)
    plane.line("Async XLA Ops").event("copy-start.2", 5, 20)
    timeline = timeline_of(space, tmp_path)
    view = timeline.view(0, 40, 20_000, ["h0.d0.ops"])
    assert view["rows"]["h0.d0.ops"][0]["c"] == [0, 1, 2]
    assert timeline.event_at("h0.d0.ops", 20, 0)["title"] == text
    assert timeline.search("all-reduce")["count"] == 1
    assert timeline.search("f32[8]")["count"] == 3
    assert [row["id"] for row in timeline.head()["rows"]] == ["h0.d0.modules", "h0.d0.ops", "h0.d0.async"]


def check_whole(timeline: Timeline, duration_ps: int) -> None:
    """What holds for every session: all events are in the whole view, and each slice of one can be selected."""
    rows = {row["id"]: row for row in timeline.head()["rows"]}
    view = timeline.view(0, duration_ps + 1, 1200, list(rows))
    for id, row in rows.items():
        lanes = slices(view, id)
        assert sum(count for lane in lanes for *_, count in lane) == row["events"]
        for depth, lane in enumerate(lanes):
            for start, duration, name, count in lane[:3]:
                if count > 1 or not name:
                    continue
                event = timeline.event_at(id, start, depth)
                if event["start_ps"] == start:  # a nearer one may start within a nanosecond
                    assert (event["name"], event["row"], event["depth"]) == (name, id, depth)
                    assert event["duration_ps"] >= 0
                    assert duration >= 0


def check_sizes(timeline: Timeline, duration_ps: int) -> None:
    """Every view of what is drawn unfolded fits through a tunnel."""
    rows = [row["id"] for row in timeline.head()["rows"] if row["main"]]
    for zoom in (1, 2, 3, 5, 10, 30, 100, 1000):
        view = timeline.view(duration_ps // 3, duration_ps // 3 + duration_ps // zoom + 1, 1200, rows)
        assert len(gzip.compress(json.dumps(view, separators=(",", ":")).encode(), 6)) < 60_000


def test_a_demo_capture_as_a_whole() -> None:
    session = load(str(DEMO))
    timeline = Timeline(session.trace, load_catalog())
    check_whole(timeline, session.duration_ps)
    check_sizes(timeline, session.duration_ps)
    assert timeline.nbytes > 0


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
def test_real_captures_as_a_whole(shared_traces: Path, name: str) -> None:
    session = load(str(shared_traces / name))
    timeline = Timeline(session.trace, load_catalog())
    check_whole(timeline, session.duration_ps)
    check_sizes(timeline, session.duration_ps)
