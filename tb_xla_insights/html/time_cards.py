"""Cards of the page on time: devices, hosts, idle time, steps, gaps. A card without data is None."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.html.charts import steps_chart
from tb_xla_insights.html.markup import (
    Child,
    Column,
    Row,
    card,
    class_chip,
    columns_of,
    defined_table,
    element,
    share_bar,
    stacked_bar,
    table,
)
from tb_xla_insights.report.condensed import (
    CONDENSED_FROM,
    condensed_device_rows,
    mean_device_row,
    steps_across_hosts,
)
from tb_xla_insights.report.figures import SHORT_GAPS, basis_text, idle_rows, idle_table, left_out_note
from tb_xla_insights.report.gap_findings import findings_of_gap, why_gap
from tb_xla_insights.report.gap_text import cause_text, gap_sentence, patterns_with_kind
from tb_xla_insights.report.host_rows import host_rows
from tb_xla_insights.report.throughput import throughput_text
from tb_xla_insights.tables.devices import DEVICES, GAP_CHAIN, GAP_PATTERNS, GAPS, HOSTS, IDLE, STEPS

_MAX_CHAINS = 30
"""The most gaps, the longest first, whose chains are shown."""

_MAX_VISIBLE_GAPS = 48
"""The most gaps that are visible without a click."""

_MAX_STEPS = 500
_MAX_PATTERNS = 50

_DUTY_NOTE = (
    "Duty cycle = busy / span. Busy is the union of top-level ops on a core, or of program runs where no ops are "
    "recorded; stall is the part of busy in which an op only waits."
)


def devices_card(document: Row) -> Markup:
    rows = document["devices"]
    if not rows:
        return card(
            DEVICES.title, None, element("p", "No device was traced: only the host's activity is shown.")
        )
    definition = DEVICES.without("modules", "ops")
    mean = mean_device_row(rows, "ops") if 1 < len(rows) < CONDENSED_FROM else None
    if len(rows) >= CONDENSED_FROM:
        rows = condensed_device_rows(rows, "ops")
    columns = columns_of(definition, rows)
    bar = Column("", lambda row: share_bar(row["duty_cycle"] or 0.0), left=True)
    columns_with_bar = [
        shown_column
        for key, column in columns.items()
        for shown_column in ((column, bar) if key == "duty_cycle" else (column,))
    ]
    note = element("p", _DUTY_NOTE, class_="note")
    return card(
        DEVICES.title,
        f"{DEVICES.note}, from its first to its last run",
        table(rows, *columns_with_bar, sums=mean),
        note,
    )


def hosts_card(document: Row) -> Markup | None:
    """Hosts side by side, as in the report's text; None for a single host."""
    hosts = document["hosts"]
    if len(hosts) < 2:
        return None
    return card(HOSTS.title, None, defined_table(HOSTS, host_rows(hosts)), wide=True)


def idle_card(document: Row) -> Markup | None:
    step_idle = document["step_idle"]
    if not idle_rows(step_idle):
        return None
    rows, sums = idle_table(step_idle)

    def cause(row: Row) -> Child:
        if row is sums:
            return "All"
        return class_chip(row["class"]) if row["class"] else SHORT_GAPS

    causes = defined_table(IDLE, rows, {"class": cause}, sums=sums)
    note = element("p", left_out_note(step_idle) or "", class_="note") if step_idle["left_out"] else None
    return card(IDLE.title, basis_text(step_idle), stacked_bar(step_idle["by_class_ps"]), causes, note)


