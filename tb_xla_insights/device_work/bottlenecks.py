"""The groups of ops in which a device that is the bottleneck spends its time, their distance from the roofline, and the
cost of the worst one. (docs/definitions.md, "Below the roofline")"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from tb_xla_insights.analysis.findings.finding import OWN_WORK, first_fitting_title
from tb_xla_insights.analysis.findings.worth import sort_rows
from tb_xla_insights.analysis.propagation.path_names import is_unnamed_scope, short_names
from tb_xla_insights.analysis.thresholds import INFO_SHARE, severity_of
from tb_xla_insights.device_work.advice import advice_for
from tb_xla_insights.device_work.repeated_ops import group_name, group_repeated, op_count
from tb_xla_insights.device_work.roofline import NEAR_ROOF_SHARE, Roof, main_bound, peak_share
from tb_xla_insights.text.english import join_words
from tb_xla_insights.text.units import brief_time, brief_times, share

Row = dict[str, Any]
Document = TypeVar("Document", bound=Mapping[str, Any])

BELOW_ROOFLINE = "below_roofline"

_FOLDERS = re.compile(r".*[/\\]")

_MAX_GROUPS = 3
_MAX_ADVISED_GROUPS = 2
_MAX_ADVICE_LENGTH = 240
"""Characters: two lines of a finding's card."""

_MIN_STEP_SHARE = 0.1
"""A group after the first one is named only if it takes at least this share of the step."""

_MAX_ANNOTATION_SHARE = 0.9
"""An annotation with a larger share of the time does not locate it: its ops are grouped by category instead. The same
holds for a category: each of its ops is then a group of its own."""

_MAX_NAMED = 2
"""The most groups that the verdict names one by one."""

_CLASSES_WITHOUT_WORK = ("wait", "from_device", "unrecorded")
"""Classes of host time that are not known to be the host's own work: a read waits for its value."""

_MIN_KNOWN_SHARE = 0.5
"""The minimum share of a group's time with known FLOPs (or bytes) for its share of the peak to be known."""


@dataclass(frozen=True)
class OpGroup:
    """The ops of one innermost annotation; of one category, or a single op, where annotations do not separate them.

    `path` and `annotation`: the annotation's path and its short name. `rows`: all of them work, the ones with most time
    first. `is_ambiguous`: whether the group is a single op, and another group has the same name, such as an op of
    another program. `time_ps`: in steps (in the capture if it has none). `step_share`: its share of the duration of the
    steps on all cores, or of all work if there are no steps, or if ops run concurrently and take longer in total than
    the steps; `base_text` names this base. `above_roof_ps`: the part of the time above the roofline, of ops with known
    FLOPs and bytes. `roofline_share`: the share of those ops' time that the roofline would take (None: nothing is
    known). `flops_share`, `bytes_share`: shares of the peaks.
    """

    path: str | None
    annotation: str | None
    rows: Sequence[Row]
    time_ps: int
    step_share: float
    base_text: str
    above_roof_ps: float
    roofline_share: float | None
    flops_share: float | None
    bytes_share: float | None
    bound_by: str
    is_ambiguous: bool = False

    @property
    def name(self) -> str:
        """The annotation's short name; else the op, or the number of ops of a category: `40 dot ops`. An ambiguous op
        is named with its program: `fusion.1 of jit_step`."""
        if self.annotation:
            return self.annotation
        first = self.rows[0]
        if len(self.rows) == 1:
            return f"{first['op']} of {first['program']}" if self.is_ambiguous else str(first["op"])
        return f"{len(self.rows)} {first['category']} ops"

    @property
    def is_plural(self) -> bool:
        """Whether the name is that of several ops."""
        return not self.path and len(self.rows) > 1

    @property
    def share_text(self) -> str:
        """`36.4 % of the step`."""
        return f"{share(self.step_share)} of {self.base_text}"

    @property
    def op_text(self) -> str:
        """The longest op, or group of ops that repeat, with its source line: `fusion.3 at train.py:7`; an ambiguous one
        with its program."""
        source = self.rows[0]["source"]
        if not self.is_ambiguous:
            return _group_text(_longest_group(self.rows, lambda row: int(row["self_ps"])))
        return f"{self.name} at {source}" if source else self.name

    @property
    def located_name(self) -> str:
        """The name; of an annotation that has none of its own, with the file and line of its longest op."""
        source = self.rows[0]["source"]
        is_located = source and is_unnamed_scope(self.path or "")
        return f"{self.name} ({_FOLDERS.sub('', source)})" if is_located else self.name

    def rate_text(self) -> str:
        """Returns ` at 22 % of peak FLOP/s`: the share of the peak that bounds the group, else of the nearest one, or
        of both if the bounds are mixed; empty if no share is known."""
        shares = {"peak FLOP/s": self.flops_share, "HBM bandwidth": self.bytes_share}
        known_shares = {name: value for name, value in shares.items() if value is not None}
        if self.bound_by != "mixed" and known_shares:
            bound = {"compute": "peak FLOP/s", "memory": "HBM bandwidth"}.get(self.bound_by)
            named_peak = (
                bound if bound in known_shares else max(known_shares, key=lambda name: known_shares[name])
            )
            known_shares = {named_peak: known_shares[named_peak]}
        parts = [f"{share(value)} of {name}" for name, value in known_shares.items()]
        return f" at {' and '.join(parts)}" if parts else ""

    def as_json(self) -> Row:
        return {
            "annotation": self.path,
            "op": self.rows[0]["op"],
            "source": self.rows[0]["source"],
            "time_ps": self.time_ps,
            "of_step": self.step_share,
            "flops_share": self.flops_share,
            "bytes_share": self.bytes_share,
            "bound_by": self.bound_by,
            "above_roof_ps": round(self.above_roof_ps),
            "of_roofline": self.roofline_share,
        }


