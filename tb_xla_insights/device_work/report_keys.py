"""The report's keys `ops` and `device_work` of a session, and of one step or one device of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps, traces_with_step_offsets
from tb_xla_insights.analysis.propagation import propagation_report
from tb_xla_insights.analysis.propagation.merged import merged_annotations
from tb_xla_insights.analysis.propagation.ops import OpSelection, find_ops
from tb_xla_insights.device_work.peaks import peaks_of
from tb_xla_insights.device_work.rows import op_rows
from tb_xla_insights.device_work.step_sums import step_sums
from tb_xla_insights.device_work.work_document import WorkMerger
from tb_xla_insights.errors import InputError
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Annotation
    from tb_xla_insights.schema.parts import WorkKeys


def host_work(trace: Trace, annotations: Iterable[Annotation]) -> WorkKeys:
    """Returns the report's keys `ops` and `device_work`; `annotations` is the report's key."""
    merger = WorkMerger()
    _add_host(merger, 0, trace)
    return merger.document(annotations)


def session_work(
    session: SessionTrace,
    step: int | None = None,
    device: str | None = None,
    user_peaks: tuple[float, float] | None = None,
) -> WorkKeys:
    """Returns the keys `ops` and `device_work` for one step (an index into the report's `steps`) or the whole capture,
    on one device (by its id) or all. `user_peaks` (FLOP/s and bytes/s of a device) override the known ones. Raises
    InputError if the session has no such step or device."""
    merger, has_match = WorkMerger(), step is None and device is None
    for host_index, (trace, offset) in enumerate(traces_with_step_offsets(session)):
        ids = [trace_device.id for trace_device in trace.devices]
        host_step = None if step is None else step - offset
        has_device = device is None or device in ids
        if has_device and (host_step is None or 0 <= host_step < len(find_steps(trace))):
            has_match = True
            _add_host(merger, host_index, trace, host_step, None if device is None else ids.index(device))
    if not has_match:
        names = [f"step {step}"] * (step is not None) + [f"device {device}"] * (device is not None)
        raise InputError(f"{session.path}: no {' on '.join(names)}; see the report's steps and devices")
    annotations = merged_annotations(propagation_report(trace)["annotations"] for trace in session.traces)
    document = merger.document(annotations, user_peaks)
    if step is not None:
        for row in document["device_work"]["steps"]:
            row["index"] = step
    return document


def _add_host(
    merger: WorkMerger, host_index: int, trace: Trace, step: int | None = None, device: int | None = None
) -> None:
    """Adds a host's work of one step (an index into its steps) or of the whole capture, on one device (an index) or on
    all of them."""
    rows = op_rows(trace, _select_ops(trace, step, device), _select_ops(trace, step, device, in_steps=True))
    steps = step_sums(trace, device)
    steps = steps if step is None else steps[step : step + 1]
    peaks = peaks_of(trace, range(len(trace.devices)) if device is None else [device])
    merger.add(host_index, rows, {"steps": steps, "peaks": {"devices": peaks}})


def _select_ops(
    trace: Trace, step: int | None = None, device: int | None = None, in_steps: bool = False
) -> OpSelection:
    """Returns the ops of one step, of all steps (`in_steps`) or of the whole capture, on one device or on all of
    them."""
    ops = find_ops(trace)
    if step is None and not in_steps:
        return ops.all_ops if device is None else [(device, slice(None))]
    step_of_run = find_launches(trace).step_of_run
    return ops.of_runs(step_of_run >= 0 if step is None else step_of_run == step, device)
