"""The data of the page's propagation view: coverage, the tree, and one step's phases on host and device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps, median_step, traces_with_step_offsets
from tb_xla_insights.analysis.propagation.annotations_report import propagation_report
from tb_xla_insights.analysis.propagation.hlo_scopes import state_words
from tb_xla_insights.analysis.propagation.lost import ADVICE, FLAG_OFF
from tb_xla_insights.analysis.propagation.merged import merged_annotations
from tb_xla_insights.analysis.propagation.ops import OpSelection, find_ops
from tb_xla_insights.analysis.propagation.step_phases import phase_strips
from tb_xla_insights.analysis.propagation.tree import coverage, select_runs
from tb_xla_insights.analysis.propagation.view_ops import find_shared_ops, find_unannotated_ops, source_lines
from tb_xla_insights.analysis.propagation.view_rows import tree_rows
from tb_xla_insights.columns.merge import merged_row
from tb_xla_insights.errors import InputError
from tb_xla_insights.schema.annotations import AnnotationOrder
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Coverage
    from tb_xla_insights.schema.propagation_route import (
        AnnotationNode,
        PropagationStep,
        PropagationView,
        StepNumbers,
    )

_MAX_ROWS = 500
_MAX_OPS = 30
_MAX_LINES = 200
_MAX_STEPS = 2000


def propagation_view(
    session: SessionTrace,
    step: int | None = None,
    device: str | None = None,
    step_number: str | None = None,
    default_step: int | None = None,
) -> PropagationView:
    """The propagation view of one step and device. `step`: an index into the report's `steps`; `device`: an id (None:
    the step's first). Without an index, the step with the number `step_number` is shown (an index if steps have no
    numbers), or else the step `default_step`, also an index (see `_find_step`). Raises InputError if the session has no
    step with the index `step`, or if the step's host has no such device. `schema.propagation_route` documents the keys.
    """
    reports = [propagation_report(host) for host in session.traces]
    annotations = merged_annotations(report["annotations"] for report in reports)
    lost = {row["path"]: row["lost"] for row in annotations if row["lost"] is not None}
    host, step_index = _find_step(session, step, device, step_number, default_step)
    trace = session.traces[host] if session.traces else None
    device_index = None if trace is None else _find_device(session, trace, step_index, device)
    has_ops = any(len(device.ops) for device in session.devices)
    is_flag_off = FLAG_OFF in lost.values()
    selection = [] if trace is None or device_index is None else _select_ops(trace, step_index, device_index)
    tree, unannotated, means = tree_rows(session, annotations, trace, step_index, device_index, selection)
    unannotated_ops, shared_ops, lines = (
        ([], [], [])
        if trace is None
        else (
            find_unannotated_ops(trace, selection),
            find_shared_ops(trace, selection),
            source_lines(trace, selection),
        )
    )
    total = merged_row(AnnotationOrder, (report["propagation"] for report in reports))
    return {
        "state": "no_ops" if not has_ops else "flag_off" if is_flag_off else "shown",
        "hint": _hint(has_ops, is_flag_off),
        "step": None if trace is None or step_index is None else _step_row(session, host, step_index),
        "device": None if trace is None or device_index is None
        else {"id": trace.devices[device_index].id, "name": trace.devices[device_index].name},
        "steps": _step_numbers(session, host, step_index),
        "coverage": _coverage(trace, selection),
        "words": state_words(total),
        "total": total,
        "means": means,
        "tree": _largest(tree),
        "unannotated": unannotated,
        **phase_strips(trace, step_index, device_index, lost),
        "lost": [{"path": path, "reason": reason, "advice": ADVICE[reason]} for path, reason in lost.items()],
        "unannotated_ops": unannotated_ops[:_MAX_OPS],
        "shared_ops": shared_ops[:_MAX_OPS],
        "lines": lines[:_MAX_LINES],
        "left_out": {
            "tree": max(0, len(tree) - _MAX_ROWS),
            "unannotated_ops": max(0, len(unannotated_ops) - _MAX_OPS),
            "shared_ops": max(0, len(shared_ops) - _MAX_OPS),
            "lines": max(0, len(lines) - _MAX_LINES),
        },
    }  # fmt: skip


def _hint(has_ops: bool, is_flag_off: bool) -> str | None:
    if not has_ops:
        return "No device ops were recorded: capture with host level 2 (on a CPU) or with device tracing."
    return ADVICE[FLAG_OFF] if is_flag_off else None


def _find_step(
    session: SessionTrace,
    step: int | None,
    device: str | None,
    step_number: str | None,
    default_step: int | None,
) -> tuple[int, int | None]:
    """The shown step: the index of its host, and its index among the host's steps (None: no step to show).

    With `step`, an index over the steps of all hosts, that step; raises InputError if it does not exist. Else, on the
    hosts with the device, the first that exists: the step with the number `step_number`; the step with the index
    `default_step` over all hosts, if it launched something; on the first host with steps that launched something, the
    one of median duration among these."""
    all_hosts = [
        (host, *trace_and_offset) for host, trace_and_offset in enumerate(traces_with_step_offsets(session))
    ]
    if step is not None:
        for host, trace, offset in all_hosts:
            if 0 <= step - offset < len(find_steps(trace)):
                return host, step - offset
        count = sum(len(find_steps(trace)) for trace in session.traces)
        raise InputError(f"{session.path}: no step {step}; it has {count}, counted from 0")
    hosts = [
        (host, trace, offset)
        for host, trace, offset in all_hosts
        if device is None or any(candidate.id == device for candidate in trace.devices)
    ]
    for host, trace, offset in hosts:
        for index, candidate in enumerate(find_steps(trace)):
            if step_number == str(offset + index if candidate.number is None else candidate.number):
                return host, index
    for host, trace, offset in hosts:
        index = -1 if default_step is None else default_step - offset
        if 0 <= index < len(find_steps(trace)) and (find_launches(trace).step == index).any():
            return host, index
    for host, trace, _ in hosts:
        median = median_step(trace, find_launches(trace).step)
        if median is not None:
            return host, median
    return hosts[0][0] if hosts else 0, None


def _find_device(session: SessionTrace, trace: Trace, step: int | None, device: str | None) -> int | None:
    """The index of a device on the step's host; without an id, of the first one with work of the step, else of the
    first one; None if the host has no devices."""
    if device is not None:
        for index, candidate in enumerate(trace.devices):
            if candidate.id == device:
                return index
        raise InputError(
            f"{session.path}: no device {device} on {trace.host}; see the report for its devices"
        )
    devices = find_launches(trace).runs.device[select_runs(trace, step, None)]
    return int(devices.min()) if devices.size else 0 if trace.devices else None


def _step_row(session: SessionTrace, host: int, index: int) -> PropagationStep:
    trace, offset = list(traces_with_step_offsets(session))[host]
    step = find_steps(trace)[index]
    return {
        "index": offset + index,
        "number": step.number,
        "name": step.name,
        "start_ps": step.start_ps,
        "duration_ps": step.duration_ps,
    }


def _step_numbers(session: SessionTrace, host: int, index: int | None) -> StepNumbers:
    if not session.traces:
        return {"first": 0, "numbers": []}
    trace, offset = list(traces_with_step_offsets(session))[host]
    steps = find_steps(trace)
    first = max(0, min((index or 0) - _MAX_STEPS // 2, len(steps) - _MAX_STEPS))
    return {"first": offset + first, "numbers": [step.number for step in steps[first : first + _MAX_STEPS]]}


def _coverage(trace: Trace | None, selection: OpSelection) -> Coverage:
    if trace is None:
        return {"device_ps": 0, "direct_ps": 0, "recovered_ps": 0, "bare_ps": 0, "none_ps": 0}
    ops = find_ops(trace)
    return coverage(ops, ops.sums(selection).op_ps)


def _select_ops(trace: Trace, step: int | None, device: int) -> OpSelection:
    """The ops of one device, in one step or in the whole capture."""
    if step is None:
        return [(device, slice(None))]
    return find_ops(trace).of_runs(select_runs(trace, step, device), device)


def _largest(rows: list[AnnotationNode]) -> list[AnnotationNode]:
    """The rows with most time, in their original order. Outer paths are kept, because they take at least as long as the
    paths nested in them."""
    order = sorted(
        range(len(rows)), key=lambda index: (-rows[index]["device_ps"] - rows[index]["host_ps"], index)
    )
    return [rows[index] for index in sorted(order[:_MAX_ROWS])]
