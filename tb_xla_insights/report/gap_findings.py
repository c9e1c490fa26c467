"""The findings that explain a gap, and the gaps that a finding explains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import ExplainedGaps

_MAX_LISTED_GAPS = 20
"""The most gaps that a finding shows."""

_MIN_EXPLAINED_SHARE = 0.01
"""The smallest share of a gap that a finding must explain to be listed."""

_SIMILAR_SHARE = 0.95
"""A finding explains some time in each gap. The gaps with at least this share of the longest such time are ordered by
length, because one gap differs by less from core to core and from step to step."""

_MIN_REASON_SHARE = 1 / 3
"""The smallest share of a gap that a mistake must explain to be its reason."""


_ExplainedGap = tuple[int, Mapping[str, Any]]
"""The time that a finding explains in a gap, and the gap."""


def findings_of_gap(gap: Mapping[str, Any], host: str, report: Mapping[str, Any]) -> dict[str, int]:
    """The findings of the report that explain a gap of a host, with the time that each explains, most time first. The
    straggler finding stands for findings that repeat why hosts are late (`repeated_findings`)."""
    findings = {finding["id"]: finding for finding in report["findings"]}
    straggler = findings.get("straggler", {}).get("evidence", {})
    repeated_ids = straggler.get("repeated_findings", ()) if host in straggler.get("hosts", ()) else ()
    times: dict[str, int] = {}
    for id_, ps in gap.get("by_finding_ps", {}).items():
        name = "straggler" if id_ in repeated_ids else id_
        if name in findings:
            times[name] = times.get(name, 0) + ps
    min_ps = _MIN_EXPLAINED_SHARE * gap["duration_ps"]
    relevant_times = ((id_, ps) for id_, ps in times.items() if ps >= min_ps)
    return dict(sorted(relevant_times, key=lambda pair: -pair[1]))


def reason_of_gap(
    gap: Mapping[str, Any], times_by_finding: Mapping[str, int], report: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The finding that explains the largest part of a gap, if that is a mistake and explains at least _MIN_REASON_SHARE
    of the gap; else None. A limit would only repeat what the host did. If the launch waited for most of the gap, what
    the host did meanwhile is no reason. `times_by_finding`: those of `findings_of_gap`."""
    waiting_ps = sum(link["duration_ps"] for link in gap.get("chain", ()) if link["meanwhile"])
    if not times_by_finding or 2 * waiting_ps > gap["duration_ps"]:
        return None
    id_, ps = next(iter(times_by_finding.items()))
    finding: Mapping[str, Any] = next(finding for finding in report["findings"] if finding["id"] == id_)
    is_reason = finding["kind"] == "mistake" and ps >= _MIN_REASON_SHARE * gap["duration_ps"]
    return finding if is_reason else None


def why_gap(gap: Mapping[str, Any], times_by_finding: Mapping[str, int], report: Mapping[str, Any]) -> str:
    """The first sentence about a gap: the title of its reason (`reason_of_gap`); empty without one."""
    reason = reason_of_gap(gap, times_by_finding, report)
    return f"{reason['title']}. " if reason else ""


def explained_gaps(
    gaps: Iterable[Mapping[str, Any]], findings: Iterable[Mapping[str, Any]]
) -> dict[str, ExplainedGaps]:
    """The gaps that each finding explains: their number among `gaps` (`count`; one gap on several cores counts once),
    and the first _MAX_LISTED_GAPS of them as `device`, `start_ps` and `duration_ps`.

    The gaps in which the finding explains nearly its maximum (_SIMILAR_SHARE) come first, the longest before others;
    then the rest by the time explained. Last come gaps that belong to another finding, which explains more of them and
    happened once: a compilation's gap also contains what is in every step. `gaps` are those of `gap_views.gaps`, with
    `by_finding_ps`; `findings` are those of the report."""
    happened_once = {finding["id"] for finding in findings if finding["recurs"] == "once"}
    own: dict[str, list[_ExplainedGap]] = {}
    of_others: dict[str, list[_ExplainedGap]] = {}
    for gap in gaps:
        times = gap["by_finding_ps"]
        main = max(times, key=times.__getitem__, default="")
        for id_, ps in times.items():
            explained = of_others if main != id_ and main in happened_once else own
            explained.setdefault(id_, []).append((ps, gap))
    in_order = {
        id_: _longest_of_most_explained(own.get(id_, [])) + _longest_of_most_explained(of_others.get(id_, []))
        for id_ in dict.fromkeys((*own, *of_others))
    }
    return {
        id_: {
            "count": len(explained),
            "gaps": [
                {"device": gap["device"], "start_ps": gap["start_ps"], "duration_ps": gap["duration_ps"]}
                for _, gap in explained[:_MAX_LISTED_GAPS]
            ],
        }
        for id_, explained in in_order.items()
    }


def _longest_of_most_explained(gaps: Iterable[_ExplainedGap]) -> list[_ExplainedGap]:
    """The gaps in which a finding explains nearly its maximum, the longest first; then the others by that time."""
    by_time = sorted(gaps, key=lambda pair: -pair[0])
    min_ps = _SIMILAR_SHARE * by_time[0][0] if by_time else 0
    return sorted(by_time, key=lambda pair: -pair[1]["duration_ps"] if pair[0] >= min_ps else 0)
