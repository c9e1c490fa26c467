"""Diagnostics: what a capture lacks, and how that limits the analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tb_xla_insights.analysis.compiles.calls import CUTS, find_compile_calls
from tb_xla_insights.analysis.completeness.clocks import describe_clock_contradiction, describe_clock_shift
from tb_xla_insights.analysis.completeness.unknown_names import describe_unknown_names
from tb_xla_insights.analysis.completeness.unrecorded_devices import devices_without_work
from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.frameworks import WORDS
from tb_xla_insights.analysis.host.servers import is_server
from tb_xla_insights.analysis.launches.enqueues import NONE
from tb_xla_insights.analysis.launches.launches import find_launches, launches_single_operations
from tb_xla_insights.analysis.launches.step_sources import annotated_times, find_unrecorded_work
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.launches.unrecorded_work import find_short_records
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.steps.partial_steps import steps_outside_device_record
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.text.english import join_words, plural
from tb_xla_insights.text.units import brief_time, count
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.threads import host_planes

_STEP_SOURCE_TEXTS = {
    "steps_line": "the device's Steps line",
    "step_marker": "StepMarker",
    "modules": "the rhythm of modules",
}
_DAMAGE_IDS = ("truncated_file", "corrupt_file")

_DROPPED_EVENTS_STATS = ("dropped_events", "num_dropped_events", "dropped_traces", "dropped_traceme_events")
"""Stats in which profilers record how many events did not fit their buffers."""

_TENSORFLOW_ON_CPU = (
    "No device plane: TensorFlow's own CPU ops are not the work of an XLA device, so only the host is shown. "
    "To have XLA run a step, put it in tf.function(jit_compile=True). If an accelerator "
    f"{WORDS['tensorflow'].accelerator}, and capture with --device-level 1."
)

_KERNEL_SCOPES = "Pallas Primitives"
"""The line of a device with the scopes inside its Pallas kernels."""

_EXECUTE_CALLS = ("ExecuteComputation", "ExecuteReplicated")


_SHORT_RECORD_TEXTS = {
    "begins": ("after", "The profiler probably started there later. Capture a longer time."),
    "ends": ("before", "A buffer was probably full. Capture a shorter time."),
}
"""By the edge at which one device's record is shorter: a preposition, and the cause with advice."""


def diagnose(trace: Trace) -> Iterator[Diagnostic]:
    """Yields what the capture lacks: devices, steps, a host level that records op events. The readers' own diagnostics
    are not repeated."""
    framework = framework_of(trace)
    if _is_one_compilation(trace):
        return  # nothing could run and no step begin, so nothing is missing
    if (
        not trace.devices
        and framework == "tensorflow"
        and not _is_damaged(trace)
        and not _device_planes(trace)
    ):
        yield Diagnostic("no_device_plane", "info", _TENSORFLOW_ON_CPU)
    elif not trace.devices:
        yield _no_device(trace)
    elif all(device.from_host_events for device in trace.devices):
        source = "op events" if any(len(device.ops) for device in trace.devices) else "program runs"
        accelerator = WORDS[framework].accelerator
        text = f"No device plane, as on a CPU: devices are derived from {source} on host threads."
        yield Diagnostic("no_device_plane", "info", f"{text} If an accelerator {accelerator}.")
    if trace.devices and (lost := devices_without_work(trace)):
        text = f"{_describe_lost(lost)}, and no figure includes {'it' if len(lost) == 1 else 'them'}."
        text = f"{text} Capture again{_how_to_trace(lost)}."
        yield Diagnostic("device_without_work", "warning", text, variant="")
    yield from _device_record_diagnostics(trace)
    steps = find_steps(trace)
    has_annotations = steps and (steps[0].source == "annotation" or is_server(trace))
    if not has_annotations:
        advice = f"{WORDS[framework].step}."
        if steps:
            missing = (
                "No step annotation could be read, as the file may be truncated"
                if _is_damaged(trace)
                else "No step annotation"
            )
            text = f"{missing}: steps come from {_STEP_SOURCE_TEXTS[steps[0].source]}. To name them, {advice}"
        elif _is_damaged(trace):
            text = f"No steps could be read, as the file may be truncated. If the script annotates none, {advice}"
        else:
            sources = (
                "step annotation" if framework in ("jax", "tensorflow") else "step annotation, StepMarker"
            )
            text = f"No steps: no {sources} or repeated module is recorded. To get them, {advice}"
        yield Diagnostic("no_steps", "info" if steps else "warning", text)
    if difference := _step_time_difference(trace):
        yield Diagnostic("step_times", "info", difference, variant="")
    yield from _join_diagnostics(trace)
    if scopes := sum(line.count for line in trace.lines if line.name == _KERNEL_SCOPES):
        text = f"{plural(scopes, 'scope')} inside Pallas kernels are recorded, which slows the kernels."
        yield Diagnostic("kernel_scopes", "info", f"{text} Remove them before comparing times.")
    if names := describe_unknown_names(trace):
        yield names
    if framework == "unknown" and len(trace):
        text = "No event of PyTorch/XLA, JAX or TensorFlow was recognised, so advice is general."
        yield Diagnostic("unknown_framework", "info", text)
    if _has_low_host_level(trace):
        text = "The host was traced at level 1, without step markers, transfers and op events."
        yield Diagnostic("low_host_level", "warning", f"{text} Capture with --host-level 2.")
    dropped = sum(_count(plane.stats.get(name)) for plane in trace.planes for name in _DROPPED_EVENTS_STATS)
    if dropped:
        yield Diagnostic(
            "dropped_events",
            "warning",
            f"The profiler dropped {plural(dropped, 'event')}: its buffer was full. Capture a shorter time.",
            variant="",
        )


