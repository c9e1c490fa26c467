"""The findings of many hosts: each host's own, those with the same id as one. (docs/definitions.md, "Sessions of
several hosts")"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.findings.base import Finding, Recurs, Window
from tb_xla_insights.analysis.findings.worth import (
    LIMITS,
    NO_FAULT,
    finding_kind,
    has_nothing_to_fix,
    severity_of_finding,
    sort_findings,
)
from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE, INFO_SHARE
from tb_xla_insights.report.merge.parts import HostPart, weighted_mean

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Mistakes
    from tb_xla_insights.schema.parts import FindingKeys

Row = dict[str, Any]
_OFTEN: tuple[Recurs | None, ...] = ("every_step", "some_steps", "once", None)
"""From what is said of most steps to what is said of none: of two that as many hosts have, the first one is told."""


_OPENINGS = frozenset(("A", "An", "Compiling", "Each", "Extracting", "Idle", "No", "None", "The"))
"""Words that begin a detail and are no names, which keep their capital letter."""


def detail_after_colon(detail: str) -> str:
    """A detail as the second half of a sentence."""
    opening = detail.split(" ", 1)[0]
    return opening.lower() + detail.removeprefix(opening) if opening in _OPENINGS else detail


def merge_findings(parts: Sequence[HostPart]) -> FindingKeys:
    """The report's `findings` and `mistakes`, of hosts in their order."""
    by_id: dict[str, dict[int, Row]] = {}
    for part in parts:
        for row in part.rows["findings"]:
            by_id.setdefault(row["id"], {})[part.number] = row
    step = _mean_step(parts, lambda part: part.rows["mistakes"]["step_ps"])
    faults = {id_: its for id_, its in by_id.items() if id_ not in NO_FAULT}
    found = sort_findings([_together(parts, its) for id_, its in faults.items() if _tells(parts, id_, its)])
    bound = by_id.get("device_bound")
    if bound and has_nothing_to_fix(found) and _on_most(parts, bound) and not _has_mistake(parts):
        found.append(_together(parts, bound))
    rows = [finding.as_json(finding_kind(finding), step) for finding in found]
    return {"findings": rows, "mistakes": _mistakes(parts, found, step)}


def _tells(parts: Sequence[HostPart], id_: str, rows: dict[int, Row]) -> bool:
    """Whether what some hosts have is told of all: a limit only where a host gains by it, or it idles as much of all
    devices as one host's must."""
    if id_ not in LIMITS or any((row["gain"] or 0.0) >= INFO_SHARE for row in rows.values()):
        return True
    cost = sum(int(row["cost_ps"]) for row in rows.values())
    return cost >= INFO_SHARE * sum(part.span_ps for part in parts)


def _on_most(parts: Sequence[HostPart], rows: dict[int, Row]) -> bool:
    """Whether as many hosts with devices have it as it takes of steps to say that every step has something."""
    return len(rows) >= EVERY_STEP_SHARE * sum(bool(part.span_ps) for part in parts)


def _has_mistake(parts: Sequence[HostPart]) -> bool:
    """Whether a host has a mistake that is worth a change there."""
    return any(
        row["kind"] == "mistake" and (row["gain"] or 0.0) >= INFO_SHARE
        for part in parts
        for row in part.rows["findings"]
    )


