"""The documents of the page's views, from the same analyses as the report, cached as long as the session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

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

<<<<<<< HEAD
if TYPE_CHECKING:
    from tb_xla_insights.schema.gaps import Gap, Gaps
    from tb_xla_insights.schema.gaps_route import DeviceStrip, GapAnswer, GapItem, GapOfOtherHost, GapsAnswer
    from tb_xla_insights.schema.overview_route import (
        ExplainedGaps,
        FindingGroup,
        GroupedFinding,
        Overview,
        StepColumns,
    )
    from tb_xla_insights.schema.route_parts import ViewCounts
    from tb_xla_insights.schema.steps import MeanStep, StepIdle

Answer = TypeVar("Answer")

MOST_STEPS = 1000
"""Steps whose columns are sent, of the hosts that are in memory; the full count stands beside."""
=======
MAX_STEPS = 1000
"""The most steps in the columns, of the hosts in memory; the full count is sent as well."""
>>>>>>> main

_MAX_PARTIAL_STEPS = 400
"""The same limit while no host is in memory: the next report will replace these steps."""

MAX_GAPS = 1000

MAX_WORK_INTERVALS = 1000
"""The most intervals of device work, of all devices together."""

_BUCKETS = 1000
"""Buckets of the strip over the whole session, as in `data/session`."""
_NO_GAP = 15
"""The digit of a bucket without a gap."""

MAX_OPS = 12
"""The most ops listed by name; one more row has the sums of the others."""

_PER_CORE_KEYS = (
    ("device", "devices"), ("start_ps", "starts_ps"), ("duration_ps", "durations_ps"),
    ("together_ps", "togethers_ps"),
)  # fmt: skip
"""The keys of a gap that a gap on several cores has as a column with a value per core."""

_STEP_COLUMNS = (
    "index", "number", "host", "start_ps", "duration_ps", "device_busy_ps", "executions", "compiles", "early_syncs",
    "input_syncs", "from_device",
)  # fmt: skip


<<<<<<< HEAD
def kept_view(session: SessionTrace, name: str, make: Callable[[SessionTrace], Answer]) -> Answer:
    """The answer of that name, made once however many views ask for it at the same time (see `memoised_on`)."""
    return memoised_on(session, name, lambda: make(session))
=======
def cached_view(
    session: SessionTrace, name: str, build: Callable[[SessionTrace], dict[str, Any]]
) -> dict[str, Any]:
    """The document of that name, built once even if several threads request it at the same time (see `memoised_on`)."""
    return memoised_on(session, name, lambda: build(session))
>>>>>>> main


def whole_report(session: SessionTrace) -> Any:
    """The report with all gaps, shared by the views."""
    return memoised_on(session, "report", lambda: session_report(session, all_gaps=True))


def cache_report(session: SessionTrace, report: Any) -> None:
    """Caches a merged report with the session, for its views, whether or not hosts are in memory."""
    cached_view(session, "report", lambda _: report)


<<<<<<< HEAD
def overview(session: SessionTrace) -> Overview:
    """`data/overview`: verdict, four figures (see `figures`), devices with their duty cycle by three definitions and
    their idle time in whole steps (see `device_columns`), the sums of that (`step_idle`), the classes that are causes
    of gaps (`gap_causes`), steps as columns and the device work of each (`work`, see `step_work_intervals`), findings,
    the gaps that each `explains` (see `explained.places`), and their `groups` in words (see `_groups`); the report's
    `input_pipeline` (`input`) and `transfers`, its `collectives` and the `stalls` of all devices, the longest of each
    (see `_longest`). The steps are those of the hosts in memory (of none: of all); `ranks`: which of several hosts to
    look at first."""
    return kept_view(session, "overview", _overview)
=======
def overview(session: SessionTrace) -> dict[str, Any]:
    """The document of `data/overview`.

    - `verdict`, `figures` (see `headline_figures`), and `ranks`: the hosts to look at first, of several.
    - `devices`: duty cycles by three definitions and idle time in whole steps (see `device_columns`); `step_idle`: its
      sums; `gap_causes`: the classes that are causes of gaps.
    - `steps`: of the hosts in memory (if none is, of all hosts) as columns, with the device work of each (`work`, see
      `step_work_intervals`).
    - `findings`, their `groups` with texts (see `_groups`), and the gaps that each `explains` (see `places`).
    - the report's `input_pipeline` (`input`), `transfers` and `mistakes`, its `collectives` and the `stalls` of all
      devices (see `_longest`), and `counts`.
    """
    return cached_view(session, "overview", _overview)
>>>>>>> main


def _overview(session: SessionTrace) -> Overview:
    report = whole_report(session)
    hosts_in_memory = {trace.host for trace in session.traces}
    steps, idle = report["steps"], report["step_idle"]
    shown = [step for step in steps if not hosts_in_memory or step["host"] in hosts_in_memory]
    shown = shown[: MAX_STEPS if hosts_in_memory else _MAX_PARTIAL_STEPS]
    return {
        "verdict": report["verdict"],
        "figures": headline_figures(report),
        "devices": device_columns(report["devices"], idle["devices"]),
        "step_idle": _without_devices(idle),
        "gap_causes": sorted({name for row in report["gaps"]["patterns"] for name in row["by_cause_ps"]}),
        "steps": {
            "source": steps[0]["source"] if steps else None,
            "count": len(steps),
            "partial": sum(parts_of_hosts(session, "partial_steps")),
            "columns": _step_columns(shown),
            "work": step_work_intervals(session, MAX_WORK_INTERVALS, [step["index"] for step in shown]),
        },
        "ranks": rank_hosts(report) if len(report["hosts"]) > 1 else None,
        "findings": report["findings"],
        "explains": cast("dict[str, ExplainedGaps]", places(gaps(session)["items"])),
        "mistakes": report["mistakes"],
        "groups": _groups(report),
        "input": report["input_pipeline"],
        "transfers": report["transfers"],
        "collectives": _longest(report["collectives"]),
        "stalls": _longest(merge_stalls(report["devices"])),
        "counts": counts(session),
    }


<<<<<<< HEAD
def _groups(report: dict[str, Any]) -> list[FindingGroup]:
    """The findings by kind, in order: what to say above them (`title` is empty for what is no fault), and of each its
    `id` and what its fix gains (`share`, `of`, `change`, see `Gain`)."""
=======
def _groups(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The groups of findings, in order: the text above each (`title` is empty for findings that are no fault), and the
    `id` of each finding with the gain of its fix (`share`, `of`, `change`, see `Gain`)."""
