"""Prints the report's annotations: their costs, the origin of the device's time, and the order of phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common

if TYPE_CHECKING:
    from rich.console import Console

_MAX_ANNOTATIONS = 24
"""The maximum number of annotations; `--json` has all."""

Document = Mapping[str, Any]


def print_annotations(out: Console, rows: Sequence[Document], propagation: Document) -> None:
    """Prints the keys `annotations` and `propagation` of a report; nothing without annotations."""
    if not rows:
        return
    whole = propagation["device_ps"]
    unit = units.column_unit([whole, *(row["host_ps"] for row in rows)])
    heads = ("Count", f"Host, {unit}", f"Device, {unit}", "Device ops", "Launches", "Lost")
    table = common.table(
        "Annotations on the device (device time: all cores)", "Annotation", *heads, left=(0, 6)
    )
    for row in rows[:_MAX_ANNOTATIONS]:
        name = "  " * row["path"].count("/") + _leaf(row["path"])
        numbers = [units.count(row["count"]), *common.times(row, unit, "host_ps", "device_ps")]
        counts = [units.count(row[key]) for key in ("device_ops", "executions")]
        table.add_row(name, *numbers, *counts, row["lost"] or "")
    if len(rows) > _MAX_ANNOTATIONS:
        table.add_row(f"… {units.count(len(rows) - _MAX_ANNOTATIONS)} more")
    bare = propagation["bare_ps"] + propagation["none_ps"]
    table.add_row("no annotation", "", "", units.time_in(bare, unit))
    table.add_row("all ops", "", "", units.time_in(whole, unit))
    out.print(table)
    if whole:
        _origins(out, propagation)
        _order(out, [program for program in propagation["programs"] if program["phases"]])
        _ops(out, "Device time without an annotation", propagation["unexplained"], "Scope")
        _ops(out, "Ops of several annotations", propagation["mixed"], "Divided among")
    _lost(out, rows)


def _origins(out: Console, propagation: Document) -> None:
    whole = propagation["device_ps"]
    names = ("direct", "recovered", "bare", "none")
    shares = units.shares([propagation[f"{name}_ps"] for name in names], whole)
    parts = [f"{share} {name}" for share, name in zip(shares, names, strict=True)]
    common.print_paragraph(out, f"Of {units.time_text(whole)} in ops, all cores: {', '.join(parts)}.")
    out.print()


def _order(out: Console, programs: Sequence[Document]) -> None:
    if not programs:
        return
    unit = units.column_unit([row["device_ps"] for row in programs])
    heads = ("Executions", f"Device, {unit}", "Runs", "Phases", "Inverted")
    title = "Order of phases on the device (all cores; runs and phases of an execution)"
    table = common.table(title, "Program", *heads)
    for row in programs[: common.ROWS]:
        numbers = [units.count(row["executions"]), *common.times(row, unit, "device_ps")]
        counts = [units.count(row[key]) for key in ("runs", "phases")]
        table.add_row(row["program"], *numbers, *counts, units.share(row["inversion_share"]))
    out.print(table)


def _ops(out: Console, title: str, rows: Sequence[Document], scope: str) -> None:
    if not rows:
        return
    unit = units.column_unit([row["device_ps"] for row in rows])
    longest = f"; the {common.ROWS} longest" if len(rows) > common.ROWS else ""
    table = common.table(
        f"{title} (all cores{longest})", "Op", f"Time, {unit}", scope, "Line", left=(0, 2, 3)
    )
    for row in rows[: common.ROWS]:
        parts = [f"{_leaf(part['path'])} {units.share(part['share'])}" for part in row.get("parts", ())]
        table.add_row(
            units.cut_middle(row.get("name") or row["op"]),
            *common.times(row, unit, "device_ps"),
            ", ".join(parts) or row["state"],
            row["source"] or units.MISSING,
        )
    out.print(table)


def _lost(out: Console, rows: Sequence[Document]) -> None:
    """Prints a line per reason: the annotations lost for it, and the remedy."""
    from tb_xla_insights.analysis.propagation.lost import ADVICE

    for reason in dict.fromkeys(row["lost"] for row in rows if row["lost"]):
        names = [_leaf(row["path"]) for row in rows if row["lost"] == reason]
        common.print_paragraph(out, f"Lost, {reason}: {', '.join(names)}. {ADVICE[reason]}")
    if any(row["lost"] for row in rows):
        out.print()


def _leaf(path: str) -> str:
    return path.rpartition("/")[2]
