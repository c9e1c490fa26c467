"""The order in which a device runs the phases of a step."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from captures import real_trace, session
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import STEP_PS, Step, training
from synthetic import case_study

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.propagation import propagation_report, propagation_view
from tb_xla_insights.analysis.propagation.order import (
    device_phase_segments,
    find_order,
    find_phases,
    phase_sequence,
)
from tb_xla_insights.analysis.propagation.tree import annotation_rows, select_runs
from tb_xla_insights.trace.model import SessionTrace

PHASES = [("data", 100_000), ("forward", 200_000), ("loss", 100_000), ("update", 100_000)]
SCOPE = {
    "": "aten__mm:",
    "forward": "Training_Step.1/forward.2/aten__mm:",
    "loss": "Training_Step.1/loss.3/aten__mm:",
    "update": "Training_Step.1/update.4/inner.1/aten__mm:",
}
ORDER = ["", "forward", "loss", "update"]


def ops(*phases: tuple[str, int]) -> list[tuple[str, int, str]]:
    return [(f"dot.{n}", time, SCOPE[phase]) for n, (phase, time) in enumerate(phases)]


def one_step(tmp_path: Path, *phases: tuple[str, int]) -> SessionTrace:
    return training(tmp_path, [Step(PHASES, [(950_000, ops(*phases))])])


def test_consecutive_ops_of_one_phase_are_one_run(tmp_path: Path) -> None:
    body = [
        ("forward", 10),
        ("forward", 5),
        ("", 3),
        ("forward", 2),
        ("update", 4),
        ("loss", 6),
        ("forward", 1),
    ]
    (order,) = find_order(one_step(tmp_path, *body).traces[0])
    assert order.sequence == [
        ("forward", 15),
        ("", 3),
        ("forward", 2),
        ("update", 4),
        ("loss", 6),
        ("forward", 1),
    ]
    assert (order.runs, order.phases) == (6, 4)
    assert order.inversion_share == 7 / 31  # loss and the last forward, after update has begun


def test_phases_are_in_host_order(tmp_path: Path) -> None:
    loaded = one_step(tmp_path, ("update", 10), ("forward", 10))
    assert find_phases(loaded.traces[0]).name == ["data", "forward", "loss", "update"]
    assert propagation_report(loaded.traces[0])["propagation"]["inversion_share"] == 0.5


def test_inversions_are_counted_within_an_execution(tmp_path: Path) -> None:
    steps = [Step(PHASES, [(950_000 + STEP_PS * n, ops(("forward", 10), ("update", 10)))]) for n in range(3)]
    (order,) = find_order(training(tmp_path, steps).traces[0])
    assert (order.executions, order.runs, order.inversion_share) == (3, 2, 0.0)


def test_repetitions_of_a_phase_follow_scope_positions(tmp_path: Path) -> None:
    host_phases = [("forward", 100_000), ("backward", 100_000), ("forward", 100_000), ("backward", 100_000)]
    scopes = [f"Training_Step.1/forward.{n}/aten__mm:" for n in (1, 3)]
    body = [("dot.1", 10, scopes[1]), ("dot.2", 20, scopes[0])]
    loaded = training(tmp_path, [Step(host_phases, [(950_000, body)])])
    phases = find_phases(loaded.traces[0])
    assert list(zip(phases.name, phases.repetition, strict=True)) == [
        ("forward", 0), ("backward", 0), ("forward", 1), ("backward", 1)]  # fmt: skip
    view = propagation_view(loaded)
    assert [(row["phase"], row["inverted"]) for row in view["phase_rows"]["device"]] == [
        (2, False),
        (0, True),
    ]
    assert [row["host"] for row in view["ribbons"]] == [2, 0]


def test_a_program_that_runs_again_in_a_step_has_the_next_repetitions_of_its_phases(tmp_path: Path) -> None:
    """Gradients are accumulated: each run of the program has one forward, but the host's step has two."""
    host_phases = [("forward", 100_000), ("backward", 100_000), ("sync", 50_000)] * 2
    body = [
        (f"dot.{n}", 10, f"Training_Step.1/{name}.{n}/aten__mm:")
        for n, name in enumerate(("forward", "backward"))
    ]
    runs = [(300_000, body), (600_000, body)]
    view = propagation_view(training(tmp_path, [Step(host_phases, runs, markers=[200_000, 450_000])]))
    phases = [(phase["name"], phase["repetition"]) for phase in view["phases"]]
    assert [phases[row["phase"]] for row in view["phase_rows"]["device"] if row["phase"] is not None] == [
        ("forward", 0), ("backward", 0), ("forward", 1), ("backward", 1)]  # fmt: skip
    host = view["phase_rows"]["host"]
    assert [host[row["host"]]["start_ps"] for row in view["ribbons"]] == [0, 100_000, 250_000, 350_000]


