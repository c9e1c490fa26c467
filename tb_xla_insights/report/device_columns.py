"""Devices as a page is told of them: of thousands only what it draws, a column each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import DutyDefinition
    from tb_xla_insights.schema.overview_route import DeviceColumns

Row = Mapping[str, Any]

MAX_EXACT_ROWS = 256
"""Of so many devices, or steps of several hosts, times are exact, of more they have the digits that a page shows."""
_DIGITS = 4
"""Digits of the longest span of devices; steps have one more."""

_SHARE_DIGITS = 4


def device_overview(devices: Sequence[Row]) -> dict[str, Any]:
    """What every view has to know of devices, who they are and how busy, as columns of the report's `devices`: `host`,
    `name`, `kind`, `modules`, `ops`, `duty_cycle`; `busy`, `idle` and `stall` are multiples of `unit_ps`. The id of a
    device is `<host>/<name>`."""
    unit = common_unit_ps((row["span_ps"] for row in devices), len(devices) > MAX_EXACT_ROWS)
    return {
        "unit_ps": unit,
        **{name: [row[name] for row in devices] for name in ("host", "name", "kind", "modules", "ops")},
        **{
            name: rounded_to_unit((row[f"{name}_ps"] for row in devices), unit)
            for name in ("busy", "idle", "stall")
        },
        "duty_cycle": [
            None if row["duty_cycle"] is None else round(row["duty_cycle"], _SHARE_DIGITS) for row in devices
        ],
    }


def device_columns(devices: Sequence[Row], whole_steps: Iterable[Row]) -> DeviceColumns:
    """Columns of the report's `devices`: `host`, `name` and `duty`: `span`, `busy` and `stall` by definition.
    And of `whole_steps`, the devices of `step_idle`: `steps` (null without an entry), `small`, `edges`, and by
    class `idle`.
    Times are multiples of `unit_ps`; the id of a device is `<host>/<name>`."""
    unit = common_unit_ps((row["span_ps"] for row in devices), len(devices) > MAX_EXACT_ROWS)
    found = {row["id"]: row for row in whole_steps}
    idle = [found.get(row["id"]) for row in devices]
    classes = dict.fromkeys(name for row in idle if row for name in row["by_class_ps"])
    # Columns that are alike stand side by side and pack well: ops within the devices' span and within the capture.
    definitions = sorted(devices[0]["duty"], key=lambda it: it != "modules") if devices else []

    def of_duty(name: str) -> dict[DutyDefinition, list[int]]:
        return {
            definition: rounded_to_unit((row["duty"][definition][f"{name}_ps"] for row in devices), unit)
            for definition in definitions
        }

    def of_steps(name: str) -> list[int]:
        return rounded_to_unit((row[f"{name}_ps"] if row else 0 for row in idle), unit)

    return {
        "unit_ps": unit,
        "host": [row["host"] for row in devices],
        "name": [row["name"] for row in devices],
        "duty": {"span": of_duty("span"), "busy": of_duty("busy"), "stall": of_duty("stall")},
        "steps": [row["steps"] if row else None for row in idle],
        "small": of_steps("small"),
        "edges": of_steps("edges"),
        "idle": {
            name: rounded_to_unit((row["by_class_ps"].get(name, 0) if row else 0 for row in idle), unit)
            for name in classes
        },
    }


def common_unit_ps(times: Iterable[int], many: bool, digits: int = _DIGITS) -> int:
    """What times are multiples of: a power of ten of which the longest one has so many digits, where they are many."""
    return 10 ** max(0, len(str(max(times, default=0))) - digits) if many else 1


def rounded_to_unit(times: Iterable[int], unit: int) -> list[int]:
    """Each to the nearest."""
    return [(time + unit // 2) // unit for time in times]
