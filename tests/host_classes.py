"""The class at an instant by its definition, and a host's segments and times by class."""

from __future__ import annotations

from captures import CATALOG
from extracting import extractions_by_definition

from tb_xla_insights.analysis.host.classes import HELPER_ROLES, host_class_segments
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.trace.annotations import step_annotation_rows
from tb_xla_insights.trace.model import Trace

INDEX = {name: number for number, name in enumerate(CLASSES)}
HELPER_ORDER = ("compile", "program_load", "from_device", "to_device", "dispatch", "sync_prepare", "input")


def times_by_class(trace: Trace) -> dict[str, int]:
    """The host's time by class."""
    return {
        name: time
        for name, time in zip(CLASSES, host_class_segments(trace).sums(len(CLASSES)), strict=True)
        if time
    }


def class_segments(trace: Trace) -> list[tuple[int, int, str]]:
    """The host's segments, with neighbours of one class merged."""
    merged: list[tuple[int, int, str]] = []
    segments = host_class_segments(trace)
    for start, end, class_index in zip(
        segments.start_ps.tolist(), segments.end_ps.tolist(), segments.class_index.tolist(), strict=True
    ):
        if merged and merged[-1][2] == CLASSES[class_index]:
            start = merged.pop()[0]
        merged.append((start, end, CLASSES[class_index]))
    return merged


def innermost_at(trace: Trace, line: int, t: int) -> int:
    """The last recorded of the events open at t, -1 if none is open."""
    rows = trace.lines[line].rows
    return max(
        (row for row in range(rows.start, rows.stop) if trace.start_ps[row] <= t < trace.end_ps[row]),
        default=-1,
    )


def ancestry(trace: Trace, row: int) -> list[int]:
    """The event and its ancestors, innermost first."""
    rows = []
    while row >= 0:
        rows.append(row)
        row = int(trace.parent[row])
    return rows


def is_lazy(trace: Trace) -> bool:
    """Whether PyTorch/XLA recorded the trace, judged by the names that the tests use."""
    names = [trace.name(row) for row in range(len(trace))] + [line.name for line in trace.lines]
    return any("ComputationClient::" in name or name in ("StepMarker", "tf_pytorchxla/1") for name in names)


def class_of_annotation(trace: Trace, row: int) -> str:
    annotations = set(trace.annotations.tolist())
    if any(
        CATALOG.describes_loading(trace.name(event)) for event in ancestry(trace, row) if event in annotations
    ):
        return "input"
    driving_lines = trace.driving_lines
    has_dynamo = any(
        trace.name(event) == "ExecuteComputationWithBarrier" and trace.line_of(event).index in driving_lines
        and trace.start_ps[row] <= trace.start_ps[event] < trace.end_ps[row]
        for event in range(len(trace))
    )  # fmt: skip
    return (
        "tracing"
        if is_lazy(trace)
        and not (has_dynamo and trace.line_of(row).index in driving_lines)
        and not is_outside_phases(trace, row)
        else "python"
    )


def is_outside_phases(trace: Trace, row: int) -> bool:
    """Whether an annotation is on the driving thread and not below a step, if there are steps; a step only if another
    annotation that does not load is directly below it."""
    steps = set(step_annotation_rows(trace).tolist())
    if not steps or trace.line_of(row).index not in trace.lines_with("driving"):
        return False
    if row not in steps:
        return not any(event in steps for event in ancestry(trace, row))
    return any(
        trace.parent[event] == row and not CATALOG.describes_loading(trace.name(event))
        for event in trace.annotations.tolist()
    )


def is_extracting(trace: Trace, t: int, line: int | None = None) -> bool:
    """Whether torch.compile extracts a graph at t, on one thread or on any."""
    return any(
        extraction.start_ps <= t < extraction.end_ps
        for extraction in extractions_by_definition(trace)
        if line in (None, extraction.line)
    )