def test_a_phase_that_is_cut_stays_one_phase(tmp_path: Path) -> None:
    """Two step markers are inside the first forward, so it has two runs."""
    host_phases = [("forward", 200_000), ("forward", 200_000)]
    body = [("dot.1", 10, "Training_Step.1/forward.1/aten__mm:")]
    runs = [(start, body) for start in (300_000, 600_000, 700_000)]
    view = propagation_view(training(tmp_path, [Step(host_phases, runs, markers=[50_000, 150_000, 400_000])]))
    host = view["phase_rows"]["host"]
    assert [host[row["host"]]["start_ps"] for row in view["ribbons"]] == [0, 200_000]
    assert [row["merged"] for row in view["phase_rows"]["device"]] == [2, 1]


def test_two_kinds_of_steps_share_a_phase(tmp_path: Path) -> None:
    """Steps that train have three phases, one that evaluates has the first of them."""
    names = ["forward", "loss", "optim"]
    steps: list[Step] = []
    for kind, program, phase_names in [*[("Train", 7, names)] * 3, ("Eval", 8, names[:1])]:
        body = [(f"dot.{n}", 10, f"{kind}.1/{name}.{n}/aten__mm:") for n, name in enumerate(phase_names, 2)]
        run = 950_000 + STEP_PS * len(steps), body
        steps.append(Step([(name, 100_000) for name in phase_names], [run], name=kind, program=program))
    trace = training(tmp_path, steps).traces[0]
    assert find_phases(trace).name == names
    assert [(order.program_id, [name for name, _ in order.sequence]) for order in find_order(trace)] == [
        ("7", names),
        ("8", ["forward"]),
    ]


def test_ribbons_lead_from_the_phases_of_the_step_to_their_runs(tmp_path: Path) -> None:
    view = propagation_view(one_step(tmp_path, ("forward", 10), ("update", 5), ("", 2), ("forward", 3)))
    host = view["phase_rows"]["host"]
    assert [row["name"] for row in host] == ["data", "forward", "loss", "update", "StepMarker"]
    assert [(host[row["host"]]["name"], row["device"], row["inverted"]) for row in view["ribbons"]] == [
        ("forward", 0, False), ("update", 1, False), ("forward", 3, True)]  # fmt: skip
    order = view["order"]
    assert (order["runs"], order["phases"], order["inversion_share"]) == (4, 3, 3 / 20)
    assert [tuple(phase.values()) for phase in order["by_phase"]] == [
        (1, 2, 13, 950_000, 950_020, 3), (3, 1, 5, 950_010, 950_015, 0), (None, 1, 2, 950_015, 950_017, 0)]  # fmt: skip
    assert [(row["start_ps"], row["end_ps"]) for row in view["phase_rows"]["device"]] == [
        (950_000, 950_010), (950_010, 950_015), (950_015, 950_017), (950_017, 950_020)]  # fmt: skip


def test_short_segments_are_drawn_as_one_by_phase(tmp_path: Path) -> None:
    """Of 1,000 segments, only the two long ones stand alone."""
    many = [("forward" if n % 2 else "", 60 if n == 501 else 90 if n == 400 else 2) for n in range(1000)]
    view = propagation_view(one_step(tmp_path, *many))
    strip = view["phase_rows"]["device"]
    assert [(row["phase"], row["device_ps"]) for row in strip if row["merged"] == 1] == [(None, 90), (1, 60)]
    assert len(strip) <= 2 + 2 * 20
    assert sum(row["merged"] for row in strip) == view["order"]["runs"] == 1000
    assert sum(row["ops"] for row in strip) == 1000
    for phase, name in ((None, ""), (1, "forward")):
        time = sum(row["device_ps"] for row in strip if row["phase"] == phase)
        assert time == sum(ps for of, ps in many if of == name)


