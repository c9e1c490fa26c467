"""Prints the report's annotations: their costs, the origin of the device's time, and the order of phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import elements
from tb_xla_insights.report.origins_text import origins_text
from tb_xla_insights.tables.annotations import ANNOTATIONS, PHASES, SHARED_OPS, UNANNOTATED_OPS
from tb_xla_insights.tables.definition import Definition

if TYPE_CHECKING:
    from rich.console import Console

_MAX_ANNOTATIONS = 24
"""The maximum number of annotations; `--json` has all."""

Document = Mapping[str, Any]


def print_annotations(out: Console, rows: Sequence[Document], propagation: Document) -> None:
    """Prints the keys `annotations` and `propagation` of a report; nothing without annotations."""
    from tb_xla_insights.analysis.propagation.path_names import name_and_depth, short_names

    if not rows:
        return
    total_ps = propagation["device_ps"]
    paths = {row["path"] for row in rows}
    names = short_names(paths)
    shown_rows: list[Document] = []
    for row in rows[:_MAX_ANNOTATIONS]:
        name, depth = name_and_depth(row["path"], paths)
        shown_rows.append({**row, "path": "  " * depth + name, "lost": row["lost"] or ""})
    if len(rows) > _MAX_ANNOTATIONS:
        shown_rows.append({"path": f"… {units.count(len(rows) - _MAX_ANNOTATIONS)} more"})
    unannotated_ps = propagation["bare_ps"] + propagation["none_ps"]
    shown_rows.append({"path": "no annotation", "device_ps": unannotated_ps})
    out.print(elements.table(ANNOTATIONS, shown_rows, sums={"path": "all ops", "device_ps": total_ps}))
    if total_ps:
        elements.print_paragraph(out, origins_text(propagation))
        out.print()
        _print_order(out, [program for program in propagation["programs"] if program["phases"]])
        _print_ops(out, UNANNOTATED_OPS, propagation["unannotated_ops"], names)
        _print_ops(out, SHARED_OPS, propagation["shared_ops"], names)
    _print_lost(out, rows, names)


def _print_order(out: Console, programs: Sequence[Document]) -> None:
    if not programs:
        return
    title = f"{PHASES.title} ({PHASES.note}{units.cut_note(elements.MAX_ROWS, len(programs))})"
    out.print(elements.table(PHASES, programs[: elements.MAX_ROWS], title=title))


def _print_ops(
    out: Console, definition: Definition, rows: Sequence[Document], names: Mapping[str, str]
) -> None:
    from tb_xla_insights.analysis.propagation.path_names import path_text

    if not rows:
        return
    longest = f"; the {elements.MAX_ROWS} longest" if len(rows) > elements.MAX_ROWS else ""
    cells = {
        "op": lambda row: units.cut_middle(row.get("name") or row["op"]),
        "parts": lambda row: ", ".join(
            f"{names.get(part['path']) or path_text(part['path'])} {units.share(part['share'])}"
            for part in row["parts"]
        ),
    }
    title = f"{definition.title} (all cores{longest})"
    out.print(elements.table(definition, rows[: elements.MAX_ROWS], cells, title=title))


def _print_lost(out: Console, rows: Sequence[Document], names: Mapping[str, str]) -> None:
    """Prints a line per reason: the names of annotations lost for it, and the remedy."""
    from tb_xla_insights.analysis.propagation.lost import ADVICE

    for reason in dict.fromkeys(row["lost"] for row in rows if row["lost"]):
        lost_names = list(dict.fromkeys(names[row["path"]] for row in rows if row["lost"] == reason))
        more = len(lost_names) - elements.MAX_ROWS
        listed = [*lost_names[: elements.MAX_ROWS], *([f"{units.count(more)} more"] if more > 0 else [])]
        elements.print_paragraph(out, f"Lost, {reason}: {', '.join(listed)}. {ADVICE[reason]}")
    if any(row["lost"] for row in rows):
        out.print()
