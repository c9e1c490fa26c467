"""The verdict's details, a sentence each: what to fix first, what sets the pace then, what happened once, and what the
capture cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_xla_insights.analysis.findings.data import loading_advice
from tb_xla_insights.analysis.findings.finding import NO_FAULT, OWN_WORK
from tb_xla_insights.analysis.findings.worth import RECOMPILATIONS
from tb_xla_insights.analysis.frameworks import WORDS
from tb_xla_insights.report.figures import lacks_runs
from tb_xla_insights.report.finding_text import change_after_mistakes, mean_steps_per_host, step_change
from tb_xla_insights.report.headline import device_sentence, main_host_time, why_host_unknown
from tb_xla_insights.report.iterations_text import ahead_text, while_serving
from tb_xla_insights.report.outside_text import is_the_story, outside_details
from tb_xla_insights.report.verdict_findings import (
    NamedFindings,
    computes_most_of_the_step,
)
from tb_xla_insights.text.english import plural
from tb_xla_insights.text.units import brief_time, rounded_share, time_text

Row = Mapping[str, Any]


def details(report: Row, named: NamedFindings, headline: str) -> str:
    """`headline`: if the first sentence is about what it names, it is called `this wait`."""
    if not report["devices"]:
        return _without_devices(report)
    sentences = [
        while_serving(report),
        ahead_text(report),
        f"Fix first: {named.fix['brief']}{_fix_effect(named.fix, report)}." if named.fix else "",
        *(
            f"{_pace_subject(pace, report, named, headline)}{_pace_effect(pace, report, named)}."
            for pace in named.paces
        ),
        _once_text(report, named),
        device_sentence(report, named) if is_the_story(report) else outside_details(report),
        *_limitations(report, named),
    ]
    return " ".join(filter(None, sentences))


def _without_devices(report: Row) -> str:
    """Why there are no findings, and how to load faster where that is what the host does."""
    name = main_host_time(report)[0]
    if not name or report["findings"]:
        return ""
    reason = "There are no findings, as these say what devices wait for."
    if name != "input":
        return reason
    words = WORDS[report["environment"]["framework"]]
    return f"{reason} {loading_advice(report['input_pipeline']['kind'], words)}"


def _fix_effect(fix: Row, report: Row) -> str:
    """`; that brings a step from 557.3 to 9.1 ms`; of an uncertain gain `; that makes a step up to 96 % shorter (158.1
    → 6.9 ms), if loading is fully hidden`. What only some steps have changes the mean step, which is that of none."""
    change = step_change(fix, report)
    if change is None:
        return f"; that costs {rounded_share(fix['gain'])} of the devices' time"
    step = _step_in_words(report, is_mean=fix["recurs"] == "some_steps")
    if change.is_certain:
        return f"; that brings {step} from {change.text_in_sentence}"
    condition = f", if {fix['best_if']}" if fix["best_if"] else ""
    return f"; that makes {step} up to {rounded_share(change.gain)} shorter ({change.text}){condition}"


def _step_in_words(report: Row, is_mean: bool = False) -> str:
    """A server's iterations are of several kinds, and what a fix saves is the mean of all."""
    if report["iterations"]:
        return "the mean iteration"
    return "the mean step" if is_mean else "a step"


def _pace_subject(pace: Row, report: Row, named: NamedFindings, headline: str) -> str:
    """`Then the pace is set by the host, which builds the graph`; `After all fixes the pace …` if other mistakes change
    the step further than the fix that the sentence before names. Beside a device that computes for most of the step,
    no limit sets the pace."""
    if pace is not named.then:
        return f"Next: {pace['brief']}"
    if named.fix:
        fixed, rest = step_change(named.fix, report), change_after_mistakes(pace, report)
        joins = not fixed or not rest or time_text(fixed.after_ps, 1) == time_text(rest.before_ps, 1)
        start = f"{'Then' if joins else 'After all fixes'} the pace is set by"
    else:
        start = "The pace is set by"
    if pace["id"] not in NO_FAULT and computes_most_of_the_step(report, named.fix is not None):
        return f"{start} {OWN_WORK}. Next: {pace['brief']}"
    if named.fix:
        return f"{start} {pace['brief']}"
    is_in_headline = pace is named.cause and pace["waits_for"] and pace["waits_for"] in headline
    return f"{start} {'this wait' if is_in_headline else pace['brief']}"


def _pace_effect(pace: Row, report: Row, named: NamedFindings) -> str:
    """`; without it, a step would go from 9.1 to 2.6 ms`; empty for a device that is the bottleneck. After a fix, the
    step is the one that remains without the mistakes."""
    if pace["gain"] is None:
        return ""
    change = change_after_mistakes(pace, report) if named.fix else step_change(pace, report)
    if change is None:
        return f"; that is {rounded_share(pace['gain'])} of the devices' time"
    at_best = "" if change.is_certain else " at best"
    return f"; without it, {_step_in_words(report)} would go from {change.text_in_sentence}{at_best}"


def _once_text(report: Row, named: NamedFindings) -> str:
    """`Once: a compilation in step 35 (267 ms) and 2 other events.`"""
    if not named.once:
        return ""
    first, *others = named.once
    change = step_change(first, report)
    time_ps = first["cost_ps"] // len(report["devices"])
    if change:
        time_ps = mean_steps_per_host(report) * (change.before_ps - change.after_ps)
    more = f" and {plural(len(others), 'other event')}" if others else ""
    return f"Once: {first['brief']} ({brief_time(time_ps)}){more}."


def _limitations(report: Row, named: NamedFindings) -> list[str]:
    """What the capture cannot tell, in plain words."""
    sentences = []
    named_any = named.cause or named.fix
    if named_any and not named.is_device_bound and (unknown := why_host_unknown(report)):
        sentences.append(f"More is not known, as {unknown}.")
    elif lacks_runs(report):
        sentences.append("Not all runs are recorded.")
    if not all(device["ops"] for device in report["devices"]):
        sentences.append("The capture does not record whether programs compute or wait.")
    if len(report["steps"]) == 1 and not (named.fix or named.paces):
        sentences.append(
            "Capture several steps: one does not show how much of the host's work a device hides."
        )
    if is_warm_up(report):
        sentences.append("During most of the idle time the host compiles for the first time: capture later.")
    return sentences


def is_warm_up(report: Row) -> bool:
    """Whether most of the idle time is spent in compilations that every training begins with."""
    idle_ps = sum(device["idle_ps"] for device in report["devices"])
    ids = {
        id_
        for finding in report["findings"]
        for id_ in (finding["id"], *finding["evidence"].get("repeated_findings", ()))
    }
    return 2 * report["gaps"]["by_class_ps"].get("compile", 0) > idle_ps and not ids & set(RECOMPILATIONS)
