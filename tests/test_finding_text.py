"""Findings in words: what a fix gains, why it gains nothing, and the groups with their heads."""

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


def finding(id_: str = "early_sync", **other: Any) -> dict[str, Any]:
    """One of 20 ms in a step, that recurs."""
    window = {"start_ps": 1020 * MS, "end_ps": 1040 * MS, "device": None}
    return {
        "id": id_, "kind": "mistake", "recurs": "every_step", "gain": 0.2, "cost_ps": 40 * MS,
        "step_ps": 100 * MS, "step_if_fixed_ps": 80 * MS, "windows": [window],
        "gain_at_worst": other.get("gain", 0.2),
    } | other  # fmt: skip


def report(*findings: dict[str, Any], usual: int = 100 * MS) -> dict[str, Any]:
    return {
        "findings": list(findings),
        "steps": STEPS,
        "devices": [{"span_ps": 100 * MS}, {"span_ps": 100 * MS}],
        "mistakes": {"step_ps": 100 * MS, "usual_step_ps": usual, "step_if_fixed_ps": 70 * MS},
    }


def said(its: dict[str, Any], *others: dict[str, Any], usual: int = 100 * MS) -> str:
    return gain_of(its, report(its, *others, usual=usual)).text.replace("\u202f", " ")


def test_what_recurs_gains_a_part_of_the_usual_step_and_both_times_are_of_it() -> None:
    assert said(finding()) == "−20.0 % of a step, 100.0 → 80.0 ms"
    assert said(finding(), usual=90 * MS) == "−20.0 % of a usual step, 90.0 → 72.0 ms"


def test_what_happened_once_gains_all_that_it_cost() -> None:
    """20 ms of the mean of two steps: a share would depend on how many steps the capture has."""
    assert said(finding(recurs="once"), usual=90 * MS) == "−40.0 ms once, mean step 100.0 → 80.0 ms"
    its = finding(recurs="once", gain_at_worst=0.05)
    assert said(its) == "−40.0 ms to −10.0 ms once, mean step 100.0 → 80.0 to 95.0 ms"
    several = report(its)
    several["steps"] += [step | {"host": "w-1"} for step in STEPS]
    assert gain_of(its, several).of == gain_of(finding(recurs="once"), report()).of == "once"
    assert gain_of(its, several).share.startswith("−40.0")


def test_where_best_and_worst_are_apart_both_are_told_on_the_same_step() -> None:
    its = finding(gain_at_worst=0.05)
    assert said(its) == "−20.0 to −5.0 % of a step, 100.0 → 80.0 to 95.0 ms"
    assert said(its, usual=90 * MS) == "−20.0 to −5.0 % of a usual step, 90.0 → 72.0 to 85.5 ms"
    assert said(finding(kind="limit", gain_at_worst=0.0)) == (
        "−20.0 to 0.0 % of what remains, 70.0 → 56.0 to 70.0 ms"
    )
    assert said(finding(gain_at_worst=0.19)) == "−20.0 to −19.0 % of a step, 100.0 → 80.0 to 81.0 ms"
    assert said(finding(gain_at_worst=0.191)) == "−20.0 % of a step, 100.0 → 80.0 ms"


def test_a_gain_that_hardly_shows_is_no_negative_share() -> None:
    assert said(finding(gain=0.0004, cost_ps=1 * MS)) == "< 0.1 % of a step, 100.00 → 99.96 ms"


def test_where_nothing_can_be_replayed_the_gain_is_what_it_explains() -> None:
    its = finding(gain=0.2, step_if_fixed_ps=None)
    assert said(its) == "20.0 % of the devices' spans"


@pytest.mark.parametrize("cost", [0, 1 * MS])
def test_without_a_gain_there_is_no_time_to_gain(cost: int) -> None:
    assert said(finding(gain=None, step_if_fixed_ps=None, cost_ps=0)) == "no time to gain"
    assert said(finding(gain=0.0, step_if_fixed_ps=100 * MS, cost_ps=cost)) == "no time to gain"


