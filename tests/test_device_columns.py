"""Devices as columns: exact times of a few, four digits of many."""

from __future__ import annotations

from typing import Any

import pytest

from tb_xla_insights.report.device_columns import MAX_EXACT_ROWS, device_columns, device_overview

US = 10**6


def devices(count: int) -> list[Any]:
    times = {"span_ps": 5 * US + 500_000, "busy_ps": 3 * US + 499_999, "stall_ps": 0}
    row = times | {
        "idle_ps": 2 * US + 1,
        "kind": "tpu",
        "modules": 1,
        "ops": 2,
        "duty_cycle": 0.63636348,
        "stalls": [],
    }
    return [row | {"id": f"w-{n}/TPU:0", "name": "TPU:0", "host": f"w-{n}"} for n in range(count)]


@pytest.mark.parametrize(
    ("count", "span_ps", "busy_ps"),
    [
        (MAX_EXACT_ROWS, 5 * US + 500_000, 3 * US + 499_999),
        (MAX_EXACT_ROWS + 1, 5 * US + 500_000, 3 * US + 500_000),
    ],
)
def test_times_of_many_devices_have_four_digits(count: int, span_ps: int, busy_ps: int) -> None:
    rows = devices(count)
    columns, summary = device_columns(rows, []), device_overview(rows)
    assert [
        column[-1] * columns["unit_ps"] for column in (columns["span"], columns["busy"], columns["stall"])
    ] == [
        span_ps,
        busy_ps,
        0,
    ]
    assert (summary["busy"][-1] * summary["unit_ps"], summary["duty_cycle"][-1]) == (busy_ps, 0.6364)
    assert (summary["host"][-1], summary["name"][-1]) == (f"w-{count - 1}", "TPU:0")


def test_devices_without_whole_steps_have_none() -> None:
    whole = {"id": "w-1/TPU:0", "steps": 4, "small_ps": 7, "edges_ps": 2, "by_class_ps": {"wait": 9}}
    columns = device_columns(devices(2), [whole])
    assert (columns["steps"], columns["small"], columns["edges"]) == ([None, 4], [0, 7], [0, 2])
    assert columns["idle"] == {"wait": [0, 9]}


def test_without_devices_columns_are_empty() -> None:
    columns = device_columns([], [])
    assert (columns["host"], columns["span"], columns["idle"]) == ([], [], {})
