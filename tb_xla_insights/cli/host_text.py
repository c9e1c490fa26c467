"""Prints the host's work for devices: executions, early executions, compilations, transfers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import elements
from tb_xla_insights.english import plural
from tb_xla_insights.report.launch_rows import compile_row, mean_run, transfer_rows
from tb_xla_insights.tables.launches import COMPILES, EARLY_EXECUTIONS, EXECUTIONS, TRANSFERS
from tb_xla_insights.units import NARROW_SPACE

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]
_TRIGGERS = {"read": "value read", "step_marker": "step marker"}


def print_early_executions(
    out: Console, rows: Sequence[Document], steps: Sequence[Document], host_count: int
) -> None:
    """Prints the early executions in order of time."""
    if not rows:
        return
    more = f"; the first {elements.MAX_ROWS}" if len(rows) > elements.MAX_ROWS else ""
    title = f"{EARLY_EXECUTIONS.title} ({units.count(len(rows))}{more}; device and idle time: all cores)"

    def step_text(row: Document) -> str:
        return units.step_name(row["step"], None if row["step"] is None else steps[row["step"]]["number"])

    definition = elements.without_single_host(EARLY_EXECUTIONS, host_count)
    cells = {"step": step_text, "trigger": lambda row: _TRIGGERS[row["trigger"]]}
    out.print(elements.table(definition, rows[: elements.MAX_ROWS], cells, title=title))


def print_executions(out: Console, rows: Sequence[Document], launching: Document) -> None:
    """Prints mean times per run and their spread, the fixed cost of an execution, and the host's lead."""
    if not rows:
        return
    means = [mean_run(row) for row in rows[: elements.MAX_ROWS]]
    title = f"{EXECUTIONS.title} ({EXECUTIONS.note}{units.cut_note(elements.MAX_ROWS, len(rows))})"
    out.print(elements.table(EXECUTIONS.without("overhead_share"), means, title=title))
    notes = [*_lead_notes(launching["lead"]), *_fixed_cost_notes(launching["fixed"])]
    if any(set(row["joins"]) != {"exact"} for row in rows):
        notes.append(
            "Join: how a run was matched to its launch, exact (by flow or key), ordered (by order) or none."
        )
    for note in notes:
        elements.print_paragraph(out, note)
    if notes:
        out.print()


def _lead_notes(lead: Document | None) -> list[str]:
    if lead is None:
        return []
    unit = units.column_unit([lead["min_ps"], lead["max_ps"]])
    median, low, high = (
        f"{units.time_in(lead[key], unit)}{NARROW_SPACE}{unit}" for key in ("median_ps", "min_ps", "max_ps")
    )
    span = f"from {low} to {high} over {plural(lead['runs'], 'run')}"
    if lead["median_ps"] >= 0 > lead["min_ps"]:
        wait = low.removeprefix(units.MINUS)
        text = (
            f"The host runs ahead of most runs: they are enqueued {median} before the device is free for them"
        )
        return [f"{text} (median; {span}). For the others a free device waits, for up to {wait}."]
    if lead["median_ps"] >= 0:
        return [
            f"The host runs ahead: a run is enqueued {median} before the device is free for it (median; {span})."
        ]
    wait = median.removeprefix(units.MINUS)
    return [f"The host does not run ahead: a free device waits {wait} for a run (median; lead {span})."]


def _fixed_cost_notes(fixed: Document | None) -> list[str]:
    if fixed is None:
        return []
    runs = f"fitted to {units.count(fixed['runs'])} runs"
    if not fixed["fixed_ps"]:
        return [f"The fixed cost of an execution is indistinguishable from zero ({runs})."]
    more = f" and {units.share(fixed['slope'])} of its device time" if fixed["slope"] >= 0.001 else ""
    cost = units.time_text(fixed["fixed_ps"])
    return [f"Beyond its device time, an execution costs a fixed {cost}{more} ({runs})."]


def print_compiles(out: Console, rows: Sequence[Document], host_count: int) -> None:
    """Prints the compilations in order of time."""
    if not rows:
        return
    more = f"; the first {elements.MAX_ROWS}" if len(rows) > elements.MAX_ROWS else ""
    table = elements.table(
        elements.without_single_host(COMPILES, host_count),
        [compile_row(row) for row in rows[: elements.MAX_ROWS]],
        {
            "graph_hash": lambda row: (row["graph_hash"] or units.MISSING)[:8],
            "graphs_of_same_name": _same_name_graphs_text,
        },
        title=f"{COMPILES.title} ({units.count(len(rows))}{more}; idle time: all cores)",
    )
    out.print(table)


def _same_name_graphs_text(row: Document) -> str:
    """Other graphs with the same module name: hashes shortened as in `Graph`, or `module(program id)` of
    graphs that only ran in the capture."""
    graphs = row["graphs_of_same_name"]
    names = [graph if graph.endswith(")") else graph[:8] for graph in graphs[:3]]
    return ", ".join([*names, *([f"{len(graphs) - 3} more"] if len(graphs) > 3 else [])]) or units.MISSING


def print_transfers(out: Console, transfers: Mapping[str, Document]) -> None:
    """Prints the transfers by direction."""
    rows = transfer_rows(transfers)
    if any(row["count"] for row in rows):
        out.print(elements.table(TRANSFERS, rows))
