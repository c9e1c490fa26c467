"""Cards of the page on time: devices, hosts, idle time, steps, gaps. A card without data is None."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.html.charts import steps_chart
from tb_xla_insights.html.markup import (
    STEP_COLUMN,
    Column,
    Row,
    card,
    cause_column,
    class_chip,
    code_column,
    element,
    number_column,
    share_bar,
    stacked_bar,
    table,
    text_column,
    time_column,
)
from tb_xla_insights.report.condensed import CONDENSED_FROM, split_devices, steps_across_hosts
from tb_xla_insights.report.figures import idle_rows, left_out_note
from tb_xla_insights.report.gap_findings import findings_of_gap, more_to_gain, why_gap
from tb_xla_insights.report.gap_text import gap_sentence
from tb_xla_insights.report.host_rows import host_cells, host_heads, host_units, listed_hosts
from tb_xla_insights.report.throughput import throughput_text

_MAX_CHAINS = 30
"""The most gaps, the longest first, whose chains are shown."""

_VISIBLE_GAPS = 48
"""The number of gaps that are visible without a click."""

_MAX_STEPS = 500
_MAX_PATTERNS = 50

_DUTY_NOTE = (
    "Duty cycle = busy / span. Busy is the union of top-level ops on a core, or of program runs where no ops are "
    "recorded; stall is the part of busy in which an op only waits."
)


def devices_card(document: Row) -> Markup:
    rows = document["devices"]
    if not rows:
        return card("Devices", None, element("p", "No device was traced: what the host did is shown alone."))
    devices = _devices_table(rows) if len(rows) < CONDENSED_FROM else _condensed_devices_table(rows)
    note = element("p", _DUTY_NOTE, class_="note")
    return card("Devices", "each core, from its first to its last run", devices, note)


def _devices_table(rows: Sequence[Row]) -> Markup:
    unit = units.column_unit([row["span_ps"] for row in rows])
    return table(
        rows,
        text_column("Device", "name"),
        text_column("Host", "host"),
        Column("Duty cycle", lambda row: units.share(row["duty_cycle"])),
        Column("", lambda row: share_bar(row["duty_cycle"] or 0.0), left=True),
        *(time_column(name, f"{name.lower()}_ps", unit) for name in ("Span", "Busy", "Idle", "Stall")),
    )


def _condensed_devices_table(devices: Sequence[Row]) -> Markup:
    """The devices far below the median, all others, and all devices, with mean times per core."""
    named, others, all_devices = split_devices(devices, "ops")
    unit = units.column_unit([all_devices.span_ps])
    groups = [(", ".join(group.names), group) for group in named]
    if others and named:
        groups.append((f"{units.count(len(others.names))} others", others))
    groups.append((f"all {units.count(len(all_devices.names))} cores", all_devices))
    rows = [
        {
            "name": name,
            "host": group.host,
            "duty": group.duty,
            "span_ps": group.span_ps,
            "busy_ps": group.busy_ps,
            "idle_ps": group.span_ps - group.busy_ps,
            "stall_ps": group.stall_ps,
        }
        for name, group in groups
    ]
    return table(
        rows,
        text_column("Device", "name"),
        text_column("Host", "host"),
        Column("Duty cycle", lambda row: units.share(row["duty"])),
        Column("", lambda row: share_bar(row["duty"]), left=True),
        *(
            time_column(f"{name} of a core", f"{name.lower()}_ps", unit)
            for name in ("Span", "Busy", "Idle", "Stall")
        ),
    )


def hosts_card(document: Row) -> Markup | None:
    """Hosts side by side, as in the report's text; None for a single host."""
    hosts = document["hosts"]
    if len(hosts) < 2:
        return None
    host_units_ = host_units(hosts)
    headings = ("Host", *host_heads(*host_units_))
    rows = [
        dict(zip(headings, (row["name"], *host_cells(row, *host_units_)), strict=True))
        for row in listed_hosts(hosts)
    ]
    columns = (
        Column(heading, itemgetter(heading), left=heading in ("Host", "Differs most")) for heading in headings
    )
    return card("Hosts side by side", None, table(rows, *columns), wide=True)


