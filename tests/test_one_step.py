"""One step of a session as values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from build import trace_of
from captures import Core, capture, session, thread
from pods import POD
from report_texts import CASE_STUDY, report
from synthetic import pod
from synthetic.__main__ import LOGDIR
from synthetic.pod_schedule import Delay
from synthetic.times import MS

import tb_xla_insights as xi
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.one_step import one_step
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.report.views import overview


def step_of(name: str) -> Any:
    return one_step(report(name))


def parts_of(step: Any) -> dict[str, tuple[int, int]]:
    """Time in each step and once, in µs."""
    return {part["label"]: (part["ps"] // 10**6, part["once_ps"] // 10**6) for part in step["parts"]}


def test_the_parts_of_the_case_study() -> None:
    step = step_of(CASE_STUDY)
    assert (step["per"], step["now_ps"], step["once_ps"]) == ("step", 242_711_506_300, 48_119_283_500)
    assert parts_of(step) == {
        "computing": (147_962, 0),
        "all-reduce": (21_195, 0),
        "IR tracing": (27_407, 14_696),
        "transfer to device": (19_758, 1_582),
        "dispatch": (11_407, 0),
        "step marker": (9_764, 0),
        "program load": (3_118, 0),
        "wait": (1_754, 0),
        "transfer from device": (230, 0),
        "input": (112, 0),
        "compile": (0, 31_840),
    }


def test_parts_and_what_happened_once_add_up_to_the_mean_step() -> None:
    document = report(CASE_STUDY)
    step, idle = step_of(CASE_STUDY), document["step_idle"]
    assert sum(part["ps"] + part["once_ps"] for part in step["parts"]) == idle["step_ps"]
    for part in step["parts"]:
        if part["kind"] == "idle":
            assert part["ps"] + part["once_ps"] == idle["by_class_ps"][part["name"]]


def test_rungs() -> None:
    rungs = [
        (rung["kind"], rung["label"], rung["finding"], round(rung["gain"], 3))
        for rung in step_of(CASE_STUDY)["rungs"]
    ]
    assert rungs == [
        ("fixed", "fixed", "transfer_bound", 0.088),
        ("pace", "without 3", "dispatch_overhead", 0.1),
        ("own", "devices' own", "tracing_bound", 0.303),
    ]
    fixed, pace, own = step_of("torch_xla_slow_input")["rungs"]
    assert (fixed["best_ps"] // 10**9, fixed["worst_ps"] // 10**9) == (13, 41)
    assert (pace["label"], own["label"]) == ("without 2", "device's own")


def test_the_devices_own_work_is_no_rung_if_a_fix_removes_some_of_it() -> None:
    document = report(CASE_STUDY)
    mistakes = document["mistakes"] | {"step_if_fixed_ps": 100 * MS}
    step: Any = one_step(document | {"mistakes": mistakes})
    assert [rung["label"] for rung in step["rungs"]] == ["fixed", "without 2", "without 3"]


def test_cores_wait_for_late_hosts() -> None:
    step = step_of("synthetic_pod_16_hosts")
    parts = parts_of(step)
    assert [*parts][:3] == ["computing", "all-reduce", "waiting for late hosts"]
    assert parts["waiting for late hosts"] == (20_701, 0)


def test_a_host_that_is_late_once_is_no_part_of_the_usual_step() -> None:
    late_once = replace(POD, delays=(Delay(3, "compile", 800 * MS, (7,)),))
    files = enumerate(pod.files(late_once))
    traces = [trace_of(space.to_bytes(), pod.name_of(host)) for host, space in files]
    document = session_report(session(*traces))
    (straggler,) = (row for row in document["findings"] if row["id"] == "straggler")
    assert straggler["recurs"] == "once"
    step: Any = one_step(document)
    once = {part["label"]: part["once_ps"] for part in step["parts"]}
    assert once["waiting for late hosts"] + once["compile"] > 0.98 * step["once_ps"] > 0
    assert once["compile"] == pytest.approx(800 * MS / 12 / 8, rel=0.1)


def without_steps() -> Any:
    cores = [
        Core(name=f"TPU:{n}", ops=[("copy-done.1", 0, 30), ("dot", 30, 20), ("dot", 90, 10)]) for n in (0, 1)
    ]
    return session_report(session(capture(thread("python"), *cores)))


def test_without_steps_it_is_a_second() -> None:
    step: Any = one_step(without_steps())
    assert (step["per"], step["now_ps"], step["once_ps"], step["rungs"]) == ("second", 10**12, 0, [])
    assert parts_of(step) == {
        "computing": (300_000, 0),
        "waiting in copy": (300_000, 0),
        "in gaps under 10 µs": (400_000, 0),
    }


def test_nothing_is_known_of_a_session_without_work() -> None:
    assert one_step(session_report(session(capture(thread("python", ("step", 0, 9, {"_r": 1})))))) is None


@pytest.mark.parametrize("name", [CASE_STUDY, "torch_xla_dynamic_shapes"])
def test_it_is_in_the_overview(name: str) -> None:

    assert overview(SessionView(xi.load(str(LOGDIR / name)).trace))["one_step"] == step_of(name)
