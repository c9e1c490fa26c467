"""No two statements of a report exclude each other: rules over the document, each with a name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tb_xla_insights.analysis.findings.worth import sort_rows
from tb_xla_insights.analysis.thresholds import INFO_SHARE

Report = Any
_THEN = re.compile(r"(\S+)\u202f\w+\)?(?:, if [^.]+)?\. Then the pace .*? (?:from |\()(\S+) ")
"""The step that the first fix leaves, and the one that the next sentence begins with."""

_TIME = re.compile(r"[\d.]+\u202f(?:s|ms|µs)(?= a step)")


def finding(report: Report, id_: str) -> Any:
    return next((row for row in report["findings"] if row["id"] == id_), None)


def findings_have_the_order_of_the_verdicts_sentences(report: Report) -> bool:
    return bool(report["findings"] == sort_rows(report["findings"]))


def the_verdict_names_the_first_fix(report: Report) -> bool:
    fixes = [
        row["id"]
        for row in report["findings"]
        if (row["kind"], row["recurs"] == "once") == ("mistake", False) and (row["gain"] or 0.0) >= INFO_SHARE
    ]
    return bool(report["verdict"]["fix"] == next(iter(fixes), None))


def who_waits_for_data_is_held_up_by_loading(report: Report) -> bool:
    """Loading is no cause, says the verdict on the input pipeline, only where no finding has it cost much."""
    loading = finding(report, "input_bound")
    span_ps = sum(device["span_ps"] for device in report["devices"])
    hidden = report["input_pipeline"]["verdict"] == "hidden"
    return not (loading and hidden and loading["cost_ps"] >= INFO_SHARE * span_ps)


def device_bound_excludes_gains_worth_a_warning(report: Report) -> bool:
    gains = [
        row["gain"] or 0.0
        for row in report["findings"]
        if row["id"] not in ("below_roofline", "device_copies")
    ]
    return not finding(report, "device_bound") or max(gains) < 0.1


def no_step_gets_longer_by_a_fix(report: Report) -> bool:
    return all(
        row["step_if_fixed_ps"] is None or row["step_if_fixed_ps"] <= row["step_ps"] * 1.001
        for row in report["findings"]
    )


def the_verdicts_steps_join(report: Report) -> bool:
    """What is told `then` begins with the step that the sentence before ends with."""
    then = _THEN.search(report["verdict"]["details"])
    return not then or then[1] == then[2]


def only_what_the_sentence_before_names_is_this_wait(report: Report) -> bool:
    verdict = report["verdict"]
    return verdict["fix"] is None or "this wait" not in verdict["details"]


def who_idles_between_programs_has_no_small_ones_without_idle_time(report: Report) -> bool:
    small = finding(report, "many_small_executions")
    return not small or "between programs" not in report["verdict"]["headline"] or "idles" in small["detail"]


RULES: tuple[Callable[[Report], bool], ...] = (
    findings_have_the_order_of_the_verdicts_sentences,
    the_verdict_names_the_first_fix,
    who_waits_for_data_is_held_up_by_loading,
    device_bound_excludes_gains_worth_a_warning,
    no_step_gets_longer_by_a_fix,
    the_verdicts_steps_join,
    only_what_the_sentence_before_names_is_this_wait,
    who_idles_between_programs_has_no_small_ones_without_idle_time,
)


def broken_rules(report: Report) -> list[str]:
    """The rules that a report breaks."""
    return [rule.__name__ for rule in RULES if not rule(report)]
