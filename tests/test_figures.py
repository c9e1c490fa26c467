"""The four headline figures, and rows of idle time, as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from captures import Core, capture, session, thread
from launching import US
from report_texts import printed

from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.figures import headline_figures, idle_rows, joins_text, left_out_note, step_texts
from tb_xla_insights.trace.model import Trace

MS = 10**9


def step_idle_row(**fields: Any) -> dict[str, Any]:
    means = {
        "step_ps": 100 * MS,
        "median_ps": 100 * MS,
        "work_ps": 60 * MS,
        "stall_ps": 0,
        "idle_ps": 40 * MS,
    }
    all_cores = {"idle_ps": 400 * MS, "edges_ps": 0}
    return {"steps": 10, "cores": 1, "left_out": [], "all_cores": all_cores, **means, **fields}


VM = {"name": "vm", "steps": 10, "waits_ps": None}


def figure_texts(step_idle: dict[str, Any], hosts: Sequence[dict[str, Any]] = (VM,)) -> dict[str, str]:
    report = {"devices": [{"span_ps": 100, "busy_ps": 60}], "step_idle": step_idle, "hosts": hosts}
    return {
        row["name"]: f"{row['text']}: {row['meaning']}".replace("\u202f", " ")
        for row in headline_figures(report)
    }


def test_four_figures() -> None:
    assert figure_texts(step_idle_row()) == {
        "duty": "60.0 %: duty cycle, first to last run",
        "step": "100.0 ms: mean step, 10 steps",
        "work": "60.0 ms: device work per step and core",
        "idle": "40.0 ms: idle per step and core",
    }


def test_idle_time_outside_of_duty_cycle_and_gaps_is_noted() -> None:
    for edges, text in ((11, ""), (100, ", 25.0 % of it before or after all runs")):
        all_cores = {"idle_ps": 400 * MS, "edges_ps": edges * MS}
        assert (
            figure_texts(step_idle_row(all_cores=all_cores))["idle"]
            == f"40.0 ms: idle per step and core{text}"
        )


def test_the_median_is_noted_if_it_differs() -> None:
    assert figure_texts(step_idle_row(median_ps=98 * MS))["step"] == "100.0 ms: mean step, 10 steps"
    assert (
        figure_texts(step_idle_row(median_ps=90 * MS))["step"]
        == "100.0 ms: mean step, 10 steps (median 90.0)"
    )


def test_steps_of_several_hosts_are_counted_by_host() -> None:
    for steps, text in (((5, 5), "5 steps"), ((3, 7), "3 – 7 steps")):
        hosts = [VM | {"name": f"w-{index}", "steps": number} for index, number in enumerate(steps)]
        assert figure_texts(step_idle_row(), hosts)["step"] == f"100.0 ms: mean step, {text}"


def test_steps_of_a_host_without_device_work_are_not_counted() -> None:
    left_out = [{"host": "w-2", "reason": "no_device_work"}]
    hosts = [VM | {"name": f"w-{index}", "steps": 5} for index in range(3)]
    assert figure_texts(step_idle_row(left_out=left_out), hosts)["step"] == "100.0 ms: mean step, 5 steps"
    without_cores = step_idle_row(left_out=left_out, cores=0)
    assert figure_texts(without_cores, hosts)["step"] == "100.0 ms: mean step, 5 steps"
    document: Any = session_report(session(one_step("a"), one_step("b"), one_step("c", has_device=False)))
    assert "\n1 step of 2 hosts, mean " in printed(document)


def test_waiting_time_in_work_is_noted() -> None:
    assert (
        figure_texts(step_idle_row(stall_ps=15 * MS))["work"]
        == "60.0 ms: device work per step and core, 15.0 of it waits"
    )
    assert figure_texts(step_idle_row(stall_ps=MS // 10))["work"] == "60.0 ms: device work per step and core"


def test_waiting_for_other_hosts_is_noted_instead() -> None:
    hosts = [VM | {"waits_ps": 280 * MS}, VM | {"name": "w-1", "waits_ps": 4 * MS}]
    text = "60.0 ms: busy per step and core, 14.2 of it waits"
    assert figure_texts(step_idle_row(stall_ps=15 * MS), hosts)["work"] == text
    assert figure_texts(step_idle_row())["work"] == "60.0 ms: device work per step and core"


@pytest.mark.parametrize(
    ("work", "idle", "texts"),
    [
        (17_850, 21_190, ["39.0 ms", "17.8 ms", "21.2 ms"]),
        (14_950, 24_050, ["39.0 ms", "15.0 ms", "24.0 ms"]),
        (38_999, 1, ["39.0 ms", "39.0 ms", "0.0 ms"]),
    ],
)
def test_work_and_idle_time_add_up_to_the_step_as_shown(work: int, idle: int, texts: list[str]) -> None:
    """Times in microseconds: rounded separately the first would be 17.9 + 21.2 = 39.0."""
    rounded = step_texts(step_idle_row(step_ps=(work + idle) * US, work_ps=work * US, idle_ps=idle * US), 1)
    assert [text.replace("\u202f", " ") for text in rounded] == texts


def test_figures_without_steps_are_of_the_span_and_unknown_without_devices() -> None:
    figures = figure_texts(step_idle_row(steps=0, step_ps=None, median_ps=None))
    assert figures["step"] == "–: mean step: no whole step is recorded"
    assert figures["idle"] == "40.0 ms: idle per core, first to last run"
    reason = [{"host": "vm", "reason": "no_device_work"}]
    no_devices = step_idle_row(cores=0, work_ps=None, stall_ps=None, idle_ps=None, left_out=reason)
    assert [text.split(":")[0] for text in figure_texts(no_devices).values()] == [
        "60.0 %",
        "100.0 ms",
        "–",
        "–",
    ]
    assert left_out_note(no_devices) == "No device work is recorded."
    with_device = [{"host": "w-1", "reason": "no_steps"}]
    no_devices_with_steps = no_devices | {"left_out": reason + with_device}
    assert left_out_note(no_devices_with_steps) == (
        "Left out: vm recorded no device work, w-1 has no whole step."
    )


def test_hosts_that_are_left_out_are_named() -> None:
    hosts = [{"host": f"w-{number}", "reason": "no_steps"} for number in range(5)]
    assert left_out_note(step_idle_row(left_out=hosts[:1])) == "Left out: w-0 has no whole step."
    assert str(left_out_note(step_idle_row(left_out=hosts))).endswith(
        "w-2 has no whole step, and 2 more hosts."
    )
    assert str(left_out_note(step_idle_row(left_out=hosts[:4]))).endswith(", and 1 more host.")
    assert left_out_note(step_idle_row()) is None


def one_step(host: str = "vm", *, has_device: bool = True) -> Trace:
    step = ("Training_Step", 0, 100 * US, {"_r": 1, "step_num": 1})
    driving = thread("python", step, ("StepMarker", 60 * US, 40 * US), role="driving")
    cores = [Core([("dot", 0, 30 * US), ("dot", 35 * US, 10 * US)])] if has_device else []
    return capture(driving, *cores, host=host)


def test_rows_of_idle_time_are_ordered_by_time_with_short_gaps_last() -> None:
    report = session_report(session(one_step()))
    assert idle_rows(report["step_idle"]) == [
        ("sync_prepare", 40 * US, 40 * US),
        ("tracing", 15 * US, 15 * US),
        (None, 5 * US, 5 * US),
    ]
    assert idle_rows(step_idle_row(idle_ps=0)) == []


def test_joins_are_counted_if_they_differ() -> None:
    assert joins_text({"exact": 38}) == "exact"
    assert joins_text({"exact": 38, "ordered": 2}) == "exact 38, ordered 2"
