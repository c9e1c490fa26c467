"""The document of the page's view Device: the work of selected devices, with shares of their peaks.
`schema.device_route` documents the keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.propagation.path_names import with_outer_paths
from tb_xla_insights.analysis.propagation.tree import capture_rows
from tb_xla_insights.device_work.merged_rows import OpRows
from tb_xla_insights.device_work.occurrences import Key, Occurrence, find_occurrences
from tb_xla_insights.device_work.op_kinds import execution_counts, op_categories
from tb_xla_insights.device_work.peaks import peaks_of
from tb_xla_insights.device_work.peaks_text import missing_peaks_text, peaks_text
from tb_xla_insights.device_work.repeated_ops import group_name, group_repeated, op_count
from tb_xla_insights.device_work.roofline import Roof
from tb_xla_insights.device_work.rows import op_rows
from tb_xla_insights.device_work.selection import ALL, MEAN, Selection, select
from tb_xla_insights.device_work.view_notes import work_notes
from tb_xla_insights.device_work.view_verdict import Chosen, VerdictSentence, find_below_roof
from tb_xla_insights.device_work.work_document import sum_rows, work_document
from tb_xla_insights.text.english import sentence_parts
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import BoundBy
    from tb_xla_insights.schema.device_route import (
        DeviceAnswer,
        ListedOps,
        RestOps,
        ShownWork,
        WorkChoices,
        WorkTree,
        WorkVerdict,
    )

SCHEMA = 1

MAX_OPS = 400
MAX_PATHS = 300
_MAX_STEPS = 2000

Row = dict[str, Any]
Peaks = tuple[float, float]


@dataclass(frozen=True)
class _Work:
    """Input of the document: rows of ops, rows of the peaks of their `devices`, kinds of annotations by path. For hosts
    in memory also the `occurrences` of ops, and numbers of `executions` by category (None: not known). `has_extents`:
    the work is of one step of one host, so annotations have a start and an end."""

    rows: Sequence[Row]
    devices: Iterable[Row]
    kinds: Mapping[str, str]
    occurrences: Mapping[Key, Occurrence] = field(default_factory=dict)
    executions: Mapping[str, int] | None = None
    has_extents: bool = False


@dataclass(frozen=True)
class _Options:
    """The parameters of `device_view` with these names."""

    user_peaks: Peaks | None
    all_ops: bool


def device_view(
    session: SessionTrace,
    device: str | None = None,
    step: str | None = None,
    *,
    default_host: int = 0,
    category: str | None = None,
    user_peaks: Peaks | None = None,
    all_ops: bool = False,
    report: Mapping[str, Any] | None = None,
) -> DeviceAnswer:
    """Returns the document of what a link selects (see `selection.select`). `category`: only these ops. `user_peaks`:
    FLOP/s and bytes/s of a device that override the known ones. `all_ops`: lists all ops. `report`: that of all hosts,
    if not all of them are in memory in `session`."""
    selection = select(session, device, step, default_host)
    if report is not None and (selection.device, selection.step) == (ALL, ALL):
        host_count, device_count = len(report["session"]["hosts"]), len(report["devices"])
        hosts, core_steps, work = list(range(host_count)), device_count, _work_of_report(report)
    else:
        host_count = len(session.numbers) if report is None else len(report["session"]["hosts"])
        hosts = [host_ops.host for host_ops in selection.hosts]
        device_count, core_steps = selection.device_count, selection.core_steps
        work = _work_of_selection(selection)
    choices = _choices(selection, category)
    chosen = Chosen(choices["chosen"]["steps"], category, device_count, core_steps)
    return {
        **choices,
        **_shown_work(work, chosen, _Options(user_peaks, all_ops)),
        "cores": device_count,
        "core_steps": core_steps,
        "hosts": {"shown": hosts, "total": host_count},
    }


def _work_of_selection(selection: Selection) -> _Work:
    rows = OpRows()
    occurrences: dict[Key, Occurrence] = {}
    devices: list[Row] = []
    kinds: dict[str, str] = {}
    executions: Counter[str] = Counter()
    for host_ops in selection.hosts:
        trace = host_ops.trace
        for row in op_rows(trace, host_ops.ops):
            rows.add(row)
        for key, occurrence in find_occurrences(host_ops).items():
            longest = occurrences.get(key, occurrence)
            occurrences[key] = occurrence if occurrence.duration_ps > longest.duration_ps else longest
        counts = execution_counts(trace, host_ops.ops).tolist()
        for category, count in zip(op_categories(trace), counts, strict=True):
            executions[category] += count
        devices += peaks_of(trace, host_ops.devices)
        kinds |= {row.path: row.kind for row in capture_rows(trace)}
    has_extents = selection.step not in (ALL, MEAN) and len(selection.hosts) == 1
    return _Work(rows.rows(), devices, kinds, occurrences, executions, has_extents)


def _work_of_report(report: Mapping[str, Any]) -> _Work:
    """Returns the work of all devices over the whole session, from the report of all hosts."""
    kinds = {row["path"]: row["kind"] for row in report["annotations"]}
    return _Work(report["ops"], report["device_work"]["peaks"]["devices"], kinds)


def _choices(selection: Selection, category: str | None) -> WorkChoices:
    index = selection.step_index or 0
    first = max(0, min(index - _MAX_STEPS // 2, len(selection.step_names) - _MAX_STEPS))
    return {
        "schema": SCHEMA,
        "chosen": {"cores": selection.device, "steps": selection.step, "category": category},
        "stale": selection.is_replaced,
        "steps": selection.step_names[first : first + _MAX_STEPS],
        "whole_steps": len(selection.step_names),
    }


def _shown_work(work: _Work, chosen: Chosen, options: _Options) -> ShownWork:
    category_times: Counter[str] = Counter()
    for row in work.rows:
        category_times[row["category"]] += row["self_ps"]
    category_ps = dict(sorted(category_times.items(), key=lambda item: (-item[1], item[0])))
    categories = [*category_ps]
    rows = [row for row in work.rows if chosen.category in (None, row["category"])]
    shown_path = _shown_paths(rows, work.kinds)
    document = work_document(
        [row | {"annotation": shown_path.get(row["annotation"]), "path": row["annotation"]} for row in rows],
        [],
        work.devices,
        [{"path": path, "kind": kind} for path, kind in work.kinds.items()],
        options.user_peaks,
    )
    ops, sums = document["ops"], document["device_work"]
    listed_ops = ops if options.all_ops else ops[:MAX_OPS]
    paths = [row["path"] for row in sums["annotations"] if row["path"] is not None]
    paths += sorted({row["path"] for row in listed_ops if row["path"] is not None} - set(paths))
    path_index: dict[str | None, int] = {path: index for index, path in enumerate(paths)} | {None: -1}
    total = sums["total"]
    repeated = _repeated(ops, Roof(sums["peaks"]["flops_per_s"], sums["peaks"]["bytes_per_s"]))
    if work.executions is None:
        executions = sum(row["executions"] for row in ops)
    else:
        executions = work.executions[chosen.category] if chosen.category else sum(work.executions.values())
    extents = _extents(ops, work) if work.has_extents else {}
    return {
        "categories": categories,
        "peaks": sums["peaks"],
        "peaks_text": peaks_text(sums["peaks"]),
        "missing_peaks": missing_peaks_text(sums["peaks"]),
        "total": {
            "self_ps": total["self_ps"],
            "flops_known_ps": total["flops_known_ps"],
            "flops_unknown_ps": total["work_ps"] - total["flops_known_ps"],
            "other_ps": total["self_ps"] - total["work_ps"],
            "flops_share": total["flops_share"],
            "mfu": total["mfu"],
            "bytes_share": total["bytes_share"],
            "bound_by": total["bound_by"],
            "op_count": len(ops),
            "executions": executions,
        },
        "paths": paths,
        "tree": _tree(sums["annotations"], path_index, extents),
        **_op_columns(listed_ops, categories, path_index, work.occurrences),
        "rest": _rest(ops[len(listed_ops) :], path_index),
        "verdict": _verdict(chosen, ops, sums, category_ps, repeated, len(listed_ops)),
        "notes": work_notes(chosen, listed_ops, sums),
    }


def _shown_paths(rows: Iterable[Row], all_paths: Container[str]) -> dict[str | None, str | None]:
    """Maps each path to the path under which the tree shows it: itself, or its nearest ancestor among the MAX_PATHS
    with most time; None without such an ancestor."""
    times: Counter[str] = Counter()
    paths = set()
    for row in rows:
        paths.add(row["annotation"])
        for path in with_outer_paths(row["annotation"], all_paths):
            times[path] += row["self_ps"]
    shown = set(sorted(times, key=lambda path: (-times[path], path.count("/"), path))[:MAX_PATHS])
    return {
        path: next((ancestor for ancestor in with_outer_paths(path, all_paths) if ancestor in shown), None)
        for path in paths
    }


def _extents(rows: Iterable[Row], work: _Work) -> dict[str | None, tuple[int, int]]:
    """Returns, per path, the start of its first op and the end of its last one."""
    extents: dict[str | None, tuple[int, int]] = {}
    for row in rows:
        occurrence = work.occurrences[row["program"], row["op"], row["path"]]
        paths: list[str | None] = [*with_outer_paths(row["annotation"], work.kinds)]
        for path in paths or [None]:
            first, last = extents.get(path, (occurrence.first_ps, occurrence.last_ps))
            extents[path] = min(first, occurrence.first_ps), max(last, occurrence.last_ps)
    return extents


def _tree(
    rows: Sequence[Row],
    path_index: Mapping[str | None, int],
    extents: Mapping[str | None, tuple[int, int]],
) -> WorkTree:
    own_sums = [row["own"] for row in rows]
    extents_of_rows = [extents.get(row["path"], (None, None)) for row in rows]
    return {
        "path": [path_index[row["path"]] for row in rows],
        "self_ps": [row["self_ps"] for row in rows],
        "own_ps": [row["self_ps"] for row in own_sums],
        "flops_share": _rounded(row["flops_share"] for row in rows),
        "bytes_share": _rounded(row["bytes_share"] for row in rows),
        "bound_by": [row["bound_by"] for row in rows],
        "own_flops_share": _rounded(row["flops_share"] for row in own_sums),
        "own_bytes_share": _rounded(row["bytes_share"] for row in own_sums),
        "own_bound_by": [row["bound_by"] for row in own_sums],
        "first_ps": [first for first, _ in extents_of_rows],
        "last_ps": [last for _, last in extents_of_rows],
    }


def _rounded(shares: Iterable[float | None]) -> list[float | None]:
    return [None if share is None else _round(share) for share in shares]


def _round(share: float) -> float:
    """Rounds to six significant digits."""
    return float(f"{share:.6g}")


def _op_columns(
    rows: Sequence[Row],
    categories: Sequence[str],
    path_index: Mapping[str | None, int],
    occurrences: Mapping[Key, Occurrence],
) -> ListedOps:
    """Returns the columns of the listed ops (`ops`), and the texts that they refer to by index."""
    programs: dict[str, int] = {}
    sources: dict[str, int] = {}
    timeline_rows: dict[str, int] = {}

    def index(texts: dict[str, int], text: str) -> int:
        return texts.setdefault(text, len(texts))

    category_index = {category: position for position, category in enumerate(categories)}
    occurrences_of_rows = [occurrences.get((row["program"], row["op"], row["path"])) for row in rows]
    return {
        "ops": {
            "op": [row["op"] for row in rows],
            "program": [index(programs, row["program"]) for row in rows],
            "category": [category_index[row["category"]] for row in rows],
            "path": [path_index[row["path"]] for row in rows],
            "shape": [row["shape"] for row in rows],
            "source": [index(sources, row["source"]) if row["source"] else -1 for row in rows],
            "executions": [row["executions"] for row in rows],
            "self_ps": [row["self_ps"] for row in rows],
            "flops": [row["flops"] for row in rows],
            "hbm_bytes": [row["hbm_bytes"] for row in rows],
            "flops_share": _rounded(row["flops_share"] for row in rows),
            "bytes_share": _rounded(row["bytes_share"] for row in rows),
            "bound_by": [row["bound_by"] for row in rows],
            "kind": [row["kind"] for row in rows],
            "run": [
                (index(timeline_rows, longest.row), longest.start_ps, longest.depth, longest.duration_ps)
                if longest
                else None
                for longest in occurrences_of_rows
            ],
        },
        "programs": list(programs),
        "sources": list(sources),
        "rows": list(timeline_rows),
    }


def _repeated(rows: Sequence[Row], roof: Roof) -> dict[int, Row]:
    """Returns the ops that repeat, by the index of each of their rows: sums with their `name`."""
    groups: dict[int, Row] = {}
    for group in group_repeated(
        row | {"annotation": row["path"], "index": index} for index, row in enumerate(rows)
    ):
        if op_count(group) > 1:
            shown = {"name": group_name(group), **sum_rows(group, roof, 0)}
            groups |= dict.fromkeys((row["index"] for row in group), shown)
    return groups


def _rest(rows: Iterable[Row], path_index: Mapping[str | None, int]) -> list[RestOps]:
    """Returns the sums of the ops that are not listed, by path and bound."""
    sums_of_key: dict[tuple[int, BoundBy], RestOps] = {}
    for row in rows:
        path, bound = path_index.get(row["annotation"], -1), row["bound_by"]
        sums = sums_of_key.setdefault(
            (path, bound), {"path": path, "bound_by": bound, "op_count": 0, "executions": 0, "self_ps": 0}
        )
        sums["op_count"] += 1
        sums["executions"] += row["executions"]
        sums["self_ps"] += row["self_ps"]
    return list(sums_of_key.values())


def _verdict(
    chosen: Chosen,
    ops: Sequence[Row],
    work: Row,
    category_ps: Mapping[str, int],
    repeated: Mapping[int, Row],
    listed_count: int,
) -> WorkVerdict:
    below = find_below_roof(ops, repeated, listed_count)
    op = None if below is None or below.is_near else below.op
    sentence = VerdictSentence(chosen, ops, work, category_ps, repeated, below)
    return {
        "text": sentence_parts(sentence.pieces()),
        "op": -1 if op is None else op,
    }
