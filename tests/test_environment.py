"""Framework, runtime and accelerator of a capture, and the diagnostics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import Core, HostThread, capture, real_trace, session, thread
from launching import TO_DEVICE, Tpu, demo, event

from tb_xla_insights.analysis.completeness.diagnostics import diagnose
from tb_xla_insights.analysis.environment import environment
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.merge.plain_keys import summary_of_hosts

TPU = {"device_type_string": "TPU v3"}
XRT = thread(
    "python", ("Training_Step", 0, 90, {"_r": 1}), ("StepMarker", 5, 9), ("TransferToServerInternal", 20, 9),
    ("ExecuteReplicated", 30, 9),
)  # fmt: skip
STEP_ONLY = thread("python", ("Training_Step", 0, 90, {"_r": 1}))


def cores(count: int, **stats: Any) -> list[Core]:
    return [
        Core([("dot", 40, 9)], [("train(7)", 40, 9)], name=f"TPU:{i}", stats=stats or TPU)
        for i in range(count)
    ]


def test_label() -> None:
    result = environment(capture(XRT, *cores(8)))
    assert result == {
        "framework": "torch_xla", "runtime": "xrt", "accelerator": "TPU v3", "hlo_scopes": False, "synthetic": False,
        "label": "PyTorch/XLA · XRT · 8 TPU v3 cores",
    }  # fmt: skip


def test_label_of_devices_of_an_unknown_kind() -> None:
    custom = [Core([("dot", 40, 9)], [("train(7)", 40, 9)], name=f"CUSTOM:{i}") for i in range(2)]
    assert environment(capture(XRT, *custom))["label"] == "PyTorch/XLA · XRT · 2 other devices"


@pytest.mark.parametrize(
    ("host_thread", "framework", "runtime"),
    [
        (thread("python", ("PjRtComputationClient::TransferToDevice", 0, 9)), "torch_xla", "pjrt"),
        (thread("python", ("IfrtComputationClient::Compile", 0, 9)), "torch_xla", "pjrt"),
        (thread("tf_pytorchxla/12", ("Wait for donation holds", 0, 9)), "torch_xla", "pjrt"),
        (thread("python", ("XLATensor::Compile", 0, 9), ("StepMarker", 9, 9)), "torch_xla", "xrt"),
        (thread("python", ("SyncTensorsGraph", 0, 9)), "torch_xla", "unknown"),
        (thread("python", ("aten::mm", 0, 9), ("PjRtFuture::Await", 9, 9)), "torch_tpu", "pjrt"),
        (
            thread("main/1", ("PjitFunction(f)", 0, 9), ("TfrtTpuLoadedExecutable::Execute", 1, 2)),
            "jax",
            "pjrt",
        ),
        (thread("tf_Compute/1", ("ExecutorState::Process", 0, 9)), "tensorflow", "unknown"),
        (thread("python", ("forward", 0, 9)), "unknown", "unknown"),
    ],
)
def test_framework_and_runtime_follow_from_names(
    host_thread: HostThread, framework: str, runtime: str
) -> None:
    result = environment(capture(host_thread))
    assert (result["framework"], result["runtime"]) == (framework, runtime)


@pytest.mark.parametrize(
    ("core", "accelerator", "label"),
    [
        (cores(1, device_type_string="TPU v6 Lite")[0], "TPU v6 Lite", "1 TPU v6 Lite core"),
        (Core([("k", 0, 9)], name="GPU:0", stats={"device_vendor": "AMD"}), "AMD GPU", "1 AMD GPU"),
        (
            Core([("k", 0, 9)], name="GPU:0",
                 stats={"device_vendor": "Nvidia", "compute_cap_major": 9, "compute_cap_minor": 0}),
            "NVIDIA GPU (compute capability 9.0)", "1 NVIDIA GPU",
        ),
        (Core([("k", 0, 9)], name="GPU:0"), "GPU", "1 GPU"),
    ],
)  # fmt: skip
def test_accelerator(core: Core, accelerator: str, label: str) -> None:
    result = environment(capture(thread("python", ("forward", 0, 9)), core))
    assert (result["accelerator"], result["label"]) == (accelerator, label)


def test_without_devices() -> None:
    result = environment(capture(XRT))
    assert (result["accelerator"], result["label"]) == ("unknown", "PyTorch/XLA · XRT · no device")


@pytest.mark.parametrize(
    ("op_name", "has_scopes"),
    [
        ("jit(f)/forward/attention/dot_general:MatMul", True),
        ("dot_general:MatMul", False),
        ("aten__add.3/aten__add:", False),
        ("", False),
    ],
)
def test_scopes_are_in_op_names(op_name: str, has_scopes: bool) -> None:
    core = Core([("dot", 0, 9, {"tf_op": op_name} if op_name else {})])
    assert environment(capture(XRT, core))["hlo_scopes"] is has_scopes


def test_synthetic_capture() -> None:
    assert environment(capture(XRT, environment={"synthetic": 1}))["synthetic"] is True


def test_accelerators_of_all_hosts_are_counted() -> None:
    two_hosts = session(capture(XRT, *cores(4), host="a"), capture(XRT, *cores(4), host="b"))
    assert summary_of_hosts(two_hosts)["environment"]["label"] == "PyTorch/XLA · XRT · 8 TPU v3 cores"


# Diagnostics


def ids_and_severities(*traces: Any) -> list[tuple[str, str]]:
    return [(diagnostic.id, diagnostic.severity) for diagnostic in diagnose(session(*traces).traces[0])]


def test_complete_capture_has_no_diagnostics() -> None:
    assert ids_and_severities(capture(XRT, *cores(1))) == []


def test_no_device_plane() -> None:
    (diagnostic,) = diagnose(capture(XRT))
    assert diagnostic.as_json() == {
        "id": "no_device_plane",
        "severity": "warning",
        "message": "This capture has no device plane: capture with --device-level 1, from the process that owns the "
        "device, while steps run.",
    }
    (empty,) = diagnose(capture(XRT, Core()))
    assert empty.message.startswith("The device plane /device:TPU:0 is empty: the device recorded")
    (empty,) = diagnose(capture(XRT, Core(), Core(), Core()))
    assert empty.message.startswith(
        "The device planes /device:TPU:0 and 2 more are empty: the devices recorded"
    )


def test_tensorflows_own_ops_on_a_cpu_are_not_an_xla_device() -> None:
    runs = thread("tf_Compute/1", ("ExecutorState::Process", 0, 9))
    diagnostic = {row.id: row for row in diagnose(capture(runs))}["no_device_plane"]
    assert diagnostic.severity == "info"
    assert "TensorFlow's own CPU ops are not the work of an XLA device" in diagnostic.message
    (empty,) = (row for row in diagnose(capture(runs, Core(name="GPU:0"))) if row.id == diagnostic.id)
    assert (empty.severity, empty.message.partition(" is empty")[0]) == (
        "warning",
        "The device plane /device:GPU:0",
    )


@pytest.mark.parametrize("damage", ["truncated_file", "corrupt_file"])
def test_missing_data_of_a_damaged_file_may_be_cut_off(damage: str) -> None:
    def messages(*parts: Any) -> dict[str, str]:
        trace = capture(*parts)
        trace.diagnostics.append(Diagnostic(damage, "warning", "x"))
        return {diagnostic.id: diagnostic.message for diagnostic in diagnose(trace)}

    damaged = messages(STEP_ONLY, Core())
    assert "may be truncated" in damaged["no_device_plane"]
    assert "was not traced" not in messages(*cores(1))["no_launches"]
    assert "may be truncated" in messages(*cores(1))["no_launches"]
    assert "may be truncated" in messages(*cores(1))["no_steps"]


def test_no_steps() -> None:
    launch = ("ExecuteReplicated", 30, 9)
    diagnostic, unknown = diagnose(capture(thread("python", ("forward", 0, 9), launch), *cores(1)))
    assert (diagnostic.id, diagnostic.severity) == ("no_steps", "warning")
    assert unknown.id == "unknown_framework"
    assert "xp.StepTrace(" in diagnostic.message
    assert "jax.profiler.StepTraceAnnotation(" in diagnostic.message
    markers = thread("python", ("StepMarker", 0, 9), ("StepMarker", 20, 9), launch)
    (diagnostic,) = diagnose(capture(markers, *cores(1)))
    assert (diagnostic.id, diagnostic.severity) == ("no_steps", "info")
    assert diagnostic.message == (
        "No step annotation: steps come from StepMarker. To name them, wrap each step in "
        "xp.StepTrace('train', step_num=i)."
    )


def test_no_launches() -> None:
    def reason(*parts: Any) -> str:
        (diagnostic,) = [row for row in diagnose(capture(*parts)) if row.id == "no_launches"]
        assert diagnostic.severity == "warning"
        return diagnostic.message.partition(": ")[2]

    assert (
        reason(*cores(1))
        == "the host was not traced. Capture host and devices together, with --host-level 2."
    )
    assert reason(XRT, Core([("dot", 40, 9)])) == (
        "the devices recorded no program runs. Capture whole steps, with --device-level 1."
    )
    assert reason(STEP_ONLY, *cores(1)).startswith("no flow, key or order links runs to calls. ")


@pytest.mark.parametrize(
    ("ahead", "calls", "expected"),
    [
        (5, (), []),
        (2000, (), [("clocks_shifted", "The devices' clock is 2.02\u202fms behind the host's, as runs would begin")]),
        # The host was notified of the run's end before it was enqueued.
        (2000, (("CompleteCallbacks", 1250),),
         [("clocks_disagree", "Runs begin before they were enqueued (1 of 1), by up to 1.97\u202fms: ")]),
    ],
)  # fmt: skip
def test_clocks_that_disagree(
    ahead: int, calls: tuple[tuple[str, int], ...], expected: list[tuple[str, str]]
) -> None:
    loop = Tpu()
    loop.step(3000, 900, 2)
    loop.launch(3100, (3150, 40), (3200 - ahead, 100))
    for name, start in calls:
        loop.executor.append(event(name, start, 5, _ct=TO_DEVICE, _c=100))
    diagnostics = [diagnostic for diagnostic in diagnose(loop.trace()) if diagnostic.id.startswith("clocks")]
    assert [diagnostic.id for diagnostic in diagnostics] == [id_ for id_, _ in expected]
    for diagnostic, (_, begin) in zip(diagnostics, expected, strict=True):
        assert diagnostic.message.startswith(begin)


def test_diagnostics_of_several_hosts_name_the_host() -> None:
    hosts = session(capture(XRT, *cores(1), host="a"), capture(XRT, host="b"))
    diagnostics = summary_of_hosts(hosts)["diagnostics"]
    assert [(row["id"], row.get("host")) for row in diagnostics] == [("no_device_plane", "b")]


def test_low_host_level() -> None:
    low = thread("tf_pytorchxla/1", ("PjRtCpuExecutable::ExecuteHelper", 0, 9))
    assert ("low_host_level", "warning") in ids_and_severities(capture(STEP_ONLY, low))
    full = thread("tf_pytorchxla/1", ("PjRtComputationClient::ExecuteComputation", 0, 9), *low.events)
    assert "low_host_level" not in [id_ for id_, _ in ids_and_severities(capture(STEP_ONLY, full))]


def test_scopes_inside_kernels() -> None:
    scopes = {"Pallas Primitives": [("load", 6, 1), ("store", 7, 1)]}
    trace = capture(Core([("custom-call.1", 5, 9)], lines=scopes))
    (text,) = (row.message for row in diagnose(trace) if row.id == "kernel_scopes")
    assert text.startswith("2 scopes inside Pallas kernels are recorded, which slows the kernels.")


def test_dropped_events() -> None:
    (diagnostic,) = diagnose(capture(XRT, *cores(1), environment={"dropped_events": 1200}))
    assert diagnostic.id == "dropped_events"
    assert "1\u202f200 events:" in diagnostic.message
    (diagnostic,) = diagnose(capture(XRT, *cores(1), environment={"dropped_events": 1}))
    assert "1 event:" in diagnostic.message


@pytest.mark.parametrize(
    ("folder", "label", "diagnostics"),
    [
        ("torch_xla/tiny_baseline", "PyTorch/XLA · PJRT · 1 CPU device", [("no_device_plane", "info")]),
        ("torch_xla/spmd_fsdp_debug", "PyTorch/XLA · PJRT · 2 CPU devices", [("no_device_plane", "info")]),
        ("torch_xla/baseline_server_level1", "PyTorch/XLA · PJRT · 1 CPU device",
         [("no_device_plane", "info"), ("low_host_level", "warning")]),
        ("public/tpu_v6e_jax", "JAX · PJRT · 4 TPU v6 Lite cores", [("no_steps", "info")]),
        ("public/gpu_mi300_jax", "JAX · PJRT · 8 AMD GPUs", [("no_steps", "info")]),
        ("other/tf_keras_slow", "TensorFlow · no device", [("no_device_plane", "info")]),
        ("public/gpu_v100_tf", "TensorFlow · 2 GPUs", [("no_steps", "info"), ("no_launches", "warning")]),
    ],
)  # fmt: skip
def test_label_and_diagnostics_of_real_captures(
    shared_traces: Path, folder: str, label: str, diagnostics: list[tuple[str, str]]
) -> None:
    trace = real_trace(shared_traces / folder)
    assert environment(trace)["label"] == label
    assert ids_and_severities(trace) == diagnostics


@pytest.mark.parametrize(
    "name", ["torch_xla_baseline", "torch_xla_dynamo", "synthetic_case_study_8_tpu_cores"]
)
def test_summary_and_report_have_the_same_environment(name: str) -> None:
    """On a CPU, scopes are recorded in programs, not in stats of ops."""
    loaded = session(demo(name))
    summary = summary_of_hosts(loaded)["environment"]
    assert summary == session_report(loaded)["environment"]
    assert summary["hlo_scopes"]
