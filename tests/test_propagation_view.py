"""The propagation view of one step and device: intervals, lines of Python, phases, and its route."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from captures import real_trace, session
from programs import STEP_PS, Step, training
from synthetic import case_study, dynamo_issue, transformer
from synthetic.hlo import Computation, HloModule, Instruction

from tb_xla_insights.analysis.propagation import propagation_view
from tb_xla_insights.analysis.propagation.tree import device_ps_in_steps
from tb_xla_insights.cli.printing import console
from tb_xla_insights.cli.report_text import DETAIL, print_sections
from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import roots
from tb_xla_insights.logdir.store import Store, session_opener
from tb_xla_insights.report.document import session_report
from tb_xla_insights.routes.arguments import Arguments
from tb_xla_insights.routes.handlers import Handlers
from tb_xla_insights.sections.device_time import annotation_tree, shared_ops
from tb_xla_insights.session import load
from tb_xla_insights.trace.build import build_session
from tb_xla_insights.trace.model import SessionTrace

ROOT = Path(__file__).parents[1]
PHASES = [("data", 100_000), ("forward", 200_000), ("update", 100_000)]
FORWARD, UPDATE = (f"Training_Step.1/{name}/aten__mm" for name in ("forward.2", "update.3"))
RUN = 950_000


def program() -> bytes:
    """A fusion of two scopes, two matrix products of another line, one of them bare, and an op without a name."""
    inner = [
        Instruction(1, "a", "add", FORWARD, source_file="model.py", source_line=3),
        Instruction(2, "b", "add", UPDATE, source_file="model.py", source_line=3),
    ]
    entry = [
        Instruction(10, "fusion.1", "fusion", FORWARD, "aten__add", "model.py", 3, calls=[1]),
        Instruction(11, "dot.1", "dot", FORWARD, "aten__mm", "model.py", 7),
        Instruction(12, "dot.2", "dot", "aten__mm", "aten__mm", "model.py", 7),
        Instruction(13, "sort.1", "sort"),
    ]
    bodies = [Computation(1, "fused", inner), Computation(2, "entry", entry)]
    return HloModule("SyncTensorsGraph.1", 7, bodies).to_bytes()


@pytest.fixture
def loaded(tmp_path: Path) -> SessionTrace:
    body = [("fusion.1", 100, ""), ("dot.1", 40, ""), ("dot.2", 20, ""), ("sort.1", 5, "")]
    return training(tmp_path, [Step(PHASES, [(RUN + n * STEP_PS, body)]) for n in range(3)], program())


def test_lines_lead_to_annotations_and_add_up(loaded: SessionTrace) -> None:
    view = propagation_view(loaded, 1)
    lines = [(row["source"], row["path"], row["device_ps"], row["ops"]) for row in view["lines"]]
    assert lines == [
        ("model.py:3", "Training_Step/forward", 50, 1),
        ("model.py:3", "Training_Step/update", 50, 1),
        ("model.py:7", "Training_Step/forward", 40, 1),
        ("model.py:7", None, 20, 1),
        ("", None, 5, 1),
    ]
    assert sum(row["device_ps"] for row in view["lines"]) == view["coverage"]["device_ps"] == 165


def test_shared_and_unannotated_ops_are_those_of_the_step(loaded: SessionTrace) -> None:
    view = propagation_view(loaded, 1)
    (shared_op,) = view["shared_ops"]
    assert (shared_op["name"], shared_op["device_ps"], shared_op["source"]) == ("fusion.1", 100, "model.py:3")
    assert shared_op["parts"] == [
        {"path": "Training_Step/forward", "share": 0.5},
        {"path": "Training_Step/update", "share": 0.5},
    ]
    assert [(row["op"], row["state"], row["device_ps"]) for row in view["unannotated_ops"]] == [
        ("aten__mm", "bare", 20),
        ("sort", "none", 5),
    ]
    assert sum(row["device_ps"] for row in view["unannotated_ops"]) == view["unannotated"]["step_device_ps"]


def test_rows_have_the_intervals_of_their_work(loaded: SessionTrace) -> None:
    view = propagation_view(loaded, 1)
    intervals = {row["name"]: (row["host_interval"], row["device_interval"]) for row in view["tree"]}
    run = RUN + STEP_PS
    assert intervals == {
        "Training_Step": ((STEP_PS, 2 * STEP_PS), (run, run + 140)),
        "data": ((STEP_PS, STEP_PS + 100_000), None),
        "forward": ((STEP_PS + 100_000, STEP_PS + 300_000), (run, run + 140)),
        "update": ((STEP_PS + 300_000, STEP_PS + 400_000), (run, run + 100)),
    }


def test_annotated_and_other_time_add_up_in_a_step_and_in_the_capture(loaded: SessionTrace) -> None:
    view = propagation_view(loaded, 1)
    (root,) = (row for row in view["tree"] if not row["depth"])
    rest = view["unannotated"]
    assert root["step_device_ps"] + rest["step_device_ps"] == view["coverage"]["device_ps"]
    assert root["device_ps"] + rest["device_ps"] == view["total"]["device_ps"]
    assert view["means"] == {"steps": 3, "devices": 1}
    assert 3 * root["mean_device_ps"] == root["device_ps"]


def test_slashes_in_names_divide_no_annotation(tmp_path: Path) -> None:
    phases = [("data", 100_000), ("net/forward", 200_000)]
    step = Step(phases, [(RUN, [("dot.1", 40, "train/step.1/net/forward.2/aten__mm")])], name="train/step")
    view = propagation_view(training(tmp_path, [step]))
    assert [phase["name"] for phase in view["phases"]] == ["data", "net/forward"]
    assert view["ribbons"] == [{"host": 1, "device": 0, "inverted": False}]
    assert [(row["name"], row["depth"]) for row in view["tree"]] == [
        ("train/step", 0),
        ("data", 1),
        ("net/forward", 1),
    ]


def test_phases_of_steps_inside_another_annotation(tmp_path: Path) -> None:
    loop = ("train_loop", 0, 3 * STEP_PS)
    scopes = [f"train_loop.1/Training_Step.2/{name}/aten__mm" for name in ("forward.3", "update.4")]
    steps = [
        Step(PHASES, [(RUN + n * STEP_PS, [("dot.1", 40, scopes[0]), ("dot.2", 20, scopes[1])])])
        for n in range(3)
    ]
    view = propagation_view(training(tmp_path, steps, around=loop))
    assert [phase["name"] for phase in view["phases"]] == ["data", "forward", "update"]
    assert [ribbon["host"] for ribbon in view["ribbons"]] == [1, 2]


def test_steps_that_launch_nothing_count_in_the_means(tmp_path: Path) -> None:
    """As where gradients are accumulated: the first step only builds, the second one launches the work of both."""
    steps = [Step(PHASES), Step(PHASES, [(RUN + STEP_PS, [("dot.1", 40, "")])])]
    view = propagation_view(training(tmp_path, steps, program()))
    assert view["means"] == {"steps": 2, "devices": 1}
    (root,) = (row for row in view["tree"] if not row["depth"])
    assert (root["mean_host_ps"], root["mean_device_ps"]) == (STEP_PS, 20)


def test_an_op_of_several_scopes_in_one_phase_counts_once(tmp_path: Path) -> None:
    inner = [
        Instruction(n, f"add.{n}", "add", f"Training_Step.1/forward.2/layer.{n}/aten__add") for n in (1, 2, 3)
    ]
    entry = [Instruction(10, "fusion.1", "fusion", calls=[1]), Instruction(11, "dot.1", "dot", UPDATE)]
    proto = HloModule(
        "SyncTensorsGraph.1", 7, [Computation(1, "fused", inner), Computation(2, "entry", entry)]
    )
    steps = [Step(PHASES, [(RUN, [("fusion.1", 90, ""), ("dot.1", 40, "")])])]
    strip = propagation_view(training(tmp_path, steps, proto.to_bytes()))["phase_rows"]["device"]
    assert [(segment["device_ps"], segment["ops"]) for segment in strip] == [(90, 1), (40, 1)]


def test_means_of_hosts_with_different_numbers_of_steps_and_devices(tmp_path: Path) -> None:
    """Host a has one step on one device, host b six steps on two: 13 steps of a device."""
    spaces = {"a": dynamo_issue.build("lazy"), "b": transformer.build()}
    traces = [
        real_trace(space.write(tmp_path / name / f"{name}.xplane.pb").parent)
        for name, space in spaces.items()
    ]
    view = propagation_view(build_session("session", "session", traces, []))
    assert view["means"] == {"steps": 7, "devices": 3}
    device_ps = sum(device_ps_in_steps(trace)["Training_Step"] for trace in traces)
    (root,) = (row for row in view["tree"] if row["path"] == "Training_Step")
    assert root["mean_device_ps"] == device_ps // 13


def test_the_steps_of_the_host_are_listed(loaded: SessionTrace) -> None:
    view = propagation_view(loaded)
    assert view["steps"] == {"first": 0, "numbers": [0, 1, 2]}
    assert view["step"]
    assert view["step"]["index"] in (0, 1, 2)


def test_phases_of_the_case_study() -> None:
    demo = session(real_trace(ROOT / "demo_logs" / Path(case_study.path()).parent))
    truth = case_study.truth()
    view = propagation_view(demo, 2)
    names = [row["name"] for row in view["phases"]]
    times = {
        names[phase["phase"]] if phase["phase"] is not None else "": (phase["runs"], phase["device_ps"])
        for phase in view["order"]["by_phase"]
    }
    for name in times:
        phase_ps = [time for phase, time in truth.phase_order if phase == name]
        assert times[name] == (len(phase_ps), sum(phase_ps))
    assert sum(time for _, time in times.values()) == truth.run_ps


class TestRoutes:
    @pytest.fixture
    def get(self) -> Any:
        """Answers of the routes about the case study."""
        listing = Listing(roots(str(ROOT / "demo_logs")))
        listing.refresh(wait=None)
        handlers = Handlers(listing, Store(listing, session_opener())).gets()
        name = next(files.name for files in listing.sessions if files.name.startswith("synthetic_case_study"))
        return lambda route, **arguments: handlers[route](
            Arguments(f"data/{route}", {"session": name, **arguments})
        )

    def test_a_step_and_a_device(self, get: Any) -> None:
        view = get("propagation", step="2", device="t1v-n-8c41-w-0/TPU:3")
        assert (view["step"]["number"], view["device"]["name"], view["requested_path"]) == (
            1206,
            "TPU:3",
            None,
        )

    def test_a_step_by_its_number(self, get: Any) -> None:
        assert get("propagation", step_number="1209")["step"]["index"] == 5
        default_step = get("propagation")["step"]
        assert get("propagation", step_number="no such number")["step"] == default_step

    def test_a_selection_of_the_timeline_is_picked(self, get: Any) -> None:
        (row,) = (row for row in get("scopes")["rows"] if row["id"] == "h0.d3.scopes")
        assert row["device"] == "t1v-n-8c41-w-0/TPU:3"
        view = get("propagation", step="2", device=row["device"])
        segment = view["phase_rows"]["device"][1]
        picked = get("propagation", row=row["id"], start_ps=str(segment["start_ps"]), depth="1")
        assert picked["requested_path"] == "Training_Step/FINISH_UPDATE"
        assert (picked["step"]["number"], picked["device"]["name"]) == (1206, "TPU:3")
        begin = next(row["host_interval"][0] for row in view["tree"] if row["name"] == "backward")
        host = get("propagation", row="h0.ann", start_ps=str(begin), depth="1")
        assert (host["requested_path"], host["step"]["number"]) == ("Training_Step/backward", 1206)

    def test_the_valid_parts_of_an_old_link_are_used(self, get: Any) -> None:
        for selection in ({"row": "nothing"}, {"row": "h0.ann", "depth": "1"}):
            view = get("propagation", step_number="1206", start_ps="5", **selection)
            assert (view["stale"], view["requested_path"], view["step"]["number"]) == (True, None, 1206)
        assert not get("propagation")["stale"]

    def test_a_ready_session_has_the_rows_once_they_are_found(self, get: Any) -> None:
        rows = get("scopes")
        ready = get("session")
        assert not ready["more_rows"]
        assert ready["rows"] == rows["rows"]
        assert [row["lanes"] for row in rows["rows"] if row["kind"] == "scopes"] == [3] * 8

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"step": "99"}, "no step 99"),
            ({"step": "-1"}, "step must be"),
            ({"device": "nothing"}, "no device nothing"),
            ({"row": "h0.ann"}, "start_ps"),
        ],
    )
    def test_missing_steps_and_devices_are_errors(
        self, get: Any, arguments: dict[str, str], words: str
    ) -> None:
        with pytest.raises(InputError, match=words):
            get("propagation", **arguments)


def test_from_python() -> None:
    loaded = load(str(ROOT / "demo_logs/torch_xla_baseline"))
    view = loaded.propagation(step=1)
    assert view["step"]
    assert view["step"]["index"] == 1
    assert view["step"]["duration_ps"] == loaded.steps()[1]["duration_ps"]
    with pytest.raises(InputError, match="no device nothing"):
        loaded.propagation(device="nothing")


def test_the_report_adds_up_all_steps(loaded: SessionTrace) -> None:
    report = session_report(loaded)["propagation"]
    bare = report["bare_ps"] + report["none_ps"]
    assert sum(row["device_ps"] for row in report["lines"]) == report["device_ps"] == 3 * 165
    assert [tuple(row.values()) for row in report["unannotated_ops"]] == [
        ("aten__mm", "model.py:7", "bare", 60, 3), ("sort", "", "none", 15, 3)]  # fmt: skip
    assert sum(row["device_ps"] for row in report["unannotated_ops"]) == bare
    assert [row["device_ps"] for row in report["shared_ops"]] == [300]


def test_the_report_as_text(loaded: SessionTrace, capsys: pytest.CaptureFixture[str]) -> None:
    document = session_report(loaded)
    sections = [make(document, DETAIL) for make in (annotation_tree, shared_ops)]
    print_sections(console(), filter(None, sections))
    lines = [re.sub(r"[\u2009\u202f]", " ", line).split() for line in capsys.readouterr().out.splitlines()]
    cells = {line[0]: line[1:] for line in lines if line}
    assert cells["forward"] == ["3", "0.600", "0.000", "6", "3"]
    assert cells["all"][0] == "ops"
    assert cells["fusion.1"] == ["0.300", "forward", "50.0", "%,", "update", "50.0", "%", "model.py:3"]
    assert cells["Lost,"][:6] == ["no", "ops", "of", "its", "own:", "data."]
    (line,) = (line for line in lines if line[:1] == ["Of"])
    assert " ".join(line[5:]) == (
        "all cores: 84.9 % with a scope in their metadata (named), 0.0 % with one from their parts or neighbours "
        "(inferred), 12.1 % with an op name alone, as in a backward pass (backward), 3.0 % with neither (compiler)."
    )
