"""The worth of findings: the gain of each fix, and the severity and order that result.

(docs/definitions.md, "Findings")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import LIMITS, Finding
from tb_xla_insights.analysis.replay.evaluation import single_evaluation
from tb_xla_insights.analysis.replay.what_if import (
    Fix,
    removed_device_ps,
    step_without,
    with_certain_device_time,
)
from tb_xla_insights.analysis.thresholds import (
    INFO_SHARE,
    MAX_GAIN_SPREAD,
    WARNING_SHARE,
    Severity,
    severity_of,
)
from tb_xla_insights.text.english import Sentence
from tb_xla_insights.text.units import brief_time
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Mistakes

Row = TypeVar("Row", bound=Mapping[str, Any])

FindingGroup = Literal["fix", "pace", "small_fix", "note", "once"]
GROUPS: tuple[FindingGroup, ...] = get_args(FindingGroup)
"""In the order of the findings."""

_NOT_KEEPING_UP = ("straggler", "serial_iterations")
"""A host that holds up the others, or that works only while the device does not: they count from INFO_SHARE on."""

RECOMPILATIONS = ("recompilation", "dynamo_recompilation")
"""Findings about compilations after the warm-up."""

_MIN_GAIN = {
    "input_bound": WARNING_SHARE,
    **dict.fromkeys(
        LIMITS
        | {
            "sync_some_steps", "transfer_bound", "host_callback", "device_copies", "host_code",
            "host_pause", "late_core", "many_sends", "serial_iterations",
        },
        INFO_SHARE,
    ),
}  # fmt: skip
"""The minimum gain of a finding to be reported; a limit is also reported if its cost is this share of the devices'
spans, and a finding without cost and fix always. Loading has a higher threshold because every step includes some. All
other findings are always reported."""


def rank_findings(facts: Facts, findings: Sequence[Finding]) -> list[Finding]:
    """The findings worth reporting, with `severity`, `gain` and `step_if_fixed_ps` (at best), `gain_at_worst` and
    `step_if_fixed_at_worst_ps`, and `after`; in order (`sort_findings`).

    The gain is the share of a step that the fix alone saves: of the usual step, or of the mean step for what happened
    once. If nothing can be replayed, the gain is the share of the devices' spans that the finding explains; None if
    that has no cost.
    """
    trace, one_time_fixes = facts.trace, _one_time_fixes(facts.trace, findings)
    step_ps, usual_ps = step_without(trace), step_without(trace, *one_time_fixes)
    measured: list[Finding] = []
    for finding in findings:
        fixed_ps = fixed_at_worst_ps = gain = gain_at_worst = None
        base_ps = 0
        if finding.fix and step_ps and usual_ps:
            best_and_worst_ps = fixed_ps, fixed_at_worst_ps = _fixed_steps_ps(trace, [], finding.fix)
            base_ps = step_ps
            if finding.recurs != "once" and one_time_fixes:
                base_ps = usual_ps
                best_and_worst_ps = _fixed_steps_ps(trace, one_time_fixes, finding.fix)
            gain, gain_at_worst = _gains(base_ps, *best_and_worst_ps)
        elif finding.cost_ps:
            gain = facts.share(finding.cost_ps)
        measured.append(
            replace(
                finding,
                severity=severity_of_finding(finding, gain or 0.0),
                gain=gain,
                gain_at_worst=gain_at_worst,
                sentences=_sentences(trace, finding, step_ps, (gain or 0.0) * base_ps),
                step_if_fixed_ps=fixed_ps,
                step_if_fixed_at_worst_ps=fixed_at_worst_ps,
            )
        )
    ranked = [
        replace(finding, after=_fix_to_make_first(trace, one_time_fixes, finding, measured))
        for finding in measured
    ]
    mistakes = [
        finding
        for finding in ranked
        if finding.kind == "mistake"
        and ((finding.gain or 0.0) >= _MIN_GAIN.get(finding.id, 0.0) or not (finding.fix or finding.cost_ps))
    ]
    fixes = [with_certain_device_time(fix) for fix in _fixes_of("mistake", mistakes)]
    limits = [
        finding
        for finding in ranked
        if finding.id in LIMITS and _worth_of_limit(facts, finding, fixes) >= _MIN_GAIN[finding.id]
    ]
    reported = [*mistakes, *limits]
    ids = {finding.id for finding in reported}
    return sort_findings(
        [finding if finding.after in ids else replace(finding, after=None) for finding in reported]
    )


def _worth_of_limit(facts: Facts, limit: Finding, mistakes: Sequence[Fix]) -> float:
    """What decides whether a limit is reported. It counts once the mistakes are fixed: its idle time may be theirs, as
    around a call that compiles. Its cost counts, too, and what it gains after another fix, because that may hide its
    gain."""
    gain = _gain_after(facts.trace, mistakes, limit.fix) if limit.fix else None
    gain = limit.gain or 0.0 if gain is None else gain
    return max(gain, facts.share(limit.cost_ps), INFO_SHARE if limit.after else 0.0)


def _gain_after(trace: Trace, fixes: Sequence[Fix], fix: Fix) -> float | None:
    """The share that a fix saves of the step that other fixes leave; None if nothing can be replayed."""
    step_ps, fixed_ps = step_without(trace, *fixes), step_without(trace, *fixes, fix)
    return (step_ps - fixed_ps) / step_ps if step_ps and fixed_ps is not None else None


def _fix_to_make_first(
    trace: Trace, one_time_fixes: Sequence[Fix], finding: Finding, findings: Sequence[Finding]
) -> str | None:
    """The id of the finding without whose fix this one gains nothing yet; with it, it gains INFO_SHARE of the step that
    remains. Of several, the one that gains most. Device time that may remain after that fix does remain, so that no
    finding gains a share of a step that may never be so short."""
    if finding.fix is None or finding.gain is None or finding.gain >= INFO_SHARE or finding.recurs == "once":
        return None
    others = [other for other in findings if other.recurs != "once" and (other.gain or 0.0) >= INFO_SHARE]
    for other in sorted(others, key=lambda other: -(other.gain or 0.0)):
        fixes = [*one_time_fixes, *([with_certain_device_time(other.fix)] if other.fix else [])]
        if (_gain_after(trace, fixes, finding.fix) or 0.0) >= INFO_SHARE:
            return other.id
    return None


def _sentences(trace: Trace, finding: Finding, step_ps: int | None, gained_ps: float) -> Sequence[Sentence]:
    """A finding's sentences, extended to explain its gain. If the gain exceeds the idle time in them, names the
    source of the rest. For a mistake that is not about the device's time alone, names how much shorter the runs become:
    without it, a step shorter than the device's present work would be puzzling."""
    rest_ps = gained_ps - (finding.idle_ps or 0)
    if finding.idle_ps is not None and rest_ps >= MAX_GAIN_SPREAD * gained_ps:
        first, *others = finding.sentences
        gains, also = ("gains more", "also ") if finding.idle_ps else ("gains nonetheless", "")
        source = f"; a fix {gains}, as this {also}takes host time while the device works"
        return first.continued(source), *others
    if finding.id in LIMITS or not finding.fix or not step_ps or finding.fix.removes_only_device_time:
        return finding.sentences
    saved_ps = removed_device_ps(trace, finding.fix)
    if saved_ps < INFO_SHARE * step_ps:
        return finding.sentences
    *others, last = finding.sentences
    return *others, last.continued(f"; at best a step's runs are {brief_time(saved_ps)} shorter too")


