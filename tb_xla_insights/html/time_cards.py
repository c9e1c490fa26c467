"""What the page tells of time: devices, idle time, steps, gaps. A section without data is None."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.html.charts import steps_chart
from tb_xla_insights.html.markup import (
    STEP,
    Column,
    Row,
    bar,
    card,
    cause,
    chip,
    code,
    element,
    number,
    stack,
    table,
    text,
    time,
)
from tb_xla_insights.report.condensed import CONDENSED_FROM, split_devices, steps_across_hosts
from tb_xla_insights.report.figures import idle_rows, left_out_note
from tb_xla_insights.report.gap_findings import findings_of_gap, more_to_gain, why_gap
from tb_xla_insights.report.gap_text import gap_sentence
from tb_xla_insights.report.host_rows import host_cells, host_heads, host_units, listed_hosts
from tb_xla_insights.report.throughput import throughput_text

_CHAINS = 30
"""Longest gaps whose chains are told."""

_OPEN = 48
"""Gaps in sight; the others are a click away."""

_STEPS = 500
_PATTERNS = 50

_DUTY = (
    "Duty cycle = busy / span. Busy is the union of top-level ops on a core, or of program runs where no ops are "
    "recorded; stall is the part of busy in which an op only waits."
)


def devices(document: Row) -> Markup:
    rows = document["devices"]
    if not rows:
        return card("Devices", None, element("p", "No device was traced: what the host did is shown alone."))
    told = _each_device(rows) if len(rows) < CONDENSED_FROM else _many_devices(rows)
    return card(
        "Devices", "each core, from its first to its last run", told, element("p", _DUTY, class_="note")
    )


def _each_device(rows: Sequence[Row]) -> Markup:
    unit = units.column_unit([it["span_ps"] for it in rows])
    return table(
        rows,
        text("Device", "name"),
        text("Host", "host"),
        Column("Duty cycle", lambda it: units.share(it["duty_cycle"])),
        Column("", lambda it: bar(it["duty_cycle"] or 0.0), left=True),
        *(time(name, f"{name.lower()}_ps", unit) for name in ("Span", "Busy", "Idle", "Stall")),
    )


def _many_devices(devices: Sequence[Row]) -> Markup:
    """Those far below the one in the middle, all others, and all, with the times of a core."""
    named, others, every = split_devices(devices, "ops")
    unit = units.column_unit([every.span_ps])
    told = [(", ".join(it.names), it) for it in named]
    if others and named:
        told.append((f"{units.count(len(others.names))} others", others))
    told.append((f"all {units.count(len(every.names))} cores", every))
    rows = [
        {
            "name": name,
            "host": it.host,
            "duty": it.duty,
            "span_ps": it.span_ps,
            "busy_ps": it.busy_ps,
            "idle_ps": it.span_ps - it.busy_ps,
            "stall_ps": it.stall_ps,
        }
        for name, it in told
    ]
    return table(
        rows,
        text("Device", "name"),
        text("Host", "host"),
        Column("Duty cycle", lambda it: units.share(it["duty"])),
        Column("", lambda it: bar(it["duty"]), left=True),
        *(
            time(f"{name} of a core", f"{name.lower()}_ps", unit)
            for name in ("Span", "Busy", "Idle", "Stall")
        ),
    )


def hosts(document: Row) -> Markup | None:
    """Hosts side by side, as the report in text has them; of one host nothing."""
    every = document["hosts"]
    if len(every) < 2:
        return None
    shown = host_units(every)
    heads = ("Host", *host_heads(*shown))
    rows = [
        dict(zip(heads, (row["name"], *host_cells(row, *shown)), strict=True)) for row in listed_hosts(every)
    ]
    columns = (Column(head, itemgetter(head), left=head in ("Host", "Differs most")) for head in heads)
    return card("Hosts side by side", None, table(rows, *columns), wide=True)


def idle(document: Row) -> Markup | None:
    found = document["step_idle"]
    parts = idle_rows(found)
    if not parts:
        return None
    idle, every = found["idle_ps"], found["all_cores"]["idle_ps"]
    unit, total_unit = units.column_unit([idle]), units.column_unit([every])
    shown = units.rounded_parts([ps for _, ps, _ in parts], idle, units.PS_PER[unit] // 1000)
    summed = units.rounded_parts([ps for _, _, ps in parts], every, units.PS_PER[total_unit] // 1000)
    rows = (
        {"name": chip(name) if name else "in gaps under 10 µs", "ps": ps, "shown": mean, "summed": total}
        for (name, ps, _), mean, total in zip(parts, shown, summed, strict=True)
    )
    told = table(
        rows,
        text("What the host did", "name"),
        time("Idle", "shown", unit),
        Column("Share", lambda it: units.share(it["ps"] / idle)),
        time("All cores", "summed", total_unit),
        foot=("All", units.time_in(idle, unit), units.share(1.0), units.time_in(every, total_unit)),
    )
    each = "per step and core" if found["steps"] else "per core, first to last run"
    note = element("p", left_out_note(found) or "", class_="note") if found["left_out"] else None
    return card("Idle time by cause", each, stack(found["by_class_ps"]), told, note)


def steps(document: Row) -> Markup | None:
    every = document["steps"]
    if not every:
        return None
    hosts = len({it["host"] for it in every})
    longest = hosts >= CONDENSED_FROM
    chosen = [row.longest for row in steps_across_hosts(every)] if longest else every
    rows = chosen[:_STEPS]
    unit = units.column_unit([it["duration_ps"] for it in rows])
    told = table(
        rows,
        Column("Step", lambda it: units.step_name(it["index"], it["number"]), left=True),
        *([text("Host", "host")] if hosts > 1 else []),
        time("Start", "start_ps", "ms"),
        time("Duration", "duration_ps", unit),
        time("Device (busiest core)", "device_busy_ps", unit),
        number("Executions", "executions"),
        number("Compiles", "compiles"),
        number("Early syncs", "early_syncs"),
        number("Reads", "from_device"),
        Column("Host time by class", lambda it: stack(it["host_ps"], "thin"), left=True),
    )
    used = [name for name in CLASSES if any(name in it["host_ps"] for it in rows)]
    legend = element("div", (element("span", chip(name)) for name in used), class_="legend")
    mean = sum(it["duration_ps"] for it in every) // len(every)
    first = f"; of each number the longest one of {hosts} hosts" if longest else ""
    first += f"; the first {_STEPS}" if len(chosen) > _STEPS else ""
    line = "the line is the device work that the step launched, of the busiest core"
    note = f"{units.count(len(every))}{first}; mean {units.time_text(mean)}; {line}"
    if document["throughput"]:
        note += f"; {throughput_text(document['throughput'])}"
    below = element("details", element("summary", "As a table"), told)
    return card("Steps", note, steps_chart(rows), legend, below, wide=True)


def patterns(document: Row) -> Markup | None:
    rows = document["gaps"]["patterns"][:_PATTERNS]
    if not rows:
        return None
    unit, each = (units.column_unit([it[key] for it in rows]) for key in ("total_ps", "mean_ps"))
    told = table(
        rows,
        code("Before", "before"),
        code("After", "after"),
        cause("cause"),
        number("Count", "count"),
        time("Total", "total_ps", unit),
        time("Mean", "mean_ps", each),
    )
    return card("Recurring gaps", "the same program before and after; all cores", told, wide=True)


def gaps(document: Row) -> Markup | None:
    whole = document["gaps"]
    rows = whole["items"]
    if not rows:
        return None
    unit = units.column_unit([rows[0]["duration_ps"]])
    columns = (
        text("Device", "device"),
        time("Start", "start_ps", "ms"),
        time("Time", "duration_ps", unit),
        STEP,
        text("Kind", "kind"),
        cause("cause"),
        Column("What the host did", lambda it: stack(it["by_class_ps"], "thin"), left=True),
        code("Ended by", "after"),
    )
    most = f"; the {units.count(len(rows))} longest" if len(rows) < whole["count"] else ""
    note = f"{units.count(whole['count'])} from 10 µs up{most}"
    rest = rows[_OPEN:]
    more = element("details", element("summary", f"{units.count(len(rest))} more"), table(rest, *columns))
    ends = element("h2", "What led to the end of the longest")
    chains = [_chain(gap, document) for gap in _apart(rows)[:_CHAINS]]
    return card("Gaps", note, table(rows[:_OPEN], *columns), more if rest else None, ends, chains, wide=True)


def _apart(gaps: Sequence[Row]) -> list[Row]:
    """One of those between the same two runs: the gap is the same on each core."""
    first: dict[tuple[int | None, str | None, str | None], Row] = {}
    for gap in gaps:
        first.setdefault((gap["step"], gap["before"], gap["after"]), gap)
    return list(first.values())


def _chain(gap: Row, document: Row) -> Markup:
    host = next(row["host"] for row in document["devices"] if row["id"] == gap["device"])
    doing = gap_sentence(gap, document["environment"]["framework"])
    told = findings_of_gap(gap, host, document)
    sentence = f"{why_gap(gap, told, document)}{doing} {more_to_gain(gap, told, document)}".strip()
    duration = gap["duration_ps"]
    unit = units.column_unit([duration])
    at = f"{units.time_in(gap['start_ps'], 'ms')}{units.THIN}ms"
    pieces = table(
        gap["chain"],
        text("Event", "name"),
        text("Thread", "thread"),
        Column("Class", lambda it: chip(it["class"]), left=True),
        time("From", "start_ps", "ms"),
        time("Time", "duration_ps", unit),
        foot=("Sum", "", "", "", units.time_in(duration, unit)),
    )
    summary = element("summary", f"{units.time_text(duration)} on {gap['device']} at {at}")
    return element("details", summary, element("p", sentence), pieces)
