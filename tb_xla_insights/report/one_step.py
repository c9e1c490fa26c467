"""One step of a session as values: what a core does in the usual step, what happened once, and how short the step can
become. (docs/definitions.md, "One step")"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tb_xla_insights.analysis.engines.device_rows import merge_stalls
from tb_xla_insights.analysis.engines.op_texts import kind_of
from tb_xla_insights.analysis.findings.worth import RECOMPILATIONS
from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.catalog.classes import SHORT_GAPS, label
from tb_xla_insights.report.figures import idle_rows
from tb_xla_insights.report.finding_text import finding_groups, is_certain, step_at_worst, step_change
from tb_xla_insights.text.units import PS_PER, reduction_text, rounded_parts

if TYPE_CHECKING:
    from tb_xla_insights.schema.engines import Engine
    from tb_xla_insights.schema.overview_route import OneStep, Rung, RungKind, StepPart, StepPartKind

Row = Mapping[str, Any]

_MIN_RUNG_SHARE = 0.01
"""The share of the usual step by which a rung must be shorter, and differ from the rung above it."""


OF_WORK = ("computing", "collective", "wait", "late")
"""The kinds of the parts of the devices' work."""


class _Key(NamedTuple):
    """What a core does in a part of the step, and for what."""

    kind: StepPartKind
    name: str = ""


_AWAITED: Mapping[Engine, str] = {"sparse_core": "the SparseCore", "host_memory": "host memory"}
"""The engines that a part of the step names; of others it names what the op does."""

_COMPUTING, _SHORT_GAPS = _Key("computing"), _Key("short_gaps")

Times = Mapping[_Key, int]


def one_step(report: Row) -> OneStep | None:
    """One step, or one second where no whole step is recorded; None if no core recorded work. Times are integer ps per
    core, and parts add up exactly.

    The parts of the mean step are those of `step_idle`: means per step and core. Idle time is divided by class of the
    host's time, and the time of ops that only wait by what they wait for. Of the work, the time that waits for late
    hosts is that of the devices' spans, scaled to the work of the mean step. Time
    between the annotations of two steps is part of the first of these.

    The usual step is that of `mistakes`. A replayed mean step that is longer than the recorded one has the rest in the
    devices' work, in proportion, since work that continues after the last step makes it longer; a shorter one has less
    of each part. What the fix of a finding that happened once saves is taken from the mean step by class, as far as the
    finding explains idle time, most time first. What no finding explains, such as an evaluation, is taken from all
    parts in proportion to what remains of them.
    """
    step_idle, mistakes = report["step_idle"], report["mistakes"]
    recorded = _parts_of_mean_step(report)
    recorded_ps = sum(recorded.values())
    if not recorded_ps:
        return None
    if not step_idle["steps"]:
        second = _with_sum(recorded, PS_PER["s"])
        return _document("second", second, dict.fromkeys(second, 0), [])
    mean_ps = mistakes["step_ps"] or recorded_ps
    now_ps = min(mistakes["usual_step_ps"] or mean_ps, mean_ps)
    work = {key: ps for key, ps in recorded.items() if key.kind in OF_WORK}
    if mean_ps > recorded_ps and any(work.values()):
        mean = recorded | _with_sum(work, sum(work.values()) + mean_ps - recorded_ps)
    else:
        mean = _with_sum(recorded, mean_ps)
    once = _once_ps(report, mean, mean_ps - now_ps)
    own_ps = sum(mean[key] - once[key] for key in mean if key.kind in ("computing", "collective"))
    return _document("step", mean, once, _rungs(report, own_ps) if mistakes["usual_step_ps"] else [])


def _document(per: Literal["step", "second"], mean: Times, once: Times, rungs: Sequence[Rung]) -> OneStep:
    parts: list[StepPart] = [
        {
            "kind": key.kind,
            "name": key.name,
            "label": _label(key),
            "ps": ps - once[key],
            "once_ps": once[key],
        }
        for key, ps in mean.items()
        if ps
    ]
    order = (*OF_WORK, "idle", "short_gaps")
    parts.sort(key=lambda part: (order.index(part["kind"]), -part["ps"] if part["kind"] == "idle" else 0))
    return {
        "per": per,
        "now_ps": sum(part["ps"] for part in parts),
        "once_ps": sum(part["once_ps"] for part in parts),
        "parts": parts,
        "rungs": [*rungs],
    }


