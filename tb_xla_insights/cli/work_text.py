"""What the devices do, as text: where most time goes, by annotation and by op, and how far that is from the peaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common
from tb_xla_insights.units import THIN

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]

_WORDS = {"unknown": "not known"}
_SOURCES = {"capture": "from the capture", "table": "by the maker", "user": "as you gave them"}
_PS_PER_S = 10**12
_LEAST = 0.0005
"""Ops with a smaller share of the time are not listed."""


def print_work(out: Console, ops: Sequence[Document], work: Document) -> None:
    """Prints the keys `ops` and `device_work` of a report; nothing without ops."""
    if work["total"]["self_ps"]:
        unit = units.column_unit([work["total"]["self_ps"]])
        _by_annotation(out, work, unit)
        _by_op(out, ops, work["total"]["self_ps"], unit)
        _peaks(out, work)


def _by_annotation(out: Console, work: Document, unit: str) -> None:
    rows = [row for row in work["annotations"] if row["own"]["self_ps"]]
    rows.sort(key=lambda row: -row["own"]["self_ps"])
    title = f"Device work by annotation (all cores{_more(rows)})"
    table = common.table(title, "Annotation", *_heads(unit), left=(0, 6))
    for row in rows[: common.ROWS]:
        table.add_row(row["path"] or "no annotation", *_cells(row["own"], unit))
    table.add_row("all ops", *_cells(work["total"], unit))
    out.print(table)


def _by_op(out: Console, ops: Sequence[Document], whole_ps: int, unit: str) -> None:
    heads = ("Op", "Category", "Annotation", "Executions", *_heads(unit), "Line")
    table = common.table(f"Device work by op (all cores{_more(ops)})", *heads, left=(0, 1, 2, 9, 10))
    for row in ops[: common.ROWS]:
        if row["self_ps"] < _LEAST * whole_ps:
            break
        leaf = (row["annotation"] or "").rpartition("/")[2]
        told = (common.cut_middle(row["op"]), row["category"], leaf, units.count(row["executions"]))
        table.add_row(*told, *_cells({**row, "share": row["self_ps"] / whole_ps}, unit), row["source"] or "")
    out.print(table)


def _heads(unit: str) -> tuple[str, ...]:
    return f"Time, {unit}", "Share", "TFLOP/s", "FLOP/s, of peak", "HBM, of peak", "Bound by"


def _more(rows: Sequence[Document]) -> str:
    return f"; the {common.ROWS} longest of {units.count(len(rows))}" if len(rows) > common.ROWS else ""


def _cells(row: Document, unit: str) -> list[str]:
    bound: str = row["bound_by"]
    seconds = row["self_ps"] / _PS_PER_S
    # No FLOPs of the few ops that have a count say nothing of the others.
    known = row["flops"] or (row["flops"] == 0 and row["counted_ps"] == row["work_ps"])
    works = row.get("kind", "work") == "work" and known and seconds
    return [
        units.time_in(row["self_ps"], unit),
        units.share(row["share"]),
        units.rate(row["flops"] / seconds / 1e12) if works else units.MISSING,
        units.share(row["flops_share"] if works else None),
        units.share(row["bytes_share"]),
        _WORDS.get(bound, bound),
    ]


def _peaks(out: Console, work: Document) -> None:
    """What the shares are of, and of how much of the time the FLOPs are known."""
    peaks, total = work["peaks"], work["total"]
    told = [
        f"{units.rate(peaks[key] / scale)}{THIN}{name}"
        for key, scale, name in (("flops_per_s", 1e12, "TFLOP/s"), ("bytes_per_s", 1e9, "GB/s"))
        if peaks[key]
    ]
    kinds = ", ".join(dict.fromkeys(row["kind"] for row in peaks["devices"]))
    known = f"Peaks ({kinds}): {' and '.join(told)}, {_SOURCES.get(peaks['source'], 'not all alike')}."
    text = known if told else f"Peaks ({kinds}) are not known: give them with --peaks FLOPS,BYTES."
    works, counted = total["work_ps"], units.share(total["counted_ps"] / max(1, total["work_ps"]))
    share = units.share(works / total["self_ps"])
    common.say(
        out,
        f"{text} {share} of the time is work; FLOPs are known of {counted} of that, and count as 0 elsewhere.",
    )
    out.print()
