"""What a reader of the answers must know about what a capture lacks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_xla_insights.analysis.clocks import describe_clock_contradiction
from tb_xla_insights.analysis.compiles.calls import CUTS, find_compile_calls
from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.frameworks import WORDS
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.enqueues import NONE
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.steps.sources import recorded_times
from tb_xla_insights.analysis.steps.step_times import annotated_steps, steps_of
from tb_xla_insights.analysis.thresholds import WARNING_SHARE
from tb_xla_insights.analysis.time.class_times import class_times
from tb_xla_insights.analysis.unknown_names import unknown_names
from tb_xla_insights.analysis.unrecorded_gpus import gpus_without_work
from tb_xla_insights.catalog.classes import CLASSES, HOST_DOES
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.model import SessionTrace, Trace
from tb_xla_insights.trace.threads import host_planes
from tb_xla_insights.units import brief_time, share

_STEP_SOURCES = {
    "steps_line": "the device's Steps line",
    "step_marker": "StepMarker",
    "modules": "the rhythm of modules",
}
_CUT = ("truncated_file", "corrupt_file")

_DROPPED = ("dropped_events", "num_dropped_events", "dropped_traces", "dropped_traceme_events")
"""Stats in which profilers tell how many events did not fit their buffers."""

_TENSORFLOW_ON_A_CPU = (
    "No device plane: ops that TensorFlow itself runs on a CPU are no XLA device's work, and only the host is shown. "
    "To have XLA run a step, put it in tf.function(jit_compile=True). If an accelerator "
    f"{WORDS['tensorflow'].accelerator}, and capture with --device-level 1."
)

_CALLS = ("ExecuteComputation", "ExecuteReplicated")


def diagnose(session: SessionTrace) -> list[Diagnostic]:
    """What the capture lacks, per host: devices, steps, a host level that shows op events. The readers' own diagnostics
    are not repeated."""
    several = len(session.traces) > 1
    framework = framework_of(session)
    found = []
    for trace in session.traces:
        host = trace.host if several else None
        for id_, severity, message in _lacks(trace, framework):
            found.append(Diagnostic(id_, severity, message, host))  # type: ignore[arg-type]
    return found


def _lacks(trace: Trace, framework: str) -> Iterator[tuple[str, str, str]]:
    if _is_one_compilation(trace):
        return  # nothing could run, and no step begin: nothing is missing
    if not trace.devices and framework == "tensorflow" and not _is_cut(trace) and not _device_planes(trace):
        yield "no_device_plane", "info", _TENSORFLOW_ON_A_CPU
    elif not trace.devices:
        yield "no_device_plane", "warning", _no_device(trace)
    elif all(device.from_host_events for device in trace.devices):
        source = "op events" if any(len(device.ops) for device in trace.devices) else "program runs"
        meant = WORDS[framework].accelerator
        yield (
            "no_device_plane",
            "info",
            f"No device plane, as on a CPU: devices are made from {source} on host threads. If an accelerator {meant}.",
        )
    for name, launches in gpus_without_work(trace):
        text = f"{name} recorded no kernels, though the host made {launches:,} launches on it: it is in no figure."
        yield (
            "device_without_work",
            "warning",
            f"{text} Capture again; one profiler at a time can trace a GPU.",
        )
    steps = steps_of(trace)
    if not steps or steps[0].source != "annotation":
        either = f"{WORDS['torch_xla'].step} or {WORDS['jax'].step}"
        todo = f"wrap each step in {WORDS[framework].step or either}."
        if steps:
            missing = (
                "No step annotation could be read, it may be cut off"
                if _is_cut(trace)
                else "No step annotation"
            )
            text = f"{missing}: steps come from {_STEP_SOURCES[steps[0].source]}. To name them, {todo}"
        elif _is_cut(trace):
            text = f"No steps: what tells them may be cut off. If the script annotates none, {todo}"
        else:
            marks = "step annotation" if framework in ("jax", "tensorflow") else "step annotation, StepMarker"
            text = f"No steps: no {marks} or repeated module is recorded. To have them, {todo}"
        yield "no_steps", "info" if steps else "warning", text
    if differs := _other_than_annotated(trace):
        yield "step_times", "info", differs
    yield from _ties(trace)
    if unknown := unknown_names(trace):
        yield "unknown_names", "info", unknown
    if framework == "unknown" and len(trace):
        text = "Nothing in this capture tells of PyTorch/XLA, JAX or TensorFlow: advice is general."
        yield "unknown_framework", "info", text
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


def _other_than_annotated(trace: Trace) -> str | None:
    """Where steps last other than their annotations say, or some of the loop lies between annotations."""
    steps = annotated_steps(trace)
    if len(steps) < 2:
        return None
    within = sum(step.duration_ps for step in steps)
    if find_launches(trace).handed_over is not None:
        return (
            "The host only hands steps over and runs ahead: a step lasts from the end of the work before it to the end "
            f"of its own, while its annotation lasts {brief_time(within // len(steps))} on average."
        )
    starts, ends = recorded_times(trace)
    between, loop = int((starts[1:] - ends[:-1]).sum()), int(ends[-1] - starts[0])
    if between < WARNING_SHARE * loop:
        return None
    most = int(
        class_times(host_class_segments(trace), ends[:-1].copy(), starts[1:].copy()).sum(axis=0).argmax()
    )
    return (
        f"{brief_time(between)}, {share(between / loop)} of the time from the first step to the last, lie between the "
        f"annotations of steps and are in no step; there the host mostly {HOST_DOES[CLASSES[most]]}. To count it, let "
        "the annotation hold all of the loop's body."
    )


def _no_device(trace: Trace) -> str:
    """Why there is no device, and what to do."""
    empty = _device_planes(trace)
    if _is_cut(trace):
        return "No device is in what could be read: its events may be cut off. Copy the file again, or capture again."
    if empty:
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        return (
            f"The device plane {empty[0]}{more} is empty: the device recorded no work. Capture while steps run, with "
            "--device-level 1."
        )
    return (
        "This capture has no device plane: capture with --device-level 1, from the process that owns the device, while "
        "steps run."
    )


def _device_planes(trace: Trace) -> list[str]:
    return [plane.name for plane in trace.planes if plane.name.startswith("/device:")]


def _is_one_compilation(trace: Trace) -> bool:
    """Whether a compilation began before the capture and was not finished in it, and no device worked."""
    return not trace.devices and "both" in [CUTS[cut] for cut in find_compile_calls(trace).cut.tolist()]


def _is_cut(trace: Trace) -> bool:
    """Whether what is missing may have been in the file."""
    return any(diagnostic.id in _CUT for diagnostic in trace.diagnostics)


def _ties(trace: Trace) -> Iterator[tuple[str, str, str]]:
    """What is wrong between the host's calls and the devices' runs."""
    runs = find_launches(trace).runs
    if trace.devices and not (runs.join != NONE).any():
        yield (
            "no_launches",
            "warning",
            f"Why gaps ended and what executions cost is not known: {_untied(trace, len(runs))}",
        )
    if contradiction := describe_clock_contradiction(trace, not _is_cut(trace)):
        text = f"{contradiction}: the clocks of host and device disagree; gaps, queues and overheads are off by that."
        yield "clocks_disagree", "warning", f"{text} Capture again."


def _untied(trace: Trace, runs: int) -> str:
    """Why no run has a call, and what to do."""
    if not any(line.count for line in trace.lines if line.plane in host_planes(trace)):
        return (
            "no host events could be read, they may be cut off. Copy the file again, or capture again."
            if _is_cut(trace)
            else "the host was not traced. Capture host and devices together, with --host-level 2."
        )
    if _is_cut(trace):
        return "what ties runs to calls may be cut off. Copy the file again, or capture again."
    if runs:
        return "no flow, key or order ties runs to calls. Capture the process that launches them, with --host-level 2."
    if all(device.run_of_op is not None for device in trace.devices):
        return "the GPUs' kernels name no programs. Compile with XLA, in TensorFlow by tf.function(jit_compile=True)."
    return "the devices recorded no program runs. Capture whole steps, with --device-level 1."


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _low_level(trace: Trace) -> bool:
    """Whether programs of PyTorch/XLA run, and nothing of what it records itself from level 2 on is there. At level 1
    only its thread's name tells that it is PyTorch/XLA."""
    if not any(thread.name.startswith("tf_pytorchxla") for thread in trace.threads):
        return False
    present = trace.metadata_counts > 0
    calls = [trace.strings[text].endswith(_CALLS) for text in trace.metadata.name]
    shown = has_tag(trace, "step_marker", "sync", "dynamo", "dynamo_part") | np.array(calls, np.bool_)
    runs = has_tag(trace, "run_start", "device_work", "launch", "enqueue")
    return bool((present & runs).any()) and not (present & shown).any()
