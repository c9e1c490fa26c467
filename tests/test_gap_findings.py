"""Which findings explain a gap, and which gaps a finding explains."""

from __future__ import annotations

from typing import Any

import pytest
from captures import session
from launching import demo

from tb_xla_insights.report import views
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.gap_findings import findings_of_gap, more_to_gain, places, why_gap


@pytest.mark.parametrize(
    "run", ["synthetic_case_study_8_tpu_cores", "torch_xla_early_item", "torch_xla_dynamo_graph_break"]
)
def test_explained_parts_of_gaps_add_up_to_the_findings_costs(run: str) -> None:
    report = session_report(session(demo(run)), all_gaps=True)
    times: dict[str, int] = {}
    for gap in report["gaps"]["items"]:
        assert sum(gap["explained_by"].values()) <= gap["duration_ps"]
        assert [*gap["explained_by"].values()] == sorted(gap["explained_by"].values(), reverse=True)
        assert gap["kind"] == "starved" or not gap["explained_by"]
        for id_, ps in gap["explained_by"].items():
            times[id_] = times.get(id_, 0) + ps
    costs = {finding["id"]: finding["cost_ps"] for finding in report["findings"]}
    assert times
    assert times.items() <= costs.items()


def finding(id_: str, kind: str = "mistake", **evidence: Any) -> dict[str, Any]:
    return {"id": id_, "kind": kind, "title": f"Because of {id_}", "evidence": evidence}


def gap(duration: int, **explained: int) -> dict[str, Any]:
    return {"device": "TPU:0", "start_ps": 5, "duration_ps": duration, "explained_by": explained}


def test_the_finding_about_a_late_host_explains_its_gaps() -> None:
    late = finding("straggler", hosts=["w-1"], said_by=["input_bound"])
    report = {"findings": [late, finding("transfer_bound")]}
    own = gap(
        1000, input_bound=500, transfer_bound=200, tracing_bound=100
    )  # the last one is not in the session's report
    assert findings_of_gap(own, "w-1", report) == {"straggler": 500, "transfer_bound": 200}
    assert findings_of_gap(own, "w-2", report) == {"transfer_bound": 200}
    assert findings_of_gap(gap(1000, transfer_bound=9), "w-2", report) == {}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"early_sync": 400, "tracing_bound": 300}, "Because of early_sync. "),
        ({"early_sync": 300}, ""),
        ({"tracing_bound": 500, "early_sync": 400}, ""),
        ({}, ""),
    ],
)
def test_a_mistake_that_explains_much_is_the_first_sentence(told: dict[str, int], said: str) -> None:
    assert (
        why_gap(gap(1000), told, {"findings": [finding("tracing_bound", "limit"), finding("early_sync")]})
        == said
    )


def test_a_gap_spent_waiting_is_not_explained_by_host_work() -> None:
    chain = [{"duration_ps": 400, "meanwhile": []}, {"duration_ps": 600, "meanwhile": [{"name": "wait"}]}]
    assert (
        why_gap(gap(1000) | {"chain": chain}, {"early_sync": 900}, {"findings": [finding("early_sync")]})
        == ""
    )


def test_the_gap_names_a_limit_that_gains_more_than_the_mistake() -> None:
    limit = finding("tracing_bound", "limit") | {"brief": "the host builds the graph"}
    cut, step = finding("early_sync"), {"step_if_fixed_ps": 12 * 10**9, "step_without_limit_ps": 3 * 10**9}
    report = {"findings": [limit, cut], "mistakes": step}
    more = more_to_gain(gap(1000), {"early_sync": 900}, report)
    assert more.replace("\u202f", " ") == (
        "More is to gain beyond that: the host builds the graph (12.0 → 3.0 ms at best)."
    )
    assert not more_to_gain(gap(1000), {"tracing_bound": 900}, report)
    assert not more_to_gain(gap(1000), {"early_sync": 900}, report | {"findings": [cut, limit]})


def test_a_finding_lists_its_largest_places_first() -> None:
    groups = [gap(1000 + at) | {"by_finding_ps": {"early_sync": ps}} for at, ps in enumerate((100, 900, 500))]
    group = places(groups)["early_sync"]
    assert (group["count"], [row["duration_ps"] for row in group["places"]]) == (3, [1001, 1002, 1000])


def test_of_gaps_that_a_finding_explains_alike_the_longest_is_shown_first() -> None:
    times = [(1000, 951), (3000, 960), (2000, 1000), (9000, 940), (8000, 945)]
    groups = [gap(duration) | {"by_finding_ps": {"early_sync": ps}} for duration, ps in times]
    shown = [place["duration_ps"] for place in places(groups)["early_sync"]["places"]]
    assert shown == [3000, 2000, 1000, 8000, 9000]


def test_gaps_and_findings_of_the_case_study_agree() -> None:
    loaded = session(demo("synthetic_case_study_8_tpu_cores"))
    overview = views.overview(loaded)
    findings = {finding["id"]: finding for finding in overview["findings"]}
    for id_ in ("recompilation", "early_sync"):
        (place,) = overview["explains"][id_]["places"]
        gap = views.gap(loaded, place["device"], place["start_ps"])
        assert gap["sentence"].startswith(f"{findings[id_]['title']}. Nothing was queued: ")
        assert next(iter(gap["by_finding_ps"])) == id_
    assert "exposed_collectives" not in overview["explains"]
