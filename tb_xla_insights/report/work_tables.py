"""Device work as tables that the text and the HTML page share: by annotation and by op, in rows that add up however few
there is room for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tb_xla_insights import units
from tb_xla_insights.units import THIN

Row = Mapping[str, Any]

TEXT_COLUMNS = ("Op", "Category", "Annotation", "Bound by", "Source")
"""Columns of words; the others are of numbers."""

_NO_ANNOTATION, _ALL = "no annotation", "all ops"
_INSIDE = "…"
"""At the end of a name: all inside of it."""
_BOUNDS = {"unknown": "not known"}
_NOTHING: Row = {"annotation": "", "category": "", "source": None, "executions": None}
"""What several ops have not in common."""
_SOURCES = {"capture": "from the capture", "table": "from the table of known devices", "user": "set by you"}
_HARDLY = 0.02
"""So much of the time may be of annotations without a row."""
_LEAST = 0.0005
"""Ops with a smaller share of the time are told together."""


@dataclass(frozen=True)
class WorkTable:
    """Rows with their texts by the heads of the columns, those with most time first; times and shares as printed add up
    to those of `total`, all ops."""

    title: str
    rows: list[dict[str, str]]
    total: dict[str, str]


def by_annotation(work: Row, most: int) -> WorkTable:
    """Of the report's `device_work`, at most so many rows (see `fit_rows`)."""
    rows = _cut(fit_rows(work["annotations"], most), most)
    return _table("Device work by annotation", rows, work["total"], _cells_of_annotation)


def fit_rows(annotations: Iterable[Row], most: int) -> list[Row]:
    """Of a tree of annotations, rows that add up to all of it, those with most time first, and `name`. As long as
    hardly any time is left behind the first `most` of them, the annotation with most time gives way to those inside of
    it and a row of its own ops; else its row has all ops inside of it, and its name ends in `/…`.

    Of each annotation it takes `path` (None: none), `self_ps` with all inside of it, and in `own` the same without.
    """
    inside: dict[str, list[Row]] = {}
    for row in annotations:
        inside.setdefault((row["path"] or "").rpartition("/")[0], []).append(row)

    def closed(row: Row) -> Row:
        path = row["path"]
        if path in inside:
            return {**row, "name": f"{path}/{_INSIDE}"}
        return {**row["own"], "name": path or _NO_ANNOTATION}

    def opened(row: Row) -> list[Row]:
        own = [{**row["own"], "name": row["path"]}] if row["own"]["self_ps"] else []
        return [*map(closed, inside[row["path"]]), *own]

    shown = _longest_first(map(closed, inside.get("", [])))
    hardly_ps = _HARDLY * sum(row["self_ps"] for row in shown)
    tried: set[str] = set()
    while largest := next((it for it in shown[: most - 1] if "path" in it and it["path"] not in tried), None):
        tried.add(largest["path"])
        more = _longest_first([*(it for it in shown if it is not largest), *opened(largest)])
        if _without_row(more, most) <= hardly_ps:
            shown = more
    return shown


def by_op(ops: Sequence[Row], work: Row, most: int) -> WorkTable:
    """Of the report's `ops`, at most so many rows. An annotation is told by its last part where no other one here ends
    like it; kernels without a program are one row for each name."""
    whole_ps = work["total"]["self_ps"]
    every = _longest_first(_kernels_together(ops))
    large = sum(row["self_ps"] >= _LEAST * whole_ps for row in every)
    rows = _cut(every, most if large == len(every) else min(most, large + 1))
    leaves: dict[str, set[str]] = {}
    for row in rows:
        leaves.setdefault(_leaf(row), set()).add(row["annotation"])
    clear = [{**row, "annotation": _leaf(row)} if len(leaves[_leaf(row)]) == 1 else row for row in rows]
    return _table("Device work by op", clear, work["total"], _cells_of_op)


