"""The report as text: the verdict first, then what to change, then the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common
from tb_xla_insights.cli.beside_text import print_beside
from tb_xla_insights.cli.propagation_text import print_annotations

if TYPE_CHECKING:
    from rich.console import Console

_OPS = "Busy is the union of top-level ops on a core, or of program runs where no ops are recorded"
DUTY = {
    "ops": f"{_OPS}; the span lasts from the first to the last of them",
    "modules": "Busy is the union of program runs, or of ops where no runs are recorded; the span is the same",
    "capture": f"{_OPS}; the span is the whole capture",
}
"""What busy means, by the names that the report's `duty` has."""
_ROWS = 12
"""Rows of a table that may be long; `--json` has all of them."""

Document = Mapping[str, Any]


def print_report(out: Console, document: Document, duty: str = "ops") -> None:
    """Prints a session's report, the devices by one of the definitions of busy. Tables without rows are left out."""
    from tb_xla_insights.report.verdict import verdict

    session = document["session"]
    told = verdict(document)
    out.print(f"{told['text']}\n", style="bold")
    out.print(f"Session   {session['name']}")
    out.print(f"System    {_system(document)}")
    start = int(session["start_unix_ns"])
    out.print(f"Start     {units.moment(start)}{' UTC' if start else ''}")
    out.print(f"Duration  {units.time_text(session['duration_ps'])}\n")
    _findings(out, document["findings"])
    _devices(out, document["devices"], duty)
    _idle(out, document["gaps"])
    _steps(out, document["steps"])
    _patterns(out, document["gaps"]["patterns"])
    _gaps(out, document)
    _executions(out, document["executions"])
    _compiles(out, document["compiles"])
    _transfers(out, document["transfers"])
    _collectives(out, document["collectives"])
    print_annotations(out, document["annotations"], document["propagation"])
    print_beside(out, document)
    hosts = common.table("Hosts", "Host", "Size", "Events", "File", left=(0, 3))
    for host in session["hosts"]:
        hosts.add_row(host["name"], units.byte_size(host["bytes"]), units.count(host["events"]), host["file"])
    out.print(hosts)
    for diagnostic in document["diagnostics"]:
        host = f" ({diagnostic['host']})" if "host" in diagnostic else ""
        out.print(f"{diagnostic['severity'].capitalize()}{host}: {diagnostic['message']}")


def _findings(out: Console, findings: Sequence[Document]) -> None:
    from tb_xla_insights.report.verdict import without_sentence

    out.print("Findings" if findings else "No findings.", style="bold")
    for number, finding in enumerate(findings, 1):
        cost = f"costs {units.time_text(finding['cost_ps'])}" if finding["cost_ps"] else "costs no idle time"
        out.print(
            f"\n{number}. {finding['severity'].capitalize()}: {finding['title']} ({finding['id']}, {cost})"
        )
        for text in filter(None, (finding["detail"], finding["advice"], without_sentence(finding))):
            out.print(f"   {text}", soft_wrap=True)
    out.print()


def _devices(out: Console, devices: Sequence[Document], duty: str) -> None:
    if not devices:
        return
    told = [device["duty"][duty] for device in devices]
    unit = units.column_unit([it["span_ps"] for it in told])
    times = [f"{name}, {unit}" for name in ("Span", "Busy", "Idle", "Stall")]
    table = common.table("Devices", "Device", "Host", "Duty cycle", *times, "Modules", "Ops", left=(0, 1))
    for device, it in zip(devices, told, strict=True):
        span, busy = it["span_ps"], it["busy_ps"]
        table.add_row(
            device["name"],
            device["host"],
            units.share(busy / span if span else 0.0),
            *(units.time_in(ps, unit) for ps in (span, busy, span - busy, it["stall_ps"])),
            units.count(device["modules"]),
            units.count(device["ops"]),
        )
    out.print(table)
    out.print(
        f"Duty cycle = busy / span. {DUTY[duty]}. Stall is the part of busy in which an op only waits.\n"
    )


