"""Cards of the page on work: executions, compilations, transfers, annotations, counters. A card without data is
None."""

from __future__ import annotations

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.html.markup import (
    STEP_COLUMN,
    Column,
    Row,
    card,
    code_column,
    element,
    number_column,
    table,
    text_column,
    time_column,
)
from tb_xla_insights.report.compile_text import compile_state, difference_text
from tb_xla_insights.report.figures import joins_text

_MAX_ROWS = 200
"""The most rows of a table; `report --json` has all."""


def executions_card(document: Row) -> Markup | None:
    rows = document["programs"][:_MAX_ROWS]
    if not rows:
        return None
    unit = units.column_unit([row["host_ps"] // max(1, row["count"]) for row in rows])
    runs = table(
        rows,
        code_column("Program", "program"),
        text_column("Kind", "kind"),
        number_column("Launches", "launches"),
        number_column("Runs", "count"),
        *(_mean_column(name, unit) for name in ("Host", "Device", "Queue", "Overhead")),
        Column("Join", lambda row: joins_text(row["joins"]), left=True),
    )
    return card("Executions", "means of a run on one core; host = device + queue + overhead", runs, wide=True)


def _mean_column(name: str, unit: str) -> Column:
    key = f"{name.lower()}_ps"
    return Column(f"{name}, {unit}", lambda row: units.time_in(row[key] // max(1, row["count"]), unit))


def compiles_card(document: Row) -> Markup | None:
    rows = document["compiles"]
    if not rows:
        return None
    unit = units.column_unit([row["duration_ps"] for row in rows])
    compilations = table(
        rows[:_MAX_ROWS],
        Column(
            "Module", lambda row: element("code", row["module"] or row["graph"] or units.MISSING), left=True
        ),
        STEP_COLUMN,
        time_column("Start", "start_ps", "ms"),
        time_column("Time", "duration_ps", unit),
        Column("When", compile_state, left=True),
        Column(
            "What is new",
            lambda row: element("div", difference_text(row) or units.MISSING, class_="text"),
            left=True,
        ),
        text_column("Annotation", "annotation"),
        Column("Cause", lambda row: element("div", row["cause"] or units.MISSING, class_="text"), left=True),
    )
    return card("Compilations", units.count(len(rows)), compilations, wide=True)


def annotations_card(document: Row) -> Markup | None:
    rows = document["annotations"][:_MAX_ROWS]
    if not rows:
        return None
    unit = units.column_unit([max(row["host_ps"], row["device_ps"]) for row in rows])
    annotations = table(
        rows,
        Column("Annotation", _annotation, left=True),
        number_column("Count", "count"),
        time_column("Host", "host_ps", unit),
        time_column("Device", "device_ps", unit),
        number_column("Device ops", "device_ops"),
        Column("Lost", lambda row: row["lost"] or "", left=True),
    )
    return card(
        "Annotations", "host: all threads; device: all cores", annotations, _origins(document["propagation"])
    )


def _origins(propagation: Row) -> Markup | None:
    total, names = propagation["device_ps"], ("direct", "recovered", "bare", "none")
    if not total:
        return None
    shares = units.shares([propagation[f"{name}_ps"] for name in names], total)
    parts = ", ".join(f"{share} {name}" for share, name in zip(shares, names, strict=True))
    return element("p", f"Of {units.time_text(total)} in ops, all cores: {parts}.", class_="note")


def _annotation(row: Row) -> Markup:
    path = row["path"]
    return element("code", path.rpartition("/")[2], style=f"padding-left:{12 * path.count('/')}px")


def transfers_card(document: Row) -> Markup | None:
    rows = [{"direction": name.replace("_", " the "), **row} for name, row in document["transfers"].items()]
    if not any(row["count"] for row in rows):
        return None
    unit = units.column_unit([row["duration_ps"] for row in rows])
    size = Column("Size", lambda row: units.byte_size(row["bytes"]))
    transfers = table(
        rows,
        text_column("Direction", "direction"),
        number_column("Count", "count"),
        time_column("Time", "duration_ps", unit),
        size,
    )
    return card("Transfers", "time on the host", transfers)


def collectives_card(document: Row) -> Markup | None:
    rows = document["collectives"][:_MAX_ROWS]
    if not rows:
        return None
    unit = units.column_unit([row["duration_ps"] for row in rows])
    times = (
        time_column(name, key, unit) for name, key in (("Time", "duration_ps"), ("Exposed", "exposed_ps"))
    )
    collectives = table(rows, code_column("Op", "op"), number_column("Count", "count"), *times)
    return card("Collectives", "all cores; exposed: nothing computes meanwhile", collectives)


def metrics_card(document: Row) -> Markup | None:
    metrics = document["metrics"] or {}
    rows = [
        {"name": name, "value": str(value)}
        for name, value in list((metrics.get("counters") or {}).items())[:_MAX_ROWS]
    ]
    breaks = (metrics.get("dynamo") or {}).get("reasons") or []
    if not rows and not breaks:
        return None
    counters = (
        table(rows, code_column("Counter", "name"), Column("Value", lambda row: row["value"]))
        if rows
        else None
    )
    break_lines = (element("p", f"Graph break at {row['place']}: {row['reason']}") for row in breaks)
    return card("Text files beside the capture", ", ".join(metrics.get("files") or []), break_lines, counters)
