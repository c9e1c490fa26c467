"""Prints many devices, hosts and steps in few rows: outliers by name and the others as one row;
of steps, the longest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import elements
from tb_xla_insights.report.condensed import condensed_device_rows, steps_across_hosts
from tb_xla_insights.report.host_rows import host_rows
from tb_xla_insights.tables.devices import DEVICES, HOSTS, STEPS_OF_HOSTS

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]


def print_devices(out: Console, devices: Sequence[Document], duty: str) -> None:
    """Prints the devices whose duty cycles are farthest below the median (see `split_devices`), the others, and all;
    times are means per core."""
    rows = condensed_device_rows(devices, duty)
    # The last row is the mean of all devices, which stands alone if none is named.
    named = "; those farthest below the median" if len(rows) > 1 else ""
    title = f"Devices ({units.count(len(devices))} cores{named}; times per core)"
    out.print(elements.table(DEVICES.without("modules", "ops"), rows, title=title))


def print_hosts(out: Console, hosts: Sequence[Document]) -> None:
    """Prints a comparison of hosts: the length of their steps, how often they arrive last at collectives, and their
    difference from the median host."""
    if len(hosts) > 1:
        out.print(elements.table(HOSTS, host_rows(hosts)))


def print_steps(out: Console, steps: Sequence[Document], title: str) -> None:
    """Prints steps of many hosts by number: those with the longest time on any host, in order of number. `title` ends
    within brackets, which this function closes."""
    across_hosts = steps_across_hosts(steps)
    longest = sorted(across_hosts, key=lambda step: -step.longest["duration_ps"])[: elements.MAX_ROWS]
    more = f"; the {elements.MAX_ROWS} longest" if len(across_hosts) > elements.MAX_ROWS else ""
    rows = [
        {
            **step.longest,
            "number": f"{step.name} {step.number}",
            "hosts": step.hosts,
            "median_ps": step.median_ps,
        }
        for step in sorted(longest, key=lambda step: step.number)
    ]
    out.print(elements.table(STEPS_OF_HOSTS, rows, title=f"{title}{more})"))