def idle_card(document: Row) -> Markup | None:
    step_idle = document["step_idle"]
    parts = idle_rows(step_idle)
    if not parts:
        return None
    mean_ps, total_ps = step_idle["idle_ps"], step_idle["all_cores"]["idle_ps"]
    unit, total_unit = units.column_unit([mean_ps]), units.column_unit([total_ps])
    means = units.rounded_parts([ps for _, ps, _ in parts], mean_ps, units.PS_PER[unit] // 1000)
    totals = units.rounded_parts([ps for _, _, ps in parts], total_ps, units.PS_PER[total_unit] // 1000)
    rows = (
        {
            "name": class_chip(name) if name else "in gaps under 10 µs",
            "ps": ps,
            "mean": mean,
            "total": total,
        }
        for (name, ps, _), mean, total in zip(parts, means, totals, strict=True)
    )
    causes = table(
        rows,
        text_column("What the host did", "name"),
        time_column("Idle", "mean", unit),
        Column("Share", lambda row: units.share(row["ps"] / mean_ps)),
        time_column("All cores", "total", total_unit),
        foot=("All", units.time_in(mean_ps, unit), units.share(1.0), units.time_in(total_ps, total_unit)),
    )
    basis = "per step and core" if step_idle["steps"] else "per core, first to last run"
    note = element("p", left_out_note(step_idle) or "", class_="note") if step_idle["left_out"] else None
    return card("Idle time by cause", basis, stacked_bar(step_idle["by_class_ps"]), causes, note)


def steps_card(document: Row) -> Markup | None:
    steps = document["steps"]
    if not steps:
        return None
    hosts = len({step["host"] for step in steps})
    only_longest = hosts >= CONDENSED_FROM
    chosen = [row.longest for row in steps_across_hosts(steps)] if only_longest else steps
    rows = chosen[:_MAX_STEPS]
    unit = units.column_unit([row["duration_ps"] for row in rows])
    steps_table = table(
        rows,
        Column("Step", lambda row: units.step_name(row["index"], row["number"]), left=True),
        *([text_column("Host", "host")] if hosts > 1 else []),
        time_column("Start", "start_ps", "ms"),
        time_column("Duration", "duration_ps", unit),
        time_column("Device (busiest core)", "device_busy_ps", unit),
        number_column("Executions", "executions"),
        number_column("Compiles", "compiles"),
        number_column("Early syncs", "early_syncs"),
        number_column("Reads", "from_device"),
        Column("Host time by class", lambda row: stacked_bar(row["host_ps"], "thin"), left=True),
    )
    classes = [name for name in CLASSES if any(name in row["host_ps"] for row in rows)]
    legend = element("div", (element("span", class_chip(name)) for name in classes), class_="legend")
    mean = sum(step["duration_ps"] for step in steps) // len(steps)
    selection = f"; of each number the longest one of {hosts} hosts" if only_longest else ""
    selection += f"; the first {_MAX_STEPS}" if len(chosen) > _MAX_STEPS else ""
    line = "the line is the device work that the step launched, of the busiest core"
    note = f"{units.count(len(steps))}{selection}; mean {units.time_text(mean)}; {line}"
    if document["throughput"]:
        note += f"; {throughput_text(document['throughput'])}"
    details = element("details", element("summary", "As a table"), steps_table)
    return card("Steps", note, steps_chart(rows), legend, details, wide=True)


def patterns_card(document: Row) -> Markup | None:
    rows = document["gaps"]["patterns"][:_MAX_PATTERNS]
    if not rows:
        return None
    total_unit, mean_unit = (units.column_unit([row[key] for row in rows]) for key in ("total_ps", "mean_ps"))
    patterns = table(
        rows,
        code_column("Before", "before"),
        code_column("After", "after"),
        cause_column("cause"),
        number_column("Count", "count"),
        time_column("Total", "total_ps", total_unit),
        time_column("Mean", "mean_ps", mean_unit),
    )
    return card("Recurring gaps", "the same program before and after; all cores", patterns, wide=True)


def gaps_card(document: Row) -> Markup | None:
    gaps = document["gaps"]
    rows = gaps["items"]
    if not rows:
        return None
    unit = units.column_unit([rows[0]["duration_ps"]])
    columns = (
        text_column("Device", "device"),
        time_column("Start", "start_ps", "ms"),
        time_column("Time", "duration_ps", unit),
        STEP_COLUMN,
        text_column("Kind", "kind"),
        cause_column("cause"),
        Column("What the host did", lambda row: stacked_bar(row["by_class_ps"], "thin"), left=True),
        code_column("Ended by", "after"),
    )
    limit_note = f"; the {units.count(len(rows))} longest" if len(rows) < gaps["count"] else ""
    note = f"{units.count(gaps['count'])} from 10 µs up{limit_note}"
    rest = rows[_VISIBLE_GAPS:]
    more = element("details", element("summary", f"{units.count(len(rest))} more"), table(rest, *columns))
    heading = element("h2", "What led to the end of the longest")
    chains = [_chain(gap, document) for gap in _one_per_runs(rows)[:_MAX_CHAINS]]
    visible = table(rows[:_VISIBLE_GAPS], *columns)
    return card("Gaps", note, visible, more if rest else None, heading, chains, wide=True)


def _one_per_runs(gaps: Sequence[Row]) -> list[Row]:
    """The first of the gaps between the same two runs, which occur on each core."""
    first: dict[tuple[int | None, str | None, str | None], Row] = {}
    for gap in gaps:
        first.setdefault((gap["step"], gap["before"], gap["after"]), gap)
    return list(first.values())


def _chain(gap: Row, document: Row) -> Markup:
    host = next(row["host"] for row in document["devices"] if row["id"] == gap["device"])
    doing = gap_sentence(gap, document["environment"]["framework"])
    findings = findings_of_gap(gap, host, document)
    sentence = f"{why_gap(gap, findings, document)}{doing} {more_to_gain(gap, findings, document)}".strip()
    duration = gap["duration_ps"]
    unit = units.column_unit([duration])
    start = f"{units.time_in(gap['start_ps'], 'ms')}{units.THIN}ms"
    pieces = table(
        gap["chain"],
        text_column("Event", "name"),
        text_column("Thread", "thread"),
        Column("Class", lambda link: class_chip(link["class"]), left=True),
        time_column("From", "start_ps", "ms"),
        time_column("Time", "duration_ps", unit),
        foot=("Sum", "", "", "", units.time_in(duration, unit)),
    )
    summary = element("summary", f"{units.time_text(duration)} on {gap['device']} at {start}")
    return element("details", summary, element("p", sentence), pieces)