def with_bottlenecks(document: Document) -> Document:
    """Returns a report with details about a device that is the bottleneck: the finding `device_bound` names the groups
    of ops with most time in its `brief` and `advice`, and `below_roofline` is added to the limits if the worst group
    could gain enough. Other reports are unchanged. Applied to its own result, it changes nothing unless the peaks
    differ."""
    findings = [row for row in document["findings"] if row["id"] != BELOW_ROOFLINE]
    device_bound = next((row for row in findings if row["id"] == "device_bound"), None)
    groups = _op_groups(document) if device_bound else []
    if not device_bound or not groups:
        return document
    evidence = device_bound["evidence"] | {"places": [group.as_json() for group in groups[:_MAX_GROUPS]]}
    findings[findings.index(device_bound)] = device_bound | {
        "brief": _work_brief(groups),
        "advice": _location_advice(groups),
        "evidence": evidence,
    }
    worst = _find_worst(document, groups)
    if worst:
        findings = sort_rows([*findings, worst])
    return cast("Document", {**document, "findings": findings})  # the same keys


def _work_brief(groups: Sequence[OpGroup]) -> str:
    """`the device's own work, above all mlp with 36.4 % of the step and attention with 20.1 %`; if more take as long,
    `the device's own work, in 6 annotations alike, such as mlp with 16.7 % of the step`."""
    first, *others = groups
    alike = sum(group.step_share >= (1 - INFO_SHARE) * first.step_share for group in groups)
    if alike > _MAX_NAMED:
        noun = "annotations" if first.path else "ops"
        return f"{OWN_WORK}, in {alike} {noun} alike, such as {first.located_name} with {first.share_text}"
    names = [f"{first.located_name} with {first.share_text}"]
    names += [
        f"{group.located_name} with {share(group.step_share)}"
        for group in others[: _MAX_NAMED - 1]
        if group.step_share >= _MIN_STEP_SHARE
    ]
    return f"{OWN_WORK}, above all {join_words(names)}"


def _location_advice(groups: Sequence[OpGroup]) -> str:
    """Returns one sentence that names groups and ops of this program, as many as fit, without general advice."""
    parts = [
        f"{group.name} ({group.share_text}; the longest: {group.op_text})"
        if group.path or len(group.rows) > 1
        else f"{group.op_text} ({group.share_text})"
        for group in groups[:_MAX_ADVISED_GROUPS]
        if group is groups[0] or group.step_share >= _MIN_STEP_SHARE
    ]
    texts = [f"Look first at {join_words(parts[:length])}." for length in range(len(parts), 0, -1)]
    return next((text for text in texts if len(text) <= _MAX_ADVICE_LENGTH), texts[-1])


