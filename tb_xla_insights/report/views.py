"""What the page's views ask for, one document each, from the same answers as the report. Kept as long as the
session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tb_xla_insights.analysis.idle.busy import merge_stalls
from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.analysis.memo import memoised_on
from tb_xla_insights.analysis.steps.device_work import step_work_intervals
from tb_xla_insights.analysis.time.class_times import class_times, covered_times
from tb_xla_insights.analysis.time.segments import Segments
from tb_xla_insights.catalog.classes import CLASSES, UNRECORDED
from tb_xla_insights.errors import InputError
from tb_xla_insights.report.device_columns import (
    MAX_EXACT_ROWS,
    common_unit_ps,
    device_columns,
    rounded_to_unit,
)
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.figures import headline_figures
from tb_xla_insights.report.finding_text import finding_groups, gain_of
from tb_xla_insights.report.gap_findings import findings_of_gap, more_to_gain, places, why_gap
from tb_xla_insights.report.gap_text import by_thread, gap_sentence
from tb_xla_insights.report.host_parts import parts_of_hosts
from tb_xla_insights.report.host_ranks import rank_hosts
from tb_xla_insights.trace.model import SessionTrace
from tb_xla_insights.units import brief_times

MOST_STEPS = 1000
"""Steps whose columns are sent, of the hosts that are in memory; the full count stands beside."""

_MOST_STEPS_SOON = 400
"""The same while none is in memory yet: the next report replaces them."""

MOST_GAPS = 1000

MOST_WORK = 1000
"""Stretches of device work that are sent, of all devices together."""

_BUCKETS = 1000
"""Of the strip over the whole session, as `data/session` has them."""
_NO_GAP = 15

MOST_OPS = 12
"""Ops that are sent by name; one more row has the sums of the others."""

_EACH = (
    ("device", "devices"), ("start_ps", "starts_ps"), ("duration_ps", "durations_ps"),
    ("together_ps", "togethers_ps"),
)  # fmt: skip
"""What a gap on several cores keeps of each."""

_STEP_COLUMNS = (
    "index", "number", "host", "start_ps", "duration_ps", "device_busy_ps", "executions", "compiles", "early_syncs",
    "input_syncs", "from_device",
)  # fmt: skip


def kept_view(
    session: SessionTrace, name: str, make: Callable[[SessionTrace], dict[str, Any]]
) -> dict[str, Any]:
    """The answer of that name, made once however many views ask for it at the same time (see `memoised_on`)."""
    return memoised_on(session, name, lambda: make(session))


def whole_report(session: SessionTrace) -> Any:
    """The report with all gaps, which the views share."""
    return memoised_on(session, "report", lambda: session_report(session, all_gaps=True))


def keep_report(session: SessionTrace, report: Any) -> None:
    """Has the session's views tell what a report says that was merged before, whichever hosts are in memory."""
    kept_view(session, "report", lambda _: report)


def overview(session: SessionTrace) -> dict[str, Any]:
    """`data/overview`: verdict, four figures (see `figures`), devices with their duty cycle by three definitions and
    their idle time in whole steps (see `device_columns`), the sums of that (`step_idle`), the classes that are causes
    of gaps (`gap_causes`), steps as columns and the device work of each (`work`, see `step_work_intervals`), findings,
    the gaps that each `explains` (see `explained.places`), and their `groups` in words (see `_groups`); the report's
    `input_pipeline` (`input`) and `transfers`, its `collectives` and the `stalls` of all devices, the longest of each
    (see `_longest`). The steps are those of the hosts in memory (of none: of all); `ranks`: which of several hosts to
    look at first."""
    return kept_view(session, "overview", _overview)


