"""The documents of the routes on gaps: all gaps of a session, and one gap."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.idle.idle_time import LONG_GAP_PS, MIN_GAP_PS, find_gaps, long_gaps
from tb_xla_insights.analysis.launches.step_times import traces_with_step_offsets
from tb_xla_insights.analysis.memo import memoised_on
from tb_xla_insights.analysis.time.class_times import class_times, covered_times
from tb_xla_insights.analysis.time.segments import Segments
from tb_xla_insights.catalog.classes import UNRECORDED
from tb_xla_insights.columns.shift import shifted
from tb_xla_insights.errors import InputError
from tb_xla_insights.report.gap_findings import findings_of_gap, reason_of_gap, why_gap
from tb_xla_insights.report.gap_text import (
    by_thread,
    gap_sentence,
    gaps_and_steps_text,
    patterns_with_kind,
)
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.schema.gaps import Gap
from tb_xla_insights.text.units import brief_times
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.row_ids import EventId

if TYPE_CHECKING:
    from tb_xla_insights.schema.gaps_route import (
        ChainLink,
        DeviceStrip,
        GapAnswer,
        GapItem,
        GapOfOtherHost,
        GapsAnswer,
        PlaceOfGap,
    )

MAX_GAPS = 1000
"""The most items. They are built from the longest gaps of the report, this many times the number of devices."""

_MAX_RECENT_GROUPS = 9
"""The most groups of one step and pair of programs that a gap is compared with: gaps come in order of start, so the
same gap on another core is among the latest ones."""

_BUCKETS = 1000
"""Buckets of the strip over the whole session, as in `data/session`."""
_NO_GAP = 15
"""The digit of a bucket without a gap."""


def gaps(session: SessionView) -> GapsAnswer:
    """The document of `data/gaps`: the report's gaps without chains, each with the findings that explain it
    (`by_finding_ps`) and its `reason`, the finding that the first sentence about it names (see `gap_findings`).

    The same gap on several cores is one item with `cores`, `devices`, and its times on each (`starts_ps`,
    `durations_ps`). `all_cores_idle_ps` (`all_cores_idle_by_device_ps` on each) is the time for which all cores of the
    host are idle; None for a host with one core. `strip` has per device one hex digit per bucket of the session: the
    cause (index into CLASSES) of most of its gap time, f without any. `findings` has the titles by id. `step_idle` is
    that of all cores, as on the overview; None without whole steps."""
    return memoised_on(session, "gaps", lambda: _gaps(session))


def _gaps(session: SessionView) -> GapsAnswer:
    report = session.report
    host_of_device = {row["id"]: row["host"] for row in report["devices"]}
    groups: list[GapItem] = []
    recent_groups: dict[tuple[Any, ...], deque[GapItem]] = {}
    multi_core_hosts = {host for host, count in _cores_of_hosts(session).items() if count > 1}
    listed_gaps = report["gaps"]["items"][: MAX_GAPS * max(1, len(host_of_device))]
    for gap in sorted(listed_gaps, key=lambda gap: gap["start_ps"]):
        host = host_of_device[gap["device"]]
        all_cores_idle_ps = gap["all_cores_idle_ps"] if host in multi_core_hosts else None
        key = host, gap["step"], gap["before"], gap["after"], gap["kind"]
        candidates = reversed(recent_groups.get(key, ()))
        group = next((candidate for candidate in candidates if _is_same_gap(candidate, gap)), None)
        if group is None:
            times_by_finding = findings_of_gap(gap, host, report)
            reason = reason_of_gap(gap, times_by_finding, report)
            group = _item_without_cores(
                gap, host, all_cores_idle_ps, times_by_finding, reason["id"] if reason else None
            )
            groups.append(group)
            recent_groups.setdefault(key, deque(maxlen=_MAX_RECENT_GROUPS)).append(group)
        group["cores"] += 1
        group["devices"].append(gap["device"])
        group["starts_ps"].append(gap["start_ps"])
        group["durations_ps"].append(gap["duration_ps"])
        group["all_cores_idle_by_device_ps"].append(all_cores_idle_ps)
    groups.sort(key=lambda group: (-group["duration_ps"], group["start_ps"]))
    for index, group in enumerate(groups):
        group["index"] = index
    idle, sums = report["step_idle"], report["gaps"]
    step_idle = idle["all_cores"] if idle["steps"] else None
    findings = {finding["id"]: finding["title"] for finding in report["findings"]}
    return {
        "count": sums["count"],
        "total_ps": sums["total_ps"],
        "listed_ps": sums["listed_ps"],
        "by_class_ps": sums["by_class_ps"],
        "by_kind_ps": sums["by_kind_ps"],
        "patterns": patterns_with_kind(sums),
        "text": gaps_and_steps_text(sums, step_idle, has_straggler="straggler" in findings),
        "items": groups[:MAX_GAPS],
        "distinct_count": len(groups),
        "step_idle": step_idle,
        "strip": _strip(session),
        "findings": findings,
    }


def _item_without_cores(
    gap: Gap, host: str, all_cores_idle_ps: int | None, by_finding_ps: dict[str, int], reason: str | None
) -> GapItem:
    """The item of a gap before its cores are added."""
    return {
        "index": 0,
        "host": host,
        "device": gap["device"],
        "start_ps": gap["start_ps"],
        "duration_ps": gap["duration_ps"],
        "step": gap["step"],
        "step_number": gap["step_number"],
        "before": gap["before"],
        "after": gap["after"],
        "inside_run": gap["inside_run"],
        "kind": gap["kind"],
        "cause": gap["cause"],
        "by_class_ps": gap["by_class_ps"],
        "all_cores_idle_ps": all_cores_idle_ps,
        "by_finding_ps": by_finding_ps,
        "reason": reason,
        "cores": 0,
        "devices": [],
        "starts_ps": [],
        "durations_ps": [],
        "all_cores_idle_by_device_ps": [],
    }


def _strip(session: SessionView) -> list[DeviceStrip]:
    edges = np.array(
        [session.hosts.duration_ps * bucket // _BUCKETS for bucket in range(_BUCKETS + 1)], np.int64
    )
    start, end = edges[:-1], edges[1:]
    rows: list[DeviceStrip] = []
    for trace in session.hosts.traces:
        all_gaps = find_gaps(trace)
        for number, device in enumerate(trace.devices):
            mask = all_gaps.device == number
            no_events = np.full(int(mask.sum()), -1, np.int32)
            causes = Segments(all_gaps.start_ps[mask], all_gaps.end_ps[mask], all_gaps.cause[mask], no_events)
            times = class_times(causes, start, end)
            # `class_times` counts the time outside of gaps as unrecorded.
            times[:, UNRECORDED] -= end - start - covered_times(causes.start_ps, causes.end_ps, start, end)
            digits = np.where(times.any(axis=1), times.argmax(axis=1), _NO_GAP)
            rows.append({"id": device.id, "causes": "".join(f"{digit:x}" for digit in digits.tolist())})
    return rows


def _is_same_gap(group: GapItem, gap: Gap) -> bool:
    """Whether a gap of another core is the same gap: nine tenths of the longer one are common to both."""
    if gap["device"] in group["devices"]:
        return False
    start = max(group["start_ps"], gap["start_ps"])
    end = min(group["start_ps"] + group["duration_ps"], gap["start_ps"] + gap["duration_ps"])
    return 10 * (end - start) >= 9 * max(group["duration_ps"], gap["duration_ps"])


def gap(session: SessionView, device: str, start_ps: int, other_host: int | None = None) -> GapAnswer:
    """The document of `data/gap`: one gap of the report with its chain, whose events have ids as in `data/event`.

    - `by_thread`: its time by class and thread.
    - `findings`: those that explain it, most time first; `by_finding_ps`: the time that each explains.
    - `sentence`: its causes; on a host with several cores also whether all were idle.
    - `cores`: the number of cores with the same gap (1 if `data/gaps` does not list it); `mean_ps`: its mean length on
      these.
    - `number` and `counted`: its place among the gaps of its device, and their number (see `long_gaps`).
    - `pattern`: the index of its pattern; `occurrences`: the number of gaps of that pattern.
    - `gap_of_other_host`: the gap of the same step on the host with the index `other_host` (see `_gap_of_host`); None
      if no other host is requested, or it has no such gap.

    Raises InputError if no gap of the device begins at that instant."""
    all_gaps = memoised_on(session, "gap", lambda: _gaps_by_start(session))
    row = all_gaps.get((device, start_ps))
    if row is None:
        raise InputError(f"data/gap: no gap of {device} begins at {start_ps} ps; take one from data/gaps")
    host_number, trace, device_number = next(
        (host_number, trace, device_number)
        for host_number, trace in session.hosts.numbered_traces()
        for device_number, device_of_host in enumerate(trace.devices)
        if device_of_host.id == device
    )
    host = trace.host
    chain = [
        cast(
            "ChainLink",
            link | {"event": None if link["event"] is None else str(EventId(host_number, link["event"]))},
        )
        for link in row["chain"]
    ]
    document = gaps(session)
    group = next((item for item in document["items"] if _includes_gap(item, device, start_ps)), None)
    cores, durations = (group["cores"], group["durations_ps"]) if group else (1, [row["duration_ps"]])
    pattern_keys = [_pattern_key(pattern) for pattern in document["patterns"]]
    pattern = pattern_keys.index(_pattern_key(row))
    report = session.report
    times_by_finding = findings_of_gap(row, host, report)
    findings = {finding["id"]: finding for finding in report["findings"]}
    hosts = [host_file["name"] for host_file in report["session"]["hosts"]]
    sentence = gap_sentence(row, report["environment"]["framework"], host if len(hosts) > 1 else None)
    sentence += _other_cores_text(row, cores, _cores_of_hosts(session)[host])
    name_of_other = hosts[other_host] if other_host is not None and other_host < len(hosts) else host
    return {
        **row,
        "chain": chain,
        "host": host,
        "by_thread": by_thread(chain),
        "by_finding_ps": times_by_finding,
        "findings": [
            {
                "id": id_,
                "severity": findings[id_]["severity"],
                "title": findings[id_]["title"],
                "advice": findings[id_]["advice"],
            }
            for id_ in times_by_finding
        ],
        "sentence": why_gap(row, times_by_finding, report) + sentence,
        "gap_of_other_host": (
            _gap_of_host(session, row, name_of_other, list(all_gaps.values()))
            if name_of_other != host
            else None
        ),
        "cores": cores,
        "mean_ps": round(sum(durations) / cores),
        **_place(trace, device_number, start_ps),
        "pattern": pattern,
        "occurrences": document["patterns"][pattern]["count"],
    }


def _place(trace: Trace, device: int, start_ps: int) -> PlaceOfGap:
    """The place of the gap that begins at an instant among the gaps of its device."""
    gaps = find_gaps(trace)
    rows = np.flatnonzero(gaps.device == device)
    counted = rows[long_gaps(gaps.duration_ps[rows])]
    place = int(np.searchsorted(gaps.start_ps[counted], start_ps))
    is_counted = place < len(counted) and int(gaps.start_ps[counted[place]]) == start_ps
    return {
        "number": place + 1 if is_counted else None,
        "counted": len(counted),
        "counted_from_ps": LONG_GAP_PS if len(counted) < len(rows) else MIN_GAP_PS,
    }


def _pattern_key(gap: Mapping[str, Any]) -> list[Any]:
    """The programs around a gap and whether it is inside a run: equal for all gaps of a pattern."""
    return [gap[name] for name in ("before", "after", "inside_run")]


def _gap_of_host(session: SessionView, gap: Gap, host: str, all_gaps: Sequence[Gap]) -> GapOfOtherHost | None:
    """The gap of another host in the step of the same number between the same programs, on the core of the same name if
    that has one, else the longest: `host`, `device`, `start_ps`, `duration_ps`, `by_class_ps`, and `chain_ps`, the time
    of its chain by event name. None if the host has no such gap."""
    devices = {row["id"]: row for row in session.report["devices"]}
    matching = [
        row
        for row in all_gaps
        if devices[row["device"]]["host"] == host
        and row["step_number"] == gap["step_number"]
        and _pattern_key(row) == _pattern_key(gap)
    ]
    if gap["step_number"] is None or not matching:
        return None
    name = devices[gap["device"]]["name"]
    best = max(matching, key=lambda row: (devices[row["device"]]["name"] == name, row["duration_ps"]))
    chain_times: Counter[str] = Counter()
    for link in best["chain"]:
        chain_times[link["name"]] += link["duration_ps"]
    return {
        "host": host,
        "device": best["device"],
        "start_ps": best["start_ps"],
        "duration_ps": best["duration_ps"],
        "by_class_ps": best["by_class_ps"],
        "chain_ps": dict(chain_times),
    }


def _cores_of_hosts(session: SessionView) -> Counter[str]:
    """The number of cores of each host."""
    return Counter(row["host"] for row in session.report["devices"])


def _other_cores_text(gap: Gap, cores_with_gap: int, cores: int) -> str:
    """Whether all cores of the host are idle in a gap. Empty for a host with one core, and for a gap that all cores
    have at the same time, to within a hundredth of its length."""
    if cores == 1 or (cores_with_gap == cores and gap["all_cores_idle_ps"] >= 0.99 * gap["duration_ps"]):
        return ""
    together, duration = brief_times(gap["all_cores_idle_ps"], gap["duration_ps"])
    if together == duration:
        return " All cores of the host are idle meanwhile."
    if not gap["all_cores_idle_ps"]:
        return " At any time, at least one other core of the host works."
    return f" All cores of the host are idle for {together} of it; for the rest, some of them work."


def _includes_gap(item: Mapping[str, Any], device: str, start_ps: int) -> bool:
    """Whether an item of `data/gaps` includes the gap of a device that begins at `start_ps`."""
    return (device, start_ps) in zip(item["devices"], item["starts_ps"], strict=True)


def _gaps_by_start(session: SessionView) -> dict[tuple[str, int], Gap]:
    """Gaps by device and start: those of the report. The report of a session of which chosen hosts are in memory may
    list only the longest gaps; all gaps of these hosts are included as well."""
    gaps_of_chosen_hosts = (
        shifted(Gap, item, 0, offset)
        for trace, offset in traces_with_step_offsets(session.hosts)
        for item in gaps_report(trace, all_gaps=True)["items"]
    )
    items = [*(gaps_of_chosen_hosts if session.hosts.steps_before else ()), *session.report["gaps"]["items"]]
    return {(item["device"], item["start_ps"]): item for item in items}
