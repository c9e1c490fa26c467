"""The findings that the verdict names, and the time that the devices work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tb_xla_insights.analysis.findings.finding import NO_FAULT
from tb_xla_insights.analysis.findings.worth import group_of
from tb_xla_insights.analysis.thresholds import DEVICE_BOUND_SHARE, INFO_SHARE
from tb_xla_insights.report.finding_text import (
    change_after_mistakes,
    mean_steps_per_host,
    step_change,
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class NamedFindings:
    """`cause`: what the devices wait for longest, or the finding that they are the bottleneck. `fix`: the mistake with
    the largest gain. `paces`: what sets the pace after it; if that is the device's own work, without a fix, also the
    work with most to gain. `once`: what happened once. All gains are significant (INFO_SHARE). `short_wait`: what the
    devices wait for because of the cause, without details."""

    cause: Row | None
    fix: Row | None
    paces: Sequence[Row]
    once: Sequence[Row]
    short_wait: str = ""

    @property
    def then(self) -> Row | None:
        return next(iter(self.paces), None)

    @property
    def is_device_bound(self) -> bool:
        return self.cause is not None and self.cause["id"] in NO_FAULT

    @property
    def with_gain(self) -> list[Row]:
        """The findings that something is to be gained from."""
        findings = (self.fix, *self.paces, *self.once)
        return [finding for finding in findings if finding is not None and finding["id"] not in NO_FAULT]


@dataclass(frozen=True)
class DeviceSpan:
    """The devices' time between their first and last run, summed. `works_ps`: computing, that is, busy with neither an
    op that only waits nor a collective that waits for late hosts."""

    span_ps: int
    works_ps: int

    @property
    def share(self) -> float:
        return self.works_ps / self.span_ps if self.span_ps else 0.0

    @property
    def waits_ps(self) -> int:
        return self.span_ps - self.works_ps

    @property
    def is_mostly_work(self) -> bool:
        return 0 < DEVICE_BOUND_SHARE * self.span_ps <= self.works_ps


def device_time(report: Row) -> DeviceSpan:
    span_ps, busy_ps, stall_ps = (
        sum(device[key] for device in report["devices"]) for key in ("span_ps", "busy_ps", "stall_ps")
    )
    # Waits for late hosts may lie in the ops that only wait, which count already.
    late_ps = sum(finding["cost_ps"] for finding in report["findings"] if finding["id"] == "straggler")
    return DeviceSpan(span_ps, max(0, busy_ps - max(stall_ps, late_ps)))


def no_requests_ps(report: Row) -> int:
    """How long devices idle, in sum, because a server has no request."""
    iterations = report["iterations"]
    return iterations["no_requests_ps"] if iterations else 0


def computes_most_of_the_step(report: Row, is_fixed: bool) -> bool:
    """Whether a core computes for DEVICE_BOUND_SHARE of the usual step, or of the step without all mistakes
    (`is_fixed`)."""
    work_ps = report["step_idle"]["work_ps"]
    step_ps = report["mistakes"]["step_if_fixed_ps" if is_fixed else "usual_step_ps"]
    busy_ps = sum(device["busy_ps"] for device in report["devices"])
    if not work_ps or not step_ps or not busy_ps:
        return False
    computing_ps = work_ps * device_time(report).works_ps / busy_ps
    # Longer than the step: the fixes remove work of the devices, and what remains of it is not in the report.
    return bool(DEVICE_BOUND_SHARE * step_ps <= computing_ps <= step_ps)


def name_findings(report: Row, short_waits: Mapping[str, str]) -> NamedFindings:
    findings = report["findings"]
    groups: dict[str, list[Row]] = {}
    for finding in findings:
        groups.setdefault(group_of(finding["kind"], finding["recurs"], finding["gain"]), []).append(finding)
    bound = next((finding for finding in findings if finding["id"] in NO_FAULT), None)
    fix = next(iter(groups.get("fix", ())), None)
    limits = groups.get("pace", ())
    if fix is None:
        paces = [finding for finding in limits if finding is bound or _is_significant(finding)]
    else:  # the largest limit may gain something only once the mistakes are fixed
        rest = next(iter(limits), None)
        change = change_after_mistakes(rest, report) if rest else None
        paces = [rest] if rest and (change.gain >= INFO_SHARE if change else _is_significant(rest)) else []
    cause = bound or _find_cause(report)
    return NamedFindings(
        cause=cause,
        fix=fix,
        paces=paces[: 2 if bound and not fix else 1],
        once=[finding for finding in groups.get("once", ()) if _is_significant(finding)],
        short_wait=short_waits.get(cause["id"], "") if cause else "",
    )


def _is_significant(finding: Row) -> bool:
    return (finding["gain"] or 0.0) >= INFO_SHARE


def explained_ps(finding: Row, report: Row) -> int:
    """How much of the time in which devices wait a finding explains: its cost, but at most what its fix saves. Without
    a read inside a step, for example, a device may still wait for the graph that is built after it. Of the time in
    collectives, only the stalls are waits."""
    cost_ps: int = finding["cost_ps"]
    if finding["id"] == "device_waits":
        cost_ps = min(cost_ps, sum(device["stall_ps"] for device in report["devices"]))
    change = step_change(finding, report)
    if change is None:
        return cost_ps
    saved_ps = (change.before_ps - change.after_ps) * mean_steps_per_host(report) * len(report["devices"])
    return min(cost_ps, saved_ps)


def _find_cause(report: Row) -> Row | None:
    """The finding that explains most of the time in which devices wait. One that happened once describes a capture only
    if it explains half of that time; else recurring ones come before it."""
    waits_ps = device_time(report).waits_ps
    causes = [
        (explained_ps(finding, report), finding) for finding in report["findings"] if finding["waits_for"]
    ]
    explained, cause = max(
        causes,
        key=lambda pair: (pair[1]["recurs"] != "once" or 2 * pair[0] >= waits_ps, pair[0]),
        default=(0, None),
    )
    return cause if explained else None
