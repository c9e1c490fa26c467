"""The table of a session's hosts, for the text output and the HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from tb_xla_insights import units
from tb_xla_insights.catalog.classes import label
from tb_xla_insights.report.condensed import split_hosts

Row = Mapping[str, Any]


def listed_hosts(hosts: Sequence[Row]) -> list[Row]:
    """The report's `hosts`; of many hosts those that others wait for longest, and one row for the rest: their median
    host by step time, with the time that others wait for any of them."""
    named, others = split_hosts(hosts)
    if not others:
        return named
    median = sorted(others, key=lambda row: row["step_ps"] or 0)[(len(others) - 1) // 2]
    sums = {
        "name": f"{units.count(len(others))} others",
        "steps": median_low(row["steps"] for row in others),
        "others_wait_ps": sum(row["others_wait_ps"] or 0 for row in others),
        **dict.fromkeys(("last_share", "clock_offset_ps", "differs")),
    }
    return [*named, {**median, **sums}]


def host_units(hosts: Sequence[Row]) -> tuple[str, str]:
    """The units of steps and of the time that others wait; milliseconds if no host has a value."""
    columns = ([row[key] for row in hosts if row[key] is not None] for key in ("step_ps", "others_wait_ps"))
    steps, waits = (units.column_unit(times) if times else "ms" for times in columns)
    return steps, waits


def host_heads(step_unit: str, wait_unit: str) -> tuple[str, ...]:
    """The headings of the columns after the host's name."""
    return (
        "Steps",
        f"Step (median), {step_unit}",
        "Duty cycle",
        "Last in",
        f"Others wait, {wait_unit}",
        "Differs most",
        "Clock, µs",
    )


def host_cells(row: Row, step_unit: str, wait_unit: str) -> list[str]:
    """A host's cells below `host_heads`."""
    differs, clock = row["differs"], row["clock_offset_ps"]
    return [
        units.count(row["steps"]),
        units.MISSING if row["step_ps"] is None else units.time_in(row["step_ps"], step_unit),
        units.share(row["duty_cycle"]),
        units.share(row["last_share"]),
        units.MISSING if row["others_wait_ps"] is None else units.time_in(row["others_wait_ps"], wait_unit),
        _difference(differs) if differs else "",
        units.MISSING
        if clock is None
        else f"{units.time_in(clock, 'µs', 1)} ± {units.time_in(row['residual_ps'], 'µs', 1)}",
    ]


def _difference(differs: Row) -> str:
    if differs["class"] == "unrecorded" and not differs["longer_ps"]:
        return "unrecorded: the file is cut"
    name = "device work" if differs["class"] == "device" else label(differs["class"])
    more = "longer" if differs["longer_ps"] > 0 else "shorter"
    return f"{name}, {units.time_text(abs(differs['longer_ps']), 1)} a step {more}"