def _overview(session: SessionTrace) -> dict[str, Any]:
    report = whole_report(session)
    here = {trace.host for trace in session.traces}
    steps, idle = report["steps"], report["step_idle"]
    told = [step for step in steps if not here or step["host"] in here]
    told = told[: MOST_STEPS if here else _MOST_STEPS_SOON]
    return {
        "verdict": report["verdict"],
        "figures": headline_figures(report),
        "devices": device_columns(report["devices"], idle["devices"]),
        "step_idle": {name: value for name, value in idle.items() if name != "devices"},
        "gap_causes": sorted({name for row in report["gaps"]["patterns"] for name in row["by_cause_ps"]}),
        "steps": {
            "source": steps[0]["source"] if steps else None,
            "count": len(steps),
            "partial": sum(parts_of_hosts(session, "partial_steps")),
            "columns": _columns(told),
            "work": step_work_intervals(session, MOST_WORK, [step["index"] for step in told]),
        },
        "ranks": rank_hosts(report) if len(report["hosts"]) > 1 else None,
        "findings": report["findings"],
        "explains": places(gaps(session)["items"]),
        "mistakes": report["mistakes"],
        "groups": _groups(report),
        "input": report["input_pipeline"],
        "transfers": report["transfers"],
        "collectives": _longest(report["collectives"]),
        "stalls": _longest(merge_stalls(report["devices"])),
        "counts": counts(session),
    }


