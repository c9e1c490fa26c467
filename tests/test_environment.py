"""What made a capture, and what it lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import Core, Row, capture, real_trace, session, thread
from launching import Tpu, demo

from tb_xla_insights.analysis.diagnostics import diagnose
from tb_xla_insights.analysis.environment import environment
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.host_document import session_summary

TPU = {"device_type_string": "TPU v3"}
XRT = thread(
    "python", ("Training_Step", 0, 90, {"_r": 1}), ("StepMarker", 5, 9), ("TransferToServerInternal", 20, 9),
    ("ExecuteReplicated", 30, 9),
)  # fmt: skip


def cores(count: int, **stats: Any) -> list[Core]:
    return [
        Core([("dot", 40, 9)], [("train(7)", 40, 9)], name=f"TPU:{i}", stats=stats or TPU)
        for i in range(count)
    ]


def test_the_label_says_it_in_a_line() -> None:
    found = environment(session(capture(XRT, *cores(8))))
    assert found == {
        "framework": "torch_xla", "runtime": "xrt", "accelerator": "TPU v3", "hlo_scopes": False, "synthetic": False,
        "label": "PyTorch/XLA · XRT · 8 TPU v3 cores",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("row", "framework", "runtime"),
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
def test_framework_and_runtime_are_told_from_names(row: Row, framework: str, runtime: str) -> None:
    found = environment(session(capture(row)))
    assert (found["framework"], found["runtime"]) == (framework, runtime)


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
def test_the_accelerator(core: Core, accelerator: str, label: str) -> None:
    found = environment(session(capture(thread("python", ("forward", 0, 9)), core)))
    assert (found["accelerator"], found["label"]) == (accelerator, label)


def test_without_devices() -> None:
    found = environment(session(capture(XRT)))
    assert (found["accelerator"], found["label"]) == ("unknown", "PyTorch/XLA · XRT · no device")


@pytest.mark.parametrize(
    ("op_name", "scopes"),
    [("jit(f)/forward/attention/dot_general:MatMul", True), ("dot_general:a/b", False), ("", False)],
)
def test_scopes_are_op_names_of_several_parts(op_name: str, scopes: bool) -> None:
    core = Core([("dot", 0, 9, {"tf_op": op_name} if op_name else {})])
    assert environment(session(capture(XRT, core)))["hlo_scopes"] is scopes


def test_a_generators_file_says_so() -> None:
    assert environment(session(capture(XRT, environment={"synthetic": 1})))["synthetic"] is True


def test_the_accelerators_of_several_hosts_are_counted_together() -> None:
    both = session(capture(XRT, *cores(4), host="a"), capture(XRT, *cores(4), host="b"))
    assert environment(both)["label"] == "PyTorch/XLA · XRT · 8 TPU v3 cores"


# Diagnostics


def ids(*traces: Any) -> list[tuple[str, str]]:
    return [(it.id, it.severity) for it in diagnose(session(*traces))]


def test_a_capture_that_lacks_nothing() -> None:
    assert ids(capture(XRT, *cores(1))) == []


def test_no_device_plane() -> None:
    (found,) = diagnose(session(capture(XRT)))
    assert found.as_json() == {
        "id": "no_device_plane",
        "severity": "warning",
        "message": "This capture has no device plane: capture with --device-level 1, from the process that owns the "
        "device, while steps run.",
    }
    (empty,) = diagnose(session(capture(XRT, Core())))
    assert empty.message.startswith("The device plane /device:TPU:0 is empty: ")


def test_tensorflow_s_own_ops_on_a_cpu_are_no_xla_device() -> None:
    runs = thread("tf_Compute/1", ("ExecutorState::Process", 0, 9))
    found = {it.id: it for it in diagnose(session(capture(runs)))}["no_device_plane"]
    assert found.severity == "info"
    assert "ops that TensorFlow itself runs on a CPU are no XLA device's work" in found.message
    (empty,) = (it for it in diagnose(session(capture(runs, Core(name="GPU:0")))) if it.id == found.id)
    assert (empty.severity, empty.message.partition(" is empty")[0]) == (
        "warning",
        "The device plane /device:GPU:0",
    )


@pytest.mark.parametrize("lost", ["truncated_file", "corrupt_file"])
def test_what_a_cut_file_lacks_may_be_cut_off(lost: str) -> None:
    def told(*parts: Any) -> dict[str, str]:
        trace = capture(*parts)
        trace.diagnostics.append(Diagnostic(lost, "warning", "x"))
        return {it.id: it.message for it in diagnose(session(trace))}

    cut = told(XRT_WITHOUT_MARKER, Core())
    assert "may be cut off" in cut["no_device_plane"]
    assert "was not traced" not in told(*cores(1))["no_launches"]
    assert "may be cut off" in told(*cores(1))["no_launches"]
    assert "may be cut off" in told(*cores(1))["no_steps"]


def test_no_steps() -> None:
    launch = ("ExecuteReplicated", 30, 9)
    found, unknown = diagnose(session(capture(thread("python", ("forward", 0, 9), launch), *cores(1))))
    assert (found.id, found.severity) == ("no_steps", "warning")
    assert unknown.id == "unknown_framework"
    assert "xp.StepTrace(" in found.message
    assert "jax.profiler.StepTraceAnnotation(" in found.message
    markers = thread("python", ("StepMarker", 0, 9), ("StepMarker", 20, 9), launch)
    (found,) = diagnose(session(capture(markers, *cores(1))))
    assert (found.id, found.severity) == ("no_steps", "info")
    assert found.message == (
        "No step annotation: steps come from StepMarker. To name them, wrap each step in "
        "xp.StepTrace('train', step_num=i)."
    )


def test_no_launches() -> None:
    def told(*parts: Any) -> str:
        (found,) = [it for it in diagnose(session(capture(*parts))) if it.id == "no_launches"]
        assert found.severity == "warning"
        return found.message.partition(": ")[2]

    assert (
        told(*cores(1)) == "the host was not traced. Capture host and devices together, with --host-level 2."
    )
    assert told(XRT, Core([("dot", 40, 9)])) == (
        "the devices recorded no program runs. Capture whole steps, with --device-level 1."
    )
    no_call = thread("python", ("Training_Step", 0, 90, {"_r": 1}))
    assert told(no_call, *cores(1)).startswith("no flow, key or order links runs to calls. ")


@pytest.mark.parametrize(("ahead", "said"), [(5, []), (2000, ["clocks_disagree"])])
def test_clocks_that_disagree(ahead: int, said: list[str]) -> None:
    loop = Tpu()
    loop.step(3000, 900, 2)
    loop.launch(3100, (3150, 40), (3200 - ahead, 100))
    found = [it for it in diagnose(session(loop.trace())) if it.id == "clocks_disagree"]
    assert [it.id for it in found] == said
    for it in found:
        assert it.message.startswith("1 of 1 runs begin before they were enqueued, by up to 1.97\u202fms: ")


def test_among_several_hosts_it_is_said_which_one() -> None:
    found = diagnose(session(capture(XRT, *cores(1), host="a"), capture(XRT, host="b")))
    assert [(it.id, it.host) for it in found] == [("no_device_plane", "b")]


def test_a_low_host_level() -> None:
    low = thread("tf_pytorchxla/1", ("PjRtCpuExecutable::ExecuteHelper", 0, 9))
    assert ("low_host_level", "warning") in ids(capture(XRT_WITHOUT_MARKER, low))
    full = thread("tf_pytorchxla/1", ("PjRtComputationClient::ExecuteComputation", 0, 9), *low.events)
    assert "low_host_level" not in [id_ for id_, _ in ids(capture(XRT_WITHOUT_MARKER, full))]


XRT_WITHOUT_MARKER = thread("python", ("Training_Step", 0, 90, {"_r": 1}))


def test_dropped_events() -> None:
    (found,) = diagnose(session(capture(XRT, *cores(1), environment={"dropped_events": 1200})))
    assert found.id == "dropped_events"
    assert "1,200" in found.message


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
def test_real_captures(
    shared_traces: Path, folder: str, label: str, diagnostics: list[tuple[str, str]]
) -> None:
    trace = real_trace(shared_traces / folder)
    assert environment(session(trace))["label"] == label
    assert ids(trace) == diagnostics


@pytest.mark.parametrize(
    "name", ["torch_xla_baseline", "torch_xla_dynamo", "synthetic_case_study_8_tpu_cores"]
)
def test_the_page_s_first_answer_knows_of_scopes_what_the_report_knows(name: str) -> None:
    """On a CPU scopes are in the programs, not with the ops."""
    capture = session(demo(name))
    first, report = session_summary(capture)["environment"], session_report(capture)["environment"]
    assert first == report
    assert first["hlo_scopes"]
