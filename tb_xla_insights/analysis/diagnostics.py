"""What a reader of the answers must know about what a capture lacks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_xla_insights.analysis.names import tagged
from tb_xla_insights.analysis.steps import find_steps
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.model import SessionTrace, Trace

_STEP_SOURCES = {
    "steps_line": "No step annotation; steps come from the device's Steps line.",
    "step_marker": "No step annotation; steps come from StepMarker.",
    "modules": "No step annotation; steps come from the rhythm of modules.",
}


_DROPPED = ("dropped_events", "num_dropped_events", "dropped_traces", "dropped_traceme_events")
"""Stats in which profilers tell how many events did not fit their buffers."""

_CALLS = ("ExecuteComputation", "ExecuteReplicated")


def diagnose(session: SessionTrace) -> list[Diagnostic]:
    """What the capture lacks, per host: devices, steps, a host level that shows op events. The readers' own diagnostics
    are not repeated."""
    several = len(session.traces) > 1
    found = []
    for trace in session.traces:
        host = trace.host if several else None
        for id_, severity, message in _lacks(trace):
            found.append(Diagnostic(id_, severity, message, host))  # type: ignore[arg-type]
    return found


def _lacks(trace: Trace) -> Iterator[tuple[str, str, str]]:
    if not trace.devices:
        yield (
            "no_device_plane",
            "warning",
            "This capture has no device plane: the profiler ran without device tracing.",
        )
    elif all(device.made for device in trace.devices):
        source = "op events" if any(len(device.ops) for device in trace.devices) else "program runs"
        yield "no_device_plane", "info", f"Devices made from {source} on host threads (torch_xla on CPU)."
    steps = find_steps(trace)
    if not steps:
        yield (
            "no_steps",
            "warning",
            "No steps: the capture has no step annotation, no StepMarker and no repeated module.",
        )
    elif steps[0].source != "annotation":
        yield "no_steps", "info", _STEP_SOURCES[steps[0].source]
    if _low_level(trace):
        yield (
            "low_host_level",
            "warning",
            "The host was traced at level 1: no step markers, transfers and op events. Capture with host level 2.",
        )
    dropped = sum(_count(plane.stats.get(name)) for plane in trace.planes for name in _DROPPED)
    if dropped:
        yield (
            "dropped_events",
            "warning",
            f"The profiler dropped {dropped:,} events: its buffer was full. Capture less time.",
        )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _low_level(trace: Trace) -> bool:
    """Whether programs of PyTorch/XLA run, and nothing of what it records itself from level 2 on is there. At level 1
    only its thread's name tells that it is PyTorch/XLA."""
    if not any(thread.name.startswith("tf_pytorchxla") for thread in trace.threads):
        return False
    present = np.zeros(len(trace.metadata.name), np.bool_)
    present[trace.meta] = True
    calls = [trace.strings[text].endswith(_CALLS) for text in trace.metadata.name]
    shown = tagged(trace, "step_marker", "sync", "dynamo", "dynamo_part") | np.array(calls, np.bool_)
    runs = tagged(trace, "run_start", "device_work", "launch", "enqueue")
    return bool((present & runs).any()) and not (present & shown).any()
