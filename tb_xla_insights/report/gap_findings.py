"""Which findings of a session explain a gap, and which gaps a finding explains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tb_xla_insights.report.finding_text import leading_limit, limit_text

MOST_PLACES = 20
"""Gaps that a finding shows."""

_LEAST = 0.01
"""Of a gap, what a finding must explain to be told of it."""

_ABOUT_AS_MUCH = 0.95
"""Of the most time that a finding explains in a gap, what it explains in gaps that are shown by their length: cores and
steps differ by less."""

_MUCH = 1 / 3
"""Of a gap, what a mistake must explain to be why the gap was there."""


def more_to_gain(gap: Mapping[str, Any], told: Mapping[str, int], report: Mapping[str, Any]) -> str:
    """Where a mistake is why a gap was there (`why_gap`) and a limit comes before the mistakes: how much more is to
    gain without that limit, as the verdict says it; else empty."""
    limit = leading_limit(report)
    if limit is None or not why_gap(gap, told, report):
        return ""
    return f"More is to gain beyond that: {limit_text(limit, report['mistakes'])}."


def findings_of_gap(gap: Mapping[str, Any], host: str, report: Mapping[str, Any]) -> dict[str, int]:
    """The findings of the report that explain a gap of a host, by the time of it that is theirs, the most first. What
    says again why late hosts are late (`said_by`) is told by the finding about these."""
    findings = {it["id"]: it for it in report["findings"]}
    late = findings.get("straggler", {}).get("evidence", {})
    said = late.get("said_by", ()) if host in late.get("hosts", ()) else ()
    times: dict[str, int] = {}
    for id_, ps in gap.get("explained_by", {}).items():
        name = "straggler" if id_ in said else id_
        if name in findings:
            times[name] = times.get(name, 0) + ps
    least = _LEAST * gap["duration_ps"]
    return dict(sorted(((id_, ps) for id_, ps in times.items() if ps >= least), key=lambda it: -it[1]))


def why_gap(gap: Mapping[str, Any], told: Mapping[str, int], report: Mapping[str, Any]) -> str:
    """The finding that explains most of a gap, as the first sentence about it, if that is a mistake and explains much
    of the gap; else empty. A limit says no more than what the host did, which is told anyway; and where the launch
    waited for most of the gap, what the host did meanwhile is no reason."""
    waited = sum(piece["duration_ps"] for piece in gap.get("chain", ()) if piece["meanwhile"])
    if 2 * waited > gap["duration_ps"]:
        return ""
    for id_, ps in [*told.items()][:1]:
        finding = next(it for it in report["findings"] if it["id"] == id_)
        if finding["kind"] == "mistake" and ps >= _MUCH * gap["duration_ps"]:
            return f"{finding['title']}. "
    return ""


def places(groups: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """By finding, how many gaps it explains (`count`; one gap on several cores is one), and the first MOST_PLACES of
    them: `device`, `start_ps` and `duration_ps`. First come the gaps in which it explains about as much time as in any
    (_ABOUT_AS_MUCH), the longest first, then the others by the time that it explains. Gaps have `by_finding_ps`."""
    found: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for group in groups:
        for id_, ps in group["by_finding_ps"].items():
            found.setdefault(id_, []).append((ps, group))
    return {
        id_: {
            "count": len(its),
            "places": [
                {key: group[key] for key in ("device", "start_ps", "duration_ps")}
                for _, group in _longest_of_most_explained(its)[:MOST_PLACES]
            ],
        }
        for id_, its in found.items()
    }


def _longest_of_most_explained(
    explained: Iterable[tuple[int, Mapping[str, Any]]],
) -> list[tuple[int, Mapping[str, Any]]]:
    """Gaps with the time that a finding explains in each, in the order in which they are shown."""
    by_time = sorted(explained, key=lambda row: -row[0])
    least = _ABOUT_AS_MUCH * by_time[0][0]
    return sorted(by_time, key=lambda row: -row[1]["duration_ps"] if row[0] >= least else 0)
