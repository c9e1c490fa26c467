"""What an annotation of the host became on the devices, and which program a call launched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from captures import session
from launching import demo
from programs import STEP_PS, Step, training

from tb_xla_insights.analysis.propagation import propagation_view
from tb_xla_insights.analysis.propagation.pieces import MAX_PIECES
from tb_xla_insights.schema.timeline_route import DeviceWork, EventDetails
from tb_xla_insights.timeline.timeline import Timeline
from tb_xla_insights.trace.model import SessionTrace

Body = list[tuple[str, int, str]]
ANNOTATIONS, OPS_AT = "h0.ann", 950_000


def timeline_of(session: SessionTrace) -> Timeline:
    timeline = Timeline(session)
    timeline.find_more_rows()
    return timeline


def scoped(*ops: tuple[str, int]) -> Body:
    """Ops, each with its scope below the step and its length."""
    return [
        (f"dot.{n}", length, f"S.1/{scope}/aten__mm:" if scope else "")
        for n, (scope, length) in enumerate(ops)
    ]


def step(phases: Sequence[tuple[str, int]], *ops: tuple[str, int]) -> Step:
    return Step(phases, [(OPS_AT, scoped(*ops))], name="S")


def time_of(work: DeviceWork) -> int:
    """The own time of an annotation's ops on one device."""
    return sum(piece["device_ps"] for piece in work["pieces"])


def works(event: EventDetails) -> list[DeviceWork]:
    assert event["on_device"] is not None
    return event["on_device"]["devices"]


FORWARD = [("forward", 200_000), ("loss", 100_000)]


def test_the_pieces_of_an_annotation_are_interrupted_by_other_ops(tmp_path: Path) -> None:
    body = [
        ("forward.2", 10),
        ("forward.2", 5),
        ("loss.3", 3),
        ("", 2),
        ("forward.2/mlp.1", 4),
        ("loss.3", 1),
    ]
    timeline = timeline_of(training(tmp_path, [step(FORWARD, *body)]))
    event = timeline.event_at(ANNOTATIONS, 0, 1)
    (work,) = works(event)
    assert event["on_device"] is not None
    assert (event["on_device"]["path"], event["on_device"]["depth"], event["on_device"]["missing"]) == (
        "S/forward", 1, None)  # fmt: skip
    assert (time_of(work), work["ops"], work["count"]) == (19, 3, 2)
    assert work["runs"] == [(OPS_AT, OPS_AT + 25)]
    first, second = work["pieces"]
    assert (first["start_ps"], first["end_ps"], first["after_ps"]) == (OPS_AT, OPS_AT + 15, 0)
    assert (second["after_ps"], second["device_ps"], second["ops"]) == (20, 4, 1)
    assert [piece["longest"] and piece["longest"]["name"] for piece in work["pieces"]] == ["dot.0", "dot.4"]
    assert {piece["named"] for piece in work["pieces"]} == {"named"}
    assert work["text"].replace("\u202f", " ") == "0.019 ns, 3 ops, 2 pieces, on TPU:0"
    assert work["note"].replace("\u202f", " ") == (
        "They begin at the start of SyncTensorsGraph.1, and end 0.024 ns later.")  # fmt: skip
    (launch,) = event["launches"]
    assert (launch["program"], launch["devices"], launch["duration_ps"]) == (
        "SyncTensorsGraph.1",
        ["vm/TPU:0"],
        25,
    )
    assert launch["call"] is not None
    assert launch["call"]["name"] == "PjRtComputationClient::ExecuteComputation"
    assert launch["run"] is not None
    assert launch["run"]["start_ps"] == OPS_AT


def test_annotations_of_one_name_in_a_graph_are_told_apart_by_the_positions_of_scopes(tmp_path: Path) -> None:
    layers = [("layer", 100_000)] * 3
    body = [("layer.2", 10), ("layer.5", 7), ("layer.9", 3), ("layer.5", 2)]
    second = Step(layers, [(STEP_PS + OPS_AT, scoped(*body))], name="S")
    timeline = timeline_of(training(tmp_path, [step(layers, *body), second]))
    times = [
        time_of(works(timeline.event_at(ANNOTATIONS, number * STEP_PS + at, 1))[0])
        for number in range(2)
        for at in (0, 100_000, 200_000)
    ]
    assert times == [10, 9, 3] * 2


def test_annotations_that_positions_do_not_tell_apart_share_their_ops(tmp_path: Path) -> None:
    layers = [("layer", 100_000)] * 3
    timeline = timeline_of(training(tmp_path, [step(layers, ("layer.2", 10), ("layer.5", 7))]))
    (work,) = works(timeline.event_at(ANNOTATIONS, 100_000, 1))
    assert time_of(work) == 17
    assert "do not tell the 3 annotations of this name apart" in work["note"]


