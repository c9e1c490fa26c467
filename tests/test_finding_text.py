"""Texts about findings: the gain of a fix, why there is none, and the groups with their titles."""

from __future__ import annotations

from typing import Any

import pytest
from captures import session
from launching import US, demo

from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.finding_text import finding_groups, gain_of

MS = 1000 * US
STEPS: list[dict[str, Any]] = [
    {"host": "w-0", "start_ps": 1000 * MS, "duration_ps": 80 * MS},
    {"host": "w-0", "start_ps": 1080 * MS, "duration_ps": 120 * MS},
]


def finding(id_: str = "early_sync", **fields: Any) -> dict[str, Any]:
    """A recurring finding of 20 ms in a step."""
    window = {"start_ps": 1020 * MS, "end_ps": 1040 * MS, "device": None}
    return {
        "id": id_, "kind": "mistake", "recurs": "every_step", "gain": 0.2, "cost_ps": 40 * MS,
        "step_ps": 100 * MS, "step_if_fixed_ps": 80 * MS, "windows": [window],
        "gain_at_worst": fields.get("gain", 0.2),
    } | fields  # fmt: skip


def report(*findings: dict[str, Any], usual: int = 100 * MS) -> dict[str, Any]:
    return {
        "findings": list(findings),
        "steps": STEPS,
        "devices": [{"span_ps": 100 * MS}, {"span_ps": 100 * MS}],
        "mistakes": {"step_ps": 100 * MS, "usual_step_ps": usual, "step_if_fixed_ps": 70 * MS},
    }


def gain_text(row: dict[str, Any], *other_rows: dict[str, Any], usual: int = 100 * MS) -> str:
    return gain_of(row, report(row, *other_rows, usual=usual)).text.replace("\u202f", " ")


def test_a_recurring_finding_gains_a_share_of_the_usual_step() -> None:
    assert gain_text(finding()) == "−20.0 % of a step, 100.0 → 80.0 ms"
    assert gain_text(finding(), usual=90 * MS) == "−20.0 % of a step, 90.0 → 72.0 ms"


def test_a_finding_that_occurs_once_gains_its_whole_cost() -> None:
    """40 ms of one step are 20 ms of the mean of two steps: a share would depend on the number of steps in the
    capture."""
    assert gain_text(finding(recurs="once"), usual=90 * MS) == "−40.0 ms once, mean step 100.0 → 80.0 ms"
    row = finding(recurs="once", gain_at_worst=0.05)
    assert gain_text(row) == "up to −40.0 ms once, mean step 100.0 → 80.0 ms"
    two_hosts = report(row)
    two_hosts["steps"] = STEPS + [step | {"host": "w-1"} for step in STEPS]
    assert gain_of(row, two_hosts).basis == gain_of(finding(recurs="once"), report()).basis == "once"
    assert gain_of(row, two_hosts).share.startswith("up to −40.0")


def test_an_uncertain_gain_is_given_at_best() -> None:
    row = finding(gain_at_worst=0.05)
    assert gain_text(row) == "up to −20.0 % of a step, 100.0 → 80.0 ms"
    assert gain_text(row, usual=90 * MS) == "up to −20.0 % of a step, 90.0 → 72.0 ms"
    assert gain_text(finding(kind="limit", gain_at_worst=0.0)) == "up to −20.0 % of a step, 100.0 → 80.0 ms"
    assert gain_text(finding(gain_at_worst=0.19)) == "up to −20.0 % of a step, 100.0 → 80.0 ms"
    assert gain_text(finding(gain_at_worst=0.191)) == "−20.0 % of a step, 100.0 → 80.0 ms"


def test_a_tiny_gain_has_no_minus_sign() -> None:
    assert gain_text(finding(gain=0.0004, cost_ps=1 * MS)) == "< 0.1 % of a step, 100.00 → 99.96 ms"


def test_without_a_replay_the_gain_is_the_explained_share() -> None:
    row = finding(gain=0.2, step_if_fixed_ps=None)
    assert gain_text(row) == "20.0 % of the devices' spans"


@pytest.mark.parametrize("cost", [0, 1 * MS])
def test_without_a_gain_there_is_no_time_to_gain(cost: int) -> None:
    assert gain_text(finding(gain=None, step_if_fixed_ps=None, cost_ps=0)) == "no gain"
    assert gain_text(finding(gain=0.0, step_if_fixed_ps=100 * MS, cost_ps=cost)) == "no gain"


