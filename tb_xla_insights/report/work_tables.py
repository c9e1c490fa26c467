"""Tables of device work by annotation and by op, for the text output and the HTML report. The rows add up to all work
whatever their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tb_xla_insights.analysis.propagation.path_names import outer_path, path_text, short_names
from tb_xla_insights.device_work.peaks_text import peaks_text
from tb_xla_insights.device_work.repeated_ops import group_name, group_repeated
from tb_xla_insights.device_work.roofline import Roof
from tb_xla_insights.device_work.work_document import sum_rows
from tb_xla_insights.tables.annotations import WORK_BY_ANNOTATION, WORK_BY_OP
from tb_xla_insights.tables.definition import Definition
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

Row = Mapping[str, Any]

_NO_ANNOTATION, _ALL = "no annotation", "all ops"
_SUBTREE = "…"
"""The last part of the name of a row that includes all inner annotations."""
_BOUND_NAMES = {"unknown": "not known"}
_EMPTY_CELLS: Row = {"annotation": "", "category": "", "source": None, "executions": ""}
"""The cells of a row of several ops that have no common value."""
_MAX_UNLISTED_SHARE = 0.02
"""The largest share of the time in annotations without a row."""
_MIN_OP_SHARE = 0.0005
"""Ops with a smaller share of the time form one row, unless all ops have one."""


@dataclass(frozen=True)
class WorkTable:
    """Rows of a table, most time first. Times and shares as printed add up to those of `total`, all ops."""

    definition: Definition
    rows: list[Row]
    total: Row


def work_by_annotation(work: Row, max_rows: int) -> WorkTable:
    """The table of the report's `device_work` by annotation, with at most `max_rows` rows (see `fit_rows`)."""
    rows = _limit_rows(fit_rows(work["annotations"], max_rows), max_rows)
    return _table(WORK_BY_ANNOTATION, rows, work["total"])


def fit_rows(annotations: Iterable[Row], max_rows: int) -> list[Row]:
    """Rows of a tree of annotations that add up to the whole tree, most time first, each with a `name`.

    Starts with the outermost annotations, whose rows include all inner ones and whose names end in `/…`. Then replaces
    the row with most time by rows of the next inner annotations and a row of its own ops, unless the rows beyond the
    first `max_rows` would have more than _MAX_UNLISTED_SHARE of the time.

    Each annotation has `path` (None: ops without an annotation), `self_ps` with all inner annotations, and in `own` the
    same keys without them.
    """
    annotations = list(annotations)
    paths = {row["path"] for row in annotations}
    children: dict[str, list[Row]] = {}
    for row in annotations:
        children.setdefault(outer_path(row["path"] or "", paths), []).append(row)

    def collapse(row: Row) -> Row:
        path = row["path"]
        if path in children:
            return {**row, "name": f"{path_text(path)}/{_SUBTREE}"}
        return {**row["own"], "name": path_text(path) if path else _NO_ANNOTATION}

    def expand(row: Row) -> list[Row]:
        own_row = [{**row["own"], "name": path_text(row["path"])}] if row["own"]["self_ps"] else []
        return [*map(collapse, children[row["path"]]), *own_row]

    rows = _longest_first(map(collapse, children.get("", [])))
    max_unlisted_ps = _MAX_UNLISTED_SHARE * sum(row["self_ps"] for row in rows)
    tried_paths: set[str] = set()
    while largest := next(
        (row for row in rows[: max_rows - 1] if "path" in row and row["path"] not in tried_paths), None
    ):
        tried_paths.add(largest["path"])
        candidate = _longest_first([*(row for row in rows if row is not largest), *expand(largest)])
        if _unlisted_ps(candidate, max_rows) <= max_unlisted_ps:
            rows = candidate
    return rows


def work_by_op(ops: Sequence[Row], work: Row, max_rows: int) -> WorkTable:
    """The table of the report's `ops`, with at most `max_rows` rows. Ops that repeat have one row per group, kernels
    without a program one per name."""
    names = short_names([row["path"] for row in work["annotations"] if row["path"]])
    total_ps = work["total"]["self_ps"]
    ordered = _longest_first(_merge_equal_ops(ops, work, lambda path: names.get(path) or path_text(path)))
    large_count = sum(row["self_ps"] >= _MIN_OP_SHARE * total_ps for row in ordered)
    some_are_small = 0 < large_count < len(ordered)
    rows = _limit_rows(ordered, min(max_rows, large_count + 1) if some_are_small else max_rows)
    return _table(WORK_BY_OP, rows, work["total"])


