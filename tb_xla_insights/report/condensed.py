"""Condensed tables of many devices, hosts and steps: outliers by name, all others as one row.

Tables are condensed from CONDENSED_FROM hosts or devices on; the report's document always has all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

Row = Mapping[str, Any]

CONDENSED_FROM = 17
"""The number of hosts or devices from which tables are condensed."""
MAX_NAMED_GROUPS = 3
"""The most groups of devices that are named."""
MAX_NAMED_HOSTS = 6
"""The most hosts that are named."""
_NAMED_WAIT_SHARE = 0.98
"""Hosts are named until they cause this share of all waiting."""


@dataclass(frozen=True)
class DeviceGroup:
    """Several devices as one row: their names, their host (empty for a group that may span hosts), mean times per core,
    and the duty cycle of all of them together."""

    names: Sequence[str]
    host: str
    span_ps: int
    busy_ps: int
    stall_ps: int
    duty_cycle: float


def split_devices(devices: Sequence[Row], definition: str) -> tuple[list[DeviceGroup], DeviceGroup | None]:
    """The devices with the lowest duty cycles, and all others (None without any).

    The duty cycles are those by `definition`, a key of the report's `duty`. Cores of one host with equal duty cycles,
    to the tenth of a percent, form one group. The MAX_NAMED_GROUPS lowest groups are returned individually if their
    duty cycle is more than INFO_SHARE below the median device's.
    """
    devices_by_duty: dict[tuple[str, int], list[Row]] = {}
    for device in devices:
        permille = round(1000 * _duty_cycle([device["duty"][definition]]))
        devices_by_duty.setdefault((device["host"], permille), []).append(device)
    median_duty_cycle = median_low(_duty_cycle([device["duty"][definition]]) for device in devices)
    groups = [
        (_device_group(members, definition, host), members) for (host, _), members in devices_by_duty.items()
    ]
    low_groups = sorted(
        (pair for pair in groups if pair[0].duty_cycle < median_duty_cycle - INFO_SHARE),
        key=lambda pair: pair[0].duty_cycle,
    )
    named_groups = low_groups[:MAX_NAMED_GROUPS]
    named_ids = {id(device) for _, members in named_groups for device in members}
    other_devices = [device for device in devices if id(device) not in named_ids]
    return [group for group, _ in named_groups], _device_group(
        other_devices, definition, ""
    ) if other_devices else None


def _duty_cycle(rows: Sequence[Row]) -> float:
    span = sum(row["span_ps"] for row in rows)
    return sum(row["busy_ps"] for row in rows) / span if span else 0.0


def _device_group(devices: Sequence[Row], definition: str, host: str) -> DeviceGroup:
    rows = [device["duty"][definition] for device in devices]
    means = {name: sum(row[name] for row in rows) // len(rows) for name in ("span_ps", "busy_ps", "stall_ps")}
    return DeviceGroup([device["name"] for device in devices], host, **means, duty_cycle=_duty_cycle(rows))


def split_hosts(hosts: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The hosts that others wait for longest, until they cause nearly all waiting, at most MAX_NAMED_HOSTS, and the
    other hosts in their order.

    Below CONDENSED_FROM hosts all are named, in their order."""
    if len(hosts) < CONDENSED_FROM:
        return [*hosts], []
    ordered = sorted(hosts, key=lambda row: -(row["others_wait_ps"] or 0))
    total_ps = sum(row["others_wait_ps"] or 0 for row in hosts)
    named_hosts: list[Row] = []
    for row in ordered[:MAX_NAMED_HOSTS]:
        if sum(host["others_wait_ps"] for host in named_hosts) >= _NAMED_WAIT_SHARE * total_ps:
            break
        named_hosts.append(row)
    return named_hosts, [row for row in hosts if not any(row is host for host in named_hosts)]


def device_row(device: Row, definition: str) -> Row:
    """The device with its times by a definition of busy."""
    times = device["duty"][definition]
    return {
        **device,
        **times,
        "idle_ps": times["span_ps"] - times["busy_ps"],
        "duty_cycle": _duty_cycle([times]),
    }


def condensed_device_rows(devices: Sequence[Row], definition: str) -> list[Row]:
    """The devices with the lowest duty cycles, all others, and all, as rows with mean times per core."""
    named_groups, other_group = split_devices(devices, definition)
    rows = [
        _group_row(
            name_range(group.names, [row["name"] for row in devices if row["host"] == group.host]), group
        )
        for group in named_groups
    ]
    if other_group and named_groups:
        rows.append(_group_row(f"{units.count(len(other_group.names))} others", other_group))
    return [*rows, mean_device_row(devices, definition)]


def mean_device_row(devices: Sequence[Row], definition: str) -> Row:
    """All devices as one row: mean times per core, and the duty cycle of all together."""
    group = _device_group(devices, definition, "")
    return _group_row(f"mean of {units.count(len(devices))} cores", group)


def _group_row(name: str, group: DeviceGroup) -> Row:
    return {
        "name": name,
        "host": group.host,
        "duty_cycle": group.duty_cycle,
        "span_ps": group.span_ps,
        "busy_ps": group.busy_ps,
        "idle_ps": group.span_ps - group.busy_ps,
        "stall_ps": group.stall_ps,
    }


def name_range(names: Sequence[str], names_of_host: Sequence[str]) -> str:
    """`TPU:0 to TPU:3` for devices that follow each other among those of their host, else `TPU:0 and 2 others`; both
    arguments are in the host's order."""
    if len(names) == 1:
        return names[0]
    first = names_of_host.index(names[0])
    if names_of_host[first : first + len(names)] == names:
        return f"{names[0]} to {names[-1]}"
    return f"{names[0]} and {plural(len(names) - 1, 'other')}"


@dataclass(frozen=True)
class StepAcrossHosts:
    """One step of a session: the number of hosts that have it, its median time, and its row on the host on which it is
    longest."""

    name: str
    number: int
    hosts: int
    median_ps: int
    longest: Row


def steps_across_hosts(steps: Sequence[Row]) -> list[StepAcrossHosts]:
    """Steps of all hosts by name, repetition and number, in order of repetition, then number; a step without a number
    has its index on its host instead. Of a name with arguments (`train#step_num=3#`), only the part before them counts.
    If a host has several steps of one name and number, the first ones of all hosts are one step, then the second ones,
    and so on."""
    groups: dict[tuple[int, int, str], list[Row]] = {}
    first_index: dict[str, int] = {}
    repetitions: Counter[tuple[str, str, int]] = Counter()
    for step in steps:
        index = step["index"] - first_index.setdefault(step["host"], step["index"])
        number = index if step["number"] is None else step["number"]
        name = step["name"].split("#", 1)[0]
        repetition = repetitions[step["host"], name, number]
        repetitions[step["host"], name, number] += 1
        groups.setdefault((repetition, number, name), []).append(step)
    return [
        StepAcrossHosts(
            name,
            number,
            len(members),
            median_low(step["duration_ps"] for step in members),
            max(members, key=lambda step: step["duration_ps"]),
        )
        for (_, number, name), members in sorted(groups.items(), key=lambda item: item[0][:2])
    ]
