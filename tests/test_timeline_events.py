"""Single events of the timeline: their details, and search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import space_of
from gpus import US, gpu, kernel
from helpers import MS
from synthetic.writer import Space
from timelines import STEP, STEPS, brief, hand_over, slices, timeline_of, training_space

from tb_xla_insights.errors import InputError
from tb_xla_insights.text.name_limit import MAX_NAME_LENGTH
from tb_xla_insights.timeline import Timeline


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    return timeline_of(training_space(), tmp_path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda timeline: timeline.view(0, 10, 100, ["h0.t9"]), "no row h0.t9"),
        (lambda timeline: timeline.view(10, 10, 100, ["h0.t0"]), "is empty"),
        (lambda timeline: timeline.view(0, 10, 0, ["h0.t0"]), "0 pixels"),
        (lambda timeline: timeline.event("0.99999"), "no event 0.99999"),
        (lambda timeline: timeline.event("1.0"), "no event 1.0"),
        (lambda timeline: timeline.event("x"), "no event x"),
        (lambda timeline: timeline.event_at("h0.t0", 5 * MS), "no event of h0.t0 starts"),
        (lambda timeline: timeline.event_at("h0.t0", 0, 7), "no event of h0.t0 starts"),
        (lambda timeline: timeline.neighbor("h0.t0", 9, 0, "next"), "h0.t0 has 4 depths"),
        (lambda timeline: timeline.neighbor("h0.t0", 0, 0, "up"), "no direction up"),
        (lambda timeline: timeline.search("a", ["nothing"]), "no row nothing"),
        (lambda timeline: timeline.table(5, 4, [], 10), "is empty"),
    ],
)
def test_invalid_requests_are_a_one_line_error(timeline: Timeline, call: Any, message: str) -> None:
    with pytest.raises(InputError) as raised:
        call(timeline)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_occurrences_of_a_step_are_all_steps(timeline: Timeline) -> None:
    occurrences = timeline.event_at("h0.steps", STEP)["occurrences"]
    assert occurrences["previous"]
    assert occurrences["next"]
    assert (occurrences["count"], occurrences["previous"]["name"], occurrences["next"]["name"]) == (
        STEPS,
        "5",
        "7",
    )


def test_an_event_lists_its_ancestors_and_the_occurrences_of_its_name(timeline: Timeline) -> None:
    event = timeline.event_at("h0.t0", STEP + 12 * MS)
    assert brief(event) == ("ScheduleSyncTensorsGraph", "h0.t0", 3)
    assert [brief(ancestor) for ancestor in event["path"]] == [
        ("Training_Step", "h0.t0", 0),
        ("StepMarker", "h0.t0", 1),
        ("SyncTensorsGraphInternal", "h0.t0", 2),
    ]
    occurrences = event["occurrences"]
    assert (occurrences["count"], occurrences["index"], occurrences["mean_ps"]) == (STEPS, 1, MS // 2)
    assert occurrences["previous"]
    assert occurrences["next"]
    assert (occurrences["previous"]["start_ps"], occurrences["next"]["start_ps"]) == (
        12 * MS,
        2 * STEP + 12 * MS,
    )
    assert occurrences["durations_ps"] == [MS // 2] * STEPS
    assert event["thread"] == "python (driving)"
    assert event["class"] == "sync_prepare"


def test_self_time_excludes_children(timeline: Timeline) -> None:
    assert timeline.event_at("h0.t0", 10 * MS)["self_ps"] == 7 * MS


def test_stats_are_texts_with_their_type(timeline: Timeline) -> None:
    stats = timeline.event_at("h0.steps", 2 * STEP)["stats"]
    assert {"name": "step_num", "value": "7", "kind": "int"} in stats


def test_an_event_belongs_to_the_most_specific_row(timeline: Timeline) -> None:
    for name, row in (("dot.2", "h0.d0.ops"), ("forward", "h0.ann"), ("StepMarker", "h0.t0")):
        hit = timeline.search(f"name:{name}")["hits"]["event"][0]
        assert timeline.event(hit or "")["row"] == row


def test_an_op_is_in_the_run_of_its_program(timeline: Timeline) -> None:
    event = timeline.event_at("h0.d0.ops", 16 * MS)
    assert event["name"] == "dot.2"
    assert [ancestor["row"] for ancestor in event["path"]] == ["h0.d0.modules"]
    assert event["class"] is None


def test_flows_lead_from_work_to_work(timeline: Timeline) -> None:
    schedule = timeline.event_at("h0.t0", 12 * MS)
    execute = timeline.event_at("h0.t1", 13 * MS + 1000)
    thunk = timeline.event_at("h0.t2", 15 * MS + 1000)
    assert [partner["name"] for partner in schedule["flow"]["to"]] == [execute["name"]]
    assert [partner["event"] for partner in execute["flow"]["from"]] == [schedule["event"]]
    assert [partner["event"] for partner in execute["flow"]["to"]] == [thunk["event"]]
    assert [partner["event"] for partner in thunk["flow"]["from"]] == [execute["event"]]


def test_a_task_handed_over_between_events_has_the_previous_one_as_producer(tmp_path: Path) -> None:
    capture = Space()
    host = capture.plane("/host:CPU")
    producer, consumer = host.line("tf_pytorchxla/1"), host.line("tf_XLAEigen/2")
    producer.event("PjRtComputationClient::ExecuteComputation", 0, 10 * MS)
    producer.event("PjRtCpuExecutable::ExecuteHelper", 2 * MS, MS)
    hand_over(producer, 11 * MS, consumer, 12 * MS, 1)
    producer.event("Wait for usage holds", 13 * MS, MS)
    consumer.event("ThunkExecutor::Execute", 12 * MS + 1000, MS)
    timeline = timeline_of(capture, tmp_path)
    consumer_event = timeline.event_at("h0.t1", 12 * MS + 1000)
    assert [partner["name"] for partner in consumer_event["flow"]["from"]] == [
        "PjRtComputationClient::ExecuteComputation"
    ]
    producer_event = timeline.event_at("h0.t0", 0)
    assert [partner["event"] for partner in producer_event["flow"]["to"]] == [consumer_event["event"]]
    assert timeline.event_at("h0.t0", 2 * MS)["flow"]["to"] == []
    assert timeline.event_at("h0.t0", 13 * MS)["flow"]["to"] == []


def test_a_flow_into_a_region_without_work_leads_to_its_start(tmp_path: Path) -> None:
    capture = Space()
    host = capture.plane("/host:CPU")
    producer, consumer = host.line("tf_pytorchxla/1"), host.line("tf_XLAEigen/2")
    producer.event("PjRtComputationClient::ExecuteComputation", 0, 10 * MS)
    hand_over(producer, 1 * MS, consumer, 2 * MS, 1)
    consumer.event("ThreadpoolListener::StopRegion", 3 * MS, 0)
    consumer.event("ThunkExecutor::Execute", 4 * MS, MS)
    timeline = timeline_of(capture, tmp_path)
    (partner,) = timeline.event_at("h0.t0", 0)["flow"]["to"]
    assert brief(partner) == ("ThreadpoolListener::StartRegion", "h0.t1", 0)
    assert [producer["name"] for producer in timeline.event(str(partner["event"]))["flow"]["from"]] == [
        "PjRtComputationClient::ExecuteComputation"
    ]
    assert timeline.event_at("h0.t1", 4 * MS)["flow"]["from"] == []


def test_of_many_flows_the_first_are_listed(tmp_path: Path) -> None:
    capture = Space()
    host = capture.plane("/host:CPU")
    host.line("caller", id=1).event("launch", 0, 10, _pt=15, _p=1)
    early, late = (host.line(name, id=number) for number, name in ((3, "early"), (2, "late")))
    late.event("late kernel", 900, 1, _ct=15, _c=1)
    for start in range(100, 400):
        early.event("kernel", start, 1, _ct=15, _c=1)
    flow = timeline_of(capture, tmp_path).event_at("h0.t0", 0)["flow"]
    assert [partner["start_ps"] for partner in flow["to"]] == list(range(100, 356))
    assert (flow["from"], flow["left_out"]) == ([], 45)


def test_the_end_of_an_op_is_no_partner(timeline: Timeline) -> None:
    assert timeline.event_at("h0.d0.ops", 16 * MS)["flow"] == {"from": [], "to": [], "left_out": 0}


def test_instants_have_details_and_are_found_by_prefix(timeline: Timeline) -> None:
    hits = timeline.search("end: dot")
    assert hits["count"] == 2 * STEPS
    event = timeline.event(hits["hits"]["event"][0] or "")
    assert event["name"].startswith("end: dot")
    assert event["row"] in ("h0.t2", "h0.t3")
    assert event["occurrences"]["count"] == STEPS
    assert not [row for row in timeline.search("dot")["names"] if row["name"].startswith("end")]


def test_instants_of_one_name_are_in_the_lanes_of_the_events_around_them(tmp_path: Path) -> None:
    capture = Space()
    thread = capture.plane("/host:CPU").line("worker", id=1)
    for name, start, duration in (("outer", 0, 100), ("end: a", 10, 0), ("inner", 20, 50), ("end: a", 30, 0)):
        thread.event(name, start, duration)
    occurrences = timeline_of(capture, tmp_path).event("0.1")["occurrences"]
    assert (occurrences["count"], occurrences["index"], occurrences["previous"]) == (2, 0, None)
    assert occurrences["next"]
    assert (occurrences["next"]["event"], occurrences["next"]["depth"]) == ("0.3", 1)


def test_neighbours_of_a_slice(timeline: Timeline) -> None:
    forward = timeline.neighbor("h0.ann", 1, 9 * MS, "previous")["event"]
    following = timeline.neighbor("h0.ann", 1, 9 * MS, "next")["event"]
    assert forward
    assert following
    assert brief(forward) == ("forward", "h0.ann", 1)
    assert following["start_ps"] == STEP + 1 * MS
    assert timeline.neighbor("h0.ann", 0, 0, "previous") == {"event": None}
    assert timeline.neighbor("h0.ann", 0, 2 * STEP, "next") == {"event": None}


def test_search_ignores_case_and_counts_each_event_once(timeline: Timeline) -> None:
    document = timeline.search("DOT")
    assert (document["count"], document["truncated"]) == (2 * STEPS, False)
    assert [(row["name"], row["count"], row["total_ps"]) for row in document["names"]] == [
        ("dot.2", STEPS, STEPS * 2 * MS),
        ("dot.1", STEPS, STEPS * MS),
    ]
    hits = document["hits"]
    assert set(hits["row"]) == {"h0.d0.ops"}
    assert hits["s"] == sorted(hits["s"])
    assert [document["names"][n]["name"] for n in hits["n"]] == ["dot.1", "dot.2"] * STEPS


def test_search_for_a_whole_name(timeline: Timeline) -> None:
    assert timeline.search("name:ThunkExecutor::Execute")["count"] == STEPS
    assert timeline.search("ThunkExecutor::Execute")["count"] == 2 * STEPS
    assert timeline.search("name:thunkexecutor::execute")["count"] == 0


def test_a_name_that_is_the_text_comes_first_then_those_that_begin_with_it(timeline: Timeline) -> None:
    document = timeline.search("ThunkExecutor::Execute")
    assert [row["name"] for row in document["names"]] == [
        "ThunkExecutor::Execute", "ThunkExecutor::Execute (wait for completion)"]  # fmt: skip
    assert [document["names"][n]["name"] for n in document["hits"]["n"]] == [
        row["name"] for row in document["names"] for _ in range(STEPS)]  # fmt: skip
    assert (document["best"], document["count"]) == (STEPS, 2 * STEPS)
    ranked = timeline.search("executor::execute")
    assert ranked["best"] == ranked["count"] == 2 * STEPS
    assert ranked["hits"]["s"] == sorted(ranked["hits"]["s"])


def test_search_in_selected_rows(timeline: Timeline) -> None:
    assert timeline.search("dot", ["h0.t3"])["names"] == [
        {"name": "dot.2", "class": "other", "count": STEPS, "scopes": 0, "total_ps": STEPS * 2 * MS}
    ]
    assert set(timeline.search("forward", ["h0.ann", "h0.t0"])["hits"]["row"]) == {"h0.ann", "h0.t0"}


def test_only_the_first_thousand_hits_are_listed_but_all_are_counted(tmp_path: Path) -> None:
    hits = timeline_of(training_space(600), tmp_path).search("dot")
    assert (hits["count"], hits["truncated"], len(hits["hits"]["s"])) == (1200, True, 1000)
    assert hits["hits"]["s"][-1] < 500 * STEP


def test_the_table_lists_the_events_that_touch_the_window_by_start(timeline: Timeline) -> None:
    listed = timeline.table(STEP + 9 * MS, STEP + 12 * MS, ["h0.t0"], 3)
    assert listed["count"] == 4  # forward ends at the window's start, the schedule starts at its end
    assert [event["name"] for event in listed["items"]] == ["Training_Step", "loss", "StepMarker"]


def test_names_of_a_device_are_the_short_ones_and_the_long_one_is_the_title(tmp_path: Path) -> None:
    capture = Space()
    plane = capture.plane("/device:TPU:0")
    text = "%copy-done.2 = f32[8] copy-done(%copy-start.2)"
    done = plane.event_metadata(text, display_name="copy-done.2")
    reduce = plane.event_metadata("%all-reduce.3 = f32[8] all-reduce(%x)", display_name="all-reduce.3")
    dot = plane.event_metadata("%dot.4 = f32[8] dot(%all-reduce.3)", display_name="dot.4")
    modules, ops = plane.line("XLA Modules"), plane.line("XLA Ops")
    modules.event("jit_f(1)", 0, 40)
    for number, metadata in enumerate((dot, reduce, done)):
        ops.event(metadata, 10 * number, 10)
    plane.line("Async XLA Ops").event("copy-start.2", 5, 20)
    timeline = timeline_of(capture, tmp_path)
    view = timeline.view(0, 40, 20_000, ["h0.d0.ops"])
    assert view["rows"]["h0.d0.ops"][0]["c"] == [0, 1, 2]
    assert timeline.event_at("h0.d0.ops", 20, 0)["title"] == text
    assert timeline.search("all-reduce")["count"] == 1
    assert timeline.search("f32[8]")["count"] == 3
    assert [row["id"] for row in timeline.head()["rows"]] == ["h0.d0.modules", "h0.d0.ops", "h0.d0.async"]


def test_sparse_cores_and_asynchronous_ops_have_rows_below_their_core(tmp_path: Path) -> None:
    """Two jobs of a SparseCore with an op each. The core's line of asynchronous ops is empty."""
    capture = Space()
    core, sparse_core = capture.plane("/device:TPU:0"), capture.plane("/device:TPU:0 SparseCore 1")
    core.line("XLA Modules").event("jit_f(1)", 0, 100)
    core.line("Async XLA Ops")
    for name, start, length in (("gather.1-start", 0, 1), ("dot.4", 1, 39), ("gather.1-done", 40, 20)):
        core.line("XLA Ops").event(name, start, length)
    for start in (10, 70):
        sparse_core.line("Sparse Core Modules").event("gather.1", start, 20)
        sparse_core.line("Sparse Core Ops").event("fusion.8", start + 5, 10)
        sparse_core.line("TEC 0").event("fusion.8", start + 5, 10)
    timeline = timeline_of(capture, tmp_path)
    timeline.find_more_rows()
    rows = {row["id"]: row for row in timeline.head()["rows"] if row["kind"] not in ("gaps", "scopes")}
    assert list(rows) == ["h0.d0.modules", "h0.d0.ops", "h0.d0.async", "h0.d0.sc1"]
    assert (rows["h0.d0.sc1"]["label"], rows["h0.d0.sc1"]["events"]) == ("SparseCore 1", 4)
    view = timeline.view(0, 100, 50_000, ["h0.d0.async", "h0.d0.sc1"])
    assert slices(view, "h0.d0.async") == [[(0, 60, "gather.1-start", 1)]]
    assert [[(start, name) for start, _, name, _ in lane] for lane in slices(view, "h0.d0.sc1")] == [
        [(10, "gather.1"), (70, "gather.1")],
        [(15, "fusion.8"), (75, "fusion.8")],
    ]
    window = timeline.event_at("h0.d0.async", 0, 0)
    assert (window["duration_ps"], window["self_ps"]) == (60, 60)
    details = timeline.event_at("h0.d0.sc1", 75, 1)
    assert (details["thread"], [event["name"] for event in details["path"]]) == ("SparseCore 1", ["gather.1"])
    assert timeline.search("fusion")["hits"]["row"] == ["h0.d0.sc1"] * 2


