"""Steps that the capture cuts at its edges."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.reach import MARKER, rows_with
from tb_xla_insights.analysis.steps import steps_of
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.model import SessionTrace, Trace


@kept
def partial_steps(trace: Trace) -> int:
    """How many steps of one host are only partly recorded: 0, 1 or 2. One is before the first step, or after
    the last, where annotations, step markers or launches of the driving thread lie there. Of steps from the rhythm of
    runs the last is one, and what runs before the first; those of a device's own line are all whole.
    (docs/definitions.md, "Step")"""
    steps, lines = steps_of(trace), trace.driving_lines
    if steps and steps[0].source == "modules":
        return 1 + any((device.modules.start_ps < steps[0].start_ps).any() for device in trace.devices)
    if not steps or not lines or steps[0].on_device:
        return 0
    its = trace.lines[lines[0]].rows
    rows = np.concatenate((trace.annotations, rows_with(trace, MARKER), find_launches(trace).origin))
    when = trace.start_ps[rows[(rows >= its.start) & (rows < its.stop)]]
    # Of steps from markers the first begins where the marker before it ends.
    return int((when < steps[0].start_ps).any()) + int(
        (when >= max(steps[-1].end_ps, steps[-1].start_ps + 1)).any()
    )


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