def _gains(step_ps: int, fixed_ps: int, fixed_at_worst_ps: int) -> tuple[float, float]:
    """The share of a step that a fix saves at best and at worst. `step_ps`: the step without this fix, with other fixes
    at best; `fixed_ps`, `fixed_at_worst_ps`: the step with it."""
    # At worst, host and devices take turns, which may use up what the other fixes save at best.
    fixed_at_worst_ps = max(fixed_ps, min(fixed_at_worst_ps, step_ps))
    return (step_ps - fixed_ps) / step_ps, (step_ps - fixed_at_worst_ps) / step_ps


def _fixed_steps_ps(trace: Trace, base_fixes: Sequence[Fix], fix: Fix) -> tuple[int, int]:
    """The mean step after a fix at best and at worst, in addition to `base_fixes`, in ps. Requires a
    capture that can be replayed."""
    best_ps = step_without(trace, *base_fixes, fix)
    worst_ps = step_without(trace, *base_fixes, at_worst=[fix])
    assert best_ps is not None
    assert worst_ps is not None
    # At worst more device time remains. It shortens the mean idle time, and with it the lead that the replay starts
    # with, so the replayed step may come out shorter than at best.
    return best_ps, max(best_ps, worst_ps)


def _one_time_fixes(trace: Trace, findings: Sequence[Finding]) -> list[Fix]:
    """The fixes of all that happened once: findings, and an evaluation. With them, the mean step is the usual step."""
    fixes = [finding.fix for finding in findings if finding.fix and finding.recurs == "once"]
    evaluation = single_evaluation(trace)
    return [*fixes, evaluation] if evaluation else fixes


