"""Steps that the capture cuts at its edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_xla_insights.analysis.codes import MARKER
from tb_xla_insights.analysis.launches.causality import rows_flagged
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import (
    find_unrecorded_work,
    steps_of_best_source,
)
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.arrays import Int32
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.annotations import step_annotation_rows
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing


@memoised
def count_partial_steps(trace: Trace) -> int:
    """Returns how many steps of one host are recorded only partly. (docs/definitions.md, "Step")

    A step is cut before the first step, or after the last, if the driving thread launches something there or has an
    annotation there whose name occurs in steps; if steps come from markers, if it has a marker there. Any other
    annotation that launches nothing is no cut step. Steps at both ends that launch something, and whose work is not
    recorded, are cut, too. If steps come from the rhythm of runs, the last one is cut, and so is what runs before the
    first. Steps from a device's own line are all whole.
    """
    steps, lines = steps_of_best_source(trace), trace.driving_lines
    if steps and steps[0].source == "modules":
        return 1 + any((device.runs.start_ps < steps[0].start_ps).any() for device in trace.devices)
    if not steps or not lines or steps[0].on_device:
        return 0
    driving = trace.lines[lines[0]].rows
    from_markers = steps[0].source == "step_marker"
    rows_of_steps = rows_flagged(trace, MARKER) if from_markers else _annotations_of_steps(trace)
    rows = np.concatenate((find_launches(trace).origin, rows_of_steps))
    start_ps = trace.start_ps[rows[(rows >= driving.start) & (rows < driving.stop)]]
    # The first step from markers begins where the previous marker ends.
    before = int((start_ps < steps[0].start_ps).any())
    after = int((start_ps >= max(steps[-1].end_ps, steps[-1].start_ps + 1)).any())
    return before + len(steps) - len(find_steps(trace)) + after


def steps_outside_device_record(trace: Trace) -> tuple[int, int]:
    """Returns how many steps are not counted because the devices' record begins after the host's, or ends before it."""
    unrecorded = find_unrecorded_work(trace)
    first, stop = unrecorded.steps
    return (
        first if unrecorded.before and unrecorded.before.is_long else 0,
        len(steps_of_best_source(trace)) - stop if unrecorded.after and unrecorded.after.is_long else 0,
    )


def _annotations_of_steps(trace: Trace) -> Int32:
    """Returns the annotations whose names occur on annotations inside those of steps."""
    steps, rows = step_annotation_rows(trace), trace.annotations
    rows = rows[~np.isin(rows, steps)]
    inside = nearest_enclosing(trace.parent, rows, steps) >= 0
    return rows[np.isin(trace.metadata_index[rows], trace.metadata_index[rows[inside]])]


def partial_diagnostics(trace: Trace) -> Iterator[Diagnostic]:
    """Yields a diagnostic if the host has partial steps. Those outside the devices' record are not cut by the capture's
    edges; the diagnostics about that record count them."""
    if count := count_partial_steps(trace) - sum(steps_outside_device_record(trace)):
        text = "1 step is" if count == 1 else f"{count} steps are"
        message = (
            f"{text} cut off by the capture's edges and not counted; capture longer for more whole steps."
        )
        yield Diagnostic("partial_steps", "info", message, variant="")
