"""Prints the report as text: the verdict, then the findings, then the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import elements
from tb_xla_insights.cli.condensed_text import print_devices, print_hosts, print_steps
from tb_xla_insights.cli.duty import DUTY
from tb_xla_insights.cli.host_text import (
    print_compiles,
    print_early_executions,
    print_executions,
    print_transfers,
)
from tb_xla_insights.cli.idle_text import print_gaps, print_idle, print_input
from tb_xla_insights.cli.propagation_text import print_annotations
from tb_xla_insights.cli.sidecars_text import print_sidecars
from tb_xla_insights.cli.work_text import print_work
from tb_xla_insights.escapes import escape_text
from tb_xla_insights.report.condensed import CONDENSED_FROM, device_row, mean_device_row
from tb_xla_insights.tables.devices import COLLECTIVES, DEVICES, FILES, STALLS, STEPS

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]


def print_report(out: Console, document: Document, duty: str = "ops") -> None:
    """Prints a session's report; `duty` is the definition of busy for the devices. Empty tables are left out."""
    from tb_xla_insights.report.throughput import throughput_text

    session = document["session"]
    host_count = len(session["hosts"])
    elements.print_paragraph(out, document["verdict"]["headline"], style="bold")
    if document["verdict"]["details"]:
        elements.print_paragraph(out, document["verdict"]["details"])
    out.print()
    if session["description"]:
        elements.print_paragraph(out, session["description"])
        out.print()
    out.print(f"Session   {escape_text(session['name'])}")
    out.print(f"System    {escape_text(_system_text(document))}")
    start = int(session["start_unix_ns"])
    out.print(f"Start     {units.utc_text(start)}{' UTC' if start else ''}")
    out.print(f"Duration  {units.time_text(session['duration_ps'])}\n")
    _print_findings(out, document)
    _print_devices(out, document["devices"], duty)
    print_hosts(out, document["hosts"])
    print_idle(out, document["step_idle"], document["outside_span"], document["hosts"])
    print_input(out, document["input_pipeline"], host_count)
    _print_steps(out, document["steps"], host_count)
    if document["throughput"]:
        elements.print_paragraph(out, f"Throughput: {throughput_text(document['throughput'])}.")
        out.print()
    print_gaps(out, document)
    print_early_executions(out, document["early_executions"], document["steps"], host_count)
    print_executions(out, document["programs"], document["launching"])
    print_compiles(out, document["compiles"], host_count)
    print_transfers(out, document["transfers"])
    _print_collectives(out, document["collectives"])
    _print_stalls(out, document["devices"])
    print_annotations(out, document["annotations"], document["propagation"])
    print_work(out, document["ops"], document["device_work"])
    print_sidecars(out, document)
    _print_files(out, session["hosts"])
    for diagnostic in document["diagnostics"]:
        host = f" ({diagnostic['host']})" if "host" in diagnostic else ""
        elements.print_paragraph(out, f"{diagnostic['severity'].capitalize()}{host}: {diagnostic['message']}")


def _print_files(out: Console, hosts: Sequence[Document]) -> None:
    """Prints the hosts' files; of many hosts the largest files and the smallest."""
    title = FILES.title
    ordered = hosts
    if len(hosts) >= CONDENSED_FROM:
        ordered = sorted(hosts, key=lambda host: -host["bytes"])
        ordered = [*ordered[: elements.MAX_ROWS - 1], ordered[-1]]
        title += f" ({units.count(len(hosts))}; the largest and the smallest)"
    out.print(elements.table(FILES, ordered, title=title))


def _print_findings(out: Console, document: Document) -> None:
    from tb_xla_insights.report.finding_text import finding_groups, gain_of

    if not document["findings"]:
        out.print("No findings.\n", style="bold")
    number, cores = 0, " on all cores" if len(document["devices"]) > 1 else ""
    for group in finding_groups(document):
        gain = f"; {group.gain}" if group.gain else ""
        elements.print_paragraph(out, f"{group.title}: {group.note}{gain}", style="bold")
        for finding in group.findings:
            number += 1
            cost = f", costs {units.brief_time(finding['cost_ps'])}{cores}" if finding["cost_ps"] else ""
            tags = f"{finding['severity'].capitalize()}, {group.tag}"
            title = f"{number}. {tags}: {finding['title']}  {gain_of(finding, document).text}"
            elements.print_paragraph(out, f"{title} ({finding['id']}{cost})")
            elements.print_paragraph(out, finding["detail"], indent="   ")
            elements.print_paragraph(out, f"Do: {finding['advice']}", indent="   ")
        out.print()


def _print_devices(out: Console, devices: Sequence[Document], duty: str) -> None:
    if not devices:
        return
    if len(devices) >= CONDENSED_FROM:
        print_devices(out, devices, duty)
    else:
        rows = [device_row(device, duty) for device in devices]
        mean = mean_device_row(devices, duty) if len(devices) > 1 else None
        out.print(elements.table(DEVICES, rows, sums=mean))
    definitions = (
        f"Duty cycle = busy / span. {DUTY[duty]}. Stall is the part of busy in which an op only waits."
    )
    elements.print_paragraph(out, definitions)
    out.print()


def _print_steps(out: Console, steps: Sequence[Document], host_count: int) -> None:
    from collections import Counter
    from statistics import median_low

    from tb_xla_insights.report.figures import steps_of_hosts_text

    if not steps:
        return
    durations = [step["duration_ps"] for step in steps]
    mean, median = (units.time_text(ps) for ps in (sum(durations) // len(steps), median_low(durations)))
    hosts = Counter(step["host"] for step in steps)
    step_count = steps_of_hosts_text(hosts.values()) if len(hosts) > 1 else units.count(len(steps))
    title = f"Steps ({step_count}, mean {mean}, median {median}"
    if len(hosts) >= elements.MAX_ROWS:  # rows per host would show a single step
        print_steps(out, steps, title)
        return
    title += f"{_longest_note(steps)})"
    longest = sorted(steps, key=lambda step: -step["duration_ps"])[: elements.MAX_ROWS]
    rows = sorted(longest, key=lambda step: step["index"])
    cells = {
        "number": lambda step: f"{step['name']} {units.step_name(step['index'], step['number'])}",
    }
    out.print(elements.table(elements.without_single_host(STEPS, host_count), rows, cells, title=title))


def _longest_note(rows: Sequence[Any]) -> str:
    return f"; the {elements.MAX_ROWS} longest" if len(rows) > elements.MAX_ROWS else ""


def _print_collectives(out: Console, rows: Sequence[Document]) -> None:
    if not rows:
        return
    title = f"{COLLECTIVES.title} ({COLLECTIVES.note}{_longest_note(rows)})"
    out.print(elements.table(COLLECTIVES, rows[: elements.MAX_ROWS], title=title))


def _print_stalls(out: Console, devices: Sequence[Document]) -> None:
    from tb_xla_insights.analysis.idle.busy import merge_stalls

    rows = merge_stalls(devices)
    if not rows:
        return
    title = f"{STALLS.title} ({STALLS.note}{_longest_note(rows)})"
    out.print(elements.table(STALLS, rows[: elements.MAX_ROWS], title=title))


def _system_text(document: Document) -> str:
    environment = document["environment"]
    return f"{environment['label']}{' · synthetic' if environment['synthetic'] else ''}"
