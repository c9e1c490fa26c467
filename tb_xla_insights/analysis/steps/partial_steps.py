"""Steps that the capture cuts at its edges."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.codes import MARKER
from tb_xla_insights.analysis.launches.causality import rows_flagged
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.sources import recorded_steps, recorded_steps_at, step_rows
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.model import Int32, SessionTrace, Trace


@memoised
def partial_steps(trace: Trace) -> int:
    """How many steps of one host are only partly recorded. One is before the first step, or after the last, where the
    driving thread launches something there, or has an annotation that steps have in them; of steps from markers, where
    it has a marker. Another annotation that launches nothing is no cut step. Where the host runs ahead, steps at the
    end of whose work nothing was recorded are cut, too. Of steps from the rhythm of runs the last is one, and what runs
    before the first; those of a device's own line are all whole. (docs/definitions.md, "Step")"""
    steps, lines = recorded_steps(trace), trace.driving_lines
    if steps and steps[0].source == "modules":
        return 1 + any((device.modules.start_ps < steps[0].start_ps).any() for device in trace.devices)
    if not steps or not lines or steps[0].on_device:
        return 0
    its = trace.lines[lines[0]].rows
    marks = rows_flagged(trace, MARKER) if steps[0].source == "step_marker" else _parts_of_steps(trace)
    rows = np.concatenate((find_launches(trace).origin, marks))
    when = trace.start_ps[rows[(rows >= its.start) & (rows < its.stop)]]
    # Of steps from markers the first begins where the marker before it ends.
    before = int((when < steps[0].start_ps).any())
    after = int((when >= max(steps[-1].end_ps, steps[-1].start_ps + 1)).any())
    return before + len(steps) - len(steps_of(trace)) + after


def _parts_of_steps(trace: Trace) -> Int32:
    """Annotations by names that annotations within steps have."""
    rows = trace.annotations
    rows = rows[~np.isin(rows, step_rows(trace))]
    inside = recorded_steps_at(trace, trace.start_ps[rows]) >= 0
    return rows[np.isin(trace.meta[rows], trace.meta[rows[inside]])]


def partial_diagnostics(session: SessionTrace) -> list[Diagnostic]:
    """One per host that has partial steps."""
    several = len(session.traces) > 1
    found = []
    for trace in session.traces:
        count = partial_steps(trace)
        if count:
            text = "1 step is" if count == 1 else f"{count} steps are"
            message = f"{text} cut by the capture's edges and not among the steps; capture longer for more whole ones."
            found.append(Diagnostic("partial_steps", "info", message, trace.host if several else None))
    return found