def is_recorded_by_bridge(trace: Trace, row: int) -> bool:
    return any(
        extraction.first <= row and trace.start_ps[row] < trace.end_ps[extraction.last]
        for extraction in extractions_by_definition(trace)
        if extraction.line == trace.line_of(row).index
    )


def class_of_event(trace: Trace, row: int, t: int) -> str | None:
    """The class at t of a thread whose innermost event is `row`; None if its events are only device work."""
    class_name = class_by_events(trace, row, t)
    is_generic = class_name in ("tracing", "python", "input")
    return "dynamo" if is_generic and is_extracting(trace, t, trace.line_of(row).index) else class_name


def class_by_events(trace: Trace, row: int, t: int) -> str | None:
    """The class of an event and its ancestors at t, without the time that extractions add around the bridge's
    events."""
    events = ancestry(trace, row)
    device_work = [
        index
        for index, event in enumerate(events)
        if CATALOG.tags(trace.name(event)) & {"device_work", "plumbing"}
    ]
    if device_work:
        events = events[device_work[-1] + 1 :]
    annotations = set(trace.annotations.tolist())
    for event in events:
        if event in annotations:
            return class_of_annotation(trace, event)
        name, callers = trace.name(event), ancestry(trace, event)
        if name == "$train.py:3 f":
            if any("compile_call" in CATALOG.tags(trace.name(caller)) for caller in callers):
                return "compile"
            if any("read" in CATALOG.tags(trace.name(caller)) for caller in callers):
                return "from_device"
            if any(
                CATALOG.describes_loading(trace.name(caller)) for caller in callers if caller in annotations
            ):
                return "input"
        if name == "RunExecutable":
            return "wait" if has_launched(trace, event, t) else "dispatch"
        class_index = CATALOG.class_index(name)
        if class_index == INDEX["sync_prepare"] and is_recorded_by_bridge(trace, event):
            return "dynamo"
        if class_index >= 0:
            return CLASSES[class_index]
    return None if device_work else "other"


def has_launched(trace: Trace, call: int, t: int) -> bool:
    """Whether a launch directly inside the event `call` of XRT is over at t."""
    return any(
        trace.name(row) == "TPUExecute" and trace.end_ps[row] <= t
        and next((event for event in ancestry(trace, row)[1:] if trace.name(event) == "RunExecutable"), -1) == call
        for row in range(len(trace))
    )  # fmt: skip


def class_at(trace: Trace, t: int) -> str:
    lines: dict[str, list[int]] = {}
    for host_thread in trace.threads:
        lines.setdefault(host_thread.role, []).append(host_thread.line)
    annotations = set(trace.annotations.tolist())
    row = innermost_at(trace, lines["driving"][0], t)
    class_name = class_of_event(trace, row, t) or "other" if row >= 0 else None
    is_generic = row in annotations or (row >= 0 and class_by_events(trace, row, t) == "python")
    is_generic |= class_name == "input" and trace.name(row).startswith("$")
    is_generic |= row >= 0 and "blocking_call" in CATALOG.tags(trace.name(row))
    if class_name is None or is_generic:
        for line in lines.get("autograd", []):
            event = innermost_at(trace, line, t)
            has_class = event >= 0 and event not in annotations
            autograd_class = class_of_event(trace, event, t) if has_class else None
            if autograd_class is not None:
                class_name = autograd_class
                break
    if class_name in (None, "tracing", "python", "input") and is_extracting(trace, t):
        return "dynamo"
    if class_name not in (None, "wait", "dispatch"):
        return class_name
    rows = [innermost_at(trace, line, t) for role in HELPER_ROLES for line in lines.get(role, [])]
    rows = [row for row in rows if row < 0 or "blocking_call" not in CATALOG.tags(trace.name(row))]
    helper_classes = {class_of_event(trace, event, t) for event in rows if event >= 0}
    return next(
        (name for name in HELPER_ORDER if name in helper_classes),
        "wait" if class_name == "wait" or "wait" in helper_classes else class_name or "unrecorded",
    )
