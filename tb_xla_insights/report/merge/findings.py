"""Merges the findings of many hosts: those with the same id become one. (docs/definitions.md, "Sessions of several
hosts")"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.findings.finding import LIMITS, NO_FAULT, Finding, Findings, Frequency
from tb_xla_insights.analysis.findings.worth import (
    has_nothing_to_fix,
    severity_of_finding,
    sort_findings,
)
from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE, INFO_SHARE, WARNING_SHARE
from tb_xla_insights.columns.weighted import weighted_mean
from tb_xla_insights.report.merge.sections import HostSection
from tb_xla_insights.text.english import Sentence

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Mistakes

_RECURRENCES: tuple[Frequency | None, ...] = ("every_step", "some_steps", "once", None)
"""From the most to the least frequent. If equally many hosts have each of two, the more frequent one is taken."""


def merge_findings(sections: Sequence[HostSection]) -> Findings:
    """The session's findings, from hosts in their order."""
    by_id: dict[str, dict[int, Finding]] = {}
    for section in sections:
        for finding in section.findings.found:
            by_id.setdefault(finding.id, {})[section.number] = finding
    faults = {id_: of_hosts for id_, of_hosts in by_id.items() if id_ not in NO_FAULT}
    findings = sort_findings(
        [
            _merge_finding(sections, of_hosts)
            for id_, of_hosts in faults.items()
            if _is_relevant(sections, id_, of_hosts)
        ]
    )
    device_bound = by_id.get("device_bound")
    if (
        device_bound
        and has_nothing_to_fix(findings)
        and _is_on_most_hosts(sections, device_bound)
        and not _has_mistake(sections)
    ):
        findings = sort_findings([*findings, _merge_finding(sections, device_bound)])
    return Findings(findings, _mistakes(sections, findings))


def _is_relevant(sections: Sequence[HostSection], id_: str, of_hosts: dict[int, Finding]) -> bool:
    """Whether a finding of some hosts becomes one of the session. A limit does only if its fix gains at least
    INFO_SHARE on some host, or if its idle time is at least INFO_SHARE of the spans of all devices."""
    if id_ not in LIMITS or any((finding.gain or 0.0) >= INFO_SHARE for finding in of_hosts.values()):
        return True
    cost = sum(finding.cost_ps for finding in of_hosts.values())
    return cost >= INFO_SHARE * sum(section.span_ps for section in sections)


def _is_on_most_hosts(sections: Sequence[HostSection], of_hosts: dict[int, Finding]) -> bool:
    """Whether the share of hosts with devices that have a finding is at least EVERY_STEP_SHARE."""
    return len(of_hosts) >= EVERY_STEP_SHARE * sum(bool(section.span_ps) for section in sections)


def _has_mistake(sections: Sequence[HostSection]) -> bool:
    """Whether a host has a mistake whose fix gains at least WARNING_SHARE of its step."""
    return any(
        finding.kind == "mistake" and (finding.gain or 0.0) >= WARNING_SHARE
        for section in sections
        for finding in section.findings.found
    )