def test_what_is_no_fault_leads_to_what_gains() -> None:
    bound = finding("device_bound", kind=None, gain=None, step_if_fixed_ps=None, cost_ps=0)
    assert said(bound) == "no time to gain"
    assert said(bound, finding("below_roofline", kind="limit", gain=0.1)) == "what is to gain stands below"


def test_time_that_hides_behind_the_host_is_told_so_only_where_the_host_is_slower() -> None:
    hidden = finding("exposed_collectives", gain=0.004, step_if_fixed_ps=100 * MS, cost_ps=6 * MS)
    assert said(hidden, finding("tracing_bound")) == "none now: the host is slower"
    assert said(hidden, finding("tracing_bound", gain=0.02)) == "none now: something else is slower"
    assert said(hidden, finding("device_stalls")) == "none now: something else is slower"
    of_host = finding("input_bound", gain=0.0, step_if_fixed_ps=100 * MS)
    assert said(of_host, finding("tracing_bound")) == "none now: something else is slower"


def test_a_gain_of_half_a_percent_is_told_as_such() -> None:
    assert said(finding(gain=0.005)) == "−0.5 % of a step, 100.0 → 99.5 ms"


@pytest.mark.parametrize(("start", "end"), [(0, 1001), (1199, 1900)])
def test_what_lies_outside_of_the_steps_hides_behind_nothing(start: int, end: int) -> None:
    window = {"start_ps": start * MS, "end_ps": end * MS, "device": None}
    its = finding(gain=0.0, step_if_fixed_ps=100 * MS, windows=[window])
    assert said(its) == "none: outside of the steps"


def test_groups_have_heads_and_those_without_findings_are_left_out() -> None:
    some = report(finding(), finding("tracing_bound", kind="limit"), finding("device_bound", kind=None))
    found = finding_groups(some)
    assert [group.title for group in found] == ["", "Mistakes", "Limits"]
    assert [group.gain.replace("\u202f", " ") for group in found] == [
        "",
        "together at best 100.0 → 70.0 ms",
        "",
    ]
    assert [group.title for group in finding_groups(report(finding(kind="limit")))] == ["Limits"]
    some["mistakes"]["step_if_fixed_ps"] = None
    assert finding_groups(some)[0].gain == ""


def test_a_step_by_the_devices_work_is_told_from_the_mean_step() -> None:
    """The last run ends behind the last step: the mean of the steps is less than what the devices work for one."""
    some = report(finding())
    some["steps"] = [step | {"duration_ps": 80 * MS} for step in STEPS]
    assert finding_groups(some)[0].gain.replace("\u202f", " ") == (
        "together at best 100.0 → 70.0 ms (by the devices' work for a step; the mean step is 80.0 ms)"
    )


def test_percent_and_times_of_real_findings_agree() -> None:
    """The shares that a finding gains are those of the times beside them, as they are printed."""
    document = session_report(session(demo("torch_xla_dynamic_shapes")))
    told = [gain_of(its, document) for its in document["findings"]]
    shown = [its for its in told if its.share]
    assert len(shown) == 3
    assert [" to " in gain.share for gain in shown] == [False, True, True]
    once, *shown = shown
    before, left = once.change.removeprefix("mean step ").removesuffix("\u202fms").split(" → ")
    lost = float(once.share.replace("\u2212", "").replace("\u202f", "").removesuffix("ms"))
    assert lost == pytest.approx(6 * (float(before) - float(left)), abs=6 * 0.1)
    for gain in shown:
        before, left = gain.change.removesuffix("\u202fms").split(" → ")
        parts = gain.share.replace("\u2212", "").removesuffix("\u202f%").split(" to ")
        for part, after in zip(parts, left.split(" to "), strict=True):
            assert float(part) == pytest.approx(100 * (1 - float(after) / float(before)), abs=0.7)
