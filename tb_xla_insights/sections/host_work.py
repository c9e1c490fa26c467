"""Sections on the host's work for devices: early executions, executions, compilations, transfers."""

from __future__ import annotations

from tb_xla_insights import units
from tb_xla_insights.english import plural
from tb_xla_insights.report.launch_rows import compile_row, mean_run, transfer_rows
from tb_xla_insights.sections.blocks import Detail, Paragraph, Row, Section, Table, noted
from tb_xla_insights.tables.definition import Definition
from tb_xla_insights.tables.launches import COMPILES, EARLY_EXECUTIONS, EXECUTIONS, TRANSFERS
from tb_xla_insights.units import NARROW_SPACE

_TRIGGERS = {"read": "value read", "step_marker": "step marker"}


def early_executions(report: Row, detail: Detail) -> Section | None:
    """The early executions in order of time."""
    rows, steps = report["early_executions"], report["steps"]
    if not rows:
        return None

    def step_text(row: Row) -> str:
        return units.step_name(row["step"], None if row["step"] is None else steps[row["step"]]["number"])

    definition = _in_order(EARLY_EXECUTIONS, report, len(rows), "device and idle time: all cores", detail)
    cells = {"step": step_text, "trigger": lambda row: _TRIGGERS[row["trigger"]]}
    return Section([Table(definition, rows[: detail.rows], cells)])


def _in_order(definition: Definition, report: Row, count: int, note: str, detail: Detail) -> Definition:
    """The table of the first rows in order of time, with the column of hosts if the session has several."""
    if len(report["session"]["hosts"]) == 1:
        definition = definition.without("host")
    return noted(
        definition, units.count(count), f"the first {detail.rows}" if count > detail.rows else "", note
    )


def executions(report: Row, detail: Detail) -> Section | None:
    """Mean times of a run and their spread, the fixed cost of an execution, and the host's lead."""
    rows, launching = report["programs"], report["launching"]
    if not rows:
        return None
    definition = noted(
        EXECUTIONS.without("overhead_share"), EXECUTIONS.note, units.cut_note(detail.rows, len(rows))
    )
    notes = [*_lead_notes(launching["lead"]), *_fixed_cost_notes(launching["fixed"])]
    if any(set(row["joins"]) != {"exact"} for row in rows):
        notes.append(
            "Join: how a run was matched to its launch, exact (by flow or key), ordered (by order) or none."
        )
    means = [mean_run(row) for row in rows[: detail.rows]]
    return Section([Table(definition, means), *map(Paragraph, notes)])


def _lead_notes(lead: Row | None) -> list[str]:
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


def _fixed_cost_notes(fixed: Row | None) -> list[str]:
    if fixed is None:
        return []
    runs = f"fitted to {units.count(fixed['runs'])} runs"
    if not fixed["fixed_ps"]:
        return [f"The fixed cost of an execution is indistinguishable from zero ({runs})."]
    more = f" and {units.share(fixed['slope'])} of its device time" if fixed["slope"] >= 0.001 else ""
    cost = units.time_text(fixed["fixed_ps"])
    return [f"Beyond its device time, an execution costs a fixed {cost}{more} ({runs})."]


def compiles(report: Row, detail: Detail) -> Section | None:
    """The compilations in order of time."""
    rows = report["compiles"]
    if not rows:
        return None
    definition = _in_order(COMPILES, report, len(rows), "idle time: all cores", detail)
    cells = {
        "graph_hash": lambda row: (row["graph_hash"] or units.MISSING)[:8],
        "graphs_of_same_name": _same_name_graphs_text,
    }
    return Section([Table(definition, [compile_row(row) for row in rows[: detail.rows]], cells)])


def _same_name_graphs_text(row: Row) -> str:
    """Other graphs with the same module name: hashes shortened as in `Graph`, or `module(program id)` of
    graphs that only ran in the capture."""
    graphs = row["graphs_of_same_name"]
    names = [graph if graph.endswith(")") else graph[:8] for graph in graphs[:3]]
    return ", ".join([*names, *([f"{len(graphs) - 3} more"] if len(graphs) > 3 else [])]) or units.MISSING


def transfers(report: Row, _: Detail) -> Section | None:
    """The transfers by direction."""
    rows = transfer_rows(report["transfers"])
    return Section([Table(TRANSFERS, rows)], narrow=True) if any(row["count"] for row in rows) else None