def peaks_note(work: Row) -> str:
    """The peaks that shares refer to, and the share of the time for which FLOPs are known."""
    peaks, total = work["peaks"], work["total"]
    is_known = peaks["flops_per_s"] or peaks["bytes_per_s"]
    text = f"{peaks_text(peaks)}{'' if is_known else ': give them with --peaks FLOPS,BYTES'}."
    work_ps, flops_known_ps = total["work_ps"], total["flops_known_ps"]
    counts = (
        f"FLOPs are known for {units.share(flops_known_ps / total['self_ps'])} of the time"
        if flops_known_ps
        else "its FLOPs are not known"
    )
    if 0 < flops_known_ps < work_ps:
        counts += ", and count as 0 elsewhere"
    return f"{text} {units.share(work_ps / total['self_ps'])} of the time is work; {counts}."


def _merge_equal_ops(ops: Sequence[Row], work: Row, name_of: Callable[[str], str]) -> list[Row]:
    """A row per group of ops that repeat, and per name of kernels without a program, of which only the time is known.
    `name_of`: the name of an annotation, by its path."""
    kernels: dict[str, list[Row]] = {}
    for row in ops:
        if row["category"] == "kernel":
            kernels.setdefault(row["op"], []).append(row)
    groups = group_repeated(row for row in ops if row["category"] != "kernel")
    peaks, total_ps = work["peaks"], work["total"]["self_ps"]
    roof = Roof(peaks["flops_per_s"], peaks["bytes_per_s"])
    return [
        {
            **sum_rows(rows, roof, total_ps),
            "name": group_name(rows),
            "category": rows[0]["category"],
            "annotation": _annotation_text([row["annotation"] for row in rows], name_of),
            "executions": _executions(rows),
            "source": rows[0]["source"] if len({row["source"] for row in rows}) == 1 else None,
        }
        for rows in (*groups, *kernels.values())
    ]


def _executions(rows: Iterable[Row]) -> int:
    """The number of executions of some ops. Those of an op of several annotations are in each of its rows; a kernel
    without a program is another op in each annotation."""
    counts = {
        (row["program"], row["op"]) if row["program"] else (row["annotation"], row["op"]): row["executions"]
        for row in rows
    }
    return sum(counts.values())


def _annotation_text(paths: Iterable[str | None], name_of: Callable[[str], str]) -> str:
    """The name of the only annotation, or the number of annotations."""
    distinct = set(paths)
    if len(distinct) == 1:
        (path,) = distinct
        return _NO_ANNOTATION if path is None else name_of(path)
    return f"{plural(len(distinct - {None}), 'annotation')}{' or none' if None in distinct else ''}"


def _longest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -row["self_ps"])


def _unlisted_ps(ordered: Sequence[Row], max_rows: int) -> int:
    """The time of the rows that do not fit, which the last row sums up."""
    return sum(row["self_ps"] for row in ordered[max_rows - 1 :]) if len(ordered) > max_rows else 0


def _limit_rows(ordered: Sequence[Row], max_rows: int) -> list[Row]:
    """At most `max_rows` rows; the last one sums up all that do not fit."""
    if len(ordered) <= max_rows:
        return list(ordered)
    unknown_cells = dict.fromkeys(("flops", "flops_share", "bytes_share", "bound_by"))
    other_count = units.count(len(ordered) - max_rows + 1)
    rest = ordered[max_rows - 1 :]
    other_sums = {"name": f"{other_count} others"} | {
        key: sum(row[key] for row in rest) for key in ("self_ps", "work_ps")
    }
    return [*ordered[: max_rows - 1], {**_EMPTY_CELLS, **unknown_cells, **other_sums}]


def _table(definition: Definition, rows: Sequence[Row], total: Row) -> WorkTable:
    total_ps = total["self_ps"]
    precision_ps = units.PS_PER[units.column_unit([total_ps])] // 1000
    durations = [row["self_ps"] for row in rows]
    times = units.rounded_parts(durations, total_ps, precision_ps)
    shares = units.shares(durations, total_ps)
    texts = [
        _display_row(row, {"self_ps": ps, "share": share})
        for row, ps, share in zip(rows, times, shares, strict=True)
    ]
    total_row = {**_EMPTY_CELLS, **total, "name": _ALL}
    return WorkTable(definition, texts, _display_row(total_row, {"share": units.share(1.0)}))


def _display_row(row: Row, rounded: Row) -> Row:
    """The row with rounded values; its name stands for the annotation in a table by annotation, else for the op."""
    flops, rate = row["flops"], None
    if flops is not None and row["work_ps"]:
        rate = units.rate(flops / row["work_ps"]) if flops else "0"  # FLOPs per picosecond
    return {
        **row,
        "other_ps": row["self_ps"] - row["work_ps"],
        "path": row["name"],
        "op": row["name"],
        "source": row.get("source") or "",
        "tflops_per_s": rate,
        "bound_by": _BOUND_NAMES.get(row["bound_by"], row["bound_by"] or ""),
        **rounded,
    }
