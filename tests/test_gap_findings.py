"""The findings that explain a gap, the gaps that a finding explains, and the text of a gap's cause."""

from __future__ import annotations

from typing import Any

import pytest
from captures import session
from launching import demo

from tb_xla_insights.report import gap_views, views
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.gap_findings import (
    explained_gaps,
    findings_of_gap,
    reason_of_gap,
    why_gap,
)
from tb_xla_insights.report.gap_text import cause_text, patterns_with_kind
from tb_xla_insights.report.session_view import SessionView


@pytest.mark.parametrize(
    "name", ["synthetic_case_study_8_tpu_cores", "torch_xla_early_item", "torch_xla_dynamo_graph_break"]
)
def test_explained_times_add_up_to_the_cost(name: str) -> None:
    report = session_report(session(demo(name)), all_gaps=True)
    times: dict[str, int] = {}
    for gap in report["gaps"]["items"]:
        assert sum(gap["by_finding_ps"].values()) <= gap["duration_ps"]
        assert [*gap["by_finding_ps"].values()] == sorted(gap["by_finding_ps"].values(), reverse=True)
        assert gap["kind"] == "starved" or not gap["by_finding_ps"]
        for id_, ps in gap["by_finding_ps"].items():
            times[id_] = times.get(id_, 0) + ps
    costs = {row["id"]: row["cost_ps"] for row in report["findings"]}
    assert times
    assert times.items() <= costs.items()


def finding(id_: str, kind: str = "mistake", **evidence: Any) -> dict[str, Any]:
    return {"id": id_, "kind": kind, "title": f"Because of {id_}", "evidence": evidence}


def gap(duration: int, **explained: int) -> dict[str, Any]:
    return {"device": "TPU:0", "start_ps": 5, "duration_ps": duration, "by_finding_ps": explained}


def test_the_straggler_finding_stands_for_the_causes_of_lateness() -> None:
    straggler = finding("straggler", hosts=["w-1"], repeated_findings=["input_bound"])
    report = {"findings": [straggler, finding("transfer_bound")]}
    # The session has no finding with the last id.
    gap_of_host = gap(1000, input_bound=500, transfer_bound=200, tracing_bound=100)
    assert findings_of_gap(gap_of_host, "w-1", report) == {"straggler": 500, "transfer_bound": 200}
    assert findings_of_gap(gap_of_host, "w-2", report) == {"transfer_bound": 200}
    assert findings_of_gap(gap(1000, transfer_bound=9), "w-2", report) == {}


@pytest.mark.parametrize(
    ("explained", "sentence"),
    [
        ({"early_sync": 400, "tracing_bound": 300}, "Because of early_sync. "),
        ({"early_sync": 300}, ""),
        ({"tracing_bound": 500, "early_sync": 400}, ""),
        ({}, ""),
    ],
)
def test_a_mistake_that_explains_most_and_a_third_is_the_first_sentence(
    explained: dict[str, int], sentence: str
) -> None:
    report = {"findings": [finding("tracing_bound", "limit"), finding("early_sync")]}
    assert why_gap(gap(1000), explained, report) == sentence
    reason = reason_of_gap(gap(1000), explained, report)
    assert (reason["id"] if reason else None) == ("early_sync" if sentence else None)


def test_if_the_launch_waits_for_most_of_a_gap_no_finding_is_the_reason() -> None:
    chain = [{"duration_ps": 400, "meanwhile": []}, {"duration_ps": 600, "meanwhile": [{"name": "wait"}]}]
    assert (
        why_gap(gap(1000) | {"chain": chain}, {"early_sync": 900}, {"findings": [finding("early_sync")]})
        == ""
    )


def test_a_finding_first_shows_the_gap_that_it_explains_most_of() -> None:
    gaps = [
        gap(1000 + index) | {"by_finding_ps": {"early_sync": ps}} for index, ps in enumerate((100, 900, 500))
    ]
    document = explained_gaps(gaps, [])["early_sync"]
    assert (document["count"], [row["duration_ps"] for row in document["gaps"]]) == (3, [1001, 1002, 1000])


def test_of_similarly_explained_gaps_the_longest_is_first() -> None:
    times = [(1000, 951), (3000, 960), (2000, 1000), (9000, 940), (8000, 945)]
    gaps = [gap(duration) | {"by_finding_ps": {"early_sync": ps}} for duration, ps in times]
    shown = [place["duration_ps"] for place in explained_gaps(gaps, [])["early_sync"]["gaps"]]
    assert shown == [3000, 2000, 1000, 8000, 9000]


def test_a_gap_of_what_happened_once_is_shown_last_by_other_findings() -> None:
    """It contains what is in every gap, and is longer."""
    compiling = gap(9000) | {"by_finding_ps": {"recompilation": 7000, "early_sync": 500}}
    usual = [gap(duration) | {"by_finding_ps": {"early_sync": 500}} for duration in (1000, 1100)]
    findings = [{"id": "recompilation", "recurs": "once"}, {"id": "early_sync", "recurs": "every_step"}]
    document = explained_gaps([compiling, *usual], findings)
    assert [place["duration_ps"] for place in document["early_sync"]["gaps"]] == [1100, 1000, 9000]
    assert [place["duration_ps"] for place in document["recompilation"]["gaps"]] == [9000]


def test_the_gaps_of_the_case_study_quote_its_findings() -> None:
    case_study = session(demo("synthetic_case_study_8_tpu_cores"))
    overview = views.overview(SessionView(case_study))
    findings = {row["id"]: row for row in overview["findings"]}
    for id_ in ("recompilation", "early_sync"):
        (place,) = overview["explained_gaps"][id_]["gaps"]
        document = gap_views.gap(SessionView(case_study), place["device"], place["start_ps"])
        assert document["sentence"].startswith(f"{findings[id_]['title']}. Nothing was queued: ")
        assert next(iter(document["by_finding_ps"])) == id_
    assert "device_waits" not in overview["explained_gaps"]


def gap_of_pattern(after: str, duration: int, kind: str, cause: str = "wait") -> dict[str, Any]:
    between: dict[str, Any] = {"before": "f", "after": after, "inside_run": False}
    return {**between, "duration_ps": duration, "kind": kind, "cause": cause}


def test_the_cause_of_a_queued_gap_is_that_the_device_waits() -> None:
    assert cause_text(gap_of_pattern("g", 1, "queued")) == "device waits"
    assert cause_text(gap_of_pattern("g", 1, "starved")) == "wait"
    assert cause_text(gap_of_pattern("g", 1, "unknown", "sync_prepare")) == "step marker"


def test_the_device_waits_in_a_pattern_if_most_of_its_waiting_is_queued() -> None:
    """Also if none of its gaps is among the listed ones."""
    causes = [("wait", 5, 9), ("wait", 4, 8), ("input", 4, 4)]
    patterns = [
        {"cause": cause, "queued_ps": queued_ps, "by_cause_ps": {"wait": wait_ps, "input": 5}}
        for cause, queued_ps, wait_ps in causes
    ]
    rows = patterns_with_kind({"items": [], "patterns": patterns})
    assert [cause_text(row) for row in rows] == ["device waits", "wait", "input"]