>>>>>>> main
    return [
        {
            "title": group.title,
            "note": group.note,
            "gain": group.gain,
<<<<<<< HEAD
            "findings": [_grouped(finding, report) for finding in group.findings],
=======
            "findings": [
                {"id": finding["id"], **asdict(gain_of(finding, report))} for finding in group.findings
            ],
>>>>>>> main
        }
        for group in finding_groups(report)
    ]


<<<<<<< HEAD
def _grouped(finding: Mapping[str, Any], report: Mapping[str, Any]) -> GroupedFinding:
    gain = gain_of(finding, report)
    return {"id": finding["id"], "share": gain.share, "of": gain.of, "change": gain.change}


def _without_devices(idle: StepIdle) -> MeanStep:
    row: Any = {name: value for name, value in idle.items() if name != "devices"}
    return cast("MeanStep", row)


def _longest(rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The first rows; those left out are one row with their sums, whose `op` is None and `more` their number."""
    shown, others = [*rows[:MOST_OPS]], rows[MOST_OPS:]
=======
def _longest(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first MAX_OPS rows, and a row with the sums of all others, whose `op` is None and `more` is their number."""
    listed, others = [*rows[:MAX_OPS]], rows[MAX_OPS:]
>>>>>>> main
    if not others:
        return listed
    names = [name for name in others[0] if name not in ("op", "kind")]
    sums = {name: sum(row[name] for row in others) for name in names}
    return [*listed, {"op": None, "more": len(others)} | sums]


<<<<<<< HEAD
def counts(session: SessionTrace) -> ViewCounts:
    """`data/counts`: what stands beside the names of the views: gaps, programs that ran, compilations after the
    warm-up, annotations that are lost."""
=======
def counts(session: SessionTrace) -> dict[str, int]:
    """The document of `data/counts`, the numbers beside the names of the views: gaps, programs that ran, compilations
    after the warm-up, lost annotations."""
>>>>>>> main
    report = whole_report(session)
    return {
        "gaps": report["gaps"]["count"],
        "executions": len(report["programs"]),
        "compiles": sum(not row["warm_up"] for row in report["compiles"]),
        "lost": sum(row["lost"] is not None for row in report["annotations"]),
    }


<<<<<<< HEAD
def _columns(steps: list[dict[str, Any]]) -> StepColumns:
    """Steps of several hosts may be many: their times have the digits then that a page shows."""
=======
def _step_columns(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Steps as columns. The times of many steps of several hosts are rounded to the digits that the page shows."""
>>>>>>> main
    many = len(steps) > MAX_EXACT_ROWS and len({step["host"] for step in steps}) > 1
    unit = common_unit_ps((step["duration_ps"] for step in steps), many, digits=5)

    def column(values: Iterable[Any], is_time: bool) -> list[Any]:
        return [unit * count for count in rounded_to_unit(values, unit)] if is_time else list(values)

<<<<<<< HEAD
    used = [name for name in CLASSES if any(name in step["host_ps"] for step in steps)]
    host = {name: column((step["host_ps"].get(name, 0) for step in steps), True) for name in used}
    told = {name: column((step[name] for step in steps), name.endswith("_ps")) for name in _STEP_COLUMNS}
    columns: Any = told | {"host_ps": host}
    return cast("StepColumns", columns)


def gaps(session: SessionTrace) -> GapsAnswer:
    """`data/gaps`: the report's gaps without chains, with `by_finding_ps`, the findings that explain each (see
    `gap_findings`); the same gap on several cores is one item with `cores`, `devices`, and where it lies on each
    (`starts_ps`, `durations_ps`). `together_ps` (`togethers_ps` on each): for how long all cores of the host are idle;
    None where it has one. `strip` has per device one hex digit per bucket of the session: the cause (index into
    CLASSES) of most of its gap time, f without any. `findings`: their titles by id. `step_idle` is that of all cores,
    None without whole steps: what the overview counts."""
    return kept_view(session, "gaps", _gaps)


def _gaps(session: SessionTrace) -> GapsAnswer:
    whole = whole_report(session)
    report: Gaps = whole["gaps"]
    hosts = {row["id"]: row["host"] for row in whole["devices"]}
    groups: list[dict[str, Any]] = []
    latest: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    several = {host for host, count in _cores(session).items() if count > 1}
    listed: list[Any] = [
        {**item, "together_ps": item["together_ps"] if hosts[item["device"]] in several else None}
        for item in report["items"][: MOST_GAPS * max(1, len(hosts))]
=======
    classes = [name for name in CLASSES if any(name in step["host_ps"] for step in steps)]
    host = {name: column((step["host_ps"].get(name, 0) for step in steps), True) for name in classes}
    columns = {name: column((step[name] for step in steps), name.endswith("_ps")) for name in _STEP_COLUMNS}
    return columns | {"host_ps": host}


def gaps(session: SessionTrace) -> dict[str, Any]:
    """The document of `data/gaps`: the report's gaps without chains, with the findings that explain each
    (`by_finding_ps`, see `gap_findings`).

    The same gap on several cores is one item with `cores`, `devices`, and its times on each (`starts_ps`,
    `durations_ps`). `together_ps` (`togethers_ps` on each) is the time for which all cores of the host are idle; None
    for a host with one core. `strip` has per device one hex digit per bucket of the session: the cause (index into
    CLASSES) of most of its gap time, f without any. `findings` has the titles by id. `step_idle` is that of all cores,
    as on the overview; None without whole steps."""
    return cached_view(session, "gaps", _gaps)


def _gaps(session: SessionTrace) -> dict[str, Any]:
    report = whole_report(session)
    hosts = {row["id"]: row["host"] for row in report["devices"]}
    groups: list[dict[str, Any]] = []
    recent_groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    multi_core_hosts = {host for host, count in _cores_of_hosts(session).items() if count > 1}
    listed = [
        item | {"together_ps": item["together_ps"] if hosts[item["device"]] in multi_core_hosts else None}
        for item in report["gaps"]["items"][: MAX_GAPS * max(1, len(hosts))]
>>>>>>> main
    ]
    for item in sorted(listed, key=lambda item: item["start_ps"]):
        host = hosts[item["device"]]
        key = host, item["step"], item["before"], item["after"], item["kind"]
        candidates = reversed(recent_groups.get(key, []))
        group = next((candidate for candidate in candidates if _is_same_gap(candidate, item)), None)
        if group is not None:
            for name, column in _PER_CORE_KEYS:
                group[column].append(item[name])
            continue
        group = {name: value for name, value in item.items() if name not in ("chain", "explained_by")}
        group |= {"host": host, "by_finding_ps": findings_of_gap(item, host, report)} | {
            column: [item[name]] for name, column in _PER_CORE_KEYS
        }
        groups.append(group)
<<<<<<< HEAD
        latest[key] = [*latest.get(key, [])[-8:], group]
    groups.sort(key=lambda it: (-it["duration_ps"], it["start_ps"]))
    items = [
        group | {"index": index, "cores": len(group["devices"])}
        for index, group in enumerate(groups[:MOST_GAPS])
    ]
    idle = whole["step_idle"]
    in_steps = idle["all_cores"] if idle["steps"] else None
    titles = {it["id"]: it["title"] for it in whole["findings"]}
    return {
        "count": report["count"],
        "total_ps": report["total_ps"],
        "listed_ps": report["listed_ps"],
        "by_class_ps": report["by_class_ps"],
        "by_kind_ps": report["by_kind_ps"],
        "patterns": report["patterns"],
        "items": cast("list[GapItem]", items),
        "groups": len(groups),
        "step_idle": in_steps,
        "strip": _strip(session),
        "findings": titles,
    }


def _strip(session: SessionTrace) -> list[DeviceStrip]:
    edges = np.array([session.duration_ps * i // _BUCKETS for i in range(_BUCKETS + 1)], np.int64)
=======
        recent_groups[key] = [*recent_groups.get(key, [])[-8:], group]
    groups.sort(key=lambda group: (-group["duration_ps"], group["start_ps"]))
    idle = report["step_idle"]
    return {
        **report["gaps"],
        "items": [
            group | {"index": index, "cores": len(group["devices"])}
            for index, group in enumerate(groups[:MAX_GAPS])
        ],
        "groups": len(groups),
        "step_idle": idle["all_cores"] if idle["steps"] else None,
        "strip": _strip(session),
        "findings": {finding["id"]: finding["title"] for finding in report["findings"]},
    }


def _strip(session: SessionTrace) -> list[dict[str, str]]:
    edges = np.array([session.duration_ps * bucket // _BUCKETS for bucket in range(_BUCKETS + 1)], np.int64)
>>>>>>> main
    start, end = edges[:-1], edges[1:]
    rows: list[DeviceStrip] = []
    for trace in session.traces:
        all_gaps = find_gaps(trace)
        for number, device in enumerate(trace.devices):
            mask = all_gaps.device == number
            gaps = Segments(
                all_gaps.start_ps[mask], all_gaps.end_ps[mask], all_gaps.cause[mask], all_gaps.run[mask]
            )
            times = class_times(gaps, start, end)
            # `class_times` counts the time outside of gaps as unrecorded.
            times[:, UNRECORDED] -= end - start - covered_times(gaps.start_ps, gaps.end_ps, start, end)
            cause = np.where(times.any(axis=1), times.argmax(axis=1), _NO_GAP)
            rows.append({"id": device.id, "cause": "".join(f"{digit:x}" for digit in cause.tolist())})
    return rows


def _is_same_gap(group: dict[str, Any], item: dict[str, Any]) -> bool:
    """Whether a gap of another core is the same gap: nine tenths of the longer one are common to both."""
    if item["device"] in group["devices"]:
        return False
    start = max(group["start_ps"], item["start_ps"])
    end = min(group["start_ps"] + group["duration_ps"], item["start_ps"] + item["duration_ps"])
    return bool(10 * (end - start) >= 9 * max(group["duration_ps"], item["duration_ps"]))


<<<<<<< HEAD
def gap(session: SessionTrace, device: str, start_ps: int, beside: int | None = None) -> GapAnswer:
    """`data/gap`: one gap with its chain, whose events have ids as in `data/event`, its time by class and thread, the
    `findings` that explain it, those with most of it first, a sentence (on a host with several cores also whether all
    were idle), where a limit gains `more` than the mistake that it names how much, on how many `cores` it is the same,
    how long it is on these in the mean (`mean_ps`), the index of its `pattern` and how many gaps that has
    (`occurrences`). `beside`: the index of a host in memory whose gap of the same step is told as well (see `_beside`);
    null where it has none.
=======
def gap(session: SessionTrace, device: str, start_ps: int, beside: int | None = None) -> dict[str, Any]:
    """The document of `data/gap`: one gap of the report with its chain, whose events have ids as in `data/event`.
>>>>>>> main

    - `by_thread`: its time by class and thread.
    - `findings`: those that explain it, most time first; `by_finding_ps`: the time that each explains.
    - `sentence`: its causes; on a host with several cores also whether all were idle. `more`: how much more is to gain
      without a limit that comes before the mistake in the sentence.
    - `cores`: the number of cores with the same gap; `mean_ps`: its mean length on these.
    - `pattern`: the index of its pattern; `occurrences`: the number of gaps of that pattern.
    - `beside`: the gap of the same step on another host (see `_gap_of_host`), if the argument `beside` is the index of
    a host in memory; None without one.

    Raises InputError if no gap of the device begins at that instant."""
    known_gaps = cached_view(session, "gap", _gaps_by_place)
    row = known_gaps.get(f"{device} {start_ps}")
    if row is None:
        raise InputError(f"data/gap: no gap of {device} begins at {start_ps} ps; take one from data/gaps")
    number, host = next(
        (number, trace.host)
        for number, trace in session.numbered()
        if any(device_of_host.id == device for device_of_host in trace.devices)
    )
<<<<<<< HEAD
    chain: list[Any] = [
        {**piece, "event": None if piece["event"] is None else f"{number}.{piece['event']}"}
        for piece in found["chain"]
=======
    chain = [
        link | {"event": None if link["event"] is None else f"{number}.{link['event']}"}
        for link in row["chain"]
>>>>>>> main
    ]
    document = gaps(session)
    group = next((item for item in document["items"] if _has_place(item, device, start_ps)), None)
    cores, durations = (group["cores"], group["durations_ps"]) if group else (1, [row["duration_ps"]])
    pattern_keys = [_pattern_key(pattern) for pattern in document["patterns"]]
    pattern = pattern_keys.index(_pattern_key(row))
    report = whole_report(session)
    explained = findings_of_gap(row, host, report)
    findings = {finding["id"]: finding for finding in report["findings"]}
    hosts = [host_file["name"] for host_file in report["session"]["hosts"]]
    sentence = gap_sentence(row, report["environment"]["framework"], host if len(hosts) > 1 else None)
    sentence += _other_cores_text(row, cores, _cores_of_hosts(session)[host])
    other = hosts[beside] if beside is not None and beside < len(hosts) and hosts[beside] != host else None
    return {
        **row,
        "chain": chain,
        "host": host,
        "by_thread": by_thread(chain),
        "by_finding_ps": explained,
        "findings": [
<<<<<<< HEAD
            {
                "id": id_,
                "severity": findings[id_]["severity"],
                "title": findings[id_]["title"],
                "advice": findings[id_]["advice"],
            }
            for id_ in told
=======
            {key: findings[id_][key] for key in ("id", "severity", "title", "advice")} for id_ in explained
>>>>>>> main
        ],
        "sentence": why_gap(row, explained, report) + sentence,
        "more": more_to_gain(row, explained, report),
        "beside": _gap_of_host(session, row, other, list(known_gaps.values())) if other else None,
        "cores": cores,
        "mean_ps": sum(durations) / cores,
        "pattern": pattern,
        "occurrences": document["patterns"][pattern]["count"],
    }


def _pattern_key(gap: Mapping[str, Any]) -> list[Any]:
    """The programs around a gap and whether it is inside a run: equal for all gaps of a pattern."""
    return [gap[name] for name in ("before", "after", "inside_run")]


<<<<<<< HEAD
def _beside(
    session: SessionTrace, gap: Mapping[str, Any], host: str, known: Sequence[Mapping[str, Any]]
) -> GapOfOtherHost | None:
    """The gap of another host in the step of the same number between the same programs, on the core of the same name
    where that has one, else the longest: `host`, `device`, `start_ps`, `duration_ps`, `by_class_ps`, and `chain_ps`,
    the time by name of its chain's events. None where the host has none."""
=======
def _gap_of_host(
    session: SessionTrace, gap: Mapping[str, Any], host: str, known_gaps: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """The gap of another host in the step of the same number between the same programs, on the core of the same name if
    that has one, else the longest: `host`, `device`, `start_ps`, `duration_ps`, `by_class_ps`, and `chain_ps`, the time
    of its chain by event name. None if the host has no such gap."""
>>>>>>> main
    devices = {row["id"]: row for row in whole_report(session)["devices"]}
    matching = [
        row
        for row in known_gaps
        if devices[row["device"]]["host"] == host
        and row["step_number"] == gap["step_number"]
        and _pattern_key(row) == _pattern_key(gap)
    ]
    if gap["step_number"] is None or not matching:
        return None
    name = devices[gap["device"]]["name"]
<<<<<<< HEAD
    best = max(alike, key=lambda it: (devices[it["device"]]["name"] == name, it["duration_ps"]))
    chain: Counter[str] = Counter()
    for piece in best["chain"]:
        chain[piece["name"]] += piece["duration_ps"]
    return {
        "host": host,
        "device": best["device"],
        "start_ps": best["start_ps"],
        "duration_ps": best["duration_ps"],
        "by_class_ps": best["by_class_ps"],
        "chain_ps": dict(chain),
    }
=======
    best = max(matching, key=lambda row: (devices[row["device"]]["name"] == name, row["duration_ps"]))
    chain_times: Counter[str] = Counter()
    for link in best["chain"]:
        chain_times[link["name"]] += link["duration_ps"]
    values = {key: best[key] for key in ("device", "start_ps", "duration_ps", "by_class_ps")}
    return {"host": host, **values, "chain_ps": dict(chain_times)}
>>>>>>> main


def _cores_of_hosts(session: SessionTrace) -> Counter[str]:
    """The number of cores of each host."""
    return Counter(row["host"] for row in whole_report(session)["devices"])


<<<<<<< HEAD
def _together(gap: Gap, alike: int, cores: int) -> str:
    """Whether all of a host's cores are idle; nothing where it has one, or where the gap is on all of them, `alike`,
    and at the same time but for a hundredth."""
    if cores == 1 or (alike == cores and gap["together_ps"] >= 0.99 * gap["duration_ps"]):
=======
def _other_cores_text(gap: dict[str, Any], cores_with_gap: int, cores: int) -> str:
    """Whether all cores of the host are idle in a gap. Empty for a host with one core, and for a gap that all cores
    have at the same time, to within a hundredth of its length."""
    if cores == 1 or (cores_with_gap == cores and gap["together_ps"] >= 0.99 * gap["duration_ps"]):
>>>>>>> main
        return ""
    together, duration = brief_times(gap["together_ps"], gap["duration_ps"])
    if together == duration:
        return " All cores of the host are idle meanwhile."
    if not gap["together_ps"]:
        return " Other cores of the host work all the while."
    return f" All cores of the host are idle for {together} of it; for the rest others work."


def _has_place(item: GapItem, device: str, start_ps: int) -> bool:
    return (device, start_ps) in zip(item["devices"], item["starts_ps"], strict=True)


<<<<<<< HEAD
def _by_place(session: SessionTrace) -> dict[str, Gap]:
    # Of hosts that were chosen all gaps are there, of others the longest of the session.
=======
def _gaps_by_place(session: SessionTrace) -> dict[str, Any]:
    """The gaps by device and start: all gaps of chosen hosts, the longest ones of the session for other hosts."""
>>>>>>> main
    chosen = gaps_report(session, all_gaps=True)["items"] if session.steps_before else []
    items = [*chosen, *whole_report(session)["gaps"]["items"]]
    return {f"{item['device']} {item['start_ps']}": item for item in items}