def test_collectives_and_waits_are_recognised_by_name_or_category(tmp_path: Path) -> None:
    """Class 1 is a collective, 2 an op that waits. Also sends, kernels of a GPU, and collectives identified only by
    their category; not names with merely the same prefix, nor sends to the host."""
    capture = Space()
    plane = capture.plane("/device:GPU:0")
    stream = plane.line("Stream #1(Kernel)")
    plane.event_metadata("fusion.9", stats={"hlo_category": "all-reduce fusion"})
    plane.event_metadata("send.7", stats={"hlo_category": "host send"})
    kernels = ("ncclDevKernel_AllReduce_Sum", "send.1", "recv-done.1", "all-reduce-promotion", "dot.1")
    for number, name in enumerate((*kernels, "fusion.9", "send.7")):
        stream.event(name, 10 * number, 10)
    timeline = timeline_of(capture, tmp_path)
    for row in ("h0.d0.ops", "h0.d0.l0"):
        assert timeline.view(0, 70, 70_000, [row])["rows"][row][0]["c"] == [1, 1, 2, 0, 0, 1, 0]


def test_path_of_a_kernel_has_its_own_run_where_runs_overlap(tmp_path: Path) -> None:
    core = gpu(kernel(0, 100), streams={"Stream #2(Kernel)": [kernel(40, 10, program="jit_g(8)")]})
    timeline = timeline_of(space_of(core), tmp_path)
    paths = [timeline.event_at("h0.d0.ops", start * US)["path"] for start in (0, 40)]
    assert [[event["name"] for event in path] for path in paths] == [["jit_f(7)"], ["jit_g(8)"]]


