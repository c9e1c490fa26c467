"""Framework, runtime and accelerator of a capture."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.scope_names import op_name_in_tf_op, scope_in_op_name
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.session import Environment, Framework, Runtime

_TORCH_XLA = re.compile(
    r"(StepMarker|Sync(Live)?TensorsGraph(Internal)?|XLATensor::Compile|XLAGraphExecutor::Compile)(#|$)"
    r"|(PjRt|Ifrt|Xrt)ComputationClient::|tf_pytorchxla/"
)
_TORCH_TPU = re.compile(r"aten::|ExecutionTask::Run$|ApplyMemoryThrottling|ScalarBuffer_|tt_jit_")
_JAX = re.compile(r"PjitFunction\(|trace_to_jaxpr|np\.asarray\(jax\.Array\)|ArrayImpl\.|jit_\w")
_TENSORFLOW = re.compile(
    r"ExecutorState::Process|ExecutorPropagateOutputs|EagerExecute|IteratorGetNext|FunctionRun"
)
_XRT = re.compile(
    r"(\S+:)?XRT(Execute|Compile|Allocate)|XLATensor::Compile|TransferToServer(Transform|Execute|Internal)"
    r"|TpuExecute(Chained)?Op|ExecuteChained(#|$)"
)
_PJRT = re.compile(
    r"PJRT|PjRt|Pjrt|pjrt|Ifrt|Tfrt\w+(Client|LoadedExecutable|Buffer)|\w*LoadedExecutable::Execute"
    r"|Wait for (usage|donation) holds|ThunkExecutor::"
)

FRAMEWORKS: dict[Framework, str] = {
    "torch_xla": "PyTorch/XLA",
    "torch_tpu": "TorchTPU",
    "jax": "JAX",
    "tensorflow": "TensorFlow",
}
_OTHER_DEVICE = "other device"
_GPU_VENDORS = {"nvidia": "NVIDIA GPU", "amd": "AMD GPU", "intel": "Intel GPU"}


def environment(trace: Trace) -> Environment:
    """The report's `environment`.

    `framework` is torch_xla, torch_tpu, jax, tensorflow or unknown; `runtime` xrt, pjrt or unknown; `accelerator` a
    text (`unknown` without devices). `hlo_scopes`: whether device ops record their scope. `synthetic`: whether a
    generator wrote the file. `label` sums it up in a line.
    """
    framework, runtime, accelerator = framework_of(trace), _runtime(trace), _accelerator(trace)
    return {
        "framework": framework,
        "runtime": runtime,
        "accelerator": accelerator,
        "hlo_scopes": has_scopes(trace),
        "synthetic": is_synthetic(trace),
        "label": environment_label(framework, runtime, accelerator, len(trace.devices)),
    }


def environment_label(framework: Framework, runtime: Runtime, accelerator: str, device_count: int) -> str:
    """Returns, for example, `PyTorch/XLA · PJRT · 8 TPU v3 cores`."""
    parts = [
        FRAMEWORKS.get(framework),
        None if runtime == "unknown" else runtime.upper(),
        _devices_text(device_count, accelerator),
    ]
    return " · ".join(part for part in parts if part)


@memoised
def framework_of(trace: Trace) -> Framework:
    """Returns the host's framework: the first one whose names events or threads have."""
    patterns: dict[Framework, re.Pattern[str]] = {
        "torch_xla": _TORCH_XLA,
        "torch_tpu": _TORCH_TPU,
        "jax": _JAX,
        "tensorflow": _TENSORFLOW,
    }
    return next((name for name, pattern in patterns.items() if _has_match(trace, pattern)), "unknown")


def _runtime(trace: Trace) -> Runtime:
    return "xrt" if _has_match(trace, _XRT) else "pjrt" if _has_match(trace, _PJRT) else "unknown"


def _has_match(trace: Trace, pattern: re.Pattern[str]) -> bool:
    """Whether the name of an event or thread matches."""
    return any(map(pattern.match, _names(trace)))


@memoised
def is_torch_xla(trace: Trace) -> bool:
    """Whether a host's events or threads have names that only PyTorch/XLA gives."""
    return any(map(_TORCH_XLA.match, _names(trace)))


def has_scopes(trace: Trace) -> bool:
    """Whether a device op records a scope, by the op name in its metadata."""
    texts = trace.metadata.text.get("tf_op")
    if texts is None:
        return False
    return any(
        scope_in_op_name(op_name_in_tf_op(trace.strings[text_index]))
        for text_index in set(texts[texts >= 0].tolist())
    )


def is_synthetic(trace: Trace) -> bool:
    """Whether the file says that a generator wrote it."""
    return any(
        plane.name == "Task Environment" and bool(plane.stats.get("synthetic")) for plane in trace.planes
    )


@memoised
def _names(trace: Trace) -> set[str]:
    """Returns the names of events and threads."""
    return {line.name for line in trace.lines} | {
        trace.strings[text_index]
        for text_index in set(trace.metadata.name[trace.metadata.name >= 0].tolist())
    }


def _accelerator(trace: Trace) -> str:
    """Returns the most frequent type of device, as the planes record it."""
    types: Counter[str] = Counter()
    for device in trace.devices:
        stats = {} if device.plane is None else trace.planes[device.plane].stats
        types[_device_type(device.kind, stats)] += 1
    return types.most_common(1)[0][0] if types else "unknown"


def _device_type(device_kind: str, stats: dict[str, Any]) -> str:
    type_name = stats.get("device_type_string")
    if type_name:
        return str(type_name)
    if device_kind == "gpu":
        name = _GPU_VENDORS.get(str(stats.get("device_vendor", "")).lower(), "GPU")
        if name != "NVIDIA GPU" or "compute_cap_major" not in stats:
            return name
        return f"{name} (compute capability {stats['compute_cap_major']}.{stats.get('compute_cap_minor', 0)})"
    return {"tpu": "TPU", "cpu": "CPU"}.get(device_kind, _OTHER_DEVICE)


def _devices_text(count: int, accelerator: str) -> str:
    """Returns, for example, `8 TPU v3 cores`, `1 CPU device`, `4 AMD GPUs` or `2 other devices`."""
    if not count:
        return "no device"
    plural = "" if count == 1 else "s"
    if accelerator.startswith("TPU"):
        return f"{count} {accelerator} core{plural}"
    if accelerator == _OTHER_DEVICE:
        return f"{count} {accelerator}{plural}"
    if "GPU" in accelerator:
        return f"{count} {accelerator.split(' (')[0]}{plural}"
    return f"{count} {accelerator} device{plural}"