def _together(parts: Sequence[HostPart], rows: dict[int, Row]) -> Finding:
    """One finding of the hosts that have it, `rows` by their numbers. What it says is what one of them says: of most
    hosts the median one by gain, of half of them or fewer the one that loses most."""
    ordered = sorted(rows, key=lambda number: rows[number]["gain"] or 0.0)
    few = 2 * len(rows) <= len(parts)
    shown = rows[ordered[-1] if few else ordered[(len(ordered) - 1) // 2]]
    host = next(part.host for part in parts if rows.get(part.number) is shown)
    weigh = _weights(parts)
    told = Counter(row["recurs"] for row in rows.values())
    finding = Finding(
        id=shown["id"],
        title=shown["title"],
        brief=shown["brief"] + _where(len(rows), len(parts), host),
        detail=_told_of(shown["detail"], len(rows), len(parts), host, few),
        advice=shown["advice"],
        cost_ps=sum(row["cost_ps"] for row in rows.values()),
        evidence=shown["evidence"] | {"hosts": len(rows), "of_hosts": len(parts), "host": host},
        windows=[Window(**window) for window in shown["windows"]],
        recurs=max(told, key=lambda it: (told[it], -_OFTEN.index(it))),
        gain=weighted_mean((rows.get(part.number, {}).get("gain"), weigh(part)) for part in parts),
        gain_at_worst=weighted_mean(
            (rows.get(part.number, {}).get("gain_at_worst"), weigh(part)) for part in parts
        ),
        step_if_fixed_ps=_mean_step(parts, lambda part: rows.get(part.number, {}).get("step_if_fixed_ps")),
        step_if_fixed_most_ps=_mean_step(
            parts, lambda part: rows.get(part.number, {}).get("step_if_fixed_most_ps")
        ),
    )
    return replace(finding, severity=severity_of_finding(finding, finding.gain or 0.0))


def _where(count: int, hosts: int, host: str) -> str:
    if count == hosts:
        return ""
    return f" on {host}" if count == 1 else f" on {count} of {hosts} hosts"


def _told_of(detail: str, count: int, hosts: int, host: str, few: bool) -> str:
    """The evidence of one host, with the hosts that have it and whose numbers these are: numbers come first."""
    if count == 1:
        return f"On {host} alone, of {hosts} hosts: {detail_after_colon(detail)}"
    of = f"{hosts} hosts" if count == hosts else f"{count} hosts that have it, of {hosts}"
    return f"{detail.removesuffix('.')} ({host}, the {'worst' if few else 'median'} of {of})."


def _weights(parts: Sequence[HostPart]) -> Callable[[HostPart], int]:
    """What hosts weigh in means of shares: the time of their steps, so that a gain is the share of the mean step of all
    that goes; where none has steps the spans of their devices."""
    if any(part.steps for part in parts):
        return lambda part: part.steps_ps
    return lambda part: part.span_ps


def _mean_step(parts: Sequence[HostPart], of: Callable[[HostPart], int | None]) -> int | None:
    """The mean over the steps of all hosts, were those of each as long as `of` says in the mean; hosts of which it says
    None keep the steps they have. None where it says so of all."""
    told = [(part, mean) for part in parts if part.steps and (mean := of(part)) is not None]
    if not told:
        return None
    saved = sum((round(part.steps_ps / part.steps) - mean) * part.steps for part, mean in told)
    return round((sum(part.steps_ps for part in parts) - saved) / sum(part.steps for part in parts))


def _mistakes(parts: Sequence[HostPart], found: Sequence[Finding], step: int | None) -> Mistakes:
    """The report's `mistakes`. The largest limit is the session's: hosts that have another one keep the step that their
    mistakes leave."""
    limit = next(
        (it.id for it in found if finding_kind(it) == "limit" and it.step_if_fixed_ps is not None), None
    )

    def without_limit(part: HostPart) -> int | None:
        first = next(
            (
                row["id"]
                for row in part.rows["findings"]
                if row["kind"] == "limit" and row["step_if_fixed_ps"] is not None
            ),
            None,
        )
        name = "step_without_limit_ps" if first == limit else "step_if_fixed_ps"
        left: int | None = part.rows["mistakes"][name]
        return left

    fixed = _mean_step(parts, lambda part: part.rows["mistakes"]["step_if_fixed_ps"])
    worth_telling = sum((it.gain or 0.0) >= INFO_SHARE for it in found if finding_kind(it) == "mistake")
    return {
        "count": worth_telling,
        "step_ps": step,
        "usual_step_ps": _mean_step(parts, lambda part: part.rows["mistakes"]["usual_step_ps"]),
        "step_if_fixed_ps": fixed,
        "step_without_limit_ps": _mean_step(parts, without_limit) if limit else fixed,
        "gain": (step - fixed) / step if step and fixed is not None else None,
    }