def peaks_text(work: Row) -> str:
    """What the shares of the peaks are of, and of how much of the time the FLOPs are known."""
    peaks, total = work["peaks"], work["total"]
    told = [
        f"{units.rate(peaks[key] / scale)}{THIN}{name}"
        for key, scale, name in (("flops_per_s", 1e12, "TFLOP/s"), ("bytes_per_s", 1e9, "GB/s"))
        if peaks[key]
    ]
    kinds = ", ".join(dict.fromkeys(row["kind"] for row in peaks["devices"]))
    known = f"Peaks ({kinds}): {' and '.join(told)}, {_SOURCES.get(peaks['source'], 'from several sources')}."
    text = known if told else f"Peaks ({kinds}) are not known: give them with --peaks FLOPS,BYTES."
    works, counted = total["work_ps"], total["counted_ps"]
    counts = (
        f"FLOPs are known of {units.share(counted / works)} of that" if counted else "its FLOPs are not known"
    )
    if 0 < counted < works:
        counts += ", and count as 0 elsewhere"
    return f"{text} {units.share(works / total['self_ps'])} of the time is work; {counts}."


def _leaf(row: Row) -> str:
    return _NO_ANNOTATION if row["annotation"] is None else row["annotation"].rpartition("/")[2]


def _kernels_together(ops: Sequence[Row]) -> list[Row]:
    """Ops with their `name`; of kernels without a program no more is known than their time."""
    kernels: dict[str, list[Row]] = {}
    for row in ops:
        if row["category"] == "kernel":
            kernels.setdefault(row["op"], []).append(row)
    found: list[Row] = [{**row, "name": row["op"]} for row in ops if row["category"] != "kernel"]
    for name, rows in kernels.items():
        paths, sources = ({row[key] for row in rows} for key in ("annotation", "source"))
        found.append(
            {
                **rows[0],
                **{key: sum(row[key] for row in rows) for key in ("executions", "self_ps")},
                "name": name,
                "annotation": paths.pop() if len(paths) == 1 else f"{units.count(len(paths))} annotations",
                "source": sources.pop() if len(sources) == 1 else None,
            }
        )
    return found


def _longest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -row["self_ps"])


def _without_row(ordered: Sequence[Row], most: int) -> int:
    """The time of what is told in one row at the end."""
    return sum(row["self_ps"] for row in ordered[most - 1 :]) if len(ordered) > most else 0


def _cut(ordered: Sequence[Row], most: int) -> list[Row]:
    """So many rows, the last one of all that have none of their own."""
    if len(ordered) <= most:
        return list(ordered)
    unknown = dict.fromkeys(("kind", "flops", "flops_share", "bytes_share", "bound_by"))
    rest = {"name": f"{units.count(len(ordered) - most + 1)} others", "self_ps": _without_row(ordered, most)}
    return [*ordered[: most - 1], {**_NOTHING, **unknown, **rest}]


def _table(
    title: str, rows: Sequence[Row], total: Row, cells: Callable[[Row, str, str, str], dict[str, str]]
) -> WorkTable:
    whole_ps = total["self_ps"]
    unit = units.column_unit([whole_ps])
    own = [row["self_ps"] for row in rows]
    times = units.rounded_parts(own, whole_ps, units.PS_PER[unit] // 1000)
    told = [
        cells(row, unit, units.time_in(ps, unit), share)
        for row, ps, share in zip(rows, times, units.shares(own, whole_ps), strict=True)
    ]
    every = {**_NOTHING, **total, "name": _ALL, "kind": "work"}
    return WorkTable(title, told, cells(every, unit, units.time_in(whole_ps, unit), units.share(1.0)))


def _cells_of_annotation(row: Row, unit: str, time: str, share: str) -> dict[str, str]:
    return {"Annotation": row["name"], f"Time, {unit}": time, "Share": share, **_rates(row, row["flops"])}


def _cells_of_op(row: Row, unit: str, time: str, share: str) -> dict[str, str]:
    # What a collective computes on its way says nothing of the device.
    rates = _rates(row, row["flops"] if row["kind"] == "work" else None)
    return {
        "Op": row["name"],
        "Category": row["category"],
        "Annotation": row["annotation"],
        "Executions": "" if row["executions"] is None else units.count(row["executions"]),
        f"Self time, {unit}": time,
        "Share": share,
        **rates,
        "Source": row["source"] or "",
    }


def _rates(row: Row, flops: int | None) -> dict[str, str]:
    known = flops is not None and row["self_ps"]
    return {
        # FLOPs per picosecond
        "TFLOP/s": (units.rate(flops / row["self_ps"]) if flops else "0") if known else units.MISSING,
        "FLOP/s, of peak": units.share(row["flops_share"]),
        "HBM, of peak": units.share(row["bytes_share"]),
        "Bound by": _BOUNDS.get(row["bound_by"], row["bound_by"] or ""),
    }
