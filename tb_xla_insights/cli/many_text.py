"""Many devices, hosts and steps as text: those that stand out by name, the others as one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common
from tb_xla_insights.report.many import Devices, devices_apart, hosts_apart, same_steps

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]


def print_devices(out: Console, devices: Sequence[Document], duty: str) -> None:
    """The devices with the lowest duty cycles, all others, and all; times are means of a core."""
    named, others, every = devices_apart(devices, duty)
    unit = units.column_unit([every.span_ps])
    times = [f"{name}, {unit}" for name in ("Span", "Busy", "Idle", "Stall")]
    title = (
        f"Devices ({units.count(len(devices))} cores; those far below the one in the middle, times of a core)"
    )
    table = common.table(title, "Device", "Host", "Duty cycle", *times, left=(0, 1))

    def add(name: str, row: Devices) -> None:
        idle = row.span_ps - row.busy_ps
        cells = (units.time_in(ps, unit) for ps in (row.span_ps, row.busy_ps, idle, row.stall_ps))
        table.add_row(name, row.host, units.share(row.duty), *cells)

    for row in named:
        add(_names(row.names), row)
    if others and named:
        add(f"{units.count(len(others.names))} others", others)
    add("all", every)
    out.print(table)


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def print_hosts(out: Console, hosts: Sequence[Document]) -> None:
    """Hosts side by side: how long their steps are, who comes last to collectives, what differs from the median
    host."""
    if len(hosts) < 2:
        return
    named, others = hosts_apart(hosts)
    unit = units.column_unit([row["step_ps"] or 0 for row in hosts])
    waits = units.column_unit([row["others_wait_ps"] or 0 for row in hosts])
    heads = (
        "Steps",
        f"Step (median), {unit}",
        "Duty cycle",
        "Last in",
        f"Others wait, {waits}",
        "Differs most",
        "Clock, µs",
    )
    table = common.table("Hosts side by side", "Host", *heads, left=(0, 6))
    for row in named:
        table.add_row(row["name"], *_cells(row, unit, waits))
    if others:
        middle = sorted(others, key=lambda row: row["step_ps"] or 0)[(len(others) - 1) // 2]
        wait = sum(row["others_wait_ps"] or 0 for row in others)
        steps = median_low(row["steps"] for row in others)
        unknown = dict.fromkeys(("last_share", "clock_offset_ps", "differs"))
        row = {**middle, **unknown, "steps": steps, "others_wait_ps": wait}
        table.add_row(f"{units.count(len(others))} others", *_cells(row, unit, waits))
    out.print(table)


def _cells(row: Document, unit: str, waits: str) -> list[str]:
    differs, clock = row["differs"], row["clock_offset_ps"]
    return [
        units.count(row["steps"]),
        units.MISSING if row["step_ps"] is None else units.time_in(row["step_ps"], unit),
        units.share(row["duty_cycle"]),
        units.share(row["last_share"]),
        units.MISSING if row["others_wait_ps"] is None else units.time_in(row["others_wait_ps"], waits),
        _difference(differs) if differs else "",
        units.MISSING
        if clock is None
        else f"{units.time_in(clock, 'µs', 1)} ± {units.time_in(row['residual_ps'], 'µs', 1)}",
    ]


def _difference(differs: Document) -> str:
    name = "device work" if differs["class"] == "device" else common.class_text(differs["class"])
    more = "longer" if differs["longer_ps"] > 0 else "shorter"
    return f"{name}, {units.time_text(abs(differs['longer_ps']), 1)} a step {more}"


def print_steps(out: Console, steps: Sequence[Document], hosts: int, title: str) -> None:
    """Steps of many hosts by their numbers: those that take longest on some host, in their order."""
    rows = same_steps(steps)
    chosen = sorted(rows, key=lambda row: -row.longest["duration_ps"])[: common.ROWS]
    unit = units.column_unit([row.longest["duration_ps"] for row in rows])
    heads = ("Hosts", f"Median, {unit}", f"Longest, {unit}", "On", "There")
    table = common.table(f"{title}, on {units.count(hosts)} hosts", "Step", *heads, left=(0, 4, 5))
    for row in sorted(chosen, key=lambda row: row.longest["index"] if row.number is None else row.number):
        table.add_row(
            f"{row.name} {row.number}",
            units.count(row.hosts),
            units.time_in(row.median_ps, unit),
            *common.times(row.longest, unit, "duration_ps"),
            row.longest["host"],
            common.class_times(row.longest["host_ps"], 2),
        )
    out.print(table)
