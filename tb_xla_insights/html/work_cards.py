"""What the page tells of work: executions, compilations, transfers, annotations, counters. A section without data is
None."""

from __future__ import annotations

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.html.markup import (
    STEP,
    Column,
    Row,
    card,
    code,
    element,
    number,
    table,
    text,
    time,
)
from tb_xla_insights.report.compile_text import compile_state, difference_text
from tb_xla_insights.report.figures import joins_text

_MOST = 200
"""Rows of a table; `report --json` has all."""


def executions(document: Row) -> Markup | None:
    rows = document["programs"][:_MOST]
    if not rows:
        return None
    unit = units.column_unit([it["host_ps"] // max(1, it["count"]) for it in rows])
    told = table(
        rows,
        code("Program", "program"),
        text("Kind", "kind"),
        number("Launches", "launches"),
        number("Runs", "count"),
        *(_mean(name, unit) for name in ("Host", "Device", "Queue", "Overhead")),
        Column("Join", lambda it: joins_text(it["joins"]), left=True),
    )
    return card("Executions", "means of a run on one core; host = device + queue + overhead", told, wide=True)


def _mean(name: str, unit: str) -> Column:
    key = f"{name.lower()}_ps"
    return Column(f"{name}, {unit}", lambda it: units.time_in(it[key] // max(1, it["count"]), unit))


def compiles(document: Row) -> Markup | None:
    rows = document["compiles"]
    if not rows:
        return None
    unit = units.column_unit([it["duration_ps"] for it in rows])
    told = table(
        rows[:_MOST],
        Column("Module", lambda it: element("code", it["module"] or it["graph"] or units.MISSING), left=True),
        STEP,
        time("Start", "start_ps", "ms"),
        time("Time", "duration_ps", unit),
        Column("When", compile_state, left=True),
        Column(
            "What is new",
            lambda it: element("div", difference_text(it) or units.MISSING, class_="text"),
            left=True,
        ),
        text("Annotation", "annotation"),
        Column("Cause", lambda it: element("div", it["cause"] or units.MISSING, class_="text"), left=True),
    )
    return card("Compilations", units.count(len(rows)), told, wide=True)


def annotated(document: Row) -> Markup | None:
    rows = document["annotations"][:_MOST]
    if not rows:
        return None
    unit = units.column_unit([max(it["host_ps"], it["device_ps"]) for it in rows])
    told = table(
        rows,
        Column("Annotation", _annotation, left=True),
        number("Count", "count"),
        time("Host", "host_ps", unit),
        time("Device", "device_ps", unit),
        number("Device ops", "device_ops"),
        Column("Lost", lambda it: it["lost"] or "", left=True),
    )
    return card(
        "Annotations", "host: all threads; device: all cores", told, _origins(document["propagation"])
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


def transfers(document: Row) -> Markup | None:
    rows = [{"direction": name.replace("_", " the "), **row} for name, row in document["transfers"].items()]
    if not any(it["count"] for it in rows):
        return None
    unit = units.column_unit([it["duration_ps"] for it in rows])
    size = Column("Size", lambda it: units.byte_size(it["bytes"]))
    told = table(
        rows,
        text("Direction", "direction"),
        number("Count", "count"),
        time("Time", "duration_ps", unit),
        size,
    )
    return card("Transfers", "time on the host", told)


def collectives(document: Row) -> Markup | None:
    rows = document["collectives"][:_MOST]
    if not rows:
        return None
    unit = units.column_unit([it["duration_ps"] for it in rows])
    times = (time(name, key, unit) for name, key in (("Time", "duration_ps"), ("Exposed", "exposed_ps")))
    told = table(rows, code("Op", "op"), number("Count", "count"), *times)
    return card("Collectives", "all cores; exposed: nothing computes meanwhile", told)


def metrics(document: Row) -> Markup | None:
    beside = document["metrics"] or {}
    rows = [
        {"name": name, "value": str(value)}
        for name, value in list((beside.get("counters") or {}).items())[:_MOST]
    ]
    breaks = (beside.get("dynamo") or {}).get("reasons") or []
    if not rows and not breaks:
        return None
    counters = table(rows, code("Counter", "name"), Column("Value", lambda it: it["value"])) if rows else None
    told = (element("p", f"Graph break at {it['place']}: {it['reason']}") for it in breaks)
    return card("Text files beside the capture", ", ".join(beside.get("files") or []), told, counters)
