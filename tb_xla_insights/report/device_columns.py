"""Devices as a page is told of them: of thousands only what it draws, a column each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

EXACT = 256
"""Of so many devices times are exact, of more whole microseconds: a page shows no more of them."""
_COARSE_PS = 10**6

_DIGITS = 5
_NAMES = ("id", "name", "kind", "host", "modules", "ops")
_TIMES = ("busy_ps", "idle_ps", "stall_ps")


def device_heads(devices: Sequence[Row]) -> list[dict[str, Any]]:
    """What every view has to know of devices: who they are, and how busy."""
    unit = _unit_ps(devices)
    return [
        {name: row[name] for name in _NAMES}
        | {name: unit * _units(row[name], unit) for name in _TIMES}
        | {"duty_cycle": None if row["duty_cycle"] is None else round(row["duty_cycle"], _DIGITS)}
        for row in devices
    ]


def device_columns(devices: Sequence[Row], whole_steps: Iterable[Row]) -> dict[str, Any]:
    """Columns of the report's `devices`: `id`, `name`, `host` and `duty`: `span`, `busy` and `stall` by definition.
    And of `whole_steps`, the devices of `step_idle`: `steps` (null without an entry), `small`, and by class `idle`.
    Times are multiples of `unit_ps`."""
    unit = _unit_ps(devices)
    found = {row["id"]: row for row in whole_steps}
    idle = [found.get(row["id"]) for row in devices]
    classes = dict.fromkeys(name for row in idle if row for name in row["by_class_ps"])

    def column(times: Iterable[int]) -> list[int]:
        return [_units(time, unit) for time in times]

    return {
        "unit_ps": unit,
        **{name: [row[name] for row in devices] for name in ("id", "name", "host")},
        "duty": {
            name: {
                definition: column(row["duty"][definition][f"{name}_ps"] for row in devices)
                for definition in (devices[0]["duty"] if devices else ())
            }
            for name in (
                "span",
                "busy",
                "stall",
            )  # columns that are often alike stand side by side, and pack well
        },
        "steps": [row and row["steps"] for row in idle],
        "small": column(row["small_ps"] if row else 0 for row in idle),
        "idle": {
            name: column(row["by_class_ps"].get(name, 0) if row else 0 for row in idle) for name in classes
        },
    }


def _unit_ps(devices: Sequence[Row]) -> int:
    return 1 if len(devices) <= EXACT else _COARSE_PS


def _units(time_ps: int, unit_ps: int) -> int:
    """Of a time, to the nearest."""
    return (time_ps + unit_ps // 2) // unit_ps
