"""The verdict: a few sentences on a session."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.frameworks import host_activities
from tb_xla_insights.analysis.thresholds import DEVICE_BOUND_SHARE, INFO_SHARE, OUTSIDE_SPAN_SHARE, SEVERITIES
from tb_xla_insights.device_work.bottlenecks import BELOW_ROOFLINE, bottleneck_texts
from tb_xla_insights.report.figures import lacks_runs
from tb_xla_insights.report.finding_text import leading_limit, limit_text, mean_steps_per_host
from tb_xla_insights.report.mistakes_text import mistakes_clause
from tb_xla_insights.report.straggler_text import (
    is_straggler_cause,
    late_hosts_name,
    late_hosts_pronoun,
    straggler_cost_text,
)
from tb_xla_insights.units import brief_time, count, part_text, share

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Verdict

_RECOMPILATIONS = ("recompilation", "dynamo_recompilation")

_MAX_CHARS = 230
"""Two lines of the page."""

_MAX_NORMAL_EDGE_STEPS = 1.5
"""The time before the first and after the last run, in mean steps, that a normal capture may have."""

_MIN_HOST_SHARE = 1 / 3
"""The smallest share of the steps for which a class of host time is named if no device is known."""

_STALLED_ENDING = ": the device is busy"
"""What the cause in the verdict begins with if stalls are the largest limit."""

_SHORT_RECORDS = (
    ("device_record_begins", "begins late", "before"),
    ("device_record_ends", "ends early", "after"),
)
"""By diagnostic, what it says about the devices' record, and the edge of the capture."""

_UNKNOWN_WORK = "the capture does not record whether runs compute or wait"
"""For devices that recorded program runs without ops."""


def verdict(report: Mapping[str, Any]) -> Verdict:
    """`text` and `severity` (good, info, warning, critical) of a session's report. (docs/definitions.md, "Findings")

    The text says how busy the devices are, what the mistakes cost together, and what the largest limit is, in the order
    of the findings. If the devices are the bottleneck, it says what takes most of their time. Stragglers come first,
    unless another mistake or a limit does. Time outside the devices' span is included if it is at least
    OUTSIDE_SPAN_SHARE of the capture and longer than the building of a first step (_MAX_NORMAL_EDGE_STEPS). It comes
    first if it is more than half of the capture and no host is late.

    The text fits two lines of the page if possible: it leaves out the class of most of the idle time, or causes beyond
    the first one, or both.
    """
    outside = report["outside_span"]
    if outside is None or outside["share"] < OUTSIDE_SPAN_SHARE:
        return _verdict_inside_span(report, _MAX_CHARS)
    outside_ps = outside["before"]["duration_ps"] + outside["after"]["duration_ps"]
    if outside_ps < _MAX_NORMAL_EDGE_STEPS * _mean_step_ps(report):
        return _verdict_inside_span(report, _MAX_CHARS)
    sentence = _outside_sentence(report)
    inside_verdict = _verdict_inside_span(report, _MAX_CHARS - len(sentence) - 1)
    outside_first = outside["share"] > 0.5 and not _relevant_straggler(report)
    texts = (sentence, inside_verdict["text"]) if outside_first else (inside_verdict["text"], sentence)
    severity = "info" if inside_verdict["severity"] == "good" else inside_verdict["severity"]
    return {"text": " ".join(texts), "severity": severity}


def _host_clause(report: Mapping[str, Any]) -> str:
    """`the host waits for data for 12.0 of 16.0 ms a step`: the class with most host time if it is at least
    _MIN_HOST_SHARE of the steps, else the clause that only the host's activity is shown."""
    steps = report["steps"]
    by_class: Counter[str] = sum((Counter(step["host_ps"]) for step in steps), Counter())
    total_ps = sum(step["duration_ps"] for step in steps)
    for name, time_ps in by_class.most_common(1):
        if time_ps >= _MIN_HOST_SHARE * total_ps:
            activity = _host_activities(report)[name]
            if name == "dispatch" and report["environment"]["framework"] == "tensorflow":
                activity = "launches and runs operations"  # without XLA its executors run ops on the launching thread
            return (
                f"the host {activity} for {part_text(time_ps // len(steps), total_ps // len(steps))} a step"
            )
    return "only the host's activity is shown"


