"""GPUs and TPU cores on which the host launched work but which recorded none."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Core, Event, HostThread, capture, real_trace, thread
from gpus import event, gpu, kernel
from launching import TO_DEVICE

from tb_xla_insights.analysis.completeness.diagnostics import diagnose
from tb_xla_insights.analysis.completeness.unrecorded_devices import devices_without_work
from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.trace.model import Trace


def host(*calls: tuple[str, int, int]) -> HostThread:
    """A thread that calls the driver: name, device and correlation id of each call."""
    events: list[Event] = [
        event(name, 10 * number, 5, device_id=device, correlation_id=call)
        for number, (name, device, call) in enumerate(calls)
    ]
    return thread("python", *events, role="driving")


def names(trace: Trace) -> list[str]:
    return [name for name, _ in devices_without_work(trace)]


def test_gpu_without_kernels_is_reported_and_in_no_mean() -> None:
    trace = capture(
        host(("cuLaunchKernel", 0, 1), ("cuLaunchKernel", 1, 2), ("cuLaunchKernel", 1, 3)),
        gpu(kernel(20, 5, 1)),
        Core(name="GPU:1", lines={"Stream #2(MemcpyH2D)": [event("MemcpyH2D", 0, 50, correlation_id=9)]}),
    )
    assert devices_without_work(trace) == [("GPU:1", 2)]
    (diagnostic,) = [row for row in diagnose(trace) if row.id == "device_without_work"]
    assert diagnostic.severity == "warning"
    assert diagnostic.message == (
        "The host made 2 launches on GPU:1, which recorded no work, and no figure includes it. Capture again; one "
        "profiler at a time can trace a GPU."
    )
    assert [device["name"] for device in device_summaries(trace)] == ["GPU:0"]


def test_gpu_without_plane_is_reported() -> None:
    calls = host(("loop_add_fusion", 0, 1), ("loop_add_fusion", 1, 2))
    trace = capture(calls, gpu(kernel(20, 5, 1)))
    assert names(trace) == ["GPU:1"]
    (diagnostic,) = [row for row in diagnose(trace) if row.id == "device_without_work"]
    assert "made 1 launch on GPU:1" in diagnostic.message


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


def tpu_calls(*ordinals: int) -> HostThread:
    """Programs put into the queues of cores; like libtpu, without the ordinal of core 0."""
    events = [
        event("DoEnqueueProgram", 10 * number, 5, _pt=TO_DEVICE, _p=number, run_id=number,
              **({"device_ordinal": ordinal} if ordinal else {}))
        for number, ordinal in enumerate(ordinals)
    ]  # fmt: skip
    return thread("python", *events, role="driving")


def tpu(number: int, *launches: int) -> Core:
    runs = [event("f(7)", 1000 + 20 * launch, 9, _ct=TO_DEVICE, _c=launch) for launch in launches]
    return Core(runs, runs, f"TPU:{number}")


def test_tpu_cores_without_plane_or_work_are_reported_and_in_no_mean() -> None:
    trace = capture(tpu_calls(0, 1, 2, 3, 0, 1, 2, 3), tpu(0, 0, 4), tpu(1, 1, 5), tpu(2))
    assert devices_without_work(trace) == [("TPU:2", 2), ("TPU:3", 2)]
    (diagnostic,) = [row for row in diagnose(trace) if row.id == "device_without_work"]
    assert diagnostic.message == (
        "The host made 4 launches on TPU:2 and TPU:3, which recorded no work, and no figure includes them. Capture "
        "again with --device-level 1, and with all chips traced (the profiler's option "
        "tpu_num_chips_to_profile_per_task limits them)."
    )
    assert [device["name"] for device in device_summaries(trace)] == ["TPU:0", "TPU:1"]


def test_a_tpu_core_whose_last_launches_are_cut_has_work() -> None:
    assert devices_without_work(capture(tpu_calls(0, 1, 0, 1), tpu(0, 0), tpu(1, 1))) == []
    without_flows = Core([("fusion", 5, 5)], [("f(7)", 5, 5)], "TPU:0")
    assert devices_without_work(capture(thread("python", ("forward", 0, 9)), without_flows)) == []


def test_a_capture_without_any_tpu_plane_names_the_cores() -> None:
    (diagnostic,) = [row for row in diagnose(capture(tpu_calls(0, 1, 0, 1))) if row.id == "no_device_plane"]
    assert (diagnostic.severity, diagnostic.message.split(":")[0]) == (
        "warning",
        "The host made 4 launches on TPU",
    )
    assert diagnostic.message.startswith(
        "The host made 4 launches on TPU:0 and TPU:1, which recorded no work: the devices' work is not in the capture."
    )


@pytest.mark.parametrize(
    "folder", ["public/tpu_v6e_jax", "tpu/vllm_qwen3_step", "engines/barrier", "engines/between"]
)
def test_tpus_of_real_captures_have_work(shared_traces: Path, folder: str) -> None:
    assert names(real_trace(shared_traces / folder)) == []
