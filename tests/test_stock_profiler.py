"""Figures compared with those of the stock profile plugin, on the same real files: duty cycle, idle time, steps,
kernels, and time per op."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import real_trace

from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.trace.build import build_session
from tb_xla_insights.trace.details import event_stats
from tb_xla_insights.trace.model import Trace

stock = pytest.importorskip(
    "xprof.convert.raw_to_tool_data", reason="the stock profile plugin is not installed"
)


def run_tool(tmp_path: Path, capture: Path, tool: str) -> Any:
    """The answer of one of the plugin's tools about a copy of a capture, as tools write files beside their input."""
    (original,) = capture.rglob("*.xplane.pb")
    copy = shutil.copy(original, tmp_path)
    data, _ = stock.xspace_to_tool_data([str(copy)], tool, {})
    return json.loads(data)


def sum_op_times(node: dict[str, Any], names: set[str]) -> dict[str, int]:
    """Time by op name, over all programs and cores: that of the topmost nodes of the tree that are named like an op,
    without categories of the same name."""
    times: dict[str, int] = defaultdict(int)
    for child in node.get("children", []):
        if child["name"] in names and int(child["metrics"]["occurrences"]):
            inner = [child_node["name"] for child_node in child.get("children", [])]
            if child["name"] not in inner and not set(inner) & names:
                times[child["name"]] += int(child["metrics"]["rawTime"])
                continue
        for name, time in sum_op_times(child, names).items():
            times[name] += time
    return times


def sum_self_times(trace: Trace, names: list[str]) -> dict[str, int]:
    """Own time by op name, over all devices; `names` are those of the ops, device by device."""
    sums: dict[str, int] = defaultdict(int)
    times = [time for device in trace.devices for time in device.ops.own_ps.tolist()]
    for name, time in zip(names, times, strict=True):
        sums[name] += time
    return sums


def sum_device_times(trace: Trace, names: list[str]) -> dict[str, int]:
    """Sums of the ops' stat `device_duration_ps` by op name, over all devices."""
    times: dict[str, int] = defaultdict(int)
    rows = [row for device in trace.devices for row in device.ops.row.tolist()]
    for name, row in zip(names, rows, strict=True):
        (time,) = (stat.value for stat in event_stats(trace, row) if stat.name == "device_duration_ps")
        assert isinstance(time, int)
        times[name] += time
    return times


def test_the_tpu_capture_has_the_same_duty_cycle_and_op_times(shared_traces: Path, tmp_path: Path) -> None:
    capture = shared_traces / "public" / "tpu_v6e_jax"
    trace = real_trace(capture)
    devices = device_summaries(build_session("s", "p", [trace], []).traces[0])
    busy, span, idle = (sum(device[key] for device in devices) for key in ("busy_ps", "span_ps", "idle_ps"))
    duty_text = next(
        table["p"]
        for table in run_tool(tmp_path, capture, "overview_page")
        if "device_duty_cycle_percent" in table["p"]
    )
    assert duty_text["device_duty_cycle_percent"] == f"{100 * busy / span:.1f}%"
    # The stock plugin prints six digits.
    assert float(duty_text["idle_time_high_confidence_ps"]) == pytest.approx(idle, rel=1e-5)

    names = [trace.strings[name] for device in trace.devices for name in device.ops.name.tolist()]
    own_times = sum_self_times(trace, names)
    expected = sum_op_times(run_tool(tmp_path, capture, "op_profile")["byProgramExcludeIdle"], set(own_times))
    device_ps = sum_device_times(trace, names)
    assert expected == device_ps  # the stock plugin adds up the durations on the device's own clock
    # Events are on the common clock, whose rate differs slightly.
    assert sum(own_times.values()) == pytest.approx(sum(device_ps.values()), rel=1e-4)


@pytest.mark.parametrize("name", ["sc_bound", "sc_late", "async_mix", "barrier"])
def test_the_stock_plugins_duty_cycle_of_simulated_captures(
    shared_traces: Path, tmp_path: Path, name: str
) -> None:
    """It counts waits for recorded SparseCores as work; of several cores, it is the mean."""
    capture = shared_traces / "engines" / name
    devices = device_summaries(real_trace(capture))
    ours = sum(device["duty_cycle_xprof"] or 0.0 for device in devices) / len(devices)
    tables = run_tool(tmp_path, capture, "overview_page")
    theirs = next(table["p"] for table in tables if "device_duty_cycle_percent" in table["p"])
    assert theirs["device_duty_cycle_percent"] == f"{100 * ours:.1f}%"


