"""Our figures beside those of the stock profile plugin, on the same real files: duty cycle and time per op."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import real_trace

from tb_xla_insights.analysis.busy import device_summaries
from tb_xla_insights.trace.build import join_hosts
from tb_xla_insights.trace.details import event_stats
from tb_xla_insights.trace.model import Trace

stock = pytest.importorskip(
    "xprof.convert.raw_to_tool_data", reason="the stock profile plugin is not installed"
)


def ask(tmp_path: Path, capture: Path, tool: str) -> Any:
    """What one of its tools says of a capture. It writes files beside what it reads, so it reads a copy."""
    (original,) = capture.rglob("*.xplane.pb")
    copy = shutil.copy(original, tmp_path)
    data, _ = stock.xspace_to_tool_data([str(copy)], tool, {})
    return json.loads(data)


def op_times(node: dict[str, Any], names: set[str]) -> dict[str, int]:
    """Time by op name, over all programs and cores: the topmost nodes of its tree that bear an op's name and are not a
    category that bears it too."""
    found: dict[str, int] = defaultdict(int)
    for child in node.get("children", []):
        if child["name"] in names and int(child["metrics"]["occurrences"]):
            inner = [it["name"] for it in child.get("children", [])]
            if child["name"] not in inner and not set(inner) & names:
                found[child["name"]] += int(child["metrics"]["rawTime"])
                continue
        for name, time in op_times(child, names).items():
            found[name] += time
    return found


def ours(trace: Trace, names: list[str]) -> dict[str, int]:
    """Own time by op name, over all devices; `names` says what each op is called, device by device."""
    found: dict[str, int] = defaultdict(int)
    times = [time for device in trace.devices for time in device.ops.self_ps.tolist()]
    for name, time in zip(names, times, strict=True):
        found[name] += time
    return found


def device_times(trace: Trace, names: list[str]) -> dict[str, int]:
    """What each op's stat `device_duration_ps` says, by op name, over all devices."""
    found: dict[str, int] = defaultdict(int)
    rows = [row for device in trace.devices for row in device.ops.row.tolist()]
    for name, row in zip(names, rows, strict=True):
        (time,) = (stat.value for stat in event_stats(trace, row) if stat.name == "device_duration_ps")
        assert isinstance(time, int)
        found[name] += time
    return found


def test_the_tpu_capture_has_the_same_duty_cycle_and_op_times(shared_traces: Path, tmp_path: Path) -> None:
    capture = shared_traces / "public" / "tpu_v6e_jax"
    trace = real_trace(capture)
    devices = device_summaries(join_hosts("s", "p", [trace], []))
    busy, span, idle = (sum(d[key] for d in devices) for key in ("busy_ps", "span_ps", "idle_ps"))
    said = next(
        t["p"] for t in ask(tmp_path, capture, "overview_page") if "device_duty_cycle_percent" in t["p"]
    )
    assert said["device_duty_cycle_percent"] == f"{100 * busy / span:.1f}%"
    assert float(said["idle_time_high_confidence_ps"]) == pytest.approx(
        idle, rel=1e-5
    )  # it prints six digits

    names = [trace.strings[name] for device in trace.devices for name in device.ops.name.tolist()]
    mine = ours(trace, names)
    theirs = op_times(ask(tmp_path, capture, "op_profile")["byProgramExcludeIdle"], set(mine))
    own = device_times(trace, names)
    assert theirs == own  # it adds up what the device itself measured ...
    assert sum(mine.values()) == pytest.approx(
        sum(own.values()), rel=1e-4
    )  # ... of which events tell the common clock


def test_the_gpu_capture_has_the_same_op_times(shared_traces: Path, tmp_path: Path) -> None:
    capture = shared_traces / "public" / "gpu_mi300_jax"
    trace = real_trace(capture)
    table = ask(tmp_path, capture, "hlo_stats")
    column = {c["id"]: number for number, c in enumerate(table["cols"])}
    theirs: dict[str, float] = defaultdict(float)
    for row in table["rows"]:
        theirs[row["c"][column["hlo_op_name"]]["v"]] += row["c"][column["total_self_time"]]["v"]
    rows = np.concatenate([device.ops.row for device in trace.devices])
    named = trace.stats["hlo_op"].at(rows, -1).tolist()
    mine = ours(trace, [trace.strings[name] if name >= 0 else "" for name in named])
    mine.pop("", None)  # kernels of no op; it leaves them out as well
    assert {name: time / 1e6 for name, time in mine.items()} == pytest.approx(dict(theirs), rel=1e-6)