def _device_record_diagnostics(trace: Trace) -> Iterator[Diagnostic]:
    """Yields diagnostics if the devices did not record what the host launched."""
    unrecorded = find_unrecorded_work(trace)
    devices = "devices" if len(trace.devices) > 1 else "device"
    late, lost_at_end = steps_outside_device_record(trace)
    for id_, part, steps, when, ending in (
        (
            "begins",
            unrecorded.before,
            late,
            "after the first of {} without a recorded run",
            "the profiler probably started there later.{} Capture a longer time.",
        ),
        (
            "ends",
            unrecorded.after,
            lost_at_end,
            "before the host's, which has {} without a recorded run",
            "a buffer was probably full.{} Capture a shorter time.",
        ),
    ):
        if part is not None and part.is_long:
            skipped = (
                f" {plural(steps, 'step')} without recorded work {'is' if steps == 1 else 'are'} not counted."
            )
            where = when.format(plural(part.launches, "launch", "launches"))
            text = f"The record of the {devices} {id_} {brief_time(part.duration_ps)} {where}: "
            yield Diagnostic(
                f"device_record_{id_}",
                "warning" if part.is_most else "info",
                text + ending.format(skipped if steps else ""),
                variant="",
            )
    for record in find_short_records(trace):
        device = trace.devices[record.device].name
        order, advice = _SHORT_RECORD_TEXTS[record.edge]
        yield Diagnostic(
            "device_records_differ",
            "warning",
            f"The record of {device} {record.edge} {brief_time(record.duration_ps)} {order} those of the other "
            f"devices, which ran {plural(record.launches, 'launch', 'launches')} meanwhile; means per step and core "
            f"count {device} as idle then. {advice}",
            variant=record.edge,
        )
    if unrecorded.between:
        launches = plural(unrecorded.between, "launch", "launches")
        text = (
            f"The {devices} recorded no run of {launches} between the first run and the last one: idle time there may "
            "be work, and steps may have more work than is shown."
        )
        yield Diagnostic("work_not_recorded", "warning", f"{text} Capture a shorter time.", variant="")


def _step_time_difference(trace: Trace) -> str | None:
    """Returns a message if the host only hands steps over, so that they last longer than their annotations."""
    if find_launches(trace).handed_over_times is None:
        return None
    starts, ends = annotated_times(trace)
    return (
        "The host only hands steps over and runs ahead, so a step lasts from the end of the previous step's "
        f"work to the end of its own; its annotation lasts only {brief_time(int((ends - starts).mean()))} on "
        "average."
    )


