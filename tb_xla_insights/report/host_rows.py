"""The table of a session's hosts, for the text output and the HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from tb_xla_insights.catalog.classes import label
from tb_xla_insights.report.condensed import split_hosts
from tb_xla_insights.text import units

Row = Mapping[str, Any]


def listed_hosts(hosts: Sequence[Row]) -> list[Row]:
    """The report's `hosts`; of many hosts those that others wait for longest, and one row for the rest: of those with
    steps the median host by step time, with their median number of steps, and the time that others wait for any of the
    rest (None if it is unknown for all of them)."""
    named_hosts, other_hosts = split_hosts(hosts)
    if not other_hosts:
        return named_hosts
    with_steps = [row for row in other_hosts if row["step_ps"] is not None] or other_hosts
    median = sorted(with_steps, key=lambda row: row["step_ps"] or 0)[(len(with_steps) - 1) // 2]
    waits_ps = [row["others_wait_ps"] for row in other_hosts if row["others_wait_ps"] is not None]
    differing_values = {
        "name": f"{units.count(len(other_hosts))} {'others' if named_hosts else 'hosts'}",
        "steps": median_low(row["steps"] for row in with_steps),
        "others_wait_ps": sum(waits_ps) if waits_ps else None,
        **dict.fromkeys(("last_share", "clock_offset_ps", "difference")),
    }
    return [*named_hosts, {**median, **differing_values}]


def host_rows(hosts: Sequence[Row]) -> list[Row]:
    """The rows of the table of hosts, with the largest difference and the clock as text."""
    return [
        {**row, "difference": _difference_text(row["difference"]), "clock_offset_ps": _clock(row)}
        for row in listed_hosts(hosts)
    ]


def _clock(row: Row) -> str | None:
    if row["clock_offset_ps"] is None:
        return None
    offset, residual = (units.time_in(row[key], "µs", 1) for key in ("clock_offset_ps", "residual_ps"))
    return f"{offset} ± {residual}"


def _difference_text(difference: Row | None) -> str:
    if difference is None:
        return ""
    if difference["class"] == "unrecorded" and not difference["longer_ps"]:
        return "unrecorded: the file is cut"
    name = "device work" if difference["class"] == "device" else label(difference["class"])
    more = "longer" if difference["longer_ps"] > 0 else "shorter"
    return f"{name}, {units.time_text(abs(difference['longer_ps']), 1)} a step {more}"
