"""Prints the report as text: the verdict, then the findings, then the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common
from tb_xla_insights.cli.condensed_text import print_devices, print_hosts, print_steps
from tb_xla_insights.cli.duty import DUTY
from tb_xla_insights.cli.host_text import print_compiles, print_early, print_executions, print_transfers
from tb_xla_insights.cli.idle_text import print_gaps, print_idle, print_input
from tb_xla_insights.cli.propagation_text import print_annotations
from tb_xla_insights.cli.sidecars_text import print_sidecars
from tb_xla_insights.cli.work_text import print_work
from tb_xla_insights.escapes import escape_text
from tb_xla_insights.report.condensed import CONDENSED_FROM

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]


def print_report(out: Console, document: Document, duty: str = "ops") -> None:
    """Prints a session's report; `duty` is the definition of busy for the devices. Empty tables are left out."""
    from tb_xla_insights.report.throughput import throughput_text

    session = document["session"]
    common.print_paragraph(out, document["verdict"]["text"], style="bold")
    out.print()
    if session["description"]:
        common.print_paragraph(out, session["description"])
        out.print()
    out.print(f"Session   {escape_text(session['name'])}")
    out.print(f"System    {escape_text(_system(document))}")
    start = int(session["start_unix_ns"])
    out.print(f"Start     {units.moment(start)}{' UTC' if start else ''}")
    out.print(f"Duration  {units.time_text(session['duration_ps'])}\n")
    _findings(out, document)
    _devices(out, document["devices"], duty)
    print_hosts(out, document["hosts"])
    print_idle(out, document["step_idle"], document["outside"], document["hosts"])
    print_input(out, document["input_pipeline"], len(session["hosts"]))
    _steps(out, document["steps"])
    if document["throughput"]:
        common.print_paragraph(out, f"Throughput: {throughput_text(document['throughput'])}.")
        out.print()
    print_gaps(out, document)
    print_early(out, document["early_executions"], document["steps"])
    print_executions(out, document["programs"], document["launching"])
    print_compiles(out, document["compiles"])
    print_transfers(out, document["transfers"])
    _collectives(out, document["collectives"])
    _stalls(out, document["devices"])
    print_annotations(out, document["annotations"], document["propagation"])
    print_work(out, document["ops"], document["device_work"])
    print_sidecars(out, document)
    _files(out, session["hosts"])
    for diagnostic in document["diagnostics"]:
        host = f" ({diagnostic['host']})" if "host" in diagnostic else ""
        common.print_paragraph(out, f"{diagnostic['severity'].capitalize()}{host}: {diagnostic['message']}")


def _files(out: Console, hosts: Sequence[Document]) -> None:
    """Prints the hosts' files; of many hosts the largest files and the smallest."""
    more = ""
    ordered = hosts
    if len(hosts) >= CONDENSED_FROM:
        ordered = sorted(hosts, key=lambda host: -host["bytes"])
        ordered = [*ordered[: common.ROWS - 1], ordered[-1]]
        more = f" ({units.count(len(hosts))}; the largest and the smallest)"
    table = common.table(f"Hosts{more}", "Host", "Size", "Events", "File", left=(0, 3))
    for host in ordered:
        table.add_row(host["name"], units.byte_size(host["bytes"]), units.count(host["events"]), host["file"])
    out.print(table)


def _findings(out: Console, document: Document) -> None:
    from tb_xla_insights.report.finding_text import finding_groups, gain_of

    if not document["findings"]:
        out.print("No findings.\n", style="bold")
    number, cores = 0, " on all cores" if len(document["devices"]) > 1 else ""
    for group in finding_groups(document):
        gain = f"; {group.gain}" if group.gain else ""
        common.print_paragraph(
            out, f"{group.title}: {group.note}{gain}" if group.title else "Findings", style="bold"
        )
        for finding in group.findings:
            number += 1
            severity = finding["severity"].capitalize() + (" (once)" if finding["recurs"] == "once" else "")
            cost = (
                f"costs {units.brief_time(finding['cost_ps'])}{cores}"
                if finding["cost_ps"]
                else "costs no idle time"
            )
            title = f"{number}. {severity}: {finding['title']}  {gain_of(finding, document).text}"
            common.print_paragraph(out, f"{title} ({finding['id']}, {cost})")
            common.print_paragraph(out, finding["detail"], indent="   ")
            common.print_paragraph(out, f"Do: {finding['advice']}", indent="   ")
        out.print()


