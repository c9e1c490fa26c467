"""Names of annotations that contain slashes divide no annotation, in any output."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from loops import STEP, findings, loop
from programs import STEP_PS, Step, training
from report_texts import UNLIMITED_WIDTH, console, printed, printed_text, section

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation import propagation_view
from tb_xla_insights.analysis.propagation.annotations_report import reported_lost
from tb_xla_insights.analysis.propagation.lost import AUTOGRAD
from tb_xla_insights.analysis.propagation.path_names import name_and_depth, outer_path
from tb_xla_insights.analysis.propagation.tree import annotation_rows
from tb_xla_insights.analysis.window.window_document import window
from tb_xla_insights.cli.compare_text import print_comparison
from tb_xla_insights.compare import compare
from tb_xla_insights.compare.step import default_step_view
from tb_xla_insights.device_work.device_view import device_view
from tb_xla_insights.html.page import report_html
from tb_xla_insights.pod.causes import LateCause, _find_annotation
from tb_xla_insights.pod.collective_columns import TimesOfSteps
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.report.work_tables import work_by_op
from tb_xla_insights.timeline import Timeline
from tb_xla_insights.trace.model import SessionTrace

STEPS = 5
FORWARD = "train/step.1/net/forward.2/aten__mm"
INNER = "train/step.1/net/forward.2/enc/q.7/aten__add"
UPDATE = "train/step.1/update.3/aten__add"
PATHS = [
    "train/step",
    "train/step/data",
    "train/step/net/forward",
    "train/step/net/forward/enc/q",
    "train/step/update",
]
NAMES = ["train/step", "data", "net/forward", "enc/q", "update"]
DEPTHS = [0, 1, 1, 2, 1]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> SessionTrace:
    phases = [("data", 100_000), ("net/forward", 200_000), ("update", 100_000)]
    ops = [("dot.1", 40_000, FORWARD), ("add.2", 20_000, UPDATE), ("mul.3", 10_000, INNER)]
    steps = [
        Step(
            phases,
            [(number * STEP_PS + 920_000, ops)],
            inner={"net/forward": [("enc/q", 50_000)]},
            name="train/step",
        )
        for number in range(STEPS)
    ]
    return training(tmp_path_factory.mktemp("slashes"), steps)


def test_the_path_around_a_path() -> None:
    assert [outer_path(path, PATHS) for path in PATHS] == ["", PATHS[0], PATHS[0], PATHS[2], PATHS[0]]
    assert [name_and_depth(path, PATHS) for path in PATHS] == [*zip(NAMES, DEPTHS, strict=True)]


def test_annotations_in_the_report_as_text_and_as_a_page(loaded: SessionTrace) -> None:
    document: Any = session_report(loaded)
    text = printed(document)
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("Annotations ("))
    indented = [re.split(r"  +\d", line)[0] for line in lines[start + 3 : start + 3 + len(NAMES)]]
    assert indented == ["train/step", "  data", "  net/forward", "    enc/q", "  update"]
    assert "Lost, no ops of its own: data." in text
    page = report_html(document)
    assert re.findall(r'<span style="padding-left:(\d+)px">([^<]*)</span>', page) == [
        (str(12 * depth), name) for depth, name in zip(DEPTHS, NAMES, strict=True) if depth
    ]


def test_device_work_by_annotation_adds_up(loaded: SessionTrace) -> None:
    document: Any = session_report(loaded)
    _, _, _, *rows, total = section(printed(document), "Device work by annotation")
    assert [row.split(" ", 3)[:3] for row in rows] == [
        ["train/step/net/forward", "0.200", "57.1"],
        ["train/step/update", "0.100", "28.6"],
        ["train/step/net/forward/enc/q", "0.050", "14.3"],
    ]
    assert total.startswith("all ops 0.350 100.0 %")


def test_device_work_by_op_has_whole_names(loaded: SessionTrace) -> None:
    document: Any = session_report(loaded)
    table = work_by_op(document["ops"], document["device_work"], 9)
    assert [row["annotation"] for row in table.rows] == ["net/forward", "update", "enc/q"]


@pytest.mark.parametrize("max_paths", range(1, 7))
def test_the_time_of_paths_beyond_the_limit_is_that_of_an_annotation(
    loaded: SessionTrace, max_paths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_xla_insights.device_work.device_view.MAX_PATHS", max_paths)
    document = device_view(loaded, "all", "all", user_peaks=(1e12, 1e12))
    tree = [document["paths"][index] for index in document["tree"]["path"]]
    assert tree == [path for path in PATHS if path in tree]
    assert sum(document["tree"]["own_ps"]) == document["total"]["self_ps"]


def test_scopes_in_the_timeline(loaded: SessionTrace) -> None:
    timeline = Timeline(loaded)
    timeline.find_more_rows()
    view = timeline.view(0, loaded.duration_ps, 2000, ["h0.d0.scopes"])
    lanes = [{view["names"][name] for name in lane["n"]} for lane in view["rows"]["h0.d0.scopes"]]
    assert lanes == [{"train/step"}, {"net/forward", "update"}, {"enc/q"}]
    start = find_launches(loaded.traces[0]).runs.start_ps[0]
    annotation = timeline.annotation_at("h0.d0.scopes", int(start), 1)
    assert annotation["path"] == "train/step/net/forward"
    assert {
        fact["name"]: fact["value"] for fact in timeline.event_at("h0.d0.scopes", int(start), 1)["stats"]
    } == {
        "annotation": "train/step/net/forward",
        "as recorded": "train/step.1/net/forward.2",
    }


@pytest.mark.parametrize("name", ["/forward", "net//forward", "net/forward/"])
def test_op_names_lack_the_empty_names_of_an_annotation(name: str, tmp_path: Path) -> None:
    segment = "/".join(filter(None, name.split("/")))
    ops = [
        ("dot.1", 40, f"Training_Step.1/{name}.2/aten__mm"),
        ("dot.2", 20, f"{segment}.2/attention.3/aten__mm"),
    ]
    loaded = training(tmp_path, [Step([(name, 100_000)], [(920_000, ops)])])
    assert reported_lost(loaded.traces[0]) == {}
    assert {row.path: row.device_ps for row in annotation_rows(loaded.traces[0])} == {
        "Training_Step": 60,
        f"Training_Step/{name}": 60,
        f"Training_Step/{name}/attention": 20,
    }


def test_an_outermost_annotation_is_not_where_a_late_host_takes_longer() -> None:
    """Only an annotation inside of it says more than that the host is late."""
    table: Any = SimpleNamespace(
        hosts=[
            SimpleNamespace(
                collectives=SimpleNamespace(
                    annotation_times={
                        "train/step": TimesOfSteps(0, np.array([ps])),
                        "train/step/data/load": TimesOfSteps(0, np.array([inner_ps])),
                    }
                )
            )
            for ps, inner_ps in ((90, 50), (10, 10))
        ],
        own_step=np.zeros((2, 1), np.intp),
    )
    for longer_ps, expected in ((80, None), (60, "train/step/data/load")):
        cause = LateCause("python", longer_ps, 0, None, None)
        assert _find_annotation(table, 0, 1, cause, np.array([0])) == expected


def test_a_window_has_no_row_of_a_part_of_a_name(loaded: SessionTrace) -> None:
    rows = window(loaded, 0, STEPS * STEP_PS)["annotations"]
    assert {row["path"]: row["inside_ps"] // STEPS for row in rows} == {
        "train/step": 70_000,
        "train/step/net/forward": 50_000,
        "train/step/net/forward/enc/q": 10_000,
        "train/step/update": 20_000,
    }


def test_the_annotations_of_compared_ops(loaded: SessionTrace, tmp_path: Path) -> None:
    runs = [(number * STEP_PS + 920_000, [("dot.1", 30_000, FORWARD)]) for number in range(STEPS)]
    faster = training(tmp_path, [Step([("net/forward", 200_000)], [run], name="train/step") for run in runs])
    out = console(UNLIMITED_WIDTH)
    print_comparison(out, compare(SessionView(loaded), SessionView(faster)))
    _, _, _, *rows = section(printed_text(out), "Device time per step and core, by op")
    assert sorted(row.split(" ")[:2] for row in rows) == [
        ["add.2", "update"],
        ["dot.1", "net/forward"],
        ["mul.3", "enc/q"],
    ]


def test_phases_of_compared_sessions(loaded: SessionTrace) -> None:
    document = compare(SessionView(loaded), SessionView(loaded))
    assert [row["path"] for row in document["annotations"] if row["phase"]] == [
        path for path, depth in zip(PATHS, DEPTHS, strict=True) if depth == 1
    ]
    out = console(UNLIMITED_WIDTH)
    print_comparison(out, document)
    _, _, _, *rows = section(printed_text(out), "Phases, host time per step")
    assert [row.split(" ")[0] for row in rows] == ["data", "net/forward", "update"]


def test_phases_of_the_step_that_is_compared(loaded: SessionTrace) -> None:
    step = default_step_view(SessionView(loaded))
    assert step is not None
    assert [phase["name"] for phase in step["phases"]] == ["data", "net/forward", "update"]


def test_phases_of_a_compared_step_inside_another_annotation(tmp_path: Path) -> None:
    steps = [Step([("data", 100_000), ("forward", 200_000)]) for _ in range(3)]
    step = default_step_view(SessionView(training(tmp_path, steps, around=("epoch", 0, 3 * STEP_PS))))
    assert step is not None
    assert [phase["name"] for phase in step["phases"]] == ["data", "forward"]


def test_a_backward_pass_and_lost_annotations_by_name(tmp_path: Path) -> None:
    """`bwd/loss` is a backward pass although the last part of its name is not; the finding has the whole name."""
    ops = [("dot.1", 40_000, FORWARD), ("mul.2", 20_000, "aten__mul")]
    steps = [
        Step([("net/forward", 200_000), ("bwd/loss", 100_000)], [(920_000, ops)], name="train/step")
        for _ in range(STEPS)
    ]
    loaded = training(tmp_path, steps)
    assert reported_lost(loaded.traces[0]) == {"train/step/bwd/loss": AUTOGRAD}
    (finding,) = (
        row for row in session_report(loaded)["findings"] if row["id"] == "annotations_not_propagated"
    )
    assert finding["title"].startswith("bwd/loss cannot be seen")


def test_a_cut_annotation_by_name() -> None:
    tpu = loop()
    for i in range(4):
        tpu.on_main("net/forward", i * STEP + 50, 400)
        tpu.launch(i * STEP + 100, (i * STEP + 110, 20), (i * STEP + 150, 50))
        tpu.on_main("PjRtComputationClient::TransferFromDevice", i * STEP + 220, 20)
    finding = findings(tpu.trace())["early_sync"]
    assert finding.title == "A read inside net/forward in every step splits the step"
    assert "Training_Step/net/forward" in finding.advice


def test_phases_of_which_one_name_begins_with_the_other(tmp_path: Path) -> None:
    """Ops of `optimizer/step` belong to this phase, and to no repetition of `optimizer`."""
    phases = [("optimizer", 200_000), ("optimizer/step", 100_000)]
    ops = [
        (f"dot.{number}", 10, f"Training_Step.1/{scope}/aten__mm")
        for number, scope in enumerate(("optimizer.2", "optimizer.2/q.7", "optimizer/step.3"))
    ]
    inner = {"optimizer": [("q", 50_000)]}
    view = propagation_view(training(tmp_path, [Step(phases, [(920_000, ops)], inner=inner)]))
    names = [(phase["name"], phase["repetition"]) for phase in view["phases"]]
    assert names == [("optimizer", 0), ("optimizer/step", 0)]
    assert [row["phase"] for row in view["phase_rows"]["device"]] == [0, 1]
    assert view["order"]["inversion_share"] == 0
