"""What a capture was made of: framework, runtime, accelerator."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.session import Environment, Framework, Runtime

_XLA = re.compile(
    r"(StepMarker|Sync(Live)?TensorsGraph(Internal)?|XLATensor::Compile|XLAGraphExecutor::Compile)(#|$)"
    r"|(PjRt|Ifrt|Xrt)ComputationClient::|tf_pytorchxla/"
)
_TPU = re.compile(r"aten::|Optimizer\.step#|ApplyMemoryThrottling|ScalarBuffer_")
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
RUNTIMES: tuple[Runtime, ...] = ("xrt", "pjrt")
UNKNOWN: Final = "unknown"
_GPU_VENDORS = {"nvidia": "NVIDIA GPU", "amd": "AMD GPU", "intel": "Intel GPU"}


def environment(session: SessionTrace) -> Environment:
    """What made the capture.

    `framework` is torch_xla, torch_tpu, jax, tensorflow or unknown, `runtime` xrt, pjrt or unknown, `accelerator` a
    text (`unknown` without devices); `hlo_scopes` says whether device ops tell the scope they come from, `synthetic`
    whether a generator wrote the file; `label` says it all in a line.
    """
    framework = framework_of(session)
    runtime = _runtime(session)
    accelerator = _accelerator(session)
    return {
        "framework": framework,
        "runtime": runtime,
        "accelerator": accelerator,
        "hlo_scopes": any(has_scopes(trace) for trace in session.traces),
        "synthetic": any(trace_is_synthetic(trace) for trace in session.traces),
        "label": environment_label(framework, runtime, accelerator, len(session.devices)),
    }


def environment_label(framework: Framework, runtime: Runtime, accelerator: str, devices: int) -> str:
    """`PyTorch/XLA · PJRT · 8 TPU v3 cores`, from what `environment` tells and the number of devices."""
    parts = [
        FRAMEWORKS.get(framework),
        None if runtime == "unknown" else runtime.upper(),
        _devices(devices, accelerator),
    ]
    return " · ".join(part for part in parts if part) or "Unknown framework"


def framework_of(session: SessionTrace) -> Framework:
    """The `framework` of the session's environment: the first one whose words events or threads have."""
    words: dict[Framework, re.Pattern[str]] = {
        "torch_xla": _XLA,
        "torch_tpu": _TPU,
        "jax": _JAX,
        "tensorflow": _TENSORFLOW,
    }
    return next((name for name, word in words.items() if _is_named(session, word)), "unknown")


def _runtime(session: SessionTrace) -> Runtime:
    return "xrt" if _is_named(session, _XRT) else "pjrt" if _is_named(session, _PJRT) else "unknown"


def _is_named(session: SessionTrace, word: re.Pattern[str]) -> bool:
    """Whether an event or a thread of any host has such a name."""
    return any(word.match(name) for trace in session.traces for name in _names(trace))


@memoised
def is_torch_xla(trace: Trace) -> bool:
    """Whether a host's events or threads have names that PyTorch/XLA alone gives."""
    return any(map(_XLA.match, _names(trace)))


def has_scopes(trace: Trace) -> bool:
    """Whether an op of a device names a scope: an op name of more than one part, in the op's metadata."""
    texts = trace.metadata.text.get("tf_op")
    if texts is None:
        return False
    return any("/" in trace.strings[text].split(":", 1)[0] for text in set(texts[texts >= 0].tolist()))


def trace_is_synthetic(trace: Trace) -> bool:
    """Whether the file says that it was generated."""
    return any(
        plane.name == "Task Environment" and bool(plane.stats.get("synthetic")) for plane in trace.planes
    )


@memoised
def _names(trace: Trace) -> set[str]:
    """Of events, and of threads."""
    return {line.name for line in trace.lines} | {
        trace.strings[text] for text in set(trace.metadata.name[trace.metadata.name >= 0].tolist())
    }


def _accelerator(session: SessionTrace) -> str:
    """The type of most devices, as their planes give it."""
    kinds: Counter[str] = Counter()
    for trace in session.traces:
        for device in trace.devices:
            stats = {} if device.plane is None else trace.planes[device.plane].stats
            kinds[_device_type(device.kind, stats)] += 1
    return kinds.most_common(1)[0][0] if kinds else "unknown"


def _device_type(kind: str, stats: dict[str, Any]) -> str:
    told = stats.get("device_type_string")
    if told:
        return str(told)
    if kind == "gpu":
        name = _GPU_VENDORS.get(str(stats.get("device_vendor", "")).lower(), "GPU")
        if name != "NVIDIA GPU" or "compute_cap_major" not in stats:
            return name
        return f"{name} (compute capability {stats['compute_cap_major']}.{stats.get('compute_cap_minor', 0)})"
    return {"tpu": "TPU", "cpu": "CPU"}.get(kind, "other device")


def _devices(count: int, accelerator: str) -> str:
    """`8 TPU v3 cores`, `1 CPU device`, `4 AMD GPUs`."""
    if not count:
        return "no device"
    plural = "" if count == 1 else "s"
    if accelerator.startswith("TPU"):
        return f"{count} {accelerator} core{plural}"
    if "GPU" in accelerator:
        return f"{count} {accelerator.split(' (')[0]}{plural}"
    return f"{count} {accelerator} device{plural}"