def _devices(out: Console, devices: Sequence[Document], duty: str) -> None:
    if not devices:
        return
    if len(devices) >= CONDENSED_FROM:
        print_devices(out, devices, duty)
    else:
        _each_device(out, devices, duty)
    definitions = (
        f"Duty cycle = busy / span. {DUTY[duty]}. Stall is the part of busy in which an op only waits."
    )
    common.print_paragraph(out, definitions)
    out.print()


def _each_device(out: Console, devices: Sequence[Document], duty: str) -> None:
    duties = [device["duty"][duty] for device in devices]
    unit = units.column_unit([row["span_ps"] for row in duties])
    times = [f"{name}, {unit}" for name in ("Span", "Busy", "Idle", "Stall")]
    table = common.table(
        "Devices (each core)", "Device", "Host", "Duty cycle", *times, "Modules", "Ops", left=(0, 1)
    )
    for device, row in zip(devices, duties, strict=True):
        span, busy = row["span_ps"], row["busy_ps"]
        table.add_row(
            device["name"],
            device["host"],
            units.share(busy / span if span else 0.0),
            *(units.time_in(ps, unit) for ps in (span, busy, span - busy, row["stall_ps"])),
            units.count(device["modules"]),
            units.count(device["ops"]),
        )
    out.print(table)


def _steps(out: Console, steps: Sequence[Document]) -> None:
    from collections import Counter
    from statistics import median_low

    from tb_xla_insights.report.figures import steps_of_hosts_text

    if not steps:
        return
    durations = [step["duration_ps"] for step in steps]
    unit = units.column_unit(durations)
    mean, median = (units.time_text(ps) for ps in (sum(durations) // len(steps), median_low(durations)))
    hosts = Counter(step["host"] for step in steps)
    step_count = steps_of_hosts_text(hosts.values()) if len(hosts) > 1 else units.count(len(steps))
    title = f"Steps ({step_count}, mean {mean}, median {median}"
    if len(hosts) >= common.ROWS:  # rows per host would show a single step
        print_steps(out, steps, title)
        return
    title += f"{_longest_note(steps)})"
    heads = ("Start, ms", f"Duration, {unit}", f"Device (busiest core), {unit}")
    counts = {
        "Executions": "executions",
        "Compiles": "compiles",
        "Early syncs": "early_syncs",
        "Input syncs": "input_syncs",
        "Reads": "from_device",
    }
    table = common.table(title, "Step", "Host", *heads, *counts, "Most host time", left=(0, 1, 10))
    rows = zip(steps, common.host_texts(steps), strict=True)
    longest = sorted(rows, key=lambda row: -row[0]["duration_ps"])[: common.ROWS]
    for step, host in sorted(longest, key=lambda row: row[0]["index"]):
        table.add_row(
            f"{step['name']} {units.step_name(step['index'], step['number'])}",
            host,
            units.time_in(step["start_ps"], "ms"),
            *common.times(step, unit, "duration_ps", "device_busy_ps"),
            *(units.count(step[name]) for name in counts.values()),
            common.class_times(step["host_ps"], 2),
        )
    out.print(table)


def _longest_note(rows: Sequence[Any]) -> str:
    return f"; the {common.ROWS} longest" if len(rows) > common.ROWS else ""


def _collectives(out: Console, rows: Sequence[Document]) -> None:
    if not rows:
        return
    unit = units.column_unit([row["duration_ps"] for row in rows])
    table = common.table(
        "Collectives (all cores)", "Op", "Kind", "Count", f"Time, {unit}", f"Exposed, {unit}", left=(0, 1)
    )
    for row in rows[: common.ROWS]:
        table.add_row(
            row["op"],
            row["kind"],
            units.count(row["count"]),
            *common.times(row, unit, "duration_ps", "exposed_ps"),
        )
    out.print(table)


def _stalls(out: Console, devices: Sequence[Document]) -> None:
    from tb_xla_insights.analysis.idle.busy import merge_stalls

    rows = merge_stalls(devices)
    if not rows:
        return
    unit = units.column_unit([row["duration_ps"] for row in rows])
    title = f"Ops that only wait (all cores{_longest_note(rows)})"
    table = common.table(title, "Op", "Count", f"Time, {unit}")
    for row in rows[: common.ROWS]:
        table.add_row(row["op"], units.count(row["count"]), *common.times(row, unit, "duration_ps"))
    out.print(table)


def _system(document: Document) -> str:
    environment = document["environment"]
    return f"{environment['label']}{' · synthetic' if environment['synthetic'] else ''}"
