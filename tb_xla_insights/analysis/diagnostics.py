"""What a reader of the answers must know about what a capture lacks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_xla_insights.analysis.idle import SLACK_PS
from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.names import tagged
from tb_xla_insights.analysis.runs import EXACT, NONE
from tb_xla_insights.analysis.steps import steps_of
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.entries import entries_present
from tb_xla_insights.trace.model import SessionTrace, Trace
from tb_xla_insights.trace.threads import host_planes
from tb_xla_insights.units import time_text

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
    steps = steps_of(trace)
    if not steps:
        yield (
            "no_steps",
            "warning",
            "No steps: the capture has no step annotation, no StepMarker and no repeated module.",
        )
    elif steps[0].source != "annotation":
        yield "no_steps", "info", _STEP_SOURCES[steps[0].source]
    yield from _ties(trace)
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


def _ties(trace: Trace) -> Iterator[tuple[str, str, str]]:
    """What is wrong between the host's calls and the devices' runs."""
    runs = find_launches(trace).runs
    if trace.devices and not (runs.join != NONE).any():
        if not any(line.count for line in trace.lines if line.plane in host_planes(trace)):
            why = "the host was not traced. Trace host and devices together."
        elif not len(runs):
            of_kernels = all(device.run_of_op is not None for device in trace.devices)
            why = (
                "the GPUs' kernels name no programs."
                if of_kernels
                else "the devices recorded no program runs."
            )
        else:
            why = "no flow, key or order ties runs to calls."
        yield "no_launches", "warning", f"Why gaps ended and what executions cost is not known: {why}"
    joined = np.flatnonzero((runs.enqueue_row >= 0) & (runs.join == EXACT))
    late = trace.start_ps[runs.enqueue_row[joined]] - runs.start_ps[joined]
    count = int((late > SLACK_PS).sum())
    if count:
        most = time_text(int(late.max()))
        text = f"{count:,} of {len(runs):,} runs begin before they were enqueued, by up to {most}: the clocks of host "
        yield (
            "clocks_disagree",
            "warning",
            f"{text}and device disagree; gaps, queues and overheads are off by that.",
        )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _low_level(trace: Trace) -> bool:
    """Whether programs of PyTorch/XLA run, and nothing of what it records itself from level 2 on is there. At level 1
    only its thread's name tells that it is PyTorch/XLA."""
    if not any(thread.name.startswith("tf_pytorchxla") for thread in trace.threads):
        return False
    present = entries_present(trace.meta, len(trace.metadata.name))
    calls = [trace.strings[text].endswith(_CALLS) for text in trace.metadata.name]
    shown = tagged(trace, "step_marker", "sync", "dynamo", "dynamo_part") | np.array(calls, np.bool_)
    runs = tagged(trace, "run_start", "device_work", "launch", "enqueue")
    return bool((present & runs).any()) and not (present & shown).any()