def _no_device(trace: Trace) -> Diagnostic:
    """Returns why there is no device, and what to do."""
    device_planes, variant = _device_planes(trace), None
    text = (
        "This capture has no device plane: capture with --device-level 1, from the process that owns the device, while "
        "steps run."
    )
    if _is_damaged(trace):
        text = (
            "The readable part of the file has no device, as the file may be truncated. Copy the file again, or "
            "capture again."
        )
    elif lost := devices_without_work(trace):
        variant = "lost"
        text = f"{_describe_lost(lost)}: the devices' work is not in the capture. Capture again{_how_to_trace(lost)}."
    elif device_planes:
        variant = "empty"
        more = len(device_planes) - 1
        planes = (
            f"planes {device_planes[0]} and {count(more)} more are empty: the devices"
            if more
            else f"plane {device_planes[0]} is empty: the device"
        )
        text = f"The device {planes} recorded no work. Capture while steps run, with --device-level 1."
    return Diagnostic("no_device_plane", "warning", text, variant=variant)


def _describe_lost(lost: Sequence[tuple[str, int]]) -> str:
    """`The host made 8 launches on TPU:1, which recorded no work`."""
    launches = plural(sum(number for _, number in lost), "launch", "launches")
    return f"The host made {launches} on {join_words([name for name, _ in lost])}, which recorded no work"


def _how_to_trace(lost: Sequence[tuple[str, int]]) -> str:
    """How to trace devices that recorded no work, to follow `capture again`."""
    if any("TPU" in name for name, _ in lost):
        return (
            " with --device-level 1, and with all chips traced (the profiler's option "
            "tpu_num_chips_to_profile_per_task limits them)"
        )
    return "; one profiler at a time can trace a GPU"


def _device_planes(trace: Trace) -> list[str]:
    return [plane.name for plane in trace.planes if plane.name.startswith("/device:")]


def _is_one_compilation(trace: Trace) -> bool:
    """Whether a compilation began before the capture and did not finish in it, and no device worked."""
    return not trace.devices and "both" in [CUTS[cut] for cut in find_compile_calls(trace).cut.tolist()]


def _is_damaged(trace: Trace) -> bool:
    """Whether the file lost a part, so that missing data may have been in it."""
    return any(diagnostic.id in _DAMAGE_IDS for diagnostic in trace.diagnostics)


def _join_diagnostics(trace: Trace) -> Iterator[Diagnostic]:
    """Yields the diagnostics about the joins between the host's calls and the devices' runs."""
    runs = find_launches(trace).runs
    if trace.devices and not (runs.join != NONE).any():
        unknown = "What executions cost is unknown"
        if not launches_single_operations(trace):
            unknown = "Why gaps ended and what executions cost is unknown"
        yield Diagnostic("no_launches", "warning", f"{unknown}: {_unjoined_reason(trace, len(runs))}")
    if shift := describe_clock_shift(trace):
        yield shift
    if contradiction := describe_clock_contradiction(trace, not _is_damaged(trace)):
        yield contradiction


def _unjoined_reason(trace: Trace, runs: int) -> str:
    """Returns why no run has a call, and what to do."""
    if not any(line.count for line in trace.lines if line.plane in host_planes(trace)):
        return (
            "no host events could be read, as the file may be truncated. Copy the file again, or capture again."
            if _is_damaged(trace)
            else "the host was not traced. Capture host and devices together, with --host-level 2."
        )
    if _is_damaged(trace):
        return (
            "the events that link runs to calls may be missing, as the file may be truncated. Copy the file again, "
            "or capture again."
        )
    if runs:
        return "no flow, key or order links runs to calls. Capture the process that launches them, with --host-level 2."
    if all(device.run_of_op is not None for device in trace.devices):
        return "the GPUs' kernels name no programs. Compile with XLA, in TensorFlow by tf.function(jit_compile=True)."
    return "the devices recorded no program runs. Capture whole steps, with --device-level 1."


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _has_low_host_level(trace: Trace) -> bool:
    """Whether programs of PyTorch/XLA run but nothing is recorded that PyTorch/XLA itself records from host level 2 on.
    At level 1, only the name of its thread identifies PyTorch/XLA."""
    if not any(thread.name.startswith("tf_pytorchxla") for thread in trace.threads):
        return False
    is_present = trace.metadata_counts > 0
    is_execute_call = [
        trace.strings[text_index].endswith(_EXECUTE_CALLS) for text_index in trace.metadata.name
    ]
    is_level_2 = has_tag(trace, "step_marker", "sync", "dynamo", "dynamo_part") | np.array(
        is_execute_call, np.bool_
    )
    is_run = has_tag(trace, "run_start", "device_work", "launch", "enqueue")
    return bool((is_present & is_run).any()) and not (is_present & is_level_2).any()
