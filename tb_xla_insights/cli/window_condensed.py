"""Prints a window of many hosts and devices: outliers by name, the others together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.thresholds import WARNING_SHARE
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.cli import elements
from tb_xla_insights.report.condensed import CONDENSED_FROM, name_range
from tb_xla_insights.tables.window import WINDOW_CLASSES_OF_HOSTS, WINDOW_DEVICES, WINDOW_OPS
from tb_xla_insights.text import units
from tb_xla_insights.text.english import mean_text, plural

if TYPE_CHECKING:
    from rich.console import Console

Row = Mapping[str, Any]

MAX_LISTED_HOSTS = 4
"""Up to this many hosts, each has a table."""

MAX_NAMED = 3
"""The maximum number of named hosts, and of named groups of devices: those that differ most from the median."""


def needs_condensing(answer: Row) -> bool:
    """Whether a window has too many hosts or devices for a table or row each."""
    return len(answer["hosts"]) > MAX_LISTED_HOSTS or len(answer["devices"]) >= CONDENSED_FROM


def split_outliers(
    rows: Sequence[Row], times_of_rows: Sequence[Sequence[int]], medians: Sequence[int], duration_ps: int
) -> tuple[list[Row], list[Row]]:
    """The outliers, whose times differ from the medians by more than WARNING_SHARE of the window in some column, the
    farthest first and at most MAX_NAMED; and the other rows in their order."""
    deviations = [
        max((abs(time - median) for time, median in zip(row_times, medians, strict=True)), default=0)
        for row_times in times_of_rows
    ]
    farthest = sorted(range(len(rows)), key=lambda index: -deviations[index])[:MAX_NAMED]
    outliers = [index for index in farthest if deviations[index] > WARNING_SHARE * duration_ps]
    return [rows[index] for index in outliers], [
        row for index, row in enumerate(rows) if index not in outliers
    ]


def split_hosts(answer: Row) -> tuple[list[Row], list[Row]]:
    """The hosts whose times by class are outliers, and the others; of a few hosts (MAX_LISTED_HOSTS) all and none."""
    hosts = answer["hosts"]
    if len(hosts) <= MAX_LISTED_HOSTS:
        return list(hosts), []
    times = [[host["by_class_ps"].get(name, 0) for name in CLASSES] for host in hosts]
    return split_outliers(hosts, times, _medians(times), answer["duration_ps"])


def _medians(rows: Sequence[Sequence[int]]) -> list[int]:
    """The lower median of each column."""
    return [median_low(column) for column in zip(*rows, strict=True)]


def print_other_hosts(
    out: Console, hosts: Sequence[Row], duration_ps: int, unit: str, named_count: int
) -> None:
    """Prints per class the median host's time, the least and the most."""
    if not hosts:
        return
    rows = []
    for name in CLASSES:
        times = [host["by_class_ps"].get(name, 0) for host in hosts]
        if max(times):
            rows.append(
                {
                    "class": name,
                    "median_ps": median_low(times),
                    "share": median_low(times) / duration_ps,
                    "min_ps": min(times),
                    "max_ps": max(times),
                    "host": "" if min(times) == max(times) else hosts[times.index(max(times))]["host"],
                }
            )
    rows.sort(key=lambda row: -row["median_ps"])
    title = f"What {units.count(len(hosts))} {'other ' if named_count else ''}hosts did, by class"
    time_units = dict.fromkeys(("median_ps", "min_ps", "max_ps"), unit)
    out.print(elements.table(WINDOW_CLASSES_OF_HOSTS, rows, title=title, time_units=time_units))


