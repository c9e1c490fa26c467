"""Sections on the host's work for devices: early executions, executions, compilations, transfers."""

from __future__ import annotations

from tb_xla_insights.report.launch_rows import compile_row, mean_runs, transfer_rows
from tb_xla_insights.report.launch_text import fixed_cost_text, lead_text
from tb_xla_insights.sections.blocks import Detail, Paragraph, Row, Section, SectionTable, noted
from tb_xla_insights.tables.definition import Definition
from tb_xla_insights.tables.launches import COMPILES, EARLY_EXECUTIONS, EXECUTIONS, TRANSFERS
from tb_xla_insights.text import units

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
    return Section([SectionTable(definition, rows[: detail.rows], cells)])


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
    lead, fixed = launching["lead"], launching["fixed"]
    notes = [*([lead_text(lead)] if lead else []), *([fixed_cost_text(fixed)] if fixed else [])]
    if any(set(row["joins"]) != {"exact"} for row in rows):
        notes.append(
            "Join: how a run was matched to its launch, exact (by flow or key), ordered (by order) or none."
        )
    means = mean_runs(rows[: detail.rows])
    return Section([SectionTable(definition, means), *map(Paragraph, notes)])


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
    return Section([SectionTable(definition, [compile_row(row) for row in rows[: detail.rows]], cells)])


def _same_name_graphs_text(row: Row) -> str:
    """Other graphs with the same module name: hashes shortened as in `Graph`, or `module(program id)` of
    graphs that only ran in the capture."""
    graphs = row["graphs_of_same_name"]
    names = [graph if graph.endswith(")") else graph[:8] for graph in graphs[:3]]
    return ", ".join([*names, *([f"{len(graphs) - 3} more"] if len(graphs) > 3 else [])]) or units.MISSING


def transfers(report: Row, _: Detail) -> Section | None:
    """The transfers by direction."""
    rows = transfer_rows(report["transfers"])
    return (
        Section([SectionTable(TRANSFERS, rows)], narrow=True) if any(row["count"] for row in rows) else None
    )
