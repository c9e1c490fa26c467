"""GPUs on which the host launched work but which recorded no kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Core, Event, HostThread, capture, real_trace, session, thread
from gpus import event, gpu, kernel

from tb_xla_insights.analysis.diagnostics import diagnose
from tb_xla_insights.analysis.idle.busy import device_summaries
from tb_xla_insights.analysis.unrecorded_gpus import gpus_without_work
from tb_xla_insights.trace.model import Trace


def host(*calls: tuple[str, int, int]) -> HostThread:
    """A thread that calls the driver: name, device and correlation id of each call."""
    events: list[Event] = [
        event(name, 10 * number, 5, device_id=device, correlation_id=call)
        for number, (name, device, call) in enumerate(calls)
    ]
    return thread("python", *events, role="driving")


def names(trace: Trace) -> list[str]:
    return [name for name, _ in gpus_without_work(trace)]


def test_gpu_without_kernels_is_reported_and_in_no_mean() -> None:
    trace = capture(
        host(("cuLaunchKernel", 0, 1), ("cuLaunchKernel", 1, 2), ("cuLaunchKernel", 1, 3)),
        gpu(kernel(20, 5, 1)),
        Core(name="GPU:1", lines={"Stream #2(MemcpyH2D)": [event("MemcpyH2D", 0, 50, correlation_id=9)]}),
    )
    assert gpus_without_work(trace) == [("GPU:1", 2)]
    (diagnostic,) = [row for row in diagnose(session(trace)) if row.id == "device_without_work"]
    assert diagnostic.severity == "warning"
    assert diagnostic.message.startswith("GPU:1 recorded no kernels, although the host made 2 launches on it")
    assert [device["name"] for device in device_summaries(session(trace))] == ["GPU:0"]


def test_gpu_without_plane_is_reported() -> None:
    calls = host(("loop_add_fusion", 0, 1), ("loop_add_fusion", 1, 2))
    trace = capture(calls, gpu(kernel(20, 5, 1)))
    assert names(trace) == ["GPU:1"]
    (diagnostic,) = [row for row in diagnose(session(trace)) if row.id == "device_without_work"]
    assert "made 1 launch on it" in diagnostic.message


@pytest.mark.parametrize("ids", [(47_645, 47_646), (512, 768)])
def test_amd_ids_are_not_gpu_numbers(ids: tuple[int, int]) -> None:
    calls = host(*(("hipModuleLaunchKernel", id_, call) for call, id_ in enumerate(ids, 1)))
    empty = Core(name="GPU:1", lines={"Stream #3(Kernel)": [event("__amd_rocclr_copyBuffer.kd", 0, 5)]})
    assert names(capture(calls, gpu(kernel(20, 5, 1)), empty)) == ["GPU:1"]
    assert names(capture(calls, gpu(kernel(20, 5, 1)))) == ["One more GPU"]


@pytest.mark.parametrize("call", ["cuMemcpyHtoDAsync", "cuEventRecord", "cuStreamSynchronize"])
def test_calls_without_kernels_are_no_launches(call: str) -> None:
    assert names(capture(host(("cuLaunchKernel", 0, 1), (call, 1, 2)), gpu(kernel(20, 5, 1)))) == []


def test_gpu_with_kernels_of_other_calls_has_work() -> None:
    """Its last launch is cut by the capture's end."""
    trace = capture(host(("cuLaunchKernel", 0, 8)), gpu(kernel(20, 5, 1)), gpu(kernel(20, 5, 2), number=1))
    assert names(trace) == []


def test_kernels_without_correlation_ids_give_no_diagnostic() -> None:
    assert names(capture(host(("hipLaunchKernel", 47_645, 1)), gpu(kernel(20, 5)))) == []


@pytest.mark.parametrize(
    "folder",
    [
        "public/gpu_mi300_jax", "public/gpu_v100_tf", "other/mi300_jax08_attention", "other/mi355_te_fused_attn",
        "other/reactant_2xnvidia",
    ],
)  # fmt: skip
def test_gpus_of_real_captures_have_work(shared_traces: Path, folder: str) -> None:
    assert names(real_trace(shared_traces / folder)) == []
