"""What one host's devices do, for the session's report, and for one step or one device of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation import propagation_report
from tb_xla_insights.analysis.propagation.ops import OpSelection, find_ops
from tb_xla_insights.analysis.steps.step_times import steps_of, traces_with_step_offsets
from tb_xla_insights.device_work.document import WorkTogether
from tb_xla_insights.device_work.peaks import peaks_of
from tb_xla_insights.device_work.rows import op_rows
from tb_xla_insights.device_work.step_sums import step_sums
from tb_xla_insights.errors import InputError
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Annotation
    from tb_xla_insights.schema.parts import WorkKeys


def host_work(session: SessionTrace, annotations: Iterable[Annotation]) -> WorkKeys:
    """The report's keys `ops` and `device_work`; `annotations` is the report's key."""
    together = WorkTogether()
    for number, trace in enumerate(session.traces):
        _add(together, number, trace)
    return together.document(annotations)


def session_work(
    session: SessionTrace,
    step: int | None = None,
    device: str | None = None,
    own_peaks: tuple[float, float] | None = None,
) -> WorkKeys:
    """The same of one step (an index into the report's `steps`) or of all of the capture, on one device (by its id) or
    on all, with `own_peaks` (FLOP/s and bytes/s of a device) before those that are known of it. Raises InputError where
    the session has no such step or device."""
    together, found = WorkTogether(), step is None and device is None
    for number, (trace, before) in enumerate(traces_with_step_offsets(session)):
        ids = [it.id for it in trace.devices]
        at = None if step is None else step - before
        if (device is not None and device not in ids) or (
            at is not None and not 0 <= at < len(steps_of(trace))
        ):
            continue
        found = True
        _add(together, number, trace, at, None if device is None else ids.index(device))
    if not found:
        asked = [f"step {step}"] * (step is not None) + [f"device {device}"] * (device is not None)
        raise InputError(f"{session.path}: no {' on '.join(asked)}; see the report's steps and devices")
    document = together.document(propagation_report(session)["annotations"], own_peaks)
    if step is not None:
        for row in document["device_work"]["steps"]:
            row["index"] = step
    return document


def _add(
    together: WorkTogether, number: int, trace: Trace, step: int | None = None, device: int | None = None
) -> None:
    """Adds a host's work: of a step (an index into its steps) or all, on a device (index) or all."""
    rows = op_rows(trace, _chosen(trace, step, device), _chosen(trace, step, device, in_steps=True))
    steps = step_sums(trace, device)
    told = steps if step is None else steps[step : step + 1]
    together.add(number, rows, {"steps": told, "peaks": {"devices": peaks_of(trace)}})


def _chosen(
    trace: Trace, step: int | None = None, device: int | None = None, in_steps: bool = False
) -> OpSelection:
    """The ops of a step, of all steps, or all, on a device or on all."""
    ops = find_ops(trace)
    if step is None and not in_steps:
        return ops.whole if device is None else [(device, slice(None))]
    step_of_run = find_launches(trace).step_of_run
    return ops.of_runs(step_of_run >= 0 if step is None else step_of_run == step, device)
