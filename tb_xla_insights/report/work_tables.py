"""Tables of device work by annotation and by op, for the text output and the HTML report. The rows add up to all work
whatever their number."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tb_xla_insights import units
from tb_xla_insights.analysis.propagation.tree import name_and_depth, outer_path
from tb_xla_insights.english import plural
from tb_xla_insights.tables.annotations import WORK_BY_ANNOTATION, WORK_BY_OP
from tb_xla_insights.tables.definition import Definition
from tb_xla_insights.units import NARROW_SPACE

Row = Mapping[str, Any]

_NO_ANNOTATION, _ALL = "no annotation", "all ops"
_SUBTREE = "…"
"""The last part of the name of a row that includes all inner annotations."""
_BOUND_NAMES = {"unknown": "not known"}
_EMPTY_CELLS: Row = {"annotation": "", "category": "", "source": None, "executions": ""}
"""The cells of a row of several ops that have no common value."""
_PEAK_SOURCES = {
    "capture": "from the capture",
    "table": "from the table of known devices",
    "user": "set by you",
}
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
            return {**row, "name": f"{path}/{_SUBTREE}"}
        return {**row["own"], "name": path or _NO_ANNOTATION}

    def expand(row: Row) -> list[Row]:
        own_row = [{**row["own"], "name": row["path"]}] if row["own"]["self_ps"] else []
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
    """The table of the report's `ops`, with at most `max_rows` rows. An annotation is shortened to its last name if
    that is unique in the table; kernels without a program have one row per name."""
    paths = {row["path"] for row in work["annotations"]}
    total_ps = work["total"]["self_ps"]
    ordered = _longest_first(_merge_kernels(ops))
    large_count = sum(row["self_ps"] >= _MIN_OP_SHARE * total_ps for row in ordered)
    some_are_small = 0 < large_count < len(ordered)
    rows = _limit_rows(ordered, min(max_rows, large_count + 1) if some_are_small else max_rows)
    names = [_last_name(row, paths) for row in rows]
    annotations_by_name: dict[str, set[str]] = {}
    for row, name in zip(rows, names, strict=True):
        annotations_by_name.setdefault(name, set()).add(row["annotation"])
    shortened_rows = [
        {
            **row,
            "annotation": name if len(annotations_by_name[name]) == 1 else row["annotation"],
            # FLOPs of a collective do not measure the device.
            "flops": row["flops"] if row["kind"] == "work" else None,
        }
        for row, name in zip(rows, names, strict=True)
    ]
    return _table(WORK_BY_OP, shortened_rows, work["total"])


def peaks_text(work: Row) -> str:
    """The peaks that shares refer to, and the share of the time for which FLOPs are known."""
    peaks, total = work["peaks"], work["total"]
    values = [
        f"{units.rate(peaks[key] / scale)}{NARROW_SPACE}{name}"
        for key, scale, name in (("flops_per_s", 1e12, "TFLOP/s"), ("bytes_per_s", 1e9, "GB/s"))
        if peaks[key]
    ]
    kinds = ", ".join(dict.fromkeys(row["kind"] for row in peaks["devices"]))
    if values:
        source = _PEAK_SOURCES.get(peaks["source"], "from several sources")
        text = f"Peaks ({kinds}): {' and '.join(values)}, {source}."
    else:
        text = f"Peaks ({kinds}) are not known: give them with --peaks FLOPS,BYTES."
    work_ps, flops_known_ps = total["work_ps"], total["flops_known_ps"]
    counts = (
        f"FLOPs are known for {units.share(flops_known_ps / total['self_ps'])} of the time"
        if flops_known_ps
        else "its FLOPs are not known"
    )
    if 0 < flops_known_ps < work_ps:
        counts += ", and count as 0 elsewhere"
    return f"{text} {units.share(work_ps / total['self_ps'])} of the time is work; {counts}."


def _last_name(row: Row, paths: Container[str]) -> str:
    return _NO_ANNOTATION if row["annotation"] is None else name_and_depth(row["annotation"], paths)[0]


def _merge_kernels(ops: Sequence[Row]) -> list[Row]:
    """Ops with a `name`; kernels without a program, of which only the time is known, as one row per name."""
    kernels: dict[str, list[Row]] = {}
    for row in ops:
        if row["category"] == "kernel":
            kernels.setdefault(row["op"], []).append(row)
    result: list[Row] = [{**row, "name": row["op"]} for row in ops if row["category"] != "kernel"]
    for name, rows in kernels.items():
        paths, sources = ({row[key] for row in rows} for key in ("annotation", "source"))
        or_none = " or none" if None in paths else ""
        several_paths = f"{plural(len(paths - {None}), 'annotation')}{or_none}"
        result.append(
            {
                **rows[0],
                **{key: sum(row[key] for row in rows) for key in ("executions", "self_ps")},
                "name": name,
                "annotation": paths.pop() if len(paths) == 1 else several_paths,
                "source": sources.pop() if len(sources) == 1 else None,
            }
        )
    return result


def _longest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -row["self_ps"])


def _unlisted_ps(ordered: Sequence[Row], max_rows: int) -> int:
    """The time of the rows that do not fit, which the last row sums up."""
    return sum(row["self_ps"] for row in ordered[max_rows - 1 :]) if len(ordered) > max_rows else 0


def _limit_rows(ordered: Sequence[Row], max_rows: int) -> list[Row]:
    """At most `max_rows` rows; the last one sums up all that do not fit."""
    if len(ordered) <= max_rows:
        return list(ordered)
    unknown_cells = dict.fromkeys(("kind", "flops", "flops_share", "bytes_share", "bound_by"))
    other_count = units.count(len(ordered) - max_rows + 1)
    other_sums = {"name": f"{other_count} others", "self_ps": _unlisted_ps(ordered, max_rows)}
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
    if flops is not None and row["self_ps"]:
        rate = units.rate(flops / row["self_ps"]) if flops else "0"  # FLOPs per picosecond
    return {
        **row,
        "path": row["name"],
        "op": row["name"],
        "source": row.get("source") or "",
        "tflops_per_s": rate,
        "bound_by": _BOUND_NAMES.get(row["bound_by"], row["bound_by"] or ""),
        **rounded,
    }