def test_a_finding_without_a_fix_points_to_those_with_gains() -> None:
    bound = finding("device_bound", kind=None, gain=None, step_if_fixed_ps=None, cost_ps=0)
    assert gain_text(bound) == "nothing to gain"
    assert gain_text(bound, finding("below_roofline", kind="limit", gain=0.1)) == "see the gains below"
    assert gain_text(bound, finding(gain=None, step_if_fixed_ps=None, cost_ps=0)) == "nothing to gain"
    document = report(finding(), bound)
    assert gain_of(bound, document).text == "see the gains above"


def test_hidden_device_time_names_the_host_only_if_the_host_is_slower() -> None:
    hidden = finding("device_waits", gain=0.004, step_if_fixed_ps=100 * MS, cost_ps=6 * MS)
    assert gain_text(hidden, finding("tracing_bound")) == "no gain now: the host is slower"
    assert gain_text(hidden, finding("tracing_bound", gain=0.02)) == "no gain now: something else is slower"
    assert gain_text(hidden, finding("device_copies")) == "no gain now: something else is slower"
    host_finding = finding("input_bound", gain=0.0, step_if_fixed_ps=100 * MS)
    assert gain_text(host_finding, finding("tracing_bound")) == "no gain now: something else is slower"


def test_a_gain_of_half_a_percent_is_shown() -> None:
    assert gain_text(finding(gain=0.005)) == "−0.5 % of a step, 100.0 → 99.5 ms"


@pytest.mark.parametrize(("start", "end"), [(0, 1001), (1199, 1900)])
def test_time_outside_of_the_steps_gains_nothing(start: int, end: int) -> None:
    window = {"start_ps": start * MS, "end_ps": end * MS, "device": None}
    row = finding(gain=0.0, step_if_fixed_ps=100 * MS, windows=[window])
    assert gain_text(row) == "no gain: outside of the steps"


def test_groups_have_titles_and_empty_groups_are_left_out() -> None:
    document = report(
        finding(),
        finding("tracing_bound", kind="limit"),
        finding("x", gain=0.02),
        finding("z", gain=None),
        finding("y", recurs="once"),
    )
    groups = finding_groups(document)
    assert [group.title for group in groups] == ["Fix", "Pace", "Smaller fixes", "No device time", "Once"]
    assert [group.gain.replace("\u202f", " ") for group in groups] == [
        "together at best: mean 100.0 → 70.0 ms", "", "", "", "",
    ]  # fmt: skip
    assert [group.title for group in finding_groups(report(finding(kind="limit")))] == ["Pace"]
    document["mistakes"]["step_if_fixed_ps"] = None
    assert finding_groups(document)[0].gain == ""


def test_devices_work_that_exceeds_the_mean_step_is_noted() -> None:
    """The last run ends after the last step: the mean step is shorter than the devices' work for a step."""
    document = report(finding())
    document["steps"] = [step | {"duration_ps": 80 * MS} for step in STEPS]
    assert finding_groups(document)[0].gain.replace("\u202f", " ") == (
        "together at best: 100.0 → 70.0 ms (by the devices' work for a step; the mean step is 80.0 ms)"
    )


def test_percent_and_times_of_real_findings_agree() -> None:
    """The shares of gains match the printed times."""
    document = session_report(session(demo("torch_xla_dynamic_shapes")))
    gains = [gain_of(row, document) for row in document["findings"]]
    shown = [gain for gain in gains if gain.share]
    assert [gain.share.startswith("up to ") for gain in shown] == [True, True, False]
    *shown, once = shown
    before, after = once.change.removeprefix("mean step ").removesuffix("\u202fms").split(" → ")
    lost = float(once.share.replace("\u2212", "").replace("\u202f", "").removesuffix("ms"))
    assert lost == pytest.approx(6 * (float(before) - float(after)), abs=6 * 0.1)
    for gain in shown:
        before, after = gain.change.removesuffix("\u202fms").split(" → ")
        part = gain.share.removeprefix("up to ").removeprefix("\u2212").removesuffix("\u202f%")
        assert float(part) == pytest.approx(100 * (1 - float(after) / float(before)), abs=0.7)