def _mean_step_ps(report: Mapping[str, Any]) -> float:
    steps = report["steps"]
    return sum(step["duration_ps"] for step in steps) / len(steps) if steps else 0.0


def _record_clause(report: Mapping[str, Any], where: str) -> str:
    """How the devices' record is shorter than the host's at the edges `where`: `the device's record ends early`; empty
    if it is not, or if that is not a warning because it explains at most half of the time at the edge."""
    hosts = {
        text: sum(
            row.get("hosts", 1)
            for row in report["diagnostics"]
            if (row["id"], row["severity"]) == (id_, "warning")
        )
        for id_, text, edge in _SHORT_RECORDS
        if edge in where
    }
    texts = [text for text, count_of_hosts in hosts.items() if count_of_hosts]
    if not texts:
        return ""
    owner = "the device's" if len(report["devices"]) == 1 else "the devices'"
    on_some = " on some hosts" if min(filter(None, hosts.values())) < len(report["session"]["hosts"]) else ""
    return f"{owner} record {' and '.join(texts)}{on_some}"


def _outside_sentence(report: Mapping[str, Any]) -> str:
    """`52.1 % of the capture is before the first run (the host compiles).` `52.1 % of the capture is after the last
    recorded run, as the device's record ends early.`"""
    outside, activities = report["outside_span"], _host_activities(report)
    before, after = outside["before"], outside["after"]
    where = "before and after all runs"
    if after["duration_ps"] <= OUTSIDE_SPAN_SHARE * before["duration_ps"]:
        where = "before the first run"
    elif before["duration_ps"] <= OUTSIDE_SPAN_SHARE * after["duration_ps"]:
        where = "after the last run"
    if record := _record_clause(report, where):
        where = re.sub(r"\b(runs?)$", r"recorded \1", where)
        return f"{share(outside['share'])} of the capture is {where}, as {record}."
    by_class = Counter(before["by_class_ps"]) + Counter(after["by_class_ps"])
    main_class = next((name for name, ps in by_class.most_common(1) if 2 * ps > by_class.total()), None)
    note = f" (the host {activities[main_class]})" if main_class else ""
    return f"{share(outside['share'])} of the capture is {where}{note}."


def _verdict_inside_span(report: Mapping[str, Any], max_chars: int) -> Verdict:
    """The verdict on the devices' span, in `max_chars` characters if possible."""
    devices, findings = report["devices"], report["findings"]
    if not devices:
        return _without_devices(report)
    span_ps, busy_ps = (sum(device[key] for device in devices) for key in ("span_ps", "busy_ps"))
    duty = f"{'at least ' if lacks_runs(report) else ''}{share(busy_ps / span_ps if span_ps else 0.0)}"
    subject = "The device is" if len(devices) == 1 else f"The {count(len(devices))} devices are"
    mistakes, limits = (
        [row for row in findings if row["kind"] == kind and _is_relevant(row)]
        for kind in ("mistake", "limit")
    )
    if any(finding["id"] == "device_bound" for finding in findings):
        return _device_bound_verdict(report, f"{subject} the bottleneck: {duty} busy.", mistakes, max_chars)
    reasons = mistakes + limits
    if not reasons:
        return _verdict_without_findings(report, subject, duty, span_ps, busy_ps)
    unknown_reason = _why_host_unknown(report)
    warm_up = _warm_up_clause(report, span_ps - busy_ps)
    idle_clause = note = ""
    if unknown_reason:
        note = f"; other causes are not known, as {unknown_reason}"
    elif lacks_runs(report):
        note = "; not all runs are recorded"
    elif (
        not warm_up
        and busy_ps < DEVICE_BOUND_SHARE * span_ps
        and 2 * sum(finding["cost_ps"] for finding in reasons) < span_ps - busy_ps
    ):
        idle_clause = _main_gap_activity(report, span_ps - busy_ps)
    if _has_unknown_work(devices) and not mistakes and not unknown_reason:
        note = f"; {_UNKNOWN_WORK}"
    totals = report["mistakes"]
    show_limit = limits and (not mistakes or _limit_remains(totals))
    limit = limit_text(limits[0], totals) if show_limit else ""
    straggler = _relevant_straggler(report)
    if limit and mistakes and not warm_up and leading_limit(report):
        head, waiting = "", late_hosts_name(straggler) if straggler else ""
        causes = _causes_with_leading_limit(limit, mistakes, totals, mean_steps_per_host(report))
    elif straggler and straggler is mistakes[0]:
        further_mistakes = [
            mistake
            for mistake in mistakes[1:]
            if not is_straggler_cause(mistake.get("evidence", {}), straggler["evidence"])
        ]
        cost_text = straggler_cost_text(straggler, mean_steps_per_host(report))
        head, waiting = f"{cost_text} ", late_hosts_pronoun(straggler)
        causes = _causes_beside_straggler(warm_up, further_mistakes, limit)
    else:
        head, waiting = "", late_hosts_name(straggler) if straggler else ""
        causes = _causes(warm_up, mistakes, limit, totals, mean_steps_per_host(report))
    busy_text = f"{duty} busy, which includes waiting for {waiting}" if straggler else f"{duty} busy"
    endings = [cause + clause for cause in causes for clause in (idle_clause, "")]
    texts = [f"{head}{subject} {busy_text}{_name_devices(ending, devices)}{note}." for ending in endings]
    severity = max((finding["severity"] for finding in reasons), key=SEVERITIES.index)
    return {"text": next((text for text in texts if len(text) <= max_chars), texts[-1]), "severity": severity}


