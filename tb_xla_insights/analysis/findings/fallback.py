"""The finding about operators that run on the CPU."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    Window,
    enclosing_paths,
    first_fitting_title,
    longest_windows,
    most_common,
    plural,
)
from tb_xla_insights.analysis.findings.graphs import CUT, cut_parts, one_graph
from tb_xla_insights.analysis.findings.round_trips import round_trips
from tb_xla_insights.analysis.launches.early_executions import find_early_executions
from tb_xla_insights.analysis.launches.launches import find_launches


def cpu_fallback(facts: Facts) -> Finding | None:
    """Operators that PyTorch/XLA runs on the CPU: what a metrics report counts, since the one from before the trace
    where there is one; without any, what looks like it, an early execution whose value is read and sent back within
    the same annotation. They cost the starved gaps after those, and are no early syncs. A report whose counters
    torch.compile cleared does not tell that there were none, and counts the least."""
    metrics = facts.metrics
    operators = metrics.fallbacks() if metrics else {}
    whole = metrics is not None and not metrics.cleared
    trace, early, back = facts.trace, find_early_executions(facts.trace), round_trips(facts)
    trips = np.flatnonzero(back >= 0)
    suspected, recurs = len(trips), facts.recurrence(set(early.step[trips].tolist()) - {-1})
    taken = facts.ledger.take(CUT, np.isin(facts.ledger.before, early.launch[trips]))
    cost = int(taken.sum())
    if not operators and (whole or not suspected):
        return None
    places = enclosing_paths(trace, early.annotation[trips].tolist())
    path = most_common(places)
    syncs = find_launches(trace).sync[early.launch[trips]]
    windows = map(Window, trace.start_ps[syncs].tolist(), trace.end_ps[back[trips]].tolist())
    inside = f" in {cut_parts(trace, places)[1]}" if path else ""
    if operators:
        most = sorted(operators, key=lambda name: -operators[name])[:3]
        names = ", ".join(f"aten::{name}" for name in most)
        names += f" and {len(operators) - 3} more" if len(operators) > 3 else ""
        title = first_fitting_title(
            f"{names} {'runs' if len(operators) == 1 else 'run'} on the CPU",
            f"{len(operators)} operators run on the CPU",
        )
        when = "since the script began" if metrics is facts.sidecars.metrics else "in the capture"
        detail = (
            f"The metrics report counts {'' if whole else 'at least '}{plural(sum(operators.values()), 'call')} {when} "
            "of what PyTorch/XLA does not lower. "
        )
        detail += (
            f"{facts.idle_text(taken, recurs)} after cuts that look like it."
            if cost
            else "No idle time of the capture is known to be theirs."
        )
        brief = f"{names} on the CPU"
    else:
        title = "An operator seems to run on the CPU"
        brief = "an operator seems to run on the CPU"
        detail = f"{plural(suspected, 'time')} a value is read{inside} and one is sent back right after. "
        detail += f"{facts.idle_text(taken, recurs)} meanwhile."
    advice = f"Replace {names if operators else 'the operator'}{inside} by what PyTorch/XLA lowers"
    advice += "." if operators else "; the counters aten::… of torch_xla.debug.metrics name it."
    return Finding(
        "cpu_fallback", title, brief, detail, advice, cost,
        {
            "suspected": not operators,
            "operators": operators,
            "round_trips": suspected,
            "annotation": path,
            "idle_ps": cost,
        },
        longest_windows(windows),
        recurs,
        one_graph(trace, early, trips, back[trips]) if suspected else None,
    )  # fmt: skip