def _fixes_of(kind: str, findings: Sequence[Finding]) -> list[Fix]:
    return [finding.fix for finding in findings if finding.fix and finding.kind == kind]


def severity_of_finding(finding: Finding, gain: float) -> Severity:
    """The severity for a gain; a finding that happened once is never critical."""
    severity = severity_of(gain) or "info"
    return "warning" if severity == "critical" and finding.recurs == "once" else severity


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """The one order of findings, which is that of the verdict's sentences (docs/definitions.md, "Findings")."""
    return sorted(
        findings,
        key=lambda finding: place_in_order(
            finding.id,
            finding.kind,
            finding.recurs,
            (finding.gain, finding.gain_at_worst),
            finding.cost_ps,
        ),
    )


def sort_rows(rows: Iterable[Row]) -> list[Row]:
    """The report's findings in the same order."""
    return sorted(
        rows,
        key=lambda row: place_in_order(
            row["id"], row["kind"], row["recurs"], (row["gain"], row["gain_at_worst"]), row["cost_ps"]
        ),
    )


def group_of(kind: str | None, recurs: str | None, gain: float | None) -> FindingGroup:
    """The group of a finding: `fix`, a mistake with a significant gain; `pace`, a limit, or a device that is the
    bottleneck; `small_fix`, another mistake; `note`, one that costs no device time; `once`, what happened once."""
    if recurs == "once":
        return "once"
    if kind != "mistake":
        return "pace"
    if gain is None:
        return "note"
    return "fix" if gain >= INFO_SHARE else "small_fix"


def place_in_order(
    id_: str, kind: str | None, recurs: str | None, gains: tuple[float | None, float | None], cost_ps: int
) -> tuple[int, bool, bool, float, int, str]:
    """A finding's key in the order: by group, then by gain; findings without a gain last. Of `gains`, at best and at
    worst, the middle counts, so that a gain that may vanish does not precede a certain one. A device that is the
    bottleneck sets the pace before any limit does."""
    gain, worst = gains
    group = GROUPS.index(group_of(kind, recurs, gain))
    best = gain or 0.0
    middle = best if worst is None else (best + worst) / 2
    return group, kind is not None, gain is None, -middle, -cost_ps, id_


def has_nothing_to_fix(findings: Sequence[Finding]) -> bool:
    """Whether no finding reaches WARNING_SHARE, even at best, and the hosts keep up (_NOT_KEEPING_UP)."""
    return not any(
        (finding.gain or 0.0) >= (INFO_SHARE if finding.id in _NOT_KEEPING_UP else WARNING_SHARE)
        for finding in findings
    )


def mistakes_report(trace: Trace, findings: Sequence[Finding]) -> Mistakes:
    """The report's `mistakes`: `count`, the number of significant mistakes; `step_ps`, the mean step; `usual_step_ps`;
    `step_if_fixed_ps`, the step without all mistakes, from one replay; `gain`, the share of the mean step that this
    saves; and `step_without_limit_ps`, the step also without the largest limit. Times are None if nothing can be
    replayed."""
    mistakes, limit = _fixes_of("mistake", findings), _fixes_of("limit", findings)[:1]
    one_time_fixes, step_ps = _one_time_fixes(trace, findings), step_without(trace)
    fixed_ps = step_without(trace, *mistakes) if mistakes else step_ps
    return {
        "count": sum(
            (finding.gain or 0.0) >= INFO_SHARE for finding in findings if finding.kind == "mistake"
        ),
        "step_ps": step_ps,
        "usual_step_ps": step_without(trace, *one_time_fixes) if one_time_fixes else step_ps,
        "step_if_fixed_ps": fixed_ps,
        "step_without_limit_ps": step_without(trace, *mistakes, *limit) if limit else fixed_ps,
        "gain": (step_ps - fixed_ps) / step_ps if step_ps and fixed_ps is not None else None,
    }
