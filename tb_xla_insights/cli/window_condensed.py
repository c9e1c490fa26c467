"""A window on many hosts and devices as text: those that stand out by name, the others together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median_low
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.analysis.thresholds import WARNING_SHARE
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.cli import common
from tb_xla_insights.report.condensed import CONDENSED_FROM

if TYPE_CHECKING:
    from rich.console import Console

Row = Mapping[str, Any]

FEW_HOSTS = 4
"""Hosts that are all told, each by itself."""

MOST_NAMED = 3
"""Hosts, and groups of devices, that are named: those that differ most from the one in the middle."""


def is_many(answer: Row) -> bool:
    """Whether a window has too many hosts or devices for a table or row each."""
    return len(answer["hosts"]) > FEW_HOSTS or len(answer["devices"]) >= CONDENSED_FROM


def stand_out(
    rows: Sequence[Row], times: Callable[[Row], Sequence[int]], duration_ps: int
) -> tuple[list[Row], list[Row]]:
    """Those of which some time differs from the median of all by more than WARNING_SHARE of the window, the farthest
    ones first and no more than MOST_NAMED; and the others in their order."""
    told = [times(row) for row in rows]
    middle = [median_low(column) for column in zip(*told, strict=True)]
    apart = [
        max((abs(time - usual) for time, usual in zip(its, middle, strict=True)), default=0) for its in told
    ]
    far = sorted(range(len(rows)), key=lambda place: -apart[place])[:MOST_NAMED]
    named = [place for place in far if apart[place] > WARNING_SHARE * duration_ps]
    return [rows[place] for place in named], [row for place, row in enumerate(rows) if place not in named]


def hosts_apart(answer: Row) -> tuple[list[Row], list[Row]]:
    """The hosts that stand out by what they did, and the others."""
    return stand_out(
        answer["hosts"],
        lambda host: [host["by_class_ps"].get(name, 0) for name in CLASSES],
        answer["duration_ps"],
    )


def print_other_hosts(out: Console, hosts: Sequence[Row], duration_ps: int, unit: str, named: int) -> None:
    """Per class the median host's time, the least and the most."""
    if not hosts:
        return
    heads = (f"Median, {unit}", "Share", f"Least, {unit}", f"Most, {unit}", "Most on")
    who = f"{units.count(len(hosts))} {'other ' if named else ''}hosts"
    table = common.table(f"What {who} did, by class", "Class", *heads, left=(0, 5))
    rows = []
    for name in CLASSES:
        times = [host["by_class_ps"].get(name, 0) for host in hosts]
        if max(times):
            most = hosts[times.index(max(times))]["host"]
            rows.append((median_low(times), name, min(times), max(times), most))
    for usual, name, least, longest, most in sorted(rows, reverse=True):
        first, low, high = (units.time_in(ps, unit) for ps in (usual, least, longest))
        where = "" if low == high else most
        table.add_row(common.class_text(name), first, units.share(usual / duration_ps), low, high, where)
    out.print(table)


def threads_told(threads: Sequence[Row], named: Sequence[Row]) -> list[Row]:
    """The threads of hosts that are named; of the others, of each name and role the one that is busy as long as the
    median one, for all of them."""
    alone = {row["host"] for row in named}
    groups: dict[tuple[str, str], list[Row]] = {}
    for thread in threads:
        if thread["host"] not in alone:
            groups.setdefault((thread["name"], thread["role"]), []).append(thread)
    told = [thread for thread in threads if thread["host"] in alone]
    for its in groups.values():
        middle = sorted(its, key=lambda row: row["busy_ps"])[(len(its) - 1) // 2]
        hosts = len({row["host"] for row in its})
        told.append({**middle, "host": f"median of {units.count(hosts)}" if hosts > 1 else middle["host"]})
    return told


def print_many_devices(out: Console, devices: Sequence[Row], duration_ps: int, unit: str) -> None:
    """Devices that stand out, those of a host that agree as one row; the median of the others, and how far apart they
    are; and the ops of each of these, of a core."""
    groups: dict[tuple[str, int, int], list[Row]] = {}
    for device in devices:
        alike = (round(100 * device[key] / duration_ps) for key in ("busy_ps", "stall_ps"))
        groups.setdefault((device["host"], *alike), []).append(device)
    every = [_together(its, _names(its), its[0]["host"]) | {"devices": its} for its in groups.values()]
    named, rest = stand_out(every, lambda row: [row["busy_ps"], row["stall_ps"]], duration_ps)
    others = [device for row in rest for device in row["devices"]]
    rows = [*named]
    if others:
        who = f"{units.count(len(others))} {'others' if named else 'devices'}, median"
        rows.append(_together(others, who, "") | {"devices": others})
    times = [f"{name}, {unit}" for name in ("Busy", "Idle", "Stall")]
    table = common.table("Devices (each core)", "Device", "Host", *times, "Modules", "Ops", left=(0, 1))
    for row in rows:
        shown = common.times(row, unit, "busy_ps", "idle_ps", "stall_ps")
        table.add_row(row["name"], row["host"], *shown, units.count(row["modules"]), units.count(row["ops"]))
    out.print(table)
    if len(others) > 1:
        busy = [device["busy_ps"] for device in others]
        low, high = (next(it for it in others if it["busy_ps"] == end) for end in (min(busy), max(busy)))
        common.say(
            out,
            f"Of {'these' if not named else 'the others'}, {low['id']} is busy for the least time, "
            f"{units.time_text(min(busy))}, and {high['id']} for the most, {units.time_text(max(busy))}.",
        )
        out.print()
    _print_ops(out, rows)


def _print_ops(out: Console, rows: Sequence[Row]) -> None:
    """The longest ops of each row's devices, of a core in the mean."""
    told = [(row, _ops(row["devices"])) for row in rows]
    longest = [ops[0][1][1] for _, ops in told if ops]
    if not longest:
        return
    unit = units.column_unit(longest)
    table = common.table(
        "Ops (the longest, mean of a core)", "Device", "Host", "Op", "Count", f"Self, {unit}", left=(0, 1, 2)
    )
    for row, ops in told:
        name = row["name"].removesuffix(", median")
        for op, (count, self_ps) in ops[: common.ROWS]:
            cells = units.cut_middle(op), f"{count:.1f}".removesuffix(".0"), units.time_in(self_ps, unit)
            table.add_row(name, row["host"], *cells)
    out.print(table)


def _ops(devices: Sequence[Row]) -> list[tuple[str, tuple[float, int]]]:
    """Count and own time of each op, of a core in the mean; those with most time first."""
    sums: dict[str, list[int]] = {}
    for device in devices:
        for row in device["top_ops"]:
            its = sums.setdefault(row["op"], [0, 0])
            its[0] += row["count"]
            its[1] += row["self_ps"]
    number = len(devices)
    means = [(op, (count / number, self_ps // number)) for op, (count, self_ps) in sums.items()]
    return sorted(means, key=lambda it: (-it[1][1], it[0]))


def _names(devices: Sequence[Row]) -> str:
    names = [device["name"] for device in devices]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _together(devices: Sequence[Row], name: str, host: str) -> dict[str, Any]:
    """Some devices as one: the medians of what they did."""
    keys = ("busy_ps", "idle_ps", "stall_ps", "modules", "ops")
    return {"name": name, "host": host} | {
        key: median_low([device[key] for device in devices]) for key in keys
    }
