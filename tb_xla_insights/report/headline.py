"""The verdict's headline: one sentence that says how much the devices work, and what they wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tb_xla_insights.analysis.frameworks import UNSHOWN_HOST, host_activities, host_clause
from tb_xla_insights.analysis.thresholds import DEVICE_BOUND_SHARE
from tb_xla_insights.report.figures import lacks_runs
from tb_xla_insights.report.finding_text import DEVICE_FINDINGS
from tb_xla_insights.report.iterations_text import iterations_headline
from tb_xla_insights.report.outside_text import is_the_story, outside_clause, outside_text
from tb_xla_insights.report.subject import subject_of
from tb_xla_insights.report.verdict_findings import NamedFindings, device_time, explained_ps, no_requests_ps
from tb_xla_insights.text.english import upper_first
from tb_xla_insights.text.units import brief_time, part_text, rounded_share

Row = Mapping[str, Any]

MAX_LENGTH = 120
MAX_NUMBERS = 2

_MOST = 0.5
"""Of the time in which devices wait: how much the main cause must explain to be called that of most."""

_MIN_CAUSE_SHARE = 0.25
"""How much it must explain to be named."""

_MIN_HOST_SHARE = 1 / 3
"""The smallest share of the steps for which a class of host time is named if no device is known."""

_NUMBER = re.compile(r"(?<![\w.-])\d[\d.,\N{NARROW NO-BREAK SPACE}]*")
"""A number, not a digit in a name such as `t1v-n-7f-w-5`."""


def headline(report: Row, named: NamedFindings) -> str:
    """`The 8 TPU cores work 60 % of the time; mostly they wait for the host, which builds the graph.` The most telling
    version that has at most MAX_LENGTH characters and MAX_NUMBERS numbers."""
    if not report["devices"]:
        return _without_devices(report)
    if is_the_story(report):
        return outside_text(report)
    is_serial = named.fix is not None and named.fix["id"] == "serial_iterations"
    if is_serial and not _gets_no_requests(report):
        return iterations_headline(report)
    return device_sentence(report, named)


def device_sentence(report: Row, named: NamedFindings) -> str:
    """What the headline says about devices that worked."""
    versions = [*_Sentence(report, named).versions()]
    return next((version for version in versions if fits(version)), versions[-1])


def _gets_no_requests(report: Row) -> bool:
    """Whether devices idle mostly because a server has no request."""
    return 0 < _MOST * device_time(report).waits_ps <= no_requests_ps(report)


def fits(sentence: str) -> bool:
    """Whether a headline is short enough, and has few enough numbers."""
    return len(sentence) <= MAX_LENGTH and len(_NUMBER.findall(sentence)) <= MAX_NUMBERS


class _Sentence:
    """The headline about devices that worked."""

    def __init__(self, report: Row, named: NamedFindings) -> None:
        self._report, self._named = report, named
        self._outside = outside_clause(report)
        self._subject, self._time = subject_of(report["devices"]), device_time(report)
        # A device that ran once works for a time, since a share of its time would say nothing.
        self._ran_once = not report["steps"] and all(device["modules"] <= 1 for device in report["devices"])
        nothing_stands_out = self._time.is_mostly_work and not named.with_gain and not named.is_device_bound
        self._share_of_steps = _share_of_steps(report) if nothing_stands_out else None
        self._nothing_stands_out = nothing_stands_out and self._share_of_steps is None

    def versions(self) -> Iterator[str]:
        """From the most telling version to the shortest: without the number of devices, without details of what they
        wait for, without a reason."""
        works = self._works()
        for reason in (*self._reasons(), ""):
            for name in (self._subject.name, self._subject.name_without_number):
                yield f"{upper_first(name)} {works}{reason}."

    def _works(self) -> str:
        """`work 60 % of the time`."""
        devices = self._report["devices"]
        if self._ran_once:
            each = " each" if self._subject.is_plural else ""
            return f"{self._subject.verb('work')} for {brief_time(self._time.works_ps // len(devices))}{each}"
        has_ops = all(device["ops"] for device in devices)
        verb = self._subject.verb("work") if has_ops else f"{self._subject.verb('run')} programs"
        if self._share_of_steps is not None:
            return f"{verb} {rounded_share(self._share_of_steps)} of the steps' time"
        at_least = "at least " if lacks_runs(self._report) else ""
        while_running = f" while {self._subject.pronoun} {self._subject.verb('run')}" if self._outside else ""
        return f"{verb} {at_least}{rounded_share(self._time.share)} of the time{while_running}"

    def _reasons(self) -> tuple[str, str]:
        """`; mostly they wait for the host, which builds the graph`: what the rest of the time goes to, with and
        without details."""
        if self._outside:
            return f"; {self._outside}", f"; {self._outside}"
        pronoun, cause, waits_ps = self._subject.pronoun, self._named.cause, self._time.waits_ps
        if self._named.is_device_bound:
            return "; the host keeps up", ""
        if self._ran_once:
            return ", too briefly to tell more", ""
        if self._nothing_stands_out:
            return ", and nothing stands out", ""
        if _gets_no_requests(self._report):
            clause = f"; mostly {pronoun} {self._subject.verb('get')} no request to work on"
            return clause, clause
        wait = f"{pronoun} {self._subject.verb('wait')}"
        cause_share = explained_ps(cause, self._report) / waits_ps if cause and waits_ps else 0.0
        if cause and cause_share >= _MOST:
            return self._waits_for_cause(f"; mostly {wait} for ", cause)
        if unknown := why_host_unknown(self._report):
            not_known = f"; what {wait} for is not known"
            return f"{not_known}, as {unknown}", not_known
        verb, idle, details, idle_share = _main_idle_time(self._report, self._share_of_steps is not None)
        # A finding about the host says more precisely what a class of its time is.
        is_of_idle_time = cause and cause["id"] not in DEVICE_FINDINGS
        if cause and cause_share >= max(_MIN_CAUSE_SHARE, idle_share * (_MOST if is_of_idle_time else 1)):
            return self._waits_for_cause(f"; above all {wait} for ", cause)
        if idle_share >= _MIN_CAUSE_SHARE:
            degree = "mostly" if idle_share >= _MOST else "above all"
            reason = f"; {degree} {pronoun} {self._subject.verb(verb)} {idle}"
            return f"{reason}{details}", reason
        return "; the rest has many causes", ""

    def _waits_for_cause(self, start: str, cause: Row) -> tuple[str, str]:
        return f"{start}{cause['waits_for']}", f"{start}{self._named.short_wait}"


def _without_devices(report: Row) -> str:
    """The headline if no device worked or none was recorded."""
    hosts_compiling = {row["host"] for row in report["compiles"] if row["cut"] == "both"}
    if hosts_compiling and len(hosts_compiling) == len(report["session"]["hosts"]):
        return "The whole capture is inside one compilation: no program ran."
    name, time_ps, total_ps = main_host_time(report)
    if not name:
        return "The capture shows no device's work, only what the host does."
    framework = report["environment"]["framework"]
    activity = host_clause(name, framework)
    if name == "dispatch" and framework == "tensorflow":
        # Without XLA its executors run ops on the launching thread.
        activity = "the host launches and runs operations"
    steps = len(report["steps"])
    time = part_text(time_ps // steps, total_ps // steps)
    return f"The capture shows no device's work; {activity} for {time} a step."


def main_host_time(report: Row) -> tuple[str, int, int]:
    """The class of host time with most time in the steps, empty if it has less than _MIN_HOST_SHARE; its time, and all
    time."""
    by_class: dict[str, int] = {}
    for step in report["steps"]:
        for name, time_ps in step["host_ps"].items():
            by_class[name] = by_class.get(name, 0) + time_ps
    total_ps = sum(step["duration_ps"] for step in report["steps"])
    name, time_ps = max(by_class.items(), key=lambda item: item[1], default=("", 0))
    return (name if time_ps >= _MIN_HOST_SHARE * total_ps else ""), time_ps, total_ps


def _share_of_steps(report: Row) -> float | None:
    """The share of the steps' time in which a core works, if that is far less than all of it; else None. A device may
    work from its first to its last run, and idle before and after them."""
    idle = report["step_idle"]
    if not idle["step_ps"] or idle["work_ps"] is None:
        return None
    share = float(idle["work_ps"] / idle["step_ps"])
    return share if share < DEVICE_BOUND_SHARE else None


def why_host_unknown(report: Row) -> str | None:
    """Why the host's activity in idle time is unknown; None if it is known: the clocks of more than half of the hosts
    agree with their devices', and launches are recorded on some host."""
    disagreeing = sum(row.get("hosts", 1) for row in report["diagnostics"] if row["id"] == "clocks_disagree")
    if disagreeing and 2 * disagreeing >= len(report["session"]["hosts"]):
        return "the clocks of host and device disagree"
    has_launches = any(row["join"] != "none" for row in report["executions"])
    return None if has_launches or _launches_single_operations(report) else "the launches are not recorded"