def _idle(out: Console, gaps: Document) -> None:
    total = gaps["total_ps"]
    if not total:
        return
    unit = units.column_unit([total])
    table = common.table("What the host does while devices are idle", "Class", f"Time, {unit}", "Share")
    parts = sorted(((ps, common.class_text(name)) for name, ps in gaps["by_class_ps"].items()), reverse=True)
    parts.append((total - gaps["listed_ps"], "in gaps under 10 µs"))
    shown = units.rounded_parts([ps for ps, _ in parts], total, units.PS_PER[unit] // 1000)
    for (ps, name), rounded in zip(parts, shown, strict=True):
        table.add_row(name, units.time_in(rounded, unit), units.share(ps / total))
    table.add_row("all", units.time_in(total, unit), units.share(1.0))
    out.print(table)


def _steps(out: Console, steps: Sequence[Document]) -> None:
    if not steps:
        return
    unit = units.column_unit([step["duration_ps"] for step in steps])
    mean = sum(step["duration_ps"] for step in steps) // len(steps)
    title = f"Steps ({units.count(len(steps))}, mean {units.time_text(mean)}{_longest(steps)})"
    heads = (
        "Start, ms",
        f"Duration, {unit}",
        f"Device, {unit}",
        "Executions",
        "Compiles",
        "Early syncs",
        "Reads",
    )
    table = common.table(title, "Step", *heads, "Most host time", left=(0, 8))
    shown = sorted(
        sorted(steps, key=lambda step: -step["duration_ps"])[:_ROWS], key=lambda step: step["index"]
    )
    for step in shown:
        host = sorted(step["host_ps"].items(), key=lambda it: -it[1])[:2]
        table.add_row(
            f"{step['name']} {units.step_name(step['index'], step['number'])}",
            units.time_in(step["start_ps"], "ms"),
            *common.times(step, unit, "duration_ps", "device_busy_ps"),
            *(units.count(step[name]) for name in ("executions", "compiles", "early_syncs", "from_device")),
            ", ".join(f"{common.class_text(name)} {units.time_text(ps)}" for name, ps in host),
        )
    out.print(table)


def _longest(rows: Sequence[Any]) -> str:
    return f"; the {_ROWS} longest" if len(rows) > _ROWS else ""


def _patterns(out: Console, patterns: Sequence[Document]) -> None:
    if not patterns:
        return
    unit = units.column_unit([pattern["total_ps"] for pattern in patterns])
    heads = ("After", "Count", f"Total, {unit}", f"Mean, {unit}", "Cause")
    table = common.table("Gaps between programs", "Before", *heads, left=(0, 1, 5))
    for pattern in patterns[:_ROWS]:
        table.add_row(
            *(pattern[name] or units.MISSING for name in ("before", "after")),
            units.count(pattern["count"]),
            *common.times(pattern, unit, "total_ps", "mean_ps"),
            common.class_text(pattern["cause"]),
        )
    out.print(table)


def _gaps(out: Console, document: Document) -> None:
    gaps = document["gaps"]
    if not gaps["items"]:
        return
    names = {device["id"]: device["name"] for device in document["devices"]}
    unit = units.column_unit([gap["duration_ps"] for gap in gaps["items"]])
    heads = ("Start, ms", f"Time, {unit}", "Step", "Kind", "Cause", "What the host did")
    table = common.table(
        f"Gaps ({units.count(gaps['count'])}, the longest)", "Device", *heads, left=(0, 3, 4, 5, 6)
    )
    for gap in gaps["items"][:_ROWS]:
        parts = sorted(gap["by_class_ps"].items(), key=lambda it: -it[1])[:3]
        table.add_row(
            names.get(gap["device"], gap["device"]),
            units.time_in(gap["start_ps"], "ms"),
            *common.times(gap, unit, "duration_ps"),
            units.step_name(gap["step"], gap["step_number"]),
            gap["kind"],
            common.class_text(gap["cause"]),
            ", ".join(f"{common.class_text(name)} {units.time_text(ps)}" for name, ps in parts),
        )
    out.print(table)


def _executions(out: Console, rows: Sequence[Document]) -> None:
    if not rows:
        return
    means = [{name: row[name] // row["count"] for name in row if name.endswith("_ps")} for row in rows]
    unit = units.column_unit([mean["host_ps"] for mean in means])
    times = [f"{name}, {unit}" for name in ("Host", "Device", "Queue", "Overhead")]
    heads = ("Kind", "Launches", "Runs", *times, "Join")
    table = common.table(
        "Executions (means per run; host = device + queue + overhead)", "Program", *heads, left=(0, 1, 8)
    )
    for row, mean in list(zip(rows, means, strict=True))[:_ROWS]:
        table.add_row(
            row["program"],
            row["kind"],
            units.count(row["launches"]),
            units.count(row["count"]),
            *common.times(mean, unit, "host_ps", "device_ps", "queue_ps", "overhead_ps"),
            row["join"],
        )
    out.print(table)
    if any(row["join"] != "exact" for row in rows):
        out.print("Join: how launch and run were tied, exact (by flow or key), ordered (by order) or none.\n")


def _compiles(out: Console, rows: Sequence[Document]) -> None:
    if not rows:
        return
    unit = units.column_unit([row["duration_ps"] for row in rows])
    heads = ("Start, ms", f"Time, {unit}", "Step", "Graph", "Where", "Why")
    table = common.table(f"Compilations ({len(rows)})", "Module", *heads, left=(0, 3, 4, 5, 6))
    for row in rows[:_ROWS]:
        why = row["cause"] or ("warm-up" if row["warm_up"] else "after warm-up")
        table.add_row(
            row["module"] or units.MISSING,
            units.time_in(row["start_ps"], "ms"),
            *common.times(row, unit, "duration_ps"),
            units.step_name(row["step"], row["step_number"]),
            (row["graph_hash"] or units.MISSING)[:8],
            row["frame"] or row["annotation"] or units.MISSING,
            why,
        )
    out.print(table)


def _transfers(out: Console, transfers: Mapping[str, Document]) -> None:
    if not any(its["count"] for its in transfers.values()):
        return
    table = common.table("Transfers", "Direction", "Count", "Per step", "Time, ms", "Size")
    for name, its in transfers.items():
        per_step = units.MISSING if its["per_step"] is None else f"{its['per_step']:.1f}"
        size = units.byte_size(its["bytes"])
        table.add_row(
            common.class_text(name),
            units.count(its["count"]),
            per_step,
            *common.times(its, "ms", "duration_ps"),
            size,
        )
    out.print(table)


def _collectives(out: Console, rows: Sequence[Document]) -> None:
    if not rows:
        return
    unit = units.column_unit([row["duration_ps"] for row in rows])
    table = common.table(
        "Collectives", "Op", "Kind", "Count", f"Time, {unit}", f"Exposed, {unit}", left=(0, 1)
    )
    for row in rows[:_ROWS]:
        table.add_row(
            row["op"],
            row["kind"],
            units.count(row["count"]),
            *common.times(row, unit, "duration_ps", "exposed_ps"),
        )
    out.print(table)


def _system(document: Document) -> str:
    environment = document["environment"]
    if environment.get("label"):
        return str(environment["label"])
    return " · ".join(str(environment[key]) for key in ("framework", "runtime", "accelerator"))