def _groups(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings by kind, in order: what to say above them (`title` is empty for what is no fault), and of each its
    `id` and what its fix gains (`share`, `of`, `change`, see `Gain`)."""
    return [
        {
            "title": group.title,
            "note": group.note,
            "gain": group.gain,
            "findings": [{"id": its["id"], **asdict(gain_of(its, report))} for its in group.findings],
        }
        for group in finding_groups(report)
    ]


def _longest(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first rows; those left out are one row with their sums, whose `op` is None and `more` their number."""
    shown, others = [*rows[:MOST_OPS]], rows[MOST_OPS:]
    if not others:
        return shown
    names = [name for name in others[0] if name not in ("op", "kind")]
    return [*shown, {"op": None, "more": len(others)} | {it: sum(row[it] for row in others) for it in names}]


def counts(session: SessionTrace) -> dict[str, int]:
    """`data/counts`: what stands beside the names of the views: gaps, programs that ran, compilations after the
    warm-up, annotations that are lost."""
    report = whole_report(session)
    return {
        "gaps": report["gaps"]["count"],
        "executions": len(report["programs"]),
        "compiles": sum(not row["warm_up"] for row in report["compiles"]),
        "lost": sum(row["lost"] is not None for row in report["annotations"]),
    }


def _columns(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Steps of several hosts may be many: their times have the digits then that a page shows."""
    many = len(steps) > MAX_EXACT_ROWS and len({step["host"] for step in steps}) > 1
    unit = common_unit_ps((step["duration_ps"] for step in steps), many, digits=5)

    def column(values: Iterable[Any], is_time: bool) -> list[Any]:
        return [unit * count for count in rounded_to_unit(values, unit)] if is_time else list(values)

    used = [name for name in CLASSES if any(name in step["host_ps"] for step in steps)]
    host = {name: column((step["host_ps"].get(name, 0) for step in steps), True) for name in used}
    told = {name: column((step[name] for step in steps), name.endswith("_ps")) for name in _STEP_COLUMNS}
    return told | {"host_ps": host}


def gaps(session: SessionTrace) -> dict[str, Any]:
    """`data/gaps`: the report's gaps without chains, with `by_finding_ps`, the findings that explain each (see
    `gap_findings`); the same gap on several cores is one item with `cores`, `devices`, and where it lies on each
    (`starts_ps`, `durations_ps`). `together_ps` (`togethers_ps` on each): for how long all cores of the host are idle;
    None where it has one. `strip` has per device one hex digit per bucket of the session: the cause (index into
    CLASSES) of most of its gap time, f without any. `findings`: their titles by id. `step_idle` is that of all cores,
    None without whole steps: what the overview counts."""
    return kept_view(session, "gaps", _gaps)


def _gaps(session: SessionTrace) -> dict[str, Any]:
    report = whole_report(session)["gaps"]
    whole = whole_report(session)
    hosts = {row["id"]: row["host"] for row in whole["devices"]}
    groups: list[dict[str, Any]] = []
    latest: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    several = {host for host, count in _cores(session).items() if count > 1}
    listed = [
        item | {"together_ps": item["together_ps"] if hosts[item["device"]] in several else None}
        for item in report["items"][: MOST_GAPS * max(1, len(hosts))]
    ]
    for item in sorted(listed, key=lambda it: it["start_ps"]):
        host = hosts[item["device"]]
        key = host, item["step"], item["before"], item["after"], item["kind"]
        group = next((it for it in reversed(latest.get(key, [])) if _same(it, item)), None)
        if group is not None:
            for name, column in _EACH:
                group[column].append(item[name])
            continue
        group = {name: value for name, value in item.items() if name not in ("chain", "explained_by")}
        group |= {"host": host, "by_finding_ps": findings_of_gap(item, host, whole)} | {
            column: [item[name]] for name, column in _EACH
        }
        groups.append(group)
        latest[key] = [*latest.get(key, [])[-8:], group]
    groups.sort(key=lambda it: (-it["duration_ps"], it["start_ps"]))
    items = [
        group | {"index": index, "cores": len(group["devices"])}
        for index, group in enumerate(groups[:MOST_GAPS])
    ]
    idle = whole["step_idle"]
    in_steps = idle["all_cores"] if idle["steps"] else None
    titles = {it["id"]: it["title"] for it in whole["findings"]}
    told = {"groups": len(groups), "step_idle": in_steps, "strip": _strip(session), "findings": titles}
    return {**report, "items": items, **told}


def _strip(session: SessionTrace) -> list[dict[str, str]]:
    edges = np.array([session.duration_ps * i // _BUCKETS for i in range(_BUCKETS + 1)], np.int64)
    start, end = edges[:-1], edges[1:]
    rows = []
    for trace in session.traces:
        found = find_gaps(trace)
        for number, device in enumerate(trace.devices):
            its = found.device == number
            gaps = Segments(found.start_ps[its], found.end_ps[its], found.cause[its], found.run[its])
            shares = class_times(gaps, start, end)
            # What lies outside of gaps is no gap of the class that shares count it as.
            shares[:, UNRECORDED] -= end - start - covered_times(gaps.start_ps, gaps.end_ps, start, end)
            cause = np.where(shares.any(axis=1), shares.argmax(axis=1), _NO_GAP)
            rows.append({"id": device.id, "cause": "".join(f"{digit:x}" for digit in cause.tolist())})
    return rows


def _same(group: dict[str, Any], item: dict[str, Any]) -> bool:
    """Whether a gap of another core is the same gap: nine tenths of the longer one are common to both."""
    if item["device"] in group["devices"]:
        return False
    start = max(group["start_ps"], item["start_ps"])
    end = min(group["start_ps"] + group["duration_ps"], item["start_ps"] + item["duration_ps"])
    return bool(10 * (end - start) >= 9 * max(group["duration_ps"], item["duration_ps"]))


def gap(session: SessionTrace, device: str, start_ps: int, beside: int | None = None) -> dict[str, Any]:
    """`data/gap`: one gap with its chain, whose events have ids as in `data/event`, its time by class and thread, the
    `findings` that explain it, those with most of it first, a sentence (on a host with several cores also whether all
    were idle), where a limit gains `more` than the mistake that it names how much, on how many `cores` it is the same,
    how long it is on these in the mean (`mean_ps`), the index of its `pattern` and how many gaps that has
    (`occurrences`). `beside`: the index of a host in memory whose gap of the same step is told as well (see `_beside`);
    null where it has none.

    Raises InputError where no gap of the device begins at that instant."""
    known = kept_view(session, "gap", _by_place)
    found = known.get(f"{device} {start_ps}")
    if found is None:
        raise InputError(f"data/gap: no gap of {device} begins at {start_ps} ps; take one from data/gaps")
    number, host = next(
        (number, trace.host)
        for number, trace in session.numbered()
        if any(it.id == device for it in trace.devices)
    )
    chain = [
        piece | {"event": None if piece["event"] is None else f"{number}.{piece['event']}"}
        for piece in found["chain"]
    ]
    listed = gaps(session)
    group = next((it for it in listed["items"] if _has_place(it, device, start_ps)), None)
    cores, durations = (group["cores"], group["durations_ps"]) if group else (1, [found["duration_ps"]])
    ends = [_ends(it) for it in (found, *listed["patterns"])]
    pattern = ends.index(ends[0], 1) - 1
    report = whole_report(session)
    told = findings_of_gap(found, host, report)
    findings = {it["id"]: it for it in report["findings"]}
    hosts = [row["name"] for row in report["session"]["hosts"]]
    doing = gap_sentence(found, report["environment"]["framework"], host if len(hosts) > 1 else None)
    doing += _together(found, cores, _cores(session)[host])
    other = hosts[beside] if beside is not None and beside < len(hosts) and hosts[beside] != host else None
    return {
        **found,
        "chain": chain,
        "host": host,
        "by_thread": by_thread(chain),
        "by_finding_ps": told,
        "findings": [
            {key: findings[id_][key] for key in ("id", "severity", "title", "advice")} for id_ in told
        ],
        "sentence": why_gap(found, told, report) + doing,
        "more": more_to_gain(found, told, report),
        "beside": _beside(session, found, other, list(known.values())) if other else None,
        "cores": cores,
        "mean_ps": sum(durations) / cores,
        "pattern": pattern,
        "occurrences": listed["patterns"][pattern]["count"],
    }


def _ends(gap: Mapping[str, Any]) -> list[Any]:
    """Between which programs a gap is: what gaps of a pattern have in common."""
    return [gap[name] for name in ("before", "after", "inside_run")]


def _beside(
    session: SessionTrace, gap: Mapping[str, Any], host: str, known: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """The gap of another host in the step of the same number between the same programs, on the core of the same name
    where that has one, else the longest: `host`, `device`, `start_ps`, `duration_ps`, `by_class_ps`, and `chain_ps`,
    the time by name of its chain's events. None where the host has none."""
    devices = {row["id"]: row for row in whole_report(session)["devices"]}
    alike = [
        it
        for it in known
        if devices[it["device"]]["host"] == host
        and it["step_number"] == gap["step_number"]
        and _ends(it) == _ends(gap)
    ]
    if gap["step_number"] is None or not alike:
        return None
    name = devices[gap["device"]]["name"]
    best = max(alike, key=lambda it: (devices[it["device"]]["name"] == name, it["duration_ps"]))
    chain: Counter[str] = Counter()
    for piece in best["chain"]:
        chain[piece["name"]] += piece["duration_ps"]
    told = {key: best[key] for key in ("device", "start_ps", "duration_ps", "by_class_ps")}
    return {"host": host, **told, "chain_ps": dict(chain)}


def _cores(session: SessionTrace) -> Counter[str]:
    """How many cores each host has."""
    return Counter(row["host"] for row in whole_report(session)["devices"])


def _together(gap: dict[str, Any], alike: int, cores: int) -> str:
    """Whether all of a host's cores are idle; nothing where it has one, or where the gap is on all of them, `alike`,
    and at the same time but for a hundredth."""
    if cores == 1 or (alike == cores and gap["together_ps"] >= 0.99 * gap["duration_ps"]):
        return ""
    together, whole = brief_times(gap["together_ps"], gap["duration_ps"])
    if together == whole:
        return " All cores of the host are idle meanwhile."
    if not gap["together_ps"]:
        return " Other cores of the host work all the while."
    return f" All cores of the host are idle for {together} of it; for the rest others work."


def _has_place(item: dict[str, Any], device: str, start_ps: int) -> bool:
    return (device, start_ps) in zip(item["devices"], item["starts_ps"], strict=True)


def _by_place(session: SessionTrace) -> dict[str, Any]:
    # Of hosts that were chosen all gaps are there, of others the longest of the session.
    chosen = gaps_report(session, all_gaps=True)["items"] if session.steps_before else []
    items = [*chosen, *whole_report(session)["gaps"]["items"]]
    return {f"{item['device']} {item['start_ps']}": item for item in items}
