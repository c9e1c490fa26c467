"""What findings are worth: what a fix buys, hence how loud each is said and in which order they come.

(docs/definitions.md, "Findings")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from tb_xla_insights.analysis.findings.base import Facts, Finding
from tb_xla_insights.analysis.replay.what_if import Fix, shorter_runs, step_without
from tb_xla_insights.analysis.thresholds import (
    INFO_SHARE,
    MAX_GAIN_SPREAD,
    MISTAKE_FIRST_SHARE,
    WARNING_SHARE,
    Severity,
    severity_of,
)
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.units import brief_time, brief_times

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Mistakes

LIMITS = frozenset(("tracing_bound", "dispatch_overhead", "device_stalls", "exposed_collectives"))
"""Findings about the program's nature. All others are mistakes: they name a place that can be changed."""

NO_FAULT = frozenset(("device_bound",))

_LEAST = dict.fromkeys(LIMITS | {"transfer_bound", "host_callback"}, INFO_SHARE) | {
    "input_bound": WARNING_SHARE
}
"""The gain from which on a finding is told, for limits also the share of the devices' spans. Some loading is on every
step's way. Findings that are not here are told whatever they cost."""


def finding_kind(finding: Finding) -> Literal["mistake", "limit"] | None:
    """None for what is no fault."""
    return None if finding.id in NO_FAULT else "limit" if finding.id in LIMITS else "mistake"


def rank_findings(facts: Facts, findings: Sequence[Finding]) -> list[Finding]:
    """The findings that are worth telling, with `gain`, `severity` and `step_if_fixed_ps`, in order (`sort_findings`).
    What `gain` and `step_if_fixed_ps` are at best, `gain_at_worst` and `step_if_fixed_most_ps` are at worst.

    The gain of a mistake that recurs is the share of the usual step that goes with it, that of one that happened once
    the share of the mean step; that of a limit is the share of the step that remains without all mistakes. Where
    nothing can be replayed, it is the share of the devices' spans that the finding explains.
    """
    trace, once = facts.trace, _fixes_of_once(findings)
    step, usual = step_without(trace), step_without(trace, *once)
    found: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: finding.id in LIMITS):
        fixed = most = gain = worst = None
        whole = 0
        if finding.fix and step and usual:
            fixed = step_without(trace, finding.fix)
            most = step_without(trace, at_worst=[finding.fix])
            whole, gone = step, list[Fix]()
            if finding.id in LIMITS:
                gone = _fixes_of("mistake", found)
            elif finding.recurs != "once":
                whole, gone = usual, once
            whole = (step_without(trace, *gone) if gone else None) or whole
            gain, worst = _parts(trace, whole, gone, finding.fix)
        elif finding.cost_ps:
            gain = facts.share(finding.cost_ps)
        # A limit that hides behind another one is told all the same.
        worth = max(gain or 0.0, facts.share(finding.cost_ps) if finding.id in LIMITS else 0.0)
        if worth >= _LEAST.get(finding.id, 0.0):
            loud = severity_of_finding(finding, gain or 0.0)
            detail = _detail(trace, finding, step, (gain or 0.0) * whole)
            told = replace(finding, severity=loud, gain=gain, gain_at_worst=worst, detail=detail)
            found.append(replace(told, step_if_fixed_ps=fixed, step_if_fixed_most_ps=most))
    return sort_findings(found)


def _detail(trace: Trace, finding: Finding, step_ps: int | None, gained_ps: float) -> str:
    """A finding's detail, with what else goes with it: of a mistake the time of runs, else nobody understands a step
    that is shorter than what the device works now; and where the gain is longer than the idle time that the detail
    tells of, where the rest comes from."""
    rest = gained_ps - (finding.idle_ps or 0)
    if finding.idle_ps is not None and rest >= MAX_GAIN_SPREAD * gained_ps:
        first, dot, more = finding.detail.partition(". ")
        gains = brief_times(round(rest), like_ps=finding.idle_ps)[0]
        why = f"; a fix gains {gains} more, of host time while the device works"
        return f"{first.removesuffix('.')}{why}{dot or '.'}{more}"
    if finding.id in LIMITS or not finding.fix or not step_ps:
        return finding.detail
    gone = shorter_runs(trace, finding.fix)
    if gone < INFO_SHARE * step_ps:
        return finding.detail
    return f"{finding.detail.removesuffix('.')}; at best a step's runs are {brief_time(gone)} shorter too."