def _launches_single_operations(report: Row) -> bool:
    """Whether kernels of no program are launched one by one, and the capture shows it: they make no executions, but
    their own launches decide the kinds of gaps."""
    kinds_ps = report["gaps"]["by_kind_ps"]
    return not report["executions"] and kinds_ps["starved"] + kinds_ps["queued"] > 0


def _main_idle_time(report: Row, in_steps: bool) -> tuple[str, str, str, float]:
    """`wait`, `for the host`, `, which builds the graph`: what the largest part of the idle time goes to, after its
    verb, with details, and its share of all time in which devices wait; of the gaps, or of the steps (`in_steps`)."""
    gaps, idle = report["gaps"], report["step_idle"]
    waits_ps = device_time(report).waits_ps
    by_class_ps, idle_ps = gaps["by_class_ps"], sum(device["idle_ps"] for device in report["devices"])
    if in_steps:
        by_class_ps, idle_ps = idle["by_class_ps"] or {}, idle["idle_ps"] or 0
        waits_ps = idle_ps
    elif (queued_ps := gaps["by_kind_ps"]["queued"]) > _MOST * idle_ps:
        inside_runs_ps = sum(row["total_ps"] for row in gaps["patterns"] if row["inside_run"])
        is_inside = inside_runs_ps > _MOST * idle_ps
        where, details = (
            ("inside programs", ", between their ops")
            if is_inside
            else ("between programs", ", though the next is launched already")
        )
        return "idle", where, details, queued_ps / waits_ps
    if not by_class_ps or not idle_ps:
        return "wait", "", "", 0.0
    name, time_ps = max(by_class_ps.items(), key=lambda item: item[1])
    share = time_ps / waits_ps
    if name == "wait":
        return "wait", "as the host does", "", share
    if name == "unrecorded":
        return "wait", f"for {UNSHOWN_HOST}", "", share
    activity = host_activities(report["environment"]["framework"])[name]
    return "wait", "for the host", f", which {activity}", share
