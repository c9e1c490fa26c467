"""What one host's devices do, for the session's report, and for one step or one device of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.propagation.ops import Chosen, find_ops
from tb_xla_insights.analysis.propagation.tree import chosen_runs
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
        in_steps = find_ops(trace).of_runs(find_launches(trace).step_of_run >= 0)
        rows = op_rows(trace, _all(trace), in_steps)
        together.add(number, rows, {"steps": step_sums(trace), "peaks": {"devices": peaks_of(trace)}})
    return together.document(annotations)


def work_of(
    trace: Trace,
    annotations: Iterable[Row],
    step: int | None = None,
    device: int | None = None,
    own_peaks: tuple[float, float] | None = None,
) -> Row:
    """The same of one host's step (an index into its steps) or all of the capture, on one device (index) or on all."""
    if step is None:
        devices = range(len(trace.devices)) if device is None else [device]
        chosen: Chosen = [(number, slice(None)) for number in devices]
    else:
        chosen = find_ops(trace).of_runs(chosen_runs(trace, step, device), device)
    steps = step_sums(trace)
    told = steps if step is None else steps[step : step + 1]
    return work_document(op_rows(trace, chosen), told, peaks_of(trace), annotations, own_peaks)


def _all(trace: Trace) -> Chosen:
    return [(number, slice(None)) for number in range(len(trace.devices))]
