"""Answers to the page are small, even for sessions of many hosts."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np

from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report import views
from tb_xla_insights.report.device_columns import device_columns, device_overview

MS = 10**9


def packed_size(document: Any) -> int:
    """Bytes of an answer as sent."""
    return len(gzip.compress(json.dumps(document, separators=(",", ":"), allow_nan=False).encode(), 6))


def test_answers_about_a_thousand_hosts_are_small() -> None:
    """4,096 devices of 1,024 hosts, and 12 steps of each of 64 hosts, all with different times."""
    random = np.random.default_rng(0)

    def times(mean_ps: int) -> list[int]:
        """Hosts differ by 0.5 %, the devices of a host, which one thread drives, by 0.02 %."""
        of_host = random.normal(mean_ps, 0.005 * mean_ps, 1024).repeat(4)
        values: list[int] = (of_host + random.normal(0, 0.0002 * mean_ps, 4096)).astype(np.int64).tolist()
        return values

    spans, busy, modules = times(550 * MS), times(500 * MS), times(510 * MS)
    idle = {name: times(10 * MS) for name in CLASSES[:6]}
    devices: list[Any] = []
    whole_steps = []
    for at in range(4096):
        host, name = f"t1v-n-{at // 4}", f"TPU:{at % 4}"
        duty = {"span_ps": spans[at], "stall_ps": 0}
        identity = {
            "id": f"{host}/{name}",
            "host": host,
            "name": name,
            "kind": "tpu",
            "modules": 12,
            "ops": 192,
        }
        figures = {"busy_ps": busy[at], "idle_ps": spans[at] - busy[at], "duty_cycle": busy[at] / spans[at]}
        own_ops = duty | {"busy_ps": busy[at]}
        duty_by_definition = {"ops": own_ops, "modules": duty | {"busy_ps": modules[at]}, "capture": own_ops}
        devices.append(identity | duty | figures | {"duty": duty_by_definition})
        whole_steps.append(
            {
                "id": identity["id"],
                "steps": 12,
                "small_ps": 0,
                "edges_ps": 0,
                "by_class_ps": {class_name: ps[at] for class_name, ps in idle.items()},
            }
        )
    steps = [
        dict.fromkeys(views._STEP_COLUMNS, 0)
        | {"index": at, "number": at % 12, "host": f"t1v-n-{at // 12}", "start_ps": at % 12 * 44 * MS}
        | {"duration_ps": spans[at] // 12, "device_busy_ps": busy[at] // 12}
        | {"host_ps": {class_name: ps[at] for class_name, ps in idle.items()}}
        for at in range(64 * 12)
    ]
    assert packed_size(device_overview(devices)) < 20_000
    assert (
        packed_size(device_columns(devices, whole_steps)) + packed_size(views._step_columns(steps)) < 40_000
    )
