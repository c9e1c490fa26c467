"""The roles and labels of threads."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from captures import Core, capture, real_trace, thread

from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.threads import thread_labels


def roles(trace: Trace) -> dict[str, str]:
    return {host_thread.name: host_thread.role for host_thread in trace.threads}


def flow_out(number: int) -> dict[str, int]:
    return {"_pt": 15, "_p": number}


def flow_in(number: int) -> dict[str, int]:
    return {"_ct": 15, "_c": number}


def test_the_roles_of_a_pytorch_xla_process() -> None:
    trace = capture(
        thread(
            "python",
            ("Training_Step", 0, 90, {"_r": 1}),
            ("StepMarker", 50, 30),
            ("SyncTensorsGraphInternal", 51, 20),
            ("ThreadpoolListener::Record", 60, 0, flow_out(1)),
        ),
        thread("pt_autograd_0", ("SyncTensorsGraphInternal", 20, 9)),
        thread(
            "tf_pytorchxla/7",
            ("ThreadpoolListener::StartRegion", 61, 0, flow_in(1)),
            ("ExecuteComputation", 62, 9),
        ),
        thread("tf_XLAPjRtCpuClient/8", ("ThunkExecutor::Execute", 70, 9)),
        thread("tf_XLAEigen/9", ("ThunkExecutor::Execute", 71, 3)),
        thread("tf_xla-cpu-codegen/3", ("FusionCompiler::Compile", 30, 9)),
        thread("python3", ("cpu_loader.next", 0, 40)),
        thread("python4", ("read_batch", 0, 40), ("prefetch", 5, 10)),
        thread("python5", ("evaluate", 0, 40)),
        thread("", ("$train.py:20 fill", 0, 40), ("$train.py:9 next_batch", 5, 10)),
    )
    assert roles(trace) == {
        "python": "driving", "pt_autograd_0": "autograd", "tf_pytorchxla/7": "executor",
        "tf_XLAPjRtCpuClient/8": "client", "tf_XLAEigen/9": "op_pool", "tf_xla-cpu-codegen/3": "compiler",
        "python3": "loader", "python4": "loader", "python5": "other", "": "loader",
    }  # fmt: skip


def test_the_driving_thread_is_the_one_whose_flows_lead_to_the_executor() -> None:
    evaluations = [(f"evaluate{i}", 10 * i, 9, {"_r": 1}) for i in range(20)]
    trace = capture(
        thread("python", *evaluations),
        thread("worker", ("step", 0, 90, {"_r": 1}), ("ThreadpoolListener::Record", 60, 0, flow_out(1))),
        thread(
            "tf_pytorchxla/7",
            ("ThreadpoolListener::StartRegion", 61, 0, flow_in(1)),
            ("ExecuteComputation", 62, 9),
        ),
    )
    assert roles(trace)["worker"] == "driving"
    assert roles(trace)["python"] == "other"


def test_flows_to_a_device_count_as_well() -> None:
    trace = capture(
        thread("main/1", ("PjitFunction(f)", 0, 9), ("DoEnqueueProgram", 2, 3, {"_pt": 12, "_p": 4})),
        thread("main/2", ("PjitFunction(g)", 0, 9), ("PjitFunction(g)", 10, 9)),
        Core(modules=[("jit_f(1)", 20, 9, {"_ct": 12, "_c": 4})]),
    )
    assert roles(trace) == {"main/1": "driving", "main/2": "other"}


def test_without_flows_steps_and_synchronisations_identify_the_driving_thread() -> None:
    """The XRT era records no flows."""
    trace = capture(
        thread(
            "python",
            ("Training_Step", 0, 50, {"_r": 1}),
            ("StepMarker", 20, 10),
            ("XLATensor::Compile", 21, 5),
        ),
        thread("tf_Compute/3", ("localservice:XRTExecute", 60, 30), ("TpuExecuteOp", 61, 20)),
        thread("tf_data_iterator/4", ("Iterator::Prefetch", 0, 9)),
        thread("grpc_worker/5", ("TransferToServerInternal", 1, 9)),
        thread("tf_listener/6", ("TensorCollectionBarrier", 1, 9)),
        thread("tf_idle/7", ("MemoryAllocation", 1, 9)),
    )
    assert roles(trace) == {
        "python": "driving", "tf_Compute/3": "executor", "tf_data_iterator/4": "loader", "grpc_worker/5": "transfer",
        "tf_listener/6": "client", "tf_idle/7": "other",
    }  # fmt: skip


def test_a_host_without_python_threads_is_driven_by_its_busiest_launcher() -> None:
    trace = capture(
        thread("tf_Compute/3", ("TpuExecuteOp", 0, 9)),
        thread("tf_Compute/4", ("TfrtTpuLoadedExecutable::Execute", 0, 9), ("DoEnqueueProgram", 1, 2)),
    )
    assert roles(trace)["tf_Compute/4"] == "driving"


def test_labels_are_names_without_ids_and_number_equal_names() -> None:
    trace = capture(
        thread("python", ("loading", 0, 5)),
        thread("python", ("Training_Step", 0, 90, {"_r": 1}), ("StepMarker", 50, 30)),
        thread("tf_Compute/-17", ("a", 0, 1)),
        thread("tf_Compute/4", ("b", 0, 1)),
        thread("tf_pytorchxla/7", ("ExecuteComputation", 62, 9)),
        thread("17", ("c", 0, 1)),
        Core(ops=[("fusion.1", 0, 5)]),
    )
    assert thread_labels(trace)[:7] == [
        "python 2", "python", "tf_Compute 1", "tf_Compute 2", "tf_pytorchxla", "17", "XLA Modules",
    ]  # fmt: skip


def test_lines_of_devices_are_no_threads() -> None:
    assert capture(Core(modules=[("jit_f(1)", 0, 9)])).threads == []


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("torch_xla/tiny_mp_loader",
         {"python driving": 1, "python loader": 2, "tf_XLAEigen op_pool": 2, "tf_XLAPjRtCpuClient client": 1,
          "tf_pytorchxla executor": 1}),
        ("torch_xla/dynamo_train_session",
         {"python driving": 1, "pt_autograd_0 autograd": 1, "tf_XLAEigen op_pool": 2, "tf_XLAPjRtCpuClient client": 2,
          "tf_pytorchxla executor": 1}),
        ("torch_xla/baseline_server_level1",
         {"python driving": 1, "tf_XLAEigen op_pool": 2, "tf_XLAPjRtCpuClient client": 2, "tf_pytorchxla executor": 1}),
        ("public/gpu_mi300_jax",
         {"python driving": 1, "Host Threads executor": 15, "py_xla_execute executor": 8,
          "tf_pjrt_thread_pool client": 8}),
    ],
)  # fmt: skip
def test_threads_of_real_captures(shared_traces: Path, folder: str, expected: dict[str, int]) -> None:
    trace = real_trace(shared_traces / folder)
    assert (
        Counter(f"{host_thread.name.split('/')[0]} {host_thread.role}" for host_thread in trace.threads)
        == expected
    )


def test_threads_of_a_real_tpu_host(shared_traces: Path) -> None:
    threads = real_trace(shared_traces / "public/tpu_v6e_jax").threads
    assert [host_thread.name for host_thread in threads if host_thread.role == "driving"] == ["main/3116817"]
    names_by_role = {
        role: {host_thread.name.split("/")[0] for host_thread in threads if host_thread.role == role}
        for role in ("executor", "compiler")
    }
    assert "py_xla_execute" in names_by_role["executor"]
    assert names_by_role["compiler"] == {"tfrt-dynamic-queue"}