PHASE_TIMES = st.lists(st.tuples(st.sampled_from(ORDER), st.integers(1, 50)), min_size=1, max_size=25)


@settings(max_examples=30, deadline=None)
@given(PHASE_TIMES)
def test_runs_and_inversions_by_definition(phases: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        orders = find_order(one_step(Path(folder), *phases).traces[0])
    if not any(name for name, _ in phases):
        assert orders == []
        return
    (order,) = orders
    segments = [
        (name, sum(time for _, time in segment))
        for name, segment in groupby(phases, key=lambda phase: phase[0])
    ]
    assert order.sequence == segments
    late_ps = sum(time for n, (name, time) in enumerate(phases)
               if name and any(ORDER.index(before) > ORDER.index(name) for before, _ in phases[:n]))  # fmt: skip
    assert order.inversion_share == late_ps / sum(time for _, time in phases)


@settings(max_examples=20, deadline=None)
@given(PHASE_TIMES, st.randoms(use_true_random=False))
def test_inversion_does_not_depend_on_the_order_of_ops_within_a_segment(
    phases: list[tuple[str, int]], random: object
) -> None:
    changed = []
    for _, segment in groupby(phases, key=lambda phase: phase[0]):
        group = list(segment)
        random.shuffle(group)  # type: ignore[attr-defined]
        changed += group
    with TemporaryDirectory() as folder:
        before = find_order(one_step(Path(folder), *phases).traces[0])
        after = find_order(one_step(Path(folder), *changed).traces[0])
    assert [(order.runs, order.inversion_share, order.sequence) for order in before] == [
        (order.runs, order.inversion_share, order.sequence) for order in after
    ]


@pytest.fixture(scope="module")
def demo() -> SessionTrace:
    path = Path(__file__).parents[1] / "demo_logs" / case_study.path()
    return session(real_trace(path.parent))


TRUTH = case_study.truth()


def test_the_case_study_matches_its_plan(demo: SessionTrace) -> None:
    trace = demo.traces[0]
    step = next(n for n, candidate in enumerate(find_steps(trace)) if candidate.number == TRUTH.gap_step)
    runs = device_phase_segments(trace, 0, select_runs(trace, step, 0))
    assert tuple(phase_sequence(find_phases(trace), runs)) == TRUTH.phase_order
    times = {row.path: row.device_ps for row in annotation_rows(trace, step, 0) if row.device_ps}
    assert times == TRUTH.scope_ps


def test_the_case_studys_coverage_and_lost_annotations(demo: SessionTrace) -> None:
    index = next(n for n, step in enumerate(find_steps(demo.traces[0])) if step.number == TRUTH.gap_step)
    view = propagation_view(demo, index)
    assert view["device"]
    assert view["device"]["name"] == "TPU:0"
    assert {key: value for key, value in view["coverage"].items() if key != "device_ps"} == vars(
        TRUTH.coverage
    )
    assert view["coverage"]["device_ps"] == TRUTH.run_ps
    assert {row["path"].rpartition("/")[2]: row["reason"] for row in view["lost"]} == TRUTH.lost_annotations
    assert view["order"]["runs"] == len(TRUTH.phase_order)
    assert view["order"]["phases"] == len({name for name, _ in TRUTH.phase_order})
    # FINISH_UPDATE is second, so the runs of forward after it are late.
    late_ps = sum(time for name, time in TRUTH.phase_order[2:] if name == "forward")
    assert view["order"]["inversion_share"] == late_ps / TRUTH.run_ps


def test_the_case_study_as_a_whole(demo: SessionTrace) -> None:
    report = propagation_report(demo.traces[0])
    main = report["propagation"]["programs"][0]
    assert (main["program"], main["executions"]) == ("SyncTensorsGraph.41937", 72)
    assert report["propagation"]["runs"] == len(TRUTH.phase_order)
    assert report["propagation"]["device_ps"] == sum(device.busy_ps for device in TRUTH.devices)
    launches = sum(TRUTH.module_launches.values())
    step = next(row for row in report["annotations"] if row["path"] == "Training_Step")
    assert (
        (step["count"], step["executions"])
        == (len(TRUTH.steps), launches)
        == (10, len(find_launches(demo.traces[0])))
    )
