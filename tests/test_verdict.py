"""What one sentence may say of a session, and what it must leave open."""

from __future__ import annotations

from typing import Any

from captures import Core, capture, session
from launching import demo, event

from tb_xla_insights.report import session_report
from tb_xla_insights.report.verdict import verdict
from tb_xla_insights.trace.model import Trace


def told(trace: Trace) -> tuple[str, str]:
    return _told(session_report(session(trace)))


def _told(report: dict[str, Any]) -> tuple[str, str]:
    found = verdict(report)
    return found["severity"], found["text"].replace("\u202f", " ")


def test_one_run_of_a_long_step_is_not_said_to_be_well_used() -> None:
    """The device works for 17.8 of 39 ms, and its span is that one run."""
    severity, text = told(demo("synthetic_dynamo_issue_lazy"))
    assert severity == "warning"
    assert text == (
        "The device is 100.0 % busy from first to last run, yet at work for 45.7 % of the steps' time: "
        "too few runs to tell what is in the way."
    )


def test_a_device_alone_says_nothing_of_the_host() -> None:
    assert told(capture(Core([event("fusion.1", 0, 0.001)]))) == (
        "warning",
        "The device is 100.0 % busy; whether the host keeps up is not known, as nothing tells what launched the work.",
    )


def test_where_clocks_disagree_idle_time_has_no_known_cause() -> None:
    report: dict[str, Any] = {
        "devices": [{"span_ps": 200, "busy_ps": 100}],
        "diagnostics": [{"id": "clocks_disagree"}],
        "executions": [{"join": "exact"}],
        "steps": [],
        "gaps": {"by_class_ps": {"unrecorded": 90}},
        "findings": [],
    }
    off = "the clocks of host and device disagree"
    rest = "what else is in the way is not known"
    assert _told(report) == ("warning", f"The device is 50.0 % busy; why is not known, as {off}.")
    report["findings"] = [{"id": "x", "severity": "warning", "cost_ps": 30, "title": "A graph is compiled"}]
    assert _told(report) == ("warning", f"The device is 50.0 % busy: a graph is compiled; {rest}, as {off}.")


def test_a_host_that_was_not_read_is_not_said_to_do_nothing() -> None:
    """What else is in the way of the reason that is found is left open."""
    ops = [event("all-reduce.1", 0, 100), event("fusion.1", 600, 100)]
    text = told(capture(Core(ops, [event("train(7)", 0, 700)])))[1]
    assert text == (
        "The device is 28.6 % busy: nothing hides the time in all-reduce; what else is in the way is not known, "
        "as nothing tells what launched the work."
    )