def _parts(trace: Trace, step_ps: int, gone: Sequence[Fix], fix: Fix) -> tuple[float, float]:
    """The share of a step that goes with a fix, at best and at worst, where some others have gone before at best, which
    left `step_ps`."""
    fixed = step_without(trace, *gone, fix) or step_ps
    most = step_without(trace, *gone, at_worst=[fix]) or step_ps
    # What the others free at best, the turns that host and devices take at worst may use up.
    most = max(fixed, min(most, step_ps))
    return (step_ps - fixed) / step_ps, (step_ps - most) / step_ps


def _fixes_of_once(findings: Sequence[Finding]) -> list[Fix]:
    """What to take away for the usual step: all that happened once."""
    return [finding.fix for finding in findings if finding.fix and finding.recurs == "once"]


def _fixes_of(kind: str, findings: Sequence[Finding]) -> list[Fix]:
    return [finding.fix for finding in findings if finding.fix and finding_kind(finding) == kind]


def _likely(finding: Finding) -> float:
    """The middle of the gains at best and at worst: by the gain at best, what may be next to nothing would come before
    what is certain."""
    gain, worst = finding.gain or 0.0, finding.gain_at_worst
    return gain if worst is None else (gain + worst) / 2


def severity_of_finding(finding: Finding, gain: float) -> Severity:
    """How loud it is said; what happened once is never critical."""
    severity = severity_of(gain) or "info"
    return "warning" if severity == "critical" and finding.recurs == "once" else severity


def sort_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Mistakes, then limits, or the other way round (`limits_come_first`); in each those with a gain first, then what
    recurs, then by likely gain. (docs/definitions.md, "Findings")"""
    first = limits_come_first(findings)
    return sorted(findings, key=lambda finding: ((finding.id in LIMITS) != first, *_rank(finding)))


def limits_come_first(findings: Sequence[Finding]) -> bool:
    """Whether the largest limit comes before all mistakes: its gain can be told from chance, and no mistake is worth a
    warning or gains MISTAKE_FIRST_SHARE of it."""
    limit, mistake = (
        max((finding.gain or 0.0 for finding in findings if finding_kind(finding) == kind), default=0.0)
        for kind in ("limit", "mistake")
    )
    return limit >= INFO_SHARE and mistake < min(WARNING_SHARE, MISTAKE_FIRST_SHARE * limit)


def _rank(finding: Finding) -> tuple[bool, bool, float, int, str]:
    return (
        finding.gain is None,
        finding.recurs == "once",
        -_likely(finding),
        -finding.cost_ps,
        finding.id,
    )


def has_nothing_to_fix(findings: Sequence[Finding]) -> bool:
    """Whether no mistake is worth a change, even at best, and no limit a warning."""
    return not any(
        (finding.gain or 0.0) >= (WARNING_SHARE if finding.id in LIMITS else INFO_SHARE)
        for finding in findings
    )


NO_MISTAKES: Mistakes = {
    "count": 0,
    "step_ps": None,
    "usual_step_ps": None,
    "step_if_fixed_ps": None,
    "step_without_limit_ps": None,
    "gain": None,
}
"""The report's `mistakes` where there is no host."""


def mistakes_report(trace: Trace, findings: Sequence[Finding]) -> Mistakes:
    """The report's `mistakes`: `count` of those worth telling apart from chance, `step_ps` (the mean step),
    `usual_step_ps`, `step_if_fixed_ps` (without all mistakes, from one replay), `gain`, the share of the mean step that
    goes with them, and `step_without_limit_ps`, without the largest limit as well; None where nothing can be replayed.
    """
    mistakes, limit = _fixes_of("mistake", findings), _fixes_of("limit", findings)[:1]
    step = step_without(trace)
    fixed = step_without(trace, *mistakes) if mistakes else step
    return {
        "count": sum(
            (finding.gain or 0.0) >= INFO_SHARE for finding in findings if finding_kind(finding) == "mistake"
        ),
        "step_ps": step,
        "usual_step_ps": step_without(trace, *_fixes_of_once(findings)),
        "step_if_fixed_ps": fixed,
        "step_without_limit_ps": step_without(trace, *mistakes, *limit) if limit else fixed,
        "gain": (step - fixed) / step if step and fixed is not None else None,
    }