def _verdict_without_findings(
    report: Mapping[str, Any], subject: str, duty: str, span_ps: int, busy_ps: int
) -> Verdict:
    """The verdict, which begins with `subject` and mostly `duty`, if no finding is relevant."""
    devices = report["devices"]
    is_busy = busy_ps >= DEVICE_BOUND_SHARE * span_ps
    if unknown_reason := _why_host_unknown(report):
        idling = "why it idles" if len(devices) == 1 else "why they idle"
        unknown = "whether the host keeps up" if is_busy else idling
        return {
            "text": f"{subject} {duty} busy; {unknown} is not known, as {unknown_reason}.",
            "severity": "warning",
        }
    if is_busy and (work_share := _work_share_of_steps(report)) < DEVICE_BOUND_SHARE:
        text = f"{subject} {duty} busy from first to last run, yet at work for {share(work_share)} of the steps' time"
        step_idle = report["step_idle"]
        idle_clause = (
            _main_activity(report, step_idle["by_class_ps"] or {}, step_idle["idle_ps"] or 0)
            or ", too few runs to identify the cause"
        )
        return {"text": f"{text}{idle_clause}.", "severity": "warning"}
    if not report["steps"] and all(device.get("modules", 0) <= 1 for device in devices):
        # A time, since a share would need a reference.
        work = f"{brief_time(busy_ps // len(devices))}{' each' if len(devices) > 1 else ''}"
        text = f"{subject} at work for {work}, in too few runs to identify the cause."
        return {"text": text, "severity": "warning"}
    if not is_busy and (warm_up := _warm_up_clause(report, span_ps - busy_ps)):
        return {"text": f"{subject} {duty} busy: {warm_up}.", "severity": "warning"}
    idle_clause = _main_gap_activity(report, span_ps - busy_ps)
    if _has_unknown_work(devices):
        idle_clause = "" if is_busy else idle_clause
        return {
            "text": f"{subject} {duty} busy with program runs{idle_clause}; {_UNKNOWN_WORK}.",
            "severity": "info",
        }
    return {"text": f"{subject} {duty} busy{idle_clause}, and nothing stands out.", "severity": "info"}


