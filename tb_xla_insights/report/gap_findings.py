"""Which findings of a session explain a gap, and which gaps a finding explains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tb_xla_insights.report.finding_text import leading_limit, limit_text

MOST_PLACES = 20
"""Gaps that a finding shows."""

_LEAST = 0.01
"""Of a gap, what a finding must explain to be told of it."""

_MUCH = 1 / 3
"""Of a gap, what a mistake must explain to be why the gap was there."""


def gap_text(
    gap: Mapping[str, Any], told: Mapping[str, int], sentence: str, report: Mapping[str, Any]
) -> str:
    """Why a gap was there: the mistake that explains most of it (`why_gap`), what the host did (`sentence`), and where
    a limit comes before that mistake, how much more is to gain without the limit, as the verdict says it."""
    reason, limit = why_gap(gap, told, report), leading_limit(report)
    more = (
        f" More is to gain beyond that: {limit_text(limit, report['mistakes'])}." if reason and limit else ""
    )
    return f"{reason}{sentence}{more}"


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
    them, those that it explains most of first: `device`, `start_ps` and `duration_ps`. Gaps have `by_finding_ps`."""
    found: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for group in groups:
        for id_, ps in group["by_finding_ps"].items():
            found.setdefault(id_, []).append((ps, group))
    return {
        id_: {
            "count": len(its),
            "places": [
                {key: group[key] for key in ("device", "start_ps", "duration_ps")}
                for _, group in sorted(its, key=lambda it: -it[0])[:MOST_PLACES]
            ],
        }
        for id_, its in found.items()
    }