def test_work_is_that_of_the_graph_that_was_traced_meanwhile_and_of_runs_that_repeat_it(
    tmp_path: Path,
) -> None:
    """Two step markers: the first one's run has the first forward, the second one's repeats that, and has the loss."""
    runs = [(OPS_AT, scoped(("forward.2", 10))), (OPS_AT + 100, scoped(("forward.2", 10), ("loss.3", 4)))]
    session = training(tmp_path, [Step(FORWARD, runs, name="S", markers=[200_000, 400_000])])
    timeline = timeline_of(session)
    forward, loss = (timeline.event_at(ANNOTATIONS, at, 1) for at in (0, 200_000))
    assert [launch["duration_ps"] for launch in forward["launches"]] == [10, 14]
    assert [time_of(work) for work in works(forward)] == [20]
    assert [launch["duration_ps"] for launch in loss["launches"]] == [14]
    assert [time_of(work) for work in works(loss)] == [4]


def test_an_annotation_without_ops_says_why(tmp_path: Path) -> None:
    timeline = timeline_of(training(tmp_path, [step([("data", 100_000), *FORWARD], ("forward.2", 10))]))
    event = timeline.event_at(ANNOTATIONS, 0, 1)
    assert event["launches"] == []
    assert event["on_device"] is not None
    assert event["on_device"]["missing"] is not None
    assert event["on_device"]["missing"].startswith("no ops of its own. Nothing to do")


def test_many_pieces_are_told_together_where_they_are_close(tmp_path: Path) -> None:
    body = [op for n in range(MAX_PIECES + 10) for op in (("forward.2", 5), ("loss.3", 1 if n < 10 else 50))]
    timeline = timeline_of(training(tmp_path, [step(FORWARD, *body)]))
    (work,) = works(timeline.event_at(ANNOTATIONS, 0, 1))
    assert work["count"] == MAX_PIECES + 10
    assert [piece["count"] for piece in work["pieces"]] == [11] + [1] * (MAX_PIECES - 1)
    assert sum(piece["ops"] for piece in work["pieces"]) == work["ops"] == MAX_PIECES + 10


def test_a_scope_of_ops_is_followed_like_its_annotation(tmp_path: Path) -> None:
    body = [("forward.2", 10), ("loss.3", 3), ("forward.2", 5)]
    timeline = timeline_of(training(tmp_path, [step(FORWARD, *body)]))
    scope, annotation = (timeline.event_at(*at) for at in (("h0.d0.scopes", OPS_AT, 1), (ANNOTATIONS, 0, 1)))
    assert scope["on_device"] == annotation["on_device"]
    assert scope["launches"] == annotation["launches"]


def test_a_call_and_a_run_say_which_program_runs_on_which_devices(tmp_path: Path) -> None:
    timeline = timeline_of(training(tmp_path, [step(FORWARD, ("forward.2", 10))]))
    rows = {row["kind"]: row["id"] for row in timeline.rows()["rows"]}
    call = timeline.search("name:PjRtComputationClient::ExecuteComputation")["hits"]["event"][0]
    enqueue = timeline.search("name:DoEnqueueProgram")["hits"]["event"][0]
    events = [
        timeline.event(call or ""),
        timeline.event(enqueue or ""),
        timeline.event_at(rows["modules"], OPS_AT),
    ]
    for event in events:
        assert [(launch["program"], launch["devices"]) for launch in event["launches"]] == [
            ("SyncTensorsGraph.1", ["vm/TPU:0"])]  # fmt: skip
        assert event["on_device"] is None
    assert timeline.event_at(rows["ops"], OPS_AT)["launches"] == []


def test_a_search_finds_the_scopes_of_ops_after_events(tmp_path: Path) -> None:
    body = [("forward.2", 10), ("loss.3", 3), ("forward.2/mlp.1", 5)]
    timeline = timeline_of(training(tmp_path, [step(FORWARD, *body)]))
    found = timeline.search("forward")
    assert [(row["name"], row["count"], row["scopes"]) for row in found["names"]] == [("forward", 3, 2)]
    assert found["hits"]["row"] == [ANNOTATIONS, "h0.d0.scopes", "h0.d0.scopes"]
    assert found["hits"]["event"][1:] == [None, None]
    assert found["best"] == 1
    only_scope = timeline.search("mlp")
    assert (only_scope["count"], only_scope["hits"]["s"], only_scope["hits"]["depth"]) == (
        1,
        [OPS_AT + 13],
        [2],
    )
    assert timeline.event_at("h0.d0.scopes", OPS_AT + 13, 2)["on_device"] is not None


@pytest.mark.parametrize("name", ["forward", "forward/image_encoder", "FINISH_UPDATE/optimizer_step"])
def test_the_work_of_an_annotation_is_that_of_its_step(name: str) -> None:
    case_study = session(demo("synthetic_case_study_8_tpu_cores"))
    timeline, view = timeline_of(case_study), propagation_view(case_study, 4)
    row = next(row for row in view["tree"] if row["path"] == f"Training_Step/{name}")
    assert row["host_interval"] is not None
    event = timeline.event_at(ANNOTATIONS, row["host_interval"][0], row["depth"])
    assert [work["device"][-5:] for work in works(event)] == [f"TPU:{n}" for n in range(8)]
    work = works(event)[0]
    assert (time_of(work), work["ops"]) == (row["step_device_ps"], row["step_device_ops"])
    assert "on each of 8 cores" in work["text"]
    assert [len(launch["devices"]) for launch in event["launches"]] == [8]
