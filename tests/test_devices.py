"""Which planes are devices, and which of their lines are work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from captures import Core, capture, real_trace, thread
from independent import parse

from tb_xla_insights.analysis.idle.busy import idle_ps
from tb_xla_insights.trace.device import Device, NestedIntervals
from tb_xla_insights.trace.model import Trace


def spans(trace: Trace, recorded: NestedIntervals) -> list[tuple[str, int, int]]:
    columns = recorded.name.tolist(), recorded.start_ps.tolist(), recorded.end_ps.tolist()
    return [(trace.strings[name], start, end) for name, start, end in zip(*columns, strict=True)]


def only_device(trace: Trace) -> Device:
    (device,) = trace.devices
    return device


def test_a_tpu_plane() -> None:
    trace = capture(
        Core([("fusion.1", 10, 5), ("copy.2", 20, 3)], [("jit_f(7)", 9, 20)], stats={"peak": 1.5})
    )
    device = only_device(trace)
    assert (device.id, device.name, device.kind, device.host, device.from_host_events) == (
        "vm/TPU:0",
        "TPU:0",
        "tpu",
        "vm",
        False,
    )
    assert device.plane is not None
    assert trace.planes[device.plane].stats == {"peak": 1.5}
    assert spans(trace, device.runs) == [("jit_f(7)", 0, 20)]
    assert spans(trace, device.ops) == [("fusion.1", 1, 6), ("copy.2", 11, 14)]


def test_devices_are_sorted_by_number() -> None:
    trace = capture(*(Core([("op", number, 1)], name=f"TPU:{number}") for number in (10, 2, 0)))
    assert [device.name for device in trace.devices] == ["TPU:0", "TPU:2", "TPU:10"]
    assert [device.plane for device in trace.devices] == [3, 2, 1]


@pytest.mark.parametrize(
    "name", ["TPU:0 SparseCore 1", "TPU_NODE:0", "CUSTOM:Megascale Trace", "TPU:x", "TPU:", "TPU:0 counters"]
)
def test_other_planes_are_not_devices(name: str) -> None:
    trace = capture(Core([("op", 0, 1)], name=name), Core([("op", 0, 1)], name="TPU:0"))
    assert only_device(trace).name == "TPU:0"


def test_a_device_plane_without_events_is_not_a_device() -> None:
    trace = capture(thread("python", ("main", 0, 9)), Core())
    assert trace.devices == []


def test_lines_that_profilers_derive_are_not_work() -> None:
    # Profilers of 2020 stored these with the capture, computed from the other lines.
    derived = [
        "Framework Name Scope",
        "Framework Ops",
        "Source code",
        "Steps",
        "TensorFlow Name Scope",
        "TensorFlow Ops",
    ]
    lines = {name: [("forward", 0, 90)] for name in derived}
    other_lines = {"Async XLA Ops": [("copy-start", 0, 80)], "XLA TraceMe": [("barrier-cores", 0, 70)]}
    trace = capture(Core([("fusion", 10, 5)], lines={**lines, **other_lines}))
    device = only_device(trace)
    assert [name for name, _, _ in spans(trace, device.ops)] == ["fusion"]
    assert len(device.runs) == 0
    assert {trace.lines[line].name for line in device.lines.values()} == {
        *lines,
        *other_lines,
        "XLA Ops",
        "XLA Modules",
    }


def test_kernels_of_all_streams_without_copies() -> None:
    streams = {
        "Stream #13(Compute)": [("gemm", 0, 10), ("MemcpyD2D", 12, 3), ("relu", 20, 5)],
        "Stream #14(Memcpy)": [("MemcpyH2D", 0, 50), ("Memset", 60, 1)],
        "Stream #15(Compute)": [("gemm", 5, 10)],
        "TensorFlow Ops": [("MatMul", 0, 90)],
        "Steps": [("1", 0, 99)],
    }
    trace = capture(Core(name="GPU:3", lines=streams))
    device = only_device(trace)
    assert (device.id, device.kind) == ("vm/GPU:3", "gpu")
    assert spans(trace, device.ops) == [("gemm", 0, 10), ("gemm", 5, 15), ("relu", 20, 25)]


def test_concurrent_kernels_each_count_their_full_time() -> None:
    streams = {
        "Stream #1": [("gemm", 0, 90)],
        "Stream #2": [("ncclAllReduce", 10, 30), ("__amd_rocclr_copyBuffer.kd", 50, 9)],
    }
    ops = only_device(capture(Core(name="GPU:0", lines=streams))).ops
    assert ops.parent.tolist() == [-1, -1]
    assert ops.own_ps.tolist() == [90, 30]


def test_a_kernel_that_fills_or_copies_for_an_op_is_its_work() -> None:
    op = {"hlo_op": "attention.12", "hlo_module": "jit_f", "program_id": 7}
    stream = [
        ("__amd_rocclr_fillBufferAligned.kd", 0, 8, op),
        ("__amd_rocclr_copyBuffer.kd", 10, 9, op),
        ("__amd_rocclr_fillBufferAligned.kd", 20, 8),
        ("MemcpyD2D", 30, 8, op),
    ]
    trace = capture(Core(name="GPU:0", lines={"Stream #2": stream}))
    assert [(start, end) for _, start, end in spans(trace, only_device(trace).ops)] == [(0, 8), (10, 19)]


def test_the_fills_of_the_mi355_capture_are_work(shared_traces: Path) -> None:
    """The figures of the stock tab: 150 kernels, 20 of them fills, 4,645.76 us in ops that fill, 0.823 ms idle."""
    trace = real_trace(shared_traces / "other" / "mi355_te_fused_attn")
    ops = only_device(trace).ops
    assert len(ops) == 150
    op_names = np.array([trace.strings[index] for index in trace.stats["hlo_op"].at(ops.row, -1).tolist()])
    is_fill = np.char.startswith(op_names, "te_fused_attn_backward_ffi.")
    assert int((ops.end_ps - ops.start_ps)[is_fill].sum()) == 4_645_760_000
    assert idle_ps(trace, only_device(trace)) == 823_624_000


def test_ops_nest() -> None:
    trace = capture(Core([("while", 0, 100), ("body.1", 10, 30), ("body.2", 40, 60), ("after", 100, 5)]))
    ops = only_device(trace).ops
    assert ops.parent.tolist() == [-1, 0, 0, -1]
    assert ops.own_ps.tolist() == [10, 30, 60, 5]
    assert ops.depth.tolist() == [0, 1, 1, 0]


def test_device_planes_take_precedence_over_ops_on_threads() -> None:
    trace = capture(thread("pool", ("dot", 0, 5, {"hlo_op": "dot"})), Core([("fusion", 10, 5)]))
    assert only_device(trace).name == "TPU:0"


def test_ops_and_runs_of_the_tpu_capture(shared_traces: Path) -> None:
    trace = real_trace(shared_traces / "public" / "tpu_v6e_jax")
    planes = {plane.name: plane for plane in parse(Path(trace.path).read_bytes())}
    assert [device.name for device in trace.devices] == ["TPU:0", "TPU:1", "TPU:2", "TPU:3"]
    for device in trace.devices:
        plane = planes[f"/device:{device.name}"]
        for name, columns in (("XLA Ops", device.ops), ("XLA Modules", device.runs)):
            (line,) = (line for line in plane.lines if line.name == name)
            assert len(columns) == len(line.events) > 100
            assert (np.diff(columns.start_ps) >= 0).all()
            shown = {plane.event_metadata[event.metadata_id][1] or event.name for event in line.events}
            assert {trace.strings[index] for index in columns.name} == shown
    assert sum(len(device.runs) for device in trace.devices) == 414


def test_kernels_of_the_gpu_captures(shared_traces: Path) -> None:
    for folder, names in (
        ("gpu_v100_tf", ["GPU:4", "GPU:6"]),
        ("gpu_mi300_jax", [f"GPU:{n}" for n in range(8)]),
    ):
        trace = real_trace(shared_traces / "public" / folder)
        assert [device.name for device in trace.devices] == names
        for device in trace.devices:
            lines = {trace.line_of(int(row)).name for row in device.ops.row}
            assert len(device.ops) > 0
            assert all(line.startswith("Stream #") for line in lines)
            used = {trace.strings[index] for index in device.ops.name}
            assert not [name for name in used if name.lower().startswith(("memcpy", "memset"))]
