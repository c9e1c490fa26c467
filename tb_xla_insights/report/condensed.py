"""What is told of many devices, hosts and steps in place of one row each: those that stand out by name, the others as
one. From MANY on; the report's document has all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from tb_xla_insights.analysis.thresholds import INFO_SHARE

Row = Mapping[str, Any]

CONDENSED_FROM = 17
MAX_NAMED_GROUPS = 3
"""Groups of devices that are named."""
MAX_NAMED_HOSTS = 6
"""Hosts that are named, …"""
_TOLD = 0.98
"""… until so much of all waiting is told."""


@dataclass(frozen=True)
class DeviceGroup:
    """Some devices as one row: their names, their host (empty: several), and means of a core. `duty` is that of all
    of them."""

    names: Sequence[str]
    host: str
    span_ps: int
    busy_ps: int
    stall_ps: int
    duty: float


def split_devices(
    devices: Sequence[Row], definition: str
) -> tuple[list[DeviceGroup], DeviceGroup | None, DeviceGroup]:
    """The devices with the lowest duty cycles by a definition of busy (a key of the report's `duty`), cores of a host
    that agree together; the others; and all. Named are those that are lower than the one in the middle by more than
    INFO_SHARE."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for device in devices:
        told = device["duty"][definition]
        groups.setdefault((device["host"], round(1000 * _duty([told]))), []).append(device)
    usual = median_low(_duty([device["duty"][definition]]) for device in devices)
    made = [(_together(its, definition, host), its) for (host, _), its in groups.items()]
    low = sorted((it for it in made if it[0].duty < usual - INFO_SHARE), key=lambda it: it[0].duty)
    named = low[:MAX_NAMED_GROUPS]
    known = [device for _, its in named for device in its]
    rest = [device for device in devices if not any(device is it for it in known)]
    others = _together(rest, definition, "") if rest else None
    return [it for it, _ in named], others, _together(devices, definition, "")


def _duty(told: Sequence[Row]) -> float:
    span = sum(it["span_ps"] for it in told)
    return sum(it["busy_ps"] for it in told) / span if span else 0.0


def _together(devices: Sequence[Row], definition: str, host: str) -> DeviceGroup:
    told = [device["duty"][definition] for device in devices]
    means = {name: sum(it[name] for it in told) // len(told) for name in ("span_ps", "busy_ps", "stall_ps")}
    return DeviceGroup([device["name"] for device in devices], host, **means, duty=_duty(told))


def split_hosts(hosts: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Hosts that others wait for longest, until nearly all waiting is told, and the others in their order; of MANY
    hosts or more. Of fewer all are named, in their order."""
    if len(hosts) < CONDENSED_FROM:
        return [*hosts], []
    ordered = sorted(hosts, key=lambda row: -(row["others_wait_ps"] or 0))
    whole = sum(row["others_wait_ps"] or 0 for row in hosts)
    named: list[Row] = []
    for row in ordered[:MAX_NAMED_HOSTS]:
        if sum(it["others_wait_ps"] for it in named) >= _TOLD * whole:
            break
        named.append(row)
    return named, [row for row in hosts if not any(row is it for it in named)]


@dataclass(frozen=True)
class StepAcrossHosts:
    """The steps of many hosts that have one number: how many hosts have it, the median time, the longest one."""

    name: str
    number: int | None
    hosts: int
    median_ps: int
    longest: Row


def steps_across_hosts(steps: Sequence[Row]) -> list[StepAcrossHosts]:
    """Steps of all hosts by name and number; those without a number by their place on their host."""
    groups: dict[tuple[str, int], list[Row]] = {}
    first: dict[str, int] = {}
    for step in steps:
        place = step["index"] - first.setdefault(step["host"], step["index"])
        number = place if step["number"] is None else step["number"]
        groups.setdefault((step["name"].split("#", 1)[0], number), []).append(step)
    return [
        StepAcrossHosts(
            name,
            number,
            len(its),
            median_low(step["duration_ps"] for step in its),
            max(its, key=lambda step: step["duration_ps"]),
        )
        for (name, number), its in groups.items()
    ]
