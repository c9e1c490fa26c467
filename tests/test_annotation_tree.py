"""The times of annotations on host and device: each op's time counts once, for the step that launched it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from captures import Core, capture, session, thread
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import STEP_PS, Step, module, training
from synthetic.hlo import Instruction

from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.propagation import propagation_report, propagation_view
from tb_xla_insights.analysis.propagation.annotations_report import propagation_diagnostics
from tb_xla_insights.analysis.propagation.kernels import find_distinct, own_times, sum_by_part
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.tree import annotation_rows
from tb_xla_insights.analysis.scope_names import MAX_LEVELS
from tb_xla_insights.errors import InputError
from tb_xla_insights.timeline import Timeline
from tb_xla_insights.trace.model import SessionTrace

PHASES = [("forward", 300_000), ("backward", 300_000)]
FORWARD, ATTENTION = (
    "Training_Step.1/forward.1/aten__mm:aten__mm",
    "Training_Step.1/forward.1/attention.2/aten__mm:aten__mm",
)
SCOPES = [
    FORWARD,
    ATTENTION,
    "aten__mm:aten__mm",
    "",
    "Training_Step.1/aten__add:",
    "Training_Step.1/backward.2/aten__mm:",
]


def sums(report: Any) -> tuple[int, int]:
    """The time of all ops, and the sum of their times by what is known of their scopes."""
    propagation = report["propagation"]
    return propagation["device_ps"], sum(
        propagation[f"{kind}_ps"] for kind in ("direct", "recovered", "bare", "none")
    )


def rows(session: SessionTrace, step: int | None = None) -> dict[str, tuple[int, int, int, int]]:
    """Count, host time, device time and device ops of the annotations, by path."""
    return {
        row.path: (row.count, row.host_ps, row.device_ps, row.device_ops)
        for row in annotation_rows(session.traces[0], step)
    }


def test_annotations_of_helper_threads_are_listed_with_their_thread() -> None:
    trace = capture(
        thread(
            "python",
            ("generate", 0, 40, {"_r": 1}),
            ("detokenize", 30, 5),
            ("detokenize", 50, 7),
            role="driving",
        ),
        thread(
            "detok",
            ("detokenize", 10, 20),
            ("decode", 12, 9),
            ("np.asarray(jax.Array)", 13, 3),
            ("flush", 90, 4),
        ),
        thread("Thread-1/8", ("KV_Cache_Pull", 1, 2)),
        thread("Thread-1/9", ("KV_Cache_Pull", 2, 4)),
        thread("pjrt-tpu-tasks/7", ("something", 10, 20)),
    )
    rows = propagation_report(trace)["annotations"]
    assert [(row["path"], row["thread"], row["count"], row["host_ps"], row["lost"]) for row in rows] == [
        ("generate", None, 1, 40, None),
        ("generate/detokenize", None, 2, 12, None),
        ("KV_Cache_Pull", "Thread-1 1 and 1 more", 2, 6, None),
        ("detokenize", "detok", 1, 20, None),
        ("detokenize/decode", "detok", 1, 9, None),
        ("flush", "detok", 1, 4, None),
    ]  # fmt: skip


def test_a_name_of_the_driving_thread_and_of_helpers_is_two_paths() -> None:
    """Times of the two are not added, and what a step hands over is not a part of it."""
    trace = capture(
        thread(
            "python", ("generate", 10, 40, {"_r": 1}), ("detokenize", 60, 7), ("text", 61, 2), role="driving"
        ),
        thread("detok", ("detokenize", 0, 20), ("text", 2, 3), ("generate", 30, 5)),
    )
    rows = propagation_report(trace)["annotations"]
    assert {row["path"]: (row["thread"], row["count"], row["host_ps"]) for row in rows} == {
        "generate": (None, 1, 40),
        "detokenize": (None, 1, 7),
        "detokenize/text": (None, 1, 2),
        "detokenize (other threads)": ("detok", 1, 20),
        "detokenize (other threads)/text": ("detok", 1, 3),
        "generate (other threads)": ("detok", 1, 5),
    }


def test_times_of_annotations_include_nested_ones(tmp_path: Path) -> None:
    inner = {"forward": [("attention", 100_000)]}
    body = [("dot.1", 60, FORWARD), ("dot.2", 40, ATTENTION), ("dot.3", 7, ""), ("dot.2", 5, ATTENTION)]
    loaded = training(tmp_path, [Step(PHASES, [(950_000, body)], inner)])
    assert rows(loaded) == {
        "Training_Step": (1, STEP_PS, 105, 3),
        "Training_Step/forward": (1, 300_000, 105, 3),
        "Training_Step/forward/attention": (1, 100_000, 45, 2),
        "Training_Step/backward": (1, 300_000, 0, 0),
    }
    assert list(rows(loaded)) == ["Training_Step", "Training_Step/forward", "Training_Step/forward/attention",
                                 "Training_Step/backward"]  # fmt: skip
    assert sums(propagation_report(loaded.traces[0])) == (112, 112)


def test_ops_belong_to_the_step_that_launched_them(tmp_path: Path) -> None:
    late_ps = 7 * STEP_PS
    steps = [Step(PHASES, [(late_ps + 1000 * n, [("dot.1", 100 + n, FORWARD)])]) for n in range(5)]
    loaded = training(tmp_path, steps)
    for n in range(5):
        assert rows(loaded, n)["Training_Step/forward"] == (1, 300_000, 100 + n, 1)
    view = propagation_view(loaded, step=3)
    assert view["step"]
    assert view["step"]["number"] == 3
    assert view["coverage"]["direct_ps"] == 103
    assert [row["start_ps"] for row in view["phase_rows"]["device"]] == [late_ps + 3000]


def test_executions_of_an_annotation_are_launches_of_programs_with_its_ops(tmp_path: Path) -> None:
    steps = [Step(PHASES, [(950_000 + STEP_PS * n, [("dot.1", 10, FORWARD)] * 3)]) for n in range(4)]
    report = propagation_report(training(tmp_path, steps).traces[0])
    row = next(row for row in report["annotations"] if row["path"] == "Training_Step/forward")
    assert (row["executions"], row["device_ops"], row["programs"]) == (4, 12, ["7"])


def test_a_number_sign_is_part_of_a_name(tmp_path: Path) -> None:
    """Stats that the profiler appended to a name are not."""
    phases = [("layer #3", 100), ("layer #4#scale=2#", 100)]
    ops = [
        ("dot.1", 20, "Training_Step.1/layer #3.2/aten__mm"),
        ("dot.2", 30, "Training_Step.1/layer #4.3/aten__mm"),
    ]
    loaded = training(tmp_path, [Step(phases, [(950_000, ops)])])
    rows = propagation_report(loaded.traces[0])["annotations"]
    assert [(row["path"], row["count"], row["device_ps"]) for row in rows] == [
        ("Training_Step", 1, 50),
        ("Training_Step/layer #3", 1, 20),
        ("Training_Step/layer #4", 1, 30),
    ]
    trace = loaded.traces[0]
    assert [enclosing_path(trace, row) for row in trace.annotations.tolist()] == [row["path"] for row in rows]


@pytest.mark.parametrize("step", ["Training_Step", "train/step"])
def test_annotations_of_a_cut_step_have_the_path_of_whole_steps(step: str) -> None:
    events = [(step, 100, 100, {"_r": 1, "step_num": 1}), ("forward", 100, 50), ("inner", 110, 9)]
    cut = [("inner", 5, 9), ("forward", 210, 50), ("inner", 220, 9), ("other", 300, 5)]
    trace = capture(thread("python", *cut[:1], *events, *cut[1:]))
    assert {row.path: row.count for row in annotation_rows(trace)} == {
        step: 1,
        f"{step}/forward": 2,
        f"{step}/forward/inner": 3,
        "other": 1,
    }


def test_names_that_are_empty_or_only_slashes_have_rows() -> None:
    trace = capture(thread("python", ("", 0, 20), ("/", 5, 9), ("/x", 30, 9)))
    assert {row.path: row.count for row in annotation_rows(trace)} == {"": 1, "//": 1, "/x": 1}


def test_a_mixed_fusion_gives_each_scope_its_share(tmp_path: Path) -> None:
    fused = [
        Instruction(n, f"add.{n}", "add", FORWARD.split(":")[0] if n < 3 else ATTENTION.split(":")[0])
        for n in range(4)
    ]
    hlo = module([Instruction(9, "fusion.1", "fusion", calls=[5])], {5: fused})
    loaded = training(
        tmp_path, [Step(PHASES, [(950_000, [("fusion.1", 101, ""), ("fusion.1", 3, "")])])], hlo
    )
    report = propagation_report(loaded.traces[0])["propagation"]
    assert (report["recovered_ps"], report["device_ps"]) == (104, 104)
    assert rows(loaded)["Training_Step/forward"][2:] == (104, 2)
    assert rows(loaded)["Training_Step/forward/attention"][2:] == (101 - 101 * 3 // 4 + 3 - 3 * 3 // 4, 2)
    (shared_op,) = propagation_view(loaded)["shared_ops"]
    assert shared_op["parts"] == [
        {"path": "Training_Step/forward", "share": 0.75},
        {"path": "Training_Step/forward/attention", "share": 0.25},
    ]


op = st.tuples(st.sampled_from(["dot.1", "dot.2", "fusion.3"]), st.integers(0, 1000), st.sampled_from(SCOPES))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(op, max_size=12), min_size=1, max_size=4))
def test_time_is_conserved_from_ops_to_scopes(bodies: list[list[tuple[str, int, str]]]) -> None:
    steps = [Step(PHASES, [(950_000 + STEP_PS * n, body)] if body else []) for n, body in enumerate(bodies)]
    with TemporaryDirectory() as folder:
        loaded = training(Path(folder), steps)
        trace = loaded.traces[0]
        total = sum(duration for body in bodies for _, duration, _ in body)
        assert sums(propagation_report(loaded.traces[0])) == (total, total)
        per_step = [annotation_rows(trace, n) for n in range(len(bodies))]
        for row in annotation_rows(trace):
            nested = [
                descendant
                for descendant in annotation_rows(trace)
                if descendant.path.startswith(f"{row.path}/")
            ]
            assert row.device_ps == row.own_device_ps + sum(descendant.own_device_ps for descendant in nested)
            of_steps = [
                next(step_row for step_row in step_rows if step_row.path == row.path)
                for step_rows in per_step
            ]
            assert row.device_ps == sum(step_row.device_ps for step_row in of_steps)
            assert row.device_ops == sum(step_row.device_ops for step_row in of_steps)
        scoped = sum(duration for body in bodies for _, duration, scope in body if "/" in scope)
        assert sum(row.own_device_ps for row in annotation_rows(trace)) == scoped


weights = st.lists(st.integers(1, 50), min_size=1, max_size=5)


@given(st.lists(weights, min_size=1, max_size=6), st.data())
def test_the_parts_of_an_op_add_up_to_it(parts: list[list[int]], data: st.DataObject) -> None:
    first = np.cumsum([0, *map(len, parts)]).astype(np.int32)
    cumulative = np.concatenate([np.cumsum(weights_of_op) for weights_of_op in parts]).astype(np.int64)
    ops = data.draw(st.lists(st.tuples(st.integers(0, len(parts) - 1), st.integers(0, 2**50)), max_size=20))
    key, own_ps = (
        np.array([number for number, _ in ops], np.int32),
        np.array([time for _, time in ops], np.int64),
    )
    time, count = np.zeros(len(cumulative), np.int64), np.zeros(len(parts), np.int64)
    sum_by_part(key, own_ps, first, cumulative, time, count)
    for op_number, parts_of_op in enumerate(parts):
        total = sum(duration for number, duration in ops if number == op_number)
        shares = time[first[op_number] : first[op_number + 1]]
        assert shares.sum() == total
        assert count[op_number] == sum(number == op_number for number, _ in ops)
        for share, weight in zip(shares.tolist(), parts_of_op, strict=True):
            assert abs(share - total * weight / sum(parts_of_op)) <= len(ops) + total * 1e-9


@given(st.lists(st.integers(-5, 5) | st.integers(-(2**62), 2**62), max_size=3000))
def test_values_are_numbered_in_order_of_occurrence(values: list[int]) -> None:
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    first, number = find_distinct(np.array(values, np.int64))
    assert number.tolist() == [numbers[value] for value in values]
    assert [values[index] for index in first.tolist()] == list(numbers)


@given(st.integers(0, 5000))
def test_numbering_is_stable_when_the_table_grows(count: int) -> None:
    values = np.concatenate((np.arange(count), np.arange(count))).astype(np.int64)
    first, number = find_distinct(values)
    assert first.tolist() == list(range(count))
    assert number.tolist() == [*range(count), *range(count)]


def own_times_of(spans: Sequence[tuple[int, int, int]], caller: Sequence[int]) -> list[int]:
    """Own times of ops, given as (distinct op, start, end). `caller` has the op that calls each distinct op, or -1."""
    key, start, end = (
        np.array(column, dtype)
        for column, dtype in zip(zip(*spans, strict=True), (np.int32, np.int64, np.int64), strict=True)
    )
    in_program = np.ones(len(caller), np.bool_)
    return [
        int(value)
        for value in own_times(start, end, end - start, key, np.array(caller, np.int32), in_program)
    ]


def test_concurrent_ops_each_count_their_full_time() -> None:
    assert own_times_of([(0, 0, 100), (1, 10, 30), (2, 20, 60)], [-1, -1, -1]) == [100, 20, 40]


def test_own_time_of_a_call_excludes_its_inner_ops() -> None:
    assert own_times_of([(0, 0, 100), (1, 10, 30), (1, 20, 60), (2, 70, 80)], [-1, 0, -1]) == [
        50,
        20,
        40,
        10,
    ]


def test_an_inner_op_of_an_earlier_call_takes_nothing_from_the_next_one() -> None:
    assert own_times_of([(0, 0, 50), (1, 10, 30), (0, 100, 150), (1, 160, 170)], [-1, 0]) == [30, 20, 50, 10]


def test_an_inner_op_that_outlasts_its_call_takes_only_the_time_within_it() -> None:
    assert own_times_of([(0, 0, 50), (1, 40, 90)], [-1, 0]) == [40, 50]


def test_devices_without_modules_have_scopes_too() -> None:
    ops = [("k1", 0, 10, {"tf_op": "jit(f)/jit(main)/add:"}), ("k2", 10, 5)]
    report = propagation_report(capture(Core(name="GPU:0", lines={"Stream #1": ops})))
    assert [(row["path"], row["device_ps"], row["kind"], row["lost"]) for row in report["annotations"]] == [
        ("jit(f)", 10, "scope", None),
        ("jit(f)/jit(main)", 10, "scope", None),
    ]
    assert sums(report) == (15, 15)


def test_a_line_of_name_scopes_provides_scopes() -> None:
    names = [("model", 0, 60), ("layer_1", 0, 30), ("layer_2", 30, 30), ("model", 100, 10)]
    kernels = [("k", 0, 10), ("k", 35, 5), ("k", 70, 5), ("k", 100, 10)]
    core = Core(name="GPU:0", lines={"Stream #1": kernels, "TensorFlow Name Scope": names})
    ops = find_ops(capture(core))
    times = {
        (origin.parts[0][0] if origin.parts else ""): int(time)
        for origin, time in zip(ops.origin, ops.totals.op_ps, strict=True)
    }
    assert times == {"model/layer_1": 10, "model/layer_2": 5, "model": 10, "": 5}


def test_an_unknown_step_or_device_is_an_error(tmp_path: Path) -> None:
    loaded = training(tmp_path, [Step(PHASES, [(950_000, [("dot.1", 10, FORWARD)])])])
    for arguments in ({"step": 1}, {"step": -1}, {"device": "vm/TPU:5"}):
        with pytest.raises(InputError, match=r"no (step|device)"):
            propagation_view(loaded, **arguments)


def test_a_session_without_ops_has_an_empty_view() -> None:
    trace = capture(thread("python", ("StepMarker", 0, 5)))
    for empty in (session(), session(trace)):
        view = propagation_view(empty)
        assert (view["state"], view["tree"], view["ribbons"]) == ("no_ops", [], [])
    assert sums(propagation_report(trace)) == (0, 0)


def test_annotations_below_the_depth_limit_have_no_row_and_a_diagnostic() -> None:
    deep = [(f"level_{level}", level, 1000 - 2 * level) for level in range(MAX_LEVELS + 3)]
    op = (
        "dot",
        2000,
        10,
        {"tf_op": "/".join(f"level_{level}.1" for level in range(MAX_LEVELS + 3)) + "/aten__mm:"},
    )
    loaded = session(capture(thread("python", *deep), Core([op])))
    table = rows(loaded)
    innermost = "/".join(f"level_{level}" for level in range(MAX_LEVELS))
    assert max(table, key=len) == innermost
    assert table[innermost] == (1, 1000 - 2 * (MAX_LEVELS - 1), 10, 1)
    assert [
        (diagnostic.id, diagnostic.message.partition(",")[0])
        for diagnostic in propagation_diagnostics(loaded.traces[0])
    ] == [("deep_annotations", "3 annotations nested more than 64 levels deep")]
    timeline = Timeline(loaded)
    assert timeline.annotation_at("h0.ann", MAX_LEVELS, MAX_LEVELS)["path"] is None


def test_very_long_names_are_cut() -> None:
    names = [("x" * 10_000, 0, 100), ("a/" * 10_000 + "a", 200, 100)]
    loaded = session(
        capture(thread("python", *names), Core([("dot", 10, 10, {"tf_op": "a/" * 10_000 + "mm:"})]))
    )
    assert next(iter(rows(loaded))) == "x" * 250 + "…"
    assert max(rows(loaded), key=lambda path: path.count("/")) == "/".join("a" * MAX_LEVELS)
