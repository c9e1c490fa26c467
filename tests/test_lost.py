"""Annotations that are lost, as no device op has them in its scope: the reason and the advice."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Core, capture, session, thread
from programs import STEP_PS, Step, module, training
from synthetic.hlo import Instruction

from tb_xla_insights.analysis.findings import Finding, ShownWindow, find_findings
from tb_xla_insights.analysis.findings.finding import MAX_WINDOWS
from tb_xla_insights.analysis.propagation import (
    propagation_diagnostics,
    propagation_report,
    propagation_view,
    scoped_ops,
)
from tb_xla_insights.analysis.propagation.lost import lost_annotations
from tb_xla_insights.trace.model import Role, SessionTrace

PHASES = [("data_loading", 100_000), ("forward", 200_000), ("backward", 200_000), ("update", 100_000)]
FORWARD = "Training_Step.1/forward.2/aten__mm:aten__mm"
BARE = "aten__mm:aten__mm"


def one_step(tmp_path: Path, *ops: tuple[str, int, str], hlo: bytes | None = None) -> SessionTrace:
    return training(tmp_path, [Step(PHASES, [(950_000, ops)])], hlo)


def lost_reasons(loaded: SessionTrace) -> dict[str, str]:
    return {
        path.removeprefix("Training_Step/"): reason
        for path, reason in lost_annotations(loaded.traces[0]).items()
    }


def lost_finding(loaded: SessionTrace) -> Finding | None:
    """The finding about lost annotations."""
    return next(
        (
            finding
            for finding in find_findings(loaded.traces[0])
            if finding.id == "annotations_not_propagated"
        ),
        None,
    )


def test_backward_is_lost_to_autograds_thread(tmp_path: Path) -> None:
    loaded = one_step(tmp_path, ("dot.1", 60, FORWARD), ("dot.2", 40, BARE))
    assert lost_reasons(loaded) == {
        "data_loading": "no ops of its own",
        "backward": "autograd thread",
        "update": "no ops of its own",
    }
    finding = lost_finding(loaded)
    assert finding is not None
    assert (finding.severity, finding.gain, finding.cost_ps) == ("info", None, 0)
    assert finding.evidence["unexplained_ps"] == 40
    assert finding.windows == [ShownWindow(300_000, 500_000)]
    assert "backward" in finding.title


def test_windows_are_those_of_the_longest_lost_annotations(tmp_path: Path) -> None:
    phases = [(f"backward_{number}", 1000 + number) for number in range(30)]
    loaded = training(tmp_path, [Step(phases, [(950_000, [("dot.1", 60, FORWARD), ("dot.2", 40, BARE)])])])
    finding = lost_finding(loaded)
    assert finding is not None
    lengths = [window.end_ps - window.start_ps for window in finding.windows]
    assert lengths == [1029 - number for number in range(MAX_WINDOWS)]


def test_without_bare_ops_nothing_ran_on_autograds_thread(tmp_path: Path) -> None:
    loaded = one_step(tmp_path, ("dot.1", 60, FORWARD))
    assert lost_reasons(loaded)["backward"] == "no ops of its own"
    assert lost_finding(loaded) is None


def test_a_backward_pass_is_recognised_by_its_thread() -> None:
    scope, ops = "Training_Step.1/forward.1/aten__mm:", [("dot.1", 900, 10), ("dot.2", 910, 10)]
    python = thread(
        "python", ("Training_Step", 0, 800, {"_r": 1}), ("forward", 0, 100), ("gradients", 200, 200),
        ("update", 500, 99), ("StepMarker", 700, 50), role="driving",
    )  # fmt: skip
    autograd = thread("pt_autograd_0", ("SyncTensorsGraph", 250, 20), role="autograd")
    stats = [{"tf_op": scope}, {"tf_op": "aten__mm:"}]
    core = Core([(*op, op_stats) for op, op_stats in zip(ops, stats, strict=True)])
    reasons = lost_annotations(capture(python, autograd, core))
    assert reasons == {
        "Training_Step/gradients": "autograd thread",
        "Training_Step/update": "no ops of its own",
    }


def test_flag_off(tmp_path: Path) -> None:
    hlo = module([Instruction(1, "dot.1", "dot"), Instruction(2, "fusion.2", "fusion")])
    loaded = one_step(tmp_path, ("dot.1", 60, ""), ("fusion.2", 40, ""), hlo=hlo)
    assert set(lost_reasons(loaded).values()) == {"flag off"}
    assert len(lost_reasons(loaded)) == 5
    finding = lost_finding(loaded)
    assert finding is not None
    assert "XLA_HLO_DEBUG=1" in finding.advice
    assert [diagnostic.id for diagnostic in propagation_diagnostics(loaded.traces[0])] == ["no_hlo_scopes"]
    view = propagation_view(loaded)
    assert view["state"] == "flag_off"
    assert view["hint"]
    assert "XLA_HLO_DEBUG=1" in view["hint"]


def test_an_unreadable_program_does_not_imply_that_the_flag_was_off(tmp_path: Path) -> None:
    loaded = one_step(tmp_path, ("dot.1", 60, ""), hlo=b"\xff\xff")
    assert lost_reasons(loaded) == {}
    assert [diagnostic.severity for diagnostic in propagation_diagnostics(loaded.traces[0])] == ["warning"]


def test_scopes_that_only_hand_tensors_over_have_no_ops(tmp_path: Path) -> None:
    data, work = "Training_Step.1/data_loading.1/xla__device_data", "Training_Step.1/update.4/aten__add"
    hlo = module([
        Instruction(1, "p0.1", "parameter", data), Instruction(2, "bitcast.1", "bitcast", data, operands=[1]),
        Instruction(3, "add.7", "add", work), Instruction(4, "dot.1", "dot", FORWARD.split(":")[0]),
    ])  # fmt: skip
    assert lost_reasons(one_step(tmp_path, ("dot.1", 60, ""), hlo=hlo)) == {
        "data_loading": "no ops of its own",
        "backward": "no ops of its own",
        "update": "optimised away",
    }


def test_dynamo_keeps_only_the_outermost_scope() -> None:
    events = [
        ("Training_Step", 0, 900, {"_r": 1, "step_num": 1}), ("forward", 0, 500), ("attention", 10, 50),
        ("ExecuteComputationWithBarrier", 100, 50), ("PjRtComputationClient::ExecuteComputation", 110, 20),
        ("DoEnqueueProgram", 112, 5, {"_pt": 12, "_p": 1}), ("update", 600, 50), ("StepMarker", 700, 50),
    ]  # fmt: skip
    core = Core(
        [("dot.1", 200, 40, {"tf_op": "Training_Step.1/forward.1/aten__mm:"})],
        [("SyncTensorsGraph.1(7)", 200, 40, {"_ct": 12, "_c": 1})],
    )
    assert lost_annotations(capture(thread("python", *events), core)) == {
        "Training_Step/forward/attention": "dynamo",
        "Training_Step/update": "no ops of its own",
    }


def test_without_recorded_ops_nothing_is_known_to_be_lost() -> None:
    events = [("Training_Step", 0, 100, {"_r": 1}), ("forward", 0, 50), ("StepMarker", 60, 30)]
    trace = capture(thread("python", *events), Core(modules=[("SyncTensorsGraph.1(7)", 70, 20)]))
    assert lost_annotations(trace) == {}
    view = propagation_view(session(trace))
    assert (view["state"], view["lost"]) == ("no_ops", [])


@pytest.mark.parametrize("role", ["loader", "other"])
def test_annotations_of_helper_threads_are_never_lost(role: Role) -> None:
    python = thread("python", ("Training_Step", 0, 100, {"_r": 1}), ("StepMarker", 60, 30), role="driving")
    helper = thread("python", ("load_batch", 0, 30), role=role)
    core = Core([("dot.1", 70, 20, {"tf_op": "Training_Step.1/aten__mm:"})])
    trace = capture(python, helper, core)
    assert "load_batch" in {row["path"] for row in propagation_report(trace)["annotations"]}
    assert lost_annotations(trace) == {}


def test_annotations_of_other_frameworks_are_never_lost() -> None:
    python = thread("python", ("train", 0, 100, {"_r": 1}), ("PjitFunction(f)", 10, 20))
    core = Core([("dot.1", 70, 20, {"tf_op": "jit(f)/jit(main)/add:"}), ("copy.1", 90, 20)])
    report = propagation_report(capture(python, core))
    assert {row["lost"] for row in report["annotations"]} == {None}
    assert report["propagation"]["direct_ps"] == 20


def test_device_time_without_annotation_by_kind_and_line(tmp_path: Path) -> None:
    hlo = module([
        Instruction(1, "dot.1", "dot", "aten__mm", source_file="train.py", source_line=9),
        Instruction(2, "dot.2", "dot", "aten__mm;aten__add", source_file="train.py", source_line=9),
        Instruction(3, "sort.1", "sort"), Instruction(4, "dot.3", "dot", FORWARD.split(":")[0]),
    ])  # fmt: skip
    body = [("dot.1", 10, ""), ("dot.2", 20, ""), ("sort.1", 50, ""), ("dot.3", 7, "")]
    steps = [Step(PHASES, [(950_000 + n * STEP_PS, body)]) for n in range(2)]
    rows = [
        tuple(row[key] for key in ("op", "source", "state", "device_ps", "count"))
        for row in scoped_ops(training(tmp_path, steps, hlo).traces[0])["unannotated_ops"]
    ]
    assert rows == [("sort", "", "none", 100, 2), ("aten__mm", "train.py:9", "bare", 60, 4)]


def test_annotations_of_unreadable_programs_are_not_reported_as_without_ops(tmp_path: Path) -> None:
    loaded = one_step(
        tmp_path, ("dot.1", 60, FORWARD), ("dot.2", 40, BARE), ("copy.1", 5, ""), hlo=b"\xff\xff"
    )
    assert lost_reasons(loaded) == {"backward": "autograd thread"}
