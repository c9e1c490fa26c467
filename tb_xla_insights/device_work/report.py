"""What one host's devices do, for the session's report, and for one step or one device of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.propagation.ops import Chosen, find_ops
from tb_xla_insights.device_work.document import work_document
from tb_xla_insights.device_work.peaks import peaks_of
from tb_xla_insights.device_work.rows import op_rows
from tb_xla_insights.device_work.steps import step_sums
from tb_xla_insights.device_work.together import WorkTogether
from tb_xla_insights.trace.model import SessionTrace, Trace

Row = dict[str, Any]


def host_work(session: SessionTrace, annotations: Iterable[Row]) -> Row:
    """The report's keys `ops` and `device_work`; `annotations` is the report's key."""
    together = WorkTogether()
    for number, trace in enumerate(session.traces):
        rows = op_rows(trace, _chosen(trace), _chosen(trace, in_steps=True))
        together.add(number, rows, {"steps": step_sums(trace), "peaks": {"devices": peaks_of(trace)}})
    return together.document(annotations)


def work_of(
    trace: Trace,
    annotations: Iterable[Row],
    step: int | None = None,
    device: int | None = None,
    own_peaks: tuple[float, float] | None = None,
    in_steps: bool = False,
) -> Row:
    """The same of one host's step (an index into its steps), of all of them (`in_steps`), or of all of the capture, on
    one device (index) or on all."""
    rows = op_rows(trace, _chosen(trace, step, device, in_steps), _chosen(trace, step, device, in_steps=True))
    steps = step_sums(trace, device)
    told = steps if step is None else steps[step : step + 1]
    return work_document(rows, told, peaks_of(trace), annotations, own_peaks)


def _chosen(
    trace: Trace, step: int | None = None, device: int | None = None, in_steps: bool = False
) -> Chosen:
    """The ops of a step, of all steps, or all, on a device or on all."""
    if step is None and not in_steps:
        devices = range(len(trace.devices)) if device is None else [device]
        return [(number, slice(None)) for number in devices]
    step_of_run = find_launches(trace).step_of_run
    return find_ops(trace).of_runs(step_of_run >= 0 if step is None else step_of_run == step, device)
