"""Cards of the page on work: executions, compilations, transfers, annotations, counters. A card without data is
None."""

from __future__ import annotations

from collections.abc import Container

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.analysis.propagation.path_names import name_and_depth
from tb_xla_insights.html.markup import Column, Row, card, defined_table, element, table
from tb_xla_insights.report.launch_rows import compile_row, mean_run, transfer_rows
from tb_xla_insights.report.origins_text import origins_text
from tb_xla_insights.tables.annotations import ANNOTATIONS
from tb_xla_insights.tables.devices import COLLECTIVES
from tb_xla_insights.tables.launches import COMPILES, EXECUTIONS, TRANSFERS

_MAX_ROWS = 200
"""The most rows of a table; `report --json` has all."""

_MAX_OPEN_COUNTERS = 12
"""If there are more counters, all are folded."""


def executions_card(document: Row) -> Markup | None:
    rows = document["programs"]
    if not rows:
        return None
    runs = defined_table(EXECUTIONS.without("overhead_share"), [mean_run(row) for row in rows[:_MAX_ROWS]])
    return card(EXECUTIONS.title, f"{EXECUTIONS.note}{units.cut_note(_MAX_ROWS, len(rows))}", runs, wide=True)


def compiles_card(document: Row) -> Markup | None:
    rows = document["compiles"]
    if not rows:
        return None
    definition = COMPILES if len(document["session"]["hosts"]) > 1 else COMPILES.without("host")
    compilations = defined_table(
        definition.without("graph_hash", "graphs_of_same_name", "frame"),
        [compile_row(row) for row in rows[:_MAX_ROWS]],
        {
            "module": lambda row: element("code", row["module"] or row["graph"] or units.MISSING),
            "difference": lambda row: element("div", row["difference"] or units.MISSING, class_="text"),
            "cause": lambda row: element("div", row["cause"] or units.MISSING, class_="text"),
        },
    )
    note = f"{units.count(len(rows))}; idle time: all cores{units.cut_note(_MAX_ROWS, len(rows))}"
    return card(COMPILES.title, note, compilations, wide=True)


def annotations_card(document: Row) -> Markup | None:
    rows = document["annotations"]
    if not rows:
        return None
    paths = {row["path"] for row in rows}
    cells = {"path": lambda row: _annotation(row["path"], paths), "lost": lambda row: row["lost"] or ""}
    annotations = defined_table(ANNOTATIONS, rows[:_MAX_ROWS], cells)
    propagation = document["propagation"]
    origins = element("p", origins_text(propagation), class_="note") if propagation["device_ps"] else None
    return card(
        ANNOTATIONS.title,
        f"{ANNOTATIONS.note}{units.cut_note(_MAX_ROWS, len(rows))}",
        annotations,
        origins,
        wide=True,
    )


def _annotation(path: str, paths: Container[str]) -> Markup:
    name, depth = name_and_depth(path, paths)
    return element("code", name, style=f"padding-left:{12 * depth}px")


def transfers_card(document: Row) -> Markup | None:
    rows = transfer_rows(document["transfers"])
    if not any(row["count"] for row in rows):
        return None
    return card(TRANSFERS.title, TRANSFERS.note, defined_table(TRANSFERS, rows))


def collectives_card(document: Row) -> Markup | None:
    rows = document["collectives"]
    if not rows:
        return None
    note = f"{COLLECTIVES.note}; exposed: the core computes nothing meanwhile{units.cut_note(_MAX_ROWS, len(rows))}"
    return card(COLLECTIVES.title, note, defined_table(COLLECTIVES, rows[:_MAX_ROWS]))


def metrics_card(document: Row) -> Markup | None:
    metrics = document["metrics"] or {}
    values = metrics.get("counters") or {}
    rows = [{"name": name, "value": units.count(value)} for name, value in [*values.items()][:_MAX_ROWS]]
    breaks = (metrics.get("dynamo") or {}).get("reasons") or []
    if not rows and not breaks:
        return None
    counters = (
        table(
            rows,
            Column("Counter", lambda row: element("code", row["name"]), left=True),
            Column("Value", lambda row: row["value"]),
        )
        if rows
        else None
    )
    if len(values) > _MAX_OPEN_COUNTERS:
        first = f"the first {_MAX_ROWS} of " if len(values) > _MAX_ROWS else ""
        summary = element("summary", f"{first}{units.count(len(values))} counters")
        counters = element("details", summary, counters)
    return card(
        "Text files beside the capture",
        ", ".join(metrics.get("files") or []),
        map(_break_line, breaks),
        counters,
    )


def _break_line(row: Row) -> Markup:
    """The reason and place of a graph break; an explanation may lack either."""
    place = f" at {row['place']}" if row["place"] else ""
    return element("p", f"Graph break{place}: {row['reason'] or 'no reason given'}")