def condense_threads(threads: Sequence[Row], named_hosts: Sequence[Row]) -> list[Row]:
    """The threads of the named hosts, and those whose name and role only one other host has; for each other name and
    role, the thread with the median busy time in place of all."""
    host_names = {row["host"] for row in named_hosts}
    groups: dict[tuple[str, str], list[Row]] = {}
    for thread in threads:
        if thread["host"] not in host_names:
            groups.setdefault((thread["name"], thread["role"]), []).append(thread)
    condensed_threads = [thread for thread in threads if thread["host"] in host_names]
    for group in groups.values():
        hosts = len({row["host"] for row in group})
        if hosts == 1:
            condensed_threads += group
            continue
        median = sorted(group, key=lambda row: row["busy_ps"])[(len(group) - 1) // 2]
        condensed_threads.append({**median, "host": f"median of {units.count(hosts)}"})
    return condensed_threads


def with_outside(devices: Sequence[Row], duration_ps: int) -> list[Row]:
    """The devices with `outside_ps`, the part of the window outside of their spans."""
    return [
        {**device, "outside_ps": duration_ps - device["busy_ps"] - device["idle_ps"]} for device in devices
    ]


def print_devices(out: Console, rows: Sequence[Row], unit: str) -> None:
    """Prints rows of `with_outside`, with that column if any row has such time."""
    if not rows:
        return
    is_outside = any(row["outside_ps"] for row in rows)
    definition = WINDOW_DEVICES if is_outside else WINDOW_DEVICES.without("outside_ps")
    time_units = dict.fromkeys(("busy_ps", "idle_ps", "outside_ps", "stall_ps"), unit)
    out.print(elements.table(definition, rows, time_units=time_units))


def print_many_devices(out: Console, devices: Sequence[Row], duration_ps: int, unit: str) -> None:
    """Prints outliers among the devices, with equal devices of a host as one row; the median and the extremes of the
    others; and the ops of each row, per core."""
    devices = with_outside(devices, duration_ps)
    groups: dict[tuple[str, int, int], list[Row]] = {}
    for device in devices:
        percentages = (round(100 * device[key] / duration_ps) for key in ("busy_ps", "stall_ps"))
        groups.setdefault((device["host"], *percentages), []).append(device)
    names_of_hosts: dict[str, list[str]] = {}
    for device in devices:
        names_of_hosts.setdefault(device["host"], []).append(device["name"])

    def group_name(group: Sequence[Row]) -> str:
        return name_range([device["name"] for device in group], names_of_hosts[group[0]["host"]])

    merged = [
        _merged_row(group, group_name(group), group[0]["host"])
        | {"devices": group, "device": group_name(group)}
        for group in groups.values()
    ]
    medians = _medians(_busy_and_stall(devices))
    outliers, other_rows = split_outliers(merged, _busy_and_stall(merged), medians, duration_ps)
    other_devices = [device for row in other_rows for device in row["devices"]]
    rows = [*outliers]
    if other_devices:
        label = plural(len(other_devices), "other" if outliers else "device")
        median = _merged_row(other_devices, f"{label}, median", "")
        rows.append(median | {"devices": other_devices, "device": label})
    print_devices(out, rows, unit)
    busy = [device["busy_ps"] for device in other_devices]
    if len(set(busy)) > 1:
        low, high = (other_devices[busy.index(extreme)] for extreme in (min(busy), max(busy)))
        elements.print_paragraph(
            out,
            f"Of {'these' if not outliers else 'the others'}, {low['id']} is busy for the least time, "
            f"{units.time_text(min(busy))}, and {high['id']} for the most, {units.time_text(max(busy))}.",
        )
        out.print()
    _print_ops(out, rows)


def _busy_and_stall(rows: Sequence[Row]) -> list[tuple[int, int]]:
    return [(row["busy_ps"], row["stall_ps"]) for row in rows]


def _print_ops(out: Console, rows: Sequence[Row]) -> None:
    """Prints the longest ops of each row's devices, as means per core."""
    ops_of_rows = [(row, _mean_ops(row["devices"])) for row in rows]
    op_rows = [
        {
            "device": row["device"],
            "host": row["host"],
            "op": units.cut_middle(op.name),
            "count": mean_text(op.count),
            "self_ps": op.self_ps,
        }
        for row, ops in ops_of_rows
        for op in ops[: elements.MAX_ROWS]
    ]
    if op_rows:
        out.print(elements.table(WINDOW_OPS, op_rows))


@dataclass(frozen=True)
class _MeanOp:
    """An op, with its mean count and own time per core."""

    name: str
    count: float
    self_ps: int


def _mean_ops(devices: Sequence[Row]) -> list[_MeanOp]:
    """The ops of some devices, those with most time first. Counts those in each device's list of the longest ops."""
    sums: dict[str, list[int]] = {}
    for device in devices:
        for row in device["top_ops"]:
            op_sums = sums.setdefault(row["op"], [0, 0])
            op_sums[0] += row["count"]
            op_sums[1] += row["self_ps"]
    cores = len(devices)
    means = [_MeanOp(name, count / cores, self_ps // cores) for name, (count, self_ps) in sums.items()]
    return sorted(means, key=lambda op: (-op.self_ps, op.name))


def _merged_row(devices: Sequence[Row], name: str, host: str) -> dict[str, Any]:
    """One row for several devices, with the medians of their values."""
    keys = ("busy_ps", "idle_ps", "outside_ps", "stall_ps", "modules", "ops")
    return {"name": name, "host": host} | {
        key: median_low([device[key] for device in devices]) for key in keys
    }
