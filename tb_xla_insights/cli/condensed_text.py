"""Prints many devices, hosts and steps in few rows: outliers by name, the others as one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common
from tb_xla_insights.report.condensed import DeviceGroup, split_devices, steps_across_hosts
from tb_xla_insights.report.host_rows import host_cells, host_heads, host_units, listed_hosts

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]


def print_devices(out: Console, devices: Sequence[Document], duty: str) -> None:
    """Prints the devices with the lowest duty cycles, the others and all; times are means per core."""
    named, others, total = split_devices(devices, duty)
    unit = units.column_unit([total.span_ps])
    times = [f"{name}, {unit}" for name in ("Span", "Busy", "Idle", "Stall")]
    title = (
        f"Devices ({units.count(len(devices))} cores; those far below the one in the middle, times of a core)"
    )
    table = common.table(title, "Device", "Host", "Duty cycle", *times, left=(0, 1))

    def add(name: str, row: DeviceGroup) -> None:
        idle = row.span_ps - row.busy_ps
        cells = (units.time_in(ps, unit) for ps in (row.span_ps, row.busy_ps, idle, row.stall_ps))
        table.add_row(name, row.host, units.share(row.duty), *cells)

    for row in named:
        add(_name_range(row.names), row)
    if others and named:
        add(f"{units.count(len(others.names))} others", others)
    add("all", total)
    out.print(table)


def _name_range(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def print_hosts(out: Console, hosts: Sequence[Document]) -> None:
    """Prints a comparison of hosts: the length of their steps, how often they arrive last at collectives, and their
    difference from the median host."""
    if len(hosts) < 2:
        return
    column_units = host_units(hosts)
    table = common.table("Hosts side by side", "Host", *host_heads(*column_units), left=(0, 6))
    for row in listed_hosts(hosts):
        table.add_row(row["name"], *host_cells(row, *column_units))
    out.print(table)


def print_steps(out: Console, steps: Sequence[Document], title: str) -> None:
    """Prints steps of many hosts by number: those with the longest time on any host, in order of number."""
    rows = steps_across_hosts(steps)
    longest = sorted(rows, key=lambda row: -row.longest["duration_ps"])[: common.ROWS]
    unit = units.column_unit([row.longest["duration_ps"] for row in rows])
    heads = ("Hosts", f"Median, {unit}", f"Longest, {unit}", "On", "There")
    more = f"; the {common.ROWS} longest" if len(rows) > common.ROWS else ""
    table = common.table(f"{title}{more})", "Step", *heads, left=(0, 4, 5))
    for row in sorted(longest, key=lambda row: row.longest["index"] if row.number is None else row.number):
        table.add_row(
            f"{row.name} {row.number}",
            units.count(row.hosts),
            units.time_in(row.median_ps, unit),
            *common.times(row.longest, unit, "duration_ps"),
            row.longest["host"],
            common.class_times(row.longest["host_ps"], 2),
        )
    out.print(table)