def _label(key: _Key) -> str:
    match key.kind:
        case "computing":
            return "computing"
        case "collective":
            return key.name
        case "late":
            return f"waiting for late {key.name}"
        case "wait":
            return f"waiting {'for' if key.name in _AWAITED.values() else 'in'} {key.name}"
        case "idle":
            return label(key.name)
        case "short_gaps":
            return SHORT_GAPS


def _parts_of_mean_step(report: Row) -> dict[_Key, int]:
    """The parts of the recorded mean step; empty without work."""
    step_idle, devices = report["step_idle"], report["devices"]
    work_ps = step_idle["work_ps"]
    if work_ps is None:
        return {}
    busy_ps, stall_ps = (sum(device[key] for device in devices) for key in ("busy_ps", "stall_ps"))
    stalls = merge_stalls(devices)
    late_ps = sum(row["cost_ps"] for row in report["findings"] if row["id"] == "straggler")
    exposed = {_Key("collective", kind): ps for kind, ps in _exposed_in_step(report, stalls).items()}
    # Waits for late hosts lie in the ops that only wait, and else in collectives.
    late_in_exchanges_ps = work_ps * max(0, late_ps - stall_ps) // busy_ps if busy_ps else 0
    late_ps = min(work_ps, work_ps * max(0, late_ps) // busy_ps) if busy_ps else 0
    waits_ps = min(work_ps, max(step_idle["stall_ps"], late_ps)) - late_ps
    waits = _with_sum(_sums("wait", ((_awaited(row), row["duration_ps"]) for row in stalls)), waits_ps)
    exposed_ps = max(0, sum(exposed.values()) - late_in_exchanges_ps)
    exchanges = _with_sum(exposed, min(work_ps - waits_ps - late_ps, exposed_ps))
    parts = {_COMPUTING: work_ps - late_ps - sum(waits.values()) - sum(exchanges.values())}
    parts |= exchanges | waits | {_late(report): late_ps}
    for name, ps, _ in idle_rows(step_idle):
        parts[_Key("idle", name) if name else _SHORT_GAPS] = ps
    return parts


def _exposed_in_step(report: Row, stalls: Sequence[Row]) -> Counter[str]:
    """The time of the mean step, per core, in which nothing hides a collective of each kind, without those that an op
    only waits for (`stalls`)."""
    step_idle, awaited_ops = report["step_idle"], {row["op"] for row in stalls}
    steps_of_cores = sum(device["steps"] for device in step_idle["devices"])
    key, divisor = (
        ("exposed_in_steps_ps", steps_of_cores)
        if steps_of_cores
        else ("exposed_ps", len(step_idle["devices"]))
    )
    times: Counter[str] = Counter()
    for row in report["collectives"]:
        if row["op"] not in awaited_ops:
            times[row["kind"]] += row[key]
    return Counter({kind: ps // divisor for kind, ps in times.items()})


def _awaited(stall: Row) -> str:
    """What an op that only waits waits for: an engine, else what the op does."""
    return _AWAITED.get(stall["engine"]) or kind_of(stall["op"])


def _late(report: Row) -> _Key:
    return _Key("late", "hosts" if len(report["session"]["hosts"]) > 1 else "cores")


def _sums(kind: StepPartKind, times: Iterable[tuple[str, int]]) -> Counter[_Key]:
    """The sums of times by name."""
    sums = Counter[_Key]()
    for name, ps in times:
        sums[_Key(kind, name)] += ps
    return sums


def _with_sum(parts: Times, sum_ps: int) -> dict[_Key, int]:
    """The parts in the same proportions, in whole ps with another sum; unchanged if all are 0."""
    whole_ps = sum(parts.values())
    if not whole_ps:
        return dict(parts)
    scaled = rounded_parts([ps * sum_ps for ps in parts.values()], whole_ps * sum_ps, whole_ps)
    return dict(zip(parts, (ps // whole_ps for ps in scaled), strict=True))


def _once_ps(report: Row, mean: Times, once_ps: int) -> dict[_Key, int]:
    """The part of each time of the mean step that happened once; `once_ps` together."""
    saved = dict.fromkeys(mean, 0)
    for finding in report["findings"]:
        if finding["recurs"] != "once" or finding["step_if_fixed_ps"] is None:
            continue
        left_ps = finding["step_ps"] - finding["step_if_fixed_ps"]
        explained = _explained_ps(finding, report)
        if sum(explained.values()) < left_ps:
            explained = _with_sum(explained, left_ps)
        for key, ps in sorted(explained.items(), key=lambda item: -item[1]):
            taken_ps = min(ps, left_ps, mean.get(key, 0) - saved.get(key, 0))
            if taken_ps > 0:
                saved[key] += taken_ps
                left_ps -= taken_ps
    rest_ps = once_ps - sum(saved.values())
    if rest_ps < 0:
        return _with_sum(saved, once_ps)
    rest = _with_sum({key: ps - saved[key] for key, ps in mean.items()}, rest_ps)
    return {key: ps + rest[key] for key, ps in saved.items()}


def _explained_ps(finding: Row, report: Row) -> dict[_Key, int]:
    """The idle time that a finding explains, per step and core; of a late host the time for which others wait, and that
    of its own cores."""
    steps_of_cores = sum(device["steps"] for device in report["step_idle"]["devices"])
    cost_ps, evidence = finding["cost_ps"] // steps_of_cores, finding["evidence"]
    if finding["id"] == "straggler":
        own_ps = max(0, finding["step_ps"] - finding["step_if_fixed_ps"] - cost_ps)
        return {_late(report): cost_ps, **{_Key("idle", cause): own_ps for cause in evidence["causes"][:1]}}
    by_class = evidence.get("idle_by_class_ps")
    if not by_class and finding["id"] in RECOMPILATIONS:  # its idle time is in no starved gap
        return {_Key("idle", "compile"): finding["step_ps"]}
    return _with_sum({_Key("idle", name): ps for name, ps in (by_class or {}).items()}, cost_ps)


def _rungs(report: Row, own_ps: int) -> list[Rung]:
    """How short the usual step can become: without all mistakes, without each limit alone, and last down to the
    devices' own work, unless a fix removes some of that. Rungs that tell nothing new are left out."""
    now_ps = last_ps = report["mistakes"]["usual_step_ps"]
    min_ps = _MIN_RUNG_SHARE * now_ps
    rungs = [rung for rung in _rungs_of_findings(report) if now_ps - rung["best_ps"] >= min_ps]
    of_devices = "device's own" if len(report["devices"]) == 1 else "devices' own"
    own = _rung("own", of_devices, None, now_ps, (own_ps, own_ps))
    shows_own = now_ps - own_ps >= min_ps and all(rung["best_ps"] > own_ps - min_ps for rung in rungs)
    shown: list[Rung] = []
    for rung in [*rungs, own] if shows_own else rungs:
        if abs(last_ps - rung["best_ps"]) < min_ps:
            continue
        if shows_own and rung["kind"] == "pace" and rung["best_ps"] - own_ps < min_ps:
            own["finding"] = own["finding"] or rung["finding"]
            continue
        shown.append(rung)
        last_ps = rung["best_ps"]
    return shown


def _rungs_of_findings(report: Row) -> Iterator[Rung]:
    """The step without all mistakes, then without each limit that gains INFO_SHARE alone, in the order of findings.
    Without all mistakes, the step is at worst that without the one that gains most at worst."""
    now_ps, fixed_ps = (report["mistakes"][key] for key in ("usual_step_ps", "step_if_fixed_ps"))
    tagged = [(group.tag, finding) for group in finding_groups(report) for finding in group.findings]
    changes = {finding["id"]: change for _, finding in tagged if (change := step_change(finding, report))}
    fixes = [finding for tag, finding in tagged if tag == "fix" and finding["id"] in changes]
    if fixes and fixed_ps is not None:
        at_worst_ps = min(step_at_worst(finding, changes[finding["id"]]) for finding in fixes)
        name = "fixed" if len(fixes) == 1 else "all fixed"
        yield _rung("fixed", name, fixes[0]["id"], now_ps, (fixed_ps, at_worst_ps))
    for number, (tag, finding) in enumerate(tagged, start=1):
        change = changes.get(finding["id"])
        if tag == "pace" and change and change.gain >= INFO_SHARE:
            times_ps = change.after_ps, step_at_worst(finding, change)
            yield _rung("pace", f"without {number}", finding["id"], now_ps, times_ps)


def _rung(
    kind: RungKind, label: str, finding: str | None, now_ps: int, best_and_worst_ps: tuple[int, int]
) -> Rung:
    best_ps, worst_ps = best_and_worst_ps
    gain, gain_at_worst = ((now_ps - ps) / now_ps for ps in (best_ps, max(best_ps, worst_ps)))
    if is_certain(gain, gain_at_worst):
        worst_ps = best_ps
    text = reduction_text(gain)
    return {
        "kind": kind,
        "label": label,
        "finding": finding,
        "best_ps": best_ps,
        "worst_ps": worst_ps,
        "gain": gain,
        "text": text if worst_ps == best_ps else f"up to {text}",
    }