def steps_card(document: Row) -> Markup | None:
    steps = document["steps"]
    if not steps:
        return None
    hosts = len({step["host"] for step in steps})
    only_longest = hosts >= CONDENSED_FROM
    chosen_steps = [row.longest for row in steps_across_hosts(steps)] if only_longest else steps
    rows = chosen_steps[:_MAX_STEPS]
    definition = STEPS if len(document["session"]["hosts"]) > 1 else STEPS.without("host")
    cells = {"number": lambda row: units.step_name(row["index"], row["number"])}
    steps_table = defined_table(definition, rows, cells)
    classes = [name for name in CLASSES if any(name in row["host_ps"] for row in rows)]
    legend = element("div", (element("span", class_chip(name)) for name in classes), class_="legend")
    mean = sum(step["duration_ps"] for step in steps) // len(steps)
    selection = f"; for each step number, the longest of {hosts} hosts" if only_longest else ""
    selection += f"; the first {_MAX_STEPS}" if len(chosen_steps) > _MAX_STEPS else ""
    line = "the line is the device work that the step launched, of the busiest core"
    note = f"{units.count(len(steps))}{selection}; mean {units.time_text(mean)}; {line}"
    if document["throughput"]:
        note += f"; {throughput_text(document['throughput'])}"
    details = element("details", element("summary", "As a table"), steps_table)
    return card(STEPS.title, note, steps_chart(rows), legend, details, wide=True)


def patterns_card(document: Row) -> Markup | None:
    rows = patterns_with_kind(document["gaps"])
    if not rows:
        return None
    definition = GAP_PATTERNS.without("by_class_ps")
    patterns = defined_table(definition, rows[:_MAX_PATTERNS], {"cause": _cause_chip})
    note = f"{GAP_PATTERNS.note}{units.cut_note(_MAX_PATTERNS, len(rows))}"
    return card(GAP_PATTERNS.title, note, patterns, wide=True)


def gaps_card(document: Row) -> Markup | None:
    gaps = document["gaps"]
    rows = gaps["items"]
    if not rows:
        return None
    definition = GAPS.without("all_cores_idle_ps", "before")
    cells = {
        "step": lambda row: units.step_name(row["step"], row["step_number"]),
        "cause": _cause_chip,
    }
    columns = columns_of(definition, rows, cells).values()
    limit_note = f"; the {units.count(len(rows))} longest" if len(rows) < gaps["count"] else ""
    note = f"{units.count(gaps['count'])} from 10 µs up{limit_note}"
    hidden_rows = rows[_MAX_VISIBLE_GAPS:]
    hidden_gaps = element(
        "details", element("summary", f"{units.count(len(hidden_rows))} more"), table(hidden_rows, *columns)
    )
    heading = element("h2", "Why the longest gaps ended")
    chains = [_chain(gap, document) for gap in _on_one_core(rows, document["devices"])[:_MAX_CHAINS]]
    visible = table(rows[:_MAX_VISIBLE_GAPS], *columns)
    return card(GAPS.title, note, visible, hidden_gaps if hidden_rows else None, heading, chains, wide=True)


def _cause_chip(row: Row) -> Markup:
    return class_chip(row["cause"], cause_text(row))


def _on_one_core(gaps: Sequence[Row], devices: Sequence[Row]) -> list[Row]:
    """The gaps of each host and step between the same two programs on the core that has the first of them, because the
    other cores have the same gaps."""
    host_of = {device["id"]: device["host"] for device in devices}
    first_devices: dict[tuple[str, int | None, str | None, str | None], str] = {}
    result = []
    for gap in gaps:
        key = host_of[gap["device"]], gap["step"], gap["before"], gap["after"]
        if first_devices.setdefault(key, gap["device"]) == gap["device"]:
            result.append(gap)
    return result


def _chain(gap: Row, document: Row) -> Markup:
    host = next(row["host"] for row in document["devices"] if row["id"] == gap["device"])
    several_hosts = len(document["session"]["hosts"]) > 1
    causes = gap_sentence(gap, document["environment"]["framework"], host if several_hosts else None)
    findings = findings_of_gap(gap, host, document)
    sentence = f"{why_gap(gap, findings, document)}{causes}"
    duration = gap["duration_ps"]
    start = f"{units.time_in(gap['start_ps'], 'ms')}{units.NARROW_SPACE}ms"
    chain = defined_table(GAP_CHAIN, gap["chain"], sums={"name": "Sum", "duration_ps": duration})
    summary = element("summary", f"{units.time_text(duration)} on {gap['device']} at {start}")
    return element("details", summary, element("p", sentence), chain)
