"""`xla-insights report PATH`: all that is known about a session."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common

if TYPE_CHECKING:
    from rich.console import Console

DUTY_CYCLE = (
    "Duty cycle = busy / span. Busy is the union of top-level ops on a core, or of program runs where no ops are "
    "recorded; the span lasts from the first to the last of them. Stall is the part of busy in which an op only waits."
)


def add_to(commands: Any) -> None:
    parser = commands.add_parser("report", help="what is known about a session", description=__doc__)
    common.add_path(parser)
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    session = common.read(options)
    document = session.report()
    if options.json:
        common.warn(session)
        common.print_json(document)
    else:
        _print(common.console(), document)
    return 0


def _print(out: Console, document: dict[str, Any]) -> None:
    session = document["session"]
    out.print(f"Session   {session['name']}")
    out.print(f"System    {_system(document)}")
    out.print(f"Start     {_moment(int(session['start_unix_ns']))}")
    out.print(f"Duration  {units.time_text(session['duration_ps'])}\n")
    hosts = common.table("Hosts", "Host", "Size", "Events", "File", left=(0, 3))
    for host in session["hosts"]:
        hosts.add_row(host["name"], units.byte_size(host["bytes"]), units.count(host["events"]), host["file"])
    out.print(hosts)
    _print_devices(out, document["devices"])
    for diagnostic in document["diagnostics"]:
        host = f" ({diagnostic['host']})" if "host" in diagnostic else ""
        out.print(f"{diagnostic['severity'].capitalize()}{host}: {diagnostic['message']}")


def _print_devices(out: Console, devices: list[dict[str, Any]]) -> None:
    if not devices:
        return
    unit = units.column_unit([device["span_ps"] for device in devices])
    times = [f"{name}, {unit}" for name in ("Span", "Busy", "Idle", "Stall")]
    table = common.table("Devices", "Device", "Host", "Duty cycle", *times, "Modules", "Ops", left=(0, 1))
    for device in devices:
        table.add_row(
            device["name"],
            device["host"],
            units.share(device["duty_cycle"]),
            *(units.time_in(device[key], unit) for key in ("span_ps", "busy_ps", "idle_ps", "stall_ps")),
            units.count(device["modules"]),
            units.count(device["ops"]),
        )
    out.print(table)
    out.print(f"{DUTY_CYCLE}\n")


def _system(document: dict[str, Any]) -> str:
    environment = document["environment"]
    if environment.get("label"):
        return str(environment["label"])
    return " · ".join(str(environment[key]) for key in ("framework", "runtime", "accelerator"))


def _moment(unix_ns: int) -> str:
    if not unix_ns:
        return units.MISSING
    return datetime.fromtimestamp(unix_ns / 1e9, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