def _has_unknown_work(devices: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a device recorded no ops, only program runs (`_UNKNOWN_WORK`)."""
    return any(not device["ops"] for device in devices)


def _device_bound_verdict(
    report: Mapping[str, Any], text: str, mistakes: Sequence[Mapping[str, Any]], max_chars: int
) -> Verdict:
    """The verdict, which begins with `text`, if the device is the bottleneck: its longest work, and the mistakes."""
    clause = ""
    if mistakes:
        clause = f" {mistakes_clause(mistakes, report['mistakes'], mean_steps_per_host(report))}."
    texts = [*(text + work_text + clause for work_text in bottleneck_texts(report)), text + clause]
    severities = [
        row["severity"] for row in report["findings"] if row["id"] == BELOW_ROOFLINE or row in mistakes
    ]
    return {
        "text": next((candidate for candidate in texts if len(candidate) <= max_chars), texts[-1]),
        "severity": max(severities, key=SEVERITIES.index, default="good"),
    }


def _name_devices(ending: str, devices: Sequence[Mapping[str, Any]]) -> str:
    """The end of a sentence about `devices` whose findings speak of `the device`. `The 4 devices are 86.5 % busy: the
    device is busy waiting in copy-done` becomes `…, 96.6 % of that waiting in copy-done`; `…: the device waits`
    becomes `…: they wait`."""
    several = len(devices) > 1
    if ending.startswith(_STALLED_ENDING):
        stalled_ps, busy_ps = (sum(device[key] for device in devices) for key in ("stall_ps", "busy_ps"))
        ending = f", {share(stalled_ps / busy_ps)} of that{ending.removeprefix(_STALLED_ENDING)}"
    ending = re.sub(r"^: the device waits\b", ": they wait" if several else ": it waits", ending)
    if several:
        # A mistake of some hosts names them: `the device waits for data on w-5`.
        ending = re.sub(r"\bthe device waits\b(?![^;,]* on )", "the devices wait", ending)
        ending = ending.replace("the device is busy waiting", "the devices are busy waiting")
    return ending


def _without_devices(report: Mapping[str, Any]) -> Verdict:
    """The verdict if no device worked or none was recorded."""
    hosts_compiling = {row["host"] for row in report["compiles"] if row["cut"] == "both"}
    if hosts_compiling and len(hosts_compiling) == len(report["session"]["hosts"]):
        text = "The whole capture is inside one compilation, which began before it and did not finish"
        return {"text": f"{text}: no program ran.", "severity": "warning"}
    return {"text": f"No device's work could be read: {_host_clause(report)}.", "severity": "warning"}


def _causes(
    warm_up: str, mistakes: Sequence[Mapping[str, Any]], limit: str, totals: Mapping[str, Any], steps: int
) -> list[str]:
    """The causes of idle time, from the longest to the shortest text: the mistakes, then the limit."""
    start = f": {warm_up}" if warm_up else ""
    if not start and not mistakes:
        return [f": {limit}"]
    text = f"{start}. {mistakes_clause(mistakes, totals, steps)}" if mistakes else start
    several = len(mistakes) > 1 or " cost " in text
    return [f"{text}; beyond {'them' if several else 'that'} {limit}" if limit else text, text]


def _causes_with_leading_limit(
    limit: str, mistakes: Sequence[Mapping[str, Any]], totals: Mapping[str, Any], steps: int
) -> list[str]:
    """The causes of idle time, from the longest to the shortest text, if the largest limit precedes the mistakes."""
    text = mistakes_clause(mistakes, totals, steps)
    return [f": {limit}. Beyond that {text[0].lower()}{text[1:]}", f": {limit}"]


def _relevant_straggler(report: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The finding about stragglers, if it is relevant."""
    stragglers = (finding for finding in report["findings"] if finding["id"] == "straggler")
    return next(filter(_is_relevant, stragglers), None)


def _causes_beside_straggler(
    warm_up: str, further_mistakes: Sequence[Mapping[str, Any]], limit: str
) -> list[str]:
    """The causes of idle time other than stragglers, from the longest to the shortest text."""
    start = f": {warm_up}" if warm_up else ""
    beyond = f"; beyond {'them' if further_mistakes else 'that'} {limit}" if limit else ""
    text = f"{start}. Further mistakes: {_mistake_names(further_mistakes)}" if further_mistakes else start
    return [text + beyond, text]


def _mistake_names(mistakes: Sequence[Mapping[str, Any]]) -> str:
    """`a compile in step 1209 and 2 more`."""
    more = len(mistakes) - 1
    return f"{mistakes[0]['brief']}{f' and {more} more' if more else ''}"


def _warm_up_clause(report: Mapping[str, Any], idle_ps: int) -> str:
    """The cause if most of the idle time is spent in compilations that every training begins with; else empty."""
    if 2 * report["gaps"]["by_class_ps"].get("compile", 0) <= idle_ps:
        return ""
    ids = {
        id_
        for finding in report["findings"]
        for id_ in (finding["id"], *finding.get("evidence", {}).get("repeated_findings", ()))
    }
    if ids & set(_RECOMPILATIONS):
        return ""
    return "during most of the idle time the host compiles for the first time (capture later to see typical steps)"


def _is_relevant(finding: Mapping[str, Any]) -> bool:
    """Whether the gain of a finding's fix is above noise."""
    return (finding["gain"] or 0.0) >= INFO_SHARE


def _limit_remains(totals: Mapping[str, Any]) -> bool:
    """Whether the largest limit is still relevant without the mistakes."""
    step_ps, without_limit_ps = totals["step_if_fixed_ps"], totals["step_without_limit_ps"]
    return not step_ps or without_limit_ps is None or step_ps - without_limit_ps >= INFO_SHARE * step_ps


def _why_host_unknown(report: Mapping[str, Any]) -> str | None:
    """Why the host's activity in idle time is unknown; None if it is known: the clocks of more than half of the hosts
    agree with their devices', and launches are recorded on some host."""
    disagreeing = sum(row.get("hosts", 1) for row in report["diagnostics"] if row["id"] == "clocks_disagree")
    if disagreeing and 2 * disagreeing >= len(report["session"]["hosts"]):
        return "the clocks of host and device disagree"
    if not any(row["join"] != "none" for row in report["executions"]):
        return "the launches are not recorded"
    return None


def _work_share_of_steps(report: Mapping[str, Any]) -> float:
    """The share of the steps' time in which a core works; 1 if it is not known."""
    work, step = report["step_idle"]["work_ps"], report["step_idle"]["step_ps"]
    return work / step if work is not None and step else 1.0


def _host_activities(report: Mapping[str, Any]) -> dict[str, str]:
    """Phrases for the host's activity by class, in the terms of the capture's framework."""
    return host_activities(report["environment"]["framework"])


def _main_activity(
    report: Mapping[str, Any], by_class_ps: Mapping[str, int], idle_ps: int, queued_ps: int = 0
) -> str:
    """The host's activity in more than half of the idle time, or the fact that work was queued already; empty without
    either."""
    if 2 * queued_ps > idle_ps:
        return "; during most of the idle time work is queued already"
    name = max(by_class_ps, key=lambda class_: by_class_ps[class_], default=None)
    if not name or 2 * by_class_ps[name] <= idle_ps:
        return ""
    return f"; during most of the idle time the host {_host_activities(report)[name]}"


def _main_gap_activity(report: Mapping[str, Any], idle_ps: int) -> str:
    """The main activity in the gaps, or the fact that most of the idle time is inside runs or before one queued
    program; empty without either."""
    gaps = report["gaps"]
    inside_runs_ps = sum(row["total_ps"] for row in gaps.get("patterns", ()) if row["inside_run"])
    if 2 * inside_runs_ps > idle_ps and 2 * gaps["by_kind_ps"]["queued"] > idle_ps:
        return "; most of the idle time is inside program runs, between their ops"
    queued_ps, program = max(
        (
            (row["queued_ps"], row["after"])
            for row in gaps.get("patterns", ())
            if row["after"] and not row["inside_run"]
        ),
        default=(0, ""),
    )
    if 2 * queued_ps > idle_ps and 2 * gaps["by_kind_ps"]["queued"] > idle_ps:
        return f"; during most of the idle time {program} is queued already"
    return _main_activity(report, gaps["by_class_ps"], idle_ps, gaps["by_kind_ps"]["queued"])