def _op_groups(document: Mapping[str, Any]) -> list[OpGroup]:
    """Returns the groups of a report's ops, those with most time first."""
    peaks = document["device_work"]["peaks"]
    roof = Roof(peaks["flops_per_s"], peaks["bytes_per_s"])
    time_key = "in_steps_ps" if document["steps"] else "self_ps"
    rows = [row for row in document["ops"] if row["kind"] == "work" and row[time_key]]
    work_ps = sum(row[time_key] for row in rows)
    steps = document["device_work"]["steps"]
    step_ps = sum(step["duration_ps"] * step["cores"] for step in steps) if document["steps"] else work_ps
    base_text = "the step" if step_ps > work_ps else "the steps’ work" if document["steps"] else "all work"
    names = short_names([row["path"] for row in document["annotations"]])
    by_annotation: dict[str | None, list[Row]] = {}
    for row in rows:
        by_annotation.setdefault(row["annotation"], []).append(row)
    groups = []
    for annotation, rows_of_annotation in by_annotation.items():
        annotation_ps = sum(row[time_key] for row in rows_of_annotation)
        locates_time = annotation is not None and annotation_ps < _MAX_ANNOTATION_SHARE * work_ps
        if locates_time:
            rows_of_groups = [rows_of_annotation]
        else:
            rows_of_groups = _by_category(rows_of_annotation, time_key, _MAX_ANNOTATION_SHARE * work_ps)
        path, base_ps = annotation if locates_time else None, max(step_ps, work_ps)
        name = names.get(path, path) if path else None
        groups += [_group(path, name, group, time_key, base_ps, base_text, roof) for group in rows_of_groups]
    counts = Counter(group.name for group in groups)
    groups = [
        replace(group, is_ambiguous=not group.path and len(group.rows) == 1 and counts[group.name] > 1)
        for group in groups
    ]
    return sorted(groups, key=lambda group: -group.time_ps)


def _by_category(rows: Sequence[Row], time_key: str, max_ps: float) -> list[list[Row]]:
    """Groups ops by category; each op of a category with more time than `max_ps` is a group of its own."""
    rows_of_category: dict[str, list[Row]] = {}
    for row in rows:
        rows_of_category.setdefault(row["category"], []).append(row)
    groups: list[list[Row]] = []
    for group in rows_of_category.values():
        groups += [group] if sum(row[time_key] for row in group) <= max_ps else [[row] for row in group]
    return groups


def _group(
    path: str | None,
    annotation: str | None,
    rows: Sequence[Row],
    time_key: str,
    base_ps: int,
    base_text: str,
    roof: Roof,
) -> OpGroup:
    self_ps, time_ps = sum(row["self_ps"] for row in rows), sum(row[time_key] for row in rows)

    def known_peak_share(amount: str, known_time_key: str, peak: float | None) -> float | None:
        if sum(row[known_time_key] for row in rows) < _MIN_KNOWN_SHARE * self_ps:
            return None
        return peak_share(sum(row[amount] or 0 for row in rows), peak, self_ps)

    bound_ps: dict[str, int] = {}
    for row in rows:
        bound_ps[row["bound_by"]] = bound_ps.get(row["bound_by"], 0) + row["self_ps"]
    known_ps = sum(row["self_ps"] for row in rows if row["roof_ps"])
    return OpGroup(
        path=path,
        annotation=annotation,
        rows=sorted(rows, key=lambda row: -row[time_key]),
        time_ps=time_ps,
        step_share=time_ps / base_ps if base_ps else 0.0,
        base_text=base_text,
        above_roof_ps=sum(time_above_roofline(row) * row[time_key] / row["self_ps"] for row in rows),
        roofline_share=1 - sum(time_above_roofline(row) for row in rows) / known_ps if known_ps else None,
        flops_share=known_peak_share("flops", "flops_known_ps", roof.flops_per_s),
        bytes_share=known_peak_share("hbm_bytes", "bytes_known_ps", roof.bytes_per_s),
        bound_by=main_bound(bound_ps, self_ps),
    )


def time_above_roofline(row: Mapping[str, Any]) -> int:
    """Returns a row's time beyond what the roofline would take, in ps; 0 if FLOPs, bytes or peaks are not known, or the
    counts are 0."""
    return max(0, row["self_ps"] - row["roof_ps"]) if row["roof_ps"] else 0