def _merge_finding(sections: Sequence[HostSection], of_hosts: dict[int, Finding]) -> Finding:
    """One finding of the hosts that have it, given by host number. Texts, place, evidence, code and windows are those
    of one host: of the median one by gain if more than half of the hosts have the finding, else of the one with the
    largest gain."""
    numbers = sorted(of_hosts, key=lambda number: of_hosts[number].gain or 0.0)
    on_minority = 2 * len(of_hosts) <= len(sections)
    shown = of_hosts[numbers[-1] if on_minority else numbers[(len(numbers) - 1) // 2]]
    names = [section.host for section in sections if section.number in of_hosts] if on_minority else None
    host = next(section.host for section in sections if of_hosts.get(section.number) is shown)
    weight = _weight_function(sections)
    recurrences = Counter(finding.recurs for finding in of_hosts.values())

    def mean_share(share_of: Callable[[Finding], float | None]) -> float | None:
        return weighted_mean(
            (share_of(of_hosts[section.number]) if section.number in of_hosts else None, weight(section))
            for section in sections
        )

    def mean_step(step_of: Callable[[Finding], int | None]) -> int | None:
        return _mean_step(
            sections,
            lambda section: step_of(of_hosts[section.number]) if section.number in of_hosts else None,
        )

    finding = replace(
        shown,
        brief=shown.brief + _host_phrase(len(of_hosts), len(sections), host),
        sentences=_sentences_of_hosts(shown.sentences, len(of_hosts), len(sections), host, on_minority),
        cost_ps=sum(finding.cost_ps for finding in of_hosts.values()),
        evidence=shown.evidence
        | {"hosts": len(of_hosts), "of_hosts": len(sections), "host": host, "host_names": names},
        recurs=max(
            recurrences, key=lambda frequency: (recurrences[frequency], -_RECURRENCES.index(frequency))
        ),
        gain=mean_share(lambda finding: finding.gain),
        gain_at_worst=mean_share(lambda finding: finding.gain_at_worst),
        step_if_fixed_ps=mean_step(lambda finding: finding.step_if_fixed_ps),
        step_if_fixed_at_worst_ps=mean_step(lambda finding: finding.step_if_fixed_at_worst_ps),
    )
    return replace(finding, severity=severity_of_finding(finding, finding.gain or 0.0))


def _host_phrase(count: int, hosts: int, host: str) -> str:
    if count == hosts:
        return ""
    return f" on {host}" if count == 1 else f" on {count} of {hosts} hosts"


def _sentences_of_hosts(
    of_host: Sequence[Sentence], count: int, hosts: int, host: str, on_minority: bool
) -> Sequence[Sentence]:
    """The sentences of one host with the number of hosts that have the finding and the host that its numbers are of."""
    if count == 1:
        first, *others = of_host
        return replace(first, lead=f"on {host} alone, of {hosts} hosts"), *others
    *others, last = of_host
    group = f"{hosts} hosts" if count == hosts else f"{count} hosts that have it, of {hosts}"
    return *others, last.continued(f" ({host}, the {'worst' if on_minority else 'median'} of {group})")


def _weight_function(sections: Sequence[HostSection]) -> Callable[[HostSection], int]:
    """The weight of a host in means of shares: the time of its steps, so that a gain is the share of the mean step of
    all hosts; if no host has steps, the span of its devices."""
    if any(section.steps for section in sections):
        return lambda section: section.steps_ps
    return lambda section: section.span_ps


def _mean_step(sections: Sequence[HostSection], step_of: Callable[[HostSection], int | None]) -> int | None:
    """The mean over the steps of all hosts if the mean step of each host were `step_of(host)`; a host for which that is
    None keeps its steps. None if it is None for all hosts."""
    replaced = [
        (section, mean) for section in sections if section.steps and (mean := step_of(section)) is not None
    ]
    if not replaced:
        return None
    saved = sum(
        (round(section.steps_ps / section.steps) - mean) * section.steps for section, mean in replaced
    )
    return round(
        (sum(section.steps_ps for section in sections) - saved) / sum(section.steps for section in sections)
    )


def _mistakes(sections: Sequence[HostSection], findings: Sequence[Finding]) -> Mistakes:
    """The report's `mistakes`. The session's limit is the largest one; for hosts with another limit the step without
    the limit is the step without mistakes."""
    limit = _largest_limit(findings)

    def step_without_limit(section: HostSection) -> int | None:
        mistakes = section.findings.mistakes
        has_limit = _largest_limit(section.findings.found) == limit
        return mistakes["step_without_limit_ps" if has_limit else "step_if_fixed_ps"]

    step = _mean_step(sections, lambda section: section.findings.mistakes["step_ps"])
    fixed = _mean_step(sections, lambda section: section.findings.mistakes["step_if_fixed_ps"])
    mistakes = (finding for finding in findings if finding.kind == "mistake")
    return {
        "count": sum((finding.gain or 0.0) >= INFO_SHARE for finding in mistakes),
        "step_ps": step,
        "usual_step_ps": _mean_step(sections, lambda section: section.findings.mistakes["usual_step_ps"]),
        "step_if_fixed_ps": fixed,
        "step_without_limit_ps": _mean_step(sections, step_without_limit) if limit else fixed,
        "gain": (step - fixed) / step if step and fixed is not None else None,
    }


def _largest_limit(findings: Sequence[Finding]) -> str | None:
    """The id of the first limit that was replayed."""
    return next(
        (
            finding.id
            for finding in findings
            if finding.kind == "limit" and finding.step_if_fixed_ps is not None
        ),
        None,
    )
