"""Devices as columns for the page, with only the values that it draws, as a session may have thousands of devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import DeviceColumns
    from tb_xla_insights.schema.session import Device
    from tb_xla_insights.schema.session_route import DeviceSummaries

Row = Mapping[str, Any]

MAX_EXACT_ROWS = 256
"""The most devices, or steps of several hosts, with exact times. Times of more are rounded to the digits that the page
shows."""
_TIME_DIGITS = 4
"""Digits of the longest span of devices; steps have one more."""

_SHARE_DIGITS = 4


def device_overview(devices: Sequence[Device]) -> DeviceSummaries:
    """The identity and busy time of devices, for all views, as columns of the report's `devices`.

    The columns are `host`, `name`, `kind`, `modules`, `ops`, `duty_cycle`, and `busy`, `idle` and `stall` in multiples
    of `unit_ps`. The id of a device is `<host>/<name>`."""
    unit = common_unit_ps((row["span_ps"] for row in devices), len(devices) > MAX_EXACT_ROWS)
    return {
        "unit_ps": unit,
        "host": [row["host"] for row in devices],
        "name": [row["name"] for row in devices],
        "kind": [row["kind"] for row in devices],
        "modules": [row["modules"] for row in devices],
        "ops": [row["ops"] for row in devices],
        "busy": rounded_to_unit((row["busy_ps"] for row in devices), unit),
        "idle": rounded_to_unit((row["idle_ps"] for row in devices), unit),
        "stall": rounded_to_unit((row["stall_ps"] for row in devices), unit),
        "duty_cycle": [round(row["duty_cycle"], _SHARE_DIGITS) for row in devices],
    }


def device_columns(devices: Sequence[Row], whole_steps: Iterable[Row]) -> DeviceColumns:
    """Columns of the report's `devices`: `host`, `name`, `span`, `busy` and `stall`, and of
    `whole_steps`, the devices of `step_idle`: `steps` (None for a device that is not among them), `small`, `edges`, and
    `idle` by class.

    Times are multiples of `unit_ps`; the id of a device is `<host>/<name>`."""
    unit = common_unit_ps((row["span_ps"] for row in devices), len(devices) > MAX_EXACT_ROWS)
    idle_by_id = {row["id"]: row for row in whole_steps}
    idle = [idle_by_id.get(row["id"]) for row in devices]
    classes = dict.fromkeys(name for row in idle if row for name in row["by_class_ps"])

    def times(name: str) -> list[int]:
        return rounded_to_unit((row[f"{name}_ps"] for row in devices), unit)

    def idle_times(name: str) -> list[int]:
        return rounded_to_unit((row[f"{name}_ps"] if row else 0 for row in idle), unit)

    return {
        "unit_ps": unit,
        "host": [row["host"] for row in devices],
        "name": [row["name"] for row in devices],
        "span": times("span"),
        "busy": times("busy"),
        "stall": times("stall"),
        "steps": [row["steps"] if row else None for row in idle],
        "small": idle_times("small"),
        "edges": idle_times("edges"),
        "idle": {
            name: rounded_to_unit((row["by_class_ps"].get(name, 0) if row else 0 for row in idle), unit)
            for name in classes
        },
    }


def common_unit_ps(times: Iterable[int], rounded: bool, digits: int = _TIME_DIGITS) -> int:
    """The unit of a column of times: 1 ps, or for `rounded` times the power of ten in which the longest one has
    `digits` digits."""
    return 10 ** max(0, len(str(max(times, default=0))) - digits) if rounded else 1


def rounded_to_unit(times: Iterable[int], unit: int) -> list[int]:
    """Times in multiples of a unit, rounded to the nearest one."""
    return [(time + unit // 2) // unit for time in times]
