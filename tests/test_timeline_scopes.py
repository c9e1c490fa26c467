"""Rows of scopes in the timeline: what a device works on at each instant, by the names of the host's annotations."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import Core, Event, capture, session, thread
from gpus import US, event, gpu, kernel, nested
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Step, training
from synthetic.hlo import Computation, HloModule, Instruction
from timelines import slices

from tb_xla_insights.errors import InputError
from tb_xla_insights.session import load
from tb_xla_insights.timeline import Timeline, scopes
from tb_xla_insights.timeline.kernels import merge_pieces, op_pieces
from tb_xla_insights.trace.model import SessionTrace

PHASES = [("forward", 200_000), ("update", 100_000)]
NESTED = {"forward": [("attention", 50_000), ("attention", 50_000)]}
FIRST_ATTENTION, SECOND_ATTENTION = (f"Training_Step.1/forward.2/attention.{n}/aten__mm:" for n in (1, 3))
FORWARD, UPDATE = "Training_Step.1/forward.2/aten__mm:", "Training_Step.1/update.4/aten__mm:"
RUN_START = 950_000


def steps(*ops: tuple[int, str]) -> list[Step]:
    body = [(f"dot.{n}", time, scope) for n, (time, scope) in enumerate(ops)]
    return [Step(PHASES, [(RUN_START, body)], NESTED)]


def lanes_of(session_trace: SessionTrace) -> list[list[tuple[int, int, str]]]:
    timeline = Timeline(session_trace)
    timeline.find_more_rows()
    view = timeline.view(0, 2 * session_trace.duration_ps, 20_000, ["h0.d0.scopes"])
    return [
        [(start - RUN_START, length, name) for start, length, name, _ in lane]
        for lane in slices(view, "h0.d0.scopes")
    ]


def test_one_depth_per_enclosing_scope(tmp_path: Path) -> None:
    session_trace = training(
        tmp_path,
        steps((100, FIRST_ATTENTION), (200, FORWARD), (300, UPDATE), (400, "aten__mm:"), (500, UPDATE)),
    )
    assert lanes_of(session_trace) == [
        [(0, 600, "Training_Step"), (600, 400, ""), (1000, 500, "Training_Step")],
        [(0, 300, "forward"), (300, 300, "update"), (1000, 500, "update")],
        [(0, 100, "attention")],
    ]


def test_repetitions_are_separate(tmp_path: Path) -> None:
    session_trace = training(
        tmp_path, steps((100, FIRST_ATTENTION), (200, FIRST_ATTENTION), (300, SECOND_ATTENTION))
    )
    assert lanes_of(session_trace)[2] == [(0, 300, "attention"), (300, 300, "attention")]


def test_a_device_without_scopes_has_no_row(tmp_path: Path) -> None:
    timeline = Timeline(training(tmp_path, steps((100, ""), (200, "aten__mm:"))))
    timeline.find_more_rows()
    assert "scopes" not in [row["kind"] for row in timeline.rows()["rows"]]


def test_ops_of_no_length_have_no_row() -> None:
    op = "dot.1", 5, 0, {"tf_op": "Training_Step.1/forward.2/aten__mm"}
    trace = capture(thread("python", ("Training_Step", 0, 9, {"_r": 1}), ("forward", 1, 5)), Core([op]))
    timeline = Timeline(session(trace))
    timeline.find_more_rows()
    assert "scopes" not in {row["kind"] for row in timeline.rows()["rows"]}


def test_recorded_rows_of_name_scopes_are_unchanged() -> None:
    ops = [("add", 10, 20, {"tf_op": "model/layer/add:Add"})]
    core = Core(ops, lines={"TensorFlow Name Scope": [("model", 10, 20), ("layer", 10, 20)]})
    timeline = Timeline(session(capture(thread("python", ("step", 0, 90)), core)))
    recorded_rows = timeline.rows()["rows"]
    timeline.find_more_rows()
    assert timeline.rows() == {"more_rows": False, "rows": recorded_rows}
    assert timeline.annotation_at("h0.d0.scopes", 10, 1)["path"] == "model/layer"


def test_a_recorded_scope_within_an_annotation_of_the_host_has_its_path() -> None:
    core = Core(
        [("add", 10, 20, {"tf_op": "model/add:Add"})], lines={"TensorFlow Name Scope": [("model", 10, 20)]}
    )
    host = thread("python", ("train", 0, 90, {"_r": 1}), ("model", 1, 5))
    timeline = Timeline(session(capture(host, core)))
    assert timeline.annotation_at("h0.d0.scopes", 10, 0)["path"] == "train/model"


def test_a_slice_that_begins_inside_an_op_has_the_reason_of_that_op() -> None:
    ops = [("while.1", 0, 100, {"tf_op": "while:While"}), ("add", 20, 20, {"tf_op": "model/add:Add"})]
    host = thread("python", ("train", 0, 90, {"_r": 1}), ("model", 1, 5))
    timeline = Timeline(session(capture(host, Core(ops, [("jit_f(7)", 0, 100)]))))
    timeline.find_more_rows()
    for start in (0, 40):
        stats = timeline.event_at("h0.d0.scopes", start, 0)["stats"]
        assert [stat["name"] for stat in stats] == ["backward: 1 op"]


def test_a_slice_belongs_to_the_step_of_its_run_also_where_runs_overlap() -> None:
    """The second step's run begins on the second stream before the first step's last kernel."""

    def scoped(start: float, duration: float, call: int) -> Event:
        name, start_ps, duration_ps, stats = kernel(start, duration, call)
        return name, start_ps, duration_ps, {**stats, "tf_op": "train/model/mul"}

    steps = [event("train", start, 40, _r=1, step_num=number) for number, start in enumerate((0, 50))]
    calls = nested((5, 20, [(1, 10), (2, 15)]), (55, 20, [(3, 60), (4, 65)]))
    streams = {"Stream #2(Kernel)": [scoped(70, 10, 3)]}
    device = gpu(scoped(20, 30, 1), scoped(80, 40, 2), scoped(125, 20, 4), streams=streams)
    timeline = Timeline(session(capture(thread("python", *steps, *calls), device)))
    timeline.find_more_rows()
    step_at = {at: timeline.annotation_at("h0.d0.scopes", at * US, 0)["step"] for at in (20, 70, 80, 125)}
    assert step_at == {20: 0, 70: 1, 80: 0, 125: 1}


def test_steps_that_overlap_are_found_in_any_lane() -> None:
    steps = [("1", 0, 300), ("2", 200, 300), ("3", 450, 200)]
    core = Core([("dot", 0, 650)], lines={"Steps": steps})
    timeline = Timeline(session(capture(thread("python", ("load", 0, 900)), core)))
    assert [timeline.annotation_at("h0.steps", start)["step"] for _, start, _ in steps] == [0, 1, 2]


def test_an_empty_line_of_name_scopes_does_not_replace_the_scopes_of_ops() -> None:
    ops = [("add", 10, 20, {"tf_op": "model/layer/add:Add"})]
    core = Core(ops, lines={"TensorFlow Name Scope": []})
    timeline = Timeline(session(capture(thread("python", ("step", 0, 90)), core)))
    timeline.find_more_rows()
    assert timeline.annotation_at("h0.d0.scopes", 10, 1)["path"] == "model/layer"


@pytest.mark.parametrize("other", ["Framework Name Scope", "Another Name Scope"])
def test_a_second_line_of_name_scopes_has_a_row_of_its_own(other: str) -> None:
    lines = {other: [("other", 10, 20)], "TensorFlow Name Scope": [("model", 10, 20)]}
    timeline = Timeline(
        session(capture(thread("python", ("step", 0, 90)), Core([("add", 10, 20)], lines=lines)))
    )
    timeline.find_more_rows()
    rows = {row["id"]: row["label"] for row in timeline.rows()["rows"] if row["host"] and "d0" in row["id"]}
    assert list(rows.values()) == ["ops", other, "scopes"]
    view = timeline.view(0, 100, 100, list(rows))
    names = [{view["names"][name] for name in view["rows"][row][0]["n"]} for row in rows]
    assert names == [{"add"}, {"other"}, {"model"}]


def test_the_first_view_does_not_wait_for_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("programs are read")

    monkeypatch.setattr(scopes, "find_ops", fail)
    timeline = Timeline(training(tmp_path, steps((100, FIRST_ATTENTION))))
    head = timeline.head()
    timeline.prepare()
    assert head["more_rows"]
    assert "scopes" not in [row["kind"] for row in head["rows"]]


def test_concurrent_requests_add_the_rows_once_below_the_ops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeline = Timeline(training(tmp_path, steps((100, FIRST_ATTENTION))))
    calls = []

    def count_calls(*arguments: Any) -> list[scopes.ScopeTrack]:
        calls.append(arguments)
        return scopes.scope_tracks(*arguments)

    monkeypatch.setattr("tb_xla_insights.timeline.host.scope_tracks", count_calls)
    requests = [threading.Thread(target=timeline.find_more_rows) for _ in range(4)]
    for request in requests:
        request.start()
    for request in requests:
        request.join()
    rows = timeline.rows()
    assert len(calls) == 1
    assert not rows["more_rows"]
    kinds = [row["kind"] for row in rows["rows"] if row["device"]]
    assert kinds == ["modules", "ops", "scopes"]
    assert (rows["rows"][-1]["lanes"], rows["rows"][-1]["events"]) == (3, 3)


def test_a_row_of_scopes_from_an_earlier_load_is_found(tmp_path: Path) -> None:
    first_load, second_load = (Timeline(training(tmp_path, steps((100, FIRST_ATTENTION)))) for _ in range(2))
    first_load.find_more_rows()
    row = first_load.rows()["rows"][-1]["id"]
    assert second_load.view(0, 1000, 100, [row]) == first_load.view(0, 1000, 100, [row])
    with pytest.raises(InputError, match=r"no row h0\.d7\.scopes"):
        second_load.view(0, 1000, 100, ["h0.d7.scopes"])


def test_a_scope_has_its_annotation_and_its_step(tmp_path: Path) -> None:
    timeline = Timeline(
        training(tmp_path, steps((100, FORWARD), (200, SECOND_ATTENTION), (300, "aten__t:"), (50, "")))
    )
    timeline.find_more_rows()
    inner = timeline.event_at("h0.d0.scopes", RUN_START + 100, 2)
    assert (inner["name"], [ancestor["name"] for ancestor in inner["path"]]) == (
        "attention",
        ["Training_Step", "forward"],
    )
    assert {stat["name"]: stat["value"] for stat in inner["stats"]} == {
        "annotation": "Training_Step/forward/attention",
        "as recorded": "Training_Step.1/forward.2/attention.3",
    }
    no_scope = timeline.event_at("h0.d0.scopes", RUN_START + 300, 0)
    assert no_scope["name"] == "no scope"
    assert [stat["name"] for stat in no_scope["stats"]] == ["backward: 1 op", "compiler: 1 op"]
    position = {"step": 0, "device": "vm/TPU:0"}
    assert timeline.annotation_at("h0.d0.scopes", RUN_START + 100, 2) == {
        "path": "Training_Step/forward/attention",
        **position,
    }
    assert timeline.annotation_at("h0.d0.scopes", RUN_START + 300, 0) == {"path": None, **position}
    assert timeline.annotation_at("h0.ann", 0, 1) == {
        "path": "Training_Step/forward",
        "step": 0,
        "device": None,
    }
    with pytest.raises(InputError, match="no event"):
        timeline.annotation_at("h0.ann", 5000, 1)


def test_an_op_has_its_annotations_and_its_source_line(tmp_path: Path) -> None:
    inner = [
        Instruction(n, f"add.{n}", "add", scope.split(":")[0])
        for n, scope in enumerate((FORWARD, UPDATE, UPDATE))
    ]
    entry = [
        Instruction(10, "dot.0", "fusion", UPDATE.split(":")[0], "aten__mm", "model.py", 7, calls=[1]),
        Instruction(11, "dot.1", "dot", "aten__mm"),
    ]
    bodies = [Computation(1, "fused", inner), Computation(2, "entry", entry)]
    hlo = HloModule("SyncTensorsGraph.1", 7, bodies).to_bytes()
    timeline = Timeline(training(tmp_path, steps((300, ""), (100, "")), hlo))

    def read_stats(at: int) -> list[str]:
        stats = timeline.event_at("h0.d0.ops", RUN_START + at)["stats"]
        return [stat["value"] for stat in stats if stat["name"] in ("annotation", "python")]

    assert read_stats(0) == []  # an op is shown without waiting for the programs to be read
    timeline.find_more_rows()
    mixed = "Training_Step/forward 33.3 %, Training_Step/update 66.7 % (named)"
    assert [re.sub(r"[\u2009\u202f]", " ", value) for value in read_stats(0)] == [mixed, "model.py:7"]
    assert read_stats(300) == ["no annotation (backward)"]


OPS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30), st.integers(0, 2)), min_size=1, max_size=12)


@settings(max_examples=200, deadline=None)
@given(OPS)
def test_the_op_that_began_last_is_shown(ops: list[tuple[int, int, int]]) -> None:
    """Ops are given as (start, duration, kind). Kinds 0 and 1 have one part (0 and 1), kind 2 has two (2 and 3), the
    first with a third of the weight."""
    ops.sort(key=lambda op: (op[0], -op[1]))
    start, length, key = (np.array(column) for column in zip(*ops, strict=True))
    run = np.zeros(len(ops), np.int32)
    pieces = op_pieces(start, start + length, key.astype(np.int32), run,
                  np.array([0, 1, 2, 4], np.int32), np.array([1, 1, 1, 3]))  # fmt: skip
    shown = {}
    for begin, end, part, _ in zip(*(column.tolist() for column in pieces), strict=True):
        assert begin < end
        for instant in range(begin, end):
            assert instant not in shown
            shown[instant] = part
    for instant in range(80):
        running = [n for n, (begin, time, _) in enumerate(ops) if begin <= instant < begin + time]
        expected = None
        if running:
            begin, time, kind = ops[running[-1]]
            expected = kind if kind < 2 else 2 if instant < begin + time // 3 else 3
        assert shown.get(instant) == expected


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2), st.integers(-1, 1)), min_size=1, max_size=15)
)
def test_pieces_of_one_run_and_label_are_merged(pieces: list[tuple[int, int, int]]) -> None:
    """Across pauses, except pieces of no run (-1); label -2 is not shown. Pieces are given as (pause before it, label,
    run), and last 5 ps each."""
    pieces.sort(key=lambda piece: piece[2])
    begins = np.cumsum([pause + 5 for pause, _, _ in pieces])
    run = np.array([piece[2] for piece in pieces], np.int32)
    labels = np.array([piece[1] for piece in pieces], np.int32)
    merged = merge_pieces(begins, begins + 5, np.arange(len(pieces), dtype=np.int32), run, labels)
    expected: list[list[int]] = []
    for n, begin in enumerate(begins.tolist()):
        if labels[n] == -2:
            continue
        is_adjacent = run[n] >= 0 or pieces[n][0] == 0
        if n and labels[n - 1] == labels[n] and run[n - 1] == run[n] and is_adjacent:
            expected[-1][1] = begin + 5
        else:
            expected.append([begin, begin + 5, int(labels[n])])
    assert [list(row) for row in zip(*(column.tolist() for column in merged), strict=True)] == expected


@pytest.mark.parametrize(
    ("name", "devices", "outermost_scopes"),
    [
        ("torch_xla/baseline_session_debug", 1, {"Training_Step"}),
        ("torch_xla/spmd_fsdp_debug", 2, {"Training_Step"}),
        ("torch_xla/tiny_nodebug", 0, set()),
        ("public/gpu_mi300_jax", 8, {"jit(forward_3d_conv)"}),
        ("public/tpu_v6e_jax", 4, {"jit(_psum)", "jit(broadcast_in_dim)", "jit(f)"}),
    ],
)
def test_scopes_of_real_captures(
    shared_traces: Path, name: str, devices: int, outermost_scopes: set[str]
) -> None:
    loaded = load(str(shared_traces / name))
    timeline = Timeline(loaded.trace)
    timeline.find_more_rows()
    rows = [row["id"] for row in timeline.rows()["rows"] if row["kind"] == "scopes"]
    assert len(rows) == devices
    for row in rows:
        outer = slices(timeline.view(0, loaded.duration_ps + 1, 20_000, [row]), row)[0]
        assert {scope for _, _, scope, _ in outer} - {""} <= outermost_scopes
