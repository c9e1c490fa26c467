"""The finding about operators that run on the CPU."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.delays.early_executions import find_early_executions
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.findings.graphs import CUT_CLASSES, describe_cuts, merging_fix
from tb_xla_insights.analysis.findings.locations import enclosing_paths, most_common
from tb_xla_insights.analysis.findings.round_trips import round_trips
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.text.english import Phrase, plural, sentences


def cpu_fallback(facts: Facts) -> Finding | None:
    """Operators that PyTorch/XLA runs on the CPU. They cost the starved gaps after early executions whose value is read
    and sent back within the same annotation; these executions are no early syncs.

    The operators are those that the metrics report counts, minus the counts of a report from before the trace, if there
    is one. If torch.compile cleared the counters, they are lower bounds, and zero does not exclude operators on the
    CPU. Without counted operators, the finding states what was seen, and names the program's own `.item()` and
    `.to(device)` as another cause: both leave the same events. A complete report excludes the finding.
    """
    metrics = facts.metrics
    operators = metrics.fallbacks() if metrics else {}
    is_complete = metrics is not None and not metrics.is_cleared
    trace, early, sent_back = facts.trace, find_early_executions(facts.trace), round_trips(facts)
    trips = np.flatnonzero(sent_back >= 0)
    suspected, frequency = len(trips), facts.frequency_of(set(early.step[trips].tolist()) - {-1})
    taken_ps = facts.ledger.take(CUT_CLASSES, np.isin(facts.ledger.before, early.launch[trips]))
    cost = int(taken_ps.sum())
    if not operators and (is_complete or not suspected):
        return None
    paths = enclosing_paths(trace, early.annotation[trips].tolist())
    path = most_common(paths)
    syncs = find_launches(trace).sync[early.launch[trips]]
    windows = map(ShownWindow, trace.start_ps[syncs].tolist(), trace.end_ps[sent_back[trips]].tolist())
    inside = f" in {describe_cuts(trace, paths).location}" if path else ""
    if operators:
        frequent = sorted(operators, key=lambda name: -operators[name])[:3]
        names = ", ".join(f"aten::{name}" for name in frequent)
        names += f" and {len(operators) - 3} more" if len(operators) > 3 else ""
        title = first_fitting_title(
            f"{names} {'runs' if len(operators) == 1 else 'run'} on the CPU",
            f"{len(operators)} operators run on the CPU",
        )
        period = "since the script began" if metrics is facts.sidecars.metrics else "in the capture"
        detail = sentences(
            "the metrics report counts "
            f"{'' if is_complete else 'at least '}{plural(sum(operators.values()), 'call')} {period} "
            "of operators that PyTorch/XLA does not lower",
            f"{facts.idle_text(taken_ps, frequency)} after graph cuts that are probably theirs"
            if cost
            else "no idle time in the capture can be attributed to them",
        )
        brief, waits_for = f"{names} on the CPU", Phrase("an operator on the CPU")
    else:
        title = "Values are read and sent back, as by an operator on the CPU"
        waits_for = Phrase("values that are read and sent back", inside)
        brief = str(waits_for)
        detail = sentences(
            f"{plural(suspected, 'time')} a value is read{inside} and one is sent to the device right after it, as by "
            "an operator that runs on the CPU",
            f"{facts.idle_text(taken_ps, frequency)} meanwhile",
        )
    advice = (
        f"Replace {names}{inside} with operators that PyTorch/XLA lowers."
        if operators
        else f"Replace the operator{inside} that PyTorch/XLA does not lower (the counters aten::… of "
        "torch_xla.debug.metrics name it); if none is counted, keep the value on the device: .item() and .to(device) "
        "look the same."
    )
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
        frequency,
        merging_fix(trace, early, trips, sent_back[trips]) if suspected else None,
        waits_for=waits_for,
    )  # fmt: skip