def test_the_gpu_capture_has_the_same_op_times(shared_traces: Path, tmp_path: Path) -> None:
    capture = shared_traces / "public" / "gpu_mi300_jax"
    trace = real_trace(capture)
    table = run_tool(tmp_path, capture, "hlo_stats")
    column_numbers = {column["id"]: number for number, column in enumerate(table["cols"])}
    expected: dict[str, float] = defaultdict(float)
    for row in table["rows"]:
        expected[row["c"][column_numbers["hlo_op_name"]]["v"]] += row["c"][column_numbers["total_self_time"]][
            "v"
        ]
    rows = np.concatenate([device.ops.row for device in trace.devices])
    op_names = trace.stats["hlo_op"].at(rows, -1).tolist()
    own_times = sum_self_times(trace, [trace.strings[name] if name >= 0 else "" for name in op_names])
    own_times.pop("", None)  # the stock plugin leaves out kernels of no op
    assert {name: time / 1e6 for name, time in own_times.items()} == pytest.approx(dict(expected), rel=1e-6)


def rows_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    """A table of Google's format, by column."""
    names = [column["id"] for column in table["cols"]]
    return [dict(zip(names, (cell["v"] for cell in row["c"]), strict=True)) for row in table["rows"]]


def sum_stream_spans(trace: Trace) -> int:
    """From the first to the last event on each GPU's streams, copies included, in ps."""
    total = 0
    for plane in trace.planes:
        lines = [
            line.rows
            for line in trace.lines
            if line.plane == plane.index and line.count and line.name.startswith("Stream #")
        ]
        if lines:
            end = max(int(trace.end_ps[rows].max()) for rows in lines)
            total += end - min(int(trace.start_ps[rows].min()) for rows in lines)
    return total


@pytest.mark.parametrize("name", ["gpu_v100_tf", "gpu_mi300_jax"])
def test_the_gpu_captures_have_the_same_kernels(shared_traces: Path, tmp_path: Path, name: str) -> None:
    """Equal counts and times, without AMD's copies, which only the stock plugin counts as kernels."""
    capture = shared_traces / "public" / name
    trace = real_trace(capture)
    expected: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    for row in rows_of(run_tool(tmp_path, capture, "kernel_stats")):
        if not row["kernel_name"].startswith("__amd_rocclr_copy"):
            expected[row["kernel_name"]][0] += row["occurrences"]
            expected[row["kernel_name"]][1] += row["total_duration_us"]
    kernels: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    for kernel in np.concatenate([device.ops.row for device in trace.devices]).tolist():
        kernels[trace.name(kernel)][0] += 1
        kernels[trace.name(kernel)][1] += int(trace.duration_ps[kernel]) / 1e6
    assert len(kernels) > 4
    assert dict(kernels) == {kernel: pytest.approx(times, rel=1e-6) for kernel, times in expected.items()}


@pytest.mark.parametrize("name", ["gpu_v100_tf", "gpu_mi300_jax"])
def test_the_stock_plugin_has_idle_time_of_all_streams_of_a_gpu_and_no_duty_cycle(
    shared_traces: Path, tmp_path: Path, name: str
) -> None:
    """The stock plugin's spans include copies; its work excludes kernels that name no operation."""
    capture = shared_traces / "public" / name
    overview = run_tool(tmp_path, capture, "overview_page")
    assert not [table for table in overview if "device_duty_cycle_percent" in table.get("p", {})]
    trace = real_trace(capture)
    stats, _ = run_tool(tmp_path, capture, "framework_op_stats")
    rows = [row for row in rows_of(stats) if row["host_or_device"] == "Device"]
    (idle,) = (row["total_self_time"] for row in rows if row["type"] == "IDLE")
    work = sum(row["total_self_time"] for row in rows if row["type"] != "IDLE")
    assert (idle + work) * 1e6 == pytest.approx(sum_stream_spans(trace), rel=1e-6)
    spans = sum(
        device["span_ps"] for device in device_summaries(build_session("s", "p", [trace], []).traces[0])
    )
    assert spans < sum_stream_spans(trace)


def test_the_v100_capture_has_the_step_of_another_gpu(shared_traces: Path, tmp_path: Path) -> None:
    """Each GPU of the capture records a step. The stock plugin shows the longer one, this project that of the first
    GPU."""
    capture = shared_traces / "public" / "gpu_v100_tf"
    expected = next(
        table for table in run_tool(tmp_path, capture, "overview_page") if "steptime_ms_average" in table["p"]
    )
    (step,) = rows_of(expected)
    trace = real_trace(capture)
    lines = [line for line in trace.lines if line.name == "Steps" and line.count]
    recorded = [int(trace.duration_ps[line.first]) / 1e9 for line in lines]
    assert step["stepTimeMs"] == pytest.approx(max(recorded))
    assert find_steps(trace)[0].duration_ps / 1e9 == pytest.approx(recorded[0])
    busiest = (
        max(row["busy_ps"] for row in device_summaries(build_session("s", "p", [trace], []).traces[0])) / 1e9
    )
    assert step["deviceComputeTimeMs"] == pytest.approx(busiest, rel=1e-3)