def test_lists_shorten_very_long_names_and_the_event_has_them_in_full(tmp_path: Path) -> None:
    name = "f" * (MAX_NAME_LENGTH + 1)
    capture = Space()
    capture.plane("/host:CPU").line("python", id=1).event(name, 0, 100)
    timeline = timeline_of(capture, tmp_path)
    listed = name[:-1] + "…"
    assert timeline.view(0, 100, 100, ["h0.t0"])["names"] == [listed]
    event = timeline.event("0.0")
    assert (event["name"], event["title"]) == (listed, name)
    assert [timeline.search(f"name:{query}")["count"] for query in (name, listed)] == [1, 1]


def test_of_many_ancestors_the_outermost_and_innermost_are_listed(tmp_path: Path) -> None:
    capture = Space()
    line = capture.plane("/host:CPU").line("python", id=1)
    for depth in range(231):
        line.event(f"level_{depth}", depth, 1000 - 2 * depth)
    timeline = timeline_of(capture, tmp_path)
    event = timeline.event("0.230")
    names = [ancestor["name"] for ancestor in event["path"]]
    assert names[:100] == [f"level_{depth}" for depth in range(100)]
    assert names[100:] == [f"level_{depth}" for depth in range(130, 230)]
    assert event["path_left_out"] == 30
    assert timeline.event("0.200")["path_left_out"] == 0