def _find_worst(document: Mapping[str, Any], groups: Sequence[OpGroup]) -> Row | None:
    """Returns the finding about the group with most time above the roofline; None without steps, without a group that
    is far from the roofline, or if the gain is too small a share of a step."""
    candidates = [
        group
        for group in groups
        if group.roofline_share is not None and group.roofline_share < NEAR_ROOF_SHARE
    ]
    worst = max(candidates, key=lambda group: group.above_roof_ps, default=None)
    steps = document["device_work"]["steps"]
    if not worst or not steps:
        return None
    mean_ps = round(sum(step["duration_ps"] for step in steps) / len(steps))
    step_ps = document["mistakes"]["step_if_fixed_ps"] or mean_ps
    host_ps = _host_work_ps(document["steps"])
    # Concurrent ops take longer in total than the steps: their savings count as a share of the work.
    by_devices_ps = round(step_ps * (1 - worst.above_roof_ps * worst.step_share / worst.time_ps))
    fixed_ps = min(step_ps, max(by_devices_ps, host_ps))
    gain = (step_ps - fixed_ps) / step_ps
    severity = severity_of(gain)
    if severity is None:
        return None
    rows = sorted(worst.rows, key=lambda row: -time_above_roofline(row))
    losing = _longest_group(worst.rows, time_above_roofline)
    peaks, environment = document["device_work"]["peaks"], document["environment"]
    above_ps = [time_above_roofline(row) for row in rows]
    advice = advice_for(_with_times_of_ops(rows, document["ops"]), above_ps, peaks, environment)
    host_time, devices_time = brief_times(host_ps, by_devices_ps)
    is_single_host = len({step["host"] for step in document["steps"]}) == 1
    limit = f"The {'host itself' if is_single_host else 'slowest host'} needs {host_time} a step"
    if fixed_ps > by_devices_ps:
        limit += f", although the device's work would allow {devices_time}"
    takes = "They take" if worst.is_plural else "It takes"
    title = f"{worst.name} {'are' if worst.is_plural else 'is'} far from the roofline"
    short_name = "An annotation is" if worst.path else "Ops are" if worst.is_plural else "An op is"
    short_title = f"{short_name} far from the roofline"
    return {
        "id": BELOW_ROOFLINE,
        "severity": severity,
        "title": first_fitting_title(title, short_title),
        "brief": f"the time that {worst.name} {'lose' if worst.is_plural else 'loses'} below the device's peaks",
        "waits_for": "",
        "best_if": "",
        "detail": f"{takes} {worst.share_text}{worst.rate_text()}, and {_group_text(losing)} "
        f"{'lose' if op_count(losing) > 1 else 'loses'} most of the time. "
        f"{limit}.",
        "advice": advice or _op_advice(rows[0], sum(step["cores"] for step in steps)),
        "cost_ps": round(worst.above_roof_ps),
        "step_if_fixed_ps": fixed_ps,
        "step_if_fixed_at_worst_ps": fixed_ps,
        "gain": gain,
        "gain_at_worst": gain,
        "recurs": "every_step",
        "where": "in_step",
        "after": None,
        "code": [],
        "evidence": {"name": worst.name, **worst.as_json(), "op": rows[0]["op"], "source": rows[0]["source"]}
        | {"host_ps": host_ps, "step_by_devices_ps": by_devices_ps},
        "windows": [],
        "kind": "limit",
        "step_ps": document["mistakes"]["step_ps"] or mean_ps,
    }


def _with_times_of_ops(rows: Iterable[Row], all_rows: Iterable[Row]) -> list[Row]:
    """Returns rows with the time of their op in all its annotations. In the report, the time of a row is that in one
    annotation, but its executions are all those of the op."""

    def op_of(row: Row) -> tuple[str, str, int]:
        return row["program"], row["op"], row["executions"]  # programs of one name rarely run equally often

    time_of_op: Counter[tuple[str, str, int]] = Counter()
    for row in all_rows:
        time_of_op[op_of(row)] += row["self_ps"]
    return [row | {"self_ps": time_of_op[op_of(row)]} for row in rows]


def _op_text(row: Row) -> str:
    """Returns an op with its source line: `fusion.3 at train.py:7`."""
    return _group_text([row])


def _longest_group(
    rows: Iterable[Row], time_of: Callable[[Mapping[str, Any]], int]
) -> Sequence[Mapping[str, Any]]:
    """Returns the op, or the ops that repeat, with most of some time."""
    return max(group_repeated(rows), key=lambda group: sum(map(time_of, group)))


def _group_text(group: Sequence[Mapping[str, Any]]) -> str:
    """Returns the name of an op, or of ops that repeat, with the source line that all have in common."""
    sources = {row["source"] for row in group}
    source = sources.pop() if len(sources) == 1 else None
    return f"{group_name(group)} at {source}" if source else group_name(group)


def _op_advice(row: Row, core_steps: int) -> str:
    """Returns a sentence that names the op, its time and its share of a peak, for ops without more specific advice."""
    compute, memory = row["flops_share"] or 0.0, row["bytes_share"] or 0.0
    rate = f"{share(memory)} of HBM bandwidth" if memory > compute else f"{share(compute)} of peak FLOP/s"
    time_per_step = brief_time(row["in_steps_ps"] // core_steps)
    return f"Look first at {_op_text(row)}: it takes {time_per_step} a step, at {rate}."


def _host_work_ps(steps: Iterable[Row]) -> int:
    """Returns the slowest host's own work in its mean step, a lower bound of the step."""
    totals: dict[str, int] = {}
    counts: dict[str, int] = {}
    for step in steps:
        work_ps = sum(time for name, time in step["host_ps"].items() if name not in _CLASSES_WITHOUT_WORK)
        totals[step["host"]] = totals.get(step["host"], 0) + work_ps
        counts[step["host"]] = counts.get(step["host"], 0) + 1
    return max((round(total / counts[host]) for host, total in totals.items()), default=0)
